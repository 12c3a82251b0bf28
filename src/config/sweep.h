#ifndef NORMA_CONFIG_SWEEP_H
#define NORMA_CONFIG_SWEEP_H
/* A sweep: the Cartesian product of the options that have several values. Cells are numbered
 * row-major, the last axis fastest. Nothing here communicates. */
#include "src/base/status.h"

#include <stdint.h>

/* Room for the name of a dimension. */
#define NORMA_SWEEP_NAME 64

/* Most cells of a run, and most values of an option. */
#define NORMA_SWEEP_MOST_CELLS 1000000

typedef struct norma_sweep_axis {
    const char *name;                 /* of the option; borrowed */
    int64_t n;                        /* values, at least 2 */
    int64_t stride;                   /* cells from one value to the next */
    char dimension[NORMA_SWEEP_NAME]; /* the name with '_' for '-' */
} norma_sweep_axis;

typedef struct norma_sweep {
    int64_t n_axes;         /* 0: a single cell */
    int64_t n_cells;        /* product of the axes' n */
    norma_sweep_axis *axes; /* in table order = leading dimensions of the output; owned */
} norma_sweep;

/* A single cell. */
void norma_sweep_init(norma_sweep *sweep);

/* Adds an axis behind the others; n = 1 adds none. NORMA_LIMIT, sweep unchanged, when there would
 * be more than NORMA_SWEEP_MOST_CELLS cells. */
NORMA_MUST_USE norma_status norma_sweep_add_axis(norma_sweep *sweep, const char *name, int64_t n);

/* indices[n_axes]: where `cell` lies on each axis. */
void norma_sweep_get_indices(const norma_sweep *sweep, int64_t cell, int64_t *indices);

/* The cell at indices[n_axes]. */
int64_t norma_sweep_get_cell(const norma_sweep *sweep, const int64_t *indices);

/* Frees the axes; a single cell again. */
void norma_sweep_clear(norma_sweep *sweep);

#endif
