#include "src/config/sweep.h"

#include "src/base/mem.h"

#include <stdio.h>
#include <string.h>

void norma_sweep_init(norma_sweep *sweep)
{
    memset(sweep, 0, sizeof *sweep);
    sweep->n_cells = 1;
}

norma_status norma_sweep_add_axis(norma_sweep *sweep, const char *name, int64_t n)
{
    if (n == 1)
        return NORMA_OK;
    if (n < 1 || n > NORMA_SWEEP_MOST_CELLS / sweep->n_cells)
        return NORMA_FAIL(NORMA_LIMIT,
                          "%lld values of %s on top of %lld cells: a sweep has at most %d cells",
                          (long long)n, name, (long long)sweep->n_cells, NORMA_SWEEP_MOST_CELLS);
    norma_sweep_axis *axes = norma_mem_resize(sweep->axes, sweep->n_axes, sweep->n_axes + 1,
                                              sizeof *axes, __FILE__, __LINE__);
    if (!axes)
        return NORMA_MEMORY;
    for (int64_t i = 0; i < sweep->n_axes; i++)
        axes[i].stride *= n;
    axes[sweep->n_axes] = (norma_sweep_axis){.name = name, .n = n, .stride = 1};
    char *dimension = axes[sweep->n_axes].dimension;
    snprintf(dimension, NORMA_SWEEP_NAME, "%s", name);
    for (char *c = dimension; *c; c++)
        if (*c == '-')
            *c = '_';
    sweep->axes = axes;
    sweep->n_axes++;
    sweep->n_cells *= n;
    return NORMA_OK;
}

void norma_sweep_get_indices(const norma_sweep *sweep, int64_t cell, int64_t *indices)
{
    for (int64_t i = 0; i < sweep->n_axes; i++)
        indices[i] = cell / sweep->axes[i].stride % sweep->axes[i].n;
}

int64_t norma_sweep_get_cell(const norma_sweep *sweep, const int64_t *indices)
{
    int64_t cell = 0;
    for (int64_t i = 0; i < sweep->n_axes; i++)
        cell += indices[i] * sweep->axes[i].stride;
    return cell;
}

void norma_sweep_clear(norma_sweep *sweep)
{
    norma_mem_free(sweep->axes);
    norma_sweep_init(sweep);
}
