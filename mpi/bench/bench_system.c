/* The linear systems of layers: assembly, direct solvers, the matrix-free one. */
#include "mpi/bench/bench.h"

#include "mpi/layer/layer_solve.h"
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

/* A random layer, its source pair, and the last solution of it. */
typedef struct layer {
    MPI_Comm comm;
    norma_layer_problem problem;
    norma_solver_options options;
    norma_tensor *w1, *w2, *given;
    double *target; /* [n] */
    double seconds; /* fastest solution so far, factors included */
    double seconds_assembly, seconds_condition;
    double flops;
} layer;

static norma_status draw_target(layer *l, uint64_t seed)
{
    const norma_khatri_rao_shape *s = &l->problem.shape;
    norma_tensor_spec spec = {.distribution = NORMA_DISTRIBUTION_HE_NORMAL,
                              .role = NORMA_TENSOR_FIRST,
                              .seed = seed,
                              .stream = {.purpose = NORMA_RNG_TARGET_WEIGHTS},
                              .n_features = s->n_channels_out,
                              .n_channels = s->n_channels_in,
                              .n_taps = norma_kernel_taps(s->kernel.composite)};
    NORMA_TRY(norma_tensor_create(&spec, &l->given));
    NORMA_TRY(NORMA_ALLOC(l->target, norma_khatri_rao_n_rows(s)));
    norma_tensor_fill(l->given, 0, s->n_channels_out, l->target);
    l->problem.target = l->target;
    return NORMA_OK;
}

static norma_status draw_sources(layer *l, uint64_t seed)
{
    const norma_khatri_rao_shape *s = &l->problem.shape;
    norma_tensor_spec spec = {.distribution = NORMA_DISTRIBUTION_HE_NORMAL,
                              .role = NORMA_TENSOR_FIRST,
                              .seed = seed,
                              .stream = {.purpose = NORMA_RNG_SOURCE_WEIGHTS},
                              .n_features = l->problem.n_features,
                              .n_channels = s->n_channels_in,
                              .n_taps = norma_kernel_taps(s->kernel.first)};
    NORMA_TRY(norma_tensor_create(&spec, &l->w1));
    spec.role = NORMA_TENSOR_SECOND;
    spec.stream.tensor = 1;
    spec.n_channels = s->n_channels_out;
    spec.n_taps = norma_kernel_taps(s->kernel.second);
    NORMA_TRY(norma_tensor_create(&spec, &l->w2));
    l->problem.w1 = l->w1;
    l->problem.w2 = l->w2;
    return NORMA_OK;
}

/* n_out x n_in channels, a kernel of `extent`, c1 = ceil((1 + excess) n). */
static norma_status layer_init(layer *l, const norma_bench *bench, int64_t n_out, int64_t n_in,
                               int64_t extent, double excess)
{
    *l = (layer){.comm = bench->runtime->world, .seconds = INFINITY, .seconds_condition = INFINITY};
    l->problem.shape = (norma_khatri_rao_shape){.n_channels_out = n_out, .n_channels_in = n_in};
    l->problem.width = NORMA_WIDTH_MAX;
    l->options.seed = bench->seed;
    l->options.condition = NORMA_CONDITION_ESTIMATE;
    norma_kernel_shape target = {extent, extent};
    norma_status status = norma_kernel_split(&l->problem.shape.kernel, "second", target);
    int64_t n = norma_khatri_rao_n_rows(&l->problem.shape);
    l->problem.n_features = (int64_t)ceil((1 + excess) * (double)n);
    if (status == NORMA_OK)
        status = draw_target(l, bench->seed);
    if (status == NORMA_OK)
        status = draw_sources(l, bench->seed);
    return norma_agree(l->comm, status);
}

static void layer_clear(layer *l)
{
    norma_tensor_destroy(&l->w1);
    norma_tensor_destroy(&l->w2);
    norma_tensor_destroy(&l->given);
    NORMA_FREE(l->target);
}

static norma_status solve(void *context)
{
    layer *l = context;
    norma_layer_solution solution;
    NORMA_TRY(norma_layer_solve(l->comm, &l->problem, &l->options, &solution));
    l->seconds_condition = fmin(l->seconds_condition, solution.seconds_condition);
    if (solution.seconds < l->seconds) {
        l->seconds = solution.seconds;
        l->seconds_assembly = solution.seconds_assembly;
        l->flops = 1e9 * solution.gflops * solution.seconds;
    }
    norma_layer_solution_clear(&solution);
    return NORMA_OK;
}

static int64_t dense_channels(const norma_bench *bench)
{
    return (int64_t)sqrt((double)bench->n_system);
}

/* --- assembly --------------------------------------------------------------------------------- */

typedef struct assembly {
    const norma_width_rule *rule;
    const layer *l;
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
    layer l;
    norma_width_rule *rule = NULL;
    norma_grid *grid = NULL;
    norma_dmat *matrix = NULL;
    int64_t c = dense_channels(bench);
    norma_status status = NORMA_OK;
    NORMA_GOTO(status, layer_init(&l, bench, c, c, 1, 0));
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
    layer_clear(&l);
    return status;
}

/* --- solvers ---------------------------------------------------------------------------------- */

static void add_solver(norma_bench *bench, const layer *l, const char *limit, double limit_rate)
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
static norma_status time_solver(norma_bench *bench, layer *l, bool single)
{
    norma_bench_product *product = NULL;
    double seconds = 0;
    double limit = 0;
    NORMA_TRY(norma_bench_product_create(bench, single, &product));
    norma_status status =
        norma_bench_time(bench, solve, l, norma_bench_product_run, product, &seconds, &limit);
    if (status == NORMA_OK)
        add_solver(bench, l, single ? "sgemm" : "dgemm",
                   norma_bench_product_flops_local(product) / limit);
    norma_bench_product_destroy_local(&product);
    return status;
}

norma_status norma_bench_dense(norma_bench *bench)
{
    layer l;
    int64_t c = dense_channels(bench);
    norma_status status = NORMA_OK;
    NORMA_GOTO(status, layer_init(&l, bench, c, c, 1, 0));
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
    NORMA_GOTO(status, norma_bench_time(bench, solve, &l, NULL, NULL, &ignored, NULL));
    l.flops = lu_flops; /* the same answer: their ratio is the speed gained */
    add_solver(bench, &l, "lu", lu_flops / lu_seconds);
done:
    layer_clear(&l);
    return status;
}

norma_status norma_bench_krylov(norma_bench *bench)
{
    layer l;
    int64_t c = bench->n_channels;
    norma_status status = NORMA_OK;
    NORMA_GOTO(status, layer_init(&l, bench, c, c, 3, EXCESS));
    l.options.solver = NORMA_SOLVER_KRYLOV;
    status = time_solver(bench, &l, true); /* it iterates in FP32 */
done:
    layer_clear(&l);
    return status;
}
