#include "mpi/layer/solver.h"
#include "mpi/runtime/progress.h"
#include "mpi/system/dense.h"
#include "mpi/system/svd.h"

static norma_status refine(const norma_system *s, norma_svd *svd, double *gamma,
                           norma_layer_solution *solution)
{
    int64_t m = s->rule->n_system;
    int64_t n = norma_product_n_features_local(s->product);
    double largest = norma_svd_values_local(svd)[0];
    norma_dense_answer answer = {0};
    double start = norma_progress_clock_local();
    NORMA_TRY(norma_dense_refine(s, norma_svd_apply_inverse, svd, norma_svd_rank_local(svd) == m,
                                 largest, gamma, &solution->iterations, &answer));
    solution->seconds += norma_progress_clock_local() - start;
    /* Too few features or a deficient rank: the residual is what it is, unless it vanishes. */
    solution->least_squares = n < m || !answer.exact;
    if (solution->least_squares && answer.residual > 0 && largest > 0)
        solution->relative_gradient = answer.gradient / (largest * answer.residual);
    solution->gflops = norma_dense_flops_local(m, n, true) / solution->seconds / 1e9;
    return norma_svd_measure_rows(svd, solution);
}

norma_status norma_solve_svd(const norma_system *system, double *gamma,
                             norma_layer_solution *solution)
{
    norma_svd *svd = NULL;
    norma_status status = norma_svd_create(system, solution, &svd);
    if (status == NORMA_OK)
        status = refine(system, svd, gamma, solution);
    norma_svd_destroy(&svd);
    return status;
}
