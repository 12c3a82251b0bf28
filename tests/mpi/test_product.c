/* mpi/krylov/product: every form against the assembled columns, adjoint, linearity, closing row,
 * screening. */
#include "tests/harness/layer_fixture.h"
#include "tests/harness/mpi_harness.h"

#include "mpi/krylov/product.h"

#include <math.h>
#include <string.h>

typedef struct fixture {
    norma_khatri_rao_shape shape;
    norma_width_rule *rule;
    norma_tensor *w1, *w2;
    double *first, *second;
    int64_t n_features, first_feature, n_share;
    norma_product *product;
    double *x, *all_x; /* a vector over features: this rank's share, and all of it */
} fixture;

static fixture fixture_create(norma_width width, const char *split, int64_t n_features)
{
    fixture f = {.shape = fixture_shape(4, 3, split, 2, 2), .n_features = n_features};
    int64_t n = norma_khatri_rao_n_rows(&f.shape);
    double *target = fixture_alloc(n);
    fixture_fill(3, n, target);
    memset(target, 0, (size_t)(n / 4) * sizeof *target); /* channel 0 leaves the min rule */
    norma_test_ok_all(norma_width_rule_create(width, &f.shape, target, &f.rule));
    NORMA_FREE(target);
    f.first = fixture_alloc(n_features * norma_khatri_rao_width_first(&f.shape));
    f.second = fixture_alloc(n_features * norma_khatri_rao_width_second(&f.shape));
    fixture_fill(1, n_features * norma_khatri_rao_width_first(&f.shape), f.first);
    fixture_fill(2, n_features * norma_khatri_rao_width_second(&f.shape), f.second);
    f.w1 = fixture_tensor(&f.shape, NORMA_TENSOR_FIRST, n_features, f.first);
    f.w2 = fixture_tensor(&f.shape, NORMA_TENSOR_SECOND, n_features, f.second);
    norma_test_ok_all(norma_product_create(norma_test_runtime->world, f.rule, f.w1, f.w2,
                                           n_features, NULL, &f.product));
    f.n_share = norma_product_share_local(f.product, &f.first_feature);
    f.all_x = fixture_alloc(n_features);
    fixture_fill(4, n_features, f.all_x);
    f.x = f.all_x + f.first_feature;
    return f;
}

static void fixture_destroy(fixture *f)
{
    norma_product_destroy_local(&f->product);
    norma_width_rule_destroy(&f->rule);
    norma_tensor_destroy(&f->w1);
    norma_tensor_destroy(&f->w2);
    NORMA_FREE(f->first);
    NORMA_FREE(f->second);
    NORMA_FREE(f->all_x);
}

/* Column J of a form. */
static void column_of(const fixture *f, norma_product_form form, int64_t J, double *column)
{
    const double *first = f->first + J * norma_khatri_rao_width_first(&f->shape);
    const double *second = f->second + J * norma_khatri_rao_width_second(&f->shape);
    if (form == NORMA_PRODUCT_FULL)
        for (int64_t I = 0; I < f->rule->n; I++)
            column[I] = fixture_kr(&f->shape, second, first, I);
    else
        norma_width_rule_fill(f->rule, second, first, 0,
                              norma_product_n_rows_local(f->product, form), column);
}

/* y = operator x, t = transpose u, by columns. */
static void multiply(const fixture *f, norma_product_form form, const double *x, double *y,
                     const double *u, double *t)
{
    int64_t n = norma_product_n_rows_local(f->product, form);
    double *column = fixture_alloc(n);
    memset(y, 0, (size_t)n * sizeof *y);
    for (int64_t J = 0; J < f->n_features; J++) {
        t[J] = 0;
        column_of(f, form, J, column);
        for (int64_t r = 0; r < n; r++) {
            y[r] += column[r] * x[J];
            t[J] += column[r] * u[r];
        }
    }
    NORMA_FREE(column);
}

static void check_form(const fixture *f, norma_product_form form)
{
    int64_t n = norma_product_n_rows_local(f->product, form);
    double tolerance = 1e-13 * (double)(f->n_features + n);
    double *y = fixture_alloc(n);
    double *y_expected = fixture_alloc(n);
    double *u = fixture_alloc(n);
    double *share = fixture_alloc(f->n_share);
    double *t = fixture_alloc(f->n_features);
    double *t_expected = fixture_alloc(f->n_features);
    fixture_fill(5, n, u);
    multiply(f, form, f->all_x, y_expected, u, t_expected);
    norma_product_apply(f->product, form, f->x, y);
    norma_test_check_all(norma_test_max_difference(y, y_expected, n) <= tolerance);
    norma_product_apply_transpose_local(f->product, form, u, share);
    norma_product_gather(f->product, share, t);
    norma_test_check_all(norma_test_max_difference(t, t_expected, f->n_features) <= tolerance);

    /* <M x, u> = <x, M' u> */
    double left = 0;
    double right = 0;
    for (int64_t r = 0; r < n; r++)
        left += y[r] * u[r];
    for (int64_t J = 0; J < f->n_features; J++)
        right += f->all_x[J] * t[J];
    norma_test_check_all(norma_test_close(left, right, 1e-12, 1e-12));

    /* One pass: x <- M' u - 0.5 x, y = M x, and its norm. */
    double squares = 0;
    memcpy(share, f->x, (size_t)f->n_share * sizeof *share);
    double returned = norma_product_apply_both(f->product, form, u, -0.5, share, u);
    norma_product_gather(f->product, share, t);
    for (int64_t J = 0; J < f->n_features; J++) {
        t_expected[J] -= 0.5 * f->all_x[J];
        squares += t_expected[J] * t_expected[J];
    }
    norma_test_check_all(norma_test_max_difference(t, t_expected, f->n_features) <= tolerance);
    norma_test_check_all(norma_test_close(returned, squares, 1e-12, 0));
    norma_product_apply(f->product, form, share, y);
    norma_test_check_all(norma_test_max_difference(u, y, n) <= tolerance * 10);
    NORMA_FREE(y);
    NORMA_FREE(y_expected);
    NORMA_FREE(u);
    NORMA_FREE(share);
    NORMA_FREE(t);
    NORMA_FREE(t_expected);
}

static void test_forms(void **state)
{
    (void)state;
    static const char *const splits[] = {"second", "first", "2x1+1x2"};
    static const int64_t counts[] = {1, 3, 37, 100};
    for (int width = 0; width < NORMA_N_WIDTHS; width++) {
        for (int s = 0; s < 3; s++) {
            for (int c = 0; c < 4; c++) {
                fixture f = fixture_create((norma_width)width, splits[s], counts[c]);
                check_form(&f, NORMA_PRODUCT_FULL);
                check_form(&f, NORMA_PRODUCT_ROWS);
                check_form(&f, NORMA_PRODUCT_SYSTEM);
                fixture_destroy(&f);
            }
        }
    }
}

/* The closing row is as long as M's root-mean-square row. */
static void test_closing_row(void **state)
{
    (void)state;
    fixture f = fixture_create(NORMA_WIDTH_MIN, "2x1+1x2", 37);
    double *column = fixture_alloc(f.rule->n_system);
    double squares = 0;
    for (int64_t J = 0; J < 37; J++) {
        column_of(&f, NORMA_PRODUCT_ROWS, J, column);
        for (int64_t r = 0; r < f.rule->n_rows; r++)
            squares += column[r] * column[r];
    }
    double closing_norm2 = 37 * f.rule->closing * f.rule->closing;
    norma_test_check_all(
        norma_test_close(closing_norm2, squares / (double)f.rule->n_rows, 1e-13, 0));
    NORMA_FREE(column);
    fixture_destroy(&f);
}

/* The same call twice: the same bits. */
static void test_reproducible(void **state)
{
    (void)state;
    fixture f = fixture_create(NORMA_WIDTH_MIN, "second", 100);
    int64_t n = f.rule->n_system;
    double *a = fixture_alloc(n);
    double *b = fixture_alloc(n);
    norma_product_apply(f.product, NORMA_PRODUCT_SYSTEM, f.x, a);
    for (int repeat = 0; repeat < 20; repeat++) {
        norma_product_apply(f.product, NORMA_PRODUCT_SYSTEM, f.x, b);
        norma_test_check_all(memcmp(a, b, (size_t)n * sizeof *a) == 0);
    }
    MPI_Bcast(b, (int)n, MPI_DOUBLE, 0, norma_test_runtime->world);
    norma_test_check_all(memcmp(a, b, (size_t)n * sizeof *a) == 0); /* and on all ranks */
    NORMA_FREE(a);
    NORMA_FREE(b);
    fixture_destroy(&f);
}

static void test_screening(void **state)
{
    (void)state;
    fixture f = fixture_create(NORMA_WIDTH_MAX, "second", 37);
    norma_product *product = NULL;
    int64_t zero = 0;
    norma_test_check_all(norma_product_zero_features_local(f.product, &zero) == 0 && zero == -1);
    static const double bad[] = {NAN, INFINITY, 1e308};
    for (int b = 0; b < 3; b++) {
        f.first[36 * 3 + 1] = bad[b]; /* the last rank's */
        norma_test_fails_all(
            norma_product_create(norma_test_runtime->world, f.rule, f.w1, f.w2, 37, NULL, &product),
            NORMA_CONFIG, "W1 of feature 36, number 1 of its 3");
        norma_test_ok_all(norma_product_create(norma_test_runtime->world, f.rule, f.w1, f.w2, 36,
                                               NULL, &product)); /* the leading ones are good */
        norma_product_destroy_local(&product);
    }
    f.first[36 * 3 + 1] = 0;
    memset(f.second + 20 * 16, 0, 16 * sizeof *f.second);
    memset(f.second + 36 * 16, 0, 16 * sizeof *f.second);
    norma_test_ok_all(
        norma_product_create(norma_test_runtime->world, f.rule, f.w1, f.w2, 37, NULL, &product));
    norma_test_check_all(norma_product_zero_features_local(product, &zero) == 2 && zero == 20);
    norma_product_destroy_local(&product);
    fixture_destroy(&f);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_forms),
    cmocka_unit_test(test_closing_row),
    cmocka_unit_test(test_reproducible),
    cmocka_unit_test(test_screening),
};

norma_test_main_mpi("mpi.product", tests)
