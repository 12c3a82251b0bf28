/*
 * Statistics of the generator's numbers. Every check below is one that a perfect generator fails
 * with probability 1e-6 (4.9 standard deviations, or the Kolmogorov-Smirnov quantile 2.7 / sqrt n);
 * there are about 500, so a correct program fails one of them for one choice of seeds in 2000. The
 * seeds are fixed.
 */
#include "tests/harness/harness.h"

#include "src/base/rng.h"

#include <math.h>

enum { N = 1 << 16 };
static const double n_sigma = 4.9;
static const double ks_limit = 2.7;

static double first_numbers[N];
static double second_numbers[N];

static const norma_rng_stream base = {
    .purpose = NORMA_RNG_TEST, .tensor = 3, .layer = 70000, .replica = 12, .cell = 256};

/* |mean - expected| in units of its standard deviation. */
static void check_mean(const char *what, double sum, double n, double expected, double variance)
{
    double distance = fabs(sum / n - expected) / sqrt(variance / n);
    if (!(distance < n_sigma))
        fail_msg("%s: %.10g, expected %.10g: off by %.2f standard deviations", what, sum / n,
                 expected, distance);
}

static void moments_of_normals(void **state)
{
    (void)state;
    enum { N_PARTS = 16 };
    double sums[9] = {0};
    double n_beyond = 0;
    for (int part = 0; part < N_PARTS; part++) {
        norma_rng_fill_normal(1, &base, (int64_t)part * N, N, first_numbers);
        for (int i = 0; i < N; i++) {
            double z = first_numbers[i];
            double power = 1;
            for (int k = 1; k <= 8; k++)
                sums[k] += power *= z;
            n_beyond += fabs(z) > 3 ? 1 : 0;
        }
    }
    double n = (double)N_PARTS * N;
    /* E z^k = (k - 1)!! for even k; Var z^k = E z^2k - (E z^k)^2. */
    check_mean("E z", sums[1], n, 0, 1);
    check_mean("E z^2", sums[2], n, 1, 2);
    check_mean("E z^3", sums[3], n, 0, 15);
    check_mean("E z^4", sums[4], n, 3, 96);
    check_mean("E z^5", sums[5], n, 0, 945);
    check_mean("E z^6", sums[6], n, 15, 10395 - 225);
    check_mean("E z^8", sums[8], n, 105, 2027025 - 105 * 105);
    double p = erfc(3 / sqrt(2.0));
    check_mean("P(|z| > 3)", n_beyond, n, p, p * (1 - p));
}

static void moments_of_uniforms(void **state)
{
    (void)state;
    enum { N_PARTS = 16 };
    double sums[5] = {0};
    for (int part = 0; part < N_PARTS; part++) {
        norma_rng_fill_uniform(2, &base, (int64_t)part * N, N, first_numbers);
        for (int i = 0; i < N; i++) {
            double power = 1;
            for (int k = 1; k <= 4; k++)
                sums[k] += power *= first_numbers[i];
        }
    }
    for (int k = 1; k <= 4; k++)
        check_mean("E u^k", sums[k], (double)N_PARTS * N, 1.0 / (k + 1),
                   1.0 / (2 * k + 1) - 1.0 / ((k + 1) * (k + 1)));
}

static void every_bit_is_fair(void **state)
{
    (void)state;
    static uint64_t words[N];
    int64_t n_ones[64] = {0};
    int64_t n_equal[64] = {0}; /* bits equal to their neighbour in the word */
    norma_rng_fill_words(3, &base, 0, N, words);
    for (int i = 0; i < N; i++)
        for (int bit = 0; bit < 64; bit++) {
            n_ones[bit] += (int64_t)(words[i] >> bit & 1);
            n_equal[bit] += (words[i] >> bit & 1) == (words[i] >> (bit + 1) % 64 & 1);
        }
    for (int bit = 0; bit < 64; bit++) {
        check_mean("a bit", (double)n_ones[bit], N, 0.5, 0.25);
        check_mean("two bits", (double)n_equal[bit], N, 0.5, 0.25);
    }
}

static double normal_law(double z)
{
    return 0.5 * erfc(-z / sqrt(2.0));
}

static double uniform_law(double u)
{
    return u;
}

static void kolmogorov_smirnov(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 4; seed++) {
        norma_rng_fill_normal(seed, &base, 1, N, first_numbers);
        double d = norma_test_kolmogorov_smirnov(first_numbers, N, normal_law);
        if (!(d < ks_limit))
            fail_msg("normals of seed %d: sqrt(n) D = %g", (int)seed, d);
        norma_rng_fill_uniform(seed, &base, 1, N, first_numbers);
        d = norma_test_kolmogorov_smirnov(first_numbers, N, uniform_law);
        if (!(d < ks_limit))
            fail_msg("uniforms of seed %d: sqrt(n) D = %g", (int)seed, d);
    }
}

/* The radius and the angle of a Box-Muller pair are independent, one exponential, one uniform. */
static void pairs_are_isotropic(void **state)
{
    (void)state;
    static double pairs[2 * N];
    double product = 0;
    double pi = acos(-1.0);
    norma_rng_fill_normal(4, &base, 0, 2 * (int64_t)N, pairs);
    for (int i = 0; i < N; i++) {
        double x = pairs[2 * i];
        double y = pairs[2 * i + 1];
        first_numbers[i] = atan2(y, x) / (2 * pi) + 0.5;
        second_numbers[i] = exp(-0.5 * (x * x + y * y));
        product += 12 * (first_numbers[i] - 0.5) * (second_numbers[i] - 0.5);
    }
    check_mean("angle and radius", product, N, 0, 1);
    norma_test_check(norma_test_kolmogorov_smirnov(first_numbers, N, uniform_law) < ks_limit);
    norma_test_check(norma_test_kolmogorov_smirnov(second_numbers, N, uniform_law) < ks_limit);
}

/* Correlations of x and y, of their squares, and of one with the other's square. */
static void check_independent(const char *what, const double *x, const double *y, int64_t n)
{
    double linear = 0;
    double squares = 0;
    double mixed = 0;
    double mixed_back = 0;
    for (int64_t i = 0; i < n; i++) {
        double p = (x[i] * x[i] - 1) / sqrt(2.0);
        double q = (y[i] * y[i] - 1) / sqrt(2.0);
        linear += x[i] * y[i];
        squares += p * q;
        mixed += x[i] * q;
        mixed_back += p * y[i];
    }
    check_mean(what, linear, (double)n, 0, 1);
    check_mean(what, squares, (double)n, 0, 1);
    check_mean(what, mixed, (double)n, 0, 1);
    check_mean(what, mixed_back, (double)n, 0, 1);
}

/* Streams that differ in one bit of one field. */
static void streams_are_independent(void **state)
{
    (void)state;
    norma_rng_fill_normal(5, &base, 0, N, first_numbers);
    static const int n_bits[] = {8, 8, 24, 24, 20};
    static const char *const names[] = {"purposes", "tensors", "layers", "replicas", "cells"};
    for (int field = 0; field < 5; field++)
        for (int bit = 0; bit < n_bits[field]; bit += bit < 3 ? 1 : 4) {
            norma_rng_stream other = base;
            int64_t *values[] = {NULL, &other.tensor, &other.layer, &other.replica, &other.cell};
            if (field == 0)
                other.purpose = (norma_rng_purpose)((int)base.purpose ^ 1 << bit);
            else
                *values[field] ^= (int64_t)1 << bit;
            norma_test_ok(norma_rng_check(&other, N));
            norma_rng_fill_normal(5, &other, 0, N, second_numbers);
            check_independent(names[field], first_numbers, second_numbers, N);
        }
    for (int bit = 0; bit < 64; bit += 3) {
        norma_rng_fill_normal(5 ^ (uint64_t)1 << bit, &base, 0, N, second_numbers);
        check_independent("seeds", first_numbers, second_numbers, N);
    }
}

static void elements_are_independent(void **state)
{
    (void)state;
    norma_rng_fill_normal(6, &base, 0, N, first_numbers);
    for (int lag = 1; lag <= 8; lag++)
        check_independent("neighbours", first_numbers, first_numbers + lag, N - lag);
    for (int bit = 16; bit < 41; bit += 3) {
        norma_rng_fill_normal(6, &base, (int64_t)1 << bit, N, second_numbers);
        check_independent("distant elements", first_numbers, second_numbers, N);
    }
}

/* The columns of a table of replicas in lanes: every pair of neighbouring lanes. */
static void lanes_are_independent(void **state)
{
    (void)state;
    enum { N_LANES = 16, N_ROWS = N / N_LANES };
    norma_rng_fill_normal_lanes(7, &base, 0, N_ROWS, N_LANES, first_numbers);
    for (int lane = 0; lane < N_LANES; lane++) {
        double sum = 0;
        double product = 0;
        for (int row = 0; row < N_ROWS; row++) {
            const double *x = first_numbers + (int64_t)row * N_LANES;
            sum += x[lane];
            product += x[lane] * x[(lane + 1) % N_LANES];
        }
        check_mean("mean of a lane", sum, N_ROWS, 0, 1);
        check_mean("neighbouring lanes", product, N_ROWS, 0, 1);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(moments_of_normals),       cmocka_unit_test(moments_of_uniforms),
    cmocka_unit_test(every_bit_is_fair),        cmocka_unit_test(kolmogorov_smirnov),
    cmocka_unit_test(pairs_are_isotropic),      cmocka_unit_test(streams_are_independent),
    cmocka_unit_test(elements_are_independent), cmocka_unit_test(lanes_are_independent),
};

norma_test_main_serial("rng_statistics", tests)
