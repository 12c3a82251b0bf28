/*
 * mpi/krylov/lbfgs: known answers, the iterates of conjugate gradients, the reasons for stopping;
 * and the three solvers made of it (mpi/layer/solve_lbfgs.c) against the pseudo-inverse of the
 * solver svd, which tests/mpi/test_solvers.c compares with LAPACK's.
 */
#include "tests/harness/mpi_memory.h"
#include "tests/mpi/layer_problem.h"

#include "mpi/krylov/lbfgs.h"
#include "mpi/runtime/log.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static const norma_solver solvers[] = {NORMA_SOLVER_LBFGS, NORMA_SOLVER_LBFGS_SVD,
                                       NORMA_SOLVER_LBFGS_SOLVED};
enum { n_solvers = sizeof solvers / sizeof solvers[0], MOST = 40 };

/* A dense matrix on all ranks, its columns shared out. */
typedef struct dense {
    int64_t m, n, first, n_share;
    double a[MOST * MOST]; /* [m][n] */
    double b[MOST];
    double x[MOST]; /* [n]; a rank uses its share */
} dense;

static void dense_apply(void *context, const double *x, double *y)
{
    const dense *d = context;
    memset(y, 0, (size_t)d->m * sizeof *y);
    for (int64_t i = 0; i < d->m; i++)
        for (int64_t j = 0; j < d->n_share; j++)
            y[i] += d->a[i * d->n + d->first + j] * x[j];
    MPI_Allreduce(MPI_IN_PLACE, y, (int)d->m, MPI_DOUBLE, MPI_SUM, norma_test_runtime->world);
}

static void dense_apply_transpose(void *context, const double *y, double *x)
{
    const dense *d = context;
    memset(x, 0, (size_t)d->n_share * sizeof *x);
    for (int64_t i = 0; i < d->m; i++)
        for (int64_t j = 0; j < d->n_share; j++)
            x[j] += d->a[i * d->n + d->first + j] * y[i];
}

static void dense_init(dense *d, int64_t m, int64_t n)
{
    memset(d, 0, sizeof *d);
    d->m = m;
    d->n = n;
    d->first = n * norma_test_runtime->rank / norma_test_runtime->size;
    d->n_share = n * (norma_test_runtime->rank + 1) / norma_test_runtime->size - d->first;
    fixture_fill(1, m * n, d->a);
    fixture_fill(2, m, d->b);
}

static norma_lbfgs_problem dense_problem(dense *d)
{
    return (norma_lbfgs_problem){.comm = norma_test_runtime->world,
                                 .n_rows = d->m,
                                 .n_share = d->n_share,
                                 .context = d,
                                 .apply = dense_apply,
                                 .apply_transpose = dense_apply_transpose,
                                 .rhs = d->b,
                                 .solvable = d->n >= d->m,
                                 .history = 10,
                                 .max_iterations = 5000,
                                 .name = "lbfgs"};
}

/* Of all ranks. */
static double largest_of(double bytes)
{
    MPI_Allreduce(MPI_IN_PLACE, &bytes, 1, MPI_DOUBLE, MPI_MAX, norma_test_runtime->world);
    return bytes;
}

/* Minimizes from d->x and gives all of it to every rank. */
static norma_lbfgs_result run(dense *d, const norma_lbfgs_problem *p)
{
    norma_lbfgs_result result = {0};
    double share[MOST] = {0};
    memcpy(share, d->x + d->first, (size_t)d->n_share * sizeof *share);
    norma_test_takes_all(largest_of(norma_lbfgs_bytes_local(p->n_rows, p->n_share, p->history)),
                         norma_lbfgs_minimize(p, share, &result));
    memset(d->x, 0, sizeof d->x);
    memcpy(d->x + d->first, share, (size_t)d->n_share * sizeof *share);
    MPI_Allreduce(MPI_IN_PLACE, d->x, MOST, MPI_DOUBLE, MPI_SUM, norma_test_runtime->world);
    return result;
}

/* gradient = A' D^2 (b - A x), all of it; its norm. */
static double gradient_of(const dense *d, const double *weights, double *gradient)
{
    double squares = 0;
    memset(gradient, 0, MOST * sizeof *gradient);
    for (int64_t i = 0; i < d->m; i++) {
        double r = d->b[i];
        for (int64_t j = 0; j < d->n; j++)
            r -= d->a[i * d->n + j] * d->x[j];
        for (int64_t j = 0; j < d->n; j++)
            gradient[j] += d->a[i * d->n + j] * r * (weights ? weights[i] * weights[i] : 1);
    }
    for (int64_t j = 0; j < d->n; j++)
        squares += gradient[j] * gradient[j];
    return sqrt(squares);
}

/* A diagonal matrix of three different values is solved in three steps, whatever is kept. */
static void test_three_values_three_steps(void **state)
{
    (void)state;
    static const int64_t histories[] = {1, 2, 10};
    for (int h = 0; h < 3; h++) {
        dense d;
        dense_init(&d, 12, 12);
        norma_lbfgs_problem p = dense_problem(&d);
        p.history = histories[h];
        p.max_iterations = 3;
        memset(d.a, 0, sizeof d.a);
        for (int64_t i = 0; i < 12; i++)
            d.a[i * 12 + i] = 1 << (i % 3);
        norma_lbfgs_result result = run(&d, &p);
        norma_test_check_all(result.iterations == 3 && result.residual < 1e-12);
        for (int64_t i = 0; i < 12; i++)
            norma_test_check_all(norma_test_close(d.x[i], d.b[i] / (1 << (i % 3)), 1e-13, 1e-13));
    }
}

/* With an exact line search L-BFGS takes the steps of conjugate gradients (for A'A x = A'b),
 * whatever is kept; those are made here from the definition. */
static void test_iterates_of_conjugate_gradients(void **state)
{
    (void)state;
    static const int64_t histories[] = {1, 3, 10};
    for (int h = 0; h < 3; h++) {
        for (int64_t k = 1; k <= 12; k++) {
            dense d;
            double x[MOST] = {0};
            double direction[MOST] = {0};
            double gradient[MOST];
            double before = 1;
            dense_init(&d, 30, 17);
            for (int64_t step = 0; step < k; step++) {
                memcpy(d.x, x, sizeof x);
                double size = gradient_of(&d, NULL, gradient);
                double curvature = 0;
                for (int64_t j = 0; j < d.n; j++)
                    direction[j] = gradient[j] + size * size / before * direction[j];
                before = size * size;
                for (int64_t i = 0; i < d.m; i++) {
                    double image = 0;
                    for (int64_t j = 0; j < d.n; j++)
                        image += d.a[i * d.n + j] * direction[j];
                    curvature += image * image;
                }
                for (int64_t j = 0; j < d.n; j++)
                    x[j] += before / curvature * direction[j];
            }
            norma_lbfgs_problem p = dense_problem(&d);
            p.history = histories[h];
            p.max_iterations = k;
            memset(d.x, 0, sizeof d.x);
            norma_lbfgs_result result = run(&d, &p);
            norma_test_check_all(result.stopping == NORMA_STOPPING_LIMIT && result.iterations == k);
            norma_test_check_all(norma_test_max_difference(d.x, x, d.n) < 1e-10);
        }
    }
}

/* Least squares with weights are stationary; in single precision every number is one. */
static void test_weights_and_single(void **state)
{
    (void)state;
    for (int k = 0; k < 4; k++) {
        dense d;
        double weights[MOST];
        double gradient[MOST];
        dense_init(&d, 30, 17);
        norma_lbfgs_problem p = dense_problem(&d);
        for (int64_t i = 0; i < d.m; i++)
            weights[i] = 1 + (double)(i % 4);
        p.weights = k / 2 ? weights : NULL;
        p.single = k % 2;
        norma_lbfgs_result result = run(&d, &p);
        double size = gradient_of(&d, p.weights, gradient);
        norma_test_check_all(size < (p.single ? 1e-3 : 1e-12) && result.iterations < 500);
        norma_test_check_all(result.stopping != NORMA_STOPPING_LIMIT);
        for (int64_t j = 0; j < d.n && p.single; j++)
            norma_test_check_all(d.x[j] == (double)(float)d.x[j]);
    }
}

/* From the solution, from a zero gradient, of nothing: at once, and that is success. */
static void test_stops_at_once(void **state)
{
    (void)state;
    dense d;
    dense_init(&d, 20, 33);
    norma_lbfgs_problem p = dense_problem(&d);
    norma_lbfgs_result result = run(&d, &p);
    norma_test_check_all(result.stopping == NORMA_STOPPING_TOLERANCE && result.iterations > 5);
    double x[MOST];
    memcpy(x, d.x, sizeof x);
    result = run(&d, &p);
    norma_test_check_all(result.stopping == NORMA_STOPPING_TOLERANCE && result.iterations == 0 &&
                         memcmp(x, d.x, sizeof x) == 0);
    memset(d.b, 0, sizeof d.b);
    memset(d.x, 0, sizeof d.x);
    result = run(&d, &p);
    norma_test_check_all(result.stopping == NORMA_STOPPING_TOLERANCE && result.iterations == 0 &&
                         result.residual == 0);
    d.b[3] = 1; /* which no column reaches */
    memset(d.a + 3 * d.n, 0, (size_t)d.n * sizeof *d.a);
    result = run(&d, &p);
    norma_test_check_all(result.stopping == NORMA_STOPPING_TOLERANCE && result.iterations == 0 &&
                         result.residual == 1);
}

/* Singular values down to 1e-12 of the largest: single precision sees no way on, and says so. */
static void test_no_progress(void **state)
{
    (void)state;
    dense d;
    dense_init(&d, 30, 30);
    norma_lbfgs_problem p = dense_problem(&d);
    p.single = true;
    p.max_iterations = 100000;
    for (int64_t i = 0; i < 30; i++)
        for (int64_t j = 0; j < 30; j++)
            d.a[i * 30 + j] = i == j ? pow(10, -(double)i * 12 / 29) : 0;
    norma_lbfgs_result result = run(&d, &p);
    norma_test_check_all(result.stopping == NORMA_STOPPING_NO_PROGRESS &&
                         result.iterations < 20000);
}

static void test_not_finite(void **state)
{
    (void)state;
    static const double bad[] = {NAN, INFINITY, 1e200};
    for (int k = 0; k < 3; k++) {
        dense d;
        norma_lbfgs_result result;
        dense_init(&d, 20, 33);
        norma_lbfgs_problem p = dense_problem(&d);
        d.b[7] = bad[k];
        norma_test_fails_all(norma_lbfgs_minimize(&p, d.x, &result), NORMA_NUMERIC, "not finite");
    }
}

static bool same(double a, double b, double tolerance)
{
    return (isnan(a) && isnan(b)) || norma_test_close(a, b, tolerance, 0);
}

/* A layer solved by `solver` against the pseudo-inverse. */
static void check(norma_solver solver, int shape, norma_width width, norma_residual residual,
                  int64_t excess)
{
    MPI_Comm world = norma_test_runtime->world;
    fixture f = fixture_create_residual(shape, width, residual, excess);
    norma_solver_options options = {.solver = NORMA_SOLVER_SVD, .block_size = 8, .seed = 7};
    norma_layer_solution s;
    norma_layer_solution exact;
    norma_test_ok_all(norma_layer_solve(world, &f.problem, &options, &exact));
    options.solver = solver;
    norma_test_ok_all(norma_layer_solve(world, &f.problem, &options, &s));
    double size = 0;
    for (int64_t J = 0; J < f.problem.n_features; J++)
        size = fmax(size, fabs(exact.gamma1[J]));
    double tolerance = fmax(1e-9, 1e-14 * exact.condition_number_solved);
    double away = norma_test_max_difference(s.gamma1, exact.gamma1, f.problem.n_features) / size;
    /* Of badly conditioned systems L-BFGS alone owes its distance from the floor and no more. */
    bool owes = solver != NORMA_SOLVER_LBFGS || exact.condition_number_solved < 1000;
    bool good = s.solver == solver && s.stopping != NORMA_STOPPING_NONE &&
                s.least_squares == exact.least_squares && (!owes || away <= tolerance) &&
                same(s.condition_number, exact.condition_number, 1e-3) &&
                same(s.sigma_max, exact.sigma_max, 1e-6);
    if (s.least_squares)
        good = good && (!owes || (norma_test_close(s.rmse, exact.rmse, 1e-9, 0) &&
                                  s.relative_gradient <= 1e-12));
    else
        good = good && isfinite(s.rmse) && (!owes || s.rmse <= s.floor);
    if (!good && norma_test_runtime->rank == 0)
        fprintf(stderr,
                "%s, shape %d, %s rule, residual %s, excess %lld: %s after %lld, rmse %g floor %g, "
                "gamma1 %g away, gradient %g, condition %g (%g)\n",
                norma_solver_name(solver), shape, norma_width_name(width),
                norma_residual_name(residual), (long long)excess, norma_stopping_name(s.stopping),
                (long long)s.iterations, s.rmse, s.floor, away, s.relative_gradient,
                s.condition_number, exact.condition_number);
    norma_test_check_all(good);
    norma_layer_solution_clear(&s);
    norma_layer_solution_clear(&exact);
    fixture_destroy(&f);
}

static void test_layers(void **state)
{
    (void)state;
    static const int64_t excesses[] = {0, 12, -11};
    norma_log_set_level_local(NORMA_LOG_QUIET); /* answers off the floor are warned of */
    for (int solver = 0; solver < n_solvers; solver++)
        for (int shape = 0; shape < n_shapes - 1; shape++)
            for (int width = 0; width < NORMA_N_WIDTHS; width++)
                for (int e = 0; e < (shape < 2 ? 2 : 3); e++)
                    check(solvers[solver], shape, (norma_width)width, NORMA_RESIDUAL_NONE,
                          excesses[e]);
    for (int solver = 0; solver < n_solvers; solver++)
        for (int width = 0; width < NORMA_N_WIDTHS; width++)
            for (int e = 0; e < 3; e++) {
                check(solvers[solver], 3, (norma_width)width, NORMA_RESIDUAL_INNER, excesses[e]);
                check(solvers[solver], 3, (norma_width)width, NORMA_RESIDUAL_OUTER, excesses[e]);
            }
}

/* The reason for stopping and the distance from the floor are stated; single precision is that. */
static void test_stated_answers(void **state)
{
    (void)state;
    MPI_Comm world = norma_test_runtime->world;
    for (int solver = 0; solver < n_solvers; solver++) {
        fixture f = fixture_create(3, NORMA_WIDTH_MAX, 12);
        norma_solver_options options = {.solver = solvers[solver], .single = true};
        norma_layer_solution s;
        norma_test_ok_all(norma_layer_solve(world, &f.problem, &options, &s));
        norma_test_check_all(s.rmse > 100 * s.floor && s.relative_residual < 1e-4 &&
                             !s.least_squares && s.stopping != NORMA_STOPPING_LIMIT);
        norma_layer_solution_clear(&s);
        options = (norma_solver_options){.solver = solvers[solver], .max_iterations = 1};
        norma_test_ok_all(norma_layer_solve(world, &f.problem, &options, &s));
        if (solvers[solver] == NORMA_SOLVER_LBFGS)
            norma_test_check_all(s.stopping == NORMA_STOPPING_LIMIT && s.iterations == 1 &&
                                 s.rmse > 1e6 * s.floor);
        norma_layer_solution_clear(&s);
        for (int width = 0; width < NORMA_N_WIDTHS; width++) { /* of target 0 */
            fixture zero = fixture_create(3, (norma_width)width, 12);
            memset(zero.target, 0, (size_t)zero.n * sizeof *zero.target);
            options = (norma_solver_options){.solver = solvers[solver]};
            norma_test_ok_all(norma_layer_solve(world, &zero.problem, &options, &s));
            norma_test_check_all(s.rmse == 0 && s.stopping == NORMA_STOPPING_TOLERANCE);
            norma_layer_solution_clear(&s);
            fixture_destroy(&zero);
        }
        fixture_destroy(&f);
    }
}

/* A repeated and a zero feature at the minimal width: the decomposition leaves least squares, the
 * iteration alone what it has; never a huge gamma. */
static void test_deficient_rank(void **state)
{
    (void)state;
    MPI_Comm world = norma_test_runtime->world;
    for (int solver = 0; solver < n_solvers; solver++) {
        for (int zero = 0; zero < 2; zero++) {
            fixture f = fixture_create(3, NORMA_WIDTH_MAX, 0);
            norma_solver_options options = {.solver = solvers[solver], .block_size = 8};
            norma_layer_solution s;
            for (int64_t e = 0; e < 2; e++)
                f.first[2 + e] = zero ? 0 : f.first[e];
            for (int64_t e = 0; e < 27; e++)
                f.second[27 + e] = zero ? 0 : f.second[e];
            norma_test_ok_all(norma_layer_solve(world, &f.problem, &options, &s));
            norma_test_check_all(s.max_abs_gamma < 1e4 && s.rmse > 1e-6);
            if (solvers[solver] != NORMA_SOLVER_LBFGS)
                norma_test_check_all(s.least_squares && s.numerical_rank == 53);
            norma_layer_solution_clear(&s);
            fixture_destroy(&f);
        }
    }
}

static void test_refusals(void **state)
{
    (void)state;
    MPI_Comm world = norma_test_runtime->world;
    fixture f = fixture_create(3, NORMA_WIDTH_MAX, 2);
    norma_layer_solution s;
    norma_solver_options options = {.solver = NORMA_SOLVER_LU, .single = true};
    norma_test_fails_all(norma_layer_solve(world, &f.problem, &options, &s), NORMA_CONFIG,
                         "only lbfgs");
    options = (norma_solver_options){.solver = NORMA_SOLVER_KRYLOV, .history = 4};
    norma_test_fails_all(norma_layer_solve(world, &f.problem, &options, &s), NORMA_CONFIG,
                         "only lbfgs");
    options = (norma_solver_options){.solver = NORMA_SOLVER_LBFGS, .history = 1001};
    norma_test_fails_all(norma_layer_solve(world, &f.problem, &options, &s), NORMA_CONFIG,
                         "not 1001");
    f.target[53] = NAN;
    options = (norma_solver_options){.solver = NORMA_SOLVER_LBFGS};
    norma_test_fails_all(norma_layer_solve(world, &f.problem, &options, &s), NORMA_CONFIG,
                         "weight [2, 1, position 8]");
    fixture_destroy(&f);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_three_values_three_steps),
    cmocka_unit_test(test_iterates_of_conjugate_gradients),
    cmocka_unit_test(test_weights_and_single),
    cmocka_unit_test(test_stops_at_once),
    cmocka_unit_test(test_no_progress),
    cmocka_unit_test(test_not_finite),
    cmocka_unit_test(test_layers),
    cmocka_unit_test(test_stated_answers),
    cmocka_unit_test(test_deficient_rank),
    cmocka_unit_test(test_refusals),
};

norma_test_main_mpi("mpi.lbfgs", tests)
