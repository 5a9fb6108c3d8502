// Attention over a paged KV cache, and the writing of keys and values into it. What lies where in the cache,
// and what is computed: paged_attention.rs, whose functions for the CPU compute the same.
//
// Pointers are to numbers of one type, which is in a kernel's name; sums are in f32. Widths of heads are even.

#include <cstddef>
#include <cstdint>

#include <cuda_bf16.h>
#include <cuda_fp16.h>

namespace {

constexpr unsigned POSITIONS = 16; // Positions of a block.
constexpr unsigned LANES = 32;     // Threads of a warp.
constexpr unsigned WARPS = 8;      // Warps of a block of threads of `attend`.
constexpr unsigned TOGETHER = 4;   // Positions whose loads a warp begins together.
constexpr unsigned SPLIT = 512;    // Positions that one block of threads of `attend` reads.

__device__ float2 two(const float *at) { return *reinterpret_cast<const float2 *>(at); }
__device__ float2 two(const __half *at) { return __half22float2(*reinterpret_cast<const __half2 *>(at)); }
__device__ float2 two(const __nv_bfloat16 *at) {
    return __bfloat1622float2(*reinterpret_cast<const __nv_bfloat162 *>(at));
}

__device__ void put(float *at, float x) { *at = x; }
__device__ void put(__half *at, float x) { *at = __float2half_rn(x); }
__device__ void put(__nv_bfloat16 *at, float x) { *at = __float2bfloat16_rn(x); }

// Writes the numbers of one position, (rows, heads, width), into its slot.
// Grid: (rows). Threads: any number.
template <class T>
__device__ void store(const T *numbers, const uint32_t *slots, T *cache, uint32_t heads, uint32_t width) {
    const size_t block = slots[blockIdx.x] / POSITIONS;
    const uint32_t position = slots[blockIdx.x] % POSITIONS;
    const T *from = numbers + static_cast<size_t>(blockIdx.x) * heads * width;
    for (uint32_t i = threadIdx.x; i < heads * width; i += blockDim.x) {
        const size_t row = (block * heads + i / width) * POSITIONS + position;
        cache[row * width + i % width] = from[i];
    }
}

struct Attention {
    uint32_t heads, kv_heads, width;
    uint32_t blocks; // Columns of the tables.
    float scale;
    float soft_cap;  // 0: none.
    uint32_t window; // 0: none.
};

// The attention of one head of one row over at most SPLIT positions of its sequence.
//
// A warp takes TOGETHER positions at a time; a lane holds 2 * PAIRS dimensions of each. Softmax is computed
// on the way: the sums so far belong to the greatest score so far (Milakov and Gimelshein 2018, "Online
// normalizer calculation for softmax"). At the end the warps' sums are added.
//
// Grid: (rows, heads, splits). Threads: WARPS * LANES. With one split the result is written to `output`, with
// more the sums of each split to `partial` (rows, heads, splits, width + 2): weighted values, the sum of
// weights, the greatest score.
template <class T, unsigned PAIRS>
__device__ void attend(const T *queries, const T *keys, const T *values, const uint32_t *tables,
                       const uint32_t *lengths, T *output, float *partial, Attention it) {
    __shared__ float all_tops[WARPS], all_weights[WARPS], all_sums[WARPS][2 * PAIRS * LANES];
    const uint32_t warp = threadIdx.x / LANES, lane = threadIdx.x % LANES;
    const uint32_t length = lengths[blockIdx.x];
    const uint32_t first = it.window != 0 && length > it.window ? length - it.window : 0;
    const uint32_t begin = blockIdx.z * SPLIT;
    const uint32_t from = begin > first ? begin : first;
    const uint32_t to = begin + SPLIT < length ? begin + SPLIT : length;
    const uint32_t *table = tables + static_cast<size_t>(blockIdx.x) * it.blocks;
    const uint32_t kv_head = blockIdx.y / (it.heads / it.kv_heads);
    const size_t head = static_cast<size_t>(blockIdx.x) * it.heads + blockIdx.y;

    float2 query[PAIRS], sum[PAIRS];
    for (unsigned i = 0; i < PAIRS; i++) {
        const uint32_t at = 2 * (lane + i * LANES);
        query[i] = at < it.width ? two(queries + head * it.width + at) : make_float2(0, 0);
        sum[i] = make_float2(0, 0);
    }
    float top = -INFINITY, weights = 0;
    for (uint32_t next = from + warp * TOGETHER; next < to; next += WARPS * TOGETHER) {
        size_t place[TOGETHER];
        float score[TOGETHER];
        for (unsigned j = 0; j < TOGETHER; j++) {
            // Past the end the last position is read again, with no weight.
            const uint32_t position = next + j < to ? next + j : to - 1;
            const size_t block = table[position / POSITIONS];
            place[j] = ((block * it.kv_heads + kv_head) * POSITIONS + position % POSITIONS) * it.width;
        }
        for (unsigned j = 0; j < TOGETHER; j++) {
            score[j] = 0;
            for (unsigned i = 0; i < PAIRS; i++) {
                const uint32_t at = 2 * (lane + i * LANES);
                const float2 key = at < it.width ? two(keys + place[j] + at) : make_float2(0, 0);
                score[j] += query[i].x * key.x + query[i].y * key.y;
            }
        }
        for (unsigned lanes = LANES / 2; lanes > 0; lanes /= 2) {
            for (unsigned j = 0; j < TOGETHER; j++) {
                score[j] += __shfl_xor_sync(0xffffffff, score[j], lanes);
            }
        }
        float new_top = top;
        for (unsigned j = 0; j < TOGETHER; j++) {
            score[j] *= it.scale;
            if (it.soft_cap != 0) {
                score[j] = tanhf(score[j] / it.soft_cap) * it.soft_cap;
            }
            if (next + j >= to) {
                score[j] = -INFINITY;
            }
            new_top = fmaxf(new_top, score[j]);
        }
        const float shrunk = expf(top - new_top);
        top = new_top;
        weights *= shrunk;
        for (unsigned i = 0; i < PAIRS; i++) {
            sum[i].x *= shrunk;
            sum[i].y *= shrunk;
        }
        for (unsigned j = 0; j < TOGETHER; j++) {
            const float weight = expf(score[j] - top);
            weights += weight;
            for (unsigned i = 0; i < PAIRS; i++) {
                const uint32_t at = 2 * (lane + i * LANES);
                const float2 value = at < it.width ? two(values + place[j] + at) : make_float2(0, 0);
                sum[i].x += weight * value.x;
                sum[i].y += weight * value.y;
            }
        }
    }

    if (lane == 0) {
        all_tops[warp] = top;
        all_weights[warp] = weights;
    }
    for (unsigned i = 0; i < PAIRS; i++) {
        all_sums[warp][2 * (lane + i * LANES)] = sum[i].x;
        all_sums[warp][2 * (lane + i * LANES) + 1] = sum[i].y;
    }
    __syncthreads();
    for (unsigned i = 0; i < WARPS; i++) {
        top = fmaxf(i == 0 ? -INFINITY : top, all_tops[i]);
    }
    float total = 0;
    float share[WARPS];
    for (unsigned i = 0; i < WARPS; i++) {
        // A warp without a position has no share; nor has any in a split before the window.
        share[i] = all_weights[i] == 0 ? 0 : expf(all_tops[i] - top);
        total += share[i] * all_weights[i];
    }
    float *part = partial + (head * gridDim.z + blockIdx.z) * (it.width + 2);
    for (uint32_t at = threadIdx.x; at < it.width; at += blockDim.x) {
        float result = 0;
        for (unsigned i = 0; i < WARPS; i++) {
            result += share[i] * all_sums[i][at];
        }
        if (gridDim.z == 1) {
            put(output + head * it.width + at, result / total);
        } else {
            part[at] = result;
        }
    }
    if (gridDim.z > 1 && threadIdx.x == 0) {
        part[it.width] = total;
        part[it.width + 1] = top;
    }
}

// Adds the sums of the splits of `attend`.
// Grid: (rows, heads). Threads: any number.
template <class T>
__device__ void merge(const float *partial, T *output, uint32_t heads, uint32_t width, uint32_t splits) {
    const size_t head = static_cast<size_t>(blockIdx.x) * heads + blockIdx.y;
    const float *parts = partial + head * splits * (width + 2);
    float top = -INFINITY;
    for (uint32_t i = 0; i < splits; i++) {
        top = fmaxf(top, parts[i * (width + 2) + width + 1]);
    }
    for (uint32_t at = threadIdx.x; at < width; at += blockDim.x) {
        float sum = 0, total = 0;
        for (uint32_t i = 0; i < splits; i++) {
            const float *part = parts + i * (width + 2);
            const float share = part[width] == 0 ? 0 : expf(part[width + 1] - top);
            sum += share * part[at];
            total += share * part[width];
        }
        put(output + head * width + at, sum / total);
    }
}

} // namespace

#define KERNELS(NAME, T)                                                                                               \
    extern "C" __global__ void store_##NAME(const T *numbers, const uint32_t *slots, T *cache, uint32_t heads,         \
                                            uint32_t width) {                                                          \
        store(numbers, slots, cache, heads, width);                                                                    \
    }                                                                                                                  \
    extern "C" __global__ void merge_##NAME(const float *partial, T *output, uint32_t heads, uint32_t width,           \
                                            uint32_t splits) {                                                         \
        merge(partial, output, heads, width, splits);                                                                  \
    }                                                                                                                  \
    ATTEND(NAME, T, 1)                                                                                                 \
    ATTEND(NAME, T, 2)                                                                                                 \
    ATTEND(NAME, T, 4)

#define ATTEND(NAME, T, PAIRS)                                                                                         \
    extern "C" __global__ void attend_##NAME##_##PAIRS(                                                                \
        const T *queries, const T *keys, const T *values, const uint32_t *tables, const uint32_t *lengths, T *output,  \
        float *partial, uint32_t heads, uint32_t kv_heads, uint32_t width, uint32_t blocks, float scale,               \
        float soft_cap, uint32_t window) {                                                                             \
        attend<T, PAIRS>(queries, keys, values, tables, lengths, output, partial,                                      \
                         Attention{heads, kv_heads, width, blocks, scale, soft_cap, window});                          \
    }

KERNELS(f32, float)
KERNELS(f16, __half)
KERNELS(bf16, __nv_bfloat16)
