/* A constraint as a sampler of llama.cpp, for the chain of samplers of a program that links it.
 *
 *     #include "llama.h"
 *     #include "llama_sampler.h"
 *
 *     mw_vocabulary *vocabulary = mw_vocabulary_from_file("model.gguf", &error);
 *     ...
 *     struct llama_sampler *constrained = mw_llama_sampler(constraint, mw_vocabulary_mask_words(vocabulary));
 *     llama_sampler_chain_add(chain, constrained); // before temperature and top-k
 *     llama_sampler_chain_add(chain, llama_sampler_init_dist(seed));
 *
 * The file is C and C++. The sampler takes tokens that are not allowed out of the candidates. llama.cpp has no way to refuse a token
 * that was drawn all the same: `mw_llama_sampler_error` reports it, and no token is allowed from then on.
 */
#ifndef MW_LLAMA_SAMPLER_H
#define MW_LLAMA_SAMPLER_H

#include "llama.h"
#include "maskwright.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

typedef struct mw_llama_state {
    mw_matcher *matcher;
    /* The matcher at the start of a text, for `reset`. */
    mw_matcher *start;
    uint32_t *row;
    size_t words;
    /* The first error, or an empty text. */
    char error[512];
} mw_llama_state;

static void mw_llama_keep(mw_llama_state *state, mw_error *error) {
    if (error && !state->error[0])
        snprintf(state->error, sizeof state->error, "%s", mw_error_message(error));
    mw_error_free(error);
}

static const char *mw_llama_name(const struct llama_sampler *sampler) {
    (void)sampler;
    return "maskwright";
}

static void mw_llama_accept(struct llama_sampler *sampler, llama_token token) {
    mw_llama_state *state = (mw_llama_state *)sampler->ctx;
    mw_error *error = NULL;
    if (!mw_matcher_is_finished(state->matcher)) {
        mw_matcher_accept(state->matcher, (uint32_t)token, &error);
        mw_llama_keep(state, error);
    }
}

static void mw_llama_apply(struct llama_sampler *sampler, llama_token_data_array *candidates) {
    mw_llama_state *state = (mw_llama_state *)sampler->ctx;
    mw_error *error = NULL;
    const bool filled = !state->error[0] && mw_matcher_fill_mask(state->matcher, state->row, state->words, &error);
    mw_llama_keep(state, error);
    for (size_t i = 0; i < candidates->size; i++) {
        const uint32_t token = (uint32_t)candidates->data[i].id;
        const bool known = filled && token / 32 < state->words;
        if (!known || !(state->row[token / 32] >> token % 32 & 1))
            candidates->data[i].logit = -INFINITY;
    }
    candidates->sorted = false;
}

static void mw_llama_reset(struct llama_sampler *sampler) {
    mw_llama_state *state = (mw_llama_state *)sampler->ctx;
    mw_matcher_free(state->matcher);
    state->matcher = mw_matcher_fork(state->start);
    state->error[0] = 0;
}

static void mw_llama_free(struct llama_sampler *sampler) {
    mw_llama_state *state = (mw_llama_state *)sampler->ctx;
    mw_matcher_free(state->matcher);
    mw_matcher_free(state->start);
    free(state->row);
    free(state);
}

static struct llama_sampler *mw_llama_wrap(mw_llama_state *state);

static struct llama_sampler *mw_llama_clone(const struct llama_sampler *sampler) {
    const mw_llama_state *state = (const mw_llama_state *)sampler->ctx;
    mw_llama_state *copy = (mw_llama_state *)malloc(sizeof *copy);
    uint32_t *row = (uint32_t *)malloc(state->words * sizeof *row);
    if (!copy || !row) {
        free(copy);
        free(row);
        return NULL;
    }
    *copy = *state;
    copy->matcher = mw_matcher_fork(state->matcher);
    copy->start = mw_matcher_fork(state->start);
    copy->row = row;
    return mw_llama_wrap(copy);
}

static struct llama_sampler *mw_llama_wrap(mw_llama_state *state) {
    /* In the order of llama.h, as C++ before C++20 wants it; what follows there may be NULL. */
    static struct llama_sampler_i functions = {
        mw_llama_name, mw_llama_accept, mw_llama_apply, mw_llama_reset, mw_llama_clone, mw_llama_free,
    };
    return llama_sampler_init(&functions, state);
}

/* A sampler for one sequence under a constraint; `words` is mw_vocabulary_mask_words. NULL without memory. */
static inline struct llama_sampler *mw_llama_sampler(const mw_constraint *constraint, size_t words) {
    mw_llama_state *state = (mw_llama_state *)calloc(1, sizeof *state);
    uint32_t *row = (uint32_t *)malloc(words * sizeof *row);
    if (!state || !row) {
        free(state);
        free(row);
        return NULL;
    }
    state->start = mw_matcher_new(constraint);
    state->matcher = mw_matcher_fork(state->start);
    state->row = row;
    state->words = words;
    return mw_llama_wrap(state);
}

/* The first error of a sampler, or an empty text. */
static inline const char *mw_llama_sampler_error(const struct llama_sampler *sampler) {
    return ((const mw_llama_state *)sampler->ctx)->error;
}

#endif
