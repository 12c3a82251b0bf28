#include "io/input/h5_input.h"

#include "io/result/h5.h"
#include "src/base/mem.h"
#include "src/base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

struct norma_h5_input {
    hid_t file;
    char *name; /* owned */
};

/* Longest path inside a file that is looked at. */
#define PATH_LENGTH 512

norma_status norma_h5_input_open_root(const char *path, norma_h5_input **out)
{
    norma_status status = NORMA_OK;
    norma_h5_input *input = NULL;
    norma_h5_prepare_local();
    NORMA_GOTO(status, NORMA_CALLOC(input, 1));
    input->file = H5I_INVALID_HID;
    input->name = norma_mem_strdup(path);
    if (!input->name)
        NORMA_GOTO(status, NORMA_MEMORY);
    NORMA_GOTO(status, norma_h5_open_local(path, &input->file));
    norma_h5_warn_of_kernel_local(input->file, path);
    *out = input;
    return NORMA_OK;
done:
    norma_h5_input_close_root(&input);
    return status;
}

void norma_h5_input_close_root(norma_h5_input **input)
{
    if (!*input)
        return;
    if ((*input)->file >= 0)
        H5Fclose((*input)->file);
    NORMA_FREE((*input)->name);
    NORMA_FREE(*input);
}

const char *norma_h5_input_name_root(const norma_h5_input *input)
{
    return input->name;
}

bool norma_h5_input_has_root(const norma_h5_input *input, const char *path)
{
    /* HDF5 answers for the last link only: every one before it must be there. */
    char part[PATH_LENGTH];
    size_t length = strlen(path);
    if (length >= sizeof part)
        return false;
    for (size_t n = 1; n <= length; n++) {
        if (n < length && path[n] != '/')
            continue;
        if (path[n - 1] == '/')
            continue;
        memcpy(part, path, n);
        part[n] = '\0';
        if (H5Lexists(input->file, part, H5P_DEFAULT) <= 0 ||
            H5Oexists_by_name(input->file, part, H5P_DEFAULT) <= 0) {
            H5Eclear2(H5E_DEFAULT);
            return false;
        }
    }
    return true;
}

bool norma_h5_input_has_attribute_root(const norma_h5_input *input, const char *object,
                                       const char *name)
{
    return H5Aexists_by_name(input->file, object, name, H5P_DEFAULT) > 0;
}

static H5O_type_t object_type(const norma_h5_input *input, const char *path)
{
    H5O_info_t info;
    if (H5Oget_info_by_name2(input->file, path, &info, H5O_INFO_BASIC, H5P_DEFAULT) < 0) {
        H5Eclear2(H5E_DEFAULT);
        return H5O_TYPE_UNKNOWN;
    }
    return info.type;
}

bool norma_h5_input_is_group_root(const norma_h5_input *input, const char *path)
{
    return norma_h5_input_has_root(input, path) && object_type(input, path) == H5O_TYPE_GROUP;
}

norma_status norma_h5_input_count_root(const norma_h5_input *input, const char *group, int64_t *n)
{
    H5G_info_t info;
    if (H5Gget_info_by_name(input->file, group, &info, H5P_DEFAULT) < 0)
        return NORMA_H5_FAIL(NORMA_CONFIG, "%s: %s: cannot be read as a group", input->name, group);
    *n = (int64_t)info.nlinks;
    return NORMA_OK;
}

norma_status norma_h5_input_member_root(const norma_h5_input *input, const char *group, int64_t i,
                                        char *name, int length)
{
    if (H5Lget_name_by_idx(input->file, group, H5_INDEX_NAME, H5_ITER_INC, (hsize_t)i, name,
                           (size_t)length, H5P_DEFAULT) < 0)
        return NORMA_H5_FAIL(NORMA_CONFIG, "%s: %s: member %" PRId64 " cannot be read", input->name,
                             group, i);
    return NORMA_OK;
}

norma_status norma_h5_input_count_attributes_root(const norma_h5_input *input, const char *object,
                                                  int64_t *n)
{
    H5O_info_t info;
    if (H5Oget_info_by_name2(input->file, object, &info, H5O_INFO_NUM_ATTRS, H5P_DEFAULT) < 0)
        return NORMA_H5_FAIL(NORMA_CONFIG, "%s: %s: its attributes cannot be read", input->name,
                             object);
    *n = (int64_t)info.num_attrs;
    return NORMA_OK;
}

norma_status norma_h5_input_attribute_root(const norma_h5_input *input, const char *object,
                                           int64_t i, char *name, int length)
{
    if (H5Aget_name_by_idx(input->file, object, H5_INDEX_NAME, H5_ITER_INC, (hsize_t)i, name,
                           (size_t)length, H5P_DEFAULT) < 0)
        return NORMA_H5_FAIL(NORMA_CONFIG, "%s: %s: attribute %" PRId64 " cannot be read",
                             input->name, object, i);
    return NORMA_OK;
}

/* "no such dataset", with the nearest name in its group. */
static norma_status fail_missing(const norma_h5_input *input, const char *path)
{
    char group[PATH_LENGTH];
    char nearest[PATH_LENGTH] = "";
    const char *slash = strrchr(path, '/');
    const char *word = slash ? slash + 1 : path;
    int64_t distance = INT64_MAX;
    int64_t n = 0;
    snprintf(group, sizeof group, "%.*s", slash && slash > path ? (int)(slash - path) : 1,
             slash ? path : "/");
    if (!norma_h5_input_is_group_root(input, group))
        return NORMA_FAIL(NORMA_CONFIG, "%s: %s: there is no such dataset (nor a group %s)",
                          input->name, path, group);
    NORMA_TRY(norma_h5_input_count_root(input, group, &n));
    for (int64_t i = 0; i < n; i++) {
        char name[PATH_LENGTH];
        norma_text_search search;
        NORMA_TRY(norma_h5_input_member_root(input, group, i, name, sizeof name));
        norma_text_search_init(&search, word);
        norma_text_search_offer(&search, name);
        if (norma_text_search_result(&search) && search.distance < distance) {
            distance = search.distance;
            memcpy(nearest, name, sizeof nearest);
        }
    }
    if (nearest[0])
        return NORMA_FAIL(NORMA_CONFIG, "%s: %s: there is no such dataset (did you mean '%s'?)",
                          input->name, path, nearest);
    return NORMA_FAIL(NORMA_CONFIG, "%s: %s: there is no such dataset", input->name, path);
}

static bool is_enum_bool(hid_t type)
{
    bool found = false;
    for (int i = 0; i < H5Tget_nmembers(type); i++) {
        char *name = H5Tget_member_name(type, (unsigned)i);
        found = found || (name && strcmp(name, "TRUE") == 0);
        H5free_memory(name);
    }
    return found;
}

static bool is_complex(hid_t type)
{
    bool found = false;
    if (H5Tget_nmembers(type) == 2) {
        char *name = H5Tget_member_name(type, 0);
        found = name && (name[0] == 'r' || name[0] == 'R');
        H5free_memory(name);
    }
    return found;
}

/* What a type is called when it cannot be read as numbers; NULL when it can. */
static const char *refused_type(hid_t type)
{
    switch (H5Tget_class(type)) {
    case H5T_INTEGER:
    case H5T_FLOAT:
        return NULL;
    case H5T_ENUM:
        return is_enum_bool(type) ? "bool" : "an enumeration";
    case H5T_COMPOUND:
        return is_complex(type) ? "complex" : "compound";
    case H5T_STRING:
        return "string";
    case H5T_BITFIELD:
        return "a bit field";
    case H5T_OPAQUE:
        return "opaque";
    case H5T_REFERENCE:
        return "a reference";
    case H5T_VLEN:
        return "of variable length";
    case H5T_ARRAY:
        return "an array type";
    default:
        return "of an unknown type";
    }
}

/* "[2, 3]" */
static const char *format_extents(int rank, const int64_t *extents, char *text, size_t size)
{
    size_t used = (size_t)snprintf(text, size, "[");
    for (int k = 0; k < rank && used < size; k++)
        used +=
            (size_t)snprintf(text + used, size - used, "%s%" PRId64, k > 0 ? ", " : "", extents[k]);
    if (used < size)
        snprintf(text + used, size - used, "]");
    return text;
}

/* Opens a numeric dataset, refusing all else. */
static norma_status open_dataset(const norma_h5_input *input, const char *path, hid_t *out)
{
    if (!norma_h5_input_has_root(input, path))
        return fail_missing(input, path);
    if (object_type(input, path) != H5O_TYPE_DATASET)
        return NORMA_FAIL(NORMA_CONFIG, "%s: %s: is %s, a dataset is expected", input->name, path,
                          object_type(input, path) == H5O_TYPE_GROUP ? "a group" : "a type");
    hid_t dataset = H5Dopen2(input->file, path, H5P_DEFAULT);
    if (dataset < 0)
        return NORMA_H5_FAIL(NORMA_CONFIG, "%s: %s: cannot be opened", input->name, path);
    hid_t type = H5Dget_type(dataset);
    const char *refused = refused_type(type);
    H5Tclose(type);
    if (refused) {
        H5Dclose(dataset);
        return NORMA_FAIL(NORMA_CONFIG, "%s: %s: is %s; real numbers are expected", input->name,
                          path, refused);
    }
    *out = dataset;
    return NORMA_OK;
}

/* Rank and extents of an open dataset or attribute's space; closes the space. */
static norma_status read_space(const norma_h5_input *input, const char *path, hid_t space,
                               int min_rank, int max_rank, int *rank, int64_t *extents)
{
    hsize_t dims[H5S_MAX_RANK];
    bool null = H5Sget_simple_extent_type(space) == H5S_NULL;
    *rank = H5Sget_simple_extent_ndims(space);
    H5Sget_simple_extent_dims(space, dims, NULL);
    H5Sclose(space);
    if (null)
        return NORMA_FAIL(NORMA_CONFIG, "%s: %s: is empty", input->name, path);
    if (*rank < min_rank || *rank > max_rank) {
        char wanted[32];
        if (min_rank == max_rank)
            snprintf(wanted, sizeof wanted, "%d", max_rank);
        else
            snprintf(wanted, sizeof wanted, "%d to %d", min_rank, max_rank);
        return NORMA_FAIL(NORMA_CONFIG, "%s: %s: has %d %s, expected: %s", input->name, path, *rank,
                          *rank == 1 ? "axis" : "axes", wanted);
    }
    for (int k = 0; k < *rank; k++)
        extents[k] = (int64_t)dims[k];
    for (int k = 0; k < *rank; k++)
        if (extents[k] == 0) {
            char text[128];
            return NORMA_FAIL(NORMA_CONFIG, "%s: %s: has extents %s, nothing is in it", input->name,
                              path, format_extents(*rank, extents, text, sizeof text));
        }
    return NORMA_OK;
}

norma_status norma_h5_input_shape_root(const norma_h5_input *input, const char *path, int min_rank,
                                       int max_rank, int *rank,
                                       int64_t extents[NORMA_H5_INPUT_MAX_RANK])
{
    hid_t dataset = H5I_INVALID_HID;
    NORMA_TRY(open_dataset(input, path, &dataset));
    hid_t space = H5Dget_space(dataset);
    H5Dclose(dataset);
    return read_space(input, path, space, min_rank, max_rank, rank, extents);
}

/* Names the first value that is not finite: [1, 0, 2]. */
static norma_status check_finite(const norma_h5_input *input, const char *path, int rank,
                                 const int64_t *extents, int64_t n, const double *values)
{
    for (int64_t k = 0; k < n; k++)
        if (!isfinite(values[k])) {
            int64_t index[NORMA_H5_INPUT_MAX_RANK];
            char text[128];
            int64_t rest = k;
            for (int axis = rank - 1; axis >= 0; axis--) {
                index[axis] = rest % extents[axis];
                rest /= extents[axis];
            }
            return NORMA_FAIL(NORMA_CONFIG, "%s: %s: value %g at %s; finite numbers are expected",
                              input->name, path, values[k],
                              format_extents(rank, index, text, sizeof text));
        }
    return NORMA_OK;
}

/* The first n_first of extents[0] items of an open dataset. */
static norma_status read_items(const norma_h5_input *input, const char *path, hid_t dataset,
                               int rank, const int64_t *extents, int64_t n_first, double *out)
{
    const hsize_t start[NORMA_H5_INPUT_MAX_RANK] = {0};
    hsize_t count[NORMA_H5_INPUT_MAX_RANK] = {(hsize_t)n_first};
    for (int k = 1; k < rank; k++)
        count[k] = (hsize_t)extents[k];
    hid_t there = H5Dget_space(dataset);
    hid_t here = H5Screate_simple(rank, count, NULL);
    bool good = there >= 0 && here >= 0 &&
                H5Sselect_hyperslab(there, H5S_SELECT_SET, start, NULL, count, NULL) >= 0 &&
                H5Dread(dataset, H5T_NATIVE_DOUBLE, here, there, H5P_DEFAULT, out) >= 0;
    norma_status status =
        good ? NORMA_OK : NORMA_H5_FAIL(NORMA_CONFIG, "%s: %s: cannot be read", input->name, path);
    H5Sclose(here);
    H5Sclose(there);
    return status;
}

norma_status norma_h5_input_read_first_root(const norma_h5_input *input, const char *path, int rank,
                                            const int64_t *extents, int64_t n_first, double *out)
{
    hid_t dataset = H5I_INVALID_HID;
    int found_rank = 0;
    int64_t found[H5S_MAX_RANK] = {0};
    int64_t n = n_first;
    NORMA_TRY(open_dataset(input, path, &dataset));
    norma_status status =
        read_space(input, path, H5Dget_space(dataset), rank, rank, &found_rank, found);
    for (int k = 0; k < rank && status == NORMA_OK; k++) {
        char a[128];
        char b[128];
        n *= k > 0 ? extents[k] : 1;
        if (found[k] != extents[k])
            status = NORMA_FAIL(NORMA_CONFIG, "%s: %s: has extents %s, %s are expected",
                                input->name, path, format_extents(rank, found, a, sizeof a),
                                format_extents(rank, extents, b, sizeof b));
    }
    if (status == NORMA_OK)
        status = read_items(input, path, dataset, rank, extents, n_first, out);
    H5Dclose(dataset);
    NORMA_TRY(status);
    return check_finite(input, path, rank, extents, n, out);
}

norma_status norma_h5_input_read_root(const norma_h5_input *input, const char *path, int rank,
                                      const int64_t *extents, double *out)
{
    return norma_h5_input_read_first_root(input, path, rank, extents, extents[0], out);
}

norma_status norma_h5_input_text_root(const norma_h5_input *input, const char *object,
                                      const char *name, char *out, int length)
{
    char *text = NULL;
    hid_t id = H5Oopen(input->file, object, H5P_DEFAULT);
    if (id < 0)
        return NORMA_H5_FAIL(NORMA_CONFIG, "%s: %s: cannot be opened", input->name, object);
    norma_status status = norma_h5_get_text_local(id, name, &text);
    H5Oclose(id);
    NORMA_TRY(status);
    if (!text)
        return NORMA_FAIL(NORMA_CONFIG, "%s: %s: attribute %s is not a text", input->name, object,
                          name);
    if (strlen(text) >= (size_t)length)
        status = NORMA_FAIL(NORMA_CONFIG,
                            "%s: %s: attribute %s has %zu letters, at most %d are "
                            "expected",
                            input->name, object, name, strlen(text), length - 1);
    else
        memcpy(out, text, strlen(text) + 1);
    norma_mem_free(text);
    return status;
}

/* Reads n values of an open numeric attribute. */
static norma_status read_numbers(const norma_h5_input *input, const char *object, const char *name,
                                 hid_t attribute, int64_t n, double *out)
{
    hid_t type = H5Aget_type(attribute);
    const char *refused = refused_type(type);
    H5Tclose(type);
    if (refused)
        return NORMA_FAIL(NORMA_CONFIG, "%s: %s: attribute %s is %s; real numbers are expected",
                          input->name, object, name, refused);
    if (H5Aread(attribute, H5T_NATIVE_DOUBLE, out) < 0)
        return NORMA_H5_FAIL(NORMA_CONFIG, "%s: %s: attribute %s cannot be read", input->name,
                             object, name);
    for (int64_t k = 0; k < n; k++)
        if (!isfinite(out[k]))
            return NORMA_FAIL(NORMA_CONFIG,
                              "%s: %s: attribute %s holds %g; finite numbers are expected",
                              input->name, object, name, out[k]);
    return NORMA_OK;
}

norma_status norma_h5_input_numbers_root(const norma_h5_input *input, const char *object,
                                         const char *name, int64_t min_n, int64_t max_n,
                                         double *out, int64_t *n)
{
    hid_t attribute = H5Aopen_by_name(input->file, object, name, H5P_DEFAULT, H5P_DEFAULT);
    if (attribute < 0)
        return NORMA_H5_FAIL(NORMA_CONFIG, "%s: %s: attribute %s cannot be opened", input->name,
                             object, name);
    hid_t space = H5Aget_space(attribute);
    *n = (int64_t)H5Sget_simple_extent_npoints(space);
    int rank = H5Sget_simple_extent_ndims(space);
    H5Sclose(space);
    norma_status status = NORMA_OK;
    if (rank > 1 || *n < min_n || *n > max_n) {
        char wanted[64];
        if (min_n == max_n)
            snprintf(wanted, sizeof wanted, "%" PRId64, min_n);
        else
            snprintf(wanted, sizeof wanted, "%" PRId64 " to %" PRId64, min_n, max_n);
        status = NORMA_FAIL(NORMA_CONFIG,
                            "%s: %s: attribute %s holds %" PRId64 " values on %d axes; expected: "
                            "%s, on one axis at most",
                            input->name, object, name, *n, rank, wanted);
    } else {
        status = read_numbers(input, object, name, attribute, *n, out);
    }
    H5Aclose(attribute);
    return status;
}
