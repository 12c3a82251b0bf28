#ifndef NORMA_EXPERIMENTS_MEANFIELD_RECORD_H
#define NORMA_EXPERIMENTS_MEANFIELD_RECORD_H
/* One cell of norma meanfield: what is asked, and its values. */
#include "experiments/meanfield/variables.h"
#include "src/theory/gram_fluctuation.h"
#include "src/theory/kernel_dynamics.h"

typedef struct norma_meanfield_request {
    norma_transfer activation;
    bool batched;                 /* bn or bn-centered: the Gram matrix of a batch */
    bool centered;                /* bn-centered */
    norma_kernel_variant variant; /* where not batched */
    double rho0;
    int64_t batch, width;
    norma_meanfield_sizes sizes;
} norma_meanfield_request;

/* Values of all variables of a cell, NaN where it has none. */
typedef struct norma_meanfield_record {
    double *values;                                /* owned */
    double *variable[NORMA_N_MEANFIELD_VARIABLES]; /* within values */
    int64_t n_values;
} norma_meanfield_record;

/* Makes room for cells of these sizes. */
NORMA_MUST_USE norma_status norma_meanfield_record_create(const norma_meanfield_sizes *sizes,
                                                          norma_meanfield_record *out);
void norma_meanfield_record_destroy(norma_meanfield_record *record);

/* Computes a cell. */
NORMA_MUST_USE norma_status norma_meanfield_record_compute(const norma_meanfield_request *request,
                                                           norma_meanfield_record *record);

/* The rho of a point of the grid. */
double norma_meanfield_grid_point(int64_t n_grid, int64_t i);

#endif
