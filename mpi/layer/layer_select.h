#ifndef NORMA_MPI_LAYER_LAYER_SELECT_H
#define NORMA_MPI_LAYER_LAYER_SELECT_H
/*
 * Which features a square system takes. The leading ones, but for those whose column of KR is zero
 * (a mask or a file left one of their layers without weights): they would make it singular.
 */
#include "mpi/layer/layer_solve.h"

typedef struct norma_layer_selection {
    norma_layer_problem problem; /* with the features that take part, n_used of them */
    norma_tensor *w1, *w2;       /* owned; NULL: the leading features */
    int64_t *features;           /* [n_used], increasing; owned; NULL likewise */
    int64_t n_used;
} norma_layer_selection;

/* Chooses n_used <= problem->n_features features. Collective over comm; problem must be equal on
 * all ranks and outlive the selection, which is to be cleared whatever is returned. NORMA_NUMERIC
 * when fewer than n_used features are not zero. */
NORMA_MUST_USE norma_status norma_layer_select(MPI_Comm comm, const norma_layer_problem *problem,
                                               int64_t n_used, norma_layer_selection *selection);

/* gamma[problem->n_features], whose first n_used entries belong to the selected features: puts them
 * in their places, 0 elsewhere. Local. */
void norma_layer_select_scatter_local(const norma_layer_selection *selection, int64_t n_features,
                                      double *gamma);

void norma_layer_selection_clear_local(norma_layer_selection *selection);

#endif
