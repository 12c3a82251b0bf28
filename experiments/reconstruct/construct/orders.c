#include "experiments/reconstruct/construct/orders.h"

#include "mpi/runtime/agree.h"
#include "mpi/runtime/replicas.h"
#include "src/base/mem.h"

#include <string.h>

norma_status norma_reconstruct_orders_create(const norma_runtime *runtime,
                                             const norma_config *config,
                                             const norma_reconstruct_inputs *inputs,
                                             int64_t n_replicas, int64_t n_units,
                                             norma_reconstruct_orders **out)
{
    const norma_network *network =
        inputs->factored ? inputs->factored : norma_target_network_local(inputs->target);
    norma_reconstruct_orders *orders = NULL;
    norma_status status = NORMA_CALLOC(orders, 1);
    NORMA_GOTO(status, status);
    orders->runtime = runtime;
    orders->config = config;
    orders->inputs = inputs;
    orders->n_replicas = n_replicas;
    orders->n_units = n_units;
    orders->length = norma_reconstruct_alignment_length(network);
    /* NOLINTNEXTLINE(bugprone-sizeof-expression): an array of pointers */
    status = NORMA_CALLOC(orders->numbers, n_units);
done:
    status = norma_agree(runtime->world, status);
    if (status == NORMA_OK)
        *out = orders;
    else
        norma_reconstruct_orders_destroy(&orders);
    return status;
}

static norma_status allocate(norma_reconstruct_orders *orders, int64_t unit)
{
    return orders->numbers[unit] ? NORMA_OK : NORMA_CALLOC(orders->numbers[unit], orders->length);
}

/* Searches for what a unit lacks, in a cell that lives from unit to unit. Local. */
static norma_status search(norma_reconstruct_orders *orders, int64_t unit,
                           norma_reconstruct_cell *cell)
{
    int64_t number = unit / orders->n_replicas;
    if (!cell->layers || cell->number != number) {
        norma_reconstruct_cell_clear(cell);
        NORMA_TRY(norma_reconstruct_cell_init(orders->config, orders->inputs, number, false, cell));
    }
    return norma_reconstruct_alignment_search_local(cell, orders->inputs, unit % orders->n_replicas,
                                                    orders->numbers[unit]);
}

norma_status norma_reconstruct_orders_find(norma_reconstruct_orders *orders, int64_t first,
                                           int64_t n, const bool *needed)
{
    MPI_Comm world = orders->runtime->world;
    norma_reconstruct_cell cell;
    norma_status status = NORMA_OK;
    memset(&cell, 0, sizeof cell);
    for (int64_t k = 0; k < n && status == NORMA_OK; k++)
        if (needed[k])
            status = allocate(orders, first + k);
    NORMA_TRY(norma_agree(world, status));
    for (int64_t k = 0; k < n; k++)
        if (needed[k]) /* those of an earlier run, from rank 0 */
            norma_replicas_collect(world, orders->length, orders->numbers[first + k]);
    for (int64_t k = 0; k < n && status == NORMA_OK; k++)
        if (needed[k] && k % orders->runtime->size == orders->runtime->rank)
            status = norma_reconstruct_in_cell(orders->config, (first + k) / orders->n_replicas,
                                               search(orders, first + k, &cell));
    norma_reconstruct_cell_clear(&cell);
    NORMA_TRY(norma_agree(world, status));
    for (int64_t k = 0; k < n; k++) {
        if (!needed[k])
            continue;
        double *numbers = orders->numbers[first + k];
        if (k % orders->runtime->size != orders->runtime->rank)
            memset(numbers, 0, (size_t)orders->length * sizeof *numbers);
        norma_replicas_collect(world, orders->length, numbers);
    }
    return NORMA_OK;
}

norma_status norma_reconstruct_orders_open_local(norma_reconstruct_orders *orders, int64_t unit,
                                                 double **numbers, int64_t *n)
{
    *numbers = NULL;
    *n = 0;
    if (!orders)
        return NORMA_OK;
    NORMA_TRY(allocate(orders, unit));
    *numbers = orders->numbers[unit];
    *n = orders->length;
    return NORMA_OK;
}

norma_status norma_reconstruct_orders_use_local(const norma_reconstruct_orders *orders,
                                                int64_t unit, norma_reconstruct_cell *cell)
{
    if (!orders || !orders->numbers[unit])
        return NORMA_OK;
    return norma_reconstruct_alignment_use(cell, orders->numbers[unit]);
}

void norma_reconstruct_orders_drop_local(norma_reconstruct_orders *orders, int64_t unit)
{
    if (orders)
        NORMA_FREE(orders->numbers[unit]);
}

void norma_reconstruct_orders_destroy(norma_reconstruct_orders **orders)
{
    norma_reconstruct_orders *o = *orders;
    if (!o)
        return;
    for (int64_t unit = 0; o->numbers && unit < o->n_units; unit++)
        NORMA_FREE(o->numbers[unit]);
    NORMA_FREE(o->numbers);
    NORMA_FREE(o);
    *orders = NULL;
}
