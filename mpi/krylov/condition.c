#include "mpi/krylov/condition.h"

#include "mpi/linalg/replicated.h"
#include "mpi/runtime/agree.h"
#include "src/base/mem.h"
#include "src/base/rng.h"

#include <math.h>
#include <string.h>

#define MAX_STEPS 300
/* Steps running in which the value must hardly move. */
#define N_QUIET 3
/* Such a step of an estimate: else it might rest on the second largest eigenvalue. */
#define ROUGH_QUIET 0.02
/* One such step is enough where the residual is at most this: the spectrum is not dense there. */
#define ROUGH_CLEAR 0.01

/* Eigenvalues below x of the symmetric tridiagonal matrix of n diagonal entries (NULL: zeros) and
 * n - 1 off-diagonal ones (Sturm). */
static int64_t count_below(const double *diagonal, const double *off, int64_t n, double x)
{
    int64_t count = 0;
    double pivot = 1;
    for (int64_t k = 0; k < n; k++) {
        double square = k > 0 ? off[k - 1] * off[k - 1] : 0;
        pivot = (diagonal ? diagonal[k] : 0) - x - square / pivot;
        if (fabs(pivot) < 1e-300)
            pivot = -1e-300;
        count += pivot < 0 ? 1 : 0;
    }
    return count;
}

/* An upper bound of the eigenvalues (Gershgorin). */
static double bound_above(const double *diagonal, const double *off, int64_t n)
{
    double bound = 0;
    for (int64_t k = 0; k < n; k++) {
        double row =
            (diagonal ? diagonal[k] : 0) + (k > 0 ? off[k - 1] : 0) + (k < n - 1 ? off[k] : 0);
        bound = row > bound ? row : bound;
    }
    return bound;
}

/* The smallest x > 0 with at least `count` eigenvalues below it, to 1e-13 of itself. */
static double bisect(const double *diagonal, const double *off, int64_t n, int64_t count)
{
    double low = 0;
    double high = bound_above(diagonal, off, n) * (1 + 1e-12);
    while (high - low > 1e-13 * high && high > 1e-150) {
        double middle = low > 0 ? sqrt(low) * sqrt(high) : high * 1e-3;
        if (!(middle > low && middle < high))
            break;
        if (count_below(diagonal, off, n, middle) >= count)
            high = middle;
        else
            low = middle;
    }
    return high;
}

/* The links are the off-diagonal of a matrix with zero diagonal, whose eigenvalues are plus and
 * minus the singular values. */
double norma_condition_largest_link_local(const double *links, int64_t n_links)
{
    return bisect(NULL, links, n_links + 1, n_links + 1);
}

double norma_condition_smallest_link_local(const double *links, int64_t n_links)
{
    int64_t n = n_links + 1;
    return bisect(NULL, links, n, n - n / 2 + 1);
}

typedef struct lanczos {
    int64_t n;
    double *previous, *current, *next; /* [n] */
    double diagonal[MAX_STEPS], off[MAX_STEPS];
} lanczos;

static void lanczos_destroy(lanczos **l)
{
    if (*l) {
        NORMA_FREE((*l)->previous);
        NORMA_FREE((*l)->current);
        NORMA_FREE((*l)->next);
        NORMA_FREE(*l);
    }
}

static norma_status lanczos_create(int64_t n, uint64_t seed, lanczos **out)
{
    const norma_rng_stream stream = {.purpose = NORMA_RNG_START_VECTOR};
    lanczos *l = NULL;
    norma_status status = NORMA_CALLOC(l, 1);
    if (status != NORMA_OK)
        return status;
    l->n = n;
    NORMA_GOTO(status, NORMA_CALLOC(l->previous, n));
    NORMA_GOTO(status, NORMA_ALLOC(l->current, n));
    NORMA_GOTO(status, NORMA_ALLOC(l->next, n));
    norma_rng_fill_normal(seed, &stream, 0, n, l->current);
    norma_replicated_scale_local(1 / norma_replicated_norm_local(l->current, n), l->current, n);
    *out = l;
    l = NULL;
done:
    lanczos_destroy(&l);
    return status;
}

/* One step k (from 0): fills diagonal[k] and off[k]; false when the Krylov space is exhausted. */
static norma_status lanczos_step(lanczos *l, norma_condition_operator apply, void *context,
                                 int64_t k, double scale, bool *more)
{
    double beta = k > 0 ? l->off[k - 1] : 0;
    NORMA_TRY(apply(context, l->current, l->next));
    norma_replicated_add_local(-beta, l->previous, l->next, l->n);
    l->diagonal[k] = norma_replicated_dot_local(l->current, l->next, l->n);
    norma_replicated_add_local(-l->diagonal[k], l->current, l->next, l->n);
    l->off[k] = norma_replicated_norm_local(l->next, l->n);
    *more = l->off[k] > 1e-14 * (scale > l->diagonal[k] ? scale : l->diagonal[k]);
    double *freed = l->previous;
    l->previous = l->current;
    l->current = l->next;
    l->next = freed;
    if (*more)
        norma_replicated_scale_local(1 / l->off[k], l->current, l->n);
    return NORMA_OK;
}

/* ||A x - value x|| / value for the eigenvector x that n steps give to their largest eigenvalue:
 * the last link times the last entry of the tridiagonal matrix's eigenvector, by its three-term
 * recurrence (Parlett, The Symmetric Eigenvalue Problem, section 13.2). */
static double relative_residual(const lanczos *l, int64_t n, double value)
{
    double before = 0;
    double entry = 1;
    double squares = 1;
    for (int64_t k = 0; k + 1 < n; k++) {
        double next =
            ((value - l->diagonal[k]) * entry - (k > 0 ? l->off[k - 1] * before : 0)) / l->off[k];
        before = entry;
        entry = next;
        squares += entry * entry;
        if (squares > 1e200) { /* only ratios count */
            before /= sqrt(squares);
            entry /= sqrt(squares);
            squares = 1;
        }
    }
    return l->off[n - 1] * fabs(entry) / sqrt(squares) / value;
}

norma_status norma_condition_largest(MPI_Comm comm, norma_condition_operator apply, void *context,
                                     int64_t n, uint64_t seed, double tolerance, double *largest,
                                     double *error)
{
    bool rough = tolerance >= NORMA_CONDITION_ROUGH;
    double quiet = rough ? ROUGH_QUIET : tolerance;
    lanczos *l = NULL;
    double value = 0;
    int n_quiet = 0;
    bool more = true;
    norma_status status = norma_agree(comm, lanczos_create(n, seed, &l));
    *error = 0;
    for (int64_t k = 0; status == NORMA_OK && more && k < MAX_STEPS; k++) {
        NORMA_GOTO(status, lanczos_step(l, apply, context, k, value, &more));
        if (!isfinite(l->diagonal[k]) || !isfinite(l->off[k])) {
            value = INFINITY;
            break;
        }
        double before = value;
        value = bisect(l->diagonal, l->off, k + 1, k + 1);
        n_quiet = fabs(value - before) <= quiet * value ? n_quiet + 1 : 0;
        *error = fmin(1, relative_residual(l, k + 1, value));
        bool clear = rough && n_quiet > 0 && *error <= ROUGH_CLEAR;
        more = more && !clear && (n_quiet < N_QUIET || (rough && *error > tolerance));
    }
    *error = rough ? *error : fmin(*error, tolerance);
    *largest = value;
done:
    lanczos_destroy(&l);
    return status;
}
