#include "mpi/construct/deep_ranks.h"

#include "mpi/linalg/factor.h"
#include "mpi/linalg/replicated.h"
#include "mpi/runtime/agree.h"
#include "mpi/values/singular.h"
#include "src/base/index.h"
#include "src/base/mem_place.h"
#include "src/construct/deep_products.h"

#include <float.h>
#include <math.h>
#include <string.h>

enum { BLOCK = 64, MOST_ITERATIONS = 60 };

/* Iterations of a step end at this part of its size. */
static const double accurate = 1e-8;

typedef struct ranks {
    norma_deep *d;
    MPI_Comm comm; /* borrowed */
    int64_t n, unknowns;
    /* Made at the first step, gone before singular values are computed. */
    norma_grid *grid;
    norma_dmat *gram;        /* J'J, then its factors */
    int64_t *rows, *columns; /* of J'J here */
    norma_deep_block *block;
    norma_factor *factor;                        /* of the last step */
    double *vectors;                             /* owned: */
    double *error, *product, *room;              /*   [n] */
    double *gradient, *direction, *solution, *x; /*   [unknowns] */
} ranks;

static int count_ranks(MPI_Comm comm)
{
    int n = 0;
    MPI_Comm_size(comm, &n);
    return n;
}

static norma_grid_shape gram_grid(int64_t unknowns, int n_ranks)
{
    int64_t n_blocks = norma_index_ceil_divide(unknowns, BLOCK);
    return norma_grid_choose_local(n_ranks, n_blocks, n_blocks);
}

/* Measures or allocates: src/base/mem_place.h. */
static norma_status place_lists(int64_t n_rows, int64_t n_columns, int64_t **rows,
                                int64_t **columns, double *bytes)
{
    NORMA_TRY(NORMA_PLACE(*rows, n_rows, bytes));
    return NORMA_PLACE(*columns, n_columns, bytes);
}

/* The global rows and columns of a matrix that this rank holds; owned by the caller. */
static norma_status list_local(const norma_dmat *a, int64_t **rows, int64_t **columns)
{
    NORMA_TRY(place_lists(a->n_local_rows, a->n_local_columns, rows, columns, NULL));
    for (int64_t i = 0; i < a->n_local_rows; i++)
        (*rows)[i] = norma_layout_global_local(&a->rows, a->grid->row, i);
    for (int64_t j = 0; j < a->n_local_columns; j++)
        (*columns)[j] = norma_layout_global_local(&a->columns, a->grid->column, j);
    return NORMA_OK;
}

static void drop_gram(ranks *r)
{
    norma_factor_destroy(&r->factor);
    norma_deep_block_destroy(&r->block);
    norma_dmat_destroy_local(&r->gram);
    norma_grid_destroy(&r->grid);
    NORMA_FREE(r->rows);
    NORMA_FREE(r->columns);
}

/* Collective. */
static norma_status make_gram(ranks *r)
{
    if (r->gram)
        return NORMA_OK;
    NORMA_TRY(norma_grid_create(r->comm, gram_grid(r->unknowns, count_ranks(r->comm)), &r->grid));
    NORMA_TRY(norma_dmat_create(r->grid, r->unknowns, BLOCK, &r->gram));
    norma_status status = list_local(r->gram, &r->rows, &r->columns);
    if (status == NORMA_OK)
        status = norma_deep_block_create(r->d, r->gram->n_local_rows, r->rows,
                                         r->gram->n_local_columns, r->columns, &r->block);
    return norma_agree(r->comm, status);
}

/* --- least squares ---------------------------------------------------------------------------- */

/* Unknowns `first` to `end` alone, and a damping. */
typedef struct part {
    int64_t first, end;
    double damping;
} part;

/* J'J of the part with damping and ridge; the identity outside of it. The ridge is the same for all
 * unknowns, or answers would not have minimum norm. Local. */
static void assemble(ranks *r, const part *p)
{
    norma_dmat *a = r->gram;
    double largest = 0;
    norma_deep_column_squares(r->d, r->solution);
    for (int64_t c = p->first; c < p->end; c++)
        largest = fmax(largest, r->solution[c]);
    double ridge = DBL_EPSILON * (double)r->unknowns * largest + p->damping * p->damping;
    norma_deep_block_fill(r->block, a->leading, a->data);
    for (int64_t j = 0; j < a->n_local_columns; j++) {
        int64_t c = r->columns[j];
        bool inside = c >= p->first && c < p->end;
        double *column = a->data + j * a->leading;
        for (int64_t i = 0; i < a->n_local_rows; i++) {
            if (!inside || r->rows[i] < p->first || r->rows[i] >= p->end)
                column[i] = r->rows[i] == c;
            else if (r->rows[i] == c)
                column[i] += ridge;
        }
    }
}

/* gradient = J' error - damping^2 x in the part, equal on all ranks, and the solution with the
 * factors; returns their product. Collective. */
static double find_gradient(ranks *r, const part *p)
{
    norma_deep_apply_transposed(r->d, r->error, r->gradient, r->room);
    norma_replicated_add_local(-p->damping * p->damping, r->x, r->gradient, r->unknowns);
    memset(r->gradient, 0, (size_t)p->first * sizeof *r->gradient);
    memset(r->gradient + p->end, 0, (size_t)(r->unknowns - p->end) * sizeof *r->gradient);
    MPI_Bcast(r->gradient, (int)r->unknowns, MPI_DOUBLE, 0, r->comm);
    memcpy(r->solution, r->gradient, (size_t)r->unknowns * sizeof *r->solution);
    norma_factor_solve(r->factor, false, r->solution);
    return norma_replicated_dot_local(r->gradient, r->solution, r->unknowns);
}

/* x and what it leaves of the error; the factors precondition. Collective. */
static void iterate(ranks *r, const part *p, const double *target)
{
    int64_t n = r->unknowns;
    memcpy(r->error, target, (size_t)r->n * sizeof *r->error);
    memset(r->x, 0, (size_t)n * sizeof *r->x);
    double size = find_gradient(r, p);
    double least = accurate * accurate * size;
    memcpy(r->direction, r->solution, (size_t)n * sizeof *r->direction);
    for (int k = 0; k < MOST_ITERATIONS && size > least; k++) {
        norma_deep_apply(r->d, r->direction, r->product, r->room);
        MPI_Bcast(r->product, (int)r->n, MPI_DOUBLE, 0, r->comm);
        double square =
            norma_replicated_dot_local(r->product, r->product, r->n) +
            p->damping * p->damping * norma_replicated_dot_local(r->direction, r->direction, n);
        if (!(square > 0))
            break;
        norma_replicated_add_local(size / square, r->direction, r->x, n);
        norma_replicated_add_local(-size / square, r->product, r->error, r->n);
        double before = size;
        size = find_gradient(r, p);
        norma_replicated_scale_local(size / before, r->direction, n);
        norma_replicated_add_local(1, r->solution, r->direction, n);
    }
}

/* Minimum over the part of |target - J x|^2 + damping^2 |x|^2. Collective. */
static norma_status solve(ranks *r, const part *p, const double *target)
{
    int64_t bad = -1;
    NORMA_TRY(make_gram(r));
    norma_factor_destroy(&r->factor);
    if (r->grid->row >= 0)
        assemble(r, p);
    NORMA_TRY(norma_factor_create(r->gram, &bad, &r->factor));
    if (bad >= 0)
        return NORMA_FAIL(NORMA_NUMERIC, "the Jacobian's entries are not finite");
    iterate(r, p, target);
    return NORMA_OK;
}

static void share(void *context, int64_t n, double *values)
{
    const ranks *r = context;
    MPI_Bcast(values, (int)n, MPI_DOUBLE, 0, r->comm);
}

/* The answer of the last solution, and the square of its error. Collective. */
static void take_answer(ranks *r, double *step, double *left)
{
    memcpy(step, r->x, (size_t)r->unknowns * sizeof *step);
    *left = norma_replicated_dot_local(r->error, r->error, r->n);
    share(r, 1, left);
}

static norma_status find_step(void *context, double damping, const double *residual, double *step,
                              double *left)
{
    ranks *r = context;
    const part all = {.first = 0, .end = r->unknowns, .damping = damping};
    NORMA_TRY(solve(r, &all, residual));
    take_answer(r, step, left);
    return NORMA_OK;
}

static norma_status find_again(void *context, double damping, const double *residual, double *step,
                               double *left)
{
    ranks *r = context;
    const part all = {.first = 0, .end = r->unknowns, .damping = damping};
    iterate(r, &all, residual);
    take_answer(r, step, left);
    return NORMA_OK;
}

static norma_status solve_layer(void *context, int64_t layer, const double *target, double *gamma,
                                bool *solved)
{
    ranks *r = context;
    part p = {0, 0, 0};
    *solved = false; /* where all columns are zero */
    for (int64_t l = 1; l < layer; l++)
        p.first += r->d->shape.width[l];
    p.end = p.first + r->d->shape.width[layer];
    norma_deep_column_squares(r->d, r->solution);
    for (int64_t c = p.first; c < p.end; c++)
        *solved = *solved || r->solution[c] > 0;
    if (!*solved)
        return NORMA_OK;
    NORMA_TRY(solve(r, &p, target));
    memcpy(gamma, r->x + p.first, (size_t)(p.end - p.first) * sizeof *gamma);
    return NORMA_OK;
}

static norma_status find_floor(void *context, double *floor)
{
    ranks *r = context;
    const norma_deep *d = r->d;
    double sum = 0;
    int64_t n = r->unknowns - d->shape.width[d->shape.n_layers];
    norma_deep_column_squares(d, r->solution);
    for (int64_t k = 0; k < n; k++)
        sum += r->solution[k] * d->gamma[1][k] * d->gamma[1][k];
    *floor = norma_deep_floor(d, sum);
    share(r, 1, floor);
    return NORMA_OK;
}

/* --- singular values -------------------------------------------------------------------------- */

/* Those of J, sigma[smaller extent]. Collective. */
static norma_status find_values(ranks *r, double *sigma)
{
    norma_grid *grid = NULL;
    norma_dmat *a = NULL;
    int64_t *rows = NULL;
    int64_t *columns = NULL;
    int n_ranks = count_ranks(r->comm);
    norma_status status = NORMA_OK;
    drop_gram(r);
    NORMA_GOTO(status, norma_grid_create(r->comm,
                                         norma_singular_grid_local(NORMA_SINGULAR_AUTO, r->n,
                                                                   r->unknowns, n_ranks),
                                         &grid));
    NORMA_GOTO(status, norma_dmat_create_rectangle(
                           grid, r->n, r->unknowns,
                           norma_singular_block_local(NORMA_SINGULAR_AUTO, r->n, r->unknowns), &a));
    NORMA_GOTO(status, norma_agree(r->comm, list_local(a, &rows, &columns)));
    norma_deep_jacobian_block(r->d, a->n_local_rows, rows, a->n_local_columns, columns, a->leading,
                              a->data);
    status = norma_singular_compute(NORMA_SINGULAR_AUTO, a, sigma);
done:
    NORMA_FREE(rows);
    NORMA_FREE(columns);
    norma_dmat_destroy_local(&a);
    norma_grid_destroy(&grid);
    return status;
}

static norma_status place_values(int64_t n, int64_t unknowns, double **sigma, double *bytes)
{
    return NORMA_PLACE(*sigma, n < unknowns ? n : unknowns, bytes);
}

/* Both at once: *rank counts values above rounding; the condition is +inf where the last is 0. */
static norma_status measure(ranks *r, int64_t *rank, double *condition)
{
    double *sigma = NULL;
    int64_t n = r->n < r->unknowns ? r->n : r->unknowns;
    norma_status status = norma_agree(r->comm, place_values(r->n, r->unknowns, &sigma, NULL));
    if (status == NORMA_OK)
        status = find_values(r, sigma);
    if (status == NORMA_OK) {
        double smallest = sigma[0] * 8 * DBL_EPSILON * (double)r->unknowns;
        for (*rank = 0; *rank < n && sigma[*rank] > smallest; (*rank)++)
            ;
        *condition = sigma[n - 1] > 0 ? sigma[0] / sigma[n - 1] : INFINITY;
    }
    NORMA_FREE(sigma);
    return status;
}

static norma_status find_rank(void *context, int64_t *rank)
{
    double ignored = 0;
    return measure(context, rank, &ignored);
}

static norma_status find_condition(void *context, double *condition)
{
    int64_t ignored = 0;
    return measure(context, &ignored, condition);
}

/* --- the engine ------------------------------------------------------------------------------- */

static norma_status agree(void *context, norma_status status)
{
    const ranks *r = context;
    return norma_agree(r->comm, status);
}

static norma_status place_vectors(ranks *r, double *bytes)
{
    return NORMA_PLACE(r->vectors, 3 * r->n + 4 * r->unknowns, bytes);
}

static norma_status create_local(MPI_Comm comm, norma_deep *d, ranks **out)
{
    ranks *r = NULL;
    NORMA_TRY(NORMA_CALLOC(r, 1));
    *out = r;
    *r = (ranks){.d = d, .comm = comm, .n = d->n_equations, .unknowns = d->n_unknowns};
    NORMA_TRY(place_vectors(r, NULL));
    r->error = r->vectors;
    r->product = r->error + r->n;
    r->room = r->product + r->n;
    r->gradient = r->room + r->n;
    r->direction = r->gradient + r->unknowns;
    r->solution = r->direction + r->unknowns;
    r->x = r->solution + r->unknowns;
    return norma_deep_ranks_check_local(&d->shape, count_ranks(comm));
}

norma_status norma_deep_ranks_create(MPI_Comm comm, norma_deep *d, norma_deep_engine *engine)
{
    ranks *r = NULL;
    *engine = (norma_deep_engine){.find_rank = find_rank,
                                  .solve_layer = solve_layer,
                                  .find_step = find_step,
                                  .find_again = find_again,
                                  .find_floor = find_floor,
                                  .find_condition = find_condition,
                                  .share = share,
                                  .agree = agree};
    norma_status status = norma_agree(comm, create_local(comm, d, &r));
    engine->context = r;
    return status;
}

void norma_deep_ranks_destroy(norma_deep_engine *engine)
{
    ranks *r = engine->context;
    if (!r)
        return;
    drop_gram(r);
    NORMA_FREE(r->vectors);
    NORMA_FREE(engine->context);
}

/* --- sizes ------------------------------------------------------------------------------------ */

norma_status norma_deep_ranks_check_local(const norma_deep_shape *s, int n_ranks)
{
    int64_t n = norma_deep_equations(s);
    int64_t unknowns = norma_deep_unknowns(s);
    NORMA_TRY(norma_dmat_check_local(unknowns, BLOCK, gram_grid(unknowns, n_ranks)));
    return norma_singular_check_local(NORMA_SINGULAR_AUTO, n, unknowns, n_ranks);
}

/* Rows and columns of a matrix on the rank that holds most, at *rows and *columns, and the bytes of
 * their lists and of the objects around. */
static double count_local(int64_t n_rows, int64_t n_columns, int64_t block, norma_grid_shape grid,
                          int64_t *rows, int64_t *columns)
{
    double bytes = (double)(sizeof(norma_grid) + sizeof(norma_dmat));
    int64_t *lists[2] = {NULL, NULL};
    *rows = norma_dmat_largest_share_local(n_rows, 1, block, (norma_grid_shape){grid.n_rows, 1});
    *columns =
        norma_dmat_largest_share_local(1, n_columns, block, (norma_grid_shape){1, grid.n_columns});
    (void)place_lists(*rows, *columns, &lists[0], &lists[1], &bytes);
    return bytes;
}

static double step_bytes(const norma_deep_shape *s, int64_t unknowns, int n_ranks)
{
    const norma_grid_shape grid = gram_grid(unknowns, n_ranks);
    int64_t rows = 0;
    int64_t columns = 0;
    double bytes = count_local(unknowns, unknowns, BLOCK, grid, &rows, &columns);
    return bytes + 8 * (double)norma_dmat_largest_local(unknowns, BLOCK, grid) +
           norma_factor_bytes_local(unknowns, BLOCK, grid, false) +
           norma_deep_block_bytes(s, rows, columns);
}

static double values_bytes(int64_t n, int64_t unknowns, int n_ranks, int n_threads)
{
    const norma_grid_shape grid =
        norma_singular_grid_local(NORMA_SINGULAR_AUTO, n, unknowns, n_ranks);
    int64_t block = norma_singular_block_local(NORMA_SINGULAR_AUTO, n, unknowns);
    int64_t ignored[2] = {0, 0};
    double bytes = count_local(n, unknowns, block, grid, &ignored[0], &ignored[1]);
    double *sigma = NULL;
    (void)place_values(n, unknowns, &sigma, &bytes);
    return bytes + norma_singular_bytes_local(NORMA_SINGULAR_AUTO, n, unknowns, grid, n_threads);
}

double norma_deep_ranks_bytes_local(const norma_deep_shape *s, int n_ranks, int n_threads)
{
    ranks r = {.n = norma_deep_equations(s), .unknowns = norma_deep_unknowns(s)};
    double bytes = norma_deep_source_bytes(s) + norma_deep_search_bytes(s, true) + (double)sizeof r;
    (void)place_vectors(&r, &bytes);
    return bytes + fmax(step_bytes(s, r.unknowns, n_ranks),
                        values_bytes(r.n, r.unknowns, n_ranks, n_threads));
}

double norma_deep_ranks_step_flops_local(const norma_deep_shape *s)
{
    double unknowns = (double)norma_deep_unknowns(s);
    double lines = (double)(s->width[0] + s->width[s->n_layers]);
    return 2 * unknowns * unknowns * (unknowns / 3 + lines);
}

double norma_deep_ranks_values_flops_local(const norma_deep_shape *s)
{
    return 2 * norma_singular_flops_local(norma_deep_equations(s), norma_deep_unknowns(s));
}
