/*
 * A slab is a box of the merged variable: single indices of the first axes, a range of one, all of
 * those behind. Its part in the sweep's dimensions is a range of cells. Of each piece the cells of
 * that range are read in runs of neighbours and put to their places; what no piece has stays
 * missing.
 */
#include "io/merge/copy.h"

#include "io/result/compare.h"
#include "src/base/index.h"
#include "src/base/mem.h"

#include <math.h>
#include <string.h>

/* Bytes of a slab, but for rows that are longer. */
static const int64_t slab_bytes = (int64_t)4 << 20;

typedef struct box {
    int64_t start[NORMA_MAX_DIMENSIONS], count[NORMA_MAX_DIMENSIONS];
} box;

/* A variable and its slabs. */
typedef struct copier {
    norma_merge_inputs *inputs;
    const norma_merge_group *group;
    const norma_merge_variable *variable;
    int n, n_sweep; /* dimensions; those of the sweep */
    int64_t extents[NORMA_MAX_DIMENSIONS];
    int64_t size; /* bytes of a value */
    int replica;  /* its dimension; -1: none */
    int cut;      /* the axis that slabs cut into ranges */
    int64_t step; /* of so many indices */
    unsigned char *slab, *buffer;
    int64_t first_cell, n_cells; /* of the slab */
    box at;                      /* the slab */
    bool is_shared; /* values that pieces with different replicas must have in common */
} copier;

static void init(copier *c, const norma_merge_layout *layout)
{
    const norma_merge_group *group = c->group;
    const norma_merge_variable *variable = c->variable;
    c->n_sweep = group->n_axes;
    c->n = group->n_axes + variable->n_axes;
    c->size = norma_schema_type_size_local(variable->type);
    c->replica = -1;
    for (int d = 0; d < group->n_axes; d++)
        c->extents[d] = group->extents[d];
    for (int d = 0; d < variable->n_axes; d++) {
        const norma_merge_axis *axis = &layout->axes[variable->axes[d]];
        c->extents[group->n_axes + d] = axis->length;
        if (strcmp(axis->name, "replica") == 0)
            c->replica = group->n_axes + d;
    }
    c->is_shared = group->joins_replicas && c->replica < 0 &&
                   !norma_compare_is_measurement_local(variable->units);
    int64_t row = c->size;
    c->cut = c->n - 1;
    while (c->cut > 0 && row * c->extents[c->cut] <= slab_bytes)
        row *= c->extents[c->cut--];
    c->step = slab_bytes / (row > 0 ? row : 1);
    c->step = c->step < 1 ? 1 : c->step;
    if (c->n > 0 && c->step > c->extents[c->cut])
        c->step = c->extents[c->cut];
}

static int64_t product(const int64_t *values, int n)
{
    int64_t all = 1;
    for (int d = 0; d < n; d++)
        all *= values[d];
    return all;
}

/* The slab of that number; false behind the last one. */
static bool set_slab(copier *c, int64_t number)
{
    if (c->n == 0) {
        c->first_cell = 0;
        c->n_cells = 1;
        return number == 0;
    }
    int64_t parts = norma_index_ceil_divide(c->extents[c->cut], c->step);
    int64_t rest = number / parts;
    c->at.start[c->cut] = number % parts * c->step;
    int64_t left = c->extents[c->cut] - c->at.start[c->cut];
    c->at.count[c->cut] = left < c->step ? left : c->step;
    for (int d = c->cut - 1; d >= 0; d--) {
        const int64_t length = c->extents[d] > 0 ? c->extents[d] : 1;
        c->at.start[d] = rest % length;
        c->at.count[d] = 1;
        rest /= length;
    }
    for (int d = c->cut + 1; d < c->n; d++) {
        c->at.start[d] = 0;
        c->at.count[d] = c->extents[d];
    }
    c->first_cell = 0;
    for (int d = 0; d < c->n_sweep; d++)
        c->first_cell = c->first_cell * c->extents[d] + c->at.start[d];
    c->n_cells = product(c->at.count, c->n_sweep);
    return rest == 0;
}

static void fill_missing(norma_type type, unsigned char *out, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        switch (type) {
        case NORMA_FLOAT64:
            ((double *)(void *)out)[i] = NAN;
            break;
        case NORMA_FLOAT32:
            ((float *)(void *)out)[i] = NAN;
            break;
        case NORMA_INT32:
            ((int32_t *)(void *)out)[i] = NORMA_MISSING_INT32;
            break;
        case NORMA_INT64:
            ((int64_t *)(void *)out)[i] = NORMA_MISSING_INT64;
            break;
        case NORMA_NAME:
            ((int8_t *)out)[i] = NORMA_MISSING_NAME;
            break;
        }
}

/* --- one piece ------------------------------------------------------------------------------- */

/* The part of a piece that lies in the slab: the same ranges in every cell. */
typedef struct overlap {
    hid_t dataset;
    int n_leading, n; /* dimensions in the piece */
    hsize_t extents[NORMA_MAX_DIMENSIONS];
    int64_t from[NORMA_MAX_DIMENSIONS];  /* in the piece, behind the leading dimensions */
    int64_t to[NORMA_MAX_DIMENSIONS];    /* the same place in the slab */
    int64_t count[NORMA_MAX_DIMENSIONS]; /* 0 somewhere: nothing of it */
    int64_t row;                         /* values of one cell */
} overlap;

static void intersect(const copier *c, const norma_merge_piece *piece, overlap *o)
{
    o->row = 1;
    for (int d = 0; d < c->n - c->n_sweep; d++) {
        int whole = c->n_sweep + d;
        int64_t offset = whole == c->replica ? piece->replica : 0;
        int64_t begin = c->at.start[whole];
        int64_t end = begin + c->at.count[whole];
        int64_t stop = offset + (int64_t)o->extents[o->n_leading + d];
        int64_t low = begin > offset ? begin : offset;
        int64_t high = end < stop ? end : stop;
        o->from[d] = low - offset;
        o->to[d] = low - begin;
        o->count[d] = high > low ? high - low : 0;
        o->row *= o->count[d];
    }
}

/* Reads cells [first, first + n) of the piece, whose leading dimensions are a box there. */
static norma_status read_box(const overlap *o, const hsize_t *start, const hsize_t *count,
                             hid_t type, unsigned char *out)
{
    hsize_t from[NORMA_MAX_DIMENSIONS] = {0};
    hsize_t length[NORMA_MAX_DIMENSIONS] = {0};
    hsize_t n = (hsize_t)o->row;
    for (int d = 0; d < o->n; d++) {
        int k = d - o->n_leading;
        from[d] = k < 0 ? start[d] : (hsize_t)o->from[k];
        length[d] = k < 0 ? count[d] : (hsize_t)o->count[k];
        n *= k < 0 ? count[d] : 1;
    }
    hid_t space = H5Dget_space(o->dataset);
    hid_t memory = H5Screate_simple(1, &n, NULL);
    herr_t result = 0;
    if (o->n > 0)
        result = H5Sselect_hyperslab(space, H5S_SELECT_SET, from, NULL, length, NULL);
    if (result >= 0)
        result = H5Dread(o->dataset, type, memory, space, H5P_DEFAULT, out);
    H5Sclose(memory);
    H5Sclose(space);
    return result >= 0 ? NORMA_OK : NORMA_H5_FAIL(NORMA_CONFIG, "values cannot be read");
}

/* Reads cells [first, first + n) of the piece to out[n][row]: a range in row-major order is a few
 * boxes of the leading dimensions. */
static norma_status read_cells(const overlap *o, int64_t first, int64_t n, hid_t type, int64_t size,
                               unsigned char *out)
{
    while (n > 0) {
        hsize_t start[NORMA_MAX_DIMENSIONS] = {0};
        hsize_t count[NORMA_MAX_DIMENSIONS] = {0};
        int64_t stride = 1; /* cells of one index of dimension d */
        int d = o->n_leading - 1;
        while (d > 0 && first % (stride * (int64_t)o->extents[d]) == 0 &&
               n >= stride * (int64_t)o->extents[d])
            stride *= (int64_t)o->extents[d--];
        int64_t taken = 1;
        if (o->n_leading > 0) {
            int64_t index = first / stride % (int64_t)o->extents[d];
            int64_t most = (int64_t)o->extents[d] - index;
            taken = n / stride < most ? n / stride : most;
        }
        int64_t rest = first;
        for (int k = o->n_leading - 1; k >= 0; k--) {
            start[k] = (hsize_t)(rest % (int64_t)o->extents[k]);
            count[k] = k > d ? o->extents[k] : k == d ? (hsize_t)taken : 1;
            rest /= (int64_t)o->extents[k];
        }
        NORMA_TRY(read_box(o, start, count, type, out));
        first += taken * stride;
        n -= taken * stride;
        out += taken * stride * o->row * size;
    }
    return NORMA_OK;
}

/* Do the n values of a piece contradict those that another one has put there? */
static bool contradicts(const copier *c, const unsigned char *old, const unsigned char *new,
                        int64_t n)
{
    unsigned char missing[8];
    const size_t size = (size_t)c->size;
    fill_missing(c->variable->type, missing, 1);
    for (int64_t i = 0; i < n; i++, old += size, new += size) {
        bool both_nan = c->variable->type == NORMA_FLOAT64 &&
                        isnan(*(const double *)(const void *)old) &&
                        isnan(*(const double *)(const void *)new);
        if (memcmp(old, missing, size) != 0 && memcmp(old, new, size) != 0 && !both_nan)
            return true;
    }
    return false;
}

/* Puts one cell's values [count...] to their place in the slab; false where others stand there. */
static bool place(const copier *c, const overlap *o, int64_t cell, const unsigned char *from)
{
    int n = c->n - c->n_sweep;
    int64_t index[NORMA_MAX_DIMENSIONS] = {0};
    const int64_t run = n > 0 ? o->count[n - 1] : 1;
    for (int64_t done = 0; done < o->row; done += run) {
        int64_t at = cell - c->first_cell;
        for (int d = 0; d < n; d++)
            at = at * c->at.count[c->n_sweep + d] + o->to[d] + index[d];
        unsigned char *to = c->slab + at * c->size;
        if (c->is_shared && contradicts(c, to, from + done * c->size, run))
            return false;
        memcpy(to, from + done * c->size, (size_t)(run * c->size));
        for (int d = n - 2; d >= 0 && ++index[d] == o->count[d]; d--)
            index[d] = 0;
    }
    return true;
}

static int64_t place_in(const norma_merge_piece *piece, int64_t k)
{
    return piece->order ? piece->order[k] : k;
}

/* The first k with cells[order[k]] >= cell. */
static int64_t find_cell(const norma_merge_piece *piece, int64_t cell)
{
    int64_t low = 0;
    int64_t high = piece->n_cells;
    while (low < high) {
        int64_t middle = low + (high - low) / 2;
        if (piece->cells[place_in(piece, middle)] < cell)
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

/* Cells k .. end - 1 of the piece's order, in runs of neighbours in the piece. */
static norma_status copy_cells(const copier *c, const norma_merge_piece *piece, const overlap *o,
                               int64_t k, int64_t end)
{
    hid_t type = norma_h5_memory_type_local(c->variable->type);
    while (k < end) {
        int64_t first = place_in(piece, k);
        int64_t n = 1;
        while (k + n < end && place_in(piece, k + n) == first + n)
            n++;
        NORMA_TRY(read_cells(o, first, n, type, c->size, c->buffer));
        for (int64_t i = 0; i < n; i++)
            if (!place(c, o, piece->cells[first + i], c->buffer + i * o->row * c->size))
                return NORMA_FAIL(NORMA_CONFIG,
                                  "is computed from all replicas of a run, and another file holds "
                                  "other replicas: such results need one run of all replicas");
        k += n;
    }
    return NORMA_OK;
}

static norma_status copy_piece(const copier *c, const norma_merge_piece *piece)
{
    int64_t k = find_cell(piece, c->first_cell);
    int64_t end = find_cell(piece, c->first_cell + c->n_cells);
    hid_t group = H5I_INVALID_HID;
    bool found = false;
    overlap o = {.n_leading = piece->n_leading};
    if (k == end)
        return NORMA_OK;
    NORMA_TRY(norma_merge_inputs_group_local(c->inputs, piece->input, piece->path, &group, &found));
    if (!found)
        return NORMA_OK;
    norma_status status = NORMA_OK;
    /* Where the name is that of an option which the piece sweeps, the variable has the new one. */
    const char *name = H5Lexists(group, c->variable->renamed, H5P_DEFAULT) > 0
                           ? c->variable->renamed
                           : c->variable->name;
    if (H5Lexists(group, name, H5P_DEFAULT) > 0) {
        o.dataset = H5Dopen2(group, name, H5P_DEFAULT);
        hid_t space = H5Dget_space(o.dataset);
        o.n = H5Sget_simple_extent_dims(space, o.extents, NULL);
        H5Sclose(space);
        intersect(c, piece, &o);
        if (o.row > 0)
            status = copy_cells(c, piece, &o, k, end);
        H5Dclose(o.dataset);
    }
    H5Gclose(group);
    const char *path = norma_merge_inputs_about_local(c->inputs, piece->input)->path;
    return status == NORMA_OK ? status
                              : norma_status_context(status, "%s: %s: ", path, c->variable->name);
}

/* --- all slabs ------------------------------------------------------------------------------- */

/* Bytes of a slab. */
static int64_t count_bytes(const copier *c)
{
    int64_t bytes = c->size;
    for (int d = c->n > 0 ? c->cut : 0; d < c->n; d++)
        bytes *= d == c->cut ? c->step : c->extents[d];
    return bytes;
}

/* The slab's values from all pieces. */
static norma_status read_slab(const copier *c)
{
    fill_missing(c->variable->type, c->slab, product(c->at.count, c->n));
    for (int64_t p = 0; p < c->group->n_pieces; p++)
        NORMA_TRY(copy_piece(c, &c->group->pieces[p]));
    return NORMA_OK;
}

norma_status norma_merge_copy_local(norma_merge_inputs *inputs, norma_result *file,
                                    const norma_merge_group *group,
                                    const norma_merge_layout *layout,
                                    const norma_merge_variable *variable, const char *path)
{
    copier c = {.inputs = inputs, .group = group, .variable = variable};
    int n_ranks = 1;
    norma_status status = NORMA_OK;
    MPI_Comm_size(file->comm, &n_ranks);
    init(&c, layout);
    if (c.n > 0 && product(c.extents, c.n) == 0)
        return NORMA_OK;
    NORMA_GOTO(status, NORMA_ALLOC(c.slab, count_bytes(&c)));
    NORMA_GOTO(status, NORMA_ALLOC(c.buffer, count_bytes(&c)));
    for (int64_t number = file->rank; set_slab(&c, number); number += n_ranks) {
        NORMA_GOTO(status, read_slab(&c));
        NORMA_GOTO(status,
                   norma_result_write_local(file, path, variable->type, c.n > 0 ? c.at.start : NULL,
                                            c.n > 0 ? c.at.count : NULL, c.slab));
    }
done:
    NORMA_FREE(c.buffer);
    NORMA_FREE(c.slab);
    return status;
}

/* --- from all replicas ----------------------------------------------------------------------- */

/* The variable that "mean of NAME" names, and the length of "mean"; NULL when there is none of
 * dimensions [sweep's..., replica]. */
static const norma_merge_variable *find_source(const norma_merge_layout *layout, const char *pooled,
                                               size_t *length)
{
    const char *of = strstr(pooled, " of ");
    for (int64_t i = 0; of && i < layout->n_variables; i++) {
        const norma_merge_variable *v = &layout->variables[i];
        *length = (size_t)(of - pooled);
        if (strcmp(v->renamed, of + 4) == 0 && v->n_axes == 1 &&
            strcmp(layout->axes[v->axes[0]].name, "replica") == 0)
            return v;
    }
    return NULL;
}

/* values[n] of one cell as doubles. */
static void convert(const copier *c, int64_t cell, int64_t n, double *values)
{
    const unsigned char *from = c->slab + cell * n * c->size;
    for (int64_t i = 0; i < n; i++) {
        int32_t count = 0;
        if (c->variable->type == NORMA_FLOAT64)
            memcpy(&values[i], from + i * c->size, sizeof values[i]);
        else {
            memcpy(&count, from + i * c->size, sizeof count);
            values[i] = count == NORMA_MISSING_INT32 ? NAN : (double)count;
        }
    }
}

norma_status norma_merge_pool_local(norma_merge_inputs *inputs, norma_result *file,
                                    const norma_merge_group *group,
                                    const norma_merge_layout *layout,
                                    const norma_merge_variable *variable, const char *path)
{
    char how[64];
    size_t length = 0;
    const norma_merge_variable *from = find_source(layout, variable->pooled, &length);
    copier c = {.inputs = inputs, .group = group, .variable = from};
    int64_t n = group->n_replicas;
    int n_ranks = 1;
    double *values = NULL;
    double *pooled = NULL;
    norma_status status = NORMA_OK;
    if (!from || length >= sizeof how || variable->n_axes > 0 || n * 8 > slab_bytes ||
        (from->type != NORMA_FLOAT64 && from->type != NORMA_INT32))
        return NORMA_FAIL(NORMA_CONFIG, "%s cannot be computed anew as '%.80s' over %lld replicas",
                          variable->name, variable->pooled, (long long)n);
    memcpy(how, variable->pooled, length);
    how[length] = '\0';
    MPI_Comm_size(file->comm, &n_ranks);
    init(&c, layout);
    NORMA_GOTO(status, NORMA_ALLOC(c.slab, count_bytes(&c)));
    NORMA_GOTO(status, NORMA_ALLOC(c.buffer, count_bytes(&c)));
    NORMA_GOTO(status, NORMA_ALLOC(values, n));
    NORMA_GOTO(status, NORMA_ALLOC(pooled, count_bytes(&c) / (n * c.size)));
    for (int64_t number = file->rank; set_slab(&c, number); number += n_ranks) {
        NORMA_GOTO(status, read_slab(&c));
        for (int64_t cell = 0; cell < c.n_cells; cell++) {
            convert(&c, cell, n, values);
            pooled[cell] = group->pool(how, values, n);
        }
        NORMA_GOTO(status, norma_result_write_local(file, path, NORMA_FLOAT64,
                                                    c.n_sweep > 0 ? c.at.start : NULL,
                                                    c.n_sweep > 0 ? c.at.count : NULL, pooled));
    }
done:
    NORMA_FREE(pooled);
    NORMA_FREE(values);
    NORMA_FREE(c.buffer);
    NORMA_FREE(c.slab);
    return status;
}
