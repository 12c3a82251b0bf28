/* features/khatri_rao: products and columns against the definition, adjoint, Gram identity. */
#include "tests/harness/layer_fixture.h"

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
};
enum { n_cases = sizeof cases / sizeof cases[0] };

typedef struct fixture {
    norma_khatri_rao_shape shape;
    int64_t n, n_features, width_first, width_second;
    norma_khatri_rao *kr;
    double *matrix; /* [n_features][n]: columns of KR, by the definition */
    double *g, *r;
} fixture;

static fixture fixture_create(int c)
{
    fixture f = {.n_features = cases[c].n_features};
    f.shape =
        fixture_shape(cases[c].c2, cases[c].c0, cases[c].split, cases[c].height, cases[c].width);
    f.n = norma_khatri_rao_n_rows(&f.shape);
    f.width_first = norma_khatri_rao_width_first(&f.shape);
    f.width_second = norma_khatri_rao_width_second(&f.shape);
    norma_test_ok(norma_khatri_rao_create(&f.shape, f.n_features, &f.kr));
    fixture_fill(1, f.n_features * f.width_first, norma_khatri_rao_first(f.kr));
    fixture_fill(2, f.n_features * f.width_second, norma_khatri_rao_second(f.kr));
    f.matrix = fixture_alloc(f.n * f.n_features);
    for (int64_t J = 0; J < f.n_features; J++)
        for (int64_t I = 0; I < f.n; I++)
            f.matrix[J * f.n + I] =
                fixture_kr(&f.shape, norma_khatri_rao_second(f.kr) + J * f.width_second,
                           norma_khatri_rao_first(f.kr) + J * f.width_first, I);
    f.g = fixture_alloc(f.n_features);
    f.r = fixture_alloc(f.n);
    fixture_fill(3, f.n_features, f.g);
    fixture_fill(4, f.n, f.r);
    return f;
}

static void fixture_destroy(fixture *f)
{
    norma_khatri_rao_destroy(&f->kr);
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

static void check_vectors(const double *a, const double *b, int64_t n, double scale)
{
    double difference = norma_test_max_difference(a, b, n);
    if (!(difference <= 1e-14 * scale))
        fail_msg("vectors differ by %g", difference);
}

static void test_products_match_definition(void **state)
{
    (void)state;
    for (int c = 0; c < n_cases; c++) {
        fixture f = fixture_create(c);
        double *y = fixture_alloc(f.n);
        double *y_expected = fixture_alloc(f.n);
        double *x = fixture_alloc(f.n_features);
        double *x_expected = fixture_alloc(f.n_features);
        double scale = (double)f.n_features + (double)f.n + 10;
        norma_khatri_rao_apply(f.kr, f.g, y);
        multiply(&f, f.g, y_expected);
        check_vectors(y, y_expected, f.n, scale);
        norma_khatri_rao_apply_transpose(f.kr, f.r, x);
        multiply_transpose(&f, f.r, x_expected);
        check_vectors(x, x_expected, f.n_features, scale);

        /* The single pass: x <- KR' r + shift + keep x, y = KR x; also in place. */
        memcpy(x, f.g, (size_t)f.n_features * sizeof *x);
        norma_khatri_rao_apply_both(f.kr, f.r, 0.25, -0.5, x, y);
        for (int64_t J = 0; J < f.n_features; J++)
            x_expected[J] += 0.25 - 0.5 * f.g[J];
        multiply(&f, x_expected, y_expected);
        check_vectors(x, x_expected, f.n_features, scale);
        check_vectors(y, y_expected, f.n, scale * scale);
        for (int64_t J = 0; J < f.n_features; J++)
            x[J] = NAN; /* not read when nothing is kept */
        norma_khatri_rao_apply_both(f.kr, f.r, 0, 0, x, f.r);
        for (int64_t J = 0; J < f.n_features; J++)
            x_expected[J] -= 0.25 - 0.5 * f.g[J];
        multiply(&f, x_expected, y_expected);
        check_vectors(f.r, y_expected, f.n, scale * scale);
        NORMA_FREE(y);
        NORMA_FREE(y_expected);
        NORMA_FREE(x);
        NORMA_FREE(x_expected);
        fixture_destroy(&f);
    }
}

/* Any range of a column has the bits of the whole column. */
static void test_fill_any_range(void **state)
{
    (void)state;
    for (int c = 0; c < n_cases; c++) {
        fixture f = fixture_create(c);
        int64_t length = f.n / f.shape.n_channels_out;
        double *whole = fixture_alloc(length);
        double *part = fixture_alloc(length);
        for (int64_t J = 0; J < f.n_features && J < 2; J++) {
            const double *second = norma_khatri_rao_second(f.kr) + J * f.width_second;
            const double *first = norma_khatri_rao_first(f.kr) + J * f.width_first;
            int64_t i = f.shape.n_channels_out - 1;
            norma_khatri_rao_fill(&f.shape, second, first, i, 0, length, whole);
            check_vectors(whole, f.matrix + J * f.n + i * length, length, 1);
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
        fixture f = fixture_create(c);
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
        check_vectors(y, z, f.n, 1 + (double)f.n_features * (double)f.n);
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
    fixture f = fixture_create(1); /* c2 = 3, c0 = 4, 9 features */
    const double *a = norma_khatri_rao_second(f.kr);
    const double *b = norma_khatri_rao_first(f.kr);
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
    cmocka_unit_test(test_fill_any_range),
    cmocka_unit_test(test_adjoint_and_linear),
    cmocka_unit_test(test_gram_is_hadamard_product),
    cmocka_unit_test(test_counts_and_refusals),
};

norma_test_main_serial("src.khatri_rao", tests)
