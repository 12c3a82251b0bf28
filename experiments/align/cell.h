#ifndef NORMA_EXPERIMENTS_ALIGN_CELL_H
#define NORMA_EXPERIMENTS_ALIGN_CELL_H
/*
 * From the configuration to the objects of `norma align`: a source pair of c1 features, a target,
 * the searches, the matchings.
 */
#include "experiments/job/pair.h"
#include "src/align/matching.h"
#include "src/align/searches.h"

typedef struct norma_align_cell {
    norma_pair_cell pair; /* all n features of laws of which some are left out, else c1 */
    int64_t n_rows;       /* n = c2 c0 |K| */
    int64_t n_features;   /* c1 */
    bool draws_features;  /* c1 of pair.n_features, at random */
    int64_t n_hidden;     /* of a target that is a product; 0: none */
    double density;       /* q */
    int n_searches;
    int searches[NORMA_N_ALIGN_SEARCHES];
    norma_align_options options;
    norma_rng_stream stream; /* of the current replica */
    int64_t n_trials;
    norma_matching matching; /* its target belongs to the replica */
    /* Of the current replica, owned: */
    norma_tensor *w1, *w2; /* selected features; NULL where all are used */
    double *feature;       /* weights of one feature, first then second layer */
} norma_align_cell;

/* Shapes, width, laws and searches of a cell. Local, equal on all ranks; *cell is to be cleared
 * whatever is returned. */
NORMA_MUST_USE norma_status norma_align_cell_init(const norma_config *config,
                                                  const norma_pair_inputs *inputs, int64_t number,
                                                  norma_align_cell *cell);

/* Draws or borrows weights and target of a replica; frees those of the one before. Local. */
NORMA_MUST_USE norma_status norma_align_cell_draw(norma_align_cell *cell, int64_t replica);

/* matrix[c1][n] = M of the current replica, column after column (norma_align_fill; context: the
 * cell). */
void norma_align_cell_fill(const void *context, double *matrix);

/* Bytes at the peak of a replica. Local. */
double norma_align_cell_bytes(const norma_align_cell *cell);

/* Operations of a replica's factorization. Local. */
double norma_align_cell_flops(const norma_align_cell *cell);

void norma_align_cell_clear(norma_align_cell *cell);

#endif
