/* Calls in random order on a few handles of each kind, some of them NULL, with arguments of all sorts: for
 * AddressSanitizer and valgrind. What a call says is checked against what the calls before it did.
 *
 *     call_orders [SEED] [CALLS]
 */
#include "maskwright.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { SLOTS = 6, SIZE = 257, WORDS = 9, END = 256 };

static uint64_t state;

static uint32_t below(uint32_t bound) {
    state ^= state << 13;
    state ^= state >> 7;
    state ^= state << 17;
    return (uint32_t)(state >> 33) % bound;
}

static void check(bool holds, const char *what) {
    if (!holds) {
        fprintf(stderr, "failed: %s\n", what);
        exit(1);
    }
}

static mw_vocabulary *vocabularies[SLOTS];
static mw_compiler *compilers[SLOTS];
static mw_constraint *constraints[SLOTS];
static mw_matcher *matchers[SLOTS];
/* Whether a matcher's last mask is that of its text, and the mask. */
static bool is_known[SLOTS];
static uint32_t masks[SLOTS][WORDS];

static mw_vocabulary *new_vocabulary(mw_error **error) {
    static uint8_t bytes[256];
    mw_token tokens[SIZE];
    for (int i = 0; i < 256; i++) {
        bytes[i] = (uint8_t)i;
        tokens[i] = (mw_token){&bytes[i], 1, false};
    }
    tokens[END] = (mw_token){(const uint8_t *)"</s>", 4, true};
    const uint32_t end = below(8) ? END : below(1000);
    return mw_vocabulary_from_tokens(tokens, SIZE, &end, 1, error);
}

static mw_constraint *new_constraint(const mw_compiler *compiler, mw_error **error) {
    static const char *texts[] = {
        "{\"type\": \"object\"}", "[a-c]{1,5}", "[\"one\", \"two\"]", "start: \"x\" start?", "root ::= \"y\"", "{", "\xff\xfe",
    };
    const char *text = texts[below(7)];
    return mw_compile(compiler, below(11), text, strlen(text), error);
}

static void step(void) {
    const uint32_t a = below(SLOTS), b = below(SLOTS);
    mw_error *error = NULL, **at = below(4) ? &error : NULL;
    uint32_t row[WORDS + 1];
    switch (below(20)) {
    case 0:
        mw_vocabulary_free(vocabularies[a]);
        vocabularies[a] = below(4) ? new_vocabulary(at) : NULL;
        break;
    case 1:
        mw_compiler_free(compilers[a]);
        compilers[a] = mw_compiler_new(vocabularies[b], below(3) ? NULL : below(2) ? "{\"strict\": true}" : "{\"x\": 1}", at);
        break;
    case 2:
    case 3:
        mw_constraint_free(constraints[a]);
        constraints[a] = new_constraint(compilers[b], at);
        break;
    case 4:
    case 5:
        mw_matcher_free(matchers[a]);
        matchers[a] = mw_matcher_new(constraints[b]);
        is_known[a] = false;
        break;
    case 6:
        if (a != b) {
            mw_matcher_free(matchers[a]);
            matchers[a] = mw_matcher_fork(matchers[b]);
            is_known[a] = is_known[b];
            memcpy(masks[a], masks[b], sizeof masks[a]);
        }
        break;
    case 7: {
        const bool filled = mw_matcher_fill_mask(matchers[a], row, WORDS, at);
        if (filled && is_known[a])
            check(!memcmp(row, masks[a], sizeof masks[a]), "a mask stays while nothing is accepted");
        if (filled) {
            memcpy(masks[a], row, sizeof masks[a]);
            is_known[a] = true;
        }
        break;
    }
    case 8:
        mw_matcher_fill_mask(matchers[a], row, below(WORDS + 1), at);
        is_known[a] = false;
        break;
    case 9:
    case 10:
    case 11:
    case 12: {
        const uint32_t token = below(3) ? (uint32_t)"{\"}abcxytwon"[below(12)] : below(300);
        const bool finished = mw_matcher_is_finished(matchers[a]);
        const bool accepted = mw_matcher_accept(matchers[a], token, at);
        if (is_known[a] && token < SIZE)
            check(accepted == (masks[a][token / 32] >> token % 32 & 1), "a token is accepted if its bit is set");
        check(!(finished && accepted), "a finished text takes no token");
        is_known[a] = is_known[a] && !accepted;
        break;
    }
    case 13: {
        const size_t steps = mw_matcher_steps(matchers[a]), back = below(4);
        const bool taken = mw_matcher_rollback(matchers[a], back, at);
        check(!taken || mw_matcher_steps(matchers[a]) == steps - back, "steps are taken back");
        is_known[a] = is_known[a] && (!taken || back == 0);
        break;
    }
    case 14: {
        uint32_t tokens[4] = {below(SIZE), below(SIZE), below(SIZE), below(SIZE)};
        const size_t steps = mw_matcher_steps(matchers[a]);
        check(mw_matcher_validate(matchers[a], tokens, below(5), at) <= 4, "at most all are valid");
        check(mw_matcher_steps(matchers[a]) == steps, "a draft leaves the matcher as it was");
        break;
    }
    case 15: {
        uint32_t tokens[2] = {below(SIZE), below(SIZE)}, rows[3 * WORDS];
        int32_t parents[2] = {(int32_t)below(3) - 1, (int32_t)below(3) - 1};
        mw_matcher_fill_tree(matchers[a], tokens, below(2) ? parents : NULL, 2, rows, below(2) ? 3 * WORDS : 5, at);
        break;
    }
    case 16: {
        uint32_t rows[2][WORDS], *lines[2] = {rows[0], rows[1]};
        mw_matcher *both[2] = {matchers[a], matchers[b]};
        mw_fill_masks(both, lines, 2, WORDS, at);
        break;
    }
    case 17: {
        float logits[SIZE + 1] = {0};
        mw_matcher_mask_logits(matchers[a], logits, SIZE + below(2), at);
        uint8_t bytes[8];
        mw_matcher_forced_bytes(matchers[a], bytes, below(9), NULL);
        break;
    }
    case 18:
        mw_string_free(mw_matcher_explain(matchers[a], below(300), at));
        break;
    case 19: {
        uint32_t tokens = 0;
        mw_matcher_tokens_to_finish(matchers[a], &tokens, at);
        mw_string_free(mw_matcher_expected(matchers[a], NULL));
        break;
    }
    }
    if (error)
        check(strlen(mw_error_message(error)) > 0, "an error has a message");
    mw_error_free(error);
}

int main(int argc, char **argv) {
    state = (argc > 1 ? strtoull(argv[1], NULL, 10) : 1) * 0x9e3779b97f4a7c15u | 1;
    const long calls = argc > 2 ? strtol(argv[2], NULL, 10) : 100000;
    for (long i = 0; i < calls; i++)
        step();
    for (int i = 0; i < SLOTS; i++) {
        mw_vocabulary_free(vocabularies[i]);
        mw_compiler_free(compilers[i]);
        mw_constraint_free(constraints[i]);
        mw_matcher_free(matchers[i]);
    }
    puts("1 passed, 0 failed");
    return 0;
}
