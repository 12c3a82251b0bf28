#include "mpi/plan/traffic.h"

#include "mpi/krylov/product.h"
#include "mpi/linalg/factor_state.h"
#include "mpi/linalg/layout.h"
#include "mpi/linalg/ring.h"
#include "src/base/index.h"

#include <math.h>

static void add(norma_traffic *t, norma_traffic_kind kind, double calls, double bytes, int n_ranks,
                const norma_traffic_network *network)
{
    double depth = ceil(log2((double)n_ranks));
    double messages = 1;
    double times = 1;
    switch (kind) {
    case NORMA_TRAFFIC_ALLREDUCE:
        messages = 2 * depth;
        times = 2;
        break;
    case NORMA_TRAFFIC_BCAST:
    case NORMA_TRAFFIC_REDUCE:
        messages = depth;
        break;
    case NORMA_TRAFFIC_ALLTOALL:
        messages = n_ranks - 1;
        break;
    default:
        break;
    }
    t->calls[kind] += calls;
    t->bytes[kind] += calls * bytes;
    t->seconds[kind] += calls * (messages * network->latency + times * bytes / network->bandwidth);
}

static double item(const norma_traffic_layout *l)
{
    return l->single ? sizeof(float) : sizeof(double);
}

static int node_of(const norma_traffic_layout *l, int column)
{
    return (l->row * l->grid.n_columns + column) / l->per_node;
}

/* A panel on its way along the process row: see mpi/linalg/ring.h. */
static void add_ring(const norma_traffic_layout *l, int root, int64_t bytes, int64_t most,
                     norma_traffic *t)
{
    int node = node_of(l, l->column);
    int first = l->column; /* of this node's ranks in the process row */
    int last = l->column;
    while (first > 0 && node_of(l, first - 1) == node)
        first--;
    while (last + 1 < l->grid.n_columns && node_of(l, last + 1) == node)
        last++;
    bool with_root = root >= first && root <= last;
    int holder = with_root ? root : first;
    int next = last + 1 < l->grid.n_columns ? last + 1 : 0; /* leads the node after */
    bool hands_on = node_of(l, next) != node_of(l, root);
    if (l->column != holder) {
        add(t, NORMA_TRAFFIC_SEND, 1, 0, 2, &l->network);
        return;
    }
    add(t, NORMA_TRAFFIC_SEND, last - first, 0, 2, &l->network);
    if (!hands_on)
        return;
    double parts = (double)norma_index_ceil_divide(bytes, norma_ring_part_local(most));
    add(t, NORMA_TRAFFIC_SEND, parts, (double)bytes / parts, 2, &l->network);
}

/* Rows that w pivots move between process rows, as they leave one of them: of 2 w rows that change
 * places, all but one of `rows` go elsewhere, and the panel's own process row sends as many as the
 * rest together. */
static double rows_leaving(const norma_traffic_layout *l, double w, bool has_top)
{
    double rows = l->grid.n_rows;
    double away = w * (rows - 1) / rows;
    return has_top ? away : away / (rows - 1);
}

/* One panel applied to `columns` local columns. */
static void add_update(const norma_traffic_layout *l, int64_t width, int64_t columns, bool has_top,
                       norma_traffic *t)
{
    int64_t slice = norma_factor_slice_local(l->block);
    if (l->grid.n_rows == 1 || columns == 0)
        return;
    double calls = (double)norma_index_ceil_divide(columns, slice);
    double each = (double)columns / calls;
    add(t, NORMA_TRAFFIC_ALLTOALL, calls, each * item(l) * rows_leaving(l, (double)width, has_top),
        l->grid.n_rows, &l->network);
    add(t, NORMA_TRAFFIC_BCAST, calls, each * item(l) * (double)width, l->grid.n_rows, &l->network);
}

/* Rows left of the panels, at the end: all later pivots of a block column at once. */
static void add_left(const norma_traffic_layout *l, int64_t n_blocks, norma_traffic *t)
{
    double rows = l->grid.n_rows;
    double capacity = (double)norma_factor_capacity_local(l->n, l->block);
    for (int64_t b = l->column; b < n_blocks - 1 && l->grid.n_rows > 1; b += l->grid.n_columns) {
        double moves = (double)(l->n - (b + 1) * l->block);
        double calls = ceil((double)l->block / fmin((double)l->block, floor(capacity / moves)));
        double leaving = moves / rows * (rows - 1) / rows;
        add(t, NORMA_TRAFFIC_ALLTOALL, calls, (double)l->block / calls * item(l) * leaving,
            l->grid.n_rows, &l->network);
    }
}

void norma_traffic_factor_local(const norma_traffic_layout *l, norma_traffic *traffic)
{
    const norma_layout rows = {l->n, l->block, l->grid.n_rows};
    const norma_layout columns = {l->n, l->block, l->grid.n_columns};
    int64_t n_blocks = norma_layout_n_blocks_local(&rows);
    int64_t n_rows = norma_layout_count_local(&rows, l->row);
    int64_t right = norma_layout_count_local(&columns, l->column);
    int64_t widest = l->block < l->n ? l->block : l->n;
    int64_t most = norma_factor_panel_bytes_local(widest, n_rows, (size_t)item(l));
    if (l->grid.n_rows * l->grid.n_columns == 1)
        return;
    for (int64_t k = 0; k < n_blocks; k++) {
        int owner = (int)(k % l->grid.n_columns);
        bool has_top = k % l->grid.n_rows == l->row;
        int64_t width = l->n - k * l->block < l->block ? l->n - k * l->block : l->block;
        if (l->column == owner) {
            right -= width;
            if (l->grid.n_rows > 1)
                add(traffic, NORMA_TRAFFIC_ALLREDUCE, (double)width,
                    (double)norma_factor_candidate_bytes_local(widest, (size_t)item(l)),
                    l->grid.n_rows, &l->network);
        }
        add_ring(l, owner, norma_factor_panel_bytes_local(width, n_rows, (size_t)item(l)), most,
                 traffic);
        /* The next panel's columns come first, in a message of their own. */
        int64_t ahead = 0;
        if (k + 1 < n_blocks && (k + 1) % l->grid.n_columns == l->column)
            ahead = right < l->block ? right : l->block;
        add_update(l, width, ahead, has_top, traffic);
        add_update(l, width, right - ahead, has_top, traffic);
        if (has_top)
            n_rows -= width;
    }
    add_left(l, n_blocks, traffic);
}

void norma_traffic_solve_local(const norma_traffic_layout *l, norma_traffic *traffic)
{
    int n_active = l->grid.n_rows * l->grid.n_columns;
    int64_t n_blocks = norma_index_ceil_divide(l->n, l->block);
    for (int64_t k = 0; k < n_blocks && n_active > 1; k++) {
        int64_t left = l->n - k * l->block;
        double bytes = 8 * (double)(left < l->block ? left : l->block);
        if (k % l->grid.n_rows == l->row && l->grid.n_columns > 1)
            add(traffic, NORMA_TRAFFIC_REDUCE, 2, bytes, l->grid.n_columns, &l->network);
        add(traffic, NORMA_TRAFFIC_BCAST, 2, bytes, n_active, &l->network);
    }
}

void norma_traffic_pass_local(int64_t n, int n_ranks, norma_traffic_network network,
                              norma_traffic *traffic)
{
    add(traffic, NORMA_TRAFFIC_ALLREDUCE, 1, 8 * (double)(n + NORMA_PRODUCT_EXTRA), n_ranks,
        &network);
}
