/* The linear systems of layers: assembly, direct solvers, the matrix-free one. */
#include "mpi/bench/bench_layer.h"

#include "mpi/runtime/agree.h"
#include "mpi/system/assemble.h"
#include "mpi/system/lu.h"
#include "src/base/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

enum { BLOCK = 64 };

/* Features above the minimum for krylov, relative. */
#define EXCESS 0.1

static int64_t dense_channels(const norma_bench *bench)
{
    return (int64_t)sqrt((double)bench->n_system);
}

/* --- assembly --------------------------------------------------------------------------------- */

typedef struct assembly {
    const norma_width_rule *rule;
    const norma_bench_layer *l;
    norma_dmat *matrix;
} assembly;

static norma_status assemble(void *context)
{
    assembly *a = context;
    return norma_assemble_system(a->rule, a->l->w1, a->l->w2, a->matrix);
}

static norma_status time_assembly(norma_bench *bench, assembly *a)
{
    norma_bench_store *store = NULL;
    double seconds = 0;
    double limit = 0;
    double n = (double)a->rule->n_system;
    NORMA_TRY(norma_bench_store_create(bench, &store));
    norma_status status =
        norma_bench_time(bench, assemble, a, norma_bench_store_run, store, &seconds, &limit);
    if (status == NORMA_OK)
        norma_bench_add_local(
            bench, &(norma_bench_figure){.name = "assembly",
                                         .limit = "memory",
                                         .unit = "byte",
                                         .size = a->rule->n_system,
                                         .rate = n * n * sizeof(double) / seconds,
                                         .limit_rate = norma_bench_store_bytes_local(store) / limit,
                                         .seconds = seconds});
    norma_bench_store_destroy_local(&store);
    return status;
}

norma_status norma_bench_assembly(norma_bench *bench)
{
    norma_bench_layer l;
    norma_width_rule *rule = NULL;
    norma_grid *grid = NULL;
    norma_dmat *matrix = NULL;
    int64_t c = dense_channels(bench);
    norma_status status = NORMA_OK;
    NORMA_GOTO(status, norma_bench_layer_init(&l, bench, bench->runtime->world, c, c, 1, 0));
    status = norma_width_rule_create(NORMA_WIDTH_MAX, &l.problem.shape, l.target, &rule);
    NORMA_GOTO(status, norma_agree(l.comm, status));
    norma_grid_shape shape = norma_lu_grid_local(rule->n_system, BLOCK, bench->runtime->size);
    NORMA_GOTO(status, norma_grid_create(l.comm, shape, &grid));
    NORMA_GOTO(status, norma_dmat_create(grid, rule->n_system, BLOCK, &matrix));
    status = time_assembly(bench, &(assembly){.rule = rule, .l = &l, .matrix = matrix});
done:
    norma_dmat_destroy_local(&matrix);
    norma_grid_destroy(&grid);
    norma_width_rule_destroy(&rule);
    norma_bench_layer_clear(&l);
    return status;
}

/* --- solvers ---------------------------------------------------------------------------------- */

static void add_solver(norma_bench *bench, const norma_bench_layer *l, const char *limit,
                       double limit_rate)
{
    norma_bench_figure figure = {.unit = "flop",
                                 .size = norma_khatri_rao_n_rows(&l->problem.shape),
                                 .rate = l->flops / l->seconds,
                                 .limit_rate = limit_rate,
                                 .seconds = l->seconds};
    snprintf(figure.name, sizeof figure.name, "%s", norma_solver_name(l->options.solver));
    snprintf(figure.limit, sizeof figure.limit, "%s", limit);
    norma_bench_add_local(bench, &figure);
}

/* A solver beside a product of BLAS. */
static norma_status time_solver(norma_bench *bench, norma_bench_layer *l, bool single)
{
    norma_bench_product *product = NULL;
    double seconds = 0;
    double limit = 0;
    NORMA_TRY(norma_bench_product_create(bench, single, &product));
    norma_status status = norma_bench_time(bench, norma_bench_layer_solve, l,
                                           norma_bench_product_run, product, &seconds, &limit);
    if (status == NORMA_OK)
        add_solver(bench, l, single ? "sgemm" : "dgemm",
                   norma_bench_product_flops_local(product) / limit);
    norma_bench_product_destroy_local(&product);
    return status;
}

norma_status norma_bench_dense(norma_bench *bench)
{
    norma_bench_layer l;
    int64_t c = dense_channels(bench);
    norma_status status = NORMA_OK;
    NORMA_GOTO(status, norma_bench_layer_init(&l, bench, bench->runtime->world, c, c, 1, 0));
    l.options.solver = NORMA_SOLVER_LU;
    NORMA_GOTO(status, time_solver(bench, &l, false));
    norma_bench_add_local(bench, &(norma_bench_figure){.name = "assembly-of-lu",
                                                       .limit = "lu",
                                                       .unit = "run",
                                                       .size = c * c,
                                                       .rate = 1 / l.seconds_assembly,
                                                       .limit_rate = 1 / l.seconds,
                                                       .seconds = l.seconds_assembly});
    norma_bench_add_local(bench, &(norma_bench_figure){.name = "condition-of-lu",
                                                       .limit = "lu",
                                                       .unit = "run",
                                                       .size = c * c,
                                                       .rate = 1 / l.seconds_condition,
                                                       .limit_rate = 1 / l.seconds,
                                                       .seconds = l.seconds_condition});
    double lu_seconds = l.seconds;
    double lu_flops = l.flops;
    l.options.solver = NORMA_SOLVER_MIXED;
    l.seconds = INFINITY;
    double ignored = 0;
    NORMA_GOTO(status,
               norma_bench_time(bench, norma_bench_layer_solve, &l, NULL, NULL, &ignored, NULL));
    l.flops = lu_flops; /* the same answer: their ratio is the speed gained */
    add_solver(bench, &l, "lu", lu_flops / lu_seconds);
done:
    norma_bench_layer_clear(&l);
    return status;
}

norma_status norma_bench_krylov(norma_bench *bench)
{
    norma_bench_layer l;
    int64_t c = bench->n_channels;
    norma_status status = NORMA_OK;
    NORMA_GOTO(status, norma_bench_layer_init(&l, bench, bench->runtime->world, c, c, 3, EXCESS));
    l.options.solver = NORMA_SOLVER_KRYLOV;
    status = time_solver(bench, &l, true); /* it iterates in FP32 */
done:
    norma_bench_layer_clear(&l);
    return status;
}
