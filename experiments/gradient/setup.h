#ifndef NORMA_EXPERIMENTS_GRADIENT_SETUP_H
#define NORMA_EXPERIMENTS_GRADIENT_SETUP_H
/*
 * From the configuration of a gradient run to its objects. A task is one replica of one cell of the
 * sweep: task = cell * n_replicas + replica.
 */
#include "experiments/layers/inputs.h"
#include "experiments/layers/schedule.h"
#include "src/gradient/gradient.h"

typedef struct norma_gradient_cell {
    int64_t number, depth;
    uint64_t seed;
    int64_t stream_cell;   /* the cell field of its random numbers */
    int64_t first_replica; /* --replica-offset: their replica field of replica 0 */
    norma_chain_spec spec;
    norma_chain_input input;
    norma_gradient_request request;
    norma_gradient_needs needs;
    int64_t n_recorded; /* layers of the schedule, up to the depth */
    int64_t n_windows;  /* of Jacobians */
    int64_t n_pairs;    /* of samples */
    int64_t n_numbers;  /* of a record: experiments/gradient/record.h */
    double layer_cost;  /* operations of a layer, one way, roughly */
} norma_gradient_cell;

typedef struct norma_gradient_setup {
    const norma_config *config; /* borrowed */
    norma_layer_inputs inputs;  /* owned */
    int64_t n_cells, n_replicas, n_tasks;
    norma_gradient_cell *cells; /* [n_cells], owned */
    int64_t *order;             /* [n_tasks]: the task of a ticket, longest first; owned */
    norma_chain_schedule schedule;
    int64_t *layers; /* [schedule.n]: its layers; owned, NULL when there are none */
    bool isometry;
    int64_t window;             /* layers of a Jacobian, 0 without */
    int64_t n_windows, n_pairs; /* the most of any cell */
} norma_gradient_setup;

/* Reads the files and makes all of the above; every cell was checked, so that what it refuses is
 * refused now. Collective; *setup is to be cleared whatever is returned. */
NORMA_MUST_USE norma_status norma_gradient_setup_read(const norma_runtime *runtime,
                                                      const norma_config *config,
                                                      norma_gradient_setup *setup);

void norma_gradient_setup_clear(norma_gradient_setup *setup);

/* The cell of a task. */
const norma_gradient_cell *norma_gradient_setup_cell(const norma_gradient_setup *setup,
                                                     int64_t task);

#endif
