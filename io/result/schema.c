#include "io/result/schema.h"

#include "io/result/result_internal.h"
#include "mpi/runtime/agree.h"
#include "src/base/index.h"
#include "src/base/mem.h"
#include "src/base/text.h"

#include <hdf5_hl.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

enum { MOST_NAMES = 127 };

/* At least by this deflate shrinks an array of one value. */
enum { BARE_COMPRESSION = 100 };

/* An array about to be created: a variable, or an axis. */
typedef struct array {
    const char *group, *name, *units, *long_name;
    norma_type type;
    hid_t file_type;
    norma_schema_names names;
    int n;
    int64_t extents[NORMA_MAX_DIMENSIONS];
    int64_t bytes;
    bool unfilled;
    bool bare; /* an axis without values: netCDF wants an array of its length all the same */
    hid_t group_id;
} array;

int64_t norma_schema_type_size_local(norma_type type)
{
    switch (type) {
    case NORMA_FLOAT64:
    case NORMA_INT64:
        return 8;
    case NORMA_FLOAT32:
    case NORMA_INT32:
        return 4;
    case NORMA_NAME:
        break;
    }
    return 1;
}

hid_t norma_schema_group_properties_local(hid_t property_class)
{
    hid_t list = H5Pcreate(property_class);
    H5Pset_link_creation_order(list, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
    H5Pset_attr_creation_order(list, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
    return list;
}

static bool is_name(const char *name)
{
    return name && name[0] && !strchr(name, '/') && strlen(name) < NORMA_NAME_LENGTH &&
           strcmp(name, ".") != 0;
}

static norma_status check_names(const array *a)
{
    if (a->names.n < 1 || a->names.n > MOST_NAMES)
        return NORMA_FAIL(NORMA_LIBRARY, "%s: %d names, not 1 to %d", a->name, a->names.n,
                          MOST_NAMES);
    for (int i = 0; i < a->names.n; i++) {
        const char *text = a->names.texts[i];
        size_t good = strspn(text, "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                   "_-.+@");
        if (!text[0] || text[good])
            return NORMA_FAIL(NORMA_LIBRARY, "%s: '%s' cannot be a name in flag_meanings", a->name,
                              text);
    }
    return NORMA_OK;
}

/* Bytes in the file: the chunks at the end of an axis are whole too. */
static norma_status count_bytes(array *a)
{
    int64_t chunk[NORMA_MAX_DIMENSIONS];
    int64_t size = norma_schema_type_size_local(a->type);
    a->bytes = size;
    for (int i = 0; i < a->n; i++) {
        if (a->extents[i] < 0)
            return NORMA_FAIL(NORMA_LIBRARY, "%s: length %lld", a->name, (long long)a->extents[i]);
        NORMA_TRY(norma_index_multiply(a->bytes, a->extents[i], a->name, &a->bytes));
    }
    if (!norma_schema_chunk_local(a->n, a->extents, size, chunk))
        return NORMA_OK;
    a->bytes = size;
    for (int i = 0; i < a->n; i++)
        a->bytes *= norma_index_ceil_divide(a->extents[i], chunk[i]) * chunk[i];
    if (a->bare)
        a->bytes /= BARE_COMPRESSION;
    return NORMA_OK;
}

static norma_status check_array(array *a)
{
    if (!is_name(a->name))
        return NORMA_FAIL(NORMA_LIBRARY, "'%s' cannot be a name in %s", a->name ? a->name : "",
                          a->group);
    if (!a->units || !a->units[0] || !a->long_name || !a->long_name[0])
        return NORMA_FAIL(NORMA_LIBRARY, "%s has no units or no long_name", a->name);
    NORMA_TRY(count_bytes(a));
    return a->type == NORMA_NAME ? check_names(a) : NORMA_OK;
}

static void set_fill(hid_t creation, norma_type type)
{
    double real = NAN;
    int64_t missing = type == NORMA_INT32   ? NORMA_MISSING_INT32
                      : type == NORMA_INT64 ? NORMA_MISSING_INT64
                                            : NORMA_MISSING_NAME;
    if (type == NORMA_FLOAT64 || type == NORMA_FLOAT32)
        H5Pset_fill_value(creation, H5T_NATIVE_DOUBLE, &real);
    else
        H5Pset_fill_value(creation, H5T_NATIVE_INT64, &missing);
}

/* Space, layout, fill: the dataset without its attributes. */
static norma_status create_dataset(const norma_result *file, const array *a, hid_t *dataset)
{
    hsize_t extents[NORMA_MAX_DIMENSIONS] = {0};
    hsize_t chunk[NORMA_MAX_DIMENSIONS] = {0};
    int64_t cut[NORMA_MAX_DIMENSIONS];
    int64_t size = norma_schema_type_size_local(a->type);
    bool chunked = norma_schema_chunk_local(a->n, a->extents, size, cut);
    hid_t creation = H5Pcreate(H5P_DATASET_CREATE);
    H5Pset_attr_creation_order(creation, H5P_CRT_ORDER_TRACKED | H5P_CRT_ORDER_INDEXED);
    H5Pset_obj_track_times(creation, false);
    H5Pset_alloc_time(creation, H5D_ALLOC_TIME_EARLY);
    H5Pset_fill_time(creation, a->unfilled ? H5D_FILL_TIME_NEVER : H5D_FILL_TIME_ALLOC);
    set_fill(creation, a->type);
    for (int i = 0; i < a->n; i++) {
        extents[i] = (hsize_t)a->extents[i];
        chunk[i] = chunked ? (hsize_t)cut[i] : 0;
    }
    if (chunked)
        H5Pset_chunk(creation, a->n, chunk);
    if (chunked && a->bare)
        H5Pset_deflate(creation, 1);
    hid_t space = a->n > 0 ? H5Screate_simple(a->n, extents, NULL) : H5Screate(H5S_SCALAR);
    *dataset =
        H5Dcreate2(a->group_id, a->name, a->file_type, space, H5P_DEFAULT, creation, H5P_DEFAULT);
    norma_status status = NORMA_H5_WROTE(*dataset >= 0, "%s: cannot create %s in %s (%lld bytes)",
                                         file->part, a->name, a->group, (long long)a->bytes);
    H5Sclose(space);
    H5Pclose(creation);
    return status;
}

/* CF's attributes; the fill value only where an element may be missing. */
static norma_status write_attributes(hid_t dataset, const array *a, bool may_be_missing)
{
    unsigned char missing[8] = {0};
    NORMA_TRY(norma_h5_set_text(dataset, "long_name", a->long_name));
    NORMA_TRY(norma_h5_set_text(dataset, "units", a->units));
    if (may_be_missing) {
        hid_t creation = H5Dget_create_plist(dataset);
        hid_t type = norma_h5_memory_type_local(a->type);
        H5Pget_fill_value(creation, type, missing);
        H5Pclose(creation);
        NORMA_TRY(norma_h5_set_numbers(dataset, "_FillValue", a->file_type, type, 1, missing));
    }
    if (a->type != NORMA_NAME)
        return NORMA_OK;
    int8_t values[MOST_NAMES];
    norma_text meanings;
    char *text = NULL;
    norma_text_init(&meanings);
    for (int i = 0; i < a->names.n; i++) {
        values[i] = (int8_t)i;
        norma_text_append(&meanings, "%s%s", i > 0 ? " " : "", a->names.texts[i]);
    }
    NORMA_TRY(norma_text_take(&meanings, &text));
    norma_status status = norma_h5_set_numbers(dataset, "flag_values", H5T_STD_I8LE,
                                               H5T_NATIVE_INT8, a->names.n, values);
    if (status == NORMA_OK)
        status = norma_h5_set_text(dataset, "flag_meanings", text);
    norma_mem_free(text);
    return status;
}

/* Opens the scale of one dimension of the group and reads its length. */
static norma_status open_scale(const array *a, const char *name, hid_t *scale, int64_t *length)
{
    hsize_t extent = 0;
    if (is_name(name) && H5Lexists(a->group_id, name, H5P_DEFAULT) > 0)
        *scale = H5Dopen2(a->group_id, name, H5P_DEFAULT);
    if (*scale < 0 || H5DSis_scale(*scale) <= 0)
        return NORMA_FAIL(NORMA_LIBRARY, "%s: group %s has no dimension '%s'", a->name, a->group,
                          name);
    hid_t space = H5Dget_space(*scale);
    H5Sget_simple_extent_dims(space, &extent, NULL);
    H5Sclose(space);
    *length = (int64_t)extent;
    return NORMA_OK;
}

static norma_status open_group(const norma_result *file, array *a)
{
    a->group_id = H5Gopen2(file->file, a->group, H5P_DEFAULT);
    return a->group_id >= 0 ? NORMA_OK
                            : NORMA_H5_FAIL(NORMA_LIBRARY, "%s: no group %s", file->part, a->group);
}

/* A guard: ranks that create different things would damage the file or hang. */
static norma_status agree_on_array(const norma_result *file, const array *a)
{
    char key[1024];
    size_t used = (size_t)snprintf(key, sizeof key, "%.300s|%.300s|%d|%d", a->group, a->name,
                                   (int)a->type, a->n);
    for (int i = 0; i < a->n && used < sizeof key - 24; i++)
        used += (size_t)snprintf(key + used, sizeof key - used, "|%lld", (long long)a->extents[i]);
    return norma_agree_same(file->comm, key, strlen(key), "a variable of the result file");
}

static norma_status attach_scales(hid_t dataset, int n, const hid_t *scales)
{
    for (int i = 0; i < n; i++)
        if (H5DSattach_scale(dataset, scales[i], (unsigned)i) < 0)
            return NORMA_H5_FAIL(NORMA_IO, "cannot attach a dimension");
    return NORMA_OK;
}

norma_status norma_schema_add_group(norma_result *file, const char *group)
{
    norma_status status = NORMA_OK;
    hid_t id = H5I_INVALID_HID;
    hid_t creation = norma_schema_group_properties_local(H5P_GROUP_CREATE);
    char path[NORMA_NAME_LENGTH] = "";
    if (group[0] != '/' || strlen(group) >= sizeof path)
        status = NORMA_FAIL(NORMA_LIBRARY, "'%s' is not a path of a group", group);
    /* One level after the other, so that each tracks its creation order. */
    for (const char *end = group; status == NORMA_OK && *end;) {
        end = end + 1 + strcspn(end + 1, "/");
        snprintf(path, sizeof path, "%.*s", (int)(end - group), group);
        if (path[1] == '\0' || H5Lexists(file->file, path, H5P_DEFAULT) > 0)
            continue;
        id = H5Gcreate2(file->file, path, H5P_DEFAULT, creation, H5P_DEFAULT);
        if (id < 0)
            status = NORMA_H5_FAIL(NORMA_IO, "%s: cannot create group %s", file->part, path);
        else
            H5Gclose(id);
    }
    H5Pclose(creation);
    return norma_agree(file->comm, status);
}

/* Creates the dataset, made sure that there is room for it. The caller closes *dataset. */
static norma_status create_array(norma_result *file, array *a, norma_status status, hid_t *dataset)
{
    if (status == NORMA_OK)
        status = check_array(a);
    status = norma_agree(file->comm, status);
    if (status == NORMA_OK)
        status = agree_on_array(file, a);
    if (status == NORMA_OK)
        status = norma_result_reserve(file, a->bytes);
    if (status == NORMA_OK)
        status = norma_agree(file->comm, create_dataset(file, a, dataset));
    return status;
}

static bool has_values(const norma_dimension *dimension)
{
    return dimension->values || dimension->fill;
}

static norma_status make_scale(hid_t dataset, const norma_dimension *dimension, const array *a)
{
    char name[80];
    NORMA_TRY(write_attributes(dataset, a, false));
    snprintf(name, sizeof name, "%s%10lld", NORMA_NOT_A_VARIABLE, (long long)dimension->length);
    if (H5DSset_scale(dataset, has_values(dimension) ? dimension->name : name) < 0)
        return NORMA_H5_FAIL(NORMA_IO, "cannot make %s a dimension", a->name);
    return NORMA_OK;
}

/* The values of an axis, a piece at a time. */
static norma_status write_filled(norma_result *file, const char *path,
                                 const norma_dimension *dimension)
{
    const int64_t piece = (int64_t)1 << 16;
    unsigned char *values = NULL;
    norma_status status =
        NORMA_ALLOC(values, piece * norma_schema_type_size_local(dimension->type));
    status = norma_agree(file->comm, status);
    for (int64_t first = 0; first < dimension->length && status == NORMA_OK; first += piece) {
        int64_t n = dimension->length - first < piece ? dimension->length - first : piece;
        dimension->fill(dimension->context, first, n, values);
        status = norma_result_write_replicated(file, path, dimension->type, &first, &n, values);
    }
    norma_mem_free(values);
    return status;
}

norma_status norma_schema_add_dimension(norma_result *file, const char *group,
                                        const norma_dimension *dimension)
{
    char path[2 * NORMA_NAME_LENGTH];
    hid_t dataset = H5I_INVALID_HID;
    norma_type type = has_values(dimension) ? dimension->type : NORMA_FLOAT32;
    array a = {.group = group,
               .group_id = H5I_INVALID_HID,
               .name = dimension->name,
               .units = dimension->units,
               .long_name = dimension->long_name,
               .type = type,
               .file_type = has_values(dimension) ? norma_h5_file_type_local(type) : H5T_IEEE_F32BE,
               .names = dimension->names,
               .bare = !has_values(dimension),
               .n = 1,
               .extents = {dimension->length}};
    norma_status status = create_array(file, &a, open_group(file, &a), &dataset);
    if (status == NORMA_OK)
        status = norma_agree(file->comm, make_scale(dataset, dimension, &a));
    if (dataset >= 0)
        H5Dclose(dataset);
    if (a.group_id >= 0)
        H5Gclose(a.group_id);
    if (status != NORMA_OK || !has_values(dimension))
        return status;
    snprintf(path, sizeof path, "%s/%s", strcmp(group, "/") == 0 ? "" : group, a.name);
    return dimension->values
               ? norma_result_write_replicated(file, path, type, NULL, NULL, dimension->values)
               : write_filled(file, path, dimension);
}

norma_status norma_schema_add_axis(norma_result *file, const char *group, const char *name,
                                   int64_t length, const char *long_name)
{
    return norma_schema_add_dimension(file, group,
                                      &(norma_dimension){.name = name,
                                                         .length = length,
                                                         .units = "1",
                                                         .long_name = long_name,
                                                         .type = NORMA_INT32});
}

norma_status norma_schema_add_variable(norma_result *file, const char *group,
                                       const norma_variable *variable)
{
    hid_t dataset = H5I_INVALID_HID;
    hid_t scales[NORMA_MAX_DIMENSIONS] = {H5I_INVALID_HID};
    array a = {.group = group,
               .group_id = H5I_INVALID_HID,
               .name = variable->name,
               .units = variable->units,
               .long_name = variable->long_name,
               .type = variable->type,
               .file_type = norma_h5_file_type_local(variable->type),
               .names = variable->names,
               .unfilled = variable->written_whole};
    norma_status status = open_group(file, &a);
    while (status == NORMA_OK && a.n < NORMA_MAX_DIMENSIONS && variable->dimensions[a.n]) {
        scales[a.n] = H5I_INVALID_HID;
        status = open_scale(&a, variable->dimensions[a.n], &scales[a.n], &a.extents[a.n]);
        a.n++;
    }
    status = create_array(file, &a, status, &dataset);
    if (status == NORMA_OK) {
        status = write_attributes(dataset, &a, true);
        if (status == NORMA_OK)
            status = attach_scales(dataset, a.n, scales);
        status = norma_agree(file->comm, status);
    }
    for (int i = 0; i < a.n; i++)
        if (scales[i] >= 0)
            H5Dclose(scales[i]);
    if (dataset >= 0)
        H5Dclose(dataset);
    if (a.group_id >= 0)
        H5Gclose(a.group_id);
    return status;
}

/* Takes the name of the first scale attached to an axis. */
static herr_t take_scale_name(hid_t dataset, unsigned axis, hid_t scale, void *data)
{
    char path[2 * NORMA_NAME_LENGTH];
    char *name = data;
    (void)dataset;
    (void)axis;
    if (H5Iget_name(scale, path, sizeof path) <= 0)
        return -1;
    const char *slash = strrchr(path, '/');
    snprintf(name, NORMA_NAME_LENGTH, "%.*s", NORMA_NAME_LENGTH - 1, slash ? slash + 1 : path);
    return 1;
}

norma_status norma_schema_axis_name_local(hid_t dataset, int axis, char name[NORMA_NAME_LENGTH])
{
    name[0] = '\0';
    if (H5DSiterate_scales(dataset, (unsigned)axis, NULL, take_scale_name, name) < 0)
        return NORMA_H5_FAIL(NORMA_LIBRARY, "axis %d has no dimension", axis);
    return NORMA_OK;
}
