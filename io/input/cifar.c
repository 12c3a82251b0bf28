#include "io/input/cifar.h"

#include "io/input/gz.h"
#include "src/base/mem.h"

#include <inttypes.h>

enum { PIXELS = NORMA_CIFAR_CHANNELS * NORMA_CIFAR_SIDE * NORMA_CIFAR_SIDE, MOST_LABELS = 2 };

/* How many label bytes a record has, by the size of the file, and how many records there are. */
static norma_status find_record(const char *path, int64_t *n_labels, int64_t *n_records)
{
    int64_t n_bytes = 0;
    NORMA_TRY(norma_gz_size_root(path, &n_bytes));
    bool ten = n_bytes % (PIXELS + 1) == 0;
    bool hundred = n_bytes % (PIXELS + 2) == 0;
    if (n_bytes == 0 || !(ten || hundred))
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s: holds %" PRId64 " bytes, which are not a whole number of CIFAR-10's "
                          "records of %d nor of CIFAR-100's of %d: truncated, or no CIFAR file",
                          path, n_bytes, PIXELS + 1, PIXELS + 2);
    if (ten && hundred)
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s: its size of %" PRId64 " bytes fits CIFAR-10 and CIFAR-100 alike; "
                          "split the file",
                          path, n_bytes);
    *n_labels = ten ? 1 : 2;
    *n_records = n_bytes / (PIXELS + *n_labels);
    return NORMA_OK;
}

static norma_status read_label(norma_gz *file, int64_t item, int64_t n_labels, int32_t *label)
{
    static const int limits[][MOST_LABELS] = {{10, 0}, {20, 100}};
    uint8_t found[MOST_LABELS] = {0};
    NORMA_TRY(norma_gz_read_root(file, n_labels, "labels", found));
    for (int64_t k = 0; k < n_labels; k++)
        if (found[k] >= limits[n_labels - 1][k])
            return NORMA_FAIL(
                NORMA_CONFIG, "%s: label %d of image %" PRId64 " is not one of CIFAR-%d's 0 to %d",
                file->path, found[k], item, n_labels == 1 ? 10 : 100, limits[n_labels - 1][k] - 1);
    *label = found[n_labels - 1];
    return NORMA_OK;
}

static norma_status read_records(const char *path, int64_t n_labels, int64_t n_items,
                                 uint8_t *pixels, int32_t *labels)
{
    norma_gz file;
    norma_status status = NORMA_OK;
    NORMA_TRY(norma_gz_open_root(path, &file));
    for (int64_t n = 0; n < n_items && status == NORMA_OK; n++) {
        status = read_label(&file, n, n_labels, &labels[n]);
        if (status == NORMA_OK)
            status = norma_gz_read_root(&file, PIXELS, "pixels", pixels + n * PIXELS);
    }
    /* The rest was checked when the size was found; a gzip file is left in its middle. */
    (void)gzclose(file.gz);
    return status;
}

norma_status norma_cifar_read_root(const char *path, int64_t n_items, uint8_t **pixels,
                                   int32_t **labels)
{
    norma_status status = NORMA_OK;
    int64_t n_labels = 0;
    int64_t n_records = 0;
    uint8_t *bytes = NULL;
    int32_t *numbers = NULL;
    NORMA_TRY(find_record(path, &n_labels, &n_records));
    if (n_records < n_items)
        return NORMA_FAIL(NORMA_CONFIG, "%s: holds %" PRId64 " items, %" PRId64 " are asked for",
                          path, n_records, n_items);
    NORMA_GOTO(status, NORMA_ALLOC(bytes, n_items * PIXELS));
    NORMA_GOTO(status, NORMA_ALLOC(numbers, n_items));
    NORMA_GOTO(status, read_records(path, n_labels, n_items, bytes, numbers));
    *pixels = bytes;
    *labels = numbers;
    return NORMA_OK;
done:
    NORMA_FREE(bytes);
    NORMA_FREE(numbers);
    return status;
}
