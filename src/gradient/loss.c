#include "src/gradient/loss.h"

#include "src/base/mem_place.h"
#include "src/base/rng.h"
#include "src/random/haar.h"

#include <cblas.h>
#include <math.h>

enum { TENSOR_READOUT = 1, TENSOR_COTANGENT = 2, TENSOR_LABELS = 3 };

typedef struct choice {
    const char *name, *summary;
} choice;

static const choice losses[NORMA_N_GRADIENT_LOSSES] = {
    [NORMA_GRADIENT_LOSS_COTANGENT] =
        {"cotangent", "a fixed random linear function of unit norm of the outputs"},
    [NORMA_GRADIENT_LOSS_MSE] = {"mse", "mean over samples of the squared distance to the label"},
    [NORMA_GRADIENT_LOSS_CROSS_ENTROPY] = {"cross-entropy",
                                           "mean over samples of softmax cross-entropy"},
};

static const choice readouts[NORMA_N_GRADIENT_READOUTS] = {
    [NORMA_GRADIENT_READOUT_HAAR] = {"haar", "a uniformly distributed (semi-)orthogonal matrix"},
    [NORMA_GRADIENT_READOUT_NORMAL] = {"normal", "normal entries of variance 1 / width"},
    [NORMA_GRADIENT_READOUT_IDENTITY] = {"identity", "the outputs are the representation itself"},
};

const norma_names norma_gradient_loss_names = NORMA_NAMES("loss", "losses", losses);
const norma_names norma_gradient_readout_names = NORMA_NAMES("read-out", "read-outs", readouts);

norma_status norma_gradient_loss_check(const norma_gradient_loss_spec *spec, int64_t width,
                                       int64_t batch)
{
    if (spec->classes < 1)
        return NORMA_FAIL(NORMA_CONFIG, "a read-out needs at least 1 class, not %lld",
                          (long long)spec->classes);
    if (spec->readout == NORMA_GRADIENT_READOUT_IDENTITY && spec->classes != width)
        return NORMA_FAIL(NORMA_CONFIG,
                          "the read-out identity has as many classes as the width, %lld, not %lld",
                          (long long)width, (long long)spec->classes);
    if (spec->kind == NORMA_GRADIENT_LOSS_CROSS_ENTROPY && spec->classes < 2)
        return NORMA_FAIL(NORMA_CONFIG,
                          "the cross-entropy of a single class is 0; use 2 classes or more");
    for (int64_t j = 0; spec->labels && j < batch; j++)
        if (spec->labels[j] < 0 || spec->labels[j] >= spec->classes)
            return NORMA_FAIL(NORMA_CONFIG, "label %d of sample %lld is not one of %lld classes",
                              (int)spec->labels[j], (long long)j, (long long)spec->classes);
    return NORMA_OK;
}

norma_status norma_gradient_loss_place(norma_gradient_loss *loss,
                                       const norma_gradient_loss_spec *spec, int64_t width,
                                       int64_t batch, double *bytes)
{
    loss->spec = *spec;
    loss->width = width;
    loss->batch = batch;
    NORMA_TRY(NORMA_PLACE(loss->readout, width * spec->classes, bytes));
    NORMA_TRY(NORMA_PLACE(loss->labels, batch, bytes));
    return NORMA_PLACE(loss->cotangent, spec->classes * batch, bytes);
}

void norma_gradient_loss_clear(norma_gradient_loss *loss)
{
    NORMA_FREE(loss->readout);
    NORMA_FREE(loss->labels);
    NORMA_FREE(loss->cotangent);
}

static norma_status draw_readout(norma_gradient_loss *loss, uint64_t seed,
                                 const norma_rng_stream *stream)
{
    const int64_t d = loss->width, c = loss->spec.classes;
    norma_haar *haar = NULL;
    if (loss->spec.readout == NORMA_GRADIENT_READOUT_IDENTITY) {
        for (int64_t k = 0; k < d * d; k++)
            loss->readout[k] = k % (d + 1) == 0 ? 1 : 0;
        return NORMA_OK;
    }
    if (loss->spec.readout == NORMA_GRADIENT_READOUT_NORMAL) {
        norma_rng_fill_normal(seed, stream, 0, d * c, loss->readout);
        cblas_dscal((int)(d * c), 1 / sqrt((double)d), loss->readout, 1);
        return NORMA_OK;
    }
    NORMA_TRY(norma_haar_create(seed, stream, d, 1, c, &haar));
    norma_haar_fill(haar, 0, d, loss->readout);
    norma_haar_destroy(&haar);
    return NORMA_OK;
}

norma_status norma_gradient_loss_start(norma_gradient_loss *loss, uint64_t seed, int64_t cell,
                                       int64_t replica)
{
    const int64_t n = loss->batch, c = loss->spec.classes;
    norma_rng_stream stream = {NORMA_RNG_CHAIN_GRADIENT, TENSOR_READOUT, 0, replica, cell};
    NORMA_TRY(draw_readout(loss, seed, &stream));
    if (loss->spec.kind == NORMA_GRADIENT_LOSS_COTANGENT) {
        stream.tensor = TENSOR_COTANGENT;
        norma_rng_fill_normal(seed, &stream, 0, c * n, loss->cotangent);
        double norm = cblas_dnrm2((int)(c * n), loss->cotangent, 1);
        cblas_dscal((int)(c * n), 1 / norm, loss->cotangent, 1);
    }
    stream.tensor = TENSOR_LABELS;
    for (int64_t j = 0; j < n; j++) {
        double uniform = 0;
        norma_rng_fill_uniform(seed, &stream, j, 1, &uniform);
        loss->labels[j] = loss->spec.labels ? loss->spec.labels[j] : (int32_t)(uniform * (double)c);
    }
    return NORMA_OK;
}

/* cotangent[c][N] = O becomes dL/dO. Returns L. */
static double mse_back(norma_gradient_loss *loss)
{
    const int64_t n = loss->batch, c = loss->spec.classes;
    double sum = 0;
    for (int64_t k = 0; k < c; k++)
        for (int64_t j = 0; j < n; j++) {
            double *o = loss->cotangent + k * n + j;
            double difference = *o - (loss->labels[j] == k ? 1 : 0);
            sum += difference * difference / (double)n;
            *o = 2 * difference / (double)n;
        }
    return sum;
}

static double cross_entropy_back(norma_gradient_loss *loss)
{
    const int64_t n = loss->batch, c = loss->spec.classes;
    double sum = 0;
    for (int64_t j = 0; j < n; j++) {
        double *o = loss->cotangent + j, largest = o[0], total = 0;
        const int64_t label = loss->labels[j];
        for (int64_t k = 0; k < c; k++)
            largest = fmax(largest, o[k * n]);
        const double at_label = o[label * n] - largest;
        for (int64_t k = 0; k < c; k++)
            total += o[k * n] = exp(o[k * n] - largest);
        sum += (log(total) - at_label) / (double)n;
        for (int64_t k = 0; k < c; k++)
            o[k * n] = (o[k * n] / total - (k == label ? 1 : 0)) / (double)n;
    }
    return sum;
}

/* x 2^exponent, infinite or 0 out of range. */
static double scaled(double x, int64_t exponent)
{
    const int64_t most = 100000;
    return ldexp(x, (int)(exponent > most ? most : exponent < -most ? -most : exponent));
}

/* cotangent = A H. */
static norma_status make_outputs(norma_gradient_loss *loss, const double *h, int64_t exponent)
{
    const int64_t d = loss->width, n = loss->batch, c = loss->spec.classes;
    bool finite = true;
    cblas_dgemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)c, (int)n, (int)d, 1, loss->readout,
                (int)c, h, (int)n, 0, loss->cotangent, (int)n);
    for (int64_t k = 0; k < c * n; k++) {
        loss->cotangent[k] = scaled(loss->cotangent[k], exponent);
        finite = finite && isfinite(loss->cotangent[k]);
    }
    if (finite)
        return NORMA_OK;
    return NORMA_FAIL(NORMA_NUMERIC,
                      "the outputs are not finite: the last representation has a scale of 2^%lld; "
                      "use --loss cotangent, which knows no scale",
                      (long long)exponent);
}

norma_status norma_gradient_loss_back(norma_gradient_loss *loss, const double *h, int64_t exponent,
                                      double *value, double *v)
{
    const int64_t d = loss->width, n = loss->batch, c = loss->spec.classes;
    if (loss->spec.kind != NORMA_GRADIENT_LOSS_COTANGENT) {
        NORMA_TRY(make_outputs(loss, h, exponent));
        *value =
            loss->spec.kind == NORMA_GRADIENT_LOSS_MSE ? mse_back(loss) : cross_entropy_back(loss);
    }
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)d, (int)n, (int)c, 1, loss->readout,
                (int)c, loss->cotangent, (int)n, 0, v, (int)n);
    if (loss->spec.kind == NORMA_GRADIENT_LOSS_COTANGENT)
        *value = scaled(cblas_ddot((int)(d * n), v, 1, h, 1), exponent);
    return NORMA_OK;
}
