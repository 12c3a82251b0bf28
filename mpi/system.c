#include "mpi/system.h"

#include "mpi/agree.h"
#include "mpi/condition.h"
#include "src/base/mem.h"

#include <math.h>

typedef struct gram {
    norma_product *product;
    norma_product_form form;
    int64_t n;               /* rows of the form */
    const double *row_scale; /* [n] or NULL */
    double *rows;            /* [n] */
    double *features;        /* [share] */
} gram;

/* out = D A A' D in, A the form, D the row scale. */
static norma_status apply_gram(void *context, const double *in, double *out)
{
    gram *g = context;
    for (int64_t r = 0; r < g->n; r++)
        g->rows[r] = g->row_scale ? g->row_scale[r] * in[r] : in[r];
    norma_product_apply_both(g->product, g->form, g->rows, 0, g->features, out);
    for (int64_t r = 0; g->row_scale && r < g->n; r++)
        out[r] *= g->row_scale[r];
    return NORMA_OK;
}

norma_status norma_system_largest(const norma_system *system, norma_product_form form,
                                  const double *row_scale, double *sigma)
{
    int64_t first = 0;
    double largest = 0;
    gram g = {.product = system->product,
              .form = form,
              .n = norma_product_n_rows_local(system->product, form),
              .row_scale = row_scale};
    norma_status status = NORMA_ALLOC(g.rows, g.n);
    if (status == NORMA_OK)
        status = NORMA_ALLOC(g.features, norma_product_share_local(system->product, &first));
    NORMA_GOTO(status, norma_agree(system->comm, status));
    NORMA_GOTO(status, norma_condition_largest(system->comm, apply_gram, &g, g.n, system->seed,
                                               NORMA_CONDITION_SHARP, &largest));
    *sigma = sqrt(largest);
done:
    NORMA_FREE(g.rows);
    NORMA_FREE(g.features);
    return status;
}

norma_status norma_system_singular_local(const norma_system *system, double condition_number)
{
    int64_t first = -1;
    int64_t n_zero = norma_product_zero_features_local(system->product, &first);
    int64_t n_features = norma_product_n_features_local(system->product);
    const char *remedy = system->problem->n_features > n_features
                             ? "use krylov, qr or svd, which take all features, or another source"
                             : "use more features or another source; svd gives the pseudo-inverse";
    if (n_zero > 0)
        return NORMA_FAIL(NORMA_NUMERIC,
                          "the system is singular: %lld of its %lld features have only zero "
                          "weights (feature %lld is the first): %s",
                          (long long)n_zero, (long long)n_features, (long long)first, remedy);
    return NORMA_FAIL(NORMA_NUMERIC,
                      "the system is singular to working precision (condition number %.3g with "
                      "%lld features): are features repeated, or output channels of the source "
                      "zero? %s",
                      condition_number, (long long)n_features, remedy);
}
