/*
 * Orthogonal weights: orthonormal to rounding in every shape, and Haar distributed, by the exact
 * moments of the orthogonal group (Collins and Sniady 2006). Statistical checks fail a correct
 * program with probability 1e-6 each (4.9 standard deviations; about 80 checks); seeds are fixed.
 */
#include "tests/harness/harness.h"

#include "src/base/mem.h"
#include "src/random/cholqr.h"
#include "src/random/tensor.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static norma_tensor_spec spec_of(norma_tensor_role role, int64_t n_features, int64_t n_channels,
                                 int64_t n_taps)
{
    norma_tensor_spec spec = {.distribution = NORMA_DISTRIBUTION_ORTHOGONAL,
                              .role = role,
                              .seed = 2,
                              .stream = {.purpose = NORMA_RNG_TEST},
                              .n_features = n_features,
                              .n_channels = n_channels,
                              .n_taps = n_taps};
    return spec;
}

/* The tensor as its matrix (out, in), the longer side first: entry (t, s) at [t * n_short + s]. */
static void fill_matrix(const norma_tensor_spec *spec, const norma_tensor *tensor, double *matrix)
{
    int64_t row = spec->n_channels * spec->n_taps;
    bool first = spec->role == NORMA_TENSOR_FIRST;
    int64_t n_out = first ? spec->n_features : spec->n_channels;
    int64_t n_in = first ? row : spec->n_features * spec->n_taps;
    double *values = malloc((size_t)(spec->n_features * row) * sizeof *values);
    assert_non_null(values);
    norma_tensor_fill(tensor, 0, spec->n_features, values);
    for (int64_t feature = 0; feature < spec->n_features; feature++)
        for (int64_t channel = 0; channel < spec->n_channels; channel++)
            for (int64_t tap = 0; tap < spec->n_taps; tap++) {
                int64_t out = first ? feature : channel;
                int64_t in = (first ? channel : feature) * spec->n_taps + tap;
                double value = values[feature * row + channel * spec->n_taps + tap];
                matrix[n_out >= n_in ? out * n_in + in : in * n_out + out] = value;
            }
    free(values);
}

/* max |X'X - 1| for X [n_long][n_short]. */
static double gram_distance(int64_t n_long, int64_t n_short, const double *x)
{
    double worst = 0;
    for (int64_t a = 0; a < n_short; a++)
        for (int64_t b = 0; b < n_short; b++) {
            long double sum = a == b ? -1 : 0;
            for (int64_t t = 0; t < n_long; t++)
                sum += (long double)x[t * n_short + a] * x[t * n_short + b];
            double distance = fabs((double)sum);
            if (!(distance <= worst))
                worst = distance;
        }
    return worst;
}

static void orthonormal_in_every_shape(void **state)
{
    (void)state;
    /* role, features, channels, taps; rows taller and wider than square, and square. */
    static const int64_t shapes[][4] = {
        {0, 1, 1, 1},   {0, 5000, 6, 1}, {0, 700, 4, 9}, {0, 40, 40, 1},  {0, 9, 1, 9},
        {0, 5, 7, 9},   {0, 1, 30, 1},   {1, 1, 1, 1},   {1, 5000, 6, 1}, {1, 900, 8, 9},
        {1, 40, 40, 1}, {1, 3, 27, 9},   {1, 3, 50, 9},  {1, 1, 30, 1},   {1, 13, 2, 25},
        {0, 64, 64, 1}, {1, 65, 64, 1},  {0, 4097, 2, 1}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        const int64_t *s = shapes[i];
        norma_tensor *tensor = NULL;
        norma_tensor_spec spec = spec_of((norma_tensor_role)s[0], s[1], s[2], s[3]);
        int64_t n_out = s[0] == 0 ? s[1] : s[2];
        int64_t n_in = s[1] * s[2] * s[3] / n_out;
        double *matrix = malloc((size_t)(n_out * n_in) * sizeof *matrix);
        assert_non_null(matrix);
        norma_test_ok(norma_tensor_create(&spec, &tensor));
        fill_matrix(&spec, tensor, matrix);
        double distance =
            gram_distance(n_out > n_in ? n_out : n_in, n_out > n_in ? n_in : n_out, matrix);
        if (!(distance <= 1e-14))
            fail_msg("shape %d: Q'Q - 1 reaches %g", (int)i, distance);
        norma_tensor_destroy(&tensor);
        free(matrix);
    }
}

/* Sums of a statistic and of its square over replicas. */
typedef struct sample {
    double sum, squares;
} sample;

static void add(sample *s, double x)
{
    s->sum += x;
    s->squares += x * x;
}

static void check_sample(const char *what, const sample *s, double n, double expected)
{
    double mean = s->sum / n;
    double sigma = sqrt((s->squares / n - mean * mean) / (n - 1));
    if (!(fabs(mean - expected) < 4.9 * sigma + 1e-13))
        fail_msg("%s: %.8g +- %.2g, expected %.8g", what, mean, sigma, expected);
}

enum { N_REPLICAS = 12000, N_MOMENTS = 10 };

static const char *const moment_names[N_MOMENTS] = {
    "E q11",         "E q11 q22",     "E q11^3 q22",   "E q11^2",           "E q11^4",
    "E q11^2 q12^2", "E q11^2 q21^2", "E q11^2 q22^2", "E q11 q12 q21 q22", "E (q11 + q22)^2"};

static void expected_moments(double n, double out[N_MOMENTS])
{
    const double values[N_MOMENTS] = {0,
                                      0,
                                      0,
                                      1 / n,
                                      3 / (n * (n + 2)),
                                      1 / (n * (n + 2)),
                                      1 / (n * (n + 2)),
                                      (n + 1) / (n * (n - 1) * (n + 2)),
                                      -1 / (n * (n - 1) * (n + 2)),
                                      2 / n};
    memcpy(out, values, sizeof values);
}

/* In O(3) each entry is uniform on [-1, 1] (Archimedes). */
static double archimedes(double entry)
{
    return 0.5 * (entry + 1);
}

static void haar_moments(void **state)
{
    (void)state;
    static const int64_t shapes[][4] = {{0, 2, 2, 1}, {0, 3, 1, 3}, {1, 5, 5, 1}, {0, 6, 2, 1},
                                        {1, 2, 2, 3}, {0, 2, 2, 3}, {1, 2, 6, 1}, {1, 1, 4, 4}};
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++) {
        const int64_t *s = shapes[i];
        norma_tensor_spec spec = spec_of((norma_tensor_role)s[0], s[1], s[2], s[3]);
        int64_t n_out = s[0] == 0 ? s[1] : s[2];
        int64_t n_in = s[1] * s[2] * s[3] / n_out;
        int64_t n_long = n_out > n_in ? n_out : n_in;
        int64_t n_short = n_out > n_in ? n_in : n_out;
        sample samples[N_MOMENTS] = {{0, 0}};
        double expected[N_MOMENTS];
        static double corner[N_REPLICAS];
        for (int64_t r = 0; r < N_REPLICAS; r++) {
            norma_tensor *tensor = NULL;
            double q[36];
            spec.stream.replica = r;
            spec.stream.tensor = (int64_t)i;
            norma_test_ok(norma_tensor_create(&spec, &tensor));
            fill_matrix(&spec, tensor, q);
            norma_tensor_destroy(&tensor);
            double a = q[0];
            double b = q[1];
            double c = q[n_short];
            double d = q[n_short + 1];
            const double values[N_MOMENTS] = {a,
                                              a * d,
                                              a * a * a * d,
                                              a * a,
                                              a * a * a * a,
                                              a * a * b * b,
                                              a * a * c * c,
                                              a * a * d * d,
                                              a * b * c * d,
                                              (a + d) * (a + d)};
            for (int m = 0; m < N_MOMENTS; m++)
                add(&samples[m], values[m]);
            corner[r] = a;
        }
        expected_moments((double)n_long, expected);
        for (int m = 0; m < N_MOMENTS; m++)
            check_sample(moment_names[m], &samples[m], N_REPLICAS, expected[m]);
        if (n_long == 3)
            norma_test_check(/* at 1e-6 */
                             norma_test_kolmogorov_smirnov(corner, N_REPLICAS, archimedes) < 2.7);
    }
}

/* A stored matrix as a source of items [n][1]. */
typedef struct stored {
    int64_t n;
    const double *values;
} stored;

static void read_stored(const void *context, int64_t first, int64_t count, double *out)
{
    const stored *s = context;
    memcpy(out, s->values + first * s->n, (size_t)(count * s->n) * sizeof *out);
}

enum { N_LONG = 150, N_SHORT = 12 };

/* X = A R^-1 by cholqr, and R = X'A: upper triangular with a positive diagonal, A = X R. Distances
 * relative to the largest entry of A. */
static void check_factorization(const double *a, int n_factors)
{
    double x[N_LONG * N_SHORT];
    double r[N_SHORT * N_SHORT] = {0};
    const stored source = {N_SHORT, a};
    norma_cholqr *cholqr = NULL;
    double size = 0;
    norma_test_ok(norma_cholqr_create(N_LONG, 1, N_SHORT, read_stored, &source, &cholqr));
    assert_int_equal(norma_cholqr_n_factors(cholqr), n_factors);
    memcpy(x, a, sizeof x);
    for (int t = 0; t < N_LONG; t++)
        norma_cholqr_apply(cholqr, x + (ptrdiff_t)t * N_SHORT);
    norma_cholqr_destroy(&cholqr);
    norma_test_check(gram_distance(N_LONG, N_SHORT, x) <= 1e-14);
    for (int t = 0; t < N_LONG; t++)
        for (int i = 0; i < N_SHORT; i++) {
            size = fmax(size, fabs(a[t * N_SHORT + i]));
            for (int j = 0; j < N_SHORT; j++)
                r[i * N_SHORT + j] += x[t * N_SHORT + i] * a[t * N_SHORT + j];
        }
    for (int i = 0; i < N_SHORT; i++) {
        norma_test_check(r[i * N_SHORT + i] > 0);
        for (int j = 0; j < i; j++)
            norma_test_check(fabs(r[i * N_SHORT + j]) < 1e-12 * size);
    }
    for (int t = 0; t < N_LONG; t++)
        for (int j = 0; j < N_SHORT; j++) {
            double sum = -a[t * N_SHORT + j];
            for (int i = 0; i < N_SHORT; i++)
                sum += x[t * N_SHORT + i] * r[i * N_SHORT + j];
            norma_test_check(fabs(sum) < 1e-12 * size);
        }
}

static void factors_are_qr(void **state)
{
    (void)state;
    double a[N_LONG * N_SHORT];
    const norma_rng_stream stream = {.purpose = NORMA_RNG_TEST};
    norma_rng_fill_normal(1, &stream, 0, N_LONG * N_SHORT, a);
    check_factorization(a, 2);
    /* Two columns that differ by 1e-12: the Gram matrix is singular in double precision. */
    for (int t = 0; t < N_LONG; t++)
        a[t * N_SHORT + 7] = a[t * N_SHORT + 3] + 1e-12 * a[t * N_SHORT + 7];
    check_factorization(a, 3);
}

static void singular_is_refused(void **state)
{
    (void)state;
    double a[N_LONG * N_SHORT];
    const norma_rng_stream stream = {.purpose = NORMA_RNG_TEST};
    const stored source = {N_SHORT, a};
    norma_cholqr *cholqr = NULL;
    norma_rng_fill_normal(1, &stream, 0, N_LONG * N_SHORT, a);
    for (int t = 0; t < N_LONG; t++)
        a[t * N_SHORT + 5] = 0;
    norma_test_fails(norma_cholqr_create(N_LONG, 1, N_SHORT, read_stored, &source, &cholqr),
                     NORMA_NUMERIC, "rank");
    a[5] = (double)NAN;
    norma_test_fails(norma_cholqr_create(N_LONG, 1, N_SHORT, read_stored, &source, &cholqr),
                     NORMA_NUMERIC, "rank");
    a[5] = INFINITY;
    norma_test_fails(norma_cholqr_create(N_LONG, 1, N_SHORT, read_stored, &source, &cholqr),
                     NORMA_NUMERIC, "rank");
    assert_null(cholqr);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(orthonormal_in_every_shape),
    cmocka_unit_test(haar_moments),
    cmocka_unit_test(factors_are_qr),
    cmocka_unit_test(singular_is_refused),
};

norma_test_main_serial("haar", tests)
