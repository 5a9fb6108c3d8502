#!/usr/bin/env bash
# Tests the C interface: the header, every function, calls in random order; under AddressSanitizer, and
# under valgrind where it is installed. Needs cargo and a C compiler.
#
#     bindings/c/test.sh [CALLS]      calls in random order, 100,000 unless told
set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")"
calls=${1:-100000}
cc=${CC:-cc}

# Both packages are named, and a test, so that the library is built with the features of other tests.
cargo build --quiet -p maskwright -p maskwright-c --lib --test header
cargo test --quiet -p maskwright -p maskwright-c --test header
target=${CARGO_TARGET_DIR:-../../target}
library=$target/debug/libmaskwright_c.a
out=$(mktemp -d)
trap 'rm -rf "$out"' EXIT

compile() { # NAME OUTPUT FLAGS...
    local source=$1 output=$2
    shift 2
    "$cc" -std=c11 -D_GNU_SOURCE -Wall -Wextra -Werror -g -Iinclude -Itests/llama_stand_in "$@" "$source" "$library" \
        -o "$output" -lpthread -ldl -lm
}

# The headers are C++, too.
printf '#include "llama_sampler.h"\nint main() { return mw_version() == nullptr || mw_llama_sampler(nullptr, 1) == nullptr; }\n' \
    >"$out/headers.cpp"
if command -v "${CXX:-c++}" >/dev/null; then
    "${CXX:-c++}" -std=c++11 -Wall -Werror -Iinclude -Iexamples -Itests/llama_stand_in -c "$out/headers.cpp" \
        -o "$out/headers.o"
fi

for name in interface call_orders; do
    compile "tests/$name.c" "$out/$name-asan" -fsanitize=address,undefined -fno-sanitize-recover
    compile "tests/$name.c" "$out/$name"
done
compile examples/json.c "$out/json"

"$out/interface-asan"
for seed in 1 2 3 4; do "$out/call_orders-asan" "$seed" "$((calls / 4))"; done
if command -v valgrind >/dev/null; then
    valgrind --quiet --error-exitcode=1 --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite "$out/interface"
    valgrind --quiet --error-exitcode=1 --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite "$out/call_orders" 5 2000
fi
for seed in 1 2 3; do
    answer=$("$out/json" "$seed")
    [[ $answer =~ ^\{\"name\":\"(Ada|Grace)\",\"age\":(1[89]|[2-9][0-9])\}$ ]] || { echo "json wrote $answer"; exit 1; }
done
