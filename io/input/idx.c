#include "io/input/idx.h"

#include "io/input/gz.h"
#include "src/base/mem.h"

#include <inttypes.h>

static int64_t big_endian(const uint8_t *bytes)
{
    return (int64_t)bytes[0] << 24 | (int64_t)bytes[1] << 16 | (int64_t)bytes[2] << 8 | bytes[3];
}

static norma_status read_header(norma_gz *file, int n_axes, int64_t *extents, int64_t *item_size)
{
    uint8_t header[4];
    NORMA_TRY(norma_gz_read_root(file, 4, "magic number", header));
    if (header[0] != 0 || header[1] != 0 || header[2] != 0x08 || header[3] != n_axes)
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s: begins with %02x%02x%02x%02x; IDX with unsigned bytes on %d %s, "
                          "000008%02x, is expected",
                          file->path, header[0], header[1], header[2], header[3], n_axes,
                          n_axes == 1 ? "axis" : "axes", (unsigned)n_axes);
    *item_size = 1;
    for (int k = 0; k < n_axes; k++) {
        NORMA_TRY(norma_gz_read_root(file, 4, "extents", header));
        extents[k] = big_endian(header);
        if (extents[k] < 1 || (k > 0 && extents[k] > 65536))
            return NORMA_FAIL(NORMA_CONFIG,
                              "%s: extent %" PRId64 " on axis %d is not one of images "
                              "or labels",
                              file->path, extents[k], k);
        if (k > 0)
            *item_size *= extents[k];
    }
    return NORMA_OK;
}

static norma_status read_file(norma_gz *file, int n_axes, int64_t n_items, int64_t *extents,
                              uint8_t **out)
{
    norma_status status = NORMA_OK;
    int64_t item_size = 0;
    uint8_t *bytes = NULL;
    bool at_end = false;
    NORMA_TRY(read_header(file, n_axes, extents, &item_size));
    if (extents[0] < n_items)
        return NORMA_FAIL(NORMA_CONFIG, "%s: holds %" PRId64 " items, %" PRId64 " are asked for",
                          file->path, extents[0], n_items);
    NORMA_TRY(NORMA_ALLOC(bytes, n_items * item_size));
    NORMA_GOTO(status, norma_gz_read_root(file, n_items * item_size, "values", bytes));
    NORMA_GOTO(status,
               norma_gz_read_root(file, (extents[0] - n_items) * item_size, "values", NULL));
    NORMA_GOTO(status, norma_gz_at_end_root(file, &at_end));
    if (!at_end)
        status = NORMA_FAIL(NORMA_CONFIG, "%s: goes on after the %" PRId64 " items it announces",
                            file->path, extents[0]);
done:
    if (status == NORMA_OK)
        *out = bytes;
    else
        NORMA_FREE(bytes);
    return status;
}

norma_status norma_idx_read_root(const char *path, int n_axes, int64_t n_items, int64_t *extents,
                                 uint8_t **out)
{
    norma_gz file;
    NORMA_TRY(norma_gz_open_root(path, &file));
    norma_status status = read_file(&file, n_axes, n_items, extents, out);
    if (status != NORMA_OK) {
        (void)gzclose(file.gz);
        return status;
    }
    status = norma_gz_close_root(&file);
    if (status != NORMA_OK)
        NORMA_FREE(*out);
    return status;
}
