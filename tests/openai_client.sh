#!/usr/bin/env bash
# Runs tests/openai_client.py against a built binary, in a virtual environment that is made once.
#
#     tests/openai_client.sh [BINARY [MODEL]]
#
# The binary is target/debug/maskwright and the model `tiny` where none is given.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

target=${CARGO_TARGET_DIR:-target}
venv=$target/openai-client
if ! "$venv/bin/python" -c 'import httpx, jsonschema, openai' 2>/dev/null; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check \
        'openai>=2,<4' 'httpx>=0.27,<1' 'jsonschema>=4,<5'
fi
"$venv/bin/python" tests/openai_client.py "${1:-$target/debug/maskwright}" "${@:2}"
