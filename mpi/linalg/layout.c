#include "mpi/linalg/layout.h"

#include "src/base/index.h"

int64_t norma_layout_n_blocks_local(const norma_layout *layout)
{
    return norma_index_ceil_divide(layout->n, layout->block);
}

int64_t norma_layout_count_local(const norma_layout *layout, int process)
{
    int64_t full = layout->n / layout->block;
    int64_t count = full / layout->n_processes * layout->block;
    int64_t extra = full % layout->n_processes;
    if (process < extra)
        return count + layout->block;
    return process == extra ? count + layout->n % layout->block : count;
}

int64_t norma_layout_global_local(const norma_layout *layout, int process, int64_t local)
{
    int64_t block = local / layout->block * layout->n_processes + process;
    return block * layout->block + local % layout->block;
}

int norma_layout_owner_local(const norma_layout *layout, int64_t global)
{
    return (int)(global / layout->block % layout->n_processes);
}

int64_t norma_layout_index_local(const norma_layout *layout, int64_t global)
{
    int64_t block = global / layout->block / layout->n_processes;
    return block * layout->block + global % layout->block;
}

int64_t norma_layout_run_local(const norma_layout *layout, int process, int64_t local)
{
    int64_t to_block_end = layout->block - local % layout->block;
    int64_t to_end = norma_layout_count_local(layout, process) - local;
    return to_block_end < to_end ? to_block_end : to_end;
}
