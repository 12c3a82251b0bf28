/* The part of io/hdf5/h5_input.h that reads datasets. */
#include "io/hdf5/h5_input.h"
#include "io/hdf5/h5_input_internal.h"
#include "io/hdf5/h5_packing.h"
#include "io/hdf5/h5_storage.h"
#include "src/base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* "no such dataset", with the nearest name in its group. */
static norma_status fail_missing(const norma_h5_input *input, const char *path)
{
    char group[NORMA_H5_PATH_LENGTH];
    char nearest[NORMA_H5_PATH_LENGTH] = "";
    const char *slash = strrchr(path, '/');
    const char *word = slash ? slash + 1 : path;
    int64_t distance = INT64_MAX;
    int64_t n = 0;
    NORMA_TRY(norma_h5_input_check_links_root(input, path));
    snprintf(group, sizeof group, "%.*s", slash && slash > path ? (int)(slash - path) : 1,
             slash ? path : "/");
    if (!norma_h5_input_is_group_root(input, group))
        return NORMA_FAIL(NORMA_CONFIG, "%s: %s: there is no such dataset (nor a group %s)",
                          input->name, path, group);
    NORMA_TRY(norma_h5_input_count_root(input, group, &n));
    for (int64_t i = 0; i < n; i++) {
        char name[NORMA_H5_PATH_LENGTH];
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

const char *norma_h5_refused_type_local(hid_t type)
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

const char *norma_h5_format_extents_local(int rank, const int64_t *extents, char *text, size_t size)
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
    NORMA_TRY(norma_h5_input_check_links_root(input, path));
    if (!norma_h5_input_has_root(input, path))
        return fail_missing(input, path);
    if (norma_h5_input_object_type_root(input, path) != H5O_TYPE_DATASET)
        return NORMA_FAIL(
            NORMA_CONFIG, "%s: %s: is %s, a dataset is expected", input->name, path,
            norma_h5_input_object_type_root(input, path) == H5O_TYPE_GROUP ? "a group" : "a type");
    hid_t dataset = norma_h5_storage_open_local(input->file, path);
    if (dataset < 0)
        return NORMA_H5_FAIL(NORMA_CONFIG, "%s: %s: cannot be opened", input->name, path);
    hid_t type = H5Dget_type(dataset);
    const char *refused = norma_h5_refused_type_local(type);
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
                              path,
                              norma_h5_format_extents_local(*rank, extents, text, sizeof text));
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

norma_status norma_h5_input_type_root(const norma_h5_input *input, const char *path,
                                      char name[NORMA_H5_INPUT_TYPE], bool *bytes)
{
    hid_t dataset = H5I_INVALID_HID;
    norma_h5_packing packing;
    NORMA_TRY(open_dataset(input, path, &dataset));
    norma_status status = norma_h5_packing_read_local(dataset, input->name, path, &packing);
    hid_t type = H5Dget_type(dataset);
    bool is_integer = H5Tget_class(type) == H5T_INTEGER;
    bool is_unsigned = is_integer && H5Tget_sign(type) == H5T_SGN_NONE;
    int n_bits = 8 * (int)H5Tget_size(type);
    snprintf(name, NORMA_H5_INPUT_TYPE, "%s%d",
             is_unsigned  ? "uint"
             : is_integer ? "int"
                          : "float",
             n_bits);
    if (status == NORMA_OK)
        *bytes = n_bits == 8 && (is_unsigned || packing.unsigned_step > 0) && packing.scale == 1 &&
                 packing.offset == 0;
    H5Tclose(type);
    H5Dclose(dataset);
    return status;
}

const char *norma_h5_format_index_local(int rank, const int64_t *extents, int64_t k, char *text,
                                        size_t size)
{
    int64_t index[NORMA_H5_INPUT_MAX_RANK];
    for (int axis = rank - 1; axis >= 0; axis--) {
        index[axis] = k % extents[axis];
        k /= extents[axis];
    }
    return norma_h5_format_extents_local(rank, index, text, size);
}

/* Names the first value that is not finite: [1, 0, 2]. */
static norma_status check_finite(const norma_h5_input *input, const char *path, int rank,
                                 const int64_t *extents, int64_t n, const double *values)
{
    for (int64_t k = 0; k < n; k++)
        if (!isfinite(values[k])) {
            char text[128];
            return NORMA_FAIL(NORMA_CONFIG, "%s: %s: value %g at %s; finite numbers are expected",
                              input->name, path, values[k],
                              norma_h5_format_index_local(rank, extents, k, text, sizeof text));
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
    norma_h5_packing packing;
    NORMA_TRY(open_dataset(input, path, &dataset));
    norma_status status =
        read_space(input, path, H5Dget_space(dataset), rank, rank, &found_rank, found);
    for (int k = 0; k < rank && status == NORMA_OK; k++) {
        char a[128];
        char b[128];
        n *= k > 0 ? extents[k] : 1;
        if (found[k] != extents[k])
            status =
                NORMA_FAIL(NORMA_CONFIG, "%s: %s: has extents %s, %s are expected", input->name,
                           path, norma_h5_format_extents_local(rank, found, a, sizeof a),
                           norma_h5_format_extents_local(rank, extents, b, sizeof b));
    }
    if (status == NORMA_OK)
        status = norma_h5_storage_check_local(dataset, input->name, path, n_first);
    if (status == NORMA_OK)
        status = norma_h5_packing_read_local(dataset, input->name, path, &packing);
    if (status == NORMA_OK)
        status = read_items(input, path, dataset, rank, extents, n_first, out);
    H5Dclose(dataset);
    NORMA_TRY(status);
    NORMA_TRY(norma_h5_packing_apply_local(&packing, input->name, path, rank, extents, n, out));
    return check_finite(input, path, rank, extents, n, out);
}

norma_status norma_h5_input_read_root(const norma_h5_input *input, const char *path, int rank,
                                      const int64_t *extents, double *out)
{
    return norma_h5_input_read_first_root(input, path, rank, extents, extents[0], out);
}
