#include "io/merge/layout.h"

#include "io/result/provenance.h"
#include "src/base/mem.h"

#include <hdf5_hl.h>
#include <stdio.h>
#include <string.h>

/* Coordinates that are compared at a time. */
static const int64_t piece_length = (int64_t)1 << 16;

/* The walk over the links of one piece's group. */
typedef struct walk {
    norma_merge_inputs *inputs;
    const norma_merge_group *group;
    norma_merge_layout *layout;
    int64_t number; /* of the piece */
    hid_t id;       /* the group */
    norma_status status;
} walk;

static const norma_merge_piece *piece_of(const norma_merge_group *group, int64_t number)
{
    return &group->pieces[number];
}

static const char *path_of(const walk *w, int64_t number)
{
    return norma_merge_inputs_about_local(w->inputs, piece_of(w->group, number)->input)->path;
}

/* Room for one more element behind *n; new room is filled with zeros. */
static norma_status grow(void **array, int64_t n, int64_t *capacity, size_t size)
{
    if (n < *capacity)
        return NORMA_OK;
    int64_t larger = 2 * *capacity + 16;
    char *grown = norma_mem_resize(*array, *capacity, larger, size, __FILE__, __LINE__);
    if (!grown)
        return NORMA_MEMORY;
    memset(grown + (size_t)*capacity * size, 0, (size_t)(larger - *capacity) * size);
    *array = grown;
    *capacity = larger;
    return NORMA_OK;
}

static void copy_name(char out[NORMA_NAME_LENGTH], const char *name)
{
    size_t length = strlen(name);
    length = length < NORMA_NAME_LENGTH ? length : NORMA_NAME_LENGTH - 1;
    memcpy(out, name, length);
    out[length] = '\0';
}

static bool texts_equal(const char *a, const char *b)
{
    return (!a && !b) || (a && b && strcmp(a, b) == 0);
}

static norma_status fail_pair(const walk *w, int64_t number, const char *name, const char *what)
{
    return NORMA_FAIL(NORMA_CONFIG,
                      "%s: %s in %s and %s, which are therefore not parts of one sweep", name, what,
                      path_of(w, number), path_of(w, w->number));
}

/* --- what a dataset is ----------------------------------------------------------------------- */

static norma_status read_type(hid_t dataset, const char *name, bool has_names, norma_type *out)
{
    hid_t type = H5Dget_type(dataset);
    H5T_class_t kind = H5Tget_class(type);
    size_t size = H5Tget_size(type);
    H5Tclose(type);
    if (kind == H5T_FLOAT && size == 8)
        *out = NORMA_FLOAT64;
    else if (kind == H5T_FLOAT && size == 4)
        *out = NORMA_FLOAT32;
    else if (kind == H5T_INTEGER && size == 8)
        *out = NORMA_INT64;
    else if (kind == H5T_INTEGER && size == 4)
        *out = NORMA_INT32;
    else if (kind == H5T_INTEGER && size == 1 && has_names)
        *out = NORMA_NAME;
    else
        return NORMA_FAIL(NORMA_CONFIG, "%s is of a type that norma does not write", name);
    return NORMA_OK;
}

static norma_status read_texts(hid_t dataset, char **units, char **long_name, char **meanings)
{
    NORMA_TRY(norma_h5_get_text_local(dataset, "units", units));
    NORMA_TRY(norma_h5_get_text_local(dataset, "long_name", long_name));
    return norma_h5_get_text_local(dataset, "flag_meanings", meanings);
}

/* --- axes ------------------------------------------------------------------------------------ */

norma_status norma_merge_axis_values(norma_merge_inputs *inputs, const norma_merge_group *group,
                                     const norma_merge_axis *axis, int64_t first, int64_t n,
                                     void *out)
{
    const norma_merge_piece *piece = &group->pieces[axis->piece];
    const hsize_t start[] = {(hsize_t)first};
    const hsize_t count[] = {(hsize_t)n};
    hid_t id = H5I_INVALID_HID;
    bool found = false;
    NORMA_TRY(norma_merge_inputs_group_local(inputs, piece->input, piece->path, &id, &found));
    hid_t set = found ? H5Dopen2(id, axis->name, H5P_DEFAULT) : H5I_INVALID_HID;
    hid_t space = H5Dget_space(set);
    hid_t memory = H5Screate_simple(1, count, NULL);
    norma_status status = NORMA_OK;
    if (H5Sselect_hyperslab(space, H5S_SELECT_SET, start, NULL, count, NULL) < 0 ||
        H5Dread(set, norma_h5_memory_type_local(axis->type), memory, space, H5P_DEFAULT, out) < 0)
        status =
            NORMA_H5_FAIL(NORMA_CONFIG, "%s: the coordinates %s cannot be read",
                          norma_merge_inputs_about_local(inputs, piece->input)->path, axis->name);
    H5Sclose(memory);
    if (space >= 0)
        H5Sclose(space);
    if (set >= 0)
        H5Dclose(set);
    if (id >= 0)
        H5Gclose(id);
    return status;
}

/* One list of coordinates must begin with the other. */
static norma_status compare_coordinates(walk *w, const norma_merge_axis *old,
                                        const norma_merge_axis *new)
{
    int64_t n = old->length < new->length ? old->length : new->length;
    int64_t size = norma_schema_type_size_local(old->type);
    unsigned char *values = NULL;
    norma_status status = NORMA_ALLOC(values, 2 * piece_length * size);
    for (int64_t first = 0; first < n && status == NORMA_OK; first += piece_length) {
        int64_t count = n - first < piece_length ? n - first : piece_length;
        unsigned char *other = values + piece_length * size;
        status = norma_merge_axis_values(w->inputs, w->group, old, first, count, values);
        if (status == NORMA_OK)
            status = norma_merge_axis_values(w->inputs, w->group, new, first, count, other);
        if (status == NORMA_OK && memcmp(values, other, (size_t)(count * size)) != 0)
            status = fail_pair(w, old->piece, old->name, "the coordinates differ");
    }
    norma_mem_free(values);
    return status;
}

int64_t norma_merge_layout_find_axis(const norma_merge_layout *layout, const char *name)
{
    for (int64_t i = 0; i < layout->n_axes; i++)
        if (strcmp(layout->axes[i].name, name) == 0)
            return i;
    return -1;
}

static bool is_leading(const norma_merge_piece *piece, const char *name)
{
    for (int i = 0; i < piece->n_leading; i++)
        if (strcmp(piece->leading[i], name) == 0)
            return true;
    return false;
}

static norma_status read_axis(hid_t dataset, const char *name, int64_t number,
                              norma_merge_axis *axis)
{
    char scale[NORMA_NAME_LENGTH] = "";
    hsize_t length = 0;
    hid_t space = H5Dget_space(dataset);
    H5Sget_simple_extent_dims(space, &length, NULL);
    H5Sclose(space);
    (void)H5DSget_scale_name(dataset, scale, sizeof scale);
    copy_name(axis->name, name);
    axis->has_values = strncmp(scale, NORMA_NOT_A_VARIABLE, strlen(NORMA_NOT_A_VARIABLE)) != 0;
    axis->length = (int64_t)length;
    axis->piece = number;
    NORMA_TRY(read_texts(dataset, &axis->units, &axis->long_name, &axis->meanings));
    return read_type(dataset, name, axis->meanings != NULL, &axis->type);
}

static void clear_axis(norma_merge_axis *axis)
{
    norma_mem_free(axis->units);
    norma_mem_free(axis->long_name);
    norma_mem_free(axis->meanings);
}

static norma_status add_axis(walk *w, hid_t dataset, const char *name)
{
    norma_merge_layout *layout = w->layout;
    norma_merge_axis axis = {.length = 0};
    int64_t at = norma_merge_layout_find_axis(layout, name);
    norma_status status = NORMA_OK;
    if (is_leading(piece_of(w->group, w->number), name))
        return NORMA_OK;
    NORMA_GOTO(status, read_axis(dataset, name, w->number, &axis));
    if (strcmp(name, "replica") == 0)
        axis.length = w->group->n_replicas;
    if (at < 0) {
        NORMA_GOTO(status, grow((void **)&layout->axes, layout->n_axes, &layout->axes_capacity,
                                sizeof *layout->axes));
        layout->axes[layout->n_axes++] = axis;
        return NORMA_OK;
    }
    const norma_merge_axis *old = &layout->axes[at];
    if (axis.type != old->type || axis.has_values != old->has_values ||
        !texts_equal(axis.meanings, old->meanings))
        NORMA_GOTO(status, fail_pair(w, old->piece, name, "the kinds of coordinates differ"));
    if (strcmp(name, "replica") != 0 && axis.has_values)
        NORMA_GOTO(status, compare_coordinates(w, old, &axis));
    if (axis.length > old->length) {
        layout->axes[at].length = axis.length;
        layout->axes[at].piece = w->number;
    }
done:
    clear_axis(&axis);
    return status;
}

/* --- variables ------------------------------------------------------------------------------- */

static norma_status read_dimensions(walk *w, hid_t dataset, norma_merge_variable *variable)
{
    const norma_merge_piece *piece = piece_of(w->group, w->number);
    char name[NORMA_NAME_LENGTH];
    hid_t space = H5Dget_space(dataset);
    int n = H5Sget_simple_extent_ndims(space);
    H5Sclose(space);
    for (int i = 0; i < n; i++) {
        NORMA_TRY(norma_schema_axis_name_local(dataset, i, name));
        bool leads = i < piece->n_leading && strcmp(name, piece->leading[i]) == 0;
        int64_t axis = leads ? -1 : norma_merge_layout_find_axis(w->layout, name);
        if (i < piece->n_leading ? !leads : axis < 0)
            return NORMA_FAIL(NORMA_CONFIG,
                              "%s: %s has not all dimensions of the sweep in front: such values "
                              "cannot be merged",
                              path_of(w, w->number), variable->name);
        if (!leads && variable->n_axes < NORMA_MAX_DIMENSIONS - w->group->n_axes)
            variable->axes[variable->n_axes++] = axis;
    }
    return n < piece->n_leading
               ? NORMA_FAIL(NORMA_CONFIG, "%s: %s has no dimension of the sweep's cells",
                            path_of(w, w->number), variable->name)
               : NORMA_OK;
}

static void clear_variable(norma_merge_variable *variable)
{
    norma_mem_free(variable->units);
    norma_mem_free(variable->long_name);
    norma_mem_free(variable->meanings);
    norma_mem_free(variable->text);
    norma_mem_free(variable->pooled);
}

/* A variable whose name a dimension of the sweep takes is called ..._used, as in one run. */
static void rename_used(const norma_merge_group *group, norma_merge_variable *variable)
{
    copy_name(variable->renamed, variable->name);
    for (int i = 0; i < group->n_axes; i++)
        if (strcmp(group->axes[i], variable->name) == 0)
            snprintf(variable->renamed, NORMA_NAME_LENGTH, "%.200s_used", variable->name);
}

static norma_status add_variable(walk *w, hid_t dataset, const char *name)
{
    norma_merge_layout *layout = w->layout;
    norma_merge_variable variable = {.piece = w->number};
    norma_status status = NORMA_OK;
    int64_t at = 0;
    copy_name(variable.name, name);
    /* The merge writes its own. */
    if (strcmp(piece_of(w->group, w->number)->path, "/") == 0 &&
        norma_provenance_has_dataset_local(name))
        return NORMA_OK;
    rename_used(w->group, &variable);
    NORMA_GOTO(status,
               read_texts(dataset, &variable.units, &variable.long_name, &variable.meanings));
    NORMA_GOTO(status, norma_h5_get_text_local(dataset, NORMA_POOLED, &variable.pooled));
    NORMA_GOTO(status, norma_h5_read_text_local(dataset, &variable.text));
    if (!variable.text) {
        NORMA_GOTO(status, read_type(dataset, name, variable.meanings != NULL, &variable.type));
        NORMA_GOTO(status, read_dimensions(w, dataset, &variable));
    }
    while (at < layout->n_variables && strcmp(layout->variables[at].renamed, variable.renamed) != 0)
        at++;
    if (at == layout->n_variables) {
        NORMA_GOTO(status, grow((void **)&layout->variables, layout->n_variables,
                                &layout->variables_capacity, sizeof *layout->variables));
        layout->variables[layout->n_variables++] = variable;
        return NORMA_OK;
    }
    const norma_merge_variable *old = &layout->variables[at];
    if (variable.type != old->type || variable.n_axes != old->n_axes ||
        memcmp(variable.axes, old->axes, sizeof old->axes) != 0 ||
        !texts_equal(variable.meanings, old->meanings))
        NORMA_GOTO(status, fail_pair(w, old->piece, name, "types or dimensions differ"));
    if (!texts_equal(variable.text, old->text))
        NORMA_GOTO(status, fail_pair(w, old->piece, name, "the texts differ"));
done:
    clear_variable(&variable);
    return status;
}

static norma_status add_group(walk *w, const char *name)
{
    norma_merge_layout *layout = w->layout;
    for (int64_t i = 0; i < layout->n_groups; i++)
        if (strcmp(layout->groups[i], name) == 0)
            return NORMA_OK;
    NORMA_TRY(grow((void **)&layout->groups, layout->n_groups, &layout->groups_capacity,
                   sizeof *layout->groups));
    copy_name(layout->groups[layout->n_groups++], name);
    return NORMA_OK;
}

/* --- all of a group -------------------------------------------------------------------------- */

static bool is_listed(const char *const *names, const char *name)
{
    for (; *names; names++)
        if (strcmp(*names, name) == 0)
            return true;
    return false;
}

/* Axes at the first pass, everything else at the second. */
static norma_status add_object(walk *w, const char *name, bool axes)
{
    const norma_merge_piece *piece = piece_of(w->group, w->number);
    if ((piece->only && !is_listed(piece->only, name)) ||
        (piece->left_out && is_listed(piece->left_out, name)))
        return NORMA_OK;
    hid_t object = H5Oopen(w->id, name, H5P_DEFAULT);
    norma_status status = NORMA_OK;
    if (object < 0)
        return NORMA_H5_FAIL(NORMA_CONFIG, "%s: %s cannot be opened", path_of(w, w->number), name);
    if (strlen(name) > 200)
        status = NORMA_FAIL(NORMA_CONFIG, "%s: the name %.60s... is too long",
                            path_of(w, w->number), name);
    else if (H5Iget_type(object) == H5I_GROUP)
        status = axes ? NORMA_OK : add_group(w, name);
    else if (H5Iget_type(object) == H5I_DATASET && (H5DSis_scale(object) > 0) == axes)
        status = axes ? add_axis(w, object, name) : add_variable(w, object, name);
    H5Oclose(object);
    return status;
}

static herr_t visit_axis(hid_t group, const char *name, const H5L_info_t *about, void *data)
{
    walk *w = data;
    (void)group;
    (void)about;
    w->status = add_object(w, name, true);
    return w->status == NORMA_OK ? 0 : -1;
}

static herr_t visit_other(hid_t group, const char *name, const H5L_info_t *about, void *data)
{
    walk *w = data;
    (void)group;
    (void)about;
    w->status = add_object(w, name, false);
    return w->status == NORMA_OK ? 0 : -1;
}

norma_status norma_merge_layout_read(norma_merge_inputs *inputs, const norma_merge_group *group,
                                     norma_merge_layout *layout)
{
    walk w = {.inputs = inputs, .group = group, .layout = layout};
    memset(layout, 0, sizeof *layout);
    for (w.number = 0; w.number < group->n_pieces; w.number++) {
        const norma_merge_piece *piece = piece_of(group, w.number);
        bool found = false;
        NORMA_TRY(norma_merge_inputs_group_local(inputs, piece->input, piece->path, &w.id, &found));
        if (!found)
            continue;
        herr_t result = H5Literate(w.id, H5_INDEX_CRT_ORDER, H5_ITER_INC, NULL, visit_axis, &w);
        if (result >= 0)
            result = H5Literate(w.id, H5_INDEX_CRT_ORDER, H5_ITER_INC, NULL, visit_other, &w);
        H5Gclose(w.id);
        if (w.status == NORMA_OK && result < 0)
            w.status = NORMA_H5_FAIL(NORMA_CONFIG, "%s: group %s cannot be read",
                                     path_of(&w, w.number), piece->path);
        NORMA_TRY(w.status);
    }
    return NORMA_OK;
}

void norma_merge_layout_clear(norma_merge_layout *layout)
{
    for (int64_t i = 0; i < layout->n_axes; i++)
        clear_axis(&layout->axes[i]);
    for (int64_t i = 0; i < layout->n_variables; i++)
        clear_variable(&layout->variables[i]);
    norma_mem_free(layout->axes);
    norma_mem_free(layout->variables);
    norma_mem_free(layout->groups);
    memset(layout, 0, sizeof *layout);
}
