#include "src/base/rng.h"

#include "src/base/cpu.h"
#include "src/base/rng_kernel.h"

#include <string.h>

static const norma_rng_kernels *kernels(void)
{
#ifdef NORMA_X86_KERNELS
    norma_isa isa = norma_cpu_isa();
    if (isa == NORMA_ISA_AVX512)
        return &norma_rng_kernels_avx512;
    if (isa == NORMA_ISA_AVX2)
        return &norma_rng_kernels_avx2;
#endif
    return &norma_rng_kernels_scalar;
}

/* Of the sets in use, the one whose vectors hold no more lanes than there are. */
static const norma_rng_kernels *kernels_of_lanes(int64_t n_lanes)
{
#ifdef NORMA_X86_KERNELS
    if (n_lanes <= 4 && norma_cpu_isa() == NORMA_ISA_AVX512)
        return &norma_rng_kernels_avx2;
#endif
    (void)n_lanes;
    return kernels();
}

static norma_status check_field(const char *name, int64_t value, int64_t limit)
{
    if (value < 0 || value >= limit)
        return NORMA_FAIL(NORMA_LIMIT,
                          "random numbers: %s number %lld is outside 0 to %lld, the range of its "
                          "field in the generator's counter",
                          name, (long long)value, (long long)(limit - 1));
    return NORMA_OK;
}

norma_status norma_rng_check(const norma_rng_stream *stream, int64_t n_elements)
{
    NORMA_TRY(check_field("purpose", (int64_t)stream->purpose, NORMA_RNG_N_PURPOSES));
    NORMA_TRY(check_field("tensor", stream->tensor, NORMA_RNG_N_TENSORS));
    NORMA_TRY(check_field("layer", stream->layer, NORMA_RNG_N_LAYERS));
    NORMA_TRY(check_field("replica", stream->replica, NORMA_RNG_N_REPLICAS));
    NORMA_TRY(check_field("cell", stream->cell, NORMA_RNG_N_CELLS));
    if (n_elements < 0 || n_elements > NORMA_RNG_N_ELEMENTS)
        return NORMA_FAIL(NORMA_LIMIT,
                          "random numbers: %lld elements in one tensor; the generator's counter "
                          "has room for 0 to %lld",
                          (long long)n_elements, (long long)NORMA_RNG_N_ELEMENTS);
    return NORMA_OK;
}

static norma_rng_counter pack(uint64_t seed, const norma_rng_stream *stream)
{
    uint64_t cell = (uint64_t)stream->cell;
    norma_rng_counter counter = {
        .key = {(uint32_t)seed, (uint32_t)(seed >> 32)},
        .word1 = (uint32_t)((uint64_t)stream->layer << 8),
        .word2 = (uint32_t)((uint64_t)stream->replica | (cell & 0xff) << 24),
        .word3 = (uint32_t)(cell >> 8 | (uint64_t)stream->tensor << 12 |
                            (uint64_t)stream->purpose << 20),
    };
    return counter;
}

/* A range of elements is cut into at most three: an odd first element, whole blocks, an even last
 * one. The single ones come from a whole block of which half is dropped. */
static void fill(norma_rng_kind kind, uint64_t seed, const norma_rng_stream *stream, int64_t first,
                 int64_t n, unsigned char *out)
{
    const norma_rng_kernels *k = kernels();
    norma_rng_counter counter = pack(seed, stream);
    unsigned char pair[16];
    if (n > 0 && first % 2 != 0) {
        k->blocks(kind, &counter, first / 2, 1, pair);
        memcpy(out, pair + 8, 8);
        out += 8;
        first++;
        n--;
    }
    k->blocks(kind, &counter, first / 2, n / 2, out);
    if (n % 2 != 0) {
        k->blocks(kind, &counter, (first + n) / 2, 1, pair);
        memcpy(out + 8 * (n - 1), pair, 8);
    }
}

/* Lanes of a single element are cut into pieces that fit a buffer on the stack. */
enum { N_LANES_AT_ONCE = 64 };

static void fill_one_row(norma_rng_kind kind, const norma_rng_counter *first_lane, int64_t element,
                         int64_t n_lanes, unsigned char *out)
{
    unsigned char pair[16 * N_LANES_AT_ONCE];
    for (int64_t lane = 0; lane < n_lanes; lane += N_LANES_AT_ONCE) {
        int64_t n = n_lanes - lane < N_LANES_AT_ONCE ? n_lanes - lane : N_LANES_AT_ONCE;
        norma_rng_counter counter = *first_lane;
        counter.word2 += (uint32_t)lane;
        kernels_of_lanes(n)->lanes(kind, &counter, element / 2, 1, n, pair);
        memcpy(out + 8 * lane, pair + (element % 2 != 0 ? 8 * n : 0), (size_t)(8 * n));
    }
}

static void fill_lanes(norma_rng_kind kind, uint64_t seed, const norma_rng_stream *stream,
                       int64_t first, int64_t n, int64_t n_lanes, unsigned char *out)
{
    norma_rng_counter counter = pack(seed, stream);
    if (n > 0 && first % 2 != 0) {
        fill_one_row(kind, &counter, first, n_lanes, out);
        out += 8 * n_lanes;
        first++;
        n--;
    }
    kernels_of_lanes(n_lanes)->lanes(kind, &counter, first / 2, n / 2, n_lanes, out);
    if (n % 2 != 0)
        fill_one_row(kind, &counter, first + n - 1, n_lanes, out + 8 * n_lanes * (n - 1));
}

void norma_rng_fill_words(uint64_t seed, const norma_rng_stream *stream, int64_t first, int64_t n,
                          uint64_t *out)
{
    fill(NORMA_RNG_WORDS, seed, stream, first, n, (unsigned char *)out);
}

void norma_rng_fill_uniform(uint64_t seed, const norma_rng_stream *stream, int64_t first, int64_t n,
                            double *out)
{
    fill(NORMA_RNG_UNIFORM, seed, stream, first, n, (unsigned char *)out);
}

void norma_rng_fill_normal(uint64_t seed, const norma_rng_stream *stream, int64_t first, int64_t n,
                           double *out)
{
    fill(NORMA_RNG_NORMAL, seed, stream, first, n, (unsigned char *)out);
}

void norma_rng_fill_sign(uint64_t seed, const norma_rng_stream *stream, int64_t first, int64_t n,
                         double *out)
{
    fill(NORMA_RNG_SIGN, seed, stream, first, n, (unsigned char *)out);
}

void norma_rng_mask(uint64_t seed, const norma_rng_stream *stream, int64_t first, int64_t n,
                    double keep, double *values)
{
    const norma_rng_kernels *k = kernels();
    norma_rng_counter counter = pack(seed, stream);
    double pair[2] = {0, 0};
    if (n > 0 && first % 2 != 0) {
        pair[1] = values[0];
        k->mask(&counter, first / 2, 1, keep, pair);
        values[0] = pair[1];
        values++;
        first++;
        n--;
    }
    k->mask(&counter, first / 2, n / 2, keep, values);
    if (n % 2 != 0) {
        pair[0] = values[n - 1];
        k->mask(&counter, (first + n) / 2, 1, keep, pair);
        values[n - 1] = pair[0];
    }
}

void norma_rng_fill_words_lanes(uint64_t seed, const norma_rng_stream *stream, int64_t first,
                                int64_t n, int64_t n_lanes, uint64_t *out)
{
    fill_lanes(NORMA_RNG_WORDS, seed, stream, first, n, n_lanes, (unsigned char *)out);
}

void norma_rng_fill_uniform_lanes(uint64_t seed, const norma_rng_stream *stream, int64_t first,
                                  int64_t n, int64_t n_lanes, double *out)
{
    fill_lanes(NORMA_RNG_UNIFORM, seed, stream, first, n, n_lanes, (unsigned char *)out);
}

void norma_rng_fill_normal_lanes(uint64_t seed, const norma_rng_stream *stream, int64_t first,
                                 int64_t n, int64_t n_lanes, double *out)
{
    fill_lanes(NORMA_RNG_NORMAL, seed, stream, first, n, n_lanes, (unsigned char *)out);
}

void norma_rng_fill_sign_lanes(uint64_t seed, const norma_rng_stream *stream, int64_t first,
                               int64_t n, int64_t n_lanes, double *out)
{
    fill_lanes(NORMA_RNG_SIGN, seed, stream, first, n, n_lanes, (unsigned char *)out);
}

/* One element of all lanes, the even or the odd one of its block. */
static void mask_one_row(const norma_rng_counter *first_lane, int64_t element, int64_t n_lanes,
                         double keep, double *values)
{
    double pair[2 * N_LANES_AT_ONCE] = {0};
    for (int64_t lane = 0; lane < n_lanes; lane += N_LANES_AT_ONCE) {
        int64_t n = n_lanes - lane < N_LANES_AT_ONCE ? n_lanes - lane : N_LANES_AT_ONCE;
        double *mine = pair + (element % 2 != 0 ? n : 0);
        norma_rng_counter counter = *first_lane;
        counter.word2 += (uint32_t)lane;
        memcpy(mine, values + lane, (size_t)(8 * n));
        kernels_of_lanes(n)->mask_lanes(&counter, element / 2, 1, n, keep, pair);
        memcpy(values + lane, mine, (size_t)(8 * n));
    }
}

void norma_rng_mask_lanes(uint64_t seed, const norma_rng_stream *stream, int64_t first, int64_t n,
                          int64_t n_lanes, double keep, double *values)
{
    norma_rng_counter counter = pack(seed, stream);
    if (n > 0 && first % 2 != 0) {
        mask_one_row(&counter, first, n_lanes, keep, values);
        values += n_lanes;
        first++;
        n--;
    }
    kernels_of_lanes(n_lanes)->mask_lanes(&counter, first / 2, n / 2, n_lanes, keep, values);
    if (n % 2 != 0)
        mask_one_row(&counter, first + n - 1, n_lanes, keep, values + n_lanes * (n - 1));
}
