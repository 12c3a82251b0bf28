#include "io/input/gz.h"

#include <errno.h>
#include <inttypes.h>
#include <string.h>

/* Bytes of one call of zlib. */
#define PIECE 65536

norma_status norma_gz_open_root(const char *path, norma_gz *file)
{
    *file = (norma_gz){path, gzopen(path, "rb"), 0};
    if (!file->gz)
        return NORMA_FAIL(NORMA_CONFIG, "%s: cannot be opened: %s", path, strerror(errno));
    return NORMA_OK;
}

norma_status norma_gz_read_root(norma_gz *file, int64_t n, const char *what, uint8_t *out)
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

norma_status norma_gz_at_end_root(norma_gz *file, bool *at_end)
{
    uint8_t one = 0;
    int got = gzread(file->gz, &one, 1);
    *at_end = got == 0;
    if (got > 0)
        file->n_read++;
    if (got < 0)
        return NORMA_FAIL(NORMA_CONFIG, "%s: its gzip checksum is wrong or missing", file->path);
    return NORMA_OK;
}

norma_status norma_gz_close_root(norma_gz *file)
{
    if (gzclose(file->gz) != Z_OK)
        return NORMA_FAIL(NORMA_CONFIG, "%s: truncated: the end of its gzip data is missing",
                          file->path);
    return NORMA_OK;
}

norma_status norma_gz_size_root(const char *path, int64_t *n_bytes)
{
    uint8_t dropped[4096];
    norma_gz file;
    int got = 0;
    *n_bytes = 0;
    NORMA_TRY(norma_gz_open_root(path, &file));
    while ((got = gzread(file.gz, dropped, sizeof dropped)) > 0)
        *n_bytes += got;
    if (got == 0)
        return norma_gz_close_root(&file);
    (void)gzclose(file.gz);
    return NORMA_FAIL(NORMA_CONFIG, "%s: damaged after %" PRId64 " bytes", path, *n_bytes);
}
