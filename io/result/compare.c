#include "io/result/compare.h"

#include "io/result/h5.h"
#include "io/result/provenance.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"
#include "src/base/mem.h"
#include "src/base/text.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* Values that are held of each file at a time, but for rows that are longer. */
enum { SLAB = 1 << 20 };

/* The two files of a comparison, and the tally of it. */
typedef struct comparison {
    hid_t files[2];
    const char *paths[2];
    norma_compare_options *options;
    int lacking; /* the file whose lack of a variable is reported by the present walk */
    norma_status status;
} comparison;

/* A variable in both files while its slabs are read. */
typedef struct pair {
    hid_t datasets[2];
    int n_axes;
    hsize_t extents[H5S_MAX_RANK];
    int64_t n_values, row;
    double largest, magnitude; /* largest |a - b|; largest |a|, |b| */
    int64_t n_unequal, at;     /* values that are not equal; index of the largest difference */
    bool missing_differs;      /* NaN or an infinity in one file only */
} pair;

bool norma_compare_is_measurement_local(const char *units)
{
    static const char *const all[] = {"s", "1e9 s-1", "byte"};
    for (size_t i = 0; units && i < sizeof all / sizeof all[0]; i++)
        if (strcmp(units, all[i]) == 0)
            return true;
    return false;
}

static bool is_measurement(hid_t dataset)
{
    char *units = NULL;
    if (norma_h5_get_text_local(dataset, "units", &units) != NORMA_OK)
        norma_status_clear();
    bool found = norma_compare_is_measurement_local(units);
    norma_mem_free(units);
    return found;
}

/* "[2, 7]": the index of a value. */
static void format_index(const pair *p, int64_t at, char *out, size_t size)
{
    int64_t rest = at;
    int64_t index[H5S_MAX_RANK];
    int used = 0;
    for (int i = p->n_axes - 1; i >= 0; i--) {
        index[i] = rest % (int64_t)p->extents[i];
        rest /= (int64_t)p->extents[i];
    }
    out[0] = '\0';
    for (int i = 0; i < p->n_axes && used >= 0 && (size_t)used < size; i++)
        used += snprintf(out + used, size - (size_t)used, "%s%lld%s", i ? ", " : "[",
                         (long long)index[i], i == p->n_axes - 1 ? "]" : "");
}

static void tally(pair *p, const double *a, const double *b, int64_t first, int64_t n)
{
    for (int64_t i = 0; i < n; i++) {
        bool equal = a[i] == b[i] || (isnan(a[i]) && isnan(b[i]));
        if (isfinite(a[i]))
            p->magnitude = fmax(p->magnitude, fabs(a[i]));
        if (isfinite(b[i]))
            p->magnitude = fmax(p->magnitude, fabs(b[i]));
        if (equal)
            continue;
        double difference = fabs(a[i] - b[i]);
        bool finite = isfinite(a[i]) && isfinite(b[i]);
        if (p->n_unequal++ == 0 ||
            (finite ? !p->missing_differs && difference > p->largest : !p->missing_differs))
            p->at = first + i;
        if (finite)
            p->largest = fmax(p->largest, difference);
        else
            p->missing_differs = true;
    }
}

/* Rows [start, start + n) of a dataset as doubles; a scalar is one row. */
static norma_status read_rows(const pair *p, int side, int64_t start, int64_t n, double *out)
{
    hsize_t from[H5S_MAX_RANK] = {(hsize_t)start};
    hsize_t count[H5S_MAX_RANK];
    hsize_t length = (hsize_t)n * (hsize_t)p->row;
    hid_t memory = H5Screate_simple(1, &length, NULL);
    hid_t file = H5Dget_space(p->datasets[side]);
    memcpy(count, p->extents, sizeof count);
    count[0] = (hsize_t)n;
    herr_t result = 0;
    if (p->n_axes > 0)
        result = H5Sselect_hyperslab(file, H5S_SELECT_SET, from, NULL, count, NULL);
    if (result >= 0)
        result = H5Dread(p->datasets[side], H5T_NATIVE_DOUBLE, memory, file, H5P_DEFAULT, out);
    H5Sclose(file);
    H5Sclose(memory);
    return result >= 0 ? NORMA_OK : NORMA_H5_FAIL(NORMA_CONFIG, "values cannot be read");
}

static norma_status compare_values(pair *p)
{
    double *a = NULL;
    double *b = NULL;
    int64_t n_rows = p->row > 0 ? p->n_values / p->row : 0;
    int64_t step = p->row < SLAB ? SLAB / (p->row > 0 ? p->row : 1) : 1;
    norma_status status = NORMA_ALLOC(a, step * p->row);
    if (status == NORMA_OK)
        status = NORMA_ALLOC(b, step * p->row);
    for (int64_t start = 0; start < n_rows && status == NORMA_OK; start += step) {
        int64_t n = n_rows - start < step ? n_rows - start : step;
        status = read_rows(p, 0, start, n, a);
        if (status == NORMA_OK)
            status = read_rows(p, 1, start, n, b);
        if (status == NORMA_OK)
            tally(p, a, b, start * p->row, n * p->row);
    }
    norma_mem_free(a);
    norma_mem_free(b);
    return status;
}

static norma_status report_values(comparison *c, pair *p, const char *path)
{
    char index[256];
    NORMA_TRY(compare_values(p));
    if (p->n_unequal == 0 ||
        (!p->missing_differs && p->largest <= c->options->tolerance * p->magnitude))
        return NORMA_OK;
    c->options->n_differing++;
    format_index(p, p->at, index, sizeof index);
    norma_log_result("%-40s %lld of %lld values differ, largest difference %.3g (%.3g of the "
                     "largest value) at %s%s",
                     path, (long long)p->n_unequal, (long long)p->n_values, p->largest,
                     p->magnitude > 0 ? p->largest / p->magnitude : 0.0, index,
                     p->missing_differs ? ", missing or infinite in one file" : "");
    return NORMA_OK;
}

/* The text of a scalar string dataset of fixed length; owned by the caller. */
static norma_status read_text(hid_t dataset, char **out)
{
    hid_t type = H5Dget_type(dataset);
    int64_t size = (int64_t)H5Tget_size(type);
    norma_status status = NORMA_CALLOC(*out, size + 1);
    if (status == NORMA_OK && (H5Tis_variable_str(type) > 0 ||
                               H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, *out) < 0))
        status = NORMA_H5_FAIL(NORMA_CONFIG, "a text cannot be read");
    H5Tclose(type);
    return status;
}

static norma_status report_texts(comparison *c, const pair *p, const char *path)
{
    char *texts[2] = {NULL, NULL};
    norma_status status = read_text(p->datasets[0], &texts[0]);
    if (status == NORMA_OK)
        status = read_text(p->datasets[1], &texts[1]);
    if (status == NORMA_OK && strcmp(texts[0], texts[1]) != 0) {
        c->options->n_differing++;
        norma_log_result("%-40s the texts differ", path);
    }
    norma_mem_free(texts[0]);
    norma_mem_free(texts[1]);
    return status;
}

/* Shape of both; true when they are equal. */
static bool shapes_agree(pair *p)
{
    hsize_t other[H5S_MAX_RANK] = {0};
    hid_t spaces[2] = {H5Dget_space(p->datasets[0]), H5Dget_space(p->datasets[1])};
    p->n_axes = H5Sget_simple_extent_dims(spaces[0], p->extents, NULL);
    p->n_values = H5Sget_simple_extent_npoints(spaces[0]);
    int n_other = H5Sget_simple_extent_dims(spaces[1], other, NULL);
    bool equal =
        p->n_axes == n_other &&
        (p->n_axes <= 0 || memcmp(p->extents, other, (size_t)p->n_axes * sizeof other[0]) == 0);
    p->row =
        p->n_axes > 0 && p->extents[0] > 0 ? p->n_values / (int64_t)p->extents[0] : p->n_values;
    H5Sclose(spaces[0]);
    H5Sclose(spaces[1]);
    return equal;
}

static norma_status report_pair(comparison *c, pair *p, const char *path)
{
    hid_t types[2] = {H5Dget_type(p->datasets[0]), H5Dget_type(p->datasets[1])};
    H5T_class_t kind = H5Tget_class(types[0]);
    bool same_type = kind == H5Tget_class(types[1]) &&
                     (kind == H5T_STRING || H5Tget_size(types[0]) == H5Tget_size(types[1]));
    H5Tclose(types[0]);
    H5Tclose(types[1]);
    bool same_shape = shapes_agree(p);
    if (!same_type || !same_shape) {
        c->options->n_differing++;
        norma_log_result("%-40s %s differ", path, same_type ? "the shapes" : "the types");
        return NORMA_OK;
    }
    return kind == H5T_STRING ? report_texts(c, p, path) : report_values(c, p, path);
}

static norma_status compare_dataset(comparison *c, const char *path)
{
    if (path[0] == '/' && norma_provenance_has_dataset_local(path + 1))
        return NORMA_OK;
    hid_t mine = H5Dopen2(c->files[1 - c->lacking], path, H5P_DEFAULT);
    if (mine < 0)
        return NORMA_H5_FAIL(NORMA_CONFIG, "%s: %s cannot be opened", c->paths[1 - c->lacking],
                             path);
    norma_status status = NORMA_OK;
    bool left_out = !c->options->measurements && is_measurement(mine);
    H5E_BEGIN_TRY
    {
        hid_t other =
            left_out ? H5I_INVALID_HID : H5Dopen2(c->files[c->lacking], path, H5P_DEFAULT);
        if (!left_out && other < 0) {
            c->options->n_compared++;
            c->options->n_differing++;
            norma_log_result("%-40s is not in %s", path, c->paths[c->lacking]);
        } else if (!left_out && c->lacking == 1) {
            pair p = {.datasets = {mine, other}};
            c->options->n_compared++;
            status = report_pair(c, &p, path);
        }
        if (other >= 0)
            H5Dclose(other);
    }
    H5E_END_TRY
    H5Dclose(mine);
    return status == NORMA_OK ? status : norma_status_context(status, "%s: ", path);
}

static herr_t visit(hid_t root, const char *name, const H5O_info_t *about, void *data)
{
    comparison *c = data;
    norma_text path;
    char *whole = NULL;
    (void)root;
    if (about->type != H5O_TYPE_DATASET)
        return 0;
    norma_text_init(&path);
    norma_text_append(&path, "/%s", name);
    c->status = norma_text_take(&path, &whole);
    if (c->status == NORMA_OK)
        c->status = compare_dataset(c, whole);
    norma_mem_free(whole);
    return c->status == NORMA_OK ? 0 : -1;
}

/* Every dataset of the file that is not `lacking`. */
static norma_status walk(comparison *c, int lacking)
{
    c->lacking = lacking;
    herr_t result = H5Ovisit(c->files[1 - lacking], H5_INDEX_NAME, H5_ITER_INC, visit, c);
    if (c->status != NORMA_OK)
        return c->status;
    return result >= 0 ? NORMA_OK
                       : NORMA_H5_FAIL(NORMA_CONFIG, "%s cannot be read", c->paths[1 - lacking]);
}

static norma_status compare_root(const char *a, const char *b, norma_compare_options *options)
{
    comparison c = {.files = {H5I_INVALID_HID, H5I_INVALID_HID},
                    .paths = {a, b},
                    .options = options,
                    .status = NORMA_OK};
    norma_status status = norma_h5_open_local(a, &c.files[0]);
    if (status == NORMA_OK)
        status = norma_h5_open_local(b, &c.files[1]);
    if (status == NORMA_OK)
        status = walk(&c, 1);
    if (status == NORMA_OK)
        status = walk(&c, 0);
    for (int i = 0; i < 2; i++)
        if (c.files[i] >= 0)
            H5Fclose(c.files[i]);
    return status;
}

norma_status norma_compare_print(MPI_Comm comm, const char *a, const char *b,
                                 norma_compare_options *options)
{
    int rank = 0;
    int64_t counts[2] = {0, 0};
    MPI_Comm_rank(comm, &rank);
    options->n_compared = 0;
    options->n_differing = 0;
    NORMA_TRY(norma_agree(comm, rank == 0 ? compare_root(a, b, options) : NORMA_OK));
    counts[0] = options->n_compared;
    counts[1] = options->n_differing;
    MPI_Bcast(counts, 2, MPI_INT64_T, 0, comm);
    options->n_compared = counts[0];
    options->n_differing = counts[1];
    return NORMA_OK;
}
