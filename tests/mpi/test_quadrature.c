/*
 * mpi/krylov/quadrature: moments of a probe, all singular values after all steps, exhausted starts,
 * null spaces; and what src/stats/spectral makes of many probes.
 */
#include "tests/harness/layer_fixture.h"
#include "tests/harness/mpi_memory.h"

#include "mpi/krylov/quadrature.h"
#include "mpi/linalg/scalapack.h"
#include "src/stats/spectral.h"

#include <math.h>
#include <string.h>

enum { max_steps = 80 };

typedef struct fixture {
    norma_khatri_rao_shape shape;
    norma_width_rule *rule;
    norma_tensor *w1, *w2;
    double *first, *second;
    int64_t n_features, n_rows;
    norma_product *product;
} fixture;

/* `kept` of the features are independent of each other; the others repeat them. */
static fixture fixture_create(norma_width width, const char *split, int64_t n_features,
                              int64_t kept)
{
    fixture f = {.shape = fixture_shape(4, 3, split, 2, 2), .n_features = n_features};
    int64_t n = norma_khatri_rao_n_rows(&f.shape);
    int64_t n_first = norma_khatri_rao_width_first(&f.shape);
    int64_t n_second = norma_khatri_rao_width_second(&f.shape);
    double *target = fixture_alloc(n);
    fixture_fill(3, n, target);
    norma_test_ok_all(norma_width_rule_create(width, &f.shape, target, &f.rule));
    NORMA_FREE(target);
    f.n_rows = f.rule->n_rows;
    f.first = fixture_alloc(n_features * n_first);
    f.second = fixture_alloc(n_features * n_second);
    for (int64_t J = 0; J < n_features; J++) {
        fixture_fill(10 + 2 * (uint64_t)(J % kept), n_first, f.first + J * n_first);
        fixture_fill(11 + 2 * (uint64_t)(J % kept), n_second, f.second + J * n_second);
    }
    f.w1 = fixture_tensor(&f.shape, NORMA_TENSOR_FIRST, n_features, f.first);
    f.w2 = fixture_tensor(&f.shape, NORMA_TENSOR_SECOND, n_features, f.second);
    norma_test_ok_all(norma_product_create(norma_test_runtime->world, f.rule, f.w1, f.w2,
                                           n_features, NULL, &f.product));
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
}

/* M, column-major. */
static double *assemble(const fixture *f)
{
    double *m = fixture_alloc(f->n_rows * f->n_features);
    for (int64_t J = 0; J < f->n_features; J++)
        norma_width_rule_fill(f->rule, f->second + J * norma_khatri_rao_width_second(&f->shape),
                              f->first + J * norma_khatri_rao_width_first(&f->shape), 0, f->n_rows,
                              m + J * f->n_rows);
    return m;
}

static void values_of_lapack(const fixture *f, double *sigma)
{
    double *m = assemble(f);
    double work[4000];
    int rows = (int)f->n_rows;
    int columns = (int)f->n_features;
    int one = 1;
    int n_work = 4000;
    int info = 0;
    dgesvd_("N", "N", &rows, &columns, m, &rows, sigma, NULL, &one, NULL, &one, work, &n_work,
            &info);
    norma_test_check_all(info == 0);
    NORMA_FREE(m);
}

static int64_t run(const fixture *f, int64_t n_steps, int64_t probe, double *nodes, double *weights)
{
    const norma_rng_stream stream = {.purpose = NORMA_RNG_TEST, .layer = probe};
    norma_quadrature *q = NULL;
    int64_t n_nodes = 0;
    int64_t shorter = f->n_rows < f->n_features ? f->n_rows : f->n_features;
    int64_t n_taken = n_steps < shorter ? n_steps : shorter;
    norma_test_takes_all(
        norma_quadrature_bytes_local(f->n_rows, f->n_features, n_taken, norma_test_runtime->size),
        norma_quadrature_create(f->product, NORMA_PRODUCT_ROWS, n_steps, &q));
    norma_test_ok_all(norma_quadrature_run(q, 5, &stream, nodes, weights, &n_nodes));
    norma_quadrature_destroy_local(&q);
    double total = 0;
    for (int64_t k = 0; k < n_nodes; k++)
        total += weights[k];
    norma_test_check_all(fabs(total - 1) < 1e-13);
    return n_nodes;
}

/* All steps give all singular values, in either space. */
static void test_all_values(void **state)
{
    (void)state;
    static const int64_t features[] = {60, 48, 30, 1};
    for (int width = 0; width < NORMA_N_WIDTHS; width++)
        for (int i = 0; i < 4; i++) {
            fixture f = fixture_create((norma_width)width, "second", features[i], features[i]);
            int64_t k = f.n_rows < f.n_features ? f.n_rows : f.n_features;
            double nodes[max_steps];
            double weights[max_steps];
            double sigma[max_steps];
            values_of_lapack(&f, sigma);
            norma_test_check_all(run(&f, max_steps, 0, nodes, weights) == k);
            double worst = 0;
            for (int64_t j = 0; j < k; j++)
                worst = fmax(worst, fabs(nodes[j] - sigma[j]));
            norma_test_check_all(worst < 1e-12 * sigma[0]);
            fixture_destroy(&f);
        }
}

/* Few steps: the second and fourth moment of the start, ||M' l||^2 and ||M M' l||^2. */
static void test_moments(void **state)
{
    (void)state;
    const norma_rng_stream stream = {.purpose = NORMA_RNG_TEST, .layer = 3};
    fixture f = fixture_create(NORMA_WIDTH_MAX, "2x1+1x2", 60, 60);
    double *m = assemble(&f);
    double start[max_steps];
    double image[max_steps] = {0};
    double nodes[max_steps];
    double weights[max_steps];
    double norm = 0;
    double second = 0;
    double fourth = 0;
    norma_rng_fill_normal(5, &stream, 0, f.n_rows, start);
    for (int64_t r = 0; r < f.n_rows; r++)
        norm += start[r] * start[r];
    for (int64_t J = 0; J < f.n_features; J++) {
        double along = 0;
        for (int64_t r = 0; r < f.n_rows; r++)
            along += m[J * f.n_rows + r] * start[r];
        second += along * along / norm;
        for (int64_t r = 0; r < f.n_rows; r++)
            image[r] += m[J * f.n_rows + r] * along;
    }
    for (int64_t r = 0; r < f.n_rows; r++)
        fourth += image[r] * image[r] / norm;
    int64_t n_nodes = run(&f, 4, 3, nodes, weights);
    norma_test_check_all(n_nodes == 4);
    for (int64_t k = 0; k < n_nodes; k++) {
        second -= weights[k] * pow(nodes[k], 2);
        fourth -= weights[k] * pow(nodes[k], 4);
    }
    norma_test_check_all(fabs(second) < 1e-12 * pow(nodes[0], 2));
    norma_test_check_all(fabs(fourth) < 1e-12 * pow(nodes[0], 4));
    NORMA_FREE(m);
    fixture_destroy(&f);
}

/* Repeated features: a node at zero carries the part of the start that M' annihilates. */
static void test_null_space(void **state)
{
    (void)state;
    enum { n_probes = 20 };
    static double nodes[n_probes * max_steps];
    static double weights[n_probes * max_steps];
    int64_t n_nodes[n_probes];
    double sigma[max_steps];
    double cdf = 0;
    double low = 0;
    double high = 0;
    fixture f = fixture_create(NORMA_WIDTH_MAX, "second", 60, 24);
    values_of_lapack(&f, sigma);
    for (int p = 0; p < n_probes; p++) {
        n_nodes[p] = run(&f, max_steps, p, nodes + (ptrdiff_t)p * max_steps,
                         weights + (ptrdiff_t)p * max_steps);
        norma_test_check_all(n_nodes[p] == 25); /* 24 singular values and zero */
        norma_test_check_all(nodes[p * max_steps + 24] < 1e-12 * sigma[0]);
    }
    const norma_spectral_rules rules = {.n_probes = n_probes,
                                        .n_steps = max_steps,
                                        .n_nodes = n_nodes,
                                        .nodes = nodes,
                                        .weights = weights};
    double between = sigma[23] / 2; /* half of 48 values are zero */
    norma_spectral_cdf(&rules, 0.999, 1, &between, &cdf, &low, &high);
    norma_test_check_all(low < 0.5 && high > 0.5 && high - low < 0.2);
    double mean = 0;
    double error = 0;
    double square = 0;
    norma_spectral_moment(&rules, 2, &mean, &error);
    for (int k = 0; k < 48; k++)
        square += sigma[k] * sigma[k] / 48;
    norma_test_check_all(fabs(mean - square) < 4 * error && error < 0.1 * mean);
    fixture_destroy(&f);
}

/* Brackets and spread contain the distribution of all values, and the density has mass 1. */
static void test_brackets(void **state)
{
    (void)state;
    enum { n_probes = 12, n_grid = 200, n_steps = 8 };
    static double nodes[n_probes * n_steps];
    static double weights[n_probes * n_steps];
    static double grid[n_grid];
    static double cdf[n_grid];
    static double low[n_grid];
    static double high[n_grid];
    int64_t n_nodes[n_probes];
    double sigma[max_steps];
    fixture f = fixture_create(NORMA_WIDTH_MIN, "second", 70, 70);
    int64_t k = f.n_rows;
    values_of_lapack(&f, sigma);
    for (int p = 0; p < n_probes; p++)
        n_nodes[p] =
            run(&f, n_steps, p, nodes + (ptrdiff_t)p * n_steps, weights + (ptrdiff_t)p * n_steps);
    const norma_spectral_rules rules = {.n_probes = n_probes,
                                        .n_steps = n_steps,
                                        .n_nodes = n_nodes,
                                        .nodes = nodes,
                                        .weights = weights};
    for (int g = 0; g < n_grid; g++)
        grid[g] = 2 * sigma[0] * g / n_grid;
    norma_spectral_cdf(&rules, 0.99, n_grid, grid, cdf, low, high);
    int n_outside = 0;
    for (int g = 0; g < n_grid; g++) {
        double part = 0;
        for (int64_t j = 0; j < k; j++)
            part += sigma[j] <= grid[g] ? 1 / (double)k : 0;
        n_outside +=
            !(low[g] <= part && part <= high[g]) || !(low[g] <= cdf[g] && cdf[g] <= high[g]);
    }
    norma_test_check_all(n_outside == 0);
    double mass = 0;
    norma_spectral_density(&rules, 0.1 * sigma[0], n_grid, grid, cdf);
    for (int g = 0; g < n_grid; g++)
        mass += cdf[g] * 2 * sigma[0] / n_grid * (g == 0 ? 0.5 : 1);
    norma_test_check_all(fabs(mass - 1) < 1e-3);
    fixture_destroy(&f);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_all_values),
    cmocka_unit_test(test_moments),
    cmocka_unit_test(test_null_space),
    cmocka_unit_test(test_brackets),
};

norma_test_main_mpi("mpi.quadrature", tests)
