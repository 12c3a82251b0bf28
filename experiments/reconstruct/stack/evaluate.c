/* norma evaluate on a stack's result: weights drawn again, scales and shifts from the file. */
#include "experiments/reconstruct/stack/stack.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"
#include "src/base/mem.h"

#include <stdio.h>

typedef struct evaluation {
    MPI_Comm world;
    const norma_reconstruct_inputs *inputs;
    norma_stack_layout layout;
    norma_result_reader *reader;
    norma_stack_place place;
    void **sources; /* [layers] */
    const char *path;
} evaluation;

/* The source of a layer with what the file holds. Collective. */
static norma_status restore(evaluation *e, const char *root)
{
    norma_stack_size size;
    double *values = NULL;
    char path[96];
    int64_t i = e->place.number;
    const norma_stack_kind *kind = e->layout.kind;
    norma_status status = kind->size(&e->place, &size);
    if (status == NORMA_OK)
        status = kind->create(&e->place, &e->sources[i]);
    if (status == NORMA_OK)
        status = NORMA_ALLOC(values, size.n_scales + size.n_shifts);
    NORMA_GOTO(status, norma_agree(e->world, status));
    snprintf(path, sizeof path, "%s/layers/%03lld/gamma", root, (long long)i);
    NORMA_GOTO(status,
               norma_result_reader_row(e->reader, path, e->place.replica, size.n_scales, values));
    snprintf(path, sizeof path, "%s/layers/%03lld/beta", root, (long long)i);
    NORMA_GOTO(status, norma_result_reader_row(e->reader, path, e->place.replica, size.n_shifts,
                                               values + size.n_scales));
    kind->set(e->sources[i], values, values + size.n_scales);
done:
    NORMA_FREE(values);
    return status;
}

static norma_status evaluate_replica(evaluation *e, norma_reconstruct_cell *cell, const char *root)
{
    double outputs[NORMA_N_STACK_OUTPUTS];
    norma_status status = NORMA_CALLOC(e->sources, cell->n_layers);
    if (status == NORMA_OK && cell->target_per_replica)
        status = norma_reconstruct_fill_target(cell, cell->first_replica + e->place.replica);
    NORMA_GOTO(status, norma_agree(e->world, status));
    for (e->place.number = 0; e->place.number < cell->n_layers; e->place.number++)
        if (cell->layers[e->place.number].wanted)
            NORMA_GOTO(status, restore(e, root));
    status = norma_stack_run_network(&e->place, e->inputs, &e->layout, e->sources, outputs);
    NORMA_GOTO(status, norma_agree(e->world, status));
    norma_log_result("%5lld %7lld %7lld %9.0f %16.8e %12.4e %9.0f", (long long)cell->number,
                     (long long)e->place.replica, (long long)e->layout.n_inputs,
                     outputs[NORMA_STACK_N_DIFFERING], outputs[NORMA_STACK_OUTPUT_MAX_ERROR],
                     outputs[NORMA_STACK_OUTPUT_RMSE], outputs[NORMA_STACK_N_CLIPPED]);
done:
    for (int64_t i = 0; e->sources && i < cell->n_layers; i++)
        e->layout.kind->destroy(&e->sources[i]);
    NORMA_FREE(e->sources);
    return status;
}

static norma_status evaluate_cell(evaluation *e, int64_t number)
{
    norma_reconstruct_cell cell;
    char root[32] = "";
    char first[64];
    bool there = false;
    int64_t layer = 0;
    if (!norma_config_is_single(e->place.config))
        snprintf(root, sizeof root, "/cells/%06lld",
                 (long long)norma_config_get_cell_number(e->place.config, number));
    norma_status status =
        norma_reconstruct_cell_init(e->place.config, e->inputs, number, false, &cell);
    NORMA_GOTO(status, norma_agree(e->world, status));
    e->place.cell = &cell;
    while (!cell.layers[layer].wanted)
        layer++;
    snprintf(first, sizeof first, "%s/layers/%03lld/gamma", root, (long long)layer);
    NORMA_GOTO(status, norma_result_reader_has(e->reader, first, &there));
    if (!there)
        status = NORMA_FAIL(NORMA_CONFIG,
                            "%s: no scales in the file (%s): reconstruct with --save gamma",
                            e->path, first);
    NORMA_GOTO(status, norma_agree(e->world, status));
    for (e->place.replica = 0; e->place.replica < e->layout.n_replicas; e->place.replica++)
        NORMA_GOTO(status, evaluate_replica(e, &cell, root));
done:
    e->place.cell = NULL;
    norma_reconstruct_cell_clear(&cell);
    return status;
}

norma_status norma_stack_evaluate(MPI_Comm world, const norma_config *config,
                                  const norma_reconstruct_inputs *inputs,
                                  const norma_stack_kind *kind, norma_result_reader *reader,
                                  const char *path)
{
    evaluation e = {.world = world,
                    .inputs = inputs,
                    .reader = reader,
                    .path = path,
                    .place = {.config = config}};
    norma_status status = norma_stack_layout_init(config, inputs, kind, &e.layout);
    NORMA_TRY(norma_agree(world, status));
    norma_log_result("#cell replica  inputs differing output_max_error  output_rmse n_clipped");
    for (int64_t number = 0; number < e.layout.n_cells; number++)
        NORMA_TRY(evaluate_cell(&e, number));
    return NORMA_OK;
}
