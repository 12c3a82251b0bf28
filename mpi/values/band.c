#include "mpi/values/band.h"

#include "mpi/runtime/agree.h"
#include "mpi/values/reflector.h"
#include "src/base/mem_place.h"

#include <cblas.h>
#include <string.h>

typedef struct reduction {
    norma_dmat *a;         /* borrowed */
    MPI_Comm along_row;    /* the ranks of this process row, by column */
    MPI_Comm along_column; /* the ranks of this process column, by row */
    int64_t block;
    int64_t shift; /* of a block row against the block column of its step: 1 for a wide matrix */
    double *left;  /* [2 block][local rows], and block^2 numbers that travel with the second half */
    double *right; /* [2 block][local columns] */
    double *t_left;   /* [block][block] */
    double *t_right;  /* [block][block] */
    double *triangle; /* [block][block] */
    double *work;
} reduction;

/* One step: a block column and a block row, with the part of the matrix that they change. */
typedef struct step {
    int64_t index;           /* block column */
    int64_t row, column;     /* first global row, first global column to the right of the panel */
    int64_t n_left, n_right; /* reflectors of the block column, of the block row */
    int64_t height;          /* rows of the block row */
    int64_t at_row, n_rows;  /* local rows from `row` on */
    int64_t at_column, n_columns; /* local columns from `column` on */
    int owner_row;                /* process row of the block row */
} step;

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Local items of an axis before a global one. */
static int64_t count_before(const norma_layout *axis, int process, int64_t global)
{
    const norma_layout before = {global, axis->block, axis->n_processes};
    return norma_layout_count_local(&before, process);
}

static int lead(int64_t n)
{
    return n > 0 ? (int)n : 1;
}

/* c = alpha op(a) op(b) + beta c, column-major; an empty inner dimension leaves beta c. */
static void multiply(CBLAS_TRANSPOSE ta, CBLAS_TRANSPOSE tb, int64_t m, int64_t n, int64_t k,
                     double alpha, const double *a, int64_t lda, const double *b, int64_t ldb,
                     double beta, double *c, int64_t ldc)
{
    if (m > 0 && n > 0)
        cblas_dgemm(CblasColMajor, ta, tb, (int)m, (int)n, (int)k, alpha, a, lead(lda), b,
                    lead(ldb), beta, c, lead(ldc));
}

/* x[n][m] <- x T. */
static void multiply_triangle(int64_t m, int64_t n, const double *t, double *x)
{
    if (m > 0 && n > 0)
        cblas_dtrmm(CblasColMajor, CblasRight, CblasUpper, CblasNoTrans, CblasNonUnit, (int)m,
                    (int)n, 1, t, (int)n, x, (int)m);
}

static step locate(const reduction *w, int64_t index)
{
    const norma_dmat *a = w->a;
    step s = {
        .index = index, .row = (index + w->shift) * w->block, .column = (index + 1) * w->block};
    s.column = smaller(s.column, a->columns.n);
    s.n_left = index < 0 ? 0 : smaller(s.column - index * w->block, a->rows.n - s.row);
    s.height = smaller(w->block, a->rows.n - s.row);
    s.n_right = smaller(s.height, a->columns.n - s.column);
    s.at_row = count_before(&a->rows, a->grid->row, s.row);
    s.n_rows = a->n_local_rows - s.at_row;
    s.at_column = count_before(&a->columns, a->grid->column, s.column);
    s.n_columns = a->n_local_columns - s.at_column;
    s.owner_row = (int)((index + w->shift) % a->grid->shape.n_rows);
    return s;
}

/* Reflectors of the block column, on the ranks of its process column; V and T on all ranks. */
static void reflect_columns(const reduction *w, const step *s)
{
    norma_dmat *a = w->a;
    int owner = (int)(s->index % a->grid->shape.n_columns);
    int64_t width = smaller(w->block, a->columns.n - s->index * w->block);
    if (a->grid->column == owner) {
        int64_t at = norma_layout_index_local(&a->columns, s->index * w->block);
        double *panel = a->data + at * a->leading + s->at_row;
        const norma_reflector_panel p = {.comm = w->along_column,
                                         .has_top = a->grid->row == s->owner_row,
                                         .n_rows = s->n_rows,
                                         .width = width,
                                         .count = s->n_left,
                                         .v = w->left,
                                         .t = w->t_left,
                                         .r = w->triangle,
                                         .work = w->work};
        for (int64_t c = 0; c < width; c++)
            memcpy(w->left + c * s->n_rows, panel + c * a->leading,
                   (size_t)s->n_rows * sizeof *panel);
        norma_reflector_factor(&p);
        for (int64_t c = 0; p.has_top && c < width; c++)
            memcpy(panel + c * a->leading, w->triangle + c * width,
                   (size_t)smaller(c + 1, s->n_left) * sizeof *panel);
    }
    MPI_Bcast(w->left, (int)(s->n_rows * s->n_left), MPI_DOUBLE, owner, w->along_row);
    MPI_Bcast(w->t_left, (int)(s->n_left * s->n_left), MPI_DOUBLE, owner, w->along_row);
}

/* Reflectors of the block row, from its transpose brought up to date: in the second half of
 * `right`, with their triangle on all ranks. `first` is X T of the block column's reflectors. */
static void reflect_rows(const reduction *w, const step *s, const double *first, double *second)
{
    norma_dmat *a = w->a;
    if (a->grid->row == s->owner_row) {
        double *rows = a->data + s->at_column * a->leading + s->at_row;
        int owner_column = (int)((s->index + 1) % a->grid->shape.n_columns);
        const norma_reflector_panel p = {.comm = w->along_row,
                                         .has_top = a->grid->column == owner_column,
                                         .n_rows = s->n_columns,
                                         .width = s->height,
                                         .count = s->n_right,
                                         .v = second,
                                         .t = w->t_right,
                                         .r = w->triangle,
                                         .work = w->work};
        for (int64_t c = 0; c < s->n_columns; c++)
            for (int64_t r = 0; r < s->height; r++)
                second[r * s->n_columns + c] = rows[c * a->leading + r];
        multiply(CblasNoTrans, CblasTrans, s->n_columns, s->height, s->n_left, -1, first,
                 s->n_columns, w->left, s->n_rows, 1, second, s->n_columns);
        norma_reflector_factor(&p);
        for (int64_t r = 0; p.has_top && r < s->height; r++)
            for (int64_t c = 0; c <= r && c < s->n_right; c++)
                rows[c * a->leading + r] = w->triangle[r * s->height + c];
    }
    MPI_Bcast(second, (int)(s->n_columns * s->n_right), MPI_DOUBLE, s->owner_row, w->along_column);
    MPI_Bcast(w->t_right, (int)(s->n_right * s->n_right), MPI_DOUBLE, s->owner_row,
              w->along_column);
}

/* With V T V' and W S W' of the panels, X = A' V and Y = A W:
 *     (I - V T' V') A (I - W S W') = A - V (X T)' - (Y - V ((X T)' W)) S W'. */
static void take_step(const reduction *w, const step *s)
{
    const norma_dmat *a = w->a;
    double *rest = a->data + s->at_column * a->leading + s->at_row;
    double *second = w->right + s->n_columns * s->n_left;
    double *y = w->left + s->n_rows * s->n_left;
    double *z = y + s->n_rows * s->n_right; /* (X T)' W */
    if (s->n_left > 0)
        reflect_columns(w, s);
    if (s->n_right == 0)
        return;
    multiply(CblasTrans, CblasNoTrans, s->n_columns, s->n_left, s->n_rows, 1, rest, a->leading,
             w->left, s->n_rows, 0, w->right, s->n_columns);
    MPI_Allreduce(MPI_IN_PLACE, w->right, (int)(s->n_columns * s->n_left), MPI_DOUBLE, MPI_SUM,
                  w->along_column);
    multiply_triangle(s->n_columns, s->n_left, w->t_left, w->right);
    reflect_rows(w, s, w->right, second);
    memset(z, 0, (size_t)(s->n_left * s->n_right) * sizeof *z);
    multiply(CblasNoTrans, CblasNoTrans, s->n_rows, s->n_right, s->n_columns, 1, rest, a->leading,
             second, s->n_columns, 0, y, s->n_rows);
    multiply(CblasTrans, CblasNoTrans, s->n_left, s->n_right, s->n_columns, 1, w->right,
             s->n_columns, second, s->n_columns, 0, z, s->n_left);
    MPI_Allreduce(MPI_IN_PLACE, y, (int)((s->n_rows + s->n_left) * s->n_right), MPI_DOUBLE, MPI_SUM,
                  w->along_row);
    multiply(CblasNoTrans, CblasNoTrans, s->n_rows, s->n_right, s->n_left, -1, w->left, s->n_rows,
             z, s->n_left, 1, y, s->n_rows);
    multiply_triangle(s->n_rows, s->n_right, w->t_right, y);
    int64_t done = a->grid->row == s->owner_row ? s->height : 0; /* the block row itself */
    multiply(CblasNoTrans, CblasTrans, s->n_rows - done, s->n_columns, s->n_left + s->n_right, -1,
             w->left + done, s->n_rows, w->right, s->n_columns, 1, rest + done, a->leading);
}

/* The entries of the band that are here; all others zero. */
static void copy_band(const reduction *w, double *band)
{
    const norma_dmat *a = w->a;
    int64_t n = smaller(a->rows.n, a->columns.n);
    int64_t n_diagonals = w->block + 1;
    memset(band, 0, (size_t)(n * n_diagonals) * sizeof *band);
    for (int64_t c = 0; c < a->n_local_columns; c++) {
        int64_t column = norma_layout_global_local(&a->columns, a->grid->column, c);
        int64_t low = w->shift ? column : column - w->block;
        int64_t high = smaller(w->shift ? column + w->block : column, a->rows.n - 1);
        int64_t from = count_before(&a->rows, a->grid->row, low > 0 ? low : 0);
        for (int64_t r = from; r < a->n_local_rows; r++) {
            int64_t row = norma_layout_global_local(&a->rows, a->grid->row, r);
            if (row > high)
                break;
            int64_t later = w->shift ? row : column; /* column of the band */
            int64_t apart = w->shift ? row - column : column - row;
            band[later * n_diagonals + w->block - apart] = a->data[c * a->leading + r];
        }
    }
}

static void run(const reduction *w, double *band)
{
    const norma_dmat *a = w->a;
    for (int64_t k = -w->shift;; k++) {
        if (k * w->block >= a->columns.n || (k + w->shift) * w->block >= a->rows.n)
            break;
        step s = locate(w, k);
        take_step(w, &s);
    }
    int64_t n_numbers = smaller(a->rows.n, a->columns.n) * (w->block + 1);
    double *mine = w->left; /* large enough: see create_local */
    copy_band(w, mine);
    MPI_Reduce(mine, band, (int)n_numbers, MPI_DOUBLE, MPI_SUM, 0, a->grid->active);
}

static int64_t left_numbers(int64_t n_local_rows, int64_t smaller_extent, int64_t block)
{
    int64_t panels = 2 * block * n_local_rows + block * block;
    int64_t band = smaller_extent * (block + 1);
    return panels > band ? panels : band;
}

/* Measures or allocates, for a matrix of which the smaller extent is `least`: src/base/mem_place.h.
 */
static norma_status place(reduction *w, int64_t n_local_rows, int64_t n_local_columns,
                          int64_t least, double *bytes)
{
    const int64_t block = w->block;
    NORMA_TRY(NORMA_PLACE_UNSET(w->left, left_numbers(n_local_rows, least, block), 1, bytes));
    NORMA_TRY(NORMA_PLACE_UNSET(w->right, 2 * block, n_local_columns, bytes));
    NORMA_TRY(NORMA_PLACE_UNSET(w->t_left, block, block, bytes));
    NORMA_TRY(NORMA_PLACE_UNSET(w->t_right, block, block, bytes));
    NORMA_TRY(NORMA_PLACE_ROWS(w->triangle, block, block, bytes));
    return NORMA_PLACE_UNSET(w->work, norma_reflector_work_local(block), 1, bytes);
}

static norma_status create_local(norma_dmat *a, reduction *w)
{
    *w = (reduction){.a = a,
                     .along_row = MPI_COMM_NULL,
                     .along_column = MPI_COMM_NULL,
                     .block = a->rows.block,
                     .shift = a->rows.n < a->columns.n ? 1 : 0};
    return place(w, a->n_local_rows, a->n_local_columns, smaller(a->rows.n, a->columns.n), NULL);
}

static void destroy(reduction *w)
{
    if (w->along_row != MPI_COMM_NULL)
        MPI_Comm_free(&w->along_row);
    if (w->along_column != MPI_COMM_NULL)
        MPI_Comm_free(&w->along_column);
    NORMA_FREE(w->left);
    NORMA_FREE(w->right);
    NORMA_FREE(w->t_left);
    NORMA_FREE(w->t_right);
    NORMA_FREE(w->triangle);
    NORMA_FREE(w->work);
}

norma_status norma_band_reduce(norma_dmat *matrix, double *band)
{
    const norma_grid *grid = matrix->grid;
    reduction w = {0};
    norma_status status = norma_agree(grid->comm, create_local(matrix, &w));
    if (status == NORMA_OK && grid->row >= 0) {
        MPI_Comm_split(grid->active, grid->row, grid->column, &w.along_row);
        MPI_Comm_split(grid->active, grid->column, grid->row, &w.along_column);
        run(&w, band);
    }
    destroy(&w);
    return status;
}

double norma_band_bytes_local(int64_t n_rows, int64_t n_columns, int64_t block,
                              norma_grid_shape grid)
{
    const norma_layout rows = {n_rows, block, grid.n_rows};
    const norma_layout columns = {n_columns, block, grid.n_columns};
    reduction w = {.block = block};
    double bytes = 0;
    (void)place(&w, norma_layout_count_local(&rows, 0), norma_layout_count_local(&columns, 0),
                smaller(n_rows, n_columns), &bytes);
    return bytes;
}
