/*
 * mpi/layer/solve_chebyshev and mpi/krylov/chebyshev: answers and condition numbers against those
 * of the pseudo-inverse (mpi/layer/solve_svd), the error that a number of steps leaves against the
 * polynomial, intervals that prove too narrow, and the messages of what it cannot solve.
 */
#include "tests/mpi/layer_problem.h"

#include "mpi/krylov/bidiagonal.h"
#include "mpi/krylov/chebyshev.h"
#include "mpi/linalg/replicated.h"
#include "mpi/runtime/log.h"
#include "mpi/system/system.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static norma_status solve(const fixture *f, norma_solver solver, int64_t max_iterations,
                          norma_layer_solution *s)
{
    norma_solver_options options = {
        .solver = solver, .block_size = 8, .max_iterations = max_iterations, .seed = 7};
    return norma_layer_solve(norma_test_runtime->world, &f->problem, &options, s);
}

static bool agree(const norma_layer_solution *s, const norma_layer_solution *exact, int64_t c2)
{
    int64_t c1 = exact->n_features;
    double size = norma_replicated_norm_local(exact->gamma1, c1);
    double tolerance = fmax(1e-9, 10 * exact->condition_number_solved * DBL_EPSILON);
    bool good = norma_test_max_difference(s->gamma1, exact->gamma1, c1) <= tolerance * size;
    for (int64_t i = 0; i < c2; i++)
        good = good && norma_test_close(s->gamma2[i], exact->gamma2[i], 1e-8, 0);
    good = good &&
           norma_test_close(s->condition_number_solved, exact->condition_number_solved, 1e-3, 0);
    good = good && (exact->n_rows > 0
                        ? norma_test_close(s->condition_number, exact->condition_number, 1e-3, 0)
                        : isnan(s->condition_number));
    good = good && s->least_squares == exact->least_squares && s->n_used == c1;
    return good && (s->least_squares ? s->relative_gradient <= 1e-12 : s->rmse <= s->floor);
}

static void check(int shape, norma_width width, norma_residual residual, int64_t excess)
{
    fixture f = fixture_create_residual(shape, width, residual, excess);
    norma_layer_solution s, exact;
    norma_test_ok_all(solve(&f, NORMA_SOLVER_CHEBYSHEV, 0, &s));
    norma_test_ok_all(solve(&f, NORMA_SOLVER_SVD, 0, &exact));
    bool good = agree(&s, &exact, f.problem.shape.n_channels_out) &&
                s.solver == NORMA_SOLVER_CHEBYSHEV && s.iterations >= 1 && s.grid_rows == 1 &&
                s.grid_columns == norma_test_runtime->size;
    if (!good && norma_test_runtime->rank == 0)
        fprintf(stderr,
                "shape %d, %s rule, residual %s, excess %lld: %lld iterations, rmse %g, floor %g, "
                "gradient %g, condition %g, exact %g\n",
                shape, norma_width_name(width), norma_residual_name(residual), (long long)excess,
                (long long)s.iterations, s.rmse, s.floor, s.relative_gradient,
                s.condition_number_solved, exact.condition_number_solved);
    norma_test_check_all(good);
    norma_layer_solution_clear(&s);
    norma_layer_solution_clear(&exact);
    fixture_destroy(&f);
}

static int64_t n_equations(int shape)
{
    fixture f = fixture_create(shape, NORMA_WIDTH_MAX, 0);
    int64_t n = f.n;
    fixture_destroy(&f);
    return n;
}

static void test_all_shapes(void **state)
{
    (void)state;
    norma_log_set_level_local(NORMA_LOG_QUIET);
    check(0, NORMA_WIDTH_MAX, NORMA_RESIDUAL_NONE, 0); /* one equation */
    for (int shape = 0; shape < n_shapes; shape++)
        for (int width = 0; width < NORMA_N_WIDTHS; width++) {
            int64_t n = n_equations(shape);
            check(shape, (norma_width)width, NORMA_RESIDUAL_NONE, 1 + n / 5);
            if (n > 2)
                check(shape, (norma_width)width, NORMA_RESIDUAL_NONE, -(n / 3));
        }
}

static void test_residual(void **state)
{
    (void)state;
    static const int with_skip[] = {2, 3, 5};
    for (int k = 0; k < 3; k++) {
        int64_t n = n_equations(with_skip[k]);
        for (int pair = 0; pair < 2 * NORMA_N_WIDTHS; pair++) {
            norma_width width = (norma_width)(pair / 2);
            norma_residual residual = pair % 2 ? NORMA_RESIDUAL_OUTER : NORMA_RESIDUAL_INNER;
            check(with_skip[k], width, residual, 1 + n / 5);
            check(with_skip[k], width, residual, -(n / 3));
        }
    }
}

/* Singular values so far apart that 80 steps from a random start do not see the smallest ones: the
 * first interval is too narrow, and the passes have to notice. */
static void test_interval_too_narrow(void **state)
{
    (void)state;
    check(6, NORMA_WIDTH_MAX, NORMA_RESIDUAL_NONE, 2);
    check(6, NORMA_WIDTH_MAX, NORMA_RESIDUAL_NONE, -2);
    check(6, NORMA_WIDTH_MIN, NORMA_RESIDUAL_NONE, 8);
}

/* t_k(center / half width) of the Chebyshev polynomial by its recurrence. */
static double polynomial(const norma_chebyshev *c, int64_t k)
{
    double x = c->center / c->half_width;
    double before = 1;
    double t = x;
    for (int64_t i = 1; i < k; i++) {
        double next = 2 * x * t - before;
        before = t;
        t = next;
    }
    return t;
}

/* The error over that at the start, after as many steps as it takes to make it `part`. */
static double run_steps(norma_product *product, norma_chebyshev *c, const double *b, double part)
{
    int64_t first = 0;
    int64_t n = norma_product_n_rows_local(product, NORMA_PRODUCT_SYSTEM);
    int64_t n_share = norma_product_share_local(product, &first);
    int64_t k = (int64_t)norma_chebyshev_steps_local(c, part);
    double *residual = fixture_alloc(n);
    double *gradient = fixture_alloc(n_share);
    double squares[2] = {0, 0};
    norma_test_check_all(polynomial(c, k) >= 1 / part && polynomial(c, k - 1) < 1 / part);
    norma_product_apply_transpose_local(product, NORMA_PRODUCT_SYSTEM, b, gradient);
    squares[0] = norma_replicated_dot_local(gradient, gradient, n_share);
    norma_chebyshev_start(c, b, gradient);
    for (int64_t i = 0; i < k; i++)
        norma_chebyshev_step(c);
    norma_chebyshev_finish_local(c);
    norma_product_apply(product, NORMA_PRODUCT_SYSTEM, c->x, residual);
    for (int64_t r = 0; r < n; r++)
        residual[r] = b[r] - residual[r];
    norma_product_apply_transpose_local(product, NORMA_PRODUCT_SYSTEM, residual, gradient);
    squares[1] = norma_replicated_dot_local(gradient, gradient, n_share);
    MPI_Allreduce(MPI_IN_PLACE, squares, 2, MPI_DOUBLE, MPI_SUM, norma_test_runtime->world);
    double left = c->wide
                      ? norma_replicated_norm_local(residual, n) / norma_replicated_norm_local(b, n)
                      : sqrt(squares[1] / squares[0]);
    NORMA_FREE(residual);
    NORMA_FREE(gradient);
    return left;
}

/* Between the true bounds the error is what the polynomial promises, and not far below; from an
 * interval that ends below the largest singular value it grows. */
static void test_known_steps(void **state)
{
    (void)state;
    static const int64_t excesses[] = {30, -30};
    for (int e = 0; e < 2; e++) {
        fixture f = fixture_create(6, NORMA_WIDTH_MAX, excesses[e]);
        norma_width_rule *rule = NULL;
        norma_product *product = NULL;
        norma_chebyshev *c = NULL;
        double high = 0, low = 0, error = 0;
        norma_test_ok_all(
            norma_width_rule_create(f.problem.width, &f.problem.shape, f.target, &rule));
        norma_test_ok_all(norma_product_create(norma_test_runtime->world, rule, f.w1, f.w2,
                                               f.problem.n_features, NULL, &product));
        double *b = fixture_alloc(rule->n_system);
        norma_width_rule_rhs(rule, b);
        norma_test_ok_all(norma_bidiagonal_measure(norma_test_runtime->world, product,
                                                   NORMA_PRODUCT_SYSTEM, 4000, 3,
                                                   norma_bidiagonal_full, &high, &low, &error));
        norma_test_ok_all(norma_chebyshev_create_local(product, NORMA_PRODUCT_SYSTEM, &c));
        norma_chebyshev_set_interval_local(c, 0.999 * low, 1.001 * high);
        double left = run_steps(product, c, b, 1e-6);
        norma_test_check_all(left <= 1e-6 && left >= 1e-8);
        left = run_steps(product, c, b, 1e-3); /* starts afresh */
        norma_test_check_all(left <= 1e-3 && left >= 1e-5);
        norma_chebyshev_set_interval_local(c, low, 0.8 * high);
        norma_test_check_all(run_steps(product, c, b, 1e-3) > 1);
        norma_chebyshev_destroy_local(&c);
        norma_product_destroy_local(&product);
        norma_width_rule_destroy(&rule);
        NORMA_FREE(b);
        fixture_destroy(&f);
    }
}

static void expect_failure(const fixture *f, int64_t max_iterations, const char *text)
{
    norma_layer_solution s;
    norma_test_fails_all(solve(f, NORMA_SOLVER_CHEBYSHEV, max_iterations, &s), NORMA_NUMERIC, text);
}

/* Limits, output channels and features that the source leaves zero: an end, and advice. */
static void test_failures(void **state)
{
    (void)state;
    for (int width = 0; width < NORMA_N_WIDTHS; width++) {
        fixture f = fixture_create(6, (norma_width)width, 30);
        expect_failure(&f, 1, "1 are allowed");
        expect_failure(&f, 100, "use krylov");
        int64_t c2 = f.problem.shape.n_channels_out;
        for (int64_t J = 0; J < f.problem.n_features; J++)
            f.second[J * c2 + 1] = 0;
        expect_failure(&f, 0, width == NORMA_WIDTH_MAX ? "use krylov" : "");
        memset(f.second, 0, (size_t)(f.problem.n_features * c2) * sizeof *f.second);
        expect_failure(&f, 0, width == NORMA_WIDTH_MAX ? "singular" : "");
        fixture_destroy(&f);
    }
    fixture f = fixture_create(6, NORMA_WIDTH_MAX, 0); /* singular, and the target is not in it */
    memcpy(f.first + 12, f.first, 12 * sizeof *f.first);
    memcpy(f.second + 12, f.second, 12 * sizeof *f.second);
    expect_failure(&f, 0, "use krylov");
    fixture_destroy(&f);
}

static void test_auto_never_takes_it(void **state)
{
    (void)state;
    for (int64_t excess = -100; excess <= 1000; excess += 50) {
        fixture f = fixture_create(6, NORMA_WIDTH_MAX, excess);
        for (int k = 0; k < 4; k++) {
            norma_solver_options options = {.memory_per_rank = k < 2 ? 0 : 1e4};
            norma_layer_estimate e;
            norma_test_ok_all(
                norma_layer_solve_estimate_local(&f.problem, &options, 1 + 99 * (k % 2), &e));
            norma_test_check_all(e.solver != NORMA_SOLVER_CHEBYSHEV);
        }
        fixture_destroy(&f);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_all_shapes),
    cmocka_unit_test(test_residual),
    cmocka_unit_test(test_interval_too_narrow),
    cmocka_unit_test(test_known_steps),
    cmocka_unit_test(test_failures),
    cmocka_unit_test(test_auto_never_takes_it),
};

norma_test_main_mpi("mpi.chebyshev", tests)
