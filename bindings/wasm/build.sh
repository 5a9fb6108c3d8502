#!/usr/bin/env bash
# Builds maskwright.wasm, beside this script: the C interface for WebAssembly with WASI's clocks.
#
#     rustup target add wasm32-wasip1
#     bindings/wasm/build.sh
#
# Without rustup: a distribution's compiler with its standard library for wasm32-wasip1, and wasm-ld.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"

target=wasm32-wasip1
export CARGO_TARGET_DIR=${CARGO_TARGET_DIR:-../../target}
# The page writes arguments into memory that it allocates.
export RUSTFLAGS="${RUSTFLAGS:-} -C link-arg=--export=malloc -C link-arg=--export=free -C link-arg=--strip-all"
cargo build --release --quiet -p maskwright-c --target "$target"
cp "$CARGO_TARGET_DIR/$target/release/maskwright_c.wasm" maskwright.wasm
ls -l maskwright.wasm
