#include "io/result/info.h"

#include "io/result/result_internal.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"
#include "src/base/mem.h"
#include "src/base/text.h"

#include <hdf5_hl.h>
#include <stdio.h>
#include <string.h>

/* Deepest nesting of groups that is shown: files of ours have three levels. */
enum { DEEPEST = 16 };

typedef enum section { DIMENSIONS, VARIABLES } section;

/* Where the walk through the groups is. */
typedef struct walk {
    section section;
    int depth;
    char group[1024]; /* "" for the root */
} walk;

static const char *type_name(hid_t type)
{
    size_t size = H5Tget_size(type);
    switch (H5Tget_class(type)) {
    case H5T_FLOAT:
        return size == 8 ? "float64" : size == 4 ? "float32" : "float";
    case H5T_INTEGER:
        return size == 8 ? "int64" : size == 4 ? "int32" : size == 1 ? "name" : "int";
    case H5T_STRING:
        return "text";
    default:
        return "other";
    }
}

/* "replica=3, layer=6" */
static void append_shape(hid_t dataset, norma_text *text)
{
    char name[NORMA_NAME_LENGTH];
    hsize_t extents[H5S_MAX_RANK] = {0};
    hid_t space = H5Dget_space(dataset);
    int n = H5Sget_simple_extent_dims(space, extents, NULL);
    H5Sclose(space);
    for (int i = 0; i < n; i++) {
        if (norma_schema_axis_name_local(dataset, i, name) != NORMA_OK) {
            norma_status_clear();
            name[0] = '\0';
        }
        norma_text_append(text, "%s%s%s%llu", i > 0 ? ", " : "", name, name[0] ? "=" : "",
                          (unsigned long long)extents[i]);
    }
}

static norma_status print_dimension(hid_t dataset, const char *path)
{
    char *units = NULL;
    char *long_name = NULL;
    hsize_t extents[H5S_MAX_RANK] = {0};
    char label[80] = "";
    hid_t space = H5Dget_space(dataset);
    H5Sget_simple_extent_dims(space, extents, NULL);
    H5Sclose(space);
    H5DSget_scale_name(dataset, label, sizeof label);
    bool bare = strncmp(label, NORMA_NOT_A_VARIABLE, strlen(NORMA_NOT_A_VARIABLE)) == 0;
    norma_status status = norma_h5_get_text_local(dataset, "units", &units);
    if (status == NORMA_OK)
        status = norma_h5_get_text_local(dataset, "long_name", &long_name);
    if (status == NORMA_OK)
        norma_log_result("%-32s %10llu  %-8s %s%s", path, (unsigned long long)extents[0],
                         units ? units : "-", long_name ? long_name : "",
                         bare ? " (no coordinate values)" : "");
    norma_mem_free(units);
    norma_mem_free(long_name);
    return status;
}

static norma_status print_variable(hid_t dataset, const char *path)
{
    char *units = NULL;
    char *long_name = NULL;
    char *shape = NULL;
    norma_text text;
    hid_t type = H5Dget_type(dataset);
    norma_text_init(&text);
    norma_text_append(&text, "[");
    append_shape(dataset, &text);
    norma_text_append(&text, "]");
    norma_status status = norma_text_take(&text, &shape);
    if (status == NORMA_OK)
        status = norma_h5_get_text_local(dataset, "units", &units);
    if (status == NORMA_OK)
        status = norma_h5_get_text_local(dataset, "long_name", &long_name);
    if (status == NORMA_OK)
        norma_log_result("%-32s %-8s %-28s %-8s %s", path, type_name(type), shape,
                         units ? units : "-", long_name ? long_name : "");
    H5Tclose(type);
    norma_mem_free(shape);
    norma_mem_free(units);
    norma_mem_free(long_name);
    return status;
}

static herr_t visit_member(hid_t group, const char *name, const H5L_info_t *link, void *data);

/* The members of a group in the order in which they were created. */
static herr_t walk_group(hid_t group, walk *at)
{
    hsize_t next = 0;
    herr_t result = H5Literate(group, H5_INDEX_CRT_ORDER, H5_ITER_INC, &next, visit_member, at);
    if (result < 0 && next == 0) {
        H5Eclear2(H5E_DEFAULT);
        result = H5Literate(group, H5_INDEX_NAME, H5_ITER_INC, &next, visit_member, at);
    }
    return result;
}

static herr_t visit_member(hid_t group, const char *name, const H5L_info_t *link, void *data)
{
    walk *at = data;
    herr_t result = 0;
    char path[1024 + NORMA_NAME_LENGTH];
    if (link->type != H5L_TYPE_HARD)
        return 0;
    hid_t object = H5Oopen(group, name, H5P_DEFAULT);
    if (object < 0)
        return -1;
    size_t length = strlen(at->group);
    snprintf(path, sizeof path, "%s/%.255s", at->group, name);
    if (H5Iget_type(object) == H5I_GROUP && at->depth < DEEPEST &&
        strlen(path) < sizeof at->group) {
        memcpy(at->group, path, strlen(path) + 1);
        at->depth++;
        result = walk_group(object, at);
        at->depth--;
        at->group[length] = '\0';
    } else if (H5Iget_type(object) == H5I_DATASET) {
        bool scale = H5DSis_scale(object) > 0;
        norma_status status = NORMA_OK;
        if (scale && at->section == DIMENSIONS)
            status = print_dimension(object, path);
        else if (!scale && at->section == VARIABLES)
            status = print_variable(object, path);
        result = status == NORMA_OK ? 0 : -1;
    }
    H5Oclose(object);
    return result;
}

/* One root attribute, a text or a number. */
static herr_t print_attribute(hid_t root, const char *name, const H5A_info_t *about, void *data)
{
    char *text = NULL;
    (void)about;
    (void)data;
    if (norma_h5_get_text_local(root, name, &text) != NORMA_OK)
        return -1;
    if (text) {
        for (char *c = text; *c; c++)
            if (*c == '\n')
                *c = ' ';
        norma_log_result("%-20s %s", name, text);
        norma_mem_free(text);
        return 0;
    }
    hid_t attribute = H5Aopen(root, name, H5P_DEFAULT);
    hid_t type = H5Aget_type(attribute);
    hid_t space = H5Aget_space(attribute);
    bool scalar = H5Sget_simple_extent_npoints(space) == 1;
    unsigned long long whole = 0;
    long long integer = 0;
    double real = 0;
    if (scalar && H5Tget_class(type) == H5T_INTEGER && H5Tget_sign(type) == H5T_SGN_NONE &&
        H5Aread(attribute, H5T_NATIVE_ULLONG, &whole) >= 0)
        norma_log_result("%-20s %llu", name, whole);
    else if (scalar && H5Tget_class(type) == H5T_INTEGER &&
             H5Aread(attribute, H5T_NATIVE_LLONG, &integer) >= 0)
        norma_log_result("%-20s %lld", name, integer);
    else if (scalar && H5Tget_class(type) == H5T_FLOAT &&
             H5Aread(attribute, H5T_NATIVE_DOUBLE, &real) >= 0)
        norma_log_result("%-20s %.17g", name, real);
    H5Sclose(space);
    H5Tclose(type);
    H5Aclose(attribute);
    return 0;
}

/* The lines of the configuration. */
static norma_status print_configuration(hid_t file)
{
    char *text = NULL;
    if (H5Lexists(file, "configuration", H5P_DEFAULT) <= 0)
        return NORMA_OK;
    hid_t dataset = H5Dopen2(file, "configuration", H5P_DEFAULT);
    norma_status status = norma_h5_read_text_local(dataset, &text);
    if (status == NORMA_OK && text) {
        norma_log_result("# configuration");
        for (char *line = text; *line;) {
            char *end = line + strcspn(line, "\n");
            char *next = *end ? end + 1 : end;
            *end = '\0';
            norma_log_result("%s", line);
            line = next;
        }
    }
    norma_mem_free(text);
    H5Dclose(dataset);
    return status;
}

static norma_status print_file(hid_t file, const char *path)
{
    walk at = {.section = DIMENSIONS};
    hsize_t next = 0;
    norma_log_result("# %s", path);
    if (H5Aiterate2(file, H5_INDEX_CRT_ORDER, H5_ITER_INC, &next, print_attribute, NULL) < 0)
        return NORMA_H5_FAIL(NORMA_CONFIG, "%s: an attribute cannot be read", path);
    norma_log_result("# dimension, length, units, meaning");
    if (walk_group(file, &at) < 0)
        return NORMA_H5_FAIL(NORMA_CONFIG, "%s: a dimension cannot be read", path);
    at.section = VARIABLES;
    norma_log_result("# variable, type, dimensions, units, meaning");
    if (walk_group(file, &at) < 0)
        return NORMA_H5_FAIL(NORMA_CONFIG, "%s: a variable cannot be read", path);
    return print_configuration(file);
}

norma_status norma_info_print_local(const char *path)
{
    hid_t file = H5I_INVALID_HID;
    char *version = NULL;
    char *end = NULL;
    NORMA_TRY(norma_h5_open_local(path, &file));
    norma_status status = norma_h5_get_text_local(file, "status", &end);
    if (status == NORMA_OK)
        status = norma_h5_get_text_local(file, "norma_version", &version);
    if (status == NORMA_OK && (!version || !end))
        status = NORMA_FAIL(NORMA_CONFIG, "%s is an HDF5 file that Norma did not write as a result",
                            path);
    if (status == NORMA_OK)
        status = print_file(file, path);
    if (status == NORMA_OK && strcmp(end, "running") == 0)
        status = NORMA_FAIL(NORMA_CONFIG,
                            "%s belongs to a run that still goes on or was killed: what is missing "
                            "in it is not written yet, or never will be",
                            path);
    norma_mem_free(version);
    norma_mem_free(end);
    H5Fclose(file);
    return status;
}

norma_status norma_info_print(MPI_Comm comm, const char *path)
{
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    return norma_agree(comm, rank == 0 ? norma_info_print_local(path) : NORMA_OK);
}
