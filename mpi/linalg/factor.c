#include "mpi/linalg/factor.h"

#include "mpi/linalg/factor_state.h"
#include "mpi/runtime/agree.h"
#include "src/base/index.h"
#include "src/base/mem_place.h"

#include <omp.h>
#include <string.h>

/* Columns updated between two looks at the messages: long enough for the rate of a matrix product,
 * some hundredths of a second. */
#define SLICE 1536
#define ALIGNED(bytes) (((bytes) + NORMA_ALIGNMENT - 1) / NORMA_ALIGNMENT * NORMA_ALIGNMENT)

static size_t item_size(const norma_factor *f)
{
    return f->matrix->single ? sizeof(float) : sizeof(double);
}

static bool is_serial(const norma_factor *f)
{
    return f->matrix->grid->shape.n_rows * f->matrix->grid->shape.n_columns == 1;
}

int64_t norma_factor_slice_local(int64_t block)
{
    return norma_index_ceil_divide(SLICE, block) * block;
}

int64_t norma_factor_capacity_local(int64_t n, int64_t block)
{
    int64_t of_slice = 2 * block * norma_factor_slice_local(block);
    return of_slice > n ? of_slice : n;
}

/* Where the data of a panel begins in its message. */
static int64_t panel_head(int64_t width)
{
    return ALIGNED((width + 1) * (int64_t)sizeof(int));
}

int64_t norma_factor_panel_bytes_local(int64_t width, int64_t n_rows, size_t item)
{
    return panel_head(width) + width * n_rows * (int64_t)item;
}

int64_t norma_factor_candidate_bytes_local(int64_t widest, size_t item)
{
    return (int64_t)sizeof(norma_factor_candidate) + ALIGNED(2 * widest * (int64_t)item);
}

/* The rows that change places, at `source`, which becomes the identity again. */
static void take_move(norma_factor_work *work, int64_t to)
{
    if (work->source[to] == to)
        return;
    work->to[work->n_moves] = to;
    work->from[work->n_moves++] = work->source[to];
    work->source[to] = to;
}

/* Local rows of this process row that leave for, or come from, process row q. */
static void list_rows(norma_factor_work *work, int q, int64_t **leaving, int64_t **coming)
{
    const norma_layout *rows = &work->factor->matrix->rows;
    int mine = work->factor->matrix->grid->row;
    const int64_t *first_leaving = *leaving;
    const int64_t *first_coming = *coming;
    for (int64_t i = 0; i < work->n_moves; i++) {
        int to = norma_layout_owner_local(rows, work->to[i]);
        int from = norma_layout_owner_local(rows, work->from[i]);
        if (from == mine && to == q)
            *(*leaving)++ = norma_layout_index_local(rows, work->from[i]);
        if (to == mine && from == q)
            *(*coming)++ = norma_layout_index_local(rows, work->to[i]);
    }
    work->n_leaving[q] = (int)(*leaving - first_leaving);
    work->n_coming[q] = (int)(*coming - first_coming);
}

void norma_factor_list_moves(norma_factor_work *work, int64_t first, int64_t last)
{
    const int *pivots = work->factor->pivots;
    int64_t *source = work->source;
    int64_t *leaving = work->leaving;
    int64_t *coming = work->coming;
    for (int64_t i = first; i < last; i++) {
        int64_t swapped = source[i];
        source[i] = source[pivots[i]];
        source[pivots[i]] = swapped;
    }
    work->n_moves = 0;
    for (int64_t i = first; i < last; i++) {
        take_move(work, i);
        take_move(work, pivots[i]);
    }
    for (int q = 0; q < work->factor->matrix->rows.n_processes; q++)
        list_rows(work, q, &leaving, &coming);
}

void norma_factor_place_panel(const norma_factor_work *work, int64_t index, size_t item,
                              norma_factor_panel *panel)
{
    const norma_factor *f = work->factor;
    const norma_dmat *m = f->matrix;
    int64_t first = index * f->block;
    /* Whole blocks of this process row above the panel. */
    int64_t above = (index + m->rows.n_processes - 1 - m->grid->row) / m->rows.n_processes;
    panel->first = first;
    panel->width = f->n - first < f->block ? f->n - first : f->block;
    panel->row = above * f->block < m->n_local_rows ? above * f->block : m->n_local_rows;
    panel->n_rows = m->n_local_rows - panel->row;
    panel->has_top = index % m->rows.n_processes == m->grid->row;
    char *message = norma_ring_buffer_local(panel->ring, (int)(index % m->columns.n_processes));
    panel->pivots = (int *)(void *)message;
    panel->data = message + panel_head(panel->width);
    panel->n_bytes = norma_factor_panel_bytes_local(panel->width, panel->n_rows, item);
}

/* An MPI_Op: the larger pivot, of equal ones the upper; a total order, so that all ranks find the
 * same one, and not a number above all. */
/* NOLINTNEXTLINE(readability-non-const-parameter): MPI's own type of function */
static void choose_candidate(void *in, void *inout, int *count, MPI_Datatype *type)
{
    MPI_Aint lower = 0;
    MPI_Aint extent = 0;
    MPI_Type_get_extent(*type, &lower, &extent);
    for (int i = 0; i < *count; i++) {
        const norma_factor_candidate *a = (const void *)((const char *)in + i * extent);
        norma_factor_candidate *b = (void *)((char *)inout + i * extent);
        size_t bytes = (size_t)a->n_bytes;
        if (a->size > b->size || (a->size == b->size && a->row < b->row)) {
            b->size = a->size;
            b->row = a->row;
            memcpy(b + 1, a + 1, bytes);
        }
        if (a->has_top) {
            b->has_top = 1;
            memcpy((char *)(b + 1) + bytes, (const char *)(a + 1) + bytes, bytes);
        }
    }
}

static void destroy_work(norma_factor_work *work)
{
    for (int p = 0; p < NORMA_FACTOR_PANELS; p++)
        norma_ring_destroy(&work->panels[p].ring);
    if (work->candidate != MPI_DATATYPE_NULL)
        MPI_Type_free(&work->candidate);
    if (work->choose != MPI_OP_NULL)
        MPI_Op_free(&work->choose);
    NORMA_FREE(work->top);
    NORMA_FREE(work->upper);
    NORMA_FREE(work->mine);
    NORMA_FREE(work->best);
    NORMA_FREE(work->source);
    NORMA_FREE(work->to);
    NORMA_FREE(work->from);
    NORMA_FREE(work->leaving);
    NORMA_FREE(work->coming);
    NORMA_FREE(work->n_leaving);
    NORMA_FREE(work->outgoing);
    NORMA_FREE(work->incoming);
}

/* Extents that the sizes of all arrays follow from. */
typedef struct extents {
    int64_t n, block, width; /* width: of the widest panel */
    int64_t n_local_rows, n_local_columns;
    norma_grid_shape grid;
    size_t item; /* bytes of an entry */
} extents;

static extents extents_of(const norma_factor *f)
{
    const norma_dmat *m = f->matrix;
    return (extents){.n = f->n,
                     .block = f->block,
                     .width = f->block < f->n ? f->block : f->n,
                     .n_local_rows = m->n_local_rows,
                     .n_local_columns = m->n_local_columns,
                     .grid = m->grid->shape,
                     .item = item_size(f)};
}

/* n * m entries of `item` bytes. Measures or allocates: src/base/mem_place.h. */
static norma_status place_items(void **array, int64_t n, int64_t m, size_t item, double *bytes)
{
    char *items = NULL;
    NORMA_TRY(NORMA_PLACE_UNSET(items, n, m * (int64_t)item, bytes));
    if (!bytes)
        *array = items;
    return NORMA_OK;
}

static norma_status place_candidate(norma_factor_candidate **out, const extents *e, double *bytes)
{
    char *candidate = NULL;
    NORMA_TRY(NORMA_PLACE(candidate, norma_factor_candidate_bytes_local(e->width, e->item), bytes));
    if (!bytes)
        *out = (void *)candidate;
    return NORMA_OK;
}

/* The arrays that a factor keeps. */
static norma_status place(norma_factor *f, const extents *e, double *bytes)
{
    NORMA_TRY(NORMA_PLACE(f->pivots, e->n, bytes));
    NORMA_TRY(NORMA_PLACE(f->sums, e->n_local_columns + 2 * e->block, bytes));
    return NORMA_PLACE_ROWS(f->pieces, omp_get_max_threads(), e->block, bytes);
}

/* Lists of rows that move, and the messages that take them. */
static norma_status place_moves(norma_factor_work *w, const extents *e, double *bytes)
{
    const int64_t capacity = norma_factor_capacity_local(e->n, e->block);
    NORMA_TRY(NORMA_PLACE(w->source, e->n, bytes));
    NORMA_TRY(NORMA_PLACE(w->to, e->n, bytes));
    NORMA_TRY(NORMA_PLACE(w->from, e->n, bytes));
    NORMA_TRY(NORMA_PLACE(w->leaving, e->n, bytes));
    NORMA_TRY(NORMA_PLACE(w->coming, e->n, bytes));
    NORMA_TRY(NORMA_PLACE(w->n_leaving, 6 * (int64_t)e->grid.n_rows, bytes));
    NORMA_TRY(place_items(&w->outgoing, capacity, 1, e->item, bytes));
    return e->grid.n_rows > 1 ? place_items(&w->incoming, capacity, 1, e->item, bytes) : NORMA_OK;
}

static norma_status place_work(norma_factor_work *w, const extents *e, double *bytes)
{
    NORMA_TRY(place_moves(w, e, bytes));
    NORMA_TRY(place_items(&w->top, e->width, e->width, e->item, bytes));
    NORMA_TRY(place_candidate(&w->mine, e, bytes));
    NORMA_TRY(place_candidate(&w->best, e, bytes));
    if (e->grid.n_rows == 1)
        return NORMA_OK;
    return place_items(&w->upper, norma_factor_slice_local(e->block), e->width, e->item, bytes);
}

double norma_factor_bytes_local(int64_t n, int64_t block, norma_grid_shape grid, bool single)
{
    const norma_layout rows = {n, block, grid.n_rows};
    const norma_layout columns = {n, block, grid.n_columns};
    const extents e = {.n = n,
                       .block = block,
                       .width = block < n ? block : n,
                       .n_local_rows = norma_layout_count_local(&rows, 0),
                       .n_local_columns = norma_layout_count_local(&columns, 0),
                       .grid = grid,
                       .item = single ? sizeof(float) : sizeof(double)};
    norma_factor f;
    norma_factor_work w;
    double bytes = (double)sizeof f;
    (void)place(&f, &e, &bytes);
    if (grid.n_rows * grid.n_columns == 1)
        return bytes;
    (void)place_work(&w, &e, &bytes);
    int64_t panel = norma_factor_panel_bytes_local(e.width, e.n_local_rows, e.item);
    /* Own panels, and those of the other ranks that this one reads. */
    return bytes +
           NORMA_FACTOR_PANELS * (norma_ring_bytes_local(panel, grid.n_columns) + (double)panel);
}

/* Lists of no rows; the type and the operation of candidates. */
static void begin_work(norma_factor_work *w, const extents *e)
{
    int n_processes = e->grid.n_rows;
    w->capacity = norma_factor_capacity_local(e->n, e->block);
    w->slice = norma_factor_slice_local(e->block);
    for (int64_t i = 0; i < e->n; i++)
        w->source[i] = i;
    w->n_coming = w->n_leaving + n_processes;
    w->counts_out = w->n_coming + n_processes;
    w->counts_in = w->counts_out + n_processes;
    w->at_out = w->counts_in + n_processes;
    w->at_in = w->at_out + n_processes;
    if (n_processes == 1)
        return;
    MPI_Type_contiguous((int)norma_factor_candidate_bytes_local(e->width, e->item), MPI_BYTE,
                        &w->candidate);
    MPI_Type_commit(&w->candidate);
    MPI_Op_create(choose_candidate, 1, &w->choose);
}

static norma_status create_work(norma_factor_work *w)
{
    const extents e = extents_of(w->factor);
    NORMA_TRY(place_work(w, &e, NULL));
    begin_work(w, &e);
    return NORMA_OK;
}

/* Collective over the grid's active ranks. */
static norma_status create_rings(norma_factor_work *w)
{
    const norma_factor *f = w->factor;
    const norma_grid *grid = f->matrix->grid;
    const extents e = extents_of(f);
    norma_ring_options options = {
        .max_bytes = norma_factor_panel_bytes_local(e.width, e.n_local_rows, e.item),
        .n_alike = NORMA_FACTOR_PANELS * grid->shape.n_rows};
    norma_status status = NORMA_OK;
    for (int p = 0; p < NORMA_FACTOR_PANELS && status == NORMA_OK; p++) {
        options.which = p;
        /* Process rows may differ in the size of their messages, not in whether they have room. */
        status = norma_agree(grid->active,
                             norma_ring_create(f->along_row, &options, &w->panels[p].ring));
    }
    return status;
}

static norma_status allocate(norma_factor *f)
{
    const extents e = extents_of(f);
    return f->matrix->grid->row < 0 ? NORMA_OK : place(f, &e, NULL);
}

static void run(norma_factor_work *work)
{
    if (is_serial(work->factor) && work->factor->matrix->single)
        norma_factor_serial_single(work);
    else if (is_serial(work->factor))
        norma_factor_serial_double(work);
    else if (work->factor->matrix->single)
        norma_factor_run_single(work);
    else
        norma_factor_run_double(work);
}

/* Every process row and column gets a communicator of its own. */
static void split(norma_factor *f)
{
    const norma_grid *grid = f->matrix->grid;
    bool active = grid->row >= 0;
    MPI_Comm_split(grid->comm, active ? grid->row : MPI_UNDEFINED, grid->column, &f->along_row);
    MPI_Comm_split(grid->comm, active ? grid->column : MPI_UNDEFINED, grid->row, &f->along_column);
}

norma_status norma_factor_create(norma_dmat *matrix, int64_t *first_bad, norma_factor **out)
{
    const norma_grid *grid = matrix->grid;
    norma_factor *f = NULL;
    norma_factor_work work = {
        .candidate = MPI_DATATYPE_NULL, .choose = MPI_OP_NULL, .first_bad = -1};
    norma_status status = norma_agree(grid->comm, NORMA_CALLOC(f, 1));
    if (status != NORMA_OK)
        goto done;
    f->matrix = matrix;
    f->n = matrix->rows.n;
    f->block = matrix->rows.block;
    f->n_blocks = norma_layout_n_blocks_local(&matrix->rows);
    split(f);
    work.factor = f;
    status = allocate(f);
    if (status == NORMA_OK && grid->row >= 0 && !is_serial(f))
        status = create_work(&work);
    NORMA_GOTO(status, norma_agree(grid->comm, status));
    if (grid->row >= 0 && !is_serial(f))
        status = create_rings(&work);
    NORMA_GOTO(status, norma_agree(grid->comm, status));
    if (grid->row >= 0)
        run(&work);
    MPI_Bcast(&work.first_bad, 1, MPI_INT64_T, 0, grid->comm);
    *first_bad = work.first_bad;
    *out = f;
    f = NULL;
done:
    destroy_work(&work);
    norma_factor_destroy(&f);
    return status;
}

const int *norma_factor_pivots_local(const norma_factor *factor)
{
    return factor->pivots;
}

void norma_factor_destroy(norma_factor **factor)
{
    norma_factor *f = *factor;
    if (!f)
        return;
    if (f->along_row != MPI_COMM_NULL && f->matrix)
        MPI_Comm_free(&f->along_row);
    if (f->along_column != MPI_COMM_NULL && f->matrix)
        MPI_Comm_free(&f->along_column);
    NORMA_FREE(f->pivots);
    NORMA_FREE(f->sums);
    NORMA_FREE(f->pieces);
    NORMA_FREE(*factor);
}
