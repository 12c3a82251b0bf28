#include "src/network/images.h"

#include <inttypes.h>

norma_status norma_images_check(const norma_images *images, const norma_network *network)
{
    norma_shape a = images->shape;
    norma_shape b = network->input;
    norma_shape out = network->layers[network->n_layers - 1].output;
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
    for (int64_t n = 0; images->labels && n < images->n_images; n++)
        if (images->labels[n] < 0 || images->labels[n] >= norma_shape_size(out))
            return NORMA_FAIL(NORMA_CONFIG,
                              "label %d of image %" PRId64 " is not one of the network's %" PRId64
                              " outputs",
                              images->labels[n], n, norma_shape_size(out));
    return NORMA_OK;
}

void norma_images_load(const norma_images *images, const norma_network *network, int64_t first,
                       int64_t count, double *out)
{
    int64_t n_channels = network->input.channels;
    int64_t n_pixels = norma_shape_size(images->shape) / n_channels;
    int64_t at = first * n_channels * n_pixels;
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
