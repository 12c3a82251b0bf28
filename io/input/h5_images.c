#include "io/input/h5_images.h"

#include "io/hdf5/h5_input.h"
#include "src/base/index.h"
#include "src/base/mem.h"

#include <inttypes.h>

/* Moves values that are stored as bytes into *pixels, an eighth of the memory. */
static norma_status pack(int64_t n, double **values, uint8_t **pixels)
{
    uint8_t *bytes = NULL;
    NORMA_TRY(NORMA_ALLOC(bytes, n));
    for (int64_t k = 0; k < n; k++)
        bytes[k] = (uint8_t)(*values)[k];
    NORMA_FREE(*values);
    *pixels = bytes;
    return NORMA_OK;
}

/* [n, c, h, w]; [n, h, w] is one channel, [n, inputs] a flat vector. */
static norma_status find_shape(const norma_h5_input *input, const char *path, int *rank,
                               int64_t extents[NORMA_H5_INPUT_MAX_RANK], norma_shape *shape,
                               int64_t *size)
{
    NORMA_TRY(norma_h5_input_shape_root(input, path, 2, 4, rank, extents));
    *shape = (norma_shape){*rank == 3 ? 1 : extents[1], *rank > 2 ? extents[*rank - 2] : 1,
                           *rank > 2 ? extents[*rank - 1] : 1};
    NORMA_TRY(norma_index_multiply(shape->channels, shape->height, "pixels of an image", size));
    return norma_index_multiply(*size, shape->width, "pixels of an image", size);
}

static norma_status read_images(const norma_h5_input *input, const char *path, int64_t n_items,
                                bool with_labels, norma_h5_images *images)
{
    int rank = 0;
    int64_t n = 0;
    bool bytes = false;
    int64_t extents[NORMA_H5_INPUT_MAX_RANK] = {0};
    NORMA_TRY(find_shape(input, path, &rank, extents, &images->shape, &n));
    if (extents[0] < n_items)
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s: %s: holds %" PRId64 " items, %" PRId64 " are asked for",
                          norma_h5_input_name_root(input), path, extents[0], n_items);
    NORMA_TRY(norma_index_multiply(n, n_items, "pixels of a data set", &n));
    NORMA_TRY(norma_h5_input_type_root(input, path, images->type, &bytes));
    NORMA_TRY(NORMA_ALLOC(images->values, n));
    NORMA_TRY(norma_h5_input_read_first_root(input, path, rank, extents, n_items, images->values));
    if (bytes)
        NORMA_TRY(pack(n, &images->values, &images->pixels));
    return with_labels
               ? norma_labels_read_h5_root(input, path, extents[0], n_items, &images->labels)
               : NORMA_OK;
}

norma_status norma_h5_images_read_root(const char *file, const char *path, int64_t n_items,
                                       bool with_labels, norma_h5_images *images)
{
    norma_h5_input *input = NULL;
    *images = (norma_h5_images){.pixels = NULL};
    NORMA_TRY(norma_h5_input_open_root(file, &input));
    norma_status status = read_images(input, path, n_items, with_labels, images);
    norma_h5_input_close_root(&input);
    if (status != NORMA_OK) {
        NORMA_FREE(images->pixels);
        NORMA_FREE(images->values);
        NORMA_FREE(images->labels.numbers);
    }
    return status;
}
