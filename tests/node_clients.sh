#!/usr/bin/env bash
# Runs tests/node_clients.mjs (npm's `openai` with zod, the AI SDK) against a built binary, with packages that are
# installed once.
#
#     tests/node_clients.sh [BINARY [CLIENT …]]
#
# The binary is target/debug/maskwright where none is given. Wants Node 18 or later with npm: one that is installed,
# or Debian's packages where this user may install them within three minutes. Without it, it says that it was skipped.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

has_node() {
    command -v npm >/dev/null && node -e 'process.exit(parseInt(process.versions.node) >= 18 ? 0 : 1)' 2>/dev/null
}

if ! has_node && ((EUID == 0)) && command -v apt-get >/dev/null; then
    timeout 180 bash -c 'apt-get update -qq && apt-get install -qq -y --no-install-recommends nodejs npm' \
        >/dev/null 2>&1 || true
fi
if ! has_node; then
    echo "skipped: there is no Node 18 with npm, and none could be installed"
    exit 0
fi

target=${CARGO_TARGET_DIR:-target}
binary=$(realpath "${1:-$target/debug/maskwright}")
packages=(openai@6.49.0 zod@4.6.7 ai@6.0.326 @ai-sdk/openai-compatible@2.0.92)
folder=$target/node-clients
if [[ $(cat "$folder/installed" 2>/dev/null) != "${packages[*]}" ]]; then
    rm -rf "$folder"
    mkdir -p "$folder"
    echo '{"private": true}' >"$folder/package.json"
    npm install --prefix "$folder" --silent --ignore-scripts --no-audit --no-fund --save-exact "${packages[@]}"
    echo "${packages[*]}" >"$folder/installed"
fi
cp tests/node_clients.mjs "$folder/"
node "$folder/node_clients.mjs" "$binary" "${@:2}"
