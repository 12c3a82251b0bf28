#include "mpi/krylov/quadrature.h"

#include "mpi/linalg/scalapack.h"
#include "mpi/runtime/agree.h"
#include "src/base/mem_place.h"

#include <cblas.h>
#include <float.h>
#include <limits.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

/* The orthonormal vectors of one of both spaces, of which a rank keeps its part. */
typedef struct space {
    bool equations;  /* else features */
    int64_t first;   /* global index of the part here */
    int64_t n_local; /* numbers of the part */
    double *basis;   /* [vectors][n_local] */
    double *vector;  /* equations: [n_rows], on all ranks; features: [n_local] */
} space;

struct norma_quadrature {
    norma_product *product; /* borrowed */
    norma_product_form form;
    MPI_Comm comm;
    int64_t n_rows, n_features, n_steps;
    space left, right;
    int *counts, *places; /* [ranks]: slices of the equations */
    double *along;        /* [n_steps + 1] */
    double *diagonal;     /* [n_steps] */
    double *beside;       /* [n_steps] */
    double *work;         /* [4 n_steps] */
};

/* The slice of n items that a rank has. */
static int64_t slice_start(int64_t n, int rank, int n_ranks)
{
    return n / n_ranks * rank + (rank < n % n_ranks ? rank : n % n_ranks);
}

static double *own_part(const space *s)
{
    return s->equations ? s->vector + s->first : s->vector;
}

static void sum(const norma_quadrature *q, double *numbers, int64_t n)
{
    MPI_Allreduce(MPI_IN_PLACE, numbers, (int)n, MPI_DOUBLE, MPI_SUM, q->comm);
}

/* Takes the directions of the n vectors of the basis out of the space's vector, twice, and divides
 * it by its norm, which is returned and, where it is not below `least`, made vector n of the basis.
 */
static double extend(const norma_quadrature *q, space *s, int64_t n, double least)
{
    double *x = own_part(s);
    int m = (int)s->n_local;
    for (int pass = 0; pass < 2 && n > 0; pass++) {
        memset(q->along, 0, (size_t)n * sizeof *q->along);
        if (m > 0)
            cblas_dgemv(CblasColMajor, CblasTrans, m, (int)n, 1, s->basis, m, x, 1, 0, q->along, 1);
        sum(q, q->along, n);
        if (m > 0)
            cblas_dgemv(CblasColMajor, CblasNoTrans, m, (int)n, -1, s->basis, m, q->along, 1, 1, x,
                        1);
    }
    double square = cblas_ddot(m, x, 1, x, 1);
    sum(q, &square, 1);
    double norm = sqrt(square);
    if (!(norm > least))
        return 0;
    cblas_dscal(m, 1 / norm, x, 1);
    memcpy(s->basis + n * s->n_local, x, (size_t)m * sizeof *x);
    if (s->equations)
        MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, s->vector, q->counts, q->places,
                       MPI_DOUBLE, q->comm);
    return norm;
}

/* to = M or M' times from, whichever leads from one space to the other. */
static void multiply(const norma_quadrature *q, const space *from, const space *to)
{
    if (to->equations)
        norma_product_apply(q->product, q->form, from->vector, to->vector);
    else
        norma_product_apply_transpose_local(q->product, q->form, from->vector, to->vector);
}

/* The lower bidiagonal matrix; its order. alpha_k = 0 is the last entry where no further vector of
 * the right space exists: the start then has a part that M' annihilates. */
static int64_t run_process(norma_quadrature *q)
{
    int64_t longest = q->n_rows > q->n_features ? q->n_rows : q->n_features;
    double rounding = (double)longest * DBL_EPSILON;
    double largest = 0;
    for (int64_t k = 0; k < q->n_steps; k++) {
        multiply(q, &q->left, &q->right);
        q->diagonal[k] = extend(q, &q->right, k, rounding * largest);
        largest = fmax(largest, q->diagonal[k]);
        if (q->diagonal[k] == 0 || k + 1 == q->n_steps)
            return k + 1;
        multiply(q, &q->right, &q->left);
        q->beside[k] = extend(q, &q->left, k + 1, rounding * largest);
        if (q->beside[k] == 0)
            return k + 1;
    }
    return q->n_steps;
}

/* Singular values of the bidiagonal matrix, and the squares of the first components of its left
 * singular vectors. */
static norma_status solve_local(norma_quadrature *q, int64_t n, double *nodes, double *weights)
{
    static const int zero = 0;
    static const int one = 1;
    double unused = 0;
    int size = (int)n;
    int info = 0;
    memset(weights, 0, (size_t)n * sizeof *weights);
    weights[0] = 1;
    memcpy(nodes, q->diagonal, (size_t)n * sizeof *nodes);
    dbdsqr_("L", &size, &zero, &one, &zero, nodes, q->beside, &unused, &one, weights, &one, &unused,
            &one, q->work, &info);
    if (info != 0)
        return NORMA_FAIL(NORMA_NUMERIC,
                          "the singular values of the quadrature's bidiagonal matrix did not "
                          "converge (code %d)",
                          info);
    for (int64_t k = 0; k < n; k++)
        weights[k] *= weights[k];
    return NORMA_OK;
}

norma_status norma_quadrature_run(norma_quadrature *q, uint64_t seed,
                                  const norma_rng_stream *stream, double *nodes, double *weights,
                                  int64_t *n_nodes)
{
    space *start = &q->left;
    norma_rng_fill_normal(seed, stream, start->first, start->n_local, own_part(start));
    (void)extend(q, start, 0, 0);
    *n_nodes = run_process(q);
    NORMA_TRY(norma_agree(q->comm, solve_local(q, *n_nodes, nodes, weights)));
    /* The same bits on all ranks, whatever their processors. */
    MPI_Bcast(nodes, (int)*n_nodes, MPI_DOUBLE, 0, q->comm);
    MPI_Bcast(weights, (int)*n_nodes, MPI_DOUBLE, 0, q->comm);
    return NORMA_OK;
}

/* Measures or allocates: src/base/mem_place.h. */
static norma_status place_space(const norma_quadrature *q, space *s, double *bytes)
{
    NORMA_TRY(NORMA_PLACE_ROWS(s->basis, q->n_steps, s->n_local, bytes));
    return NORMA_PLACE(s->vector, s->equations ? q->n_rows : s->n_local, bytes);
}

static norma_status place(norma_quadrature *q, int n_ranks, double *bytes)
{
    NORMA_TRY(place_space(q, &q->left, bytes));
    NORMA_TRY(place_space(q, &q->right, bytes));
    NORMA_TRY(NORMA_PLACE(q->counts, n_ranks, bytes));
    NORMA_TRY(NORMA_PLACE(q->places, n_ranks, bytes));
    NORMA_TRY(NORMA_PLACE(q->along, q->n_steps + 1, bytes));
    NORMA_TRY(NORMA_PLACE(q->diagonal, q->n_steps, bytes));
    NORMA_TRY(NORMA_PLACE(q->beside, q->n_steps, bytes));
    return NORMA_PLACE(q->work, 4 * q->n_steps, bytes);
}

static norma_status create_local(norma_quadrature *q)
{
    int rank = 0;
    int n_ranks = 0;
    MPI_Comm_rank(q->comm, &rank);
    MPI_Comm_size(q->comm, &n_ranks);
    space equations = {.equations = true, .first = slice_start(q->n_rows, rank, n_ranks)};
    space features = {.equations = false};
    equations.n_local = slice_start(q->n_rows, rank + 1, n_ranks) - equations.first;
    features.n_local = norma_product_share_local(q->product, &features.first);
    if (q->n_rows > INT_MAX || q->n_features > INT_MAX)
        return NORMA_FAIL(NORMA_LIMIT, "a quadrature counts equations and features to %d", INT_MAX);
    q->left = q->n_features < q->n_rows ? features : equations;
    q->right = q->n_features < q->n_rows ? equations : features;
    NORMA_TRY(place(q, n_ranks, NULL));
    for (int r = 0; r < n_ranks; r++) {
        q->places[r] = (int)slice_start(q->n_rows, r, n_ranks);
        q->counts[r] = (int)slice_start(q->n_rows, r + 1, n_ranks) - q->places[r];
    }
    return NORMA_OK;
}

norma_status norma_quadrature_create(norma_product *product, norma_product_form form,
                                     int64_t n_steps, norma_quadrature **out)
{
    norma_quadrature *q = NULL;
    MPI_Comm comm = norma_product_comm_local(product);
    norma_status status = norma_agree(comm, NORMA_CALLOC(q, 1));
    NORMA_GOTO(status, status);
    q->product = product;
    q->form = form;
    q->comm = comm;
    q->n_rows = norma_product_n_rows_local(product, form);
    q->n_features = norma_product_n_features_local(product);
    int64_t shorter = norma_quadrature_dimension_local(q);
    q->n_steps = n_steps < shorter ? n_steps : shorter;
    NORMA_GOTO(status, norma_agree(comm, create_local(q)));
    *out = q;
    q = NULL;
done:
    norma_quadrature_destroy_local(&q);
    return status;
}

int64_t norma_quadrature_dimension_local(const norma_quadrature *q)
{
    return q->n_rows < q->n_features ? q->n_rows : q->n_features;
}

double norma_quadrature_bytes_local(int64_t n_rows, int64_t n_features, int64_t n_steps,
                                    int n_ranks)
{
    norma_quadrature q = {
        .n_rows = n_rows,
        .n_steps = n_steps,
        .left = {.equations = true, .n_local = slice_start(n_rows, 1, n_ranks)},
        .right = {.equations = false, .n_local = slice_start(n_features, 1, n_ranks)},
    };
    double bytes = (double)sizeof q;
    (void)place(&q, n_ranks, &bytes);
    return bytes;
}

void norma_quadrature_destroy_local(norma_quadrature **quadrature)
{
    norma_quadrature *q = *quadrature;
    if (!q)
        return;
    space *both[2] = {&q->left, &q->right};
    for (int s = 0; s < 2; s++) {
        NORMA_FREE(both[s]->basis);
        NORMA_FREE(both[s]->vector);
    }
    NORMA_FREE(q->counts);
    NORMA_FREE(q->places);
    NORMA_FREE(q->along);
    NORMA_FREE(q->diagonal);
    NORMA_FREE(q->beside);
    NORMA_FREE(q->work);
    NORMA_FREE(*quadrature);
}
