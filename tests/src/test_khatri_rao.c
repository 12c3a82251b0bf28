/* features/khatri_rao: products and columns against the definition, adjoint, Gram identity; in both
 * precisions, weights stored and regenerated, by every instruction set of this processor. */
#include "tests/harness/layer_fixture.h"
#include "tests/harness/planned_memory.h"

#include "src/base/cpu.h"

#include <math.h>
#include <string.h>

static const struct {
    int64_t c2, c0;
    const char *split;
    int64_t height, width, n_features;
} cases[] = {
    {1, 1, "second", 1, 1, 1},   {3, 4, "second", 1, 1, 9},     {4, 3, "second", 3, 3, 70},
    {3, 4, "first", 3, 2, 50},   {2, 3, "2x3+3x2", 4, 4, 130},  {2, 7, "3x3+1x1", 3, 3, 20},
    {5, 2, "3x1+1x3", 1, 1, 33}, {1, 40, "second", 1, 1, 7000}, {2, 2, "second", 3, 3, 0},
    {9, 50, "second", 3, 3, 97}, {70, 17, "first", 3, 3, 61},   {30, 33, "2x1+1x2", 2, 2, 100},
};
enum { n_cases = sizeof cases / sizeof cases[0] };

typedef struct fixture {
    norma_khatri_rao_shape shape;
    int64_t n, n_features, width_first, width_second;
    double *first, *second;
    fixture_weights weights;
    norma_khatri_rao_source source;
    norma_khatri_rao *kr;
    double *matrix; /* [n_features][n]: columns of KR, by the definition */
    double *g, *r;
} fixture;

/* In place: kr borrows from the fixture. */
static void fixture_create(fixture *out, int c)
{
    fixture f = {.n_features = cases[c].n_features};
    f.shape =
        fixture_shape(cases[c].c2, cases[c].c0, cases[c].split, cases[c].height, cases[c].width);
    f.n = norma_khatri_rao_n_rows(&f.shape);
    f.width_first = norma_khatri_rao_width_first(&f.shape);
    f.width_second = norma_khatri_rao_width_second(&f.shape);
    f.first = fixture_alloc(f.n_features * f.width_first);
    f.second = fixture_alloc(f.n_features * f.width_second);
    fixture_fill(1, f.n_features * f.width_first, f.first);
    fixture_fill(2, f.n_features * f.width_second, f.second);
    f.matrix = fixture_alloc(f.n * f.n_features);
    for (int64_t J = 0; J < f.n_features; J++)
        for (int64_t I = 0; I < f.n; I++)
            f.matrix[J * f.n + I] =
                fixture_kr(&f.shape, f.second + J * f.width_second, f.first + J * f.width_first, I);
    f.g = fixture_alloc(f.n_features);
    f.r = fixture_alloc(f.n);
    fixture_fill(3, f.n_features, f.g);
    fixture_fill(4, f.n, f.r);
    f.weights = (fixture_weights){f.width_first, f.width_second, f.first, f.second};
    *out = f;
    out->source = (norma_khatri_rao_source){fixture_copy_weights, &out->weights};
    const norma_khatri_rao_mode mode = {0};
    norma_test_takes(
        norma_khatri_rao_bytes(&f.shape, f.n_features, &mode),
        norma_khatri_rao_create(&f.shape, f.n_features, &out->source, &mode, &out->kr));
}

static void fixture_destroy(fixture *f)
{
    norma_khatri_rao_destroy(&f->kr);
    NORMA_FREE(f->first);
    NORMA_FREE(f->second);
    NORMA_FREE(f->matrix);
    NORMA_FREE(f->g);
    NORMA_FREE(f->r);
}

/* y = KR g and x = KR' r from the stored matrix. */
static void multiply(const fixture *f, const double *g, double *y)
{
    memset(y, 0, (size_t)f->n * sizeof *y);
    for (int64_t J = 0; J < f->n_features; J++)
        for (int64_t I = 0; I < f->n; I++)
            y[I] += f->matrix[J * f->n + I] * g[J];
}

static void multiply_transpose(const fixture *f, const double *r, double *x)
{
    for (int64_t J = 0; J < f->n_features; J++) {
        x[J] = 0;
        for (int64_t I = 0; I < f->n; I++)
            x[J] += f->matrix[J * f->n + I] * r[I];
    }
}

static void check_vectors(const double *a, const double *b, int64_t n, double tolerance)
{
    double difference = norma_test_max_difference(a, b, n);
    if (!(difference <= tolerance))
        fail_msg("vectors differ by %g", difference);
}

/* Products of one operator against the stored matrix; `u` is the precision's roundoff. */
static void check_products(const fixture *f, norma_khatri_rao *kr, double u)
{
    double *y = fixture_alloc(f->n);
    double *y_expected = fixture_alloc(f->n);
    double *x = fixture_alloc(f->n_features);
    double *x_expected = fixture_alloc(f->n_features);
    double scale = 100 * u * ((double)f->n_features + (double)f->n + 10);
    norma_khatri_rao_apply(kr, f->g, y);
    multiply(f, f->g, y_expected);
    check_vectors(y, y_expected, f->n, scale);
    norma_khatri_rao_apply_transpose(kr, f->r, x);
    multiply_transpose(f, f->r, x_expected);
    check_vectors(x, x_expected, f->n_features, scale);

    /* The single pass: x <- KR' r + shift + keep x, y = KR x; also in place. */
    memcpy(x, f->g, (size_t)f->n_features * sizeof *x);
    norma_khatri_rao_apply_both(kr, f->r, 0.25, -0.5, x, y);
    for (int64_t J = 0; J < f->n_features; J++)
        x_expected[J] += 0.25 - 0.5 * f->g[J];
    multiply(f, x_expected, y_expected);
    check_vectors(x, x_expected, f->n_features, scale);
    check_vectors(y, y_expected, f->n, scale * ((double)f->n_features + 1));
    for (int64_t J = 0; J < f->n_features; J++)
        x[J] = NAN; /* not read when nothing is kept */
    memcpy(y, f->r, (size_t)f->n * sizeof *y);
    norma_khatri_rao_apply_both(kr, y, 0, 0, x, y);
    for (int64_t J = 0; J < f->n_features; J++)
        x_expected[J] -= 0.25 - 0.5 * f->g[J];
    multiply(f, x_expected, y_expected);
    check_vectors(y, y_expected, f->n, scale * ((double)f->n_features + 1));
    NORMA_FREE(y);
    NORMA_FREE(y_expected);
    NORMA_FREE(x);
    NORMA_FREE(x_expected);
}

/* Weights of odd scales make no difference to single precision, which divides by units. */
static void check_single(const fixture *f, bool regenerated)
{
    norma_khatri_rao *kr = NULL;
    norma_khatri_rao_mode mode = {.single = true, .regenerated = regenerated};
    double *plain = fixture_alloc(f->n);
    double *scaled = fixture_alloc(f->n);
    norma_test_takes(norma_khatri_rao_bytes(&f->shape, f->n_features, &mode),
                     norma_khatri_rao_create(&f->shape, f->n_features, &f->source, &mode, &kr));
    check_products(f, kr, 0x1p-24);
    norma_khatri_rao_apply(kr, f->g, plain);
    norma_khatri_rao_destroy(&kr);
    mode.unit_first = 0x1p-80; /* beyond the range of float with the other one */
    mode.unit_second = 0x1p-60;
    fixture_weights tiny = f->weights;
    double *first = fixture_alloc(f->n_features * f->width_first);
    double *second = fixture_alloc(f->n_features * f->width_second);
    for (int64_t e = 0; e < f->n_features * f->width_first; e++)
        first[e] = f->first[e] * mode.unit_first;
    for (int64_t e = 0; e < f->n_features * f->width_second; e++)
        second[e] = f->second[e] * mode.unit_second;
    tiny.first = first;
    tiny.second = second;
    const norma_khatri_rao_source source = {fixture_copy_weights, &tiny};
    norma_test_ok(norma_khatri_rao_create(&f->shape, f->n_features, &source, &mode, &kr));
    norma_khatri_rao_apply(kr, f->g, scaled);
    for (int64_t I = 0; I < f->n; I++)
        norma_test_check(scaled[I] == plain[I] * 0x1p-140);
    norma_khatri_rao_destroy(&kr);
    NORMA_FREE(first);
    NORMA_FREE(second);
    NORMA_FREE(plain);
    NORMA_FREE(scaled);
}

static void test_products_match_definition(void **state)
{
    (void)state;
    const norma_isa before = norma_cpu_isa();
    for (int isa = 0; isa < NORMA_N_ISAS; isa++) {
        if (!norma_cpu_supports((norma_isa)isa))
            continue;
        norma_cpu_set_isa((norma_isa)isa);
        for (int c = 0; c < n_cases; c++) {
            fixture f;
            fixture_create(&f, c);
            check_products(&f, f.kr, 1e-16);
            check_single(&f, c % 2 == 1);
            fixture_destroy(&f);
        }
    }
    norma_cpu_set_isa(before);
}

/* Stored or regenerated: the same bits, of products and of weights. */
static void test_regenerated_has_the_same_bits(void **state)
{
    (void)state;
    for (int c = 0; c < n_cases; c++) {
        for (int single = 0; single < 2; single++) {
            fixture f;
            norma_khatri_rao *stored = NULL;
            norma_khatri_rao *drawn = NULL;
            norma_khatri_rao_mode mode = {.single = single == 1, .unit_first = 4};
            fixture_create(&f, c);
            double *y[2] = {fixture_alloc(f.n), fixture_alloc(f.n)};
            double *first = fixture_alloc(2 * f.n_features * f.width_first);
            double *second = fixture_alloc(2 * f.n_features * f.width_second);
            norma_test_ok(
                norma_khatri_rao_create(&f.shape, f.n_features, &f.source, &mode, &stored));
            mode.regenerated = true;
            norma_test_ok(
                norma_khatri_rao_create(&f.shape, f.n_features, &f.source, &mode, &drawn));
            norma_khatri_rao_apply(stored, f.g, y[0]);
            norma_khatri_rao_apply(drawn, f.g, y[1]);
            norma_test_check(memcmp(y[0], y[1], (size_t)f.n * sizeof(double)) == 0);
            int64_t half = f.n_features / 2; /* across what threads and blocks hold */
            norma_khatri_rao_read(stored, half / 2, half, first, second);
            norma_khatri_rao_read(drawn, half / 2, half, first + half * f.width_first,
                                  second + half * f.width_second);
            for (int64_t e = 0; e < half * f.width_first; e++)
                norma_test_check(first[e] == first[half * f.width_first + e]);
            for (int64_t e = 0; e < half * f.width_second; e++) {
                double exact = f.second[half / 2 * f.width_second + e];
                norma_test_check(second[e] == second[half * f.width_second + e] &&
                                 second[e] == (single == 1 ? (double)(float)exact : exact));
            }
            norma_khatri_rao_destroy(&stored);
            norma_khatri_rao_destroy(&drawn);
            NORMA_FREE(y[0]);
            NORMA_FREE(y[1]);
            NORMA_FREE(first);
            NORMA_FREE(second);
            fixture_destroy(&f);
        }
    }
}

/* Any range of a column has the bits of the whole column. */
static void test_fill_any_range(void **state)
{
    (void)state;
    for (int c = 0; c < n_cases; c++) {
        fixture f;
        fixture_create(&f, c);
        int64_t length = f.n / f.shape.n_channels_out;
        double *whole = fixture_alloc(length);
        double *part = fixture_alloc(length);
        for (int64_t J = 0; J < f.n_features && J < 2; J++) {
            const double *second = f.second + J * f.width_second;
            const double *first = f.first + J * f.width_first;
            int64_t i = f.shape.n_channels_out - 1;
            norma_khatri_rao_fill(&f.shape, second, first, i, 0, length, whole);
            check_vectors(whole, f.matrix + J * f.n + i * length, length, 1e-14);
            for (int64_t start = 0; start <= length; start++) {
                for (int64_t count = 0; count <= length - start; count++) {
                    norma_khatri_rao_fill(&f.shape, second, first, i, start, count, part);
                    norma_test_check(memcmp(part, whole + start, (size_t)count * 8) == 0);
                }
            }
        }
        NORMA_FREE(whole);
        NORMA_FREE(part);
        fixture_destroy(&f);
    }
}

static double dot(const double *a, const double *b, int64_t n)
{
    double sum = 0;
    for (int64_t e = 0; e < n; e++)
        sum += a[e] * b[e];
    return sum;
}

/* <KR g, r> = <g, KR' r>, and KR (2 g + h) = 2 KR g + KR h. */
static void test_adjoint_and_linear(void **state)
{
    (void)state;
    for (int c = 0; c < n_cases; c++) {
        fixture f;
        fixture_create(&f, c);
        double *y = fixture_alloc(f.n);
        double *z = fixture_alloc(f.n);
        double *x = fixture_alloc(f.n_features);
        norma_khatri_rao_apply(f.kr, f.g, y);
        norma_khatri_rao_apply_transpose(f.kr, f.r, x);
        norma_test_check(norma_test_close(dot(y, f.r, f.n), dot(f.g, x, f.n_features), 1e-12,
                                          1e-12 * (double)f.n_features));
        norma_khatri_rao_apply(f.kr, x, z);
        for (int64_t J = 0; J < f.n_features; J++)
            x[J] += 2 * f.g[J];
        for (int64_t I = 0; I < f.n; I++)
            z[I] += 2 * y[I];
        norma_khatri_rao_apply(f.kr, x, y);
        check_vectors(y, z, f.n, 1e-14 + 1e-14 * (double)f.n_features * (double)f.n);
        NORMA_FREE(y);
        NORMA_FREE(z);
        NORMA_FREE(x);
        fixture_destroy(&f);
    }
}

/* K1 = K2 = 1: the Gram matrix KR' KR of the features is (A A') o (B B'). */
static void test_gram_is_hadamard_product(void **state)
{
    (void)state;
    fixture f;
    fixture_create(&f, 1); /* c2 = 3, c0 = 4, 9 features */
    const double *a = f.second;
    const double *b = f.first;
    double y[12];
    double unit[9];
    double gram[9];
    for (int64_t J = 0; J < 9; J++) {
        memset(unit, 0, sizeof unit);
        unit[J] = 1;
        norma_khatri_rao_apply(f.kr, unit, y);
        norma_khatri_rao_apply_transpose(f.kr, y, gram);
        for (int64_t H = 0; H < 9; H++)
            norma_test_check(norma_test_close(
                gram[H], dot(a + 3 * J, a + 3 * H, 3) * dot(b + 4 * J, b + 4 * H, 4), 0, 1e-14));
    }
    fixture_destroy(&f);
}

static void test_counts_and_refusals(void **state)
{
    (void)state;
    norma_khatri_rao_shape shape = fixture_shape(64, 32, "2x2+3x3", 3, 3);
    assert_int_equal(norma_khatri_rao_n_rows(&shape), 64 * 32 * 16);
    assert_int_equal(norma_khatri_rao_width_first(&shape), 32 * 4);
    assert_int_equal(norma_khatri_rao_width_second(&shape), 64 * 9);
    norma_test_check(norma_khatri_rao_flops(&shape, 1000000000000) == 2e12 * 128 * 576);
    shape.n_channels_in = 0;
    norma_test_fails(norma_khatri_rao_check(&shape), NORMA_CONFIG, "0 input channels");
    shape.n_channels_in = INT64_MAX / 2;
    norma_test_fails(norma_khatri_rao_check(&shape), NORMA_LIMIT, "2^40");
    shape.n_channels_out = 1;
    shape.n_channels_in = (int64_t)1 << 33;
    norma_test_fails(norma_khatri_rao_check(&shape), NORMA_LIMIT, "weights a feature");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_products_match_definition),
    cmocka_unit_test(test_regenerated_has_the_same_bits),
    cmocka_unit_test(test_fill_any_range),
    cmocka_unit_test(test_adjoint_and_linear),
    cmocka_unit_test(test_gram_is_hadamard_product),
    cmocka_unit_test(test_counts_and_refusals),
};

norma_test_main_serial("src.khatri_rao", tests)
