#include "src/network/skip.h"

#include "src/base/mem.h"

#include <inttypes.h>
#include <string.h>

norma_status norma_skip_check(const norma_skip_spec *spec, const norma_layer *layer)
{
    if (spec->kind != NORMA_SKIP_IDENTITY || layer->n_channels_in == layer->n_channels_out)
        return NORMA_OK;
    return NORMA_FAIL(
        NORMA_CONFIG,
        "an identity skip needs as many output channels as input channels, not %" PRId64
        " and %" PRId64 "; take a distribution or a file",
        layer->n_channels_out, layer->n_channels_in);
}

/* skip <- values[n_pairs][taps], taps being all of the kernel or its middle one. */
static void place(const norma_layer *layer, bool whole_kernel, const double *values, double *skip)
{
    int64_t n_pairs = layer->n_channels_out * layer->n_channels_in;
    int64_t n_taps = norma_kernel_taps(layer->kernel);
    int64_t middle =
        (layer->kernel.height - 1) / 2 * layer->kernel.width + (layer->kernel.width - 1) / 2;
    if (whole_kernel) {
        memcpy(skip, values, (size_t)(n_pairs * n_taps) * sizeof *skip);
        return;
    }
    memset(skip, 0, (size_t)(n_pairs * n_taps) * sizeof *skip);
    for (int64_t pair = 0; pair < n_pairs; pair++)
        skip[pair * n_taps + middle] = values[pair];
}

static norma_status draw(const norma_skip_spec *spec, const norma_layer *layer, double *skip)
{
    norma_tensor_spec tensor_spec = {.distribution = spec->distribution,
                                     .keep_probability = spec->keep_probability,
                                     .role = NORMA_TENSOR_FIRST,
                                     .seed = spec->seed,
                                     .stream = spec->stream,
                                     .n_features = layer->n_channels_out,
                                     .n_channels = layer->n_channels_in,
                                     .n_taps =
                                         spec->whole_kernel ? norma_kernel_taps(layer->kernel) : 1};
    norma_tensor *tensor = NULL;
    double *values = NULL;
    norma_status status = NORMA_OK;
    NORMA_GOTO(status, norma_tensor_create(&tensor_spec, &tensor));
    NORMA_GOTO(status, NORMA_ALLOC(values, layer->n_channels_out * layer->n_channels_in *
                                               tensor_spec.n_taps));
    norma_tensor_fill(tensor, 0, layer->n_channels_out, values);
    place(layer, spec->whole_kernel, values, skip);
done:
    NORMA_FREE(values);
    norma_tensor_destroy(&tensor);
    return status;
}

static norma_status fill_identity(const norma_layer *layer, double *skip)
{
    int64_t n = layer->n_channels_out;
    double *values = NULL;
    NORMA_TRY(NORMA_CALLOC(values, n * n));
    for (int64_t i = 0; i < n; i++)
        values[i * n + i] = 1;
    place(layer, false, values, skip);
    NORMA_FREE(values);
    return NORMA_OK;
}

norma_status norma_skip_fill(const norma_skip_spec *spec, const norma_layer *layer, double *skip)
{
    NORMA_TRY(norma_skip_check(spec, layer));
    switch (spec->kind) {
    case NORMA_SKIP_DRAWN:
        return draw(spec, layer, skip);
    case NORMA_SKIP_GIVEN:
        place(layer, spec->whole_kernel, spec->values, skip);
        return NORMA_OK;
    default:
        return fill_identity(layer, skip);
    }
}
