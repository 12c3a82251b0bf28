#ifndef NORMA_MPI_VALUES_REFLECTOR_H
#define NORMA_MPI_VALUES_REFLECTOR_H
/*
 * Blocks of Householder reflectors of a tall panel whose rows are distributed over ranks.
 *
 *     Q' P = [R; 0],   Q = I - V T V',   V unit lower trapezoidal, T upper triangular
 *
 * The pivot rows of a panel are the first rows of one rank. Columns are taken sixteen at a time:
 * one sum over ranks a column, and matrix products for all columns further right.
 */
#include <mpi.h>
#include <stdbool.h>
#include <stdint.h>

typedef struct norma_reflector_panel {
    MPI_Comm comm;  /* of the ranks that share the rows; borrowed */
    bool has_top;   /* whether the pivot rows are the first ones here */
    int64_t n_rows; /* here; at least `count` where has_top */
    int64_t width;  /* columns */
    int64_t count;  /* reflectors: the fewer of columns and rows over all ranks */
    double *v;      /* [width][n_rows], columns one after the other: the panel, then V in `count` */
    double *t;      /* [count][count], column-major, on all ranks: T */
    double *r;      /* [width][width], column-major: R, where has_top */
    double *work;   /* norma_reflector_work_local numbers */
} norma_reflector_panel;

/* Numbers of workspace for a panel of `width` columns. Local, pure. */
int64_t norma_reflector_work_local(int64_t width);

/* Factors the panel in place. Collective over panel->comm. Arrays are borrowed. Squares of the
 * entries, summed, must stay within the range of doubles. */
void norma_reflector_factor(const norma_reflector_panel *panel);

#endif
