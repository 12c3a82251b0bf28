#include "io/idx.h"

#include "src/base/mem.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>
#include <zlib.h>

/* Bytes of one call of zlib. */
#define PIECE 65536

/* A file under way: its name for messages, and what was read. */
typedef struct idx_file {
    const char *path;
    gzFile gz;
    int64_t n_read;
} idx_file;

/* Reads n bytes, or says why not. out == NULL: they are dropped. */
static norma_status read_bytes(idx_file *file, int64_t n, const char *what, uint8_t *out)
{
    uint8_t dropped[4096];
    while (n > 0) {
        int64_t limit = out ? PIECE : (int64_t)sizeof dropped;
        int64_t wanted = n < limit ? n : limit;
        int got = gzread(file->gz, out ? out : dropped, (unsigned)wanted);
        int zlib_error = Z_OK;
        const char *reason = gzerror(file->gz, &zlib_error);
        if (strncmp(reason, file->path, strlen(file->path)) == 0) /* zlib says the name itself */
            reason += strlen(file->path) + strspn(reason + strlen(file->path), ": ");
        if (got < 0 && zlib_error != Z_BUF_ERROR)
            return NORMA_FAIL(NORMA_CONFIG, "%s: damaged after %" PRId64 " bytes (%s)", file->path,
                              file->n_read, zlib_error == Z_ERRNO ? strerror(errno) : reason);
        if (got > 0)
            file->n_read += got;
        if (got < wanted)
            return NORMA_FAIL(NORMA_CONFIG,
                              "%s: truncated: ends after %" PRId64 " bytes, within its %s",
                              file->path, file->n_read, what);
        n -= got;
        if (out)
            out += got;
    }
    return NORMA_OK;
}

static int64_t big_endian(const uint8_t *bytes)
{
    return (int64_t)bytes[0] << 24 | (int64_t)bytes[1] << 16 | (int64_t)bytes[2] << 8 | bytes[3];
}

static norma_status read_header(idx_file *file, int n_axes, int64_t *extents, int64_t *item_size)
{
    uint8_t header[4];
    NORMA_TRY(read_bytes(file, 4, "magic number", header));
    if (header[0] != 0 || header[1] != 0 || header[2] != 0x08 || header[3] != n_axes)
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s: begins with %02x%02x%02x%02x; IDX with unsigned bytes on %d %s, "
                          "000008%02x, is expected",
                          file->path, header[0], header[1], header[2], header[3], n_axes,
                          n_axes == 1 ? "axis" : "axes", (unsigned)n_axes);
    *item_size = 1;
    for (int k = 0; k < n_axes; k++) {
        NORMA_TRY(read_bytes(file, 4, "extents", header));
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

static norma_status read_file(idx_file *file, int n_axes, int64_t n_items, int64_t *extents,
                              uint8_t **out)
{
    norma_status status = NORMA_OK;
    int64_t item_size = 0;
    uint8_t *bytes = NULL;
    uint8_t one = 0;
    NORMA_TRY(read_header(file, n_axes, extents, &item_size));
    if (extents[0] < n_items)
        return NORMA_FAIL(NORMA_CONFIG, "%s: holds %" PRId64 " items, %" PRId64 " are asked for",
                          file->path, extents[0], n_items);
    NORMA_TRY(NORMA_ALLOC(bytes, n_items * item_size));
    NORMA_GOTO(status, read_bytes(file, n_items * item_size, "values", bytes));
    NORMA_GOTO(status, read_bytes(file, (extents[0] - n_items) * item_size, "values", NULL));
    int got = gzread(file->gz, &one, 1);
    if (got > 0) {
        status = NORMA_FAIL(NORMA_CONFIG, "%s: goes on after the %" PRId64 " items it announces",
                            file->path, extents[0]);
        goto done;
    }
    if (got < 0)
        status = NORMA_FAIL(NORMA_CONFIG, "%s: its gzip checksum is wrong or missing", file->path);
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
    idx_file file = {path, gzopen(path, "rb"), 0};
    if (!file.gz)
        return NORMA_FAIL(NORMA_CONFIG, "%s: cannot be opened: %s", path, strerror(errno));
    norma_status status = read_file(&file, n_axes, n_items, extents, out);
    int closed = gzclose(file.gz);
    if (status == NORMA_OK && closed != Z_OK) {
        NORMA_FREE(*out);
        status =
            NORMA_FAIL(NORMA_CONFIG, "%s: truncated: the end of its gzip data is missing", path);
    }
    return status;
}
