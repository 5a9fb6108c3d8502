#!/usr/bin/env bash
# Tries the playground in a real browser, at two sizes, light and dark, and keeps screenshots.
#
#     tests/playground.sh [BINARY [FOLDER]]
#
# The binary is target/debug/maskwright and the folder of screenshots target/playground where none is
# given. Wants Chromium: one that is installed, or Debian's package where this user may install it
# within two minutes. Without one it says that it was skipped.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

find_browser() {
    command -v chromium || command -v chromium-browser || command -v google-chrome
}

if ! browser=$(find_browser); then
    if ((EUID == 0)) && command -v apt-get >/dev/null; then
        timeout 120 bash -c 'apt-get update -qq && apt-get install -qq -y --no-install-recommends chromium' \
            >/dev/null 2>&1 || true
    fi
    if ! browser=$(find_browser); then
        echo "skipped: there is no Chromium, and none could be installed"
        exit 0
    fi
fi

target=${CARGO_TARGET_DIR:-target}
venv=$target/playground-client
if ! "$venv/bin/python" -c 'import playwright' 2>/dev/null; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check 'playwright>=1.50,<2'
fi
"$venv/bin/python" tests/playground.py "$browser" "${1:-$target/debug/maskwright}" "${2:-$target/playground}"
