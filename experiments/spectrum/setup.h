#ifndef NORMA_EXPERIMENTS_SPECTRUM_SETUP_H
#define NORMA_EXPERIMENTS_SPECTRUM_SETUP_H
/*
 * From the configuration to the objects of `norma spectrum`: files that are read once (inputs),
 * what a cell of the sweep fixes (cell), what a replica draws.
 */
#include "io/input/source.h"
#include "io/input/target.h"
#include "mpi/runtime/runtime.h"
#include "mpi/spectrum/spectrum.h"
#include "src/base/text.h"
#include "src/config/config.h"

/* All owned; what the configuration does not name is NULL. */
typedef struct norma_spectrum_inputs {
    norma_target *target;
    norma_source *source;
    int64_t layer; /* of the target's network, and of the source's file */
} norma_spectrum_inputs;

typedef struct norma_spectrum_cell {
    int64_t number;
    uint64_t seed;
    int64_t stream_cell, layer; /* fields of random numbers */
    norma_distribution distribution;
    double keep_probability;
    norma_tensor_spec target_spec;  /* of a random target */
    const norma_source_pair *pair;  /* of --source; borrowed; else NULL */
    const double *target_weight;    /* of --target; borrowed; else NULL */
    norma_spectrum_problem problem; /* tensors and target of the current replica */
    norma_spectrum_options options; /* replica: the current one */
    double scale;                   /* singular values are divided by it */
    /* Of the current replica, owned: */
    norma_tensor *w1, *w2;
    double *target; /* embedded; NULL with the max rule */
} norma_spectrum_cell;

/* Reads target and source. Collective; *inputs is to be cleared whatever is returned. */
NORMA_MUST_USE norma_status norma_spectrum_inputs_read(const norma_runtime *runtime,
                                                       const norma_config *config,
                                                       norma_spectrum_inputs *inputs);

/* Lines "  key: value" that identify the files' content. Local. */
void norma_spectrum_fingerprint(const norma_spectrum_inputs *inputs, norma_text *text);

/* Collective. */
void norma_spectrum_inputs_clear(norma_spectrum_inputs *inputs);

/* Shapes, widths, law and options of a cell; memory_per_rank as in norma_spectrum_options. Local,
 * equal on all ranks; *cell is to be cleared whatever is returned. */
NORMA_MUST_USE norma_status norma_spectrum_cell_init(const norma_config *config,
                                                     const norma_spectrum_inputs *inputs,
                                                     int64_t number, double memory_per_rank,
                                                     norma_spectrum_cell *cell);

/* Draws or borrows weights and target for a replica; frees those of the one before. Local. */
NORMA_MUST_USE norma_status norma_spectrum_cell_draw(norma_spectrum_cell *cell, int64_t replica);

void norma_spectrum_cell_clear(norma_spectrum_cell *cell);

#endif
