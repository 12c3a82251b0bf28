#include "io/merge/group.h"

#include "io/merge/copy.h"
#include "mpi/runtime/agree.h"
#include "src/base/mem.h"

#include <stdio.h>
#include <string.h>

enum { MOST_NAMES = 127, MOST_PATH = 512 };

/* --- dimensions and variables ---------------------------------------------------------------- */

/* For norma_dimension's fill, which returns nothing: keeps the first failure. */
typedef struct source {
    norma_merge_inputs *inputs;
    const norma_merge_group *group;
    const norma_merge_axis *axis;
    norma_status *status;
} source;

static void fill_values(const void *context, int64_t first, int64_t n, void *out)
{
    const source *from = context;
    memset(out, 0, (size_t)(n * norma_schema_type_size_local(from->axis->type)));
    if (*from->status == NORMA_OK)
        *from->status =
            norma_merge_axis_values(from->inputs, from->group, from->axis, first, n, out);
}

static void fill_replicas(const void *context, int64_t first, int64_t n, void *out)
{
    const source *from = context;
    for (int64_t i = 0; i < n; i++) {
        int64_t number = from->group->first_replica + first + i;
        if (from->axis->type == NORMA_INT32)
            ((int32_t *)out)[i] = (int32_t)number;
        else
            ((int64_t *)out)[i] = number;
    }
}

/* *copy = counted memory for split; NULL without meanings. Collective over the file's communicator.
 */
static norma_status copy_meanings(const norma_result *file, const char *meanings, char **copy)
{
    *copy = NULL;
    if (!meanings)
        return NORMA_OK;
    *copy = norma_mem_strdup(meanings);
    return norma_agree(file->comm, *copy ? NORMA_OK : NORMA_MEMORY);
}

/* The names in flag_meanings, separated by blanks: cuts `meanings`. */
static int split(char *meanings, const char *names[MOST_NAMES])
{
    int n = 0;
    for (char *at = meanings; at && *at && n < MOST_NAMES;) {
        names[n++] = at;
        at = strchr(at, ' ');
        if (at)
            *at++ = '\0';
    }
    return n;
}

static norma_status add_axis(norma_merge_inputs *inputs, norma_result *file,
                             const norma_merge_group *group, const norma_merge_axis *axis)
{
    const char *names[MOST_NAMES];
    norma_status status = NORMA_OK;
    const source from = {inputs, group, axis, &status};
    bool replica = strcmp(axis->name, "replica") == 0;
    char *meanings = NULL;
    norma_dimension dimension = {.name = axis->name,
                                 .length = axis->length,
                                 .units = axis->units ? axis->units : "1",
                                 .long_name = axis->long_name ? axis->long_name : axis->name,
                                 .type = axis->type,
                                 .context = &from};
    if (axis->has_values)
        dimension.fill = replica ? fill_replicas : fill_values;
    NORMA_TRY(copy_meanings(file, axis->meanings, &meanings));
    dimension.names = (norma_schema_names){split(meanings, names), names};
    norma_status added = norma_schema_add_dimension(file, group->path, &dimension);
    norma_mem_free(meanings);
    NORMA_TRY(added);
    return norma_agree(file->comm, status);
}

static norma_status add_variable(norma_result *file, const norma_merge_group *group,
                                 const norma_merge_layout *layout,
                                 const norma_merge_variable *variable)
{
    const char *names[MOST_NAMES];
    char *meanings = NULL;
    norma_variable about = {.name = variable->renamed,
                            .type = variable->type,
                            .written_whole = true,
                            .units = variable->units ? variable->units : "1",
                            .long_name =
                                variable->long_name ? variable->long_name : variable->renamed};
    NORMA_TRY(copy_meanings(file, variable->meanings, &meanings));
    about.names = (norma_schema_names){split(meanings, names), names};
    for (int d = 0; d < group->n_axes; d++)
        about.dimensions[d] = group->axes[d];
    for (int d = 0; d < variable->n_axes; d++)
        about.dimensions[group->n_axes + d] = layout->axes[variable->axes[d]].name;
    norma_status status = norma_schema_add_variable(file, group->path, &about);
    norma_mem_free(meanings);
    return status;
}

/* --- attributes ------------------------------------------------------------------------------ */

/* Attributes of a run or a file that are not the merged file's. Others that the merged object has
 * already, such as its provenance, are not overwritten. */
static bool is_own(const char *name)
{
    static const char *const own[] = {"CLASS",
                                      "NAME",
                                      "DIMENSION_LIST",
                                      "REFERENCE_LIST",
                                      "_Netcdf4Dimid",
                                      "_Netcdf4Coordinates",
                                      "finished",
                                      "group_size",
                                      "cells",
                                      "whole_sweep",
                                      "whole_sweep_cells",
                                      "NX_class",
                                      "default",
                                      "signal",
                                      "axes"};
    for (size_t i = 0; i < sizeof own / sizeof own[0]; i++)
        if (strcmp(name, own[i]) == 0)
            return true;
    return false;
}

/* An attribute that is copied: a text, a real or a whole number. */
typedef struct attribute {
    char name[NORMA_NAME_LENGTH];
    H5T_class_t kind;
    char *text; /* owned */
    double real;
    int64_t whole;
} attribute;

enum { MOST_ATTRIBUTES = 128 };

typedef struct attributes {
    attribute all[MOST_ATTRIBUTES];
    int n;
    norma_status status;
} attributes;

static norma_status read_attribute(hid_t object, const char *name, attribute *out)
{
    hid_t id = H5Aopen(object, name, H5P_DEFAULT);
    hid_t type = H5Aget_type(id);
    hid_t space = H5Aget_space(id);
    bool scalar = H5Sget_simple_extent_npoints(space) == 1;
    herr_t result = 0;
    out->kind = scalar ? H5Tget_class(type) : H5T_NO_CLASS;
    snprintf(out->name, sizeof out->name, "%s", name);
    if (out->kind == H5T_FLOAT)
        result = H5Aread(id, H5T_NATIVE_DOUBLE, &out->real);
    if (out->kind == H5T_INTEGER)
        result = H5Aread(id, H5T_NATIVE_INT64, &out->whole);
    H5Sclose(space);
    H5Tclose(type);
    H5Aclose(id);
    if (result < 0)
        return NORMA_H5_FAIL(NORMA_CONFIG, "attribute %s cannot be read", name);
    return out->kind == H5T_STRING ? norma_h5_get_text_local(object, name, &out->text) : NORMA_OK;
}

static herr_t visit_attribute(hid_t object, const char *name, const H5A_info_t *about, void *data)
{
    attributes *a = data;
    (void)about;
    if (is_own(name))
        return 0;
    if (a->n == MOST_ATTRIBUTES || strlen(name) >= NORMA_NAME_LENGTH)
        a->status = NORMA_FAIL(NORMA_CONFIG,
                               "attribute %.60s: a merge takes %d attributes of an object, with "
                               "names of at most %d bytes",
                               name, MOST_ATTRIBUTES, NORMA_NAME_LENGTH - 1);
    else
        a->status = read_attribute(object, name, &a->all[a->n++]);
    return a->status == NORMA_OK ? 0 : -1;
}

/* Those of an object below the piece's group ("." the group itself). Local. */
static norma_status read_attributes(norma_merge_inputs *inputs, const norma_merge_piece *piece,
                                    const char *name, attributes *a)
{
    hid_t group = H5I_INVALID_HID;
    bool found = false;
    NORMA_TRY(norma_merge_inputs_group_local(inputs, piece->input, piece->path, &group, &found));
    hid_t object = found ? H5Oopen(group, name, H5P_DEFAULT) : H5I_INVALID_HID;
    if (object >= 0) {
        (void)H5Aiterate2(object, H5_INDEX_CRT_ORDER, H5_ITER_INC, NULL, visit_attribute, a);
        H5Oclose(object);
    }
    if (group >= 0)
        H5Gclose(group);
    return a->status;
}

/* `to`: the object in the merged file. Collective. */
static norma_status write_attribute(norma_result *file, const char *to, const attribute *a)
{
    if (H5Aexists_by_name(file->file, to, a->name, H5P_DEFAULT) > 0)
        return NORMA_OK;
    if (a->kind == H5T_FLOAT)
        return norma_result_set_double(file, to, a->name, a->real);
    if (a->kind == H5T_INTEGER)
        return norma_result_set_int64(file, to, a->name, a->whole);
    return a->text ? norma_result_set_text(file, to, a->name, a->text) : NORMA_OK;
}

static norma_status copy_attributes(norma_merge_inputs *inputs, norma_result *file,
                                    const norma_merge_piece *piece, const char *name,
                                    const char *to)
{
    attributes *a = NULL;
    norma_status status = NORMA_CALLOC(a, 1);
    if (status == NORMA_OK)
        status = read_attributes(inputs, piece, name, a);
    status = norma_agree(file->comm, status);
    if (status == NORMA_OK)
        status = norma_agree_same(file->comm, &a->n, sizeof a->n, "the attributes of an input");
    for (int i = 0; a && i < a->n; i++) {
        if (status == NORMA_OK)
            status = write_attribute(file, to, &a->all[i]);
        norma_mem_free(a->all[i].text);
    }
    norma_mem_free(a);
    return status;
}

norma_status norma_merge_group_attributes(norma_merge_inputs *inputs, norma_result *file,
                                          const norma_merge_group *group)
{
    for (int64_t p = 0; p < group->n_pieces; p++) {
        bool found = false;
        const norma_merge_piece *piece = &group->pieces[p];
        norma_status status =
            norma_merge_inputs_has_local(inputs, piece->input, piece->path, &found);
        NORMA_TRY(norma_agree(file->comm, status));
        if (found && !piece->only)
            return copy_attributes(inputs, file, piece, ".", group->path);
    }
    return NORMA_OK;
}

/* --- all of a group -------------------------------------------------------------------------- */

static void join(const char *group, const char *name, char out[MOST_PATH])
{
    snprintf(out, MOST_PATH, "%s/%s", strcmp(group, "/") == 0 ? "" : group, name);
}

static norma_status write_variable(norma_merge_inputs *inputs, norma_result *file,
                                   const norma_merge_group *group, const norma_merge_layout *layout,
                                   const norma_merge_variable *variable)
{
    char path[MOST_PATH];
    join(group->path, variable->renamed, path);
    if (variable->text)
        return norma_result_write_text(
            file, path, variable->long_name ? variable->long_name : variable->name, variable->text);
    NORMA_TRY(add_variable(file, group, layout, variable));
    NORMA_TRY(copy_attributes(inputs, file, &group->pieces[variable->piece], variable->name, path));
    bool pools = group->joins_replicas && variable->pooled && group->pool;
    return norma_agree(file->comm,
                       pools ? norma_merge_pool_local(inputs, file, group, layout, variable, path)
                             : norma_merge_copy_local(inputs, file, group, layout, variable, path));
}

static norma_status write_below(norma_merge_inputs *inputs, norma_result *file,
                                const norma_merge_group *group, const char *name);

static norma_status write_layout(norma_merge_inputs *inputs, norma_result *file,
                                 const norma_merge_group *group, const norma_merge_layout *layout)
{
    if (strcmp(group->path, "/") != 0) {
        NORMA_TRY(norma_schema_add_group(file, group->path));
        NORMA_TRY(norma_merge_group_attributes(inputs, file, group));
    }
    for (int64_t i = 0; i < layout->n_axes; i++)
        NORMA_TRY(add_axis(inputs, file, group, &layout->axes[i]));
    for (int64_t i = 0; i < layout->n_variables; i++)
        NORMA_TRY(write_variable(inputs, file, group, layout, &layout->variables[i]));
    for (int64_t i = 0; i < layout->n_groups && group->n_axes == 0; i++)
        NORMA_TRY(write_below(inputs, file, group, layout->groups[i]));
    return NORMA_OK;
}

norma_status norma_merge_group_write(norma_merge_inputs *inputs, norma_result *file,
                                     const norma_merge_group *group)
{
    norma_merge_layout layout;
    norma_status status = norma_merge_layout_read(inputs, group, &layout);
    const int64_t counts[] = {layout.n_axes, layout.n_variables, layout.n_groups};
    status = norma_agree(file->comm, status);
    if (status == NORMA_OK)
        status = norma_agree_same(file->comm, counts, sizeof counts, "the variables of the inputs");
    if (status == NORMA_OK)
        status = write_layout(inputs, file, group, &layout);
    norma_merge_layout_clear(&layout);
    return status;
}

/* A group below, in all pieces that have it. */
static norma_status write_below(norma_merge_inputs *inputs, norma_result *file,
                                const norma_merge_group *group, const char *name)
{
    char(*paths)[MOST_PATH] = NULL;
    char path[MOST_PATH];
    norma_merge_piece *pieces = NULL;
    norma_merge_group below = *group;
    norma_status status = NORMA_ALLOC(pieces, group->n_pieces);
    if (status == NORMA_OK)
        status = NORMA_ALLOC(paths, group->n_pieces);
    status = norma_agree(file->comm, status);
    if (status == NORMA_OK) {
        for (int64_t p = 0; p < group->n_pieces; p++) {
            join(group->pieces[p].path, name, paths[p]);
            pieces[p] = group->pieces[p];
            pieces[p].path = paths[p];
            pieces[p].only = pieces[p].left_out = NULL;
        }
        join(group->path, name, path);
        below.path = path;
        below.pieces = pieces;
        status = norma_merge_group_write(inputs, file, &below);
    }
    norma_mem_free(paths);
    norma_mem_free(pieces);
    return status;
}
