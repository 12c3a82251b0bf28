#ifndef NORMA_EXPERIMENTS_SPECTRUM_SETUP_H
#define NORMA_EXPERIMENTS_SPECTRUM_SETUP_H
/*
 * From the configuration to the objects of `norma spectrum`: a source pair
 * (experiments/job/pair.h), its matrix, and how its values are measured.
 */
#include "experiments/job/pair.h"
#include "mpi/spectrum/spectrum.h"

typedef struct norma_spectrum_cell {
    norma_pair_cell pair;
    norma_spectrum_problem problem; /* tensors and target of the current replica */
    norma_spectrum_options options; /* replica: the current one */
    double scale;                   /* singular values are divided by it */
} norma_spectrum_cell;

/* Shapes, widths, law and options of a cell; memory_per_rank as in norma_spectrum_options. Local,
 * equal on all ranks; *cell is to be cleared whatever is returned. */
NORMA_MUST_USE norma_status norma_spectrum_cell_init(const norma_config *config,
                                                     const norma_pair_inputs *inputs,
                                                     int64_t number, double memory_per_rank,
                                                     norma_spectrum_cell *cell);

/* Draws or borrows weights and target for a replica; frees those of the one before. Local. */
NORMA_MUST_USE norma_status norma_spectrum_cell_draw(norma_spectrum_cell *cell, int64_t replica);

void norma_spectrum_cell_clear(norma_spectrum_cell *cell);

#endif
