#include "src/network/images.h"

#include <inttypes.h>
#include <math.h>

/* The range of all labels in the file shows labels from 1 on by the first images too. */
static norma_status check_labels(const norma_images *images, int64_t n_outputs)
{
    const char *from = images->labels_from ? images->labels_from : "data set";
    if (images->labels && images->label_low == 1 && images->label_high == n_outputs)
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s: labels are from 1 to %d, but the network's outputs are 0 to %" PRId64
                          ": subtract 1 from all labels",
                          from, images->label_high, n_outputs - 1);
    for (int64_t n = 0; images->labels && n < images->n_images; n++)
        if (images->labels[n] < 0 || images->labels[n] >= n_outputs)
            return NORMA_FAIL(NORMA_CONFIG,
                              "%s: label %d of image %" PRId64 " is not one of the network's "
                              "%" PRId64 " outputs, 0 to %" PRId64,
                              from, images->labels[n], n, n_outputs, n_outputs - 1);
    return NORMA_OK;
}

norma_status norma_images_check(const norma_images *images, const norma_network *network)
{
    norma_shape a = images->shape;
    norma_shape b = network->input;
    bool equal = a.channels == b.channels && a.height == b.height && a.width == b.width;
    bool flat = b.height == 1 && b.width == 1 && norma_shape_size(a) == b.channels;
    bool turned = a.width == b.channels && a.channels == b.height && a.height == b.width;
    if (!equal && !flat)
        return NORMA_FAIL(NORMA_CONFIG,
                          "the data set's images are %" PRId64 " x %" PRId64 " x %" PRId64
                          " but the network's input_shape is %" PRId64 " x %" PRId64 " x %" PRId64
                          "%s",
                          a.channels, a.height, a.width, b.channels, b.height, b.width,
                          turned ? " (channels are the first axis of an image, not the last)" : "");
    return check_labels(images, norma_shape_size(network->layers[network->n_layers - 1].output));
}

void norma_images_range(const norma_images *images, const norma_network *network, double range[2])
{
    int64_t n_channels = network->input.channels;
    int64_t n_pixels = norma_shape_size(images->shape) / n_channels;
    int64_t n = images->n_images * n_channels * n_pixels;
    range[0] = INFINITY;
    range[1] = -INFINITY;
    for (int64_t k = 0; k < n; k++) {
        int64_t c = k / n_pixels % n_channels;
        double pixel = images->pixels ? (double)images->pixels[k] : images->values[k];
        double x = network->scale[c] * pixel + network->offset[c];
        range[0] = fmin(range[0], x);
        range[1] = fmax(range[1], x);
    }
}

void norma_images_load(const norma_images *images, const norma_network *network, int64_t first,
                       int64_t count, double *out)
{
    int64_t n_channels = network->input.channels;
    int64_t n_pixels = norma_shape_size(images->shape) / n_channels;
    int64_t at = first * n_channels * n_pixels;
    if (images->drawn) {
        int64_t n = count * n_channels * n_pixels;
        norma_rng_fill_normal(images->seed, &images->stream, at, n, out);
        for (int64_t k = 0; k < n; k++) {
            int64_t c = k / n_pixels % n_channels;
            out[k] = network->scale[c] * out[k] + network->offset[c];
        }
        return;
    }
    for (int64_t n = 0; n < count; n++)
        for (int64_t c = 0; c < n_channels; c++)
            for (int64_t k = 0; k < n_pixels; k++, at++) {
                double pixel = images->pixels ? (double)images->pixels[at] : images->values[at];
                *out++ = network->scale[c] * pixel + network->offset[c];
            }
}

void norma_images_load_columns(const norma_images *images, double scale, double offset, double *out)
{
    int64_t size = norma_shape_size(images->shape);
    for (int64_t i = 0; i < size; i++)
        for (int64_t j = 0; j < images->n_images; j++) {
            int64_t at = j * size + i;
            double pixel = images->pixels ? (double)images->pixels[at] : images->values[at];
            *out++ = scale * pixel + offset;
        }
}
