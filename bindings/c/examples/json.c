/* Writes JSON that a schema accepts, with tokens drawn at random from the masks.
 *
 *     cc examples/json.c -Iinclude -L../../target/release -lmaskwright_c -o json
 *     LD_LIBRARY_PATH=../../target/release ./json [SEED]
 */
#include "maskwright.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void stop_on(mw_error *error) {
    if (error) {
        fprintf(stderr, "error: %s\n", mw_error_message(error));
        mw_error_free(error);
        exit(1);
    }
}

int main(int argc, char **argv) {
    /* One token for each byte, and one that ends the text; a program reads its model's tokenizer with
     * mw_vocabulary_from_file("tokenizer.json", &error). */
    static uint8_t bytes[256];
    mw_token tokens[257];
    for (int i = 0; i < 256; i++) {
        bytes[i] = (uint8_t)i;
        tokens[i] = (mw_token){.bytes = &bytes[i], .len = 1, .special = false};
    }
    tokens[256] = (mw_token){.bytes = (const uint8_t *)"</s>", .len = 4, .special = true};
    const uint32_t end = 256;

    mw_error *error = NULL;
    mw_vocabulary *vocabulary = mw_vocabulary_from_tokens(tokens, 257, &end, 1, &error);
    stop_on(error);
    mw_compiler *compiler = mw_compiler_new(vocabulary, "{\"whitespace\": \"compact\"}", &error);
    stop_on(error);
    const char *schema = "{\"type\": \"object\", \"required\": [\"name\", \"age\"], \"additionalProperties\": false,"
                         " \"properties\": {\"name\": {\"enum\": [\"Ada\", \"Grace\"]},"
                         " \"age\": {\"type\": \"integer\", \"minimum\": 18, \"maximum\": 99}}}";
    mw_constraint *constraint =
        mw_compile(compiler, MW_CONSTRAINT_KIND_JSON_SCHEMA, schema, strlen(schema), &error);
    stop_on(error);
    mw_matcher *matcher = mw_matcher_new(constraint);

    srand(argc > 1 ? (unsigned)atoi(argv[1]) : 1);
    const size_t words = mw_vocabulary_mask_words(vocabulary);
    uint32_t *row = malloc(words * sizeof *row);
    if (!row)
        return 1;
    while (!mw_matcher_is_finished(matcher)) {
        mw_matcher_fill_mask(matcher, row, words, &error);
        stop_on(error);
        /* A model would draw from its logits here. */
        uint32_t token;
        do
            token = (uint32_t)(rand() % 257);
        while (!(row[token / 32] >> token % 32 & 1));
        mw_matcher_accept(matcher, token, &error);
        stop_on(error);
        if (token != end)
            putchar((int)token);
    }
    putchar('\n');

    free(row);
    mw_matcher_free(matcher);
    mw_constraint_free(constraint);
    mw_compiler_free(compiler);
    mw_vocabulary_free(vocabulary);
    return 0;
}
