/*
 * norma_solver_options.condition: the singular values that every solver estimates beside those of
 * the decomposition, and answers without any.
 */
#include "tests/mpi/layer_problem.h"

#include <math.h>

/* Estimates of every solver beside the exact values; nothing where nothing is asked for, and the
 * same answer. */
static void test_condition_efforts(void **state)
{
    (void)state;
    MPI_Comm world = norma_test_runtime->world;
    for (int64_t i = 0; i < norma_solver_names.n; i++)
        for (int width = 0; width < NORMA_N_WIDTHS; width++) {
            const norma_solver_descriptor *d = norma_solver_describe((norma_solver)i);
            fixture f = fixture_create(4, (norma_width)width, d->square ? 0 : 15);
            norma_solver_options options = {.solver = NORMA_SOLVER_SVD, .block_size = 8};
            norma_layer_solution exact;
            norma_layer_solution s;
            if (d->square)
                f.problem.n_features = f.n_minimum;
            norma_test_ok_all(norma_layer_solve(world, &f.problem, &options, &exact));
            options.solver = (norma_solver)i;
            options.condition = NORMA_CONDITION_ESTIMATE;
            norma_test_ok_all(norma_layer_solve(world, &f.problem, &options, &s));
            norma_test_check_all(norma_test_close(s.sigma_max, exact.sigma_max, 0.1, 0));
            norma_test_check_all(norma_test_close(s.sigma_min, exact.sigma_min, 0.1, 0));
            norma_test_check_all(
                norma_test_close(s.condition_number, exact.condition_number, 0.15, 0));
            norma_test_check_all(s.condition_error >= 0 && s.condition_error <= 0.1);
            norma_test_check_all(exact.condition_error >= 0 && exact.condition_error <= 1e-9);
            norma_layer_solution_clear(&s);
            options.condition = NORMA_CONDITION_NONE;
            norma_test_ok_all(norma_layer_solve(world, &f.problem, &options, &s));
            norma_test_check_all(isnan(s.sigma_max) && isnan(s.sigma_min) &&
                                 isnan(s.condition_number) && isnan(s.condition_number_solved) &&
                                 isnan(s.condition_error));
            norma_test_check_all(s.rmse <= (d->states_answer ? 1e3 : 1) * s.floor);
            norma_layer_solution_clear(&s);
            norma_layer_solution_clear(&exact);
            fixture_destroy(&f);
        }
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(test_condition_efforts)};

norma_test_main_mpi("mpi.condition_efforts", tests)
