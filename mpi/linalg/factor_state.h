#ifndef NORMA_MPI_LINALG_FACTOR_STATE_H
#define NORMA_MPI_LINALG_FACTOR_STATE_H
/*
 * The types that the files of mpi/linalg/factor share. Arrays of the matrix's own type are void *
 * here; the code that looks inside is mpi/linalg/factor_body.h, compiled once for each type.
 */
#include "mpi/linalg/factor.h"
#include "mpi/linalg/ring.h"

struct norma_factor {
    norma_dmat *matrix; /* borrowed */
    MPI_Comm along_row; /* the ranks of this process row, by column; MPI_COMM_NULL on idle ranks */
    MPI_Comm along_column; /* the ranks of this process column, by row; likewise */
    int64_t n, block, n_blocks;
    int *pivots;    /* [n] */
    double *sums;   /* [local columns + 2 block]: of a solve */
    double *pieces; /* [threads][block]: of a solve */
};

/* One block column on its way through the factorization. */
typedef struct norma_factor_panel {
    int64_t first;   /* its first column, and the row of its first pivot */
    int64_t width;   /* columns */
    int64_t row;     /* first local row that is not above it */
    int64_t n_rows;  /* local rows from there on: the leading dimension of data */
    bool has_top;    /* whether they begin with the diagonal block */
    int64_t n_bytes; /* of the message */
    int *pivots; /* [width + 1] in the message: rows, then the first bad one of the panel or -1 */
    void *data;  /* [width][n_rows] behind them */
    norma_ring *ring;
} norma_factor_panel;

/* A row that a process row offers as the next pivot, with the row that it would replace; the rows
 * follow in memory, [width] numbers each. */
typedef struct norma_factor_candidate {
    double size;     /* of the pivot; infinite where it is not finite, -1 where there is none */
    int64_t row;     /* global */
    int64_t n_bytes; /* of a row that follows */
    int64_t has_top; /* whether the second row is here */
} norma_factor_candidate;

/* Panels alive at a time: the one in use, the next, and the one before, which other ranks may still
 * be multiplying with while the next is factored. */
#define NORMA_FACTOR_PANELS 3

/* Workspace of the factorization only. */
typedef struct norma_factor_work {
    norma_factor *factor; /* borrowed */
    norma_factor_panel panels[NORMA_FACTOR_PANELS];
    void *top;                           /* [block][block]: pivot rows of a panel, in order */
    void *upper;                         /* [slice][block]: of U, below a process row */
    int64_t slice;                       /* columns updated between two looks at the ring */
    norma_factor_candidate *mine, *best; /* bytes for two rows behind each */
    MPI_Datatype candidate;              /* of them; committed */
    MPI_Op choose;                       /* the better of two */
    int64_t *source;                     /* [n]: which row comes here; the identity between */
    int64_t *to, *from;                  /* [n]: the rows that move, global */
    int64_t *leaving, *coming;           /* [n]: local rows that move, by process row */
    int *n_leaving, *n_coming;           /* [process rows]: of them */
    int *counts_out, *at_out;            /* [process rows]: of numbers in a message */
    int *counts_in, *at_in;              /* [process rows] */
    int64_t n_moves;                     /* of all process rows */
    void *outgoing, *incoming;           /* [capacity] */
    int64_t capacity;                    /* numbers */
    int64_t first_bad;                   /* column, or -1 */
} norma_factor_work;

/* Sizes of messages. Columns updated between two looks at the ring; numbers that a message of rows
 * may have; bytes of a panel of n_rows local rows, its pivots included; bytes of a candidate, where
 * the widest panel has `widest` columns. item: bytes of an entry. Local, pure. */
int64_t norma_factor_slice_local(int64_t block);
int64_t norma_factor_capacity_local(int64_t n, int64_t block);
int64_t norma_factor_panel_bytes_local(int64_t width, int64_t n_rows, size_t item);
int64_t norma_factor_candidate_bytes_local(int64_t widest, size_t item);

/* Lists the rows that pivots first .. last - 1 move, for exchanges until the next call. Local. */
void norma_factor_list_moves(norma_factor_work *work, int64_t first, int64_t last);

/* Places panel `index` (its sizes and its parts of the message). Local. */
void norma_factor_place_panel(const norma_factor_work *work, int64_t index, size_t item,
                              norma_factor_panel *panel);

/* The factorization proper. Collective over the grid's active ranks. */
void norma_factor_run_double(norma_factor_work *work);
void norma_factor_run_single(norma_factor_work *work);

/* All of it on one rank by LAPACK: pivots and work->first_bad. */
void norma_factor_serial_double(norma_factor_work *work);
void norma_factor_serial_single(norma_factor_work *work);

/* A rectangle of local rows row .. row + n_rows - 1 and columns first .. last - 1 of the factors:
 * y[n_rows] += rectangle times x[last - first], or, its transpose, x += transpose times y. pieces
 * [threads][n_rows]. Local. */
void norma_factor_multiply_double(const norma_dmat *matrix, int64_t row, int64_t n_rows,
                                  int64_t first, int64_t last, const double *x, double *pieces,
                                  double *y);
void norma_factor_multiply_single(const norma_dmat *matrix, int64_t row, int64_t n_rows,
                                  int64_t first, int64_t last, const double *x, double *pieces,
                                  double *y);
void norma_factor_multiply_transpose_double(const norma_dmat *matrix, int64_t row, int64_t n_rows,
                                            int64_t first, int64_t last, const double *y,
                                            double *x);
void norma_factor_multiply_transpose_single(const norma_dmat *matrix, int64_t row, int64_t n_rows,
                                            int64_t first, int64_t last, const double *y,
                                            double *x);

/* x[n] <- T^-1 x or T^-T x, T the unit lower or the upper triangle of the n x n diagonal block at
 * a local row and column. Local. */
void norma_factor_triangle_double(const norma_dmat *matrix, int64_t row, int64_t column, int64_t n,
                                  bool lower, bool transpose, double *x);
void norma_factor_triangle_single(const norma_dmat *matrix, int64_t row, int64_t column, int64_t n,
                                  bool lower, bool transpose, double *x);

#endif
