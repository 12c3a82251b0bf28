#ifndef NORMA_EXPERIMENTS_JOB_PAIR_H
#define NORMA_EXPERIMENTS_JOB_PAIR_H
/*
 * The source pair of a single layer from the options that several subcommands share: --c-out --c-in
 * --channels --kernel --kernel-split --source-dist --source --keep-probability --target --layer
 * --target-dist --features --excess --overparam --seed --replicas --cell-streams. Files that are
 * read once (inputs), what a cell of the sweep fixes (cell), what a replica draws.
 */
#include "io/input/source.h"
#include "io/input/target.h"
#include "mpi/runtime/runtime.h"
#include "src/base/text.h"
#include "src/config/config.h"
#include "src/features/khatri_rao.h"
#include "src/features/width_rule.h"
#include "src/random/tensor.h"

/* All owned; what the configuration does not name is NULL. */
typedef struct norma_pair_inputs {
    norma_target *target;
    norma_source *source;
    int64_t layer; /* of the target's network, and of the source's file */
} norma_pair_inputs;

typedef struct norma_pair_cell {
    int64_t number;
    uint64_t seed;
    int64_t stream_cell, layer; /* fields of random numbers */
    int64_t first_replica;      /* --replica-offset */
    int64_t replica;            /* the current one, among all of the seed */
    norma_distribution distribution;
    double keep_probability;
    norma_tensor_spec target_spec;  /* of a random target */
    const norma_source_pair *given; /* of --source; borrowed; else NULL */
    const double *target_weight;    /* of --target; borrowed; else NULL */
    norma_khatri_rao_shape shape;
    int64_t n_features; /* c1 */
    /* Of the current replica, owned: */
    norma_tensor *w1, *w2;
    double *target; /* embedded in K; NULL unless asked for */
} norma_pair_cell;

/* Refuses options that contradict each other. Local, equal on all ranks. */
NORMA_MUST_USE norma_status norma_pair_check_options(const norma_config *config);

/* Refuses a layer of an option that the target does not have, or that no source pair can stand for;
 * one with channels in groups, too, unless in_groups says that the caller takes it. network NULL:
 * one random layer. Local, equal on all ranks. */
NORMA_MUST_USE norma_status norma_pair_check_layer(const norma_config *config, const char *option,
                                                   const norma_network *network, int64_t number,
                                                   bool in_groups);

/* Reads target and source. Collective; *inputs is to be cleared whatever is returned. */
NORMA_MUST_USE norma_status norma_pair_inputs_read(const norma_runtime *runtime,
                                                   const norma_config *config,
                                                   norma_pair_inputs *inputs);

/* Lines "  key: value" that identify the files' content. Local. */
void norma_pair_fingerprint(const norma_pair_inputs *inputs, norma_text *text);

/* Collective. */
void norma_pair_inputs_clear(norma_pair_inputs *inputs);

/* Shapes, width, law of a cell. Local, equal on all ranks; *cell is to be cleared whatever is
 * returned. */
NORMA_MUST_USE norma_status norma_pair_cell_init(const norma_config *config,
                                                 const norma_pair_inputs *inputs, int64_t number,
                                                 norma_width width, norma_pair_cell *cell);

/* The spec of a layer of the source pair, of the current replica. Local. */
norma_tensor_spec norma_pair_spec(const norma_pair_cell *cell, norma_tensor_role role);

/* Draws or borrows the weights of a replica of the run; frees those of the one before. Local. */
NORMA_MUST_USE norma_status norma_pair_cell_draw(norma_pair_cell *cell, int64_t replica);

/* Draws or borrows the replica's target and embeds it in the composite kernel. Local. */
NORMA_MUST_USE norma_status norma_pair_cell_draw_target(norma_pair_cell *cell);

/* Frees what belongs to the current replica. */
void norma_pair_cell_clear(norma_pair_cell *cell);

#endif
