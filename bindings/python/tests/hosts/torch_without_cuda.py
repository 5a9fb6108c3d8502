"""Stand-ins for the CUDA libraries of PyPI's torch, so that it can be imported where they are not installed.

    python torch_without_cuda.py SITE_PACKAGES

PyPI has torch for Linux on x86-64 with CUDA only, and NVIDIA's libraries beside it are 2.5 GB that a test on the CPU
never calls. For each library that torch is linked against and that is missing, a shared object is written that
defines the symbols torch wants, in the versions it wants; each of them ends the process when it is called.
`nvidia-cuda-runtime` and `nvidia-cuda-cupti` (12 MB) must be there: the CUDA runtime is called while torch is loaded,
and answers that there is no device. Needs gcc and readelf.
"""

import collections
import pathlib
import re
import subprocess
import sys
import tempfile

#: Names of libraries of CUDA; the driver (`libcuda.so`) is opened only where there is a device.
CUDA = re.compile(r"^lib(cu|nv|nccl)(?!da\.so)")

#: Names of symbols of CUDA that have no version.
CUDA_SYMBOL = re.compile(r"^(cu|nccl|nv|pnccl)")


def readelf(*arguments):
    return subprocess.run(["readelf", "-W", *map(str, arguments)], capture_output=True, text=True, check=True).stdout


def symbols(path):
    """Name, version, and whether it is defined, of each dynamic symbol of a library."""
    for line in readelf("--dyn-syms", path).splitlines():
        fields = line.split()
        if len(fields) >= 8 and fields[0].rstrip(":").isdigit():
            name, _, version = fields[7].partition("@")
            yield name, version.lstrip("@"), fields[6] != "UND"


def owner_of(name, version, missing):
    """The missing library that a symbol is of, if it is of one."""
    if version in missing:
        return version
    if version:
        stem = "libnvshmem" if version.startswith("NVSHMEM") else version.split(".")[0]
        return next((library for library in missing if library.startswith(stem)), None)
    return missing[-1] if CUDA_SYMBOL.match(name) else None


def write(path, by_version, folder):
    """A shared object with these symbols."""
    source, versions = folder / "stub.c", folder / "stub.map"
    die = f'static long die(const char *name) {{ fprintf(stderr, "{path.name}: %s was called\\n", name); abort(); }}'
    lines, nodes = ["#include <stdio.h>", "#include <stdlib.h>", die], []
    for version, names in by_version.items():
        lines += [f'long {name}(void) {{ return die("{name}"); }}' for name in sorted(names)]
        if version:
            nodes.append(f"{version} {{ global: {' '.join(name + ';' for name in sorted(names))} }};")
    source.write_text("\n".join(lines) + "\n")
    versions.write_text("\n".join(nodes) + "\n")
    script = [f"-Wl,--version-script={versions}"] if nodes else []
    flags = ["-w", "-shared", "-fPIC", f"-Wl,-soname,{path.name}"]
    subprocess.run(["gcc", *flags, *script, "-o", path, source], check=True)


def main():
    site = pathlib.Path(sys.argv[1]).resolve()
    if not (found := re.search(r"cuda[^=\n]*= '(\d+)", (site / "torch/version.py").read_text())):
        return
    libraries = sorted((site / "torch/lib").glob("*.so*"))
    needed, defined, wanted = set(), set(), {}
    for library in libraries:
        needed |= set(re.findall(r"NEEDED.*\[(.*?)\]", readelf("-d", library)))
        for name, version, is_defined in symbols(library):
            if is_defined:
                defined.add(name)
            elif name:
                wanted.setdefault(name, version)
    missing = []
    for name in sorted(filter(CUDA.match, needed)):
        installed = list(site.glob(f"nvidia/*/lib/{name}"))
        if not installed:
            missing.append(name)
        for library in installed:
            defined |= {symbol for symbol, _, is_defined in symbols(library) if is_defined}
    stubs = {name: collections.defaultdict(set) for name in missing}
    for name, version in wanted.items():
        if name not in defined and missing and (owner := owner_of(name, version, missing)):
            stubs[owner][version].add(name)
    folder = site / "nvidia" / f"cu{found.group(1)}" / "lib"
    folder.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory() as scratch:
        for name in missing:
            write(folder / name, stubs[name], pathlib.Path(scratch))
    print(f"stand-ins for {len(missing)} libraries of CUDA")


if __name__ == "__main__":
    main()
