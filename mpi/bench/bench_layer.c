#include "mpi/bench/bench_layer.h"

#include "mpi/runtime/agree.h"
#include "src/base/mem.h"

#include <math.h>

static norma_status draw_target(norma_bench_layer *l, uint64_t seed)
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

static norma_status draw_sources(norma_bench_layer *l, uint64_t seed)
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

norma_status norma_bench_layer_init(norma_bench_layer *l, const norma_bench *bench, MPI_Comm comm,
                                    int64_t n_out, int64_t n_in, int64_t extent, double excess)
{
    *l = (norma_bench_layer){.comm = comm, .seconds = INFINITY, .seconds_condition = INFINITY};
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

void norma_bench_layer_clear(norma_bench_layer *l)
{
    norma_tensor_destroy(&l->w1);
    norma_tensor_destroy(&l->w2);
    norma_tensor_destroy(&l->given);
    NORMA_FREE(l->target);
}

norma_status norma_bench_layer_solve(void *layer)
{
    norma_bench_layer *l = layer;
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
