/*
 * Layers of chains with their rank observables, beside the kernels that no implementation can do
 * without: the step's product, two products of SYRK's size, the layer's normals.
 */
#include "mpi/bench/bench.h"

#include "mpi/runtime/agree.h"
#include "mpi/runtime/blas.h"
#include "src/base/mem.h"
#include "src/base/rng.h"
#include "src/chain/chain.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>

typedef struct chain_work {
    norma_chain *chain;
    double *values;
    int64_t n_layers; /* of a turn */
    norma_observable_set observables;
} chain_work;

typedef struct kernel_work {
    int64_t d;
    int64_t n_layers;
    double *w, *h, *m; /* [d][d] */
} kernel_work;

static norma_status run_chain(void *context)
{
    chain_work *c = context;
    for (int64_t l = 0; l < c->n_layers; l++) {
        NORMA_TRY(norma_chain_step(c->chain));
        NORMA_TRY(norma_chain_measure(c->chain, c->observables, c->values));
    }
    return NORMA_OK;
}

static norma_status run_kernels(void *context)
{
    kernel_work *k = context;
    int d = (int)k->d;
    for (int64_t l = 0; l < k->n_layers; l++) {
        norma_rng_stream stream = {.purpose = NORMA_RNG_CHAIN_WEIGHTS, .layer = l};
        norma_rng_fill_normal(1, &stream, 0, k->d * k->d, k->w);
        cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, d, d, d, 1, k->w, d, k->h, d, 0,
                    k->m, d);
        for (int repeat = 0; repeat < 2; repeat++)
            cblas_dsyrk(CblasRowMajor, CblasUpper, CblasNoTrans, d, d, 1, k->w, d, 0, k->m, d);
    }
    return NORMA_OK;
}

static norma_status prepare(const norma_bench *bench, int64_t d, chain_work *c, kernel_work *k)
{
    norma_chain_spec spec;
    norma_chain_input input = {.kind = NORMA_CHAIN_INPUT_GAUSSIAN, .epsilon = NAN};
    norma_observable_request request;
    norma_chain_spec_init(NORMA_CHAIN_RANK20, d, d, &spec);
    norma_observable_request_init(&request);
    NORMA_TRY(norma_observable_parse("soft_rank,stable_rank,tr_m3,tr_diag2", &request.wanted));
    NORMA_TRY(norma_chain_create(&spec, &input, &request, 1, &c->chain));
    NORMA_TRY(
        NORMA_ALLOC(c->values, norma_chain_n_values_all(c->chain) * norma_chain_n_lanes(c->chain)));
    c->observables = request.wanted;
    NORMA_TRY(NORMA_CALLOC(k->w, d * d));
    NORMA_TRY(NORMA_CALLOC(k->h, d * d));
    NORMA_TRY(NORMA_CALLOC(k->m, d * d));
    return norma_chain_start(c->chain, bench->seed, 0, bench->runtime->rank, 1);
}

static norma_status measure_width(norma_bench *bench, int64_t d)
{
    int64_t n_layers = INT64_C(1) + INT64_C(20000000) / (d * d * d); /* some milliseconds */
    chain_work c = {.n_layers = n_layers};
    kernel_work k = {.d = d, .n_layers = n_layers};
    double seconds = 0;
    double limit = 0;
    norma_status status = norma_agree(bench->runtime->world, prepare(bench, d, &c, &k));
    if (status == NORMA_OK)
        status = norma_bench_time(bench, run_chain, &c, run_kernels, &k, &seconds, &limit);
    if (status == NORMA_OK) {
        norma_bench_figure figure = {.limit = "kernels", .unit = "layer", .size = d};
        snprintf(figure.name, sizeof figure.name, "chain-%lld", (long long)d);
        norma_bench_add_counts_local(bench, &figure, n_layers, seconds, limit);
    }
    norma_chain_destroy(&c.chain);
    NORMA_FREE(c.values);
    NORMA_FREE(k.w);
    NORMA_FREE(k.h);
    NORMA_FREE(k.m);
    return status;
}

norma_status norma_bench_chain(norma_bench *bench)
{
    static const int64_t widths[] = {8, 32, 64, 256};
    int n_threads = bench->runtime->n_threads;
    double budget = bench->seconds;
    norma_status status = NORMA_OK;
    bench->seconds /= 4;
    norma_blas_set_threads_local(1); /* a chain is one core's */
    for (int i = 0; i < (int)(sizeof widths / sizeof widths[0]) && status == NORMA_OK; i++)
        status = measure_width(bench, widths[i]);
    norma_blas_set_threads_local(n_threads);
    bench->seconds = budget;
    return status;
}
