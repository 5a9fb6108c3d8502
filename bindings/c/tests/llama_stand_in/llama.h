/* The part of llama.cpp's interface that samplers use, so that examples/llama_sampler.h is compiled and run by
 * the tests without llama.cpp. Names and order of members as in llama.cpp; `llama_sampler_init` as it does. */
#ifndef LLAMA_H
#define LLAMA_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>

typedef int32_t llama_token;

typedef struct llama_token_data {
    llama_token id;
    float logit;
    float p;
} llama_token_data;

typedef struct llama_token_data_array {
    llama_token_data *data;
    size_t size;
    int64_t selected;
    bool sorted;
} llama_token_data_array;

struct llama_sampler;

struct llama_sampler_i {
    const char *(*name)(const struct llama_sampler *sampler);
    void (*accept)(struct llama_sampler *sampler, llama_token token);
    void (*apply)(struct llama_sampler *sampler, llama_token_data_array *candidates);
    void (*reset)(struct llama_sampler *sampler);
    struct llama_sampler *(*clone)(const struct llama_sampler *sampler);
    void (*free)(struct llama_sampler *sampler);
};

struct llama_sampler {
    struct llama_sampler_i *iface;
    void *ctx;
};

static inline struct llama_sampler *llama_sampler_init(struct llama_sampler_i *iface, void *ctx) {
    struct llama_sampler *sampler = (struct llama_sampler *)malloc(sizeof *sampler);
    if (sampler) {
        sampler->iface = iface;
        sampler->ctx = ctx;
    }
    return sampler;
}

#endif
