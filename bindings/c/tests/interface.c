/* Every function of the header: its results, its errors, NULLs. */
#include "maskwright.h"

#include "../examples/llama_sampler.h"

#include <pthread.h>

#define CHECK(what)                                                                                 \
    do {                                                                                            \
        if (!(what)) {                                                                              \
            fprintf(stderr, "%s:%d: failed: %s\n", __FILE__, __LINE__, #what);                      \
            exit(1);                                                                                \
        }                                                                                           \
    } while (0)

enum { SIZE = 259, END = 257 };

/* Tokens 0 to 255 are the bytes, 256 is "true", 257 ends a text, 258 is no token. */
static mw_vocabulary *bytes_and_more(void) {
    static uint8_t bytes[256];
    mw_token tokens[SIZE];
    for (int i = 0; i < 256; i++) {
        bytes[i] = (uint8_t)i;
        tokens[i] = (mw_token){&bytes[i], 1, false};
    }
    tokens[256] = (mw_token){(const uint8_t *)"true", 4, false};
    tokens[END] = (mw_token){(const uint8_t *)"</s>", 4, true};
    tokens[258] = (mw_token){NULL, 0, false};
    const uint32_t end = END;
    mw_error *error = NULL;
    mw_vocabulary *vocabulary = mw_vocabulary_from_tokens(tokens, SIZE, &end, 1, &error);
    CHECK(vocabulary && !error);
    return vocabulary;
}

static void expect_error(mw_error *error, mw_error_kind kind, const char *part) {
    CHECK(error);
    if (mw_error_get_kind(error) != kind || !strstr(mw_error_message(error), part)) {
        fprintf(stderr, "kind %d, message: %s\nexpected kind %d and: %s\n", (int)mw_error_get_kind(error),
                mw_error_message(error), (int)kind, part);
        exit(1);
    }
    mw_error_free(error);
}

static bool allows(const uint32_t *row, uint32_t token) { return row[token / 32] >> token % 32 & 1; }

static mw_constraint *compiled(const mw_compiler *compiler, mw_constraint_kind kind, const char *text) {
    mw_error *error = NULL;
    mw_constraint *constraint = mw_compile(compiler, kind, text, strlen(text), &error);
    if (error)
        fprintf(stderr, "%s\n", mw_error_message(error));
    CHECK(constraint && !error);
    return constraint;
}

static bool takes(const mw_constraint *constraint, const char *text) {
    mw_matcher *matcher = mw_matcher_new(constraint);
    const bool taken = mw_matcher_accept_text(matcher, text, strlen(text), NULL) && mw_matcher_is_accepting(matcher);
    mw_matcher_free(matcher);
    return taken;
}

static void vocabularies(void) {
    mw_vocabulary *vocabulary = bytes_and_more();
    CHECK(mw_vocabulary_size(vocabulary) == SIZE);
    CHECK(mw_vocabulary_mask_words(vocabulary) == 9);
    uint32_t ends[2] = {7, 7};
    CHECK(mw_vocabulary_end_tokens(vocabulary, ends, 2) == 1 && ends[0] == END && ends[1] == 7);
    CHECK(mw_vocabulary_end_tokens(vocabulary, NULL, 0) == 1);

    mw_error *error = NULL;
    const uint32_t two[] = {END, 10};
    mw_vocabulary *wide = mw_vocabulary_adapted(vocabulary, 300, two, 2, &error);
    CHECK(wide && !error && mw_vocabulary_size(wide) == 300 && mw_vocabulary_mask_words(wide) == 10);
    CHECK(mw_vocabulary_end_tokens(wide, ends, 2) == 2);
    mw_vocabulary_free(wide);
    CHECK(!mw_vocabulary_adapted(vocabulary, 5, NULL, 0, &error));
    expect_error(error, MW_ERROR_KIND_ARGUMENT, "does not fit the model");
    error = NULL;
    const char *tokenizer =
        "{\"model\": {\"type\": \"BPE\", \"vocab\": {\"a\": 0, \"b\": 1}, \"merges\": []},"
        " \"pre_tokenizer\": {\"type\": \"ByteLevel\", \"add_prefix_space\": false},"
        " \"decoder\": {\"type\": \"ByteLevel\"}, \"added_tokens\": []}";
    mw_vocabulary *read = mw_vocabulary_from_json(tokenizer, strlen(tokenizer), &error);
    CHECK(read && !error && mw_vocabulary_size(read) == 2);
    mw_vocabulary_free(read);
    CHECK(!mw_vocabulary_from_json(tokenizer, 9, &error));
    expect_error(error, MW_ERROR_KIND_VOCABULARY, "");
    error = NULL;
    const uint32_t beyond = SIZE;
    CHECK(!mw_vocabulary_adapted(vocabulary, 0, &beyond, 1, &error));
    expect_error(error, MW_ERROR_KIND_ARGUMENT, "is beyond the");
    error = NULL;
    CHECK(!mw_vocabulary_adapted(vocabulary, SIZE_MAX, NULL, 0, &error));
    expect_error(error, MW_ERROR_KIND_ARGUMENT, "too wide");
    error = NULL;
    const mw_token one_token = {0};
    CHECK(!mw_vocabulary_from_tokens(&one_token, SIZE_MAX, NULL, 0, &error));
    expect_error(error, MW_ERROR_KIND_ARGUMENT, "`tokens` cannot have");
    error = NULL;
    CHECK(!mw_vocabulary_from_tokens(&one_token, 1, &beyond, 1, &error));
    expect_error(error, MW_ERROR_KIND_ARGUMENT, "is beyond the 1 tokens");
    error = NULL;
    CHECK(!mw_vocabulary_from_file("no/such/tokenizer.json", &error));
    expect_error(error, MW_ERROR_KIND_IO, "no/such/tokenizer.json");
    error = NULL;
    CHECK(!mw_vocabulary_from_tokens(NULL, 3, NULL, 0, &error));
    expect_error(error, MW_ERROR_KIND_ARGUMENT, "`tokens` is NULL");
    mw_vocabulary_free(vocabulary);
    mw_vocabulary_free(NULL);
}

static void constraints(void) {
    mw_vocabulary *vocabulary = bytes_and_more();
    mw_error *error = NULL;
    mw_compiler *compiler = mw_compiler_new(vocabulary, NULL, &error);
    CHECK(compiler && !error);
    /* Handles keep what they need. */
    mw_vocabulary_free(vocabulary);

    static const struct {
        mw_constraint_kind kind;
        const char *text, *good, *bad;
    } cases[] = {
        {MW_CONSTRAINT_KIND_JSON_SCHEMA, "{\"type\": \"integer\", \"maximum\": 9}", "7", "10"},
        {MW_CONSTRAINT_KIND_REGEX, "a+b", "aab", "ba"},
        {MW_CONSTRAINT_KIND_CHOICE, "[\"yes\", \"no\"]", "no", "maybe"},
        {MW_CONSTRAINT_KIND_STRUCTURAL_TAG,
         "{\"type\": \"structural_tag\", \"format\": {\"type\": \"const_string\", \"value\": \"x\"}}", "x", "y"},
        {MW_CONSTRAINT_KIND_LARK, "start: \"a\" \"b\"?", "ab", "b"},
        {MW_CONSTRAINT_KIND_GBNF, "root ::= \"a\" \"b\"?", "ab", "b"},
        {MW_CONSTRAINT_KIND_ABNF, "start = 2DIGIT\n", "42", "4"},
        {MW_CONSTRAINT_KIND_W3C_EBNF, "root ::= 'a'+", "aa", "b"},
        {MW_CONSTRAINT_KIND_ISO_EBNF, "root = 'a', ['b'];", "ab", "b"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        mw_constraint *constraint = compiled(compiler, cases[i].kind, cases[i].text);
        if (!takes(constraint, cases[i].good) || takes(constraint, cases[i].bad)) {
            fprintf(stderr, "kind %zu\n", i);
            exit(1);
        }
        mw_constraint_free(constraint);
    }
    CHECK(!mw_compile(compiler, MW_CONSTRAINT_KIND_REGEX, "(", 1, &error));
    expect_error(error, MW_ERROR_KIND_REGEX, "");
    error = NULL;
    CHECK(!mw_compile(compiler, (mw_constraint_kind)99, "", 0, &error));
    expect_error(error, MW_ERROR_KIND_ARGUMENT, "no kind 99");
    error = NULL;
    CHECK(!mw_compile(compiler, MW_CONSTRAINT_KIND_JSON_SCHEMA, "\xff", 1, &error));
    expect_error(error, MW_ERROR_KIND_ARGUMENT, "not UTF-8");
    error = NULL;
    CHECK(!mw_compile(compiler, MW_CONSTRAINT_KIND_JSON_SCHEMA, "false", 5, &error));
    expect_error(error, MW_ERROR_KIND_UNSATISFIABLE, "");
    error = NULL;
    /* Without a place for the error. */
    CHECK(!mw_compile(compiler, MW_CONSTRAINT_KIND_REGEX, "(", 1, NULL));
    mw_compiler_free(compiler);

    vocabulary = bytes_and_more();
    CHECK(!mw_compiler_new(vocabulary, "{\"odd\": 1}", &error));
    expect_error(error, MW_ERROR_KIND_ARGUMENT, "at /odd: ");
    error = NULL;
    CHECK(!mw_compiler_new(vocabulary, "{", &error));
    expect_error(error, MW_ERROR_KIND_ARGUMENT, "EOF while parsing");
    error = NULL;
    CHECK(!mw_compiler_new(vocabulary, "{\"digits\": 1, \"digits\": 2}", &error));
    expect_error(error, MW_ERROR_KIND_ARGUMENT, "written twice");
    error = NULL;
    compiler = mw_compiler_new(vocabulary, "{\"whitespace\": \"compact\"}", NULL);
    mw_constraint *constraint = compiled(compiler, MW_CONSTRAINT_KIND_JSON_SCHEMA, "{\"type\": \"array\"}");
    CHECK(takes(constraint, "[1,2]") && !takes(constraint, "[1, 2]"));
    mw_constraint_free(constraint);
    mw_compiler_free(compiler);
    mw_vocabulary_free(vocabulary);
}

static void matchers(void) {
    mw_vocabulary *vocabulary = bytes_and_more();
    mw_compiler *compiler = mw_compiler_new(vocabulary, NULL, NULL);
    mw_constraint *constraint = compiled(compiler, MW_CONSTRAINT_KIND_REGEX, "(true|false)!");
    mw_compiler_free(compiler);
    mw_matcher *matcher = mw_matcher_new(constraint);
    mw_constraint_free(constraint);
    mw_error *error = NULL;
    uint32_t row[9];

    CHECK(mw_matcher_fill_mask(matcher, row, 9, &error) && !error);
    CHECK(allows(row, 't') && allows(row, 'f') && allows(row, 256) && !allows(row, 'x') && !allows(row, END));
    CHECK(row[8] >> 3 == 0);
    CHECK(!mw_matcher_fill_mask(matcher, row, 8, &error));
    expect_error(error, MW_ERROR_KIND_ARGUMENT, "8 words where 9 fit");
    error = NULL;
    uint32_t needed = 0;
    CHECK(mw_matcher_tokens_to_finish(matcher, &needed, &error) && needed == 2);
    CHECK(mw_matcher_fill_mask_within(matcher, 2, row, 9, &error) && allows(row, 256) && !allows(row, 't'));
    CHECK(!mw_matcher_fill_mask_within(matcher, 1, row, 9, &error));
    expect_error(error, MW_ERROR_KIND_LIMIT, "2 are needed");
    error = NULL;

    const uint32_t draft[] = {256, '!', 'x'};
    CHECK(mw_matcher_validate(matcher, draft, 3, &error) == 2 && mw_matcher_steps(matcher) == 0 && !error);
    uint32_t rows[4 * 9];
    CHECK(mw_matcher_fill_tree(matcher, draft, NULL, 3, rows, 4 * 9, &error) && !error);
    CHECK(allows(rows, 256) && allows(rows + 9, '!') && allows(rows + 18, END) && !allows(rows + 27, END));
    const int32_t parents[] = {-1, 0, 0};
    CHECK(mw_matcher_fill_tree(matcher, draft, parents, 3, rows, 4 * 9, &error));
    CHECK(allows(rows + 18, END) && !allows(rows + 27, END));
    const int32_t late[] = {1, 0, 0};
    CHECK(!mw_matcher_fill_tree(matcher, draft, late, 3, rows, 4 * 9, &error));
    expect_error(error, MW_ERROR_KIND_ARGUMENT, "put parents before");
    error = NULL;
    const int32_t below[] = {-2, 0, 0};
    CHECK(!mw_matcher_fill_tree(matcher, draft, below, 3, rows, 4 * 9, &error));
    expect_error(error, MW_ERROR_KIND_ARGUMENT, "a parent of -2");
    error = NULL;

    CHECK(!mw_matcher_accept(matcher, 'x', &error));
    expect_error(error, MW_ERROR_KIND_REJECTED, "is not allowed here");
    error = NULL;
    CHECK(!mw_matcher_accept(matcher, 4000000000u, &error));
    expect_error(error, MW_ERROR_KIND_REJECTED, "");
    error = NULL;
    char *why = mw_matcher_explain(matcher, 'x', &error);
    CHECK(why && strlen(why) > 0 && !error);
    mw_string_free(why);
    why = mw_matcher_expected(matcher, &error);
    CHECK(why && strlen(why) > 0 && !error);
    mw_string_free(why);
    CHECK(mw_matcher_accept(matcher, 'f', &error));
    uint8_t forced[16];
    CHECK(mw_matcher_forced_bytes(matcher, forced, 16, &error) == 5 && !memcmp(forced, "alse!", 5));
    CHECK(mw_matcher_forced_bytes(matcher, forced, 2, &error) == 2);

    mw_matcher *fork = mw_matcher_fork(matcher);
    CHECK(mw_matcher_accept_text(fork, "alse!", 5, &error) && mw_matcher_is_accepting(fork));
    CHECK(!mw_matcher_is_accepting(matcher));
    CHECK(mw_matcher_accept(fork, END, &error) && mw_matcher_is_finished(fork) && !error);
    CHECK(mw_matcher_fill_mask(fork, row, 9, &error) && !allows(row, END));
    CHECK(mw_matcher_rollback(fork, 1, &error) && !mw_matcher_is_finished(fork) && mw_matcher_steps(fork) == 2);
    CHECK(!mw_matcher_rollback(fork, 3, &error));
    expect_error(error, MW_ERROR_KIND_ARGUMENT, "cannot roll back 3 steps");
    error = NULL;

    float logits[SIZE] = {0};
    CHECK(mw_matcher_mask_logits(fork, logits, SIZE, &error) && logits[END] == 0 && logits['x'] == -INFINITY);
    CHECK(!mw_matcher_mask_logits(fork, logits, SIZE - 1, &error));
    expect_error(error, MW_ERROR_KIND_ARGUMENT, "258 logits for a vocabulary of 259");
    error = NULL;

    uint32_t one[9], two[9];
    mw_matcher *both[] = {matcher, fork};
    uint32_t *lines[] = {one, two};
    CHECK(mw_fill_masks(both, lines, 2, 9, &error) && !error && allows(one, 'a') && allows(two, END));
    mw_matcher *same[] = {matcher, matcher};
    CHECK(!mw_fill_masks(same, lines, 2, 9, &error));
    expect_error(error, MW_ERROR_KIND_ARGUMENT, "`matchers` holds one pointer twice");
    error = NULL;
    CHECK(mw_fill_masks(NULL, NULL, 0, 9, &error) && !error);

    mw_matcher_free(fork);
    mw_matcher_free(matcher);
    mw_vocabulary_free(vocabulary);
}

static void nulls(void) {
    CHECK(mw_error_get_kind(NULL) == MW_ERROR_KIND_OTHER && !*mw_error_message(NULL));
    mw_error_free(NULL);
    mw_string_free(NULL);
    CHECK(!mw_vocabulary_size(NULL) && !mw_vocabulary_mask_words(NULL) && !mw_matcher_new(NULL));
    CHECK(!mw_matcher_fork(NULL) && !mw_matcher_is_accepting(NULL) && !mw_matcher_is_finished(NULL));
    mw_error *error = NULL;
    CHECK(!mw_vocabulary_from_file(NULL, &error));
    expect_error(error, MW_ERROR_KIND_ARGUMENT, "`path` is NULL");
    error = NULL;
    CHECK(!mw_compiler_new(NULL, NULL, &error));
    expect_error(error, MW_ERROR_KIND_ARGUMENT, "`vocabulary` is NULL");
    error = NULL;
    CHECK(!mw_compile(NULL, MW_CONSTRAINT_KIND_REGEX, "a", 1, &error));
    expect_error(error, MW_ERROR_KIND_ARGUMENT, "`compiler` is NULL");
    error = NULL;
    CHECK(!mw_matcher_accept(NULL, 0, &error));
    expect_error(error, MW_ERROR_KIND_ARGUMENT, "`matcher` is NULL");
    mw_compiler_free(NULL);
    mw_constraint_free(NULL);
    mw_matcher_free(NULL);
    CHECK(strchr(mw_version(), '.'));
}

/* Threads that compile with one compiler and follow one constraint. */
static void *work(void *shared) {
    mw_constraint *own = compiled(shared, MW_CONSTRAINT_KIND_JSON_SCHEMA, "{\"type\": \"boolean\"}");
    uint32_t row[9];
    for (int i = 0; i < 200; i++) {
        mw_matcher *matcher = mw_matcher_new(own);
        CHECK(mw_matcher_fill_mask(matcher, row, 9, NULL) && allows(row, 256));
        CHECK(mw_matcher_accept(matcher, 256, NULL) && mw_matcher_accept(matcher, END, NULL));
        mw_matcher_free(matcher);
    }
    mw_constraint_free(own);
    return NULL;
}

static void threads(void) {
    mw_vocabulary *vocabulary = bytes_and_more();
    mw_compiler *compiler = mw_compiler_new(vocabulary, NULL, NULL);
    pthread_t running[4];
    for (int i = 0; i < 4; i++)
        CHECK(!pthread_create(&running[i], NULL, work, compiler));
    for (int i = 0; i < 4; i++)
        pthread_join(running[i], NULL);
    mw_compiler_free(compiler);
    mw_vocabulary_free(vocabulary);
}

/* The sampler of examples/llama_sampler.h, driven as llama.cpp drives it. */
static void llama(void) {
    mw_vocabulary *vocabulary = bytes_and_more();
    mw_compiler *compiler = mw_compiler_new(vocabulary, NULL, NULL);
    mw_constraint *constraint = compiled(compiler, MW_CONSTRAINT_KIND_CHOICE, "[\"ab\", \"ac\"]");
    struct llama_sampler *sampler = mw_llama_sampler(constraint, mw_vocabulary_mask_words(vocabulary));
    CHECK(sampler && !strcmp(sampler->iface->name(sampler), "maskwright"));
    llama_token_data data[SIZE];
    for (int turn = 0; turn < 2; turn++) {
        const llama_token expected[] = {'a', 'c', END};
        for (int step = 0; step < 3; step++) {
            for (int i = 0; i < SIZE; i++)
                data[i] = (llama_token_data){i, (float)(i % 200), 0};
            llama_token_data_array candidates = {data, SIZE, -1, true};
            sampler->iface->apply(sampler, &candidates);
            CHECK(!candidates.sorted);
            llama_token best = 0;
            for (int i = 0; i < SIZE; i++)
                best = data[i].logit > data[best].logit ? i : best;
            CHECK(best == expected[step]);
            sampler->iface->accept(sampler, best);
        }
        struct llama_sampler *clone = sampler->iface->clone(sampler);
        CHECK(clone && !mw_llama_sampler_error(clone)[0]);
        clone->iface->free(clone);
        free(clone);
        sampler->iface->reset(sampler);
    }
    sampler->iface->accept(sampler, 'x');
    CHECK(strstr(mw_llama_sampler_error(sampler), "is not allowed here"));
    llama_token_data_array candidates = {data, SIZE, -1, true};
    sampler->iface->apply(sampler, &candidates);
    for (int i = 0; i < SIZE; i++)
        CHECK(data[i].logit == -INFINITY);
    sampler->iface->free(sampler);
    free(sampler);
    mw_constraint_free(constraint);
    mw_compiler_free(compiler);
    mw_vocabulary_free(vocabulary);
}

int main(void) {
    vocabularies();
    constraints();
    matchers();
    nulls();
    threads();
    llama();
    puts("6 passed, 0 failed");
    return 0;
}
