#include "src/network/low_rank.h"

#include "src/base/index.h"
#include "src/base/mem.h"
#include "src/network/bounds.h"
#include "src/random/haar.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* LAPACK, column-major. */
void dgesvd_(const char *jobu, const char *jobvt, const int *m, const int *n, double *a,
             const int *lda, double *s, double *u, const int *ldu, double *vt, const int *ldvt,
             double *work, const int *lwork, int *info);

/* --- singular value decomposition ------------------------------------------------------------ */

/* W' = U S V' in LAPACK's order, W' [n_in x n_out]: rows of U' are those of B. */
typedef struct decomposition {
    int n_in, n_out, n_values;
    double *w, *sigma, *u, *vt, *work;
} decomposition;

static void decomposition_clear(decomposition *d)
{
    NORMA_FREE(d->w);
    NORMA_FREE(d->sigma);
    NORMA_FREE(d->u);
    NORMA_FREE(d->vt);
    NORMA_FREE(d->work);
}

static norma_status decompose(const norma_layer *layer, decomposition *d)
{
    double best = 0;
    int info = 0;
    int n_work = -1;
    NORMA_TRY(norma_index_to_int(layer->n_channels_in * norma_kernel_taps(layer->kernel),
                                 "inputs of a layer", &d->n_in));
    NORMA_TRY(norma_index_to_int(layer->n_channels_out, "outputs of a layer", &d->n_out));
    d->n_values = d->n_in < d->n_out ? d->n_in : d->n_out;
    NORMA_TRY(NORMA_ALLOC(d->w, (int64_t)d->n_in * d->n_out));
    NORMA_TRY(NORMA_ALLOC(d->sigma, d->n_values));
    NORMA_TRY(NORMA_ALLOC(d->u, (int64_t)d->n_in * d->n_values));
    NORMA_TRY(NORMA_ALLOC(d->vt, (int64_t)d->n_values * d->n_out));
    memcpy(d->w, layer->weight, (size_t)norma_layer_weight_size(layer) * sizeof *d->w);
    dgesvd_("S", "S", &d->n_in, &d->n_out, d->w, &d->n_in, d->sigma, d->u, &d->n_in, d->vt,
            &d->n_values, &best, &n_work, &info);
    n_work = (int)best;
    NORMA_TRY(NORMA_ALLOC(d->work, n_work));
    dgesvd_("S", "S", &d->n_in, &d->n_out, d->w, &d->n_in, d->sigma, d->u, &d->n_in, d->vt,
            &d->n_values, d->work, &n_work, &info);
    if (info != 0)
        return NORMA_FAIL(NORMA_NUMERIC,
                          "the singular value decomposition of %d x %d weights did "
                          "not converge",
                          d->n_out, d->n_in);
    return NORMA_OK;
}

/* --- factors --------------------------------------------------------------------------------- */

static norma_status choose_rank(const decomposition *d, int64_t rank, double tolerance,
                                norma_low_rank *out)
{
    double all = 0;
    double left_out = 0;
    int64_t n_in = d->n_in;
    int64_t n_out = d->n_out;
    out->full_rank = d->n_values;
    out->break_even = n_in * n_out / (n_in + n_out);
    if (rank > d->n_values)
        return NORMA_FAIL(NORMA_CONFIG,
                          "rank %" PRId64 " is larger than possible: %d outputs and %d inputs",
                          rank, d->n_out, d->n_in);
    if (d->sigma[0] == 0)
        return NORMA_FAIL(NORMA_CONFIG, "all weights are zero: there is nothing to factor");
    out->rank = rank;
    for (int k = 0; rank == 0 && k < d->n_values; k++)
        out->rank += d->sigma[k] > tolerance * d->sigma[0];
    for (int k = d->n_values - 1; k >= 0; k--) { /* the smallest first */
        double relative = d->sigma[k] / d->sigma[0];
        all += relative * relative;
        if (k >= out->rank)
            left_out += relative * relative;
    }
    out->truncation = sqrt(left_out / all);
    return NORMA_OK;
}

/* B = Q sqrt(S) U', A = V sqrt(S) Q' for an orthogonal q[r][r]. */
static void fill_factors(const decomposition *d, const double *q, norma_low_rank *out)
{
    int64_t r = out->rank;
    memset(out->a, 0, (size_t)(d->n_out * r) * sizeof *out->a);
    memset(out->b, 0, (size_t)(d->n_in * r) * sizeof *out->b);
    for (int64_t m = 0; m < r; m++)
        for (int64_t k = 0; k < r; k++) {
            double factor = q[m * r + k] * sqrt(d->sigma[k]);
            for (int64_t e = 0; e < d->n_in; e++)
                out->b[m * d->n_in + e] += factor * d->u[k * d->n_in + e];
            for (int64_t i = 0; i < d->n_out; i++)
                out->a[i * r + m] += factor * d->vt[i * d->n_values + k];
        }
}

norma_status norma_low_rank_factor(const norma_layer *layer, int64_t rank, double tolerance,
                                   uint64_t seed, const norma_rng_stream *stream,
                                   norma_low_rank *out)
{
    decomposition d = {0};
    norma_haar *haar = NULL;
    double *q = NULL;
    memset(out, 0, sizeof *out);
    norma_status status = decompose(layer, &d);
    NORMA_GOTO(status, status);
    NORMA_GOTO(status, choose_rank(&d, rank, tolerance, out));
    NORMA_GOTO(status, NORMA_ALLOC(q, out->rank * out->rank));
    NORMA_GOTO(status, NORMA_ALLOC(out->a, out->rank * d.n_out));
    NORMA_GOTO(status, NORMA_ALLOC(out->b, out->rank * d.n_in));
    NORMA_GOTO(status, norma_haar_create(seed, stream, out->rank, 1, out->rank, &haar));
    norma_haar_fill(haar, 0, out->rank, q);
    fill_factors(&d, q, out);
done:
    norma_haar_destroy(&haar);
    NORMA_FREE(q);
    decomposition_clear(&d);
    return status;
}

void norma_low_rank_clear(norma_low_rank *factors)
{
    NORMA_FREE(factors->a);
    NORMA_FREE(factors->b);
    memset(factors, 0, sizeof *factors);
}

/* --- the network ----------------------------------------------------------------------------- */

static void describe_layers(const norma_layer *layer, int64_t rank, norma_layer *b, norma_layer *a)
{
    norma_layer before = *b;
    norma_layer behind = *a;
    *b = *a = *layer;
    b->first_input = before.first_input;
    a->first_input = behind.first_input;
    memcpy(b->name, before.name, sizeof b->name);
    memcpy(a->name, behind.name, sizeof a->name);
    b->n_channels_out = a->n_channels_in = rank;
    b->activation = (norma_activation){.kind = NORMA_ACTIVATION_IDENTITY};
    b->pool = NORMA_POOL_NONE;
    a->kernel = (norma_kernel_shape){1, 1};
    for (int axis = 0; axis < 2; axis++) {
        a->stride[axis] = 1;
        a->padding[axis] = 0;
    }
}

static void copy_weights(const norma_network *network, const norma_low_rank *factors,
                         norma_network *out)
{
    size_t input = (size_t)network->input.channels * sizeof(double);
    memcpy(out->scale, network->scale, input);
    memcpy(out->offset, network->offset, input);
    for (int64_t l = 0; l < network->n_layers; l++) {
        const norma_layer *b = &out->layers[2 * l];
        const norma_layer *a = &out->layers[2 * l + 1];
        if (!factors[l].a)
            continue;
        memcpy(b->weight, factors[l].b, (size_t)norma_layer_weight_size(b) * sizeof(double));
        memcpy(a->weight, factors[l].a, (size_t)norma_layer_weight_size(a) * sizeof(double));
        memcpy(a->bias, network->layers[l].bias, (size_t)a->n_channels_out * sizeof(double));
    }
}

norma_status norma_low_rank_network(const norma_network *network, const norma_low_rank *factors,
                                    norma_network **out)
{
    norma_network *n = NULL;
    norma_status status = norma_network_create(2 * network->n_layers, &n);
    NORMA_GOTO(status, status);
    for (int64_t l = 0; l < network->n_layers; l++)
        describe_layers(&network->layers[l], factors[l].rank, &n->layers[2 * l],
                        &n->layers[2 * l + 1]);
    n->input = network->input;
    n->input_min = network->input_min;
    n->input_max = network->input_max;
    memcpy(n->dataset, network->dataset, sizeof n->dataset);
    NORMA_GOTO(status, norma_network_allocate(n));
    copy_weights(network, factors, n);
    NORMA_GOTO(status, norma_network_infer_shapes(n));
    *out = n;
    n = NULL;
done:
    norma_network_destroy(&n);
    return status;
}

/* Shifts the outputs of b, which lie in [lo, hi], above 0, and takes the shift back in a. */
static void shift(norma_layer *b, norma_layer *a, const double *lo, const double *hi)
{
    int64_t r = b->n_channels_out;
    for (int64_t k = 0; k < r; k++) {
        double margin = 1e-6 * (hi[k] - lo[k]) + 1e-9 * fmax(fabs(lo[k]), fabs(hi[k]));
        b->bias[k] = lo[k] < margin ? margin - lo[k] : 0;
        for (int64_t i = 0; i < a->n_channels_out; i++)
            a->bias[i] -= a->weight[i * r + k] * b->bias[k];
    }
}

norma_status norma_low_rank_open(norma_network *factored)
{
    double *range = NULL;
    char known[NORMA_ACTIVATION_LIST];
    norma_status status = NORMA_OK;
    for (int64_t l = 0; l < factored->n_layers && status == NORMA_OK; l += 2) {
        norma_layer *b = &factored->layers[l];
        norma_layer *a = &factored->layers[l + 1];
        norma_activation_kind kind = a->activation.kind;
        int64_t r = b->n_channels_out;
        if (kind == NORMA_ACTIVATION_IDENTITY)
            continue;
        if (!norma_activation_is_homogeneous(&a->activation))
            return NORMA_FAIL(
                NORMA_CONFIG,
                "layer %" PRId64 ": activation %s: low-rank shifts the channels "
                "between two factors only in front of %s",
                l / 2, norma_activation_name(kind),
                norma_names_join(&norma_activation_homogeneous_names, known, sizeof known));
        NORMA_TRY(NORMA_ALLOC(range, 2 * r));
        status = norma_bounds_propagate(factored, l + 1, range, range + r);
        if (status == NORMA_OK) {
            shift(b, a, range, range + r);
            b->activation = a->activation;
        }
        NORMA_FREE(range);
    }
    return status;
}
