/*
 * mpi/krylov/conjugate: single precision iterations reach the accuracy of double precision by
 * themselves (mpi/layer/solve_krylov would hide that they do not, by its own in double precision),
 * and the condition numbers they vouch for are right.
 */
#include "tests/mpi/layer_problem.h"

#include "mpi/krylov/bidiagonal.h"
#include "mpi/krylov/conjugate.h"
#include "mpi/linalg/replicated.h"
#include "mpi/system/system.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

typedef struct run {
    double residual;      /* of the answer, or its gradient, over what rounding leaves */
    double sigma_error;   /* of the smallest singular value that the links vouch for; 0: for none */
    bool done, continued; /* continued: to vouch, it took iterations after the answer's */
    int64_t iterations;
} run;

static double norm_of_share(const double *x, int64_t n)
{
    double squares = norma_replicated_dot_local(x, x, n);
    MPI_Allreduce(MPI_IN_PLACE, &squares, 1, MPI_DOUBLE, MPI_SUM, norma_test_runtime->world);
    return sqrt(squares);
}

/* b - A x, or A'(b - A x), in double precision, over u ||A|| ||x|| (and ||A|| times what rounding
 * the residual leaves). */
static double measure(norma_product *product, const norma_conjugate *c, const double *b,
                      double sigma)
{
    int64_t first = 0;
    int64_t n_share = norma_product_share_local(product, &first);
    int64_t n = norma_product_n_rows_local(product, NORMA_PRODUCT_SYSTEM);
    double *residual = fixture_alloc(n);
    double *gradient = fixture_alloc(n_share);
    norma_product_apply(product, NORMA_PRODUCT_SYSTEM, c->x, residual);
    for (int64_t r = 0; r < n; r++)
        residual[r] = b[r] - residual[r];
    norma_product_apply_transpose_local(product, NORMA_PRODUCT_SYSTEM, residual, gradient);
    double size = norma_replicated_norm_local(residual, n);
    double slope = norm_of_share(gradient, n_share);
    double wanted = NORMA_ROUNDOFF * sigma * norm_of_share(c->x, n_share);
    NORMA_FREE(residual);
    NORMA_FREE(gradient);
    return c->wide ? size / wanted : slope / (sigma * (NORMA_ROUNDOFF * size + wanted));
}

static run solve(const fixture *f, double aim)
{
    MPI_Comm world = norma_test_runtime->world;
    const norma_product_mode mode = {.single = true};
    norma_width_rule *rule = NULL;
    norma_product *product = NULL;
    norma_conjugate *c = NULL;
    run out = {0};
    double largest = 0, smallest = 0, exact_largest = 0, exact_smallest = 0, error = 0;
    norma_test_ok_all(
        norma_width_rule_create(f->problem.width, &f->problem.shape, f->target, &rule));
    norma_test_ok_all(
        norma_product_create(world, rule, f->w1, f->w2, f->problem.n_features, &mode, &product));
    double *b = fixture_alloc(rule->n_system);
    norma_width_rule_rhs(rule, b);
    norma_test_ok_all(norma_conjugate_create_local(product, NORMA_PRODUCT_SYSTEM, 4000, aim, &c));
    norma_conjugate_run(c, b);
    norma_test_ok_all(norma_bidiagonal_measure(world, product, NORMA_PRODUCT_SYSTEM, 4000, 3,
                                               norma_bidiagonal_full, &exact_largest,
                                               &exact_smallest, &error));
    out.done = c->done;
    out.iterations = c->iterations;
    out.residual = measure(product, c, b, exact_largest);
    bool vouched = norma_conjugate_condition_local(c, norma_bidiagonal_full.settled, &largest,
                                                   &smallest, &error);
    double *x = fixture_alloc(c->n_share);
    memcpy(x, c->x, (size_t)c->n_share * sizeof *x);
    bool settled =
        norma_conjugate_settle(c, norma_bidiagonal_full.settled, &largest, &smallest, &error);
    norma_test_check_all(settled || !vouched);
    norma_test_check_all(memcmp(x, c->x, (size_t)c->n_share * sizeof *x) == 0);
    norma_test_check_all(c->iterations == out.iterations);
    NORMA_FREE(x);
    out.continued = settled && !vouched;
    if (settled)
        out.sigma_error =
            fmax(fabs(smallest / exact_smallest - 1), fabs(largest / exact_largest - 1));
    norma_conjugate_destroy_local(&c);
    norma_product_destroy_local(&product);
    norma_width_rule_destroy(&rule);
    NORMA_FREE(b);
    return out;
}

/* Well conditioned systems: a tenth and half more features than equations, and fewer. */
static void test_accuracy(void **state)
{
    (void)state;
    static const int64_t excesses[] = {15, 72, -72};
    for (int e = 0; e < 3; e++)
        for (int width = 0; width < NORMA_N_WIDTHS; width++) {
            fixture f = fixture_create(6, (norma_width)width, excesses[e]);
            run r = solve(&f, 5);
            bool good = r.done && r.residual <= 10 && r.sigma_error <= 1e-3;
            if (!good && norma_test_runtime->rank == 0)
                fprintf(stderr, "%s rule, excess %lld: done %d after %lld, residual %g, sigma %g\n",
                        norma_width_name((norma_width)width), (long long)excesses[e], r.done,
                        (long long)r.iterations, r.residual, r.sigma_error);
            norma_test_check_all(good);
            fixture_destroy(&f);
        }
}

/* Singular values are vouched for only where the last fifth of the iterations hardly moved them. */
static void test_what_is_vouched_for(void **state)
{
    (void)state;
    enum { N = 41 };
    double links[N + 1];
    double largest = 0, smallest = 0, error = 0;
    norma_conjugate c = {.wide = true, .done = true, .links = links, .n_links = N + 1};
    for (int e = 0; e <= N; e++)
        links[e] = e % 2 == 0 ? 1 : 0.01; /* near the identity: known from the start */
    norma_test_check_all(norma_conjugate_condition_local(&c, norma_bidiagonal_full.settled,
                                                         &largest, &smallest, &error));
    norma_test_check_all(smallest > 0.97 && largest < 1.03);
    links[N - 1] = 0.999 * smallest; /* the last step finds a smaller one */
    norma_test_check_all(!norma_conjugate_condition_local(&c, norma_bidiagonal_full.settled,
                                                          &largest, &smallest, &error));
    links[N - 1] = 1;
    c.done = false;
    norma_test_check_all(!norma_conjugate_condition_local(&c, norma_bidiagonal_full.settled,
                                                          &largest, &smallest, &error));
}

/* Where the answer's iterations do not settle the singular values, they go on from where the
 * coefficients end, before rounding blurred them, to what a process of its own finds; x stays. */
static void test_continued(void **state)
{
    (void)state;
    static const double aims[] = {8, 1e3}; /* answers at the floor, rough ones */
    const int64_t n = INT64_C(12) * 12 * 9;
    for (int a = 0; a < 2; a++) {
        int n_continued = 0;
        for (int64_t excess = n; excess <= 2 * n; excess += n / 3) {
            fixture f = fixture_create_of(fixture_shape(12, 12, "second", 3, 3), NORMA_WIDTH_MAX,
                                          NORMA_RESIDUAL_NONE, excess);
            run r = solve(&f, aims[a]);
            if (!(r.done && r.sigma_error <= 1e-3) && norma_test_runtime->rank == 0)
                fprintf(stderr, "aim %g, excess %lld: sigma off by %g\n", aims[a],
                        (long long)excess, r.sigma_error);
            norma_test_check_all(r.done && r.sigma_error <= 1e-3);
            n_continued += r.continued;
            fixture_destroy(&f);
        }
        norma_test_check_all(n_continued > 1);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_what_is_vouched_for),
    cmocka_unit_test(test_accuracy),
    cmocka_unit_test(test_continued),
};

norma_test_main_mpi("mpi.conjugate", tests)
