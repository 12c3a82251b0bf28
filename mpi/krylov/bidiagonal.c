#include "mpi/krylov/bidiagonal.h"

#include "mpi/krylov/condition.h"
#include "mpi/linalg/replicated.h"
#include "mpi/runtime/agree.h"
#include "src/base/mem.h"
#include "src/base/rng.h"

#include <float.h>
#include <math.h>
#include <string.h>

const norma_bidiagonal_accuracy norma_bidiagonal_full = {.settled = 3e-4, .resolved = 1e-8};
const norma_bidiagonal_accuracy norma_bidiagonal_rough = {.settled = 0.02, .resolved = 1e-6};

norma_status norma_bidiagonal_create_local(norma_product *product, norma_product_form form,
                                           int64_t max_steps, norma_bidiagonal **out)
{
    norma_bidiagonal *process = NULL;
    int64_t first = 0;
    norma_status status = NORMA_CALLOC(process, 1);
    if (status != NORMA_OK)
        return status;
    process->product = product;
    process->form = form;
    process->n_rows = norma_product_n_rows_local(product, form);
    process->n_share = norma_product_share_local(product, &first);
    process->max_links = 2 * max_steps;
    NORMA_GOTO(status, NORMA_ALLOC(process->u, process->n_rows));
    NORMA_GOTO(status, NORMA_ALLOC(process->v, process->n_share));
    NORMA_GOTO(status, NORMA_ALLOC(process->image, process->n_rows));
    NORMA_GOTO(status, NORMA_ALLOC(process->links, process->max_links));
    *out = process;
    process = NULL;
done:
    norma_bidiagonal_destroy_local(&process);
    return status;
}

/* u <- u / ||u||, which is returned. */
static double normalize(double *u, int64_t n)
{
    double norm = norma_replicated_norm_local(u, n);
    if (norm > 0)
        norma_replicated_scale_local(1 / norm, u, n);
    return norm;
}

void norma_bidiagonal_start_local(norma_bidiagonal *process, const double *b)
{
    memcpy(process->u, b, (size_t)process->n_rows * sizeof *b);
    process->beta = normalize(process->u, process->n_rows);
    process->alpha = 0;
    process->n_links = 0;
}

void norma_bidiagonal_step(norma_bidiagonal *process)
{
    double keep = process->n_links > 0 ? -process->beta : 0;
    double squares = norma_product_apply_both(process->product, process->form, process->u, keep,
                                              process->v, process->image);
    double alpha = sqrt(squares);
    process->alpha = alpha;
    if (alpha == 0)
        return;
    norma_replicated_scale_local(1 / alpha, process->v, process->n_share);
    for (int64_t r = 0; r < process->n_rows; r++)
        process->u[r] = process->image[r] / alpha - alpha * process->u[r];
    process->beta = normalize(process->u, process->n_rows);
    if (process->n_links + 2 <= process->max_links) {
        process->links[process->n_links++] = process->alpha;
        process->links[process->n_links++] = process->beta;
    }
}

/* ||A' r|| / ||A' b|| of the least-squares solution that the coefficients hold (LSQR). It is small
 * only when every direction of A' b, and be it of the smallest singular value, has been met. */
static double gradient_of(const double *links, int64_t n_links)
{
    double rho_bar = links[0];
    double phi_bar = 1;
    for (int64_t k = 0; k + 2 < n_links; k += 2) {
        double rho = hypot(rho_bar, links[k + 1]);
        phi_bar *= links[k + 1] / rho;
        rho_bar *= -links[k + 2] / rho;
    }
    return fabs(phi_bar * rho_bar) / links[0];
}

/* Extreme singular values by the coefficients so far; true when the smallest one has settled. The
 * rectangular matrix, last beta included, knows A on its row space only: no zero disturbs it. */
static bool read_singular_values(const norma_bidiagonal *p, norma_bidiagonal_accuracy accuracy,
                                 double *largest, double *smallest, double *error)
{
    int64_t n_before = 2 * (p->n_links * 4 / 10);
    *largest = norma_condition_largest_link_local(p->links, p->n_links);
    *smallest = norma_condition_smallest_link_local(p->links, p->n_links);
    *error = 1;
    if (n_before == 0)
        return false;
    double before = norma_condition_smallest_link_local(p->links, n_before);
    *error = fmin(1, before / *smallest - 1);
    return gradient_of(p->links, p->n_links) <= accuracy.resolved &&
           before <= *smallest * (1 + accuracy.settled);
}

/* True when the last step found no direction but rounding: alpha after all of A', beta after all of
 * A. */
static bool is_null(const norma_bidiagonal *p, double link)
{
    return !(link > (double)p->n_rows * DBL_EPSILON * p->links[0]);
}

bool norma_bidiagonal_run(norma_bidiagonal *p, int64_t n_steps)
{
    while (p->n_links < 2 * n_steps) {
        int64_t known = p->n_links;
        if (known > 0 ? is_null(p, p->beta) : p->beta == 0)
            return true;
        norma_bidiagonal_step(p);
        if (p->n_links == known || is_null(p, p->alpha)) {
            p->n_links = known;
            return true;
        }
    }
    return false;
}

bool norma_bidiagonal_settle(norma_bidiagonal *p, norma_bidiagonal_accuracy accuracy,
                             double *largest, double *smallest, double *error)
{
    int64_t n_features = norma_product_n_features_local(p->product);
    int64_t n_fewer = n_features < p->n_rows ? n_features : p->n_rows;
    int64_t next = p->n_links / 2;
    while (p->n_links > 0) {
        int64_t k = p->n_links / 2;
        bool exhausted = is_null(p, p->alpha) || is_null(p, p->beta);
        bool full = p->n_links + 2 > p->max_links;
        if (k >= next || exhausted || full) {
            if (read_singular_values(p, accuracy, largest, smallest, error))
                return true;
            if (exhausted && k >= n_fewer)
                *error = 0;
            if (exhausted || full)
                return k >= n_fewer;
            next = k < 16 ? 20 : k + k / 4;
        }
        norma_bidiagonal_step(p);
        if (is_null(p, p->alpha))
            p->n_links = 2 * k; /* it would be the smallest singular value */
    }
    return false;
}

norma_status norma_bidiagonal_measure(MPI_Comm comm, norma_product *product,
                                      norma_product_form form, int64_t max_steps, uint64_t seed,
                                      norma_bidiagonal_accuracy accuracy, double *largest,
                                      double *smallest, double *error)
{
    const norma_rng_stream stream = {.purpose = NORMA_RNG_START_VECTOR};
    norma_bidiagonal *p = NULL;
    double *start = NULL;
    int64_t n = norma_product_n_rows_local(product, form);
    norma_status status = norma_bidiagonal_create_local(product, form, max_steps, &p);
    if (status == NORMA_OK)
        status = NORMA_ALLOC(start, n);
    NORMA_GOTO(status, norma_agree(comm, status));
    norma_rng_fill_normal(seed, &stream, 0, n, start);
    norma_bidiagonal_start_local(p, start);
    norma_bidiagonal_step(p);
    (void)norma_bidiagonal_settle(p, accuracy, largest, smallest, error);
done:
    norma_bidiagonal_destroy_local(&p);
    NORMA_FREE(start);
    return status;
}

void norma_bidiagonal_destroy_local(norma_bidiagonal **process)
{
    if (*process) {
        NORMA_FREE((*process)->u);
        NORMA_FREE((*process)->v);
        NORMA_FREE((*process)->image);
        NORMA_FREE((*process)->links);
        NORMA_FREE(*process);
    }
}
