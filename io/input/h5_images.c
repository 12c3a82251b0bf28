#include "io/input/h5_images.h"

#include "io/hdf5/h5_input.h"
#include "src/base/index.h"
#include "src/base/mem.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#define PATH_LENGTH 512

/* /group/labels for /group/images. */
static norma_status labels_path(const norma_h5_input *input, const char *path,
                                char out[PATH_LENGTH])
{
    const char *slash = strrchr(path, '/');
    int n = snprintf(out, PATH_LENGTH, "%.*s/labels", slash ? (int)(slash - path) : 0, path);
    if (n > 0 && n < PATH_LENGTH)
        return NORMA_OK;
    return NORMA_FAIL(NORMA_CONFIG, "%s: the path of the data set is too long",
                      norma_h5_input_name_root(input));
}

static norma_status read_labels(const norma_h5_input *input, const char *images, int64_t n_images,
                                int64_t n_items, int32_t **out)
{
    norma_status status = NORMA_OK;
    const char *file = norma_h5_input_name_root(input);
    char path[PATH_LENGTH];
    int rank = 0;
    int64_t extents[NORMA_H5_INPUT_MAX_RANK] = {0};
    double *values = NULL;
    int32_t *labels = NULL;
    NORMA_TRY(labels_path(input, images, path));
    if (!norma_h5_input_has_root(input, path))
        return NORMA_OK;
    NORMA_TRY(norma_h5_input_shape_root(input, path, 1, 1, &rank, extents));
    if (extents[0] != n_images)
        return NORMA_FAIL(NORMA_CONFIG, "%s: %s: holds %" PRId64 " labels for %" PRId64 " images",
                          file, path, extents[0], n_images);
    NORMA_GOTO(status, NORMA_ALLOC(values, n_items));
    NORMA_GOTO(status, NORMA_ALLOC(labels, n_items));
    NORMA_GOTO(status, norma_h5_input_read_first_root(input, path, 1, extents, n_items, values));
    for (int64_t n = 0; n < n_items; n++) {
        if (!(values[n] >= 0 && values[n] <= INT32_MAX) || values[n] != floor(values[n])) {
            status = NORMA_FAIL(NORMA_CONFIG,
                                "%s: %s: label %g of image %" PRId64 "; whole numbers from 0 on "
                                "are expected",
                                file, path, values[n], n);
            goto done;
        }
        labels[n] = (int32_t)values[n];
    }
    *out = labels;
    labels = NULL;
done:
    NORMA_FREE(values);
    NORMA_FREE(labels);
    return status;
}

/* Moves values that are bytes into *pixels, an eighth of the memory. */
static norma_status pack(int64_t n, double **values, uint8_t **pixels)
{
    uint8_t *bytes = NULL;
    for (int64_t k = 0; k < n; k++)
        if (!((*values)[k] >= 0 && (*values)[k] <= UINT8_MAX) ||
            (*values)[k] != floor((*values)[k]))
            return NORMA_OK;
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
                                norma_shape *shape, uint8_t **pixels, double **values,
                                int32_t **labels)
{
    int rank = 0;
    int64_t n = 0;
    int64_t extents[NORMA_H5_INPUT_MAX_RANK] = {0};
    NORMA_TRY(find_shape(input, path, &rank, extents, shape, &n));
    if (extents[0] < n_items)
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s: %s: holds %" PRId64 " items, %" PRId64 " are asked for",
                          norma_h5_input_name_root(input), path, extents[0], n_items);
    NORMA_TRY(norma_index_multiply(n, n_items, "pixels of a data set", &n));
    NORMA_TRY(NORMA_ALLOC(*values, n));
    NORMA_TRY(norma_h5_input_read_first_root(input, path, rank, extents, n_items, *values));
    NORMA_TRY(pack(n, values, pixels));
    return read_labels(input, path, extents[0], n_items, labels);
}

norma_status norma_h5_images_read_root(const char *file, const char *path, int64_t n_items,
                                       norma_shape *shape, uint8_t **pixels, double **values,
                                       int32_t **labels)
{
    norma_h5_input *input = NULL;
    *pixels = NULL;
    *values = NULL;
    *labels = NULL;
    NORMA_TRY(norma_h5_input_open_root(file, &input));
    norma_status status = read_images(input, path, n_items, shape, pixels, values, labels);
    norma_h5_input_close_root(&input);
    if (status != NORMA_OK) {
        NORMA_FREE(*pixels);
        NORMA_FREE(*values);
        NORMA_FREE(*labels);
    }
    return status;
}
