#include "io/hdf5/h5_input.h"

#include "io/hdf5/foreign.h"
#include "io/hdf5/h5_input_internal.h"
#include "src/base/mem.h"
#include "src/base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

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
    const char *foreign =
        norma_h5_is_hdf5_local(path) ? NULL : norma_foreign_describe_file_local(path);
    if (foreign) {
        status = NORMA_FAIL(NORMA_CONFIG, "%s is not an HDF5 file but %s", path, foreign);
        goto done;
    }
    NORMA_GOTO(status, norma_h5_open_local(path, &input->file));
    norma_h5_warn_of_kernel_local(input->file, path);
    *out = input;
    return NORMA_OK;
done:
    norma_h5_input_close_root(&input);
    return status;
}

bool norma_h5_input_is_hdf5_root(const char *path)
{
    return norma_h5_is_hdf5_local(path);
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

/* HDF5 answers for the last link only: every one before it must be there. *dangles: one of them is
 * a link to nothing; `part` is the path up to the link where the search ended. */
static bool find_link(const norma_h5_input *input, const char *path,
                      char part[NORMA_H5_PATH_LENGTH], bool *dangles)
{
    size_t length = strlen(path);
    *dangles = false;
    part[0] = '\0';
    if (length >= NORMA_H5_PATH_LENGTH)
        return false;
    for (size_t n = 1; n <= length && !*dangles; n++) {
        if (path[n - 1] == '/' || (n < length && path[n] != '/'))
            continue;
        memcpy(part, path, n);
        part[n] = '\0';
        bool there = H5Lexists(input->file, part, H5P_DEFAULT) > 0;
        *dangles = there && H5Oexists_by_name(input->file, part, H5P_DEFAULT) <= 0;
        H5Eclear2(H5E_DEFAULT);
        if (!there)
            return false;
    }
    return true;
}

bool norma_h5_input_has_root(const norma_h5_input *input, const char *path)
{
    char part[NORMA_H5_PATH_LENGTH];
    bool dangles = false;
    return find_link(input, path, part, &dangles);
}

/* Names the link and what it points to. */
static norma_status fail_dangling(const norma_h5_input *input, const char *path, const char *link)
{
    char value[2 * NORMA_H5_PATH_LENGTH];
    const char *file = NULL;
    const char *object = value;
    unsigned flags = 0;
    H5L_info_t info;
    if (H5Lget_info(input->file, link, &info, H5P_DEFAULT) < 0 || info.type == H5L_TYPE_HARD ||
        info.u.val_size >= sizeof value ||
        H5Lget_val(input->file, link, value, sizeof value, H5P_DEFAULT) < 0)
        return NORMA_H5_FAIL(NORMA_CONFIG, "%s: %s: the link %s cannot be followed", input->name,
                             path, link);
    if (info.type == H5L_TYPE_EXTERNAL &&
        H5Lunpack_elink_val(value, info.u.val_size, &flags, &file, &object) < 0)
        return NORMA_H5_FAIL(NORMA_CONFIG, "%s: %s: the link %s cannot be read", input->name, path,
                             link);
    if (file)
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s: %s: %s is a link to %s in the file %s, which is not there",
                          input->name, path, link, object, file);
    return NORMA_FAIL(NORMA_CONFIG, "%s: %s: %s is a link to %s, which is not there", input->name,
                      path, link, object);
}

norma_status norma_h5_input_check_links_root(const norma_h5_input *input, const char *path)
{
    char part[NORMA_H5_PATH_LENGTH];
    bool dangles = false;
    (void)find_link(input, path, part, &dangles);
    return dangles ? fail_dangling(input, path, part) : NORMA_OK;
}

bool norma_h5_input_has_attribute_root(const norma_h5_input *input, const char *object,
                                       const char *name)
{
    return H5Aexists_by_name(input->file, object, name, H5P_DEFAULT) > 0;
}

H5O_type_t norma_h5_input_object_type_root(const norma_h5_input *input, const char *path)
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
    return norma_h5_input_has_root(input, path) &&
           norma_h5_input_object_type_root(input, path) == H5O_TYPE_GROUP;
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
    for (size_t n = strlen(text); n > 0 && text[n - 1] == ' '; n--) /* of Fortran's padding */
        text[n - 1] = '\0';
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
    const char *refused = norma_h5_refused_type_local(type);
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
