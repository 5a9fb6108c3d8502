#!/usr/bin/env bash
# Serves `tiny` and lets schemathesis call every operation of /openapi.json: no answer of 5xx, no status,
# media type or body that the document does not describe.
#
#     tests/openapi.sh [BINARY]
#
# The binary is target/debug/maskwright where none is given. MASKWRIGHT_SECONDS (90) bounds the calls.
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

target=${CARGO_TARGET_DIR:-target}
binary=${1:-$target/debug/maskwright}
venv=$target/schemathesis
if ! "$venv/bin/python" -c 'import schemathesis' 2>/dev/null; then
    python3 -m venv "$venv"
    "$venv/bin/pip" install --quiet --disable-pip-version-check 'schemathesis>=4,<5'
fi

log=$(mktemp)
"$binary" serve --port 0 --request-timeout 20 >"$log" 2>&1 &
server=$!
trap 'kill "$server" 2>/dev/null || true; rm -f "$log"' EXIT
for _ in $(seq 200); do
    url=$(grep -o 'http://[0-9.]*:[0-9]*' "$log" | head -1) && [[ -n $url ]] && break
    kill -0 "$server" || { cat "$log"; exit 1; }
    sleep 0.1
done

# One worker: several parse lambdas of the same module at a time, which CPython 3.11 cannot.
set +e
timeout "${MASKWRIGHT_SECONDS:-90}" "$venv/bin/schemathesis" run "$url/openapi.json" \
    --seed 1 --max-examples 4 --phases examples,fuzzing,coverage --workers 1 --no-shrink \
    --checks not_a_server_error,status_code_conformance,content_type_conformance,response_schema_conformance,unsupported_method \
    --request-timeout 30 --generation-deterministic --suppress-health-check all
status=$?
set -e
# The time is up: what was called so far was right.
((status == 124)) && status=0
kill -0 "$server" || { echo 'the server has ended'; cat "$log"; exit 1; }
exit "$status"
