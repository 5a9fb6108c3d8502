#!/usr/bin/env bash
# Runs the tests of the adapters in the hosts themselves, on the CPU, with the wheel that ci.sh has built.
#
#     bindings/python/hosts.sh [PYTEST_ARGUMENT …]
#
# transformers, outlines and mlx-lm go into a virtual environment that is made once, of the exact versions in
# tests/hosts/requirements.txt, and is kept outside the checkout: in MASKWRIGHT_HOSTS, or maskwright-hosts in the
# user's cache. vLLM and SGLang are gigabytes, and are tested where MASKWRIGHT_VLLM_PYTHON and
# MASKWRIGHT_SGLANG_PYTHON name a Python that has them. Each part that is skipped says so.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
wheel=("$target"/wheels/*.whl)
[[ -e ${wheel[0]} ]] || { echo "there is no wheel; run ci.sh first" >&2; exit 1; }
if [[ -z ${MASKWRIGHT_SHARED:-} ]]; then
    echo "skipped: MASKWRIGHT_SHARED is not set, and the models are there"
    exit 0
fi
# The package is read from a folder, so that the environments stay as they are; its metadata tells hosts of plugins.
package=$target/hosts-package
rm -rf "$package"
python3 -m zipfile -e "${wheel[0]}" "$package"
export PYTHONPATH=$package HF_HUB_OFFLINE=1 OMP_NUM_THREADS=1

run_tests() {
    local python=$1
    shift
    timeout 900 "$python" -m pytest -q -p no:cacheprovider "$@"
}

is_supported() {
    [[ $(uname -sm) == "Linux x86_64" ]] && python3 -c 'import sys; sys.exit(not (3, 11) <= sys.version_info < (3, 14))'
}

if is_supported; then
    hash=$(cat tests/hosts/requirements.txt tests/hosts/torch_without_cuda.py <(python3 -VV) | sha256sum | cut -c 1-16)
    cache=${MASKWRIGHT_HOSTS:-${XDG_CACHE_HOME:-$HOME/.cache}/maskwright-hosts}
    venv=$cache/$hash
    if [[ ! -e $venv/complete ]]; then
        mkdir -p "$cache"
        rm -rf "$venv"
        python3 -m venv "$venv"
        # Dependencies are all listed: torch's own would bring 2.5 GB of CUDA.
        "$venv/bin/pip" install --quiet --disable-pip-version-check --no-compile --no-deps -r tests/hosts/requirements.txt
        "$venv/bin/python" tests/hosts/torch_without_cuda.py "$("$venv/bin/python" -c 'import sysconfig; print(sysconfig.get_path("purelib"))')"
        touch "$venv/complete"
    fi
    run_tests "$venv/bin/python" tests/test_transformers.py tests/test_outlines.py tests/test_callables.py "$@"
else
    echo "skipped: transformers, outlines and mlx-lm are tested on Linux on x86-64 with Python 3.11 to 3.13"
fi

if [[ -n ${MASKWRIGHT_VLLM_PYTHON:-} ]]; then
    folder=$target/hosts-models
    "$MASKWRIGHT_VLLM_PYTHON" tests/hosts/wide_heads.py "$MASKWRIGHT_SHARED/models/stories260K" "$folder"
    for speculation in "" 1; do
        MASKWRIGHT_VLLM_MODEL=$folder MASKWRIGHT_VLLM_SPECULATION=$speculation \
            run_tests "$MASKWRIGHT_VLLM_PYTHON" tests/test_vllm.py "$@"
    done
    MASKWRIGHT_VLLM_MODEL=$folder run_tests "$MASKWRIGHT_VLLM_PYTHON" tests/test_vllm_places.py "$@"
    MASKWRIGHT_VLLM_SERVER=$folder run_tests "$MASKWRIGHT_VLLM_PYTHON" tests/test_vllm_server.py "$@"
else
    echo "skipped: vLLM, since MASKWRIGHT_VLLM_PYTHON is not set"
fi

if [[ -n ${MASKWRIGHT_SGLANG_PYTHON:-} ]]; then
    MASKWRIGHT_SGLANG_SERVER=1 run_tests "$MASKWRIGHT_SGLANG_PYTHON" tests/test_sglang.py tests/test_sglang_server.py "$@"
else
    echo "skipped: SGLang, since MASKWRIGHT_SGLANG_PYTHON is not set"
fi
