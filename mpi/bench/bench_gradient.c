/* Gradients of a layer of a chain, beside its forward pass. */
#include "mpi/bench/bench.h"

#include "mpi/runtime/agree.h"
#include "mpi/runtime/blas.h"
#include "src/chain/chain.h"
#include "src/gradient/gradient.h"

#include <math.h>
#include <stdio.h>

/* Width, batch and layers of a turn: some hundredths of a second. */
enum { WIDTH = 100, DEPTH = 100 };

typedef struct gradient_work {
    const norma_bench *bench;
    norma_chain *chain;
    norma_gradient *gradient;
} gradient_work;

static norma_status run_gradient(void *context)
{
    gradient_work *w = context;
    NORMA_TRY(norma_gradient_start(w->gradient, w->bench->seed, 0, w->bench->runtime->rank));
    while (!norma_gradient_is_done(w->gradient))
        NORMA_TRY(norma_gradient_step(w->gradient));
    return NORMA_OK;
}

static norma_status run_chain(void *context)
{
    gradient_work *w = context;
    NORMA_TRY(norma_chain_start(w->chain, w->bench->seed, 0, w->bench->runtime->rank, 1));
    for (int l = 0; l < DEPTH; l++)
        NORMA_TRY(norma_chain_step(w->chain));
    return NORMA_OK;
}

static norma_status prepare(gradient_work *w, int64_t segment)
{
    norma_chain_spec spec;
    norma_chain_input input = {.kind = NORMA_CHAIN_INPUT_GAUSSIAN, .epsilon = NAN};
    norma_observable_request none;
    norma_gradient_request request = {.loss.classes = 10, .depth = DEPTH, .segment = segment};
    norma_chain_spec_init(NORMA_CHAIN_RANK20, WIDTH, WIDTH, &spec);
    norma_observable_request_init(&none);
    NORMA_TRY(norma_chain_create(&spec, &input, &none, 1, &w->chain));
    return norma_gradient_create(&spec, &input, &request, &w->gradient);
}

/* Layers forward and backward; `segment` layers are kept, the others computed again. */
static norma_status measure(norma_bench *bench, const char *name, int64_t segment)
{
    gradient_work w = {.bench = bench};
    double seconds = 0;
    double limit = 0;
    norma_status status = norma_agree(bench->runtime->world, prepare(&w, segment));
    if (status == NORMA_OK)
        status = norma_bench_time(bench, run_gradient, &w, run_chain, &w, &seconds, &limit);
    if (status == NORMA_OK) {
        norma_bench_figure figure = {.limit = "chain-layer", .unit = "layer", .size = WIDTH};
        snprintf(figure.name, sizeof figure.name, "%s", name);
        norma_bench_add_counts_local(bench, &figure, DEPTH, seconds, limit);
    }
    norma_gradient_destroy(&w.gradient);
    norma_chain_destroy(&w.chain);
    return status;
}

norma_status norma_bench_gradient(norma_bench *bench)
{
    int n_threads = bench->runtime->n_threads;
    norma_blas_set_threads_local(1); /* a chain is one core's */
    norma_status status = measure(bench, "gradient-again", 10);
    if (status == NORMA_OK)
        status = measure(bench, "gradient-kept", DEPTH);
    norma_blas_set_threads_local(n_threads);
    return status;
}
