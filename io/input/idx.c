#include "io/input/idx.h"

#include "io/input/gz.h"
#include "src/base/mem.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

typedef struct value_type {
    uint8_t code;
    int64_t size;
    const char *name;
} value_type;

static const value_type types[] = {{0x08, 1, "uint8"}, {0x09, 1, "int8"},    {0x0b, 2, "int16"},
                                   {0x0c, 4, "int32"}, {0x0d, 4, "float32"}, {0x0e, 8, "float64"}};

/* Values of one piece that is converted. */
enum { PIECE = 4096 };

static uint64_t big_endian(const uint8_t *bytes, int64_t n)
{
    uint64_t number = 0;
    for (int64_t k = 0; k < n; k++)
        number = number << 8 | bytes[k];
    return number;
}

static double convert(const value_type *type, const uint8_t *bytes)
{
    uint64_t bits = big_endian(bytes, type->size);
    if (type->name[0] == 'f') {
        uint32_t low = (uint32_t)bits;
        float single = 0;
        double value = 0;
        memcpy(&single, &low, sizeof single);
        memcpy(&value, &bits, sizeof value);
        return type->size == 4 ? (double)single : value;
    }
    double whole = ldexp(1, 8 * (int)type->size);
    return (double)bits < whole / 2 ? (double)bits : (double)bits - whole;
}

static norma_status fail_header(const norma_gz *file, const uint8_t *header, int min_axes,
                                int max_axes)
{
    char axes[32];
    snprintf(axes, sizeof axes, min_axes == max_axes ? "%d" : "%d to %d", min_axes, max_axes);
    return NORMA_FAIL(NORMA_CONFIG,
                      "%s: begins with %02x%02x%02x%02x; IDX begins with 0000, a type from 08 to "
                      "0e, and a number of axes, here %s",
                      file->path, header[0], header[1], header[2], header[3], axes);
}

static norma_status read_header(norma_gz *file, int min_axes, int max_axes, norma_idx *idx,
                                const value_type **type, int64_t *item_size)
{
    uint8_t header[4];
    NORMA_TRY(norma_gz_read_root(file, 4, "magic number", header));
    for (size_t k = 0; k < sizeof types / sizeof types[0]; k++)
        if (header[2] == types[k].code)
            *type = &types[k];
    idx->n_axes = header[3];
    if (header[0] != 0 || header[1] != 0 || !*type || idx->n_axes < min_axes ||
        idx->n_axes > max_axes)
        return fail_header(file, header, min_axes, max_axes);
    idx->type = (*type)->name;
    *item_size = 1;
    for (int k = 0; k < idx->n_axes; k++) {
        NORMA_TRY(norma_gz_read_root(file, 4, "extents", header));
        idx->extents[k] = (int64_t)big_endian(header, 4);
        if (idx->extents[k] < 1 || (k > 0 && idx->extents[k] > 65536))
            return NORMA_FAIL(NORMA_CONFIG,
                              "%s: extent %" PRId64 " on axis %d is not one of images "
                              "or labels",
                              file->path, idx->extents[k], k);
        if (k > 0)
            *item_size *= idx->extents[k];
        if (*item_size > INT32_MAX)
            return NORMA_FAIL(NORMA_CONFIG, "%s: its items are larger than 2^31", file->path);
    }
    return NORMA_OK;
}

static norma_status read_values(norma_gz *file, const value_type *type, int64_t n, double *values)
{
    uint8_t bytes[PIECE * sizeof(double)];
    for (int64_t at = 0; at < n; at += PIECE) {
        int64_t here = n - at < PIECE ? n - at : PIECE;
        NORMA_TRY(norma_gz_read_root(file, here * type->size, "values", bytes));
        for (int64_t k = 0; k < here; k++) {
            values[at + k] = convert(type, bytes + k * type->size);
            if (!isfinite(values[at + k]))
                return NORMA_FAIL(NORMA_CONFIG,
                                  "%s: value %" PRId64 " is %g; finite numbers are expected",
                                  file->path, at + k, values[at + k]);
        }
    }
    return NORMA_OK;
}

/* Refuses before any allocation a file that cannot hold what its header announces: gzip packs at
 * most 1032 bytes into one. */
static norma_status check_size(const norma_gz *file, int64_t n_items, int64_t item_bytes)
{
    struct stat about;
    if (stat(file->path, &about) == 0 && S_ISREG(about.st_mode) &&
        n_items > ((int64_t)about.st_size + 1) * 1032 / item_bytes)
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s: announces %" PRId64 " items of %" PRId64 " bytes and has %" PRId64
                          " bytes: it is cut short or no IDX file",
                          file->path, n_items, item_bytes, (int64_t)about.st_size);
    return NORMA_OK;
}

static norma_status read_file(norma_gz *file, int min_axes, int max_axes, int64_t n_items,
                              norma_idx *idx)
{
    int64_t item_size = 0;
    const value_type *type = NULL;
    bool at_end = false;
    NORMA_TRY(read_header(file, min_axes, max_axes, idx, &type, &item_size));
    n_items = n_items > 0 ? n_items : idx->extents[0];
    idx->n_items = n_items;
    if (idx->extents[0] < n_items)
        return NORMA_FAIL(NORMA_CONFIG, "%s: holds %" PRId64 " items, %" PRId64 " are asked for",
                          file->path, idx->extents[0], n_items);
    NORMA_TRY(check_size(file, idx->extents[0], item_size * type->size));
    int64_t n = n_items * item_size;
    if (type->code == 0x08) {
        NORMA_TRY(NORMA_ALLOC(idx->bytes, n));
        NORMA_TRY(norma_gz_read_root(file, n, "values", idx->bytes));
    } else {
        NORMA_TRY(NORMA_ALLOC(idx->values, n));
        NORMA_TRY(read_values(file, type, n, idx->values));
    }
    NORMA_TRY(norma_gz_read_root(file, (idx->extents[0] - n_items) * item_size * type->size,
                                 "values", NULL));
    NORMA_TRY(norma_gz_at_end_root(file, &at_end));
    if (!at_end)
        return NORMA_FAIL(NORMA_CONFIG, "%s: goes on after the %" PRId64 " items it announces",
                          file->path, idx->extents[0]);
    return NORMA_OK;
}

norma_status norma_idx_read_root(const char *path, int min_axes, int max_axes, int64_t n_items,
                                 norma_idx *out)
{
    norma_gz file;
    *out = (norma_idx){.n_axes = 0};
    NORMA_TRY(norma_gz_open_root(path, &file));
    norma_status status = read_file(&file, min_axes, max_axes, n_items, out);
    if (status == NORMA_OK)
        status = norma_gz_close_root(&file);
    else
        (void)gzclose(file.gz);
    if (status != NORMA_OK)
        norma_idx_clear(out);
    return status;
}

void norma_idx_clear(norma_idx *idx)
{
    NORMA_FREE(idx->bytes);
    NORMA_FREE(idx->values);
}
