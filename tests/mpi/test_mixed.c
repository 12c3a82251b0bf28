/*
 * mpi/layer/solve_mixed: what single precision alone could not do, against lu. (The conformance of
 * all solvers is in tests/mpi/test_solvers.c.)
 */
#include "tests/mpi/layer_problem.h"

#include "mpi/linalg/replicated.h"

#include <float.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* True when mixed itself, without lu, gives lu's answer and condition numbers. */
static bool mixed_equals_lu(const fixture *f)
{
    norma_solver_options options = {.solver = NORMA_SOLVER_MIXED, .block_size = 8, .seed = 7};
    norma_layer_solution mixed;
    norma_layer_solution lu;
    int64_t c1 = f->problem.n_features;
    norma_test_ok_all(norma_layer_solve(norma_test_runtime->world, &f->problem, &options, &mixed));
    options.solver = NORMA_SOLVER_LU;
    norma_test_ok_all(norma_layer_solve(norma_test_runtime->world, &f->problem, &options, &lu));
    double tolerance = fmax(1e-9, 10 * lu.condition_number_solved * DBL_EPSILON);
    bool same = mixed.solver == NORMA_SOLVER_MIXED && mixed.rmse <= mixed.floor;
    same = same && norma_test_max_difference(mixed.gamma1, lu.gamma1, c1) <=
                       tolerance * norma_replicated_norm_local(lu.gamma1, c1);
    same = same && norma_test_close(mixed.condition_number, lu.condition_number, 1e-4, 0);
    same = same &&
           norma_test_close(mixed.condition_number_solved, lu.condition_number_solved, 1e-4, 0);
    if (!same && norma_test_runtime->rank == 0)
        fprintf(stderr, "%s: rmse %g, floor %g, condition %g (%g), %lld steps\n",
                norma_solver_name(mixed.solver), mixed.rmse, mixed.floor, mixed.condition_number,
                lu.condition_number, (long long)mixed.iterations);
    norma_layer_solution_clear(&mixed);
    norma_layer_solution_clear(&lu);
    return same;
}

/* Entries beyond the range of single precision, at either end. */
static void test_mixed_out_of_range(void **state)
{
    (void)state;
    static const double factors[] = {0x1p-80, 0x1p-75, 0x1p66, 0x1p75};
    for (int k = 0; k < 4; k++) {
        fixture f = fixture_create(3, (norma_width)(k % 2), 0);
        int64_t c1 = f.problem.n_features;
        const norma_khatri_rao_shape *s = &f.problem.shape;
        for (int64_t e = 0; e < c1 * norma_khatri_rao_width_first(s); e++)
            f.first[e] *= factors[k];
        for (int64_t e = 0; e < c1 * norma_khatri_rao_width_second(s); e++)
            f.second[e] *= factors[k];
        norma_test_check_all(mixed_equals_lu(&f));
        fixture_destroy(&f);
    }
}

/* Two features all but equal: single precision cannot tell them apart, and GMRES has to. */
static void test_mixed_nearly_singular(void **state)
{
    (void)state;
    static const double distances[] = {1e-4, 1e-6, 1e-8};
    for (int k = 0; k < 3; k++) {
        fixture f = fixture_create(6, (norma_width)(k % 2), 0);
        int64_t n_first = norma_khatri_rao_width_first(&f.problem.shape);
        int64_t n_second = norma_khatri_rao_width_second(&f.problem.shape);
        for (int64_t e = 0; e < n_first; e++)
            f.first[3 * n_first + e] =
                f.first[9 * n_first + e] + distances[k] * f.first[3 * n_first + e];
        memcpy(f.second + 3 * n_second, f.second + 9 * n_second,
               (size_t)n_second * sizeof *f.second);
        norma_test_check_all(mixed_equals_lu(&f));
        fixture_destroy(&f);
    }
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_mixed_out_of_range),
    cmocka_unit_test(test_mixed_nearly_singular),
};

norma_test_main_mpi("mpi.mixed", tests)
