/* Attributes and texts of result files. All ranks write them: attributes are metadata, which HDF5
 * wants changed by all ranks alike. */
#include "io/result/result.h"

#include "io/result/result_internal.h"
#include "mpi/runtime/agree.h"
#include "src/base/mem.h"

#include <stdio.h>
#include <string.h>

static norma_status open_object(const norma_result *file, const char *object, hid_t *id)
{
    *id = H5Oopen(file->file, object, H5P_DEFAULT);
    return *id >= 0 ? NORMA_OK : NORMA_H5_FAIL(NORMA_LIBRARY, "%s: no %s", file->part, object);
}

static norma_status set_number(norma_result *file, const char *object, const char *name,
                               hid_t file_type, hid_t memory_type, const void *value)
{
    hid_t id = H5I_INVALID_HID;
    norma_status status = open_object(file, object, &id);
    if (status == NORMA_OK)
        status = norma_h5_set_numbers(id, name, file_type, memory_type, -1, value);
    if (id >= 0)
        H5Oclose(id);
    return norma_agree(file->comm, status);
}

norma_status norma_result_set_int64(norma_result *file, const char *object, const char *name,
                                    int64_t value)
{
    return set_number(file, object, name, H5T_STD_I64LE, H5T_NATIVE_INT64, &value);
}

norma_status norma_result_set_uint64(norma_result *file, const char *object, const char *name,
                                     uint64_t value)
{
    return set_number(file, object, name, H5T_STD_U64LE, H5T_NATIVE_UINT64, &value);
}

norma_status norma_result_set_double(norma_result *file, const char *object, const char *name,
                                     double value)
{
    return set_number(file, object, name, H5T_IEEE_F64LE, H5T_NATIVE_DOUBLE, &value);
}

norma_status norma_result_set_text(norma_result *file, const char *object, const char *name,
                                   const char *text)
{
    if (strcmp(object, "/") == 0 && strlen(text) > NORMA_H5_TEXT_LIMIT)
        return norma_result_write_text(file, name, name, text);
    hid_t id = H5I_INVALID_HID;
    norma_status status = open_object(file, object, &id);
    if (status == NORMA_OK)
        status = norma_h5_set_text(id, name, text);
    if (id >= 0)
        H5Oclose(id);
    return norma_agree(file->comm, status);
}

/* A fixed-length type: parallel HDF5 cannot write strings of variable length. */
static norma_status create_text(norma_result *file, const char *name, const char *long_name,
                                hid_t type, hid_t *dataset)
{
    hid_t space = H5Screate(H5S_SCALAR);
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    norma_status status = NORMA_OK;
    H5Pset_attr_creation_order(creation, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
    H5Pset_obj_track_times(creation, false);
    *dataset = H5Dcreate2(file->file, name, type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    if (*dataset < 0)
        status = NORMA_H5_FAIL(NORMA_IO, "%s: cannot create %s", file->part, name);
    if (status == NORMA_OK)
        status = norma_h5_set_text(*dataset, "long_name", long_name);
    if (status == NORMA_OK)
        status = norma_h5_set_text(*dataset, "units", "1");
    H5Pclose(creation);
    H5Sclose(space);
    return status;
}

norma_status norma_result_write_text(norma_result *file, const char *dataset, const char *long_name,
                                     const char *text)
{
    size_t size = strlen(text) + 1;
    hid_t id = H5I_INVALID_HID;
    norma_status status =
        norma_agree_same(file->comm, text, size, "a text written into the result file");
    if (status == NORMA_OK)
        status = norma_result_reserve(file, (int64_t)size);
    if (status != NORMA_OK)
        return status;
    hid_t type = H5Tcopy(H5T_C_S1);
    H5Tset_size(type, size);
    H5Tset_cset(type, H5T_CSET_UTF8);
    status = norma_agree(file->comm, create_text(file, dataset, long_name, type, &id));
    if (status == NORMA_OK) {
        if (file->rank == 0) {
            herr_t result = H5Dwrite(id, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, text);
            status = NORMA_H5_WROTE(result >= 0, "cannot write %s to %s", dataset, file->part);
        }
        status = norma_agree(file->comm, status);
    }
    if (id >= 0)
        H5Dclose(id);
    H5Tclose(type);
    return status;
}

/* The names of a variable's dimensions, from the scales attached to it. */
static norma_status set_axes(hid_t group, hid_t dataset, const char *variable)
{
    char names[NORMA_MAX_DIMENSIONS][NORMA_NAME_LENGTH];
    const char *axes[NORMA_MAX_DIMENSIONS];
    hid_t space = H5Dget_space(dataset);
    int n = H5Sget_simple_extent_ndims(space);
    H5Sclose(space);
    for (int i = 0; i < n; i++) {
        NORMA_TRY(norma_schema_axis_name_local(dataset, i, names[i]));
        axes[i] = names[i];
    }
    NORMA_TRY(norma_h5_set_text(group, "NX_class", "NXdata"));
    NORMA_TRY(norma_h5_set_text(group, "signal", variable));
    return n > 0 ? norma_h5_set_texts(group, "axes", n, axes) : NORMA_OK;
}

static norma_status set_default(norma_result *file, const char *variable)
{
    const char *slash = strrchr(variable, '/');
    char group_name[NORMA_NAME_LENGTH];
    norma_status status = NORMA_OK;
    hid_t group = H5I_INVALID_HID;
    hid_t dataset = H5Dopen2(file->file, variable, H5P_DEFAULT);
    if (dataset < 0 || !slash)
        status = NORMA_H5_FAIL(NORMA_LIBRARY, "%s: no variable %s", file->part, variable);
    if (status == NORMA_OK) {
        snprintf(group_name, sizeof group_name, "%.*s",
                 slash == variable ? 1 : (int)(slash - variable), variable);
        status = open_object(file, group_name, &group);
    }
    if (status == NORMA_OK)
        status = set_axes(group, dataset, slash + 1);
    if (status == NORMA_OK && slash != variable) {
        status = norma_h5_set_text(file->file, "NX_class", "NXroot");
        if (status == NORMA_OK)
            status = norma_h5_set_text(file->file, "default", group_name + 1);
    }
    if (group >= 0)
        H5Oclose(group);
    if (dataset >= 0)
        H5Dclose(dataset);
    return status;
}

norma_status norma_result_set_default(norma_result *file, const char *variable)
{
    return norma_agree(file->comm, set_default(file, variable));
}
