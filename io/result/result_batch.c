/* Small writes of one rank, kept in memory and written together: neighbours become one write. */
#include "io/result/result.h"

#include "io/result/result_internal.h"
#include "src/base/mem.h"

#include <string.h>

/* Larger writes go to the file at once. */
static const int64_t largest_kept = (int64_t)64 << 10;

/* Bytes from which all that is kept is written. */
static const int64_t most_kept = (int64_t)4 << 20;

/* A block of elements, in the order of the file. */
typedef struct piece {
    int64_t start[NORMA_MAX_DIMENSIONS], count[NORMA_MAX_DIMENSIONS];
    int64_t size, capacity; /* bytes */
    unsigned char *values;  /* owned */
} piece;

/* The kept writes of a variable, in the order in which they came. */
typedef struct kept {
    char *variable; /* owned */
    norma_type type;
    int n; /* dimensions */
    int64_t extent[NORMA_MAX_DIMENSIONS];
    piece *pieces; /* [n_pieces], capacity as counted; owned */
    int64_t n_pieces, capacity;
} kept;

struct norma_batch {
    kept *variables; /* [n_variables], capacity as counted; owned */
    int64_t n_variables, capacity;
    int64_t next; /* the variable after the one written last: writes come in the same order */
    int64_t size; /* bytes kept */
};

/* Room for one more element of an array of n; grows by doubling. */
static norma_status make_room(void **array, int64_t n, int64_t *capacity, int64_t element)
{
    if (n < *capacity)
        return NORMA_OK;
    int64_t larger = 2 * *capacity + 8;
    void *moved = norma_mem_resize(*array, n, larger, (size_t)element, __FILE__, __LINE__);
    if (!moved)
        return NORMA_MEMORY;
    *array = moved;
    *capacity = larger;
    return NORMA_OK;
}

/* The variable of a name; added when it is new. */
static norma_status find(norma_result *file, const char *variable, norma_type type, kept **out)
{
    norma_batch *b = file->batch;
    for (int64_t i = 0; i < b->n_variables; i++) {
        int64_t at = (b->next + i) % b->n_variables;
        if (strcmp(b->variables[at].variable, variable) == 0) {
            b->next = at + 1;
            *out = &b->variables[at];
            return NORMA_OK;
        }
    }
    void *array = b->variables;
    kept v = {.type = type};
    NORMA_TRY(norma_result_extent_local(file, variable, type, &v.n, v.extent));
    norma_status status =
        make_room(&array, b->n_variables, &b->capacity, (int64_t)sizeof *b->variables);
    b->variables = array;
    NORMA_TRY(status);
    v.variable = norma_mem_strdup(variable);
    if (!v.variable)
        return NORMA_MEMORY;
    b->variables[b->n_variables] = v;
    *out = &b->variables[b->n_variables++];
    b->next = b->n_variables;
    return NORMA_OK;
}

static norma_status check(const kept *v, norma_type type, const int64_t *start,
                          const int64_t *count)
{
    if (type != v->type)
        return NORMA_FAIL(NORMA_LIBRARY, "%s is not of the type it is written from", v->variable);
    for (int i = 0; i < v->n; i++)
        if (start[i] < 0 || start[i] > v->extent[i] - count[i])
            return NORMA_FAIL(NORMA_LIBRARY,
                              "%s: elements %lld to %lld of dimension %d, which has %lld",
                              v->variable, (long long)start[i],
                              (long long)(start[i] + count[i] - 1), i, (long long)v->extent[i]);
    return NORMA_OK;
}

/* The axis along which b continues a, their elements one after the other; -1: none. */
static int continues(const kept *v, const piece *a, const piece *b)
{
    int axis = -1;
    for (int i = 0; i < v->n; i++) {
        if (a->start[i] == b->start[i] && a->count[i] == b->count[i])
            continue;
        if (axis >= 0 || b->start[i] != a->start[i] + a->count[i])
            return -1;
        axis = i;
    }
    for (int i = 0; i < axis; i++)
        if (a->count[i] != 1)
            return -1;
    return axis;
}

/* Appends the values of the last piece to the one before it, as long as it continues that. */
static norma_status merge(kept *v)
{
    while (v->n_pieces > 1) {
        piece *a = &v->pieces[v->n_pieces - 2];
        piece *b = &v->pieces[v->n_pieces - 1];
        int axis = continues(v, a, b);
        if (axis < 0)
            return NORMA_OK;
        if (a->size + b->size > a->capacity) {
            int64_t larger = 2 * (a->size + b->size);
            unsigned char *moved =
                norma_mem_resize(a->values, a->size, larger, 1, __FILE__, __LINE__);
            if (!moved)
                return NORMA_MEMORY;
            a->values = moved;
            a->capacity = larger;
        }
        memcpy(a->values + a->size, b->values, (size_t)b->size);
        a->size += b->size;
        a->count[axis] += b->count[axis];
        NORMA_FREE(b->values);
        v->n_pieces--;
    }
    return NORMA_OK;
}

static norma_status keep(kept *v, const int64_t *start, const int64_t *count, int64_t size,
                         const void *data)
{
    void *array = v->pieces;
    norma_status status = make_room(&array, v->n_pieces, &v->capacity, (int64_t)sizeof *v->pieces);
    v->pieces = array;
    NORMA_TRY(status);
    piece *p = &v->pieces[v->n_pieces];
    *p = (piece){.size = size, .capacity = size};
    NORMA_TRY(NORMA_ALLOC(p->values, size));
    memcpy(p->values, data, (size_t)size);
    for (int i = 0; i < v->n; i++) {
        p->start[i] = start[i];
        p->count[i] = count[i];
    }
    v->n_pieces++;
    return merge(v);
}

static void forget(kept *v)
{
    for (int64_t p = 0; p < v->n_pieces; p++)
        NORMA_FREE(v->pieces[p].values);
    v->n_pieces = 0;
}

norma_status norma_result_put_local(norma_result *file, const char *variable, norma_type type,
                                    const int64_t *start, const int64_t *count, const void *data)
{
    int64_t ones[NORMA_MAX_DIMENSIONS] = {0};
    int64_t size = norma_schema_type_size_local(type);
    kept *v = NULL;
    if (!file->batch)
        NORMA_TRY(NORMA_CALLOC(file->batch, 1));
    NORMA_TRY(find(file, variable, type, &v));
    for (int i = 0; i < v->n; i++) {
        ones[i] = count ? count[i] : 1;
        size *= ones[i];
    }
    NORMA_TRY(check(v, type, start, ones));
    if (size > largest_kept) {
        NORMA_TRY(norma_result_spill_local(file));
        return norma_result_write_local(file, variable, type, start, count, data);
    }
    if (size > 0)
        NORMA_TRY(keep(v, start, ones, size, data));
    file->batch->size += size;
    return file->batch->size > most_kept ? norma_result_spill_local(file) : NORMA_OK;
}

norma_status norma_result_spill_local(norma_result *file)
{
    norma_batch *b = file->batch;
    norma_status status = NORMA_OK;
    for (int64_t i = 0; b && i < b->n_variables; i++) {
        kept *v = &b->variables[i];
        for (int64_t p = 0; p < v->n_pieces && status == NORMA_OK; p++)
            status = norma_result_write_local(file, v->variable, v->type, v->pieces[p].start,
                                              v->pieces[p].count, v->pieces[p].values);
        forget(v);
    }
    if (b)
        b->size = 0;
    return status;
}

void norma_result_batch_destroy_local(norma_batch **batch)
{
    norma_batch *b = *batch;
    if (!b)
        return;
    for (int64_t i = 0; i < b->n_variables; i++) {
        forget(&b->variables[i]);
        NORMA_FREE(b->variables[i].pieces);
        NORMA_FREE(b->variables[i].variable);
    }
    NORMA_FREE(b->variables);
    NORMA_FREE(*batch);
}
