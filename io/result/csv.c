#include "io/result/csv.h"

#include "io/result/result_internal.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"
#include "src/base/mem.h"
#include "src/base/text.h"

#include <hdf5_hl.h>
#include <stdio.h>
#include <string.h>

/* Values of a variable that are held at a time, but for rows that are longer. */
enum { SLAB = 1 << 16, MOST_COLUMNS = 64 };

/* Values of one dataset: of a variable, or the coordinates of a dimension. */
typedef struct column {
    char name[NORMA_NAME_LENGTH];
    hid_t dataset; /* owned; H5I_INVALID_HID: a dimension without coordinate values */
    bool whole;    /* the values are whole numbers */
    bool has_missing;
    int64_t missing; /* the whole number that stands for a missing value */
    char *meanings;  /* names of the values 0, 1, ..., separated by blanks; NULL: none; owned */
    int64_t n;       /* values held */
    double *reals;   /* [n]; owned; NULL when whole */
    int64_t *wholes; /* [n]; owned; NULL otherwise */
} column;

typedef struct table {
    const char *path;
    hid_t file;
    int n_axes, n_columns;
    hsize_t extents[H5S_MAX_RANK];
    column axes[H5S_MAX_RANK];
    column columns[MOST_COLUMNS];
} table;

static void close_column(column *c)
{
    norma_mem_free(c->meanings);
    norma_mem_free(c->reals);
    norma_mem_free(c->wholes);
    if (c->dataset > 0)
        H5Dclose(c->dataset);
}

static norma_status open_column(column *c)
{
    hid_t type = H5Dget_type(c->dataset);
    H5T_class_t kind = H5Tget_class(type);
    H5Tclose(type);
    c->whole = kind == H5T_INTEGER;
    if (kind != H5T_INTEGER && kind != H5T_FLOAT)
        return NORMA_FAIL(NORMA_CONFIG, "%s holds no numbers; norma info FILE shows texts",
                          c->name);
    if (c->whole && H5Aexists(c->dataset, "_FillValue") > 0) {
        hid_t attribute = H5Aopen(c->dataset, "_FillValue", H5P_DEFAULT);
        c->has_missing = H5Aread(attribute, H5T_NATIVE_INT64, &c->missing) >= 0;
        H5Aclose(attribute);
    }
    return norma_h5_get_text_local(c->dataset, "flag_meanings", &c->meanings);
}

/* Reads rows [start, start + n_rows) of the first axis; all that there is for a scalar. */
static norma_status read_column(column *c, int n_axes, const hsize_t *extents, int64_t start,
                                int64_t n_rows, int64_t n_values)
{
    hsize_t from[H5S_MAX_RANK] = {(hsize_t)start};
    hsize_t count[H5S_MAX_RANK];
    hsize_t length = (hsize_t)n_values;
    if (n_values > c->n) {
        norma_mem_free(c->reals);
        norma_mem_free(c->wholes);
        c->reals = NULL;
        c->wholes = NULL;
        NORMA_TRY(c->whole ? NORMA_ALLOC(c->wholes, n_values) : NORMA_ALLOC(c->reals, n_values));
        c->n = n_values;
    }
    hid_t memory = H5Screate_simple(1, &length, NULL);
    hid_t file = H5Dget_space(c->dataset);
    herr_t result = 0;
    if (n_axes > 0) {
        memcpy(count, extents, (size_t)n_axes * sizeof *count);
        count[0] = (hsize_t)n_rows;
        result = H5Sselect_hyperslab(file, H5S_SELECT_SET, from, NULL, count, NULL);
    }
    if (result >= 0)
        result = H5Dread(c->dataset, c->whole ? H5T_NATIVE_INT64 : H5T_NATIVE_DOUBLE, memory, file,
                         H5P_DEFAULT, c->whole ? (void *)c->wholes : (void *)c->reals);
    H5Sclose(file);
    H5Sclose(memory);
    return result >= 0 ? NORMA_OK
                       : NORMA_H5_FAIL(NORMA_CONFIG, "%s: values cannot be read", c->name);
}

/* The name that a whole number stands for. */
static void append_meaning(const char *meanings, int64_t value, norma_text *out)
{
    for (int64_t i = 0; i < value && *meanings; i++) {
        meanings += strcspn(meanings, " ");
        meanings += *meanings == ' ';
    }
    norma_text_append(out, "%.*s", (int)strcspn(meanings, " "), meanings);
}

static void append_value(const column *c, int64_t i, norma_text *out)
{
    char real[NORMA_TEXT_REAL];
    if (c->dataset < 0)
        norma_text_append(out, "%lld", (long long)i);
    else if (!c->whole)
        norma_text_append(out, "%s", norma_text_format_real(c->reals[i], real));
    else if (c->has_missing && c->wholes[i] == c->missing)
        norma_text_append(out, "nan");
    else if (c->meanings)
        append_meaning(c->meanings, c->wholes[i], out);
    else
        norma_text_append(out, "%lld", (long long)c->wholes[i]);
}

/* Appends the lines of values [0, n_values) of the slab that begins at value `first`. */
static void append_lines(const table *t, int64_t first, int64_t n_values, norma_text *out)
{
    for (int64_t i = 0; i < n_values; i++) {
        int64_t stride = 1;
        int64_t index[H5S_MAX_RANK];
        for (int a = t->n_axes - 1; a >= 0; a--) {
            index[a] = (first + i) / stride % (int64_t)t->extents[a];
            stride *= (int64_t)t->extents[a];
        }
        if (i > 0)
            norma_text_append(out, "\n");
        for (int a = 0; a < t->n_axes; a++) {
            append_value(&t->axes[a], index[a], out);
            norma_text_append(out, ",");
        }
        for (int c = 0; c < t->n_columns; c++) {
            append_value(&t->columns[c], i, out);
            norma_text_append(out, "%s", c + 1 < t->n_columns ? "," : "");
        }
    }
}

static norma_status print_slab(table *t, int64_t start, int64_t n_rows, int64_t row)
{
    norma_text lines;
    char *text = NULL;
    for (int c = 0; c < t->n_columns; c++)
        NORMA_TRY(read_column(&t->columns[c], t->n_axes, t->extents, start, n_rows, n_rows * row));
    norma_text_init(&lines);
    append_lines(t, start * row, n_rows * row, &lines);
    NORMA_TRY(norma_text_take(&lines, &text));
    norma_log_result("%s", text);
    norma_mem_free(text);
    return NORMA_OK;
}

static norma_status print_values(table *t)
{
    norma_text header;
    char *text = NULL;
    int64_t n_rows = t->n_axes > 0 ? (int64_t)t->extents[0] : 1;
    int64_t row = 1;
    for (int a = 1; a < t->n_axes; a++)
        row *= (int64_t)t->extents[a];
    norma_text_init(&header);
    for (int a = 0; a < t->n_axes; a++)
        norma_text_append(&header, "%s,", t->axes[a].name);
    for (int c = 0; c < t->n_columns; c++)
        norma_text_append(&header, "%s%s", t->columns[c].name, c + 1 < t->n_columns ? "," : "");
    NORMA_TRY(norma_text_take(&header, &text));
    norma_log_result("%s", text);
    norma_mem_free(text);
    int64_t step = row < SLAB ? SLAB / (row > 0 ? row : 1) : 1;
    for (int64_t start = 0; start < n_rows && row > 0; start += step)
        NORMA_TRY(print_slab(t, start, n_rows - start < step ? n_rows - start : step, row));
    return NORMA_OK;
}

/* Takes the first scale attached to an axis. */
static herr_t take_scale(hid_t dataset, unsigned axis, hid_t scale, void *data)
{
    column *c = data;
    char label[80] = "";
    (void)dataset;
    (void)axis;
    H5DSget_scale_name(scale, label, sizeof label);
    if (strncmp(label, NORMA_NOT_A_VARIABLE, strlen(NORMA_NOT_A_VARIABLE)) == 0)
        return 1;
    H5Iinc_ref(scale);
    c->dataset = scale;
    return 1;
}

/* The dimensions of the first variable, with their coordinates. */
static norma_status open_axes(table *t)
{
    hid_t dataset = t->columns[0].dataset;
    for (int a = 0; a < t->n_axes; a++) {
        column *c = &t->axes[a];
        NORMA_TRY(norma_schema_axis_name_local(dataset, a, c->name));
        if (H5DSiterate_scales(dataset, (unsigned)a, NULL, take_scale, c) < 0)
            return NORMA_H5_FAIL(NORMA_CONFIG, "dimension %s cannot be read", c->name);
        if (c->dataset < 0)
            continue;
        NORMA_TRY(open_column(c));
        NORMA_TRY(
            read_column(c, 1, &t->extents[a], 0, (int64_t)t->extents[a], (int64_t)t->extents[a]));
    }
    return NORMA_OK;
}

/* The variable nearest to a mistyped name. */
typedef struct nearest {
    norma_text_search search;
    char name[NORMA_NAME_LENGTH];
} nearest;

static herr_t offer_dataset(hid_t root, const char *name, const H5O_info_t *about, void *data)
{
    nearest *n = data;
    (void)root;
    if (about->type == H5O_TYPE_DATASET)
        norma_text_search_offer(&n->search, name);
    if (norma_text_search_result(&n->search) == name) { /* which is HDF5's own */
        snprintf(n->name, sizeof n->name, "%.*s", NORMA_NAME_LENGTH - 1, name);
        n->search.best = n->name;
    }
    return 0;
}

static norma_status fail_unknown(const table *t, const char *name)
{
    nearest near = {.name = ""};
    norma_text_search_init(&near.search, name[0] == '/' ? name + 1 : name);
    H5Ovisit(t->file, H5_INDEX_NAME, H5_ITER_INC, offer_dataset, &near);
    return NORMA_FAIL(NORMA_CONFIG, "%s has no variable '%s'%s%s%s; norma info lists them", t->path,
                      name, near.name[0] ? "; did you mean '" : "", near.name,
                      near.name[0] ? "'?" : "");
}

/* Opens the next variable; its dimensions must be those of the first. */
static norma_status open_variable(table *t, const char *name)
{
    hsize_t extents[H5S_MAX_RANK] = {0};
    char axis[NORMA_NAME_LENGTH];
    if (t->n_columns == MOST_COLUMNS)
        return NORMA_FAIL(NORMA_CONFIG, "more than %d variables", MOST_COLUMNS);
    column *c = &t->columns[t->n_columns];
    snprintf(c->name, sizeof c->name, "%s", name);
    H5E_BEGIN_TRY
    {
        c->dataset = H5Dopen2(t->file, name, H5P_DEFAULT);
    }
    H5E_END_TRY
    if (c->dataset < 0)
        return fail_unknown(t, name);
    t->n_columns++;
    NORMA_TRY(open_column(c));
    hid_t space = H5Dget_space(c->dataset);
    int n_axes = H5Sget_simple_extent_dims(space, extents, NULL);
    H5Sclose(space);
    if (t->n_columns == 1) {
        t->n_axes = n_axes;
        memcpy(t->extents, extents, sizeof extents);
        return open_axes(t);
    }
    bool equal = n_axes == t->n_axes;
    for (int a = 0; a < n_axes && equal; a++) {
        NORMA_TRY(norma_schema_axis_name_local(c->dataset, a, axis));
        equal = extents[a] == t->extents[a] && strcmp(axis, t->axes[a].name) == 0;
    }
    return equal ? NORMA_OK
                 : NORMA_FAIL(NORMA_CONFIG, "%s and %s have different dimensions; print them apart",
                              t->columns[0].name, c->name);
}

static norma_status open_variables(table *t, const char *names)
{
    for (const char *end = names; *names; names = *end ? end + 1 : end) {
        char name[NORMA_NAME_LENGTH];
        end = names + strcspn(names, ",");
        if (end == names || end - names >= (ptrdiff_t)sizeof name)
            return NORMA_FAIL(NORMA_CONFIG, "'%s' is not a list of variables", names);
        memcpy(name, names, (size_t)(end - names));
        name[end - names] = '\0';
        NORMA_TRY(open_variable(t, name));
    }
    return t->n_columns > 0 ? NORMA_OK : NORMA_FAIL(NORMA_CONFIG, "no variable is named");
}

norma_status norma_csv_print_local(const char *path, const char *names)
{
    table *t = NULL;
    NORMA_TRY(NORMA_CALLOC(t, 1));
    t->path = path;
    for (int a = 0; a < H5S_MAX_RANK; a++)
        t->axes[a].dataset = H5I_INVALID_HID;
    norma_status status = norma_h5_open_local(path, &t->file);
    if (status == NORMA_OK) {
        status = open_variables(t, names);
        if (status == NORMA_OK)
            status = print_values(t);
        for (int a = 0; a < t->n_axes; a++)
            close_column(&t->axes[a]);
        for (int c = 0; c < t->n_columns; c++)
            close_column(&t->columns[c]);
        H5Fclose(t->file);
    }
    norma_mem_free(t);
    return status;
}

norma_status norma_csv_print(MPI_Comm comm, const char *path, const char *names)
{
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    return norma_agree(comm, rank == 0 ? norma_csv_print_local(path, names) : NORMA_OK);
}
