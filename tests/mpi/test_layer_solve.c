/*
 * mpi/layer/layer_solve: refusals and failures of every solver, scales of the target, estimates.
 * Answers themselves are checked in tests/mpi/test_solvers.c.
 */
#include "tests/mpi/layer_problem.h"

#include "mpi/runtime/log.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static void expect_failure(const fixture *f, norma_solver solver, norma_status status,
                           const char *text)
{
    norma_solver_options options = {.solver = solver, .block_size = 8};
    norma_layer_solution s;
    norma_status_clear();
    norma_status got = norma_layer_solve(norma_test_runtime->world, &f->problem, &options, &s);
    bool good = got == status && norma_test_contains(norma_status_error()->message, text);
    if (got == NORMA_OK && norma_test_runtime->rank == 0)
        fprintf(stderr, "%s, %s rule, %lld features: rmse %g, floor %g, condition %g, largest %g\n",
                norma_solver_name(solver), norma_width_name(f->problem.width),
                (long long)f->problem.n_features, s.rmse, s.floor, s.condition_number,
                s.max_abs_gamma);
    else if (!good && norma_test_runtime->rank == 0)
        fprintf(stderr, "%s\n", norma_status_error()->message);
    norma_test_check_all(good);
    norma_status_clear();
}

static void test_values_that_are_not_finite(void **state)
{
    (void)state;
    static const double bad[] = {NAN, INFINITY, 1e308};
    norma_log_set_level_local(NORMA_LOG_QUIET); /* what auto chooses is no news here */
    for (int64_t solver = 0; solver < norma_solver_names.n; solver++) {
        for (int b = 0; b < 3; b++) {
            fixture f = fixture_create(3, NORMA_WIDTH_MAX, 2);
            double kept = f.target[53];
            f.target[53] = bad[b];
            expect_failure(&f, (norma_solver)solver, NORMA_CONFIG, "weight [2, 1, position 8]");
            f.target[53] = kept;
            f.second[5 * 27 + 3] = bad[b];
            expect_failure(&f, (norma_solver)solver, NORMA_CONFIG, "W2 of feature 5, number 3");
            fixture_destroy(&f);
        }
    }
}

/* Singular systems: a repeated feature, a zero one, an output channel that the source leaves zero.
 * info = 0 and a huge gamma is what LAPACK makes of the first. */
static void test_singular_systems(void **state)
{
    (void)state;
    for (int width = 0; width < NORMA_N_WIDTHS; width++) {
        fixture f = fixture_create(3, (norma_width)width, 0);
        int64_t last = f.problem.n_features - 1;
        memcpy(f.first + last * 2, f.first + 4, 2 * sizeof *f.first);
        memcpy(f.second + last * 27, f.second + 2 * 27, 27 * sizeof *f.second);
        expect_failure(&f, NORMA_SOLVER_LU, NORMA_NUMERIC, "singular");
        expect_failure(&f, NORMA_SOLVER_QR, NORMA_NUMERIC, "svd gives the pseudo-inverse");
        expect_failure(&f, NORMA_SOLVER_MIXED, NORMA_NUMERIC, "singular");
        expect_failure(&f, NORMA_SOLVER_KRYLOV, NORMA_NUMERIC, "");
        fixture_destroy(&f);
    }
    for (int width = 0; width < NORMA_N_WIDTHS;
         width++) { /* min: gamma1 e_20 solves M gamma1 = 0 */
        fixture f = fixture_create(3, (norma_width)width, 0);
        memset(f.second + 20 * 27, 0, 27 * sizeof *f.second);
        expect_failure(&f, NORMA_SOLVER_LU, NORMA_NUMERIC,
                       width == NORMA_WIDTH_MAX ? "feature 20 is the first" : "channel");
        expect_failure(&f, NORMA_SOLVER_KRYLOV, NORMA_NUMERIC, "");
        fixture_destroy(&f);
    }
    for (int width = 0; width < NORMA_N_WIDTHS; width++) {
        fixture f = fixture_create(3, (norma_width)width, 20);
        for (int64_t J = 0; J < f.problem.n_features; J++)
            memset(f.second + J * 27 + 9, 0, 9 * sizeof *f.second);
        for (int64_t solver = 0; solver < norma_solver_names.n; solver++)
            if (!norma_solver_describe((norma_solver)solver)->states_answer &&
                (!norma_solver_describe((norma_solver)solver)->any_rank ||
                 width == NORMA_WIDTH_MIN))
                expect_failure(&f, (norma_solver)solver, NORMA_NUMERIC, "");
        fixture_destroy(&f);
    }
}

/* With features to spare neither a repeated nor a zero one matters; below the minimum neither. */
static void test_deficient_features_that_do_not_matter(void **state)
{
    (void)state;
    static const int64_t excesses[] = {20, -20};
    for (int e = 0; e < 2; e++) {
        fixture f = fixture_create(3, NORMA_WIDTH_MAX, excesses[e]);
        norma_solver_options options = {.solver = NORMA_SOLVER_KRYLOV};
        norma_layer_solution s;
        memcpy(f.first + 2 * 2, f.first + 4 * 2, 2 * sizeof *f.first);
        memcpy(f.second + 2 * 27, f.second + 4 * 27, 27 * sizeof *f.second);
        memset(f.first + 7 * 2, 0, 2 * sizeof *f.first);
        norma_test_ok_all(norma_layer_solve(norma_test_runtime->world, &f.problem, &options, &s));
        norma_test_check_all(s.gamma1[7] == 0 &&
                             norma_test_close(s.gamma1[2], s.gamma1[4], 1e-9, 0));
        norma_test_check_all(s.least_squares ? s.relative_gradient < 1e-12 : s.rmse <= s.floor);
        norma_test_check_all(s.condition_number < 1e6); /* of the nonzero singular values */
        norma_layer_solution_clear(&s);
        fixture_destroy(&f);
    }
}

/* lu steps over features without weights, gives them 0, and says when too few are left. */
static void test_lu_steps_over_zero_features(void **state)
{
    (void)state;
    for (int width = 0; width < NORMA_N_WIDTHS; width++) {
        fixture f = fixture_create(3, (norma_width)width, 3);
        norma_solver_options options = {.solver = NORMA_SOLVER_LU};
        norma_layer_solution s;
        int64_t last = f.problem.n_features - 1;
        memset(f.first, 0, 2 * sizeof *f.first);
        memset(f.second + 7 * 27, 0, 27 * sizeof *f.second);
        norma_test_ok_all(norma_layer_solve(norma_test_runtime->world, &f.problem, &options, &s));
        norma_test_check_all(s.rmse <= s.floor && s.n_used == f.n_minimum);
        norma_test_check_all(s.gamma1[0] == 0 && s.gamma1[7] == 0 && s.gamma1[last] == 0);
        norma_test_check_all(s.gamma1[1] != 0 && s.gamma1[last - 1] != 0);
        norma_layer_solution_clear(&s);
        memset(f.second + 9 * 27, 0, 2 * 27 * sizeof *f.second);
        expect_failure(&f, NORMA_SOLVER_LU, NORMA_NUMERIC, "4 of");
        fixture_destroy(&f);
    }
}

static void test_iteration_limit(void **state)
{
    (void)state;
    static const int64_t excesses[] = {10, -10};
    for (int e = 0; e < 2; e++) {
        fixture f = fixture_create(3, NORMA_WIDTH_MAX, excesses[e]);
        norma_solver_options options = {.solver = NORMA_SOLVER_KRYLOV, .max_iterations = 4};
        norma_layer_solution s;
        norma_test_fails_all(norma_layer_solve(norma_test_runtime->world, &f.problem, &options, &s),
                             NORMA_NUMERIC, "--max-iterations after 4 iterations");
        fixture_destroy(&f);
    }
}

/* Zero targets, and targets of any size: gamma follows them exactly. */
static void test_scale_of_target(void **state)
{
    (void)state;
    for (int64_t solver = 0; solver < norma_solver_names.n; solver++) {
        for (int width = 0; width < NORMA_N_WIDTHS; width++) {
            fixture f = fixture_create(3, (norma_width)width, 12);
            norma_solver_options options = {.solver = (norma_solver)solver, .block_size = 8};
            norma_layer_solution one;
            norma_layer_solution scaled;
            norma_test_ok_all(
                norma_layer_solve(norma_test_runtime->world, &f.problem, &options, &one));
            for (int64_t I = 0; I < f.n; I++)
                f.target[I] *= 0x1p-600;
            norma_test_ok_all(
                norma_layer_solve(norma_test_runtime->world, &f.problem, &options, &scaled));
            norma_test_check_all(norma_test_close(scaled.rmse, one.rmse * 0x1p-600, 1e-12, 0));
            norma_test_check_all(scaled.relative_residual == one.relative_residual);
            double unit1 = width == NORMA_WIDTH_MAX ? 0x1p-600 : 1;
            double unit2 = width == NORMA_WIDTH_MIN ? 0x1p-600 : 1;
            bool good = true;
            for (int64_t J = 0; J < f.problem.n_features; J++)
                good = good && scaled.gamma1[J] == one.gamma1[J] * unit1;
            for (int64_t i = 0; i < 3; i++)
                good = good && scaled.gamma2[i] == one.gamma2[i] * unit2;
            norma_test_check_all(good);
            norma_layer_solution_clear(&one);
            norma_layer_solution_clear(&scaled);

            memset(f.target, 0, (size_t)f.n * sizeof *f.target);
            norma_test_ok_all(
                norma_layer_solve(norma_test_runtime->world, &f.problem, &options, &scaled));
            norma_test_check_all(scaled.rmse == 0 && scaled.relative_residual == 0);
            norma_test_check_all(scaled.gamma2[0] == (width == NORMA_WIDTH_MAX ? 1 : 0));
            norma_layer_solution_clear(&scaled);
            fixture_destroy(&f);
        }
    }
}

/* One zero output channel: it leaves the min rule's system, and its gamma2 is 0. */
static void test_zero_output_channel(void **state)
{
    (void)state;
    for (int64_t solver = 0; solver < norma_solver_names.n; solver++) {
        fixture f = fixture_create(3, NORMA_WIDTH_MIN, 0);
        norma_solver_options options = {.solver = (norma_solver)solver, .block_size = 8};
        norma_layer_solution s;
        memset(f.target + 18, 0, 18 * sizeof *f.target);
        norma_test_ok_all(norma_layer_solve(norma_test_runtime->world, &f.problem, &options, &s));
        norma_test_check_all(s.n_rows == 34 && s.n_minimum == 35 && s.gamma2[1] == 0);
        norma_test_check_all(s.rmse <= s.floor && s.gamma2[0] != 0 && s.gamma2[2] != 0);
        norma_layer_solution_clear(&s);
        fixture_destroy(&f);
    }
}

static norma_layer_problem sized(int64_t c2, int64_t c0, int64_t n_features)
{
    return (norma_layer_problem){.shape = fixture_shape(c2, c0, "second", 1, 1),
                                 .n_features = n_features,
                                 .width = NORMA_WIDTH_MAX};
}

/* Refusal of what cannot fit, before anything is allocated, in numbers that do not wrap. */
static void test_estimates(void **state)
{
    (void)state;
    norma_solver_options options = {.solver = NORMA_SOLVER_LU};
    norma_layer_estimate e;
    norma_layer_problem p = sized(140, 331, 46340);
    norma_test_ok_all(norma_layer_solve_estimate_local(&p, &options, 1, &e));
    norma_test_check_all(e.n_rows == 46340 && e.bytes > 8 * 46340.0 * 46340.0 && e.bytes < 1.8e10 &&
                         e.n_idle == 0);
    p = sized(171, 271, 46341);
    norma_test_fails_all(norma_layer_solve_estimate_local(&p, &options, 1, &e), NORMA_LIMIT,
                         "at least 2 ranks");
    norma_test_ok_all(norma_layer_solve_estimate_local(&p, &options, 2, &e));
    p = sized(1000, 1000, 1000000);
    norma_test_fails_all(norma_layer_solve_estimate_local(&p, &options, 64, &e), NORMA_LIMIT,
                         "at least ");
    norma_test_ok_all(norma_layer_solve_estimate_local(&p, &options, 1024, &e));
    norma_test_check_all(norma_test_close(e.flops, 2e18 / 3, 1e-5, 0) &&
                         norma_test_close(e.bytes, 8e12 / 1024, 0.1, 0));
    options.solver = NORMA_SOLVER_AUTO;
    norma_test_ok_all(norma_layer_solve_estimate_local(&p, &options, 1, &e));
    norma_test_check_all(e.solver == NORMA_SOLVER_KRYLOV); /* the matrix does not fit */
    norma_test_ok_all(norma_layer_solve_estimate_local(&p, &options, 1024, &e));
    norma_test_check_all(e.solver == NORMA_SOLVER_MIXED &&
                         norma_test_close(e.bytes, 4e12 / 1024, 0.2, 0));
    options.memory_per_rank = 1e9;
    norma_test_ok_all(norma_layer_solve_estimate_local(&p, &options, 1024, &e));
    norma_test_check_all(e.solver == NORMA_SOLVER_KRYLOV && e.bytes < 1e9);
    p = sized(8, 8, 0);
    norma_test_fails_all(norma_layer_solve_estimate_local(&p, &options, 1, &e), NORMA_CONFIG,
                         "0 features");
}

static void test_names(void **state)
{
    (void)state;
    int64_t solver = 0;
    norma_test_ok_all(norma_names_find(&norma_solver_names, "krylov", &solver));
    norma_test_check_all(solver == NORMA_SOLVER_KRYLOV &&
                         strcmp(norma_solver_name(NORMA_SOLVER_KRYLOV), "krylov") == 0);
    norma_test_fails_all(norma_names_find(&norma_solver_names, "krilov", &solver), NORMA_CONFIG,
                         "did you mean 'krylov'?");
    norma_test_fails_all(norma_names_find(&norma_solver_names, "cgs", &solver), NORMA_CONFIG,
                         "'cgs'");
}

/* Weights stored or drawn again: the same bits of gamma, less memory. */
static void test_regenerated_weights(void **state)
{
    (void)state;
    for (int width = 0; width < NORMA_N_WIDTHS; width++) {
        fixture f = fixture_create(3, (norma_width)width, 12);
        norma_solver_options options = {.solver = NORMA_SOLVER_KRYLOV, .store = NORMA_STORE_YES};
        norma_layer_solution stored;
        norma_layer_solution drawn;
        norma_test_ok_all(
            norma_layer_solve(norma_test_runtime->world, &f.problem, &options, &stored));
        options.store = NORMA_STORE_NO;
        norma_test_ok_all(
            norma_layer_solve(norma_test_runtime->world, &f.problem, &options, &drawn));
        norma_test_check_all(
            memcmp(stored.gamma1, drawn.gamma1, (size_t)stored.n_features * sizeof(double)) == 0 &&
            stored.condition_number == drawn.condition_number &&
            stored.iterations == drawn.iterations);
        norma_layer_solution_clear(&stored);
        norma_layer_solution_clear(&drawn);
        fixture_destroy(&f);
    }
    norma_khatri_rao_shape large = fixture_shape(64, 64, "second", 3, 3);
    norma_layer_problem problem = {
        .shape = large, .n_features = 40551, .width = NORMA_WIDTH_MAX, .target = NULL};
    norma_solver_options options = {.solver = NORMA_SOLVER_KRYLOV, .store = NORMA_STORE_YES};
    norma_layer_estimate stored;
    norma_layer_estimate drawn;
    norma_layer_estimate chosen;
    norma_test_ok_all(norma_layer_solve_estimate_local(&problem, &options, 2, &stored));
    options.store = NORMA_STORE_NO;
    norma_test_ok_all(norma_layer_solve_estimate_local(&problem, &options, 2, &drawn));
    options.store = NORMA_STORE_AUTO;
    options.memory_per_rank = stored.bytes - 1;
    norma_test_ok_all(norma_layer_solve_estimate_local(&problem, &options, 2, &chosen));
    norma_test_check_all(drawn.bytes < stored.bytes / 4 && chosen.bytes == drawn.bytes);
}

/* Rows of a single entry leave an outer skip's min rule no equation. */
static void test_no_equation(void **state)
{
    (void)state;
    fixture f = fixture_create_residual(1, NORMA_WIDTH_MIN, NORMA_RESIDUAL_OUTER, 3);
    norma_solver_options options = {.solver = NORMA_SOLVER_AUTO};
    norma_layer_solution s;
    norma_test_fails_all(norma_layer_solve(norma_test_runtime->world, &f.problem, &options, &s),
                         NORMA_CONFIG, "width-rule max");
    fixture_destroy(&f);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_no_equation),
    cmocka_unit_test(test_regenerated_weights),
    cmocka_unit_test(test_values_that_are_not_finite),
    cmocka_unit_test(test_singular_systems),
    cmocka_unit_test(test_deficient_features_that_do_not_matter),
    cmocka_unit_test(test_lu_steps_over_zero_features),
    cmocka_unit_test(test_iteration_limit),
    cmocka_unit_test(test_scale_of_target),
    cmocka_unit_test(test_zero_output_channel),
    cmocka_unit_test(test_estimates),
    cmocka_unit_test(test_names),
};

norma_test_main_mpi("mpi.layer_solve", tests)
