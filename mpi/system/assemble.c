#include "mpi/system/assemble.h"

#include "mpi/runtime/agree.h"
#include "src/base/mem_place.h"

#include <omp.h>

/* Features whose weights a thread holds at a time. */
#define CHUNK 16

/* Weights of a chunk, and a piece of a column where the matrix is of single precision. */
static int64_t numbers_of_thread(const norma_khatri_rao_shape *shape, int64_t block, bool single)
{
    return CHUNK * (norma_khatri_rao_width_first(shape) + norma_khatri_rao_width_second(shape)) +
           (single ? block : 0);
}

/* Measures or allocates: src/base/mem_place.h. */
static norma_status place(double **numbers, int64_t of_thread, int n_threads, double *bytes)
{
    return NORMA_PLACE_UNSET(*numbers, n_threads, of_thread, bytes);
}

double norma_assemble_bytes_local(const norma_khatri_rao_shape *shape, int64_t block, bool single,
                                  int n_threads)
{
    double *numbers = NULL;
    double bytes = 0;
    (void)place(&numbers, numbers_of_thread(shape, block, single), n_threads, &bytes);
    return bytes;
}

/* Everything that columns are made from; scales are NULL in double precision. */
typedef struct source {
    const norma_width_rule *rule;
    const norma_tensor *w1, *w2;
    const double *row_scale, *column_scale;
    int64_t n_numbers; /* of a thread */
} source;

/* One column: all local rows, block by block. J is its global index, `piece` [block] is for single
 * precision. */
static void fill_column(const source *s, const double *second, const double *first,
                        const norma_dmat *matrix, int64_t column, int64_t J, double *piece)
{
    int process = matrix->grid->row;
    int64_t at = column * matrix->leading;
    int64_t run = 0;
    for (int64_t row = 0; row < matrix->n_local_rows; row += run) {
        int64_t start = norma_layout_global_local(&matrix->rows, process, row);
        run = norma_layout_run_local(&matrix->rows, process, row);
        norma_width_rule_fill(s->rule, second, first, start, run,
                              matrix->single ? piece : matrix->data + at + row);
        for (int64_t r = 0; matrix->single && r < run; r++)
            matrix->single[at + row + r] =
                (float)(piece[r] * s->column_scale[J] * s->row_scale[start + r]);
    }
}

/* Local columns first .. first + count - 1, which are neighbours globally. */
static void fill_columns(const source *s, const norma_dmat *matrix, int64_t column, int64_t count,
                         double *numbers)
{
    int64_t n_first = norma_khatri_rao_width_first(&s->rule->shape);
    int64_t n_second = norma_khatri_rao_width_second(&s->rule->shape);
    double *first = numbers;
    double *second = first + CHUNK * n_first;
    double *piece = second + CHUNK * n_second;
    int64_t J = norma_layout_global_local(&matrix->columns, matrix->grid->column, column);
    norma_tensor_fill(s->w1, J, count, first);
    norma_tensor_fill(s->w2, J, count, second);
    for (int64_t t = 0; t < count; t++)
        fill_column(s, second + t * n_second, first + t * n_first, matrix, column + t, J + t,
                    piece);
}

static norma_status assemble(source *s, norma_dmat *matrix)
{
    double *numbers = NULL;
    s->n_numbers = numbers_of_thread(&s->rule->shape, matrix->rows.block, matrix->single != NULL);
    norma_status status = place(&numbers, s->n_numbers, omp_get_max_threads(), NULL);
    NORMA_GOTO(status, norma_agree(matrix->grid->comm, status));
    if (matrix->n_local_rows == 0)
        goto done;
    int64_t block = matrix->columns.block;
    int64_t n_chunks_block = (block + CHUNK - 1) / CHUNK;
    int64_t n_blocks = (matrix->n_local_columns + block - 1) / block;
#pragma omp parallel for schedule(dynamic)
    for (int64_t c = 0; c < n_blocks * n_chunks_block; c++) {
        int64_t column = c / n_chunks_block * block + c % n_chunks_block * CHUNK;
        if (column >= matrix->n_local_columns)
            continue;
        int64_t count = norma_layout_run_local(&matrix->columns, matrix->grid->column, column);
        fill_columns(s, matrix, column, count < CHUNK ? count : CHUNK,
                     numbers + s->n_numbers * omp_get_thread_num());
    }
done:
    NORMA_FREE(numbers);
    return status;
}

norma_status norma_assemble_system(const norma_width_rule *rule, const norma_tensor *w1,
                                   const norma_tensor *w2, norma_dmat *matrix)
{
    source s = {.rule = rule, .w1 = w1, .w2 = w2};
    return assemble(&s, matrix);
}

norma_status norma_assemble_system_single(const norma_width_rule *rule, const norma_tensor *w1,
                                          const norma_tensor *w2, const double *row_scale,
                                          const double *column_scale, norma_dmat *matrix)
{
    source s = {
        .rule = rule, .w1 = w1, .w2 = w2, .row_scale = row_scale, .column_scale = column_scale};
    return assemble(&s, matrix);
}
