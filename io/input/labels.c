#include "io/input/labels.h"

#include "io/input/idx.h"
#include "src/base/mem.h"

#include <ctype.h>
#include <dirent.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { QMNIST_COLUMNS = 8 };

/* [n] or [n, 1], as many as images; n_columns is the width of a row. */
static norma_status check_shape(const char *where, int rank, const int64_t *extents,
                                int64_t n_images, bool qmnist)
{
    int64_t columns = rank > 1 ? extents[1] : 1;
    if (extents[0] != n_images)
        return NORMA_FAIL(NORMA_CONFIG, "%s: holds %" PRId64 " labels for %" PRId64 " images",
                          where, extents[0], n_images);
    if (columns == 1 || (qmnist && columns == QMNIST_COLUMNS))
        return NORMA_OK;
    return NORMA_FAIL(NORMA_CONFIG,
                      "%s: has extents [%" PRId64 ", %" PRId64 "]; one class number an image is "
                      "expected: store labels.argmax(axis=1) where they are one-hot",
                      where, extents[0], columns);
}

/* The first n_items of n rows of `columns` numbers, and the range of all. */
static norma_status take(const double *values, int64_t n, int64_t columns, int64_t n_items,
                         norma_labels *labels)
{
    int32_t *numbers = NULL;
    labels->low = INT32_MAX;
    labels->high = 0;
    for (int64_t i = 0; i < n; i++) {
        double value = values[i * columns];
        if (!(value >= 0 && value <= INT32_MAX) || value != floor(value))
            return NORMA_FAIL(NORMA_CONFIG,
                              "%s: label %g of image %" PRId64 "; whole numbers from 0 on "
                              "are expected",
                              labels->where, value, i);
        int32_t number = (int32_t)value;
        labels->low = number < labels->low ? number : labels->low;
        labels->high = number > labels->high ? number : labels->high;
    }
    NORMA_TRY(NORMA_ALLOC(numbers, n_items));
    for (int64_t i = 0; i < n_items; i++)
        numbers[i] = (int32_t)values[i * columns];
    labels->numbers = numbers;
    return NORMA_OK;
}

/* How well the name of a file suits labels: 0 not at all. */
static int suits(const char *name, const char *stem, size_t length)
{
    const char *rest = name + length + strlen("labels");
    if (strncmp(name, stem, length) != 0 || strncmp(name + length, "labels", 6) != 0 ||
        isalnum((unsigned char)rest[0]))
        return 0;
    return strstr(rest, "idx1") ? 3 : strstr(rest, "idx2") ? 2 : strstr(rest, "idx") ? 1 : 0;
}

/* The file of labels beside that of images; plain ahead of gzip. */
static bool find_file(const char *images, char path[NORMA_LABELS_PATH])
{
    char folder[NORMA_LABELS_PATH];
    const char *slash = strrchr(images, '/');
    const char *base = slash ? slash + 1 : images;
    const char *at = strstr(base, "images");
    int best = 0;
    if (!at)
        return false;
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - images + 1) : 2,
             slash ? images : "./");
    DIR *listing = opendir(folder);
    if (!listing)
        return false;
    for (struct dirent *entry = readdir(listing); entry; entry = readdir(listing)) {
        const char *ending = strrchr(entry->d_name, '.');
        bool zipped = ending && strcmp(ending, ".gz") == 0;
        int found = 2 * suits(entry->d_name, base, (size_t)(at - base)) - (zipped ? 1 : 0);
        int n = found > best
                    ? snprintf(path, NORMA_LABELS_PATH, "%s%s", slash ? folder : "", entry->d_name)
                    : 0;
        if (n > 0 && n < NORMA_LABELS_PATH)
            best = found;
    }
    closedir(listing);
    return best > 0;
}

norma_status norma_labels_read_idx_root(const char *images, int64_t n_images, int64_t n_items,
                                        norma_labels *labels)
{
    norma_idx idx;
    double *values = NULL;
    labels->numbers = NULL;
    labels->where[0] = '\0';
    if (!find_file(images, labels->where))
        return NORMA_OK;
    NORMA_TRY(norma_idx_read_root(labels->where, 1, 2, 0, &idx));
    int64_t columns = idx.n_axes > 1 ? idx.extents[1] : 1;
    norma_status status = check_shape(labels->where, idx.n_axes, idx.extents, n_images,
                                      strcmp(idx.type, "int32") == 0);
    if (status == NORMA_OK && idx.bytes)
        status = NORMA_ALLOC(values, idx.n_items * columns);
    for (int64_t k = 0; status == NORMA_OK && idx.bytes && k < idx.n_items * columns; k++)
        values[k] = idx.bytes[k];
    if (status == NORMA_OK)
        status = take(values ? values : idx.values, idx.n_items, columns, n_items, labels);
    NORMA_FREE(values);
    norma_idx_clear(&idx);
    return status;
}

/* Is the part of a name between separators? */
static bool is_part(const char *name, const char *at, size_t length)
{
    return (at == name || !isalnum((unsigned char)at[-1])) && !isalnum((unsigned char)at[length]);
}

/* out = the name with `to` for its part `from`; false when it has no such part. */
static bool replace_part(const char *name, const char *from, const char *to,
                         char out[NORMA_LABELS_PATH])
{
    size_t length = strlen(from);
    for (const char *at = strstr(name, from); at; at = strstr(at + 1, from))
        if (is_part(name, at, length)) {
            int n = snprintf(out, NORMA_LABELS_PATH, "%.*s%s%s", (int)(at - name), name, to,
                             at + length);
            return n > 0 && n < NORMA_LABELS_PATH;
        }
    return false;
}

/* The dataset of labels: first the names that go with the name of the images. */
static bool find_dataset(const norma_h5_input *input, const char *path, char out[NORMA_LABELS_PATH])
{
    static const char *const pairs[][2] = {
        {"images", "labels"}, {"image", "label"},     {"x", "y"},           {"X", "y"},
        {"X", "Y"},           {"data", "labels"},     {"data", "label"},    {"data", "targets"},
        {"data", "target"},   {"features", "labels"}, {"inputs", "labels"}, {"inputs", "targets"}};
    static const char *const names[] = {"labels", "label", "targets", "target", "y", "classes"};
    char name[NORMA_LABELS_PATH];
    const char *slash = strrchr(path, '/');
    int length = slash ? (int)(slash - path + 1) : 0;
    const char *group = slash ? path : "";
    const char *base = slash ? slash + 1 : path;
    for (size_t k = 0; k < sizeof pairs / sizeof pairs[0]; k++)
        if (replace_part(base, pairs[k][0], pairs[k][1], name)) {
            int n = snprintf(out, NORMA_LABELS_PATH, "%.*s%s", length, group, name);
            if (n > 0 && n < NORMA_LABELS_PATH && norma_h5_input_has_root(input, out))
                return true;
        }
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        int n = snprintf(out, NORMA_LABELS_PATH, "%.*s%s", length, group, names[k]);
        if (n > 0 && n < NORMA_LABELS_PATH && strcmp(names[k], base) != 0 &&
            norma_h5_input_has_root(input, out))
            return true;
    }
    return false;
}

norma_status norma_labels_read_h5_root(const norma_h5_input *input, const char *path,
                                       int64_t n_images, int64_t n_items, norma_labels *labels)
{
    char inside[NORMA_LABELS_PATH];
    int rank = 0;
    int64_t extents[NORMA_H5_INPUT_MAX_RANK] = {0};
    double *values = NULL;
    labels->numbers = NULL;
    labels->where[0] = '\0';
    if (!find_dataset(input, path, inside))
        return NORMA_OK;
    snprintf(labels->where, sizeof labels->where, "%.500s: %.500s", norma_h5_input_name_root(input),
             inside);
    NORMA_TRY(norma_h5_input_shape_root(input, inside, 1, 2, &rank, extents));
    NORMA_TRY(check_shape(labels->where, rank, extents, n_images, false));
    NORMA_TRY(NORMA_ALLOC(values, n_images));
    norma_status status = norma_h5_input_read_root(input, inside, rank, extents, values);
    if (status == NORMA_OK)
        status = take(values, n_images, 1, n_items, labels);
    NORMA_FREE(values);
    return status;
}
