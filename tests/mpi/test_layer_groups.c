/*
 * mpi/layer/layer_groups: the systems of groups solved together equal those solved one by one, bit
 * for bit and on any number of ranks; counts and worst cases; a singular group is named everywhere.
 */
#include "tests/mpi/layer_problem.h"

#include "mpi/layer/layer_groups.h"
#include "mpi/runtime/log.h"

#include <math.h>
#include <string.h>

enum { N_GROUPS = 5, SHAPE = 3 };

/* Groups whose targets and weights differ in their scale and order. */
static void create(fixture *groups, norma_width width, norma_layer_problem *problems)
{
    for (int g = 0; g < N_GROUPS; g++) {
        groups[g] = fixture_create(SHAPE, width, 0);
        for (int64_t k = 0; k < groups[g].n; k++)
            groups[g].target[k] *= g + 1;
        groups[g].first[g] += 1;
        problems[g] = groups[g].problem;
    }
}

static void destroy(fixture *groups)
{
    for (int g = 0; g < N_GROUPS; g++)
        fixture_destroy(&groups[g]);
}

static void test_equals_single_systems(void **state)
{
    (void)state;
    norma_log_set_level_local(NORMA_LOG_QUIET);
    const norma_solver_options options = {.solver = NORMA_SOLVER_LU};
    for (int width = 0; width < NORMA_N_WIDTHS; width++) {
        fixture groups[N_GROUPS];
        norma_layer_problem problems[N_GROUPS];
        norma_layer_solution all, one;
        create(groups, (norma_width)width, problems);
        norma_test_ok(norma_layer_groups_solve(norma_test_runtime->world, N_GROUPS, problems,
                                               &options, &all));
        int64_t c1 = problems[0].n_features, c2 = problems[0].shape.n_channels_out;
        int64_t n = groups[0].n, n_rows = 0;
        double sum = 0, worst = 0, condition = 0, least = INFINITY;
        for (int g = 0; g < N_GROUPS; g++) {
            norma_test_ok(norma_layer_solve(MPI_COMM_SELF, &problems[g], &options, &one));
            norma_test_check_all(
                memcmp(all.gamma1 + g * c1, one.gamma1, (size_t)c1 * sizeof(double)) == 0 &&
                memcmp(all.gamma2 + g * c2, one.gamma2, (size_t)c2 * sizeof(double)) == 0 &&
                memcmp(all.kernel + g * n, one.kernel, (size_t)n * sizeof(double)) == 0);
            n_rows += one.n_rows;
            sum += one.rmse * one.rmse;
            worst = fmax(worst, one.max_error);
            condition = fmax(condition, one.condition_number);
            least = fmin(least, one.sigma_min);
            norma_layer_solution_clear(&one);
        }
        norma_test_check_all(all.n_rows == n_rows && all.n_features == N_GROUPS * c1);
        norma_test_check_all(fabs(all.rmse - sqrt(sum / N_GROUPS)) <= 1e-14 * all.rmse);
        norma_test_check_all(all.max_error == worst && all.condition_number == condition &&
                             all.sigma_min == least && all.sigma_max >= least);
        norma_test_check_all(all.relative_residual < 1e-12 && all.solver == NORMA_SOLVER_LU);
        norma_layer_solution_clear(&all);
        destroy(groups);
    }
}

static void test_singular_group(void **state)
{
    (void)state;
    norma_log_set_level_local(NORMA_LOG_QUIET);
    const norma_solver_options options = {.solver = NORMA_SOLVER_LU};
    fixture groups[N_GROUPS];
    norma_layer_problem problems[N_GROUPS];
    norma_layer_solution all;
    create(groups, NORMA_WIDTH_MAX, problems);
    memset(groups[3].second + 20 * 27, 0, 27 * sizeof(double));
    norma_status_clear();
    norma_status status =
        norma_layer_groups_solve(norma_test_runtime->world, N_GROUPS, problems, &options, &all);
    norma_test_check_all(status == NORMA_NUMERIC &&
                         norma_test_contains(norma_status_error()->message, "group 3 of 5: "));
    norma_status_clear();
    destroy(groups);
}

/* Groups are shared out whole; the largest share decides. */
static void test_estimate(void **state)
{
    (void)state;
    const norma_solver_options options = {.solver = NORMA_SOLVER_LU};
    fixture f = fixture_create(SHAPE, NORMA_WIDTH_MAX, 0);
    norma_layer_estimate one, all;
    norma_test_ok(norma_layer_solve_estimate_local(&f.problem, &options, 1, &one));
    norma_test_ok(norma_layer_groups_estimate_local(7, &f.problem, &options, 3, &all));
    norma_test_check_all(all.n_rows == 7 * one.n_rows && all.flops == 7 * one.flops &&
                         all.n_minimum == 7 * one.n_minimum && all.bytes > one.bytes &&
                         all.bytes < 7 * one.bytes && all.n_idle == 0);
    norma_test_check_all(norma_layer_groups_most_local(7, 3) == 3);
    norma_test_ok(norma_layer_groups_estimate_local(2, &f.problem, &options, 5, &all));
    norma_test_check_all(all.n_idle == 3);
    fixture_destroy(&f);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_equals_single_systems),
    cmocka_unit_test(test_singular_group),
    cmocka_unit_test(test_estimate),
};

norma_test_main_mpi("mpi.layer_groups", tests)
