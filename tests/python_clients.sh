#!/usr/bin/env bash
# Runs tests/python_clients.py (Anthropic's, instructor, LangChain, Pydantic AI, LiteLLM, OpenAI Agents) against a built binary,
# in a virtual environment that is made once.
#
#     tests/python_clients.sh [BINARY [CLIENT …]]
#
# The binary is target/debug/maskwright where none is given. Wants Python 3.10 or later.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

target=${CARGO_TARGET_DIR:-target}
venv=$target/python-clients
packages=(
    instructor==1.17.0 langchain-openai==1.7.4 'pydantic-ai-slim[openai]==2.38.0' litellm==1.110.2
    openai-agents==0.24.0 anthropic==2.13.0
)
if [[ $(cat "$venv/installed" 2>/dev/null) != "${packages[*]}" ]]; then
    rm -rf "$venv"
    python3 -m venv "$venv"
    # Older ones take minutes to find versions that fit together.
    "$venv/bin/pip" install --quiet --disable-pip-version-check 'pip>=25'
    "$venv/bin/pip" install --quiet --disable-pip-version-check "${packages[@]}"
    echo "${packages[*]}" >"$venv/installed"
fi
"$venv/bin/python" -W ignore::UserWarning tests/python_clients.py "${1:-$target/debug/maskwright}" "${@:2}"
