#!/usr/bin/env bash
# Builds the wheel, installs it into a virtual environment that is made once, and runs the tests on it.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

target=$(realpath -m "${CARGO_TARGET_DIR:-target}")
venv=$target/venv
if ! "$venv/bin/python" -c 'import maturin, numpy, pydantic, pytest, tiktoken, tokenizers' 2>/dev/null; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check \
        'maturin>=1.9,<2' 'numpy>=2,<3' 'pydantic>=2,<3' 'pytest>=8,<10' tiktoken 'tokenizers>=0.22,<1'
fi
# The development profile: what is tested is the package, not the speed of the library.
rm -rf "$target/wheels"
"$venv/bin/maturin" build --quiet --profile dev --out "$target/wheels"
"$venv/bin/pip" install --quiet --disable-pip-version-check --force-reinstall --no-deps "$target"/wheels/*.whl
"$venv/bin/python" -m pytest -q -p no:cacheprovider "$@"
