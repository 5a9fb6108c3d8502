#!/usr/bin/env bash
# On a machine with an NVIDIA GPU: the tests of models there, the answer of README.md's first command,
# and how fast a model of 1.4 billion parameters is in bf16, beside transformers where it is installed.
#
#     benches/cuda.sh TOKENIZER_FOLDER WORK_FOLDER
#
# TOKENIZER_FOLDER holds the tokenizer.json of Llama 3. Programs that were built elsewhere are used if these
# name them: MASKWRIGHT (the program), MODEL_TESTS (what `cargo test --test model` runs) and UNIT_TESTS (what
# `cargo test --lib` runs), all built with `--features cuda`. A step that fails is told at the end; the others go on.
set -uo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."
tokenizer=${1:?usage: benches/cuda.sh TOKENIZER_FOLDER WORK_FOLDER}
work=${2:?usage: benches/cuda.sh TOKENIZER_FOLDER WORK_FOLDER}
mkdir -p "$work"

if [[ -z ${MASKWRIGHT:-} ]]; then
    cargo build --release --features cuda || exit
    MASKWRIGHT=${CARGO_TARGET_DIR:-target}/release/maskwright
fi

failed=()
step() {
    local name=$1 before=$SECONDS
    shift
    printf '\n== %s: %s\n' "$name" "$*"
    "$@" || failed+=("$name")
    printf '%s s  %s\n' "$((SECONDS - before))" "$name"
}

tests() {
    if [[ -n ${MODEL_TESTS:-} && -n ${UNIT_TESTS:-} ]]; then
        "$UNIT_TESTS" paged_attention --nocapture && "$MODEL_TESTS" cuda --nocapture
    else
        cargo test --release --features cuda --lib --test model -- paged_attention cuda --nocapture
    fi
}

# The first command of README.md, on both devices.
main_command() {
    local command device answers=()
    command=$(grep -m 1 '^cargo run --release -- generate ' README.md)
    for device in cpu cuda; do
        answers+=("$(bash -c "$MASKWRIGHT ${command#cargo run --release -- } --device $device")")
    done
    printf '%s\n' "${answers[@]}"
    [[ -n ${answers[0]} && ${answers[0]} == "${answers[1]}" ]]
}

# 16 layers of width 2,304: as large as the small models that people run.
random_model() {
    [[ -f $work/model/model.safetensors ]] ||
        python3 benches/serving/random_model.py "$tokenizer" "$work/model" --width 2304 --mlp-width 8192 --layers 16
}

# One server for all measurements.
served() {
    local what server status=0
    "$MASKWRIGHT" serve --device cuda --dtype bf16 --model "$work/model" --port 8123 2>"$work/server.log" &
    server=$!
    for what in prefill throughput short; do
        python3 benches/serving/load.py "$what" --seconds 5 --streams 1,4,16,64 || status=1
    done
    nvidia-smi --query-gpu=memory.used,utilization.gpu --format=csv,noheader
    kill "$server"
    grep -iE "error|panic" "$work/server.log"
    wait "$server"
    return "$status"
}

transformers() {
    python3 benches/serving/peers/transformers_times.py "$work/model" examples/schemas/person.json \
        --device cuda --dtype bfloat16 --batches 1,4,16,64
}

nvidia-smi --query-gpu=name,driver_version,memory.total --format=csv,noheader
step "tests" tests
step "main command" main_command
step "a random model" random_model
step "server" served
if python3 -c 'import transformers' 2>/dev/null; then step "transformers" transformers; fi

((${#failed[@]} == 0)) || { printf 'FAILED: %s\n' "${failed[@]}"; exit 1; }
