#ifndef NORMA_EXPERIMENTS_CHAIN_SETUP_H
#define NORMA_EXPERIMENTS_CHAIN_SETUP_H
/*
 * From the configuration of a chain run to its objects: what is read once, what a cell of the sweep
 * fixes, and what is measured when. The results of the run are those of its replicas, numbered cell
 * by cell; replicas of one cell that are computed together are a block (src/chain/chain.h), and
 * experiments/chain/partition.h chooses them.
 */
#include "experiments/layers/inputs.h"
#include "experiments/layers/schedule.h"
#include "mpi/runtime/runtime.h"
#include "src/chain/chain.h"
#include "src/config/config.h"

#include <stdbool.h>

/* Replicas of a block: 8, 4, 2 or 1. */
enum { NORMA_CHAIN_MOST_LANES = 8, NORMA_CHAIN_N_SIZES = 4 };

/* A block that a cell's replicas can be computed in. */
typedef struct norma_chain_size {
    int64_t lanes;
    double cost; /* operations of a layer, roughly: they compare blocks and cells */
    norma_chain_needs needs;
} norma_chain_size;

/* One cell of the sweep. */
typedef struct norma_chain_cell {
    int64_t number, depth;
    uint64_t seed;
    int64_t stream_cell;   /* the cell field of its random numbers */
    int64_t first_replica; /* --replica-offset: their replica field of replica 0 */
    norma_chain_spec spec;
    norma_chain_input input;
    norma_observable_request request;
    int n_sizes;
    norma_chain_size sizes[NORMA_CHAIN_N_SIZES]; /* by lanes, from 1 on */
    double twin_bytes;   /* single precision: of the chain in double that it is compared with */
    int64_t n_exponents; /* Lyapunov exponents that are reported, 0 without */
    int64_t n_compared;  /* single precision: layers of replica 0 that are run in double as well */
} norma_chain_cell;

typedef struct norma_chain_setup {
    const norma_config *config;           /* borrowed */
    norma_layer_inputs inputs;            /* owned */
    int64_t n_cells, n_replicas, n_tasks; /* tasks: replicas of all cells */
    norma_chain_cell *cells;              /* [n_cells], owned */
    norma_observable_set wanted;          /* of any cell */
    bool lyapunov, averages;              /* averages: some chain has layers */
    norma_observable_set single;          /* wanted of any cell in single precision */
    norma_observable_request axes; /* the most values of any cell; its other fields are unused */
    int64_t n_exponents;
    int64_t stride[NORMA_N_OBSERVABLES];
    norma_chain_schedule schedule[NORMA_N_OBSERVABLES];
    int64_t burn_in; /* layers; -1: estimated */
} norma_chain_setup;

/* Refuses options that contradict each other. Local. */
NORMA_MUST_USE norma_status norma_chain_check_options(const norma_config *config);

/* Reads the files and makes all of the above; every cell's chain was checked, so that what it
 * refuses is refused now. Collective; *setup is to be cleared whatever is returned. */
NORMA_MUST_USE norma_status norma_chain_setup_read(const norma_runtime *runtime,
                                                   const norma_config *config,
                                                   norma_chain_setup *setup);

/* The recorded layers of every wanted observable, schedule[NORMA_N_OBSERVABLES], in a run whose
 * depths are depths[n]; the caller clears each. Local. */
NORMA_MUST_USE norma_status norma_chain_setup_schedules(const norma_chain_setup *setup,
                                                        const int64_t *depths, int64_t n,
                                                        norma_chain_schedule *schedule);

void norma_chain_setup_clear(norma_chain_setup *setup);

/* Adds lines "  key: value" to a configuration that tell the content of given files. Local. */
void norma_chain_setup_fingerprint(const norma_chain_setup *setup, norma_text *text);

/* The cell of a replica: task = cell * n_replicas + replica. */
const norma_chain_cell *norma_chain_setup_cell(const norma_chain_setup *setup, int64_t task);

/* Work of a layer of one replica, as counted for progress: operations. */
int64_t norma_chain_setup_layer_work(const norma_chain_cell *cell);

#endif
