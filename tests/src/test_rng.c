/*
 * The generator itself: published answers, the counter's layout, random access, instruction sets,
 * replicas in lanes. Its distribution is the business of test_rng_statistics.c.
 */
#include "tests/harness/harness.h"

#include "src/base/cpu.h"
#include "src/base/rng.h"
#include "src/base/rng_kernel.h"

#include <Random123/philox.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const norma_rng_kernels *kernels_of(int isa)
{
#ifdef NORMA_X86_KERNELS
    if (isa == NORMA_ISA_AVX2)
        return &norma_rng_kernels_avx2;
    if (isa == NORMA_ISA_AVX512)
        return &norma_rng_kernels_avx512;
#endif
    (void)isa;
    return &norma_rng_kernels_scalar;
}

/* Philox4x32-10 in Random123's tests/kat_vectors: counter, key, answer. */
static const uint32_t published[3][10] = {
    {0, 0, 0, 0, 0, 0, 0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8},
    {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff, 0x408f276d, 0x41c83b0e,
     0xa20bc7c6, 0x6d5451fd},
    {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344, 0xa4093822, 0x299f31d0, 0xd16cfe09, 0x94fdcceb,
     0x5001e420, 0x24126ea1},
};

/* In every place of a vector: as block number `place` of a range, and as lane number `place`. */
static void published_answers(void **state)
{
    (void)state;
    enum { N = 40 };
    uint64_t out[2 * N];
    for (int isa = 0; isa < NORMA_N_ISAS; isa++) {
        if (!norma_cpu_supports((norma_isa)isa))
            continue;
        for (int kat = 0; kat < 3; kat++) {
            const uint32_t *v = published[kat];
            uint64_t word0 = v[6] | (uint64_t)v[7] << 32;
            uint64_t word1 = v[8] | (uint64_t)v[9] << 32;
            for (int place = 0; place < N; place++) {
                norma_rng_counter counter = {{v[4], v[5]}, v[1], v[2], v[3]};
                if ((uint32_t)place <= v[0]) {
                    kernels_of(isa)->blocks(NORMA_RNG_WORDS, &counter, (int64_t)v[0] - place,
                                            place + 1, out);
                    assert_true(out[2 * place] == word0 && out[2 * place + 1] == word1);
                }
                counter.word2 -= (uint32_t)place;
                kernels_of(isa)->lanes(NORMA_RNG_WORDS, &counter, v[0], 1, place + 1, out);
                assert_true(out[place] == word0 && out[2 * place + 1] == word1);
            }
        }
    }
}

/* The counter built bit by bit from the documented layout. */
static void put_field(uint32_t words[4], int *position, int n_bits, int64_t value)
{
    for (int bit = 0; bit < n_bits; bit++, (*position)++)
        if (value >> bit & 1)
            words[*position / 32] |= 1u << *position % 32;
}

static void block_by_definition(uint64_t seed, const norma_rng_stream *s, int64_t block,
                                uint64_t out[2])
{
    philox4x32_ctr_t counter = {{0, 0, 0, 0}};
    philox4x32_key_t key = {{(uint32_t)seed, (uint32_t)(seed >> 32)}};
    int position = 0;
    put_field(counter.v, &position, 40, block);
    put_field(counter.v, &position, 24, s->layer);
    put_field(counter.v, &position, 24, s->replica);
    put_field(counter.v, &position, 20, s->cell);
    put_field(counter.v, &position, 8, s->tensor);
    put_field(counter.v, &position, 8, (int64_t)s->purpose);
    counter = philox4x32_R(10, counter, key);
    out[0] = counter.v[0] | (uint64_t)counter.v[1] << 32;
    out[1] = counter.v[2] | (uint64_t)counter.v[3] << 32;
}

/* The values 0, 1, limit - 2, limit - 1 of a field by number 0 .. 3. */
static int64_t near_limits(int64_t limit, int which)
{
    return which < 2 ? which : limit - 4 + which;
}

static norma_rng_stream stream_near_limits(int code)
{
    norma_rng_stream s = {
        (norma_rng_purpose)near_limits(NORMA_RNG_N_PURPOSES, code & 3),
        near_limits(NORMA_RNG_N_TENSORS, code >> 2 & 3),
        near_limits(NORMA_RNG_N_LAYERS, code >> 4 & 3),
        near_limits(NORMA_RNG_N_REPLICAS, code >> 6 & 3),
        near_limits(NORMA_RNG_N_CELLS, code >> 8 & 3),
    };
    return s;
}

static int compare_pairs(const void *a, const void *b)
{
    return memcmp(a, b, 2 * sizeof(uint64_t));
}

/* For one key Philox permutes the counters, so blocks are equal exactly when counters are. */
static void no_two_collide(void **state)
{
    (void)state;
    enum { N_STREAMS = 1024, N_BLOCKS = 6 };
    static uint64_t seen[N_STREAMS * N_BLOCKS][2];
    static const int64_t blocks[N_BLOCKS] = {0,
                                             1,
                                             ((int64_t)1 << 32) - 1,
                                             (int64_t)1 << 32,
                                             ((int64_t)1 << 40) - 2,
                                             ((int64_t)1 << 40) - 1};
    const uint64_t seed = 0x0123456789abcdefu;
    for (int code = 0; code < N_STREAMS; code++) {
        norma_rng_stream s = stream_near_limits(code);
        norma_test_ok(norma_rng_check(&s, NORMA_RNG_N_ELEMENTS));
        for (int b = 0; b < N_BLOCKS; b++) {
            uint64_t expected[2];
            uint64_t *got = seen[code * N_BLOCKS + b];
            norma_rng_fill_words(seed, &s, 2 * blocks[b], 2, got);
            block_by_definition(seed, &s, blocks[b], expected);
            assert_memory_equal(got, expected, sizeof expected);
        }
    }
    qsort(seen, N_STREAMS * N_BLOCKS, sizeof seen[0], compare_pairs);
    for (int i = 1; i < N_STREAMS * N_BLOCKS; i++)
        assert_true(compare_pairs(seen[i - 1], seen[i]) != 0);
}

static void beyond_limits_refused(void **state)
{
    (void)state;
    static const char *const fields[] = {"tensor", "layer", "replica", "cell"};
    static const int64_t limits[] = {NORMA_RNG_N_TENSORS, NORMA_RNG_N_LAYERS, NORMA_RNG_N_REPLICAS,
                                     NORMA_RNG_N_CELLS};
    const norma_rng_stream good = {.purpose = NORMA_RNG_TEST};
    for (int f = 0; f < 4; f++)
        for (int sign = 0; sign < 2; sign++) {
            norma_rng_stream bad = good;
            int64_t *values[] = {&bad.tensor, &bad.layer, &bad.replica, &bad.cell};
            *values[f] = sign ? -1 : limits[f];
            norma_test_fails(norma_rng_check(&bad, 1), NORMA_LIMIT, fields[f]);
        }
    norma_rng_stream bad = {.purpose = (norma_rng_purpose)NORMA_RNG_N_PURPOSES};
    norma_test_fails(norma_rng_check(&bad, 1), NORMA_LIMIT, "purpose");
    norma_test_fails(norma_rng_check(&good, NORMA_RNG_N_ELEMENTS + 1), NORMA_LIMIT, "elements");
    norma_test_fails(norma_rng_check(&good, -1), NORMA_LIMIT, "elements");
    norma_test_ok(norma_rng_check(&good, NORMA_RNG_N_ELEMENTS));
}

/* Seeds 0 to 2^64 - 1 are all different; those that 32-bit or additive schemes confuse among them.
 */
static void seeds_differ(void **state)
{
    (void)state;
    static uint64_t seen[131][2];
    int n = 0;
    const norma_rng_stream s = {.purpose = NORMA_RNG_TEST};
    for (int bit = 0; bit < 64; bit++) {
        norma_rng_fill_words((uint64_t)1 << bit, &s, 0, 2, seen[n++]);
        norma_rng_fill_words(~((uint64_t)1 << bit), &s, 0, 2, seen[n++]);
    }
    norma_rng_fill_words(0, &s, 0, 2, seen[n++]);
    norma_rng_fill_words(UINT64_MAX, &s, 0, 2, seen[n++]);
    norma_rng_fill_words(4357, &s, 0, 2, seen[n++]);
    qsort(seen, (size_t)n, sizeof seen[0], compare_pairs);
    for (int i = 1; i < n; i++)
        assert_true(compare_pairs(seen[i - 1], seen[i]) != 0);
}

static uint32_t inverse_of_odd(uint32_t m)
{
    uint32_t x = m; /* Newton's iteration doubles the correct bits: 3, 6, 12, 24, 48 */
    for (int i = 0; i < 4; i++)
        x *= 2 - m * x;
    return x;
}

/* The counter that Philox maps to the words x: its rounds undone. */
static void undo_philox(const uint32_t key[2], uint32_t x[4])
{
    const uint32_t m0 = 0xD2511F53u;
    const uint32_t m1 = 0xCD9E8D57u;
    for (uint32_t round = 10; round-- > 0;) {
        uint32_t c0 = x[3] * inverse_of_odd(m0);
        uint32_t c2 = x[1] * inverse_of_odd(m1);
        uint32_t high0 = (uint32_t)((uint64_t)c0 * m0 >> 32);
        uint32_t high1 = (uint32_t)((uint64_t)c2 * m1 >> 32);
        uint32_t c1 = x[0] ^ high1 ^ (key[0] + round * 0x9E3779B9u);
        uint32_t c3 = x[2] ^ high0 ^ (key[1] + round * 0xBB67AE85u);
        x[0] = c0;
        x[1] = c1;
        x[2] = c2;
        x[3] = c3;
    }
}

/* Words that no search would find: the ends of the unit interval and the angles' quarters. */
static void extreme_words(void **state)
{
    (void)state;
    static const uint64_t words[] = {0,
                                     0x7ff,
                                     0x800,
                                     0xfff,
                                     0x1000,
                                     UINT64_MAX,
                                     UINT64_MAX - 0x800,
                                     (uint64_t)1 << 61,
                                     (uint64_t)1 << 62,
                                     (uint64_t)3 << 61,
                                     (uint64_t)1 << 63,
                                     ((uint64_t)1 << 63) - 1,
                                     (uint64_t)3 << 62,
                                     (uint64_t)7 << 61,
                                     (uint64_t)1 << 60,
                                     ((uint64_t)1 << 62) - 1};
    enum { N = sizeof words / sizeof words[0] };
    const uint32_t key[2] = {17, 4};
    for (int a = 0; a < N; a++)
        for (int b = 0; b < N; b++) {
            uint32_t x[4] = {(uint32_t)words[a], (uint32_t)(words[a] >> 32), (uint32_t)words[b],
                             (uint32_t)(words[b] >> 32)};
            double reference[2] = {0, 0};
            undo_philox(key, x);
            norma_rng_counter counter = {{key[0], key[1]}, x[1], x[2], x[3]};
            for (int isa = 0; isa < NORMA_N_ISAS; isa++) {
                if (!norma_cpu_supports((norma_isa)isa))
                    continue;
                uint64_t raw[2];
                double u[2];
                double z[2];
                kernels_of(isa)->blocks(NORMA_RNG_WORDS, &counter, x[0], 1, raw);
                assert_true(raw[0] == words[a] && raw[1] == words[b]);
                kernels_of(isa)->blocks(NORMA_RNG_UNIFORM, &counter, x[0], 1, u);
                kernels_of(isa)->blocks(NORMA_RNG_NORMAL, &counter, x[0], 1, z);
                for (int i = 0; i < 2; i++) {
                    uint64_t k = raw[i] >> 11;
                    assert_true(u[i] > 0 && u[i] < 1);
                    assert_true(u[i] == (k > 0 ? ldexp((double)k, -53) : ldexp(1, -54)));
                }
                double r = sqrt(-2 * log(u[0]));
                double pi = acos(-1.0);
                assert_true(norma_test_close(z[0], r * cos(2 * pi * u[1]), 1e-14, 1e-15 * r));
                assert_true(norma_test_close(z[1], r * sin(2 * pi * u[1]), 1e-14, 1e-15 * r));
                if (isa == NORMA_ISA_SCALAR)
                    memcpy(reference, z, sizeof z);
                assert_memory_equal(reference, z, sizeof z);
            }
        }
}

enum { N_BITS_TEST = 1 << 19 };

/* Normals and uniforms, in every bit, on every instruction set. */
static void instruction_sets_agree(void **state)
{
    (void)state;
    const norma_rng_stream s = {.purpose = NORMA_RNG_TEST, .layer = 3, .cell = 300};
    double *reference = malloc(2 * N_BITS_TEST * sizeof *reference);
    double *other = malloc(2 * N_BITS_TEST * sizeof *other);
    assert_true(reference && other);
    int64_t first = ((int64_t)1 << 33) - N_BITS_TEST / 2; /* the block number passes 2^32 */
    for (int isa = 0; isa < NORMA_N_ISAS; isa++) {
        if (!norma_cpu_supports((norma_isa)isa))
            continue;
        double *out = isa == NORMA_ISA_SCALAR ? reference : other;
        norma_cpu_set_isa((norma_isa)isa);
        norma_rng_fill_normal(5, &s, first, N_BITS_TEST, out);
        norma_rng_fill_uniform(6, &s, first, N_BITS_TEST, out + N_BITS_TEST);
        assert_memory_equal(reference, out, 2 * N_BITS_TEST * sizeof *out);
    }
    free(reference);
    free(other);
}

/* Signs and masks against the uniforms they are made of, from even and odd beginnings, at lengths
 * around those of vectors; a value beyond either end is not touched. */
static void signs_and_masks_follow_the_uniforms(void **state)
{
    (void)state;
    enum { N = 67 };
    const norma_rng_stream s = {.purpose = NORMA_RNG_TEST, .replica = 4, .layer = 2};
    static const double keeps[] = {0.5, 0.3, 1, 1e-300};
    for (int isa = 0; isa < NORMA_N_ISAS; isa++) {
        if (!norma_cpu_supports((norma_isa)isa))
            continue;
        norma_cpu_set_isa((norma_isa)isa);
        for (int64_t n = 0; n <= N; n++)
            for (int64_t first = ((int64_t)1 << 33) - 34, k = 0; k < 2; k++, first++) {
                double u[N], signs[N + 2] = {0}, kept[N + 2];
                double keep = keeps[n % 4];
                norma_rng_fill_uniform(3, &s, first, n, u);
                norma_rng_fill_sign(3, &s, first, n, signs + 1);
                for (int64_t i = 0; i < N + 2; i++)
                    kept[i] = i % 3 == 0 ? -1.5 : 2.5;
                norma_rng_mask(3, &s, first, n, keep, kept + 1);
                for (int64_t i = 0; i < n; i++) {
                    double value = (i + 1) % 3 == 0 ? -1.5 : 2.5;
                    double expected = u[i] < keep ? value : 0.0;
                    assert_true(signs[i + 1] == (u[i] < 0.5 ? -1.0 : 1.0));
                    assert_memory_equal(&kept[i + 1], &expected, sizeof expected);
                }
                assert_true(signs[0] == 0 && signs[n + 1] == 0 && kept[0] == -1.5);
                assert_true(kept[n + 1] == ((n + 1) % 3 == 0 ? -1.5 : 2.5));
            }
    }
}

typedef void (*fill_function)(uint64_t seed, const norma_rng_stream *stream, int64_t first,
                              int64_t n, double *out);
typedef void (*fill_lanes_function)(uint64_t seed, const norma_rng_stream *stream, int64_t first,
                                    int64_t n, int64_t n_lanes, double *out);

/* Words as doubles, so that one test serves the three kinds; memcpy and memcmp alone touch them. */
static void fill_words(uint64_t seed, const norma_rng_stream *stream, int64_t first, int64_t n,
                       double *out)
{
    uint64_t words[600];
    assert_in_range(n, 0, 600);
    norma_rng_fill_words(seed, stream, first, n, words);
    memcpy(out, words, (size_t)n * sizeof *out);
}

static void fill_words_lanes(uint64_t seed, const norma_rng_stream *stream, int64_t first,
                             int64_t n, int64_t n_lanes, double *out)
{
    uint64_t words[600];
    assert_in_range(n * n_lanes, 0, 600);
    norma_rng_fill_words_lanes(seed, stream, first, n, n_lanes, words);
    memcpy(out, words, (size_t)(n * n_lanes) * sizeof *out);
}

static const fill_function fills[3] = {fill_words, norma_rng_fill_uniform, norma_rng_fill_normal};
static const fill_lanes_function fills_lanes[3] = {fill_words_lanes, norma_rng_fill_uniform_lanes,
                                                   norma_rng_fill_normal_lanes};

/* Any two cuts of a range, from even and odd beginnings. */
static void any_split_gives_the_same(void **state)
{
    (void)state;
    enum { N = 75 };
    const norma_rng_stream s = {.purpose = NORMA_RNG_TEST, .replica = 9};
    for (int isa = 0; isa < NORMA_N_ISAS; isa++) {
        if (!norma_cpu_supports((norma_isa)isa))
            continue;
        norma_cpu_set_isa((norma_isa)isa);
        for (int kind = 0; kind < 3; kind++)
            for (int64_t first = 0; first < 2; first++) {
                double whole[N];
                double parts[N + 1] = {0};
                fills[kind](1, &s, first, N, whole);
                for (int64_t a = 0; a <= N; a++)
                    for (int64_t b = a; b <= N; b += 1 + (b - a) / 3) {
                        parts[N] = 0.25;
                        fills[kind](1, &s, first + b, N - b, parts + b);
                        fills[kind](1, &s, first, a, parts);
                        fills[kind](1, &s, first + a, b - a, parts + a);
                        assert_memory_equal(whole, parts, sizeof whole);
                        assert_true(parts[N] == 0.25);
                    }
            }
    }
}

static void lanes_are_replicas(void **state)
{
    (void)state;
    enum { N = 7, MAX_LANES = 70 };
    double lanes[N * MAX_LANES + 1];
    double one[N];
    for (int isa = 0; isa < NORMA_N_ISAS; isa++) {
        if (!norma_cpu_supports((norma_isa)isa))
            continue;
        norma_cpu_set_isa((norma_isa)isa);
        for (int kind = 0; kind < 3; kind++)
            for (int64_t n_lanes = 1; n_lanes <= MAX_LANES; n_lanes += 1 + n_lanes / 9)
                for (int64_t n = 0; n <= N; n++) {
                    int64_t first = ((int64_t)1 << 33) - 3 + n % 2;
                    norma_rng_stream s = {NORMA_RNG_TEST, 255, 1000000,
                                          NORMA_RNG_N_REPLICAS - n_lanes, 777777};
                    lanes[n * n_lanes] = 0.25;
                    fills_lanes[kind](3, &s, first, n, n_lanes, lanes);
                    assert_true(lanes[n * n_lanes] == 0.25);
                    for (int64_t l = 0; l < n_lanes; l++, s.replica++) {
                        fills[kind](3, &s, first, n, one);
                        for (int64_t e = 0; e < n; e++)
                            assert_memory_equal(&one[e], &lanes[e * n_lanes + l], sizeof one[e]);
                    }
                }
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(published_answers),      cmocka_unit_test(no_two_collide),
    cmocka_unit_test(beyond_limits_refused),  cmocka_unit_test(seeds_differ),
    cmocka_unit_test(extreme_words),          cmocka_unit_test(signs_and_masks_follow_the_uniforms),
    cmocka_unit_test(instruction_sets_agree), cmocka_unit_test(any_split_gives_the_same),
    cmocka_unit_test(lanes_are_replicas),
};

norma_test_main_serial("rng", tests)
