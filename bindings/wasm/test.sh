#!/usr/bin/env bash
# Builds the package and tests it in Node. Says that it was skipped where the compiler has no standard library
# for WebAssembly, or there is no Node.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

libraries=$(rustc --print target-libdir --target wasm32-wasip1 2>/dev/null || true)
if ! compgen -G "$libraries/libstd-*.rlib" >/dev/null; then
    echo "skipped: no standard library for wasm32-wasip1 (rustup target add wasm32-wasip1)"
    exit 0
fi
if ! command -v node >/dev/null; then
    echo "skipped: there is no Node"
    exit 0
fi
./build.sh
node --test test.mjs
