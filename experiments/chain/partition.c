#include "experiments/chain/partition.h"

#include "src/base/earliest.h"
#include "src/base/mem.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Limits on a block's cost that are tried: about so many tasks in all, but some. */
static const int64_t tried_tasks = 2000000;

enum { FEWEST_LIMITS = 4, MOST_LIMITS = 32 };

/* Blocks of one cell up to here are combined for least work, longer rows begin with the best. */
enum { COMBINED = 32 };

/* Blocks are halved at most so often, in vain at most so often in a row, and only in runs of so
 * many tasks. */
enum { MOST_HALVINGS = 64, MOST_VAIN = 6, MOST_HALVED = 4096 };

/* A run must become shorter by this factor to take more blocks. */
static const double worthwhile = 0.99;

/* State numbers hold the place of lanes in 8, 4, 2, 1 and count - 1 behind the first replica. */
enum {
    STATE_COUNTS = NORMA_CHAIN_MOST_LANES,
    STATES_A_REPLICA = NORMA_CHAIN_N_SIZES * STATE_COUNTS
};

int64_t norma_chain_partition_state(const norma_chain_setup *setup, const norma_chain_task *task)
{
    int64_t size = 0;
    for (int64_t lanes = task->lanes; lanes > 1; lanes /= 2)
        size++;
    return (task->cell * setup->n_replicas + task->first) * STATES_A_REPLICA + size * STATE_COUNTS +
           task->count - 1;
}

int64_t norma_chain_partition_first(int64_t state)
{
    return state / STATES_A_REPLICA;
}

int64_t norma_chain_partition_move(int64_t state, int64_t first)
{
    return first * STATES_A_REPLICA + state % STATES_A_REPLICA;
}

static double cost_of(const norma_chain_cell *cell, const norma_chain_size *size)
{
    return size->cost * (double)cell->depth;
}

static const norma_chain_size *size_of(const norma_chain_cell *cell, int64_t lanes)
{
    for (int s = 0; s < cell->n_sizes; s++)
        if (cell->sizes[s].lanes == lanes)
            return &cell->sizes[s];
    return NULL;
}

/* The block that a state is of; false when the run has no such block. */
static bool read_state(const norma_chain_setup *setup, int64_t state, norma_chain_task *task)
{
    int64_t replica = state / STATES_A_REPLICA;
    int64_t rest = state % STATES_A_REPLICA;
    if (state < 0 || replica >= setup->n_tasks)
        return false;
    task->cell = replica / setup->n_replicas;
    task->first = replica % setup->n_replicas;
    task->lanes = (int64_t)1 << (rest / STATE_COUNTS);
    task->count = rest % STATE_COUNTS + 1;
    task->begun = true;
    const norma_chain_size *size = size_of(&setup->cells[task->cell], task->lanes);
    if (!size || task->count > task->lanes || task->first + task->count > setup->n_replicas)
        return false;
    task->cost = cost_of(&setup->cells[task->cell], size);
    return true;
}

static norma_status add(norma_chain_partition *p, const norma_chain_task *task)
{
    if (p->n == p->capacity) {
        int64_t larger = 2 * p->capacity + 64;
        norma_chain_task *grown =
            norma_mem_resize(p->tasks, p->n, larger, sizeof *grown, __FILE__, __LINE__);
        if (!grown)
            return NORMA_MEMORY;
        p->tasks = grown;
        p->capacity = larger;
    }
    p->tasks[p->n++] = *task;
    return NORMA_OK;
}

/* Blocks under way keep their replicas, which become taken. */
static norma_status keep_begun(const norma_chain_setup *setup, int64_t *states, int64_t n_states,
                               unsigned char *taken, norma_chain_partition *p)
{
    for (int64_t s = 0; s < n_states; s++) {
        norma_chain_task task;
        if (!read_state(setup, states[s], &task))
            continue;
        unsigned char *mine = taken + task.cell * setup->n_replicas + task.first;
        bool free = mine[0] == 0; /* of replicas that are done the first one is so last */
        for (int64_t r = 1; r < task.count; r++)
            free = free && mine[r] < 2;
        if (!free)
            continue;
        memset(mine, 2, (size_t)task.count);
        NORMA_TRY(add(p, &task));
        states[s] = -1;
    }
    return NORMA_OK;
}

/* The blocks of a cell that cost at most `limit`, and the best first block of every short row. */
typedef struct choice {
    const norma_chain_size *sizes[NORMA_CHAIN_N_SIZES];
    int n;
    const norma_chain_size *best; /* least cost a replica */
    const norma_chain_size *first[COMBINED];
} choice;

static void make_choice(const norma_chain_cell *cell, double limit, choice *c)
{
    double least[COMBINED] = {0};
    c->n = 0;
    c->best = &cell->sizes[0];
    for (int s = 0; s < cell->n_sizes; s++) {
        const norma_chain_size *size = &cell->sizes[s];
        if (s > 0 && cost_of(cell, size) > limit)
            continue;
        c->sizes[c->n++] = size;
        if (size->cost / (double)size->lanes <= c->best->cost / (double)c->best->lanes)
            c->best = size;
    }
    for (int64_t r = 1; r < COMBINED; r++) {
        least[r] = INFINITY;
        for (int s = c->n - 1; s >= 0; s--) {
            int64_t count = c->sizes[s]->lanes < r ? c->sizes[s]->lanes : r;
            double cost = c->sizes[s]->cost + least[r - count];
            if (cost < least[r]) {
                least[r] = cost;
                c->first[r] = c->sizes[s];
            }
        }
    }
}

/* Blocks for the free replicas first .. first + n - 1 of a cell. */
static norma_status cover(const norma_chain_cell *cell, const choice *c, int64_t first, int64_t n,
                          norma_chain_partition *p)
{
    while (n > 0) {
        const norma_chain_size *size = n < COMBINED ? c->first[n] : c->best;
        int64_t count = size->lanes < n ? size->lanes : n;
        const norma_chain_task task = {.cell = cell->number,
                                       .first = first,
                                       .count = count,
                                       .lanes = size->lanes,
                                       .cost = cost_of(cell, size)};
        NORMA_TRY(add(p, &task));
        first += count;
        n -= count;
    }
    return NORMA_OK;
}

/* Adds blocks that cost at most `limit` for all replicas that are not taken. */
static norma_status cover_all(const norma_chain_setup *setup, const unsigned char *taken,
                              double limit, norma_chain_partition *p)
{
    for (int64_t i = 0; i < setup->n_cells; i++) {
        const unsigned char *mine = taken + i * setup->n_replicas;
        choice c;
        make_choice(&setup->cells[i], limit, &c);
        for (int64_t first = 0; first < setup->n_replicas;) {
            int64_t end = first;
            while (end < setup->n_replicas && !mine[end])
                end++;
            NORMA_TRY(cover(&setup->cells[i], &c, first, end - first, p));
            first = end + 1;
        }
    }
    return NORMA_OK;
}

static int longest_first(const void *a, const void *b)
{
    const norma_chain_task *x = a;
    const norma_chain_task *y = b;
    if (x->begun != y->begun)
        return x->begun ? -1 : 1;
    if (x->cost != y->cost)
        return x->cost < y->cost ? 1 : -1;
    if (x->cell != y->cell)
        return x->cell < y->cell ? -1 : 1;
    return (x->first > y->first) - (x->first < y->first);
}

/* Deals out sorted tasks; *critical = a task of the last group that can be halved, or -1. */
static norma_status deal(norma_chain_partition *p, int64_t n_groups, int64_t *critical)
{
    int64_t n = n_groups < p->n ? n_groups : p->n;
    norma_earliest *heap = NULL; /* numbers: the last of its tasks that can be halved; -1: none */
    *critical = -1;
    p->longest = p->total = 0;
    if (n == 0)
        return NORMA_OK;
    NORMA_TRY(NORMA_CALLOC(heap, n));
    for (int64_t g = 0; g < n; g++)
        heap[g].number = -1;
    for (int64_t t = 0; t < p->n; t++) {
        const norma_chain_task *task = &p->tasks[t];
        heap[0].ends += task->cost;
        p->total += task->cost;
        if (!task->begun && task->count > 1)
            heap[0].number = t;
        if (heap[0].ends > p->longest) {
            p->longest = heap[0].ends;
            *critical = heap[0].number;
        }
        norma_earliest_sift(heap, n);
    }
    norma_mem_free(heap);
    return NORMA_OK;
}

norma_status norma_chain_partition_time(norma_chain_partition *partition, int64_t n_groups)
{
    int64_t ignored = 0;
    if (partition->n > 0)
        qsort(partition->tasks, (size_t)partition->n, sizeof *partition->tasks, longest_first);
    return deal(partition, n_groups, &ignored);
}

static void exchange(norma_chain_partition *a, norma_chain_partition *b)
{
    norma_chain_partition c = *a;
    *a = *b;
    *b = c;
}

static norma_status copy(const norma_chain_partition *from, norma_chain_partition *to)
{
    to->n = 0;
    for (int64_t t = 0; t < from->n; t++)
        NORMA_TRY(add(to, &from->tasks[t]));
    return NORMA_OK;
}

/* The cheapest block for `count` replicas. */
static void fit(const norma_chain_cell *cell, norma_chain_task *task)
{
    task->cost = INFINITY;
    for (int s = 0; s < cell->n_sizes; s++)
        if (cell->sizes[s].lanes >= task->count && cost_of(cell, &cell->sizes[s]) < task->cost) {
            task->lanes = cell->sizes[s].lanes;
            task->cost = cost_of(cell, &cell->sizes[s]);
        }
}

/* Halves a task of a sorted partition. */
static norma_status halve_task(const norma_chain_setup *setup, int64_t t, norma_chain_partition *p)
{
    norma_chain_task *task = &p->tasks[t];
    const norma_chain_cell *cell = &setup->cells[task->cell];
    norma_chain_task half = *task;
    half.count = task->count / 2;
    task->count -= half.count;
    half.first += task->count;
    fit(cell, task);
    fit(cell, &half);
    return add(p, &half);
}

/* Halves blocks of the group that ends last, and keeps what ends first; `work` is workspace. */
static norma_status halve(const norma_chain_setup *setup, int64_t n_groups,
                          norma_chain_partition *best, norma_chain_partition *work)
{
    int vain = 0;
    NORMA_TRY(copy(best, work));
    for (int k = 0; k < MOST_HALVINGS && vain < MOST_VAIN && work->n < MOST_HALVED; k++) {
        int64_t critical = 0;
        NORMA_TRY(deal(work, n_groups, &critical));
        if (critical < 0)
            return NORMA_OK;
        NORMA_TRY(halve_task(setup, critical, work));
        NORMA_TRY(norma_chain_partition_time(work, n_groups));
        vain++;
        if (work->longest < worthwhile * best->longest) {
            NORMA_TRY(copy(work, best));
            best->longest = work->longest;
            best->total = work->total;
            vain = 0;
        }
    }
    return NORMA_OK;
}

static int descending(const void *a, const void *b)
{
    double x = *(const double *)a;
    double y = *(const double *)b;
    return (x < y) - (x > y);
}

/* Costs of blocks, from the largest on, as limits. */
static norma_status make_limits(const norma_chain_setup *setup, double limits[MOST_LIMITS],
                                int64_t *n_limits)
{
    double *all = NULL;
    int64_t n = 0;
    int64_t most = tried_tasks / (setup->n_tasks + 1);
    most = most < FEWEST_LIMITS ? FEWEST_LIMITS : most > MOST_LIMITS ? MOST_LIMITS : most;
    NORMA_TRY(NORMA_ALLOC(all, setup->n_cells * NORMA_CHAIN_N_SIZES));
    for (int64_t i = 0; i < setup->n_cells; i++)
        for (int s = 0; s < setup->cells[i].n_sizes; s++)
            all[n++] = cost_of(&setup->cells[i], &setup->cells[i].sizes[s]);
    qsort(all, (size_t)n, sizeof *all, descending);
    int64_t distinct = 0;
    for (int64_t k = 0; k < n; k++)
        if (k == 0 || all[k] != all[distinct - 1])
            all[distinct++] = all[k];
    *n_limits = distinct < most ? distinct : most;
    for (int64_t k = 0; k < *n_limits; k++)
        limits[k] = all[*n_limits > 1 ? k * (distinct - 1) / (*n_limits - 1) : 0];
    norma_mem_free(all);
    return NORMA_OK;
}

static norma_status choose(const norma_chain_setup *setup, int64_t n_groups,
                           const unsigned char *taken, const norma_chain_partition *begun,
                           norma_chain_partition *work, norma_chain_partition *best)
{
    double limits[MOST_LIMITS];
    int64_t n_limits = 0;
    NORMA_TRY(make_limits(setup, limits, &n_limits));
    for (int64_t k = 0; k < n_limits; k++) {
        NORMA_TRY(copy(begun, work));
        NORMA_TRY(cover_all(setup, taken, limits[k], work));
        NORMA_TRY(norma_chain_partition_time(work, n_groups));
        if (k == 0 || work->longest < worthwhile * best->longest)
            exchange(best, work);
    }
    return halve(setup, n_groups, best, work);
}

norma_status norma_chain_partition_choose(const norma_chain_setup *setup, int64_t n_groups,
                                          const unsigned char *done, int64_t *states,
                                          int64_t n_states, norma_chain_partition *out)
{
    norma_chain_partition begun = {0};
    norma_chain_partition work = {0};
    unsigned char *taken = NULL;
    norma_status status = NORMA_OK;
    memset(out, 0, sizeof *out);
    NORMA_GOTO(status, NORMA_CALLOC(taken, setup->n_tasks));
    for (int64_t r = 0; done && r < setup->n_tasks; r++)
        taken[r] = done[r] ? 1 : 0;
    NORMA_GOTO(status, keep_begun(setup, states, n_states, taken, &begun));
    NORMA_GOTO(status, choose(setup, n_groups, taken, &begun, &work, out));
done:
    norma_chain_partition_clear(&begun);
    norma_chain_partition_clear(&work);
    norma_mem_free(taken);
    return status;
}

void norma_chain_partition_clear(norma_chain_partition *partition)
{
    NORMA_FREE(partition->tasks);
    partition->n = partition->capacity = 0;
}
