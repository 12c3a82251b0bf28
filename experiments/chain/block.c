#include "experiments/chain/block.h"

#include "src/base/mem_place.h"
#include "src/chain/compare.h"

#include <math.h>
#include <string.h>

/* State and result begin with progress; all parts are multiples of 8 bytes. */
struct norma_chain_block {
    const norma_chain_setup *setup; /* borrowed */
    const norma_chain_cell *cell;   /* borrowed */
    const norma_chain_size *size;   /* of the cell's, borrowed */
    norma_chain *chain;
    norma_chain_comparison *comparison; /* single precision; else NULL */
    norma_chain_layout layout;
    unsigned char *state; /* progress, ergodic, chain */
    int64_t state_size, ergodic_at, chain_at;
    int64_t n_held[NORMA_N_OBSERVABLES]; /* records that no piece has taken */
    unsigned char *result;               /* as norma_chain_layout_view */
    norma_chain_layout entry_layout;     /* of one replica */
    unsigned char *entry;                /* the result of one replica */
    norma_chain_progress *progress;      /* these point into state */
    norma_ergodic *ergodic;              /* [n_values][lanes] */
    double *held;                        /* as layout.held_offset; owned, as are the others */
    unsigned char *piece;                /* a norma_chain_piece and its records */
    double *values;                      /* [n_values][lanes] */
    double *exponents;                   /* of one lane */
    double *differences;                 /* [2][n_compared_values] */
};

static const int64_t n_double = (int64_t)sizeof(double);

/* Measures or allocates (src/base/mem_place.h) all of a block but its chains. */
static norma_status place(norma_chain_block *block, double *bytes)
{
    const norma_chain_layout *layout = &block->layout;
    const norma_chain_spec *spec = &block->cell->spec;
    int64_t n = layout->n_values * layout->lanes;
    int64_t most = spec->width < spec->batch ? spec->width : spec->batch;
    const int64_t n_held = layout->n_held_values * layout->lanes;
    block->ergodic_at = layout->averages_at; /* behind progress */
    block->chain_at = block->ergodic_at + n * (int64_t)sizeof(norma_ergodic);
    block->state_size = block->chain_at + block->size->needs.state_bytes;
    NORMA_TRY(NORMA_PLACE(block->state, block->state_size, bytes));
    NORMA_TRY(NORMA_PLACE(block->result, layout->result_size, bytes));
    NORMA_TRY(NORMA_PLACE(block->entry, block->entry_layout.result_size, bytes));
    NORMA_TRY(NORMA_PLACE(block->held, n_held, bytes));
    NORMA_TRY(
        NORMA_PLACE(block->piece, (int64_t)sizeof(norma_chain_piece) + n_held * n_double, bytes));
    if (bytes) /* what the file is written from */
        *bytes += (double)(n_held * n_double);
    NORMA_TRY(NORMA_PLACE(block->values, n, bytes));
    NORMA_TRY(NORMA_PLACE(block->exponents, most, bytes));
    return NORMA_PLACE(block->differences, 2 * layout->n_compared_values, bytes);
}

/* A block's borrowed parts and its places. */
static void prepare(norma_chain_block *block, const norma_chain_setup *setup,
                    const norma_chain_cell *cell, int64_t lanes)
{
    block->setup = setup;
    block->cell = cell;
    block->size = &cell->sizes[0];
    for (int s = 0; s < cell->n_sizes; s++)
        if (cell->sizes[s].lanes == lanes)
            block->size = &cell->sizes[s];
    norma_chain_layout_init(setup, cell, block->size->lanes, &block->layout);
    norma_chain_layout_init(setup, cell, 1, &block->entry_layout);
}

norma_status norma_chain_block_measure(const norma_chain_setup *setup, const norma_chain_cell *cell,
                                       int64_t lanes, double *bytes)
{
    norma_chain_block block = {0};
    prepare(&block, setup, cell, lanes);
    *bytes = block.size->needs.bytes + cell->twin_bytes;
    return place(&block, bytes);
}

static norma_status allocate(norma_chain_block *block)
{
    NORMA_TRY(place(block, NULL));
    norma_chain_outcome view = norma_chain_layout_view(&block->layout, block->state);
    void *const ergodic = block->state + block->ergodic_at;
    block->progress = view.progress;
    block->ergodic = ergodic;
    return NORMA_OK;
}

norma_status norma_chain_block_create(const norma_chain_setup *setup, const norma_chain_cell *cell,
                                      int64_t lanes, const norma_chain_team *team,
                                      norma_chain_block **out)
{
    norma_chain_block *block = NULL;
    NORMA_TRY(NORMA_CALLOC(block, 1));
    prepare(block, setup, cell, lanes);
    norma_status status = norma_chain_create(&cell->spec, &cell->input, &cell->request,
                                             block->size->lanes, &block->chain);
    if (status == NORMA_OK)
        status = allocate(block);
    if (status == NORMA_OK && team)
        norma_chain_join(block->chain, team);
    if (status == NORMA_OK && cell->spec.single)
        status = norma_chain_comparison_create(block->chain, &block->comparison);
    if (status != NORMA_OK) {
        norma_chain_block_destroy(&block);
        return status;
    }
    *out = block;
    return NORMA_OK;
}

void norma_chain_block_destroy(norma_chain_block **block)
{
    norma_chain_block *b = *block;
    if (!b)
        return;
    norma_chain_comparison_destroy(&b->comparison);
    norma_chain_destroy(&b->chain);
    norma_mem_free(b->state);
    norma_mem_free(b->result);
    norma_mem_free(b->entry);
    norma_mem_free(b->held);
    norma_mem_free(b->piece);
    norma_mem_free(b->values);
    norma_mem_free(b->exponents);
    norma_mem_free(b->differences);
    NORMA_FREE(*block);
}

const norma_chain_cell *norma_chain_block_cell(const norma_chain_block *block)
{
    return block->cell;
}

const norma_chain_layout *norma_chain_block_layout(const norma_chain_block *block)
{
    return &block->layout;
}

int64_t norma_chain_block_layer(const norma_chain_block *block)
{
    return norma_chain_get_layer(block->chain);
}

void norma_chain_block_add_seconds(norma_chain_block *block, double seconds)
{
    block->progress->seconds += seconds;
}

static void record(norma_chain_block *block, int o, int64_t layer)
{
    const norma_chain_layout *layout = &block->layout;
    int64_t n = layout->n_of[o] * layout->lanes;
    int64_t at = block->progress->n_recorded[o];
    if (at >= layout->n_records[o] ||
        norma_chain_schedule_layer(&block->setup->schedule[o], at) != layer)
        return;
    memcpy(block->held + layout->held_offset[o] * layout->lanes + block->n_held[o] * n,
           block->values + layout->offset[o] * layout->lanes, (size_t)(n * n_double));
    block->n_held[o]++;
    block->progress->n_recorded[o]++;
}

bool norma_chain_block_is_full(const norma_chain_block *block)
{
    for (int o = 0; o < NORMA_N_OBSERVABLES; o++)
        if (block->n_held[o] > 0 && block->n_held[o] == block->layout.n_held[o])
            return true;
    return false;
}

void norma_chain_block_take_piece(norma_chain_block *block, const void **bytes, int64_t *size)
{
    const norma_chain_layout *layout = &block->layout;
    norma_chain_piece piece = {.first = block->progress->first,
                               .count = block->progress->count,
                               .lanes = layout->lanes,
                               .after = block->progress->taken,
                               .upto = norma_chain_get_layer(block->chain)};
    double *out = (double *)(void *)(block->piece + sizeof piece);
    int64_t n_all = 0;
    for (int o = 0; o < NORMA_N_OBSERVABLES; o++) {
        int64_t n = block->n_held[o] * layout->n_of[o] * layout->lanes;
        piece.n[o] = block->n_held[o];
        piece.begin[o] = block->progress->n_recorded[o] - block->n_held[o];
        if (n > 0)
            memcpy(out + n_all, block->held + layout->held_offset[o] * layout->lanes,
                   (size_t)(n * n_double));
        n_all += n;
        block->n_held[o] = 0;
    }
    *bytes = NULL;
    *size = 0;
    if (n_all == 0)
        return;
    block->progress->taken = piece.upto;
    memcpy(block->piece, &piece, sizeof piece);
    *bytes = block->piece;
    *size = norma_chain_piece_size(layout, &piece);
}

int64_t norma_chain_block_taken(const norma_chain_block *block)
{
    return block->progress->taken;
}

/* The observables whose stride meets the layer. */
static norma_observable_set due_at(const norma_chain_block *block, int64_t layer)
{
    norma_observable_set due = 0;
    for (int o = 0; o < NORMA_N_OBSERVABLES; o++)
        if (block->layout.n_of[o] > 0 && layer % block->setup->stride[o] == 0)
            due |= NORMA_OBSERVABLE_BIT(o);
    return due;
}

static norma_status measure(norma_chain_block *block)
{
    const norma_chain_layout *layout = &block->layout;
    int64_t layer = norma_chain_get_layer(block->chain);
    norma_observable_set due = due_at(block, layer);
    if (due == 0)
        return NORMA_OK;
    NORMA_TRY(norma_chain_measure(block->chain, due, block->values));
    for (int o = 0; o < NORMA_N_OBSERVABLES; o++) {
        if (!(due & NORMA_OBSERVABLE_BIT(o)))
            continue;
        int64_t first = layout->offset[o];
        for (int64_t v = first; v < first + layout->n_of[o]; v++)
            for (int64_t lane = 0; lane < block->progress->count; lane++)
                norma_ergodic_add(&block->ergodic[v * layout->lanes + lane],
                                  block->values[v * layout->lanes + lane]);
        record(block, o, layer);
    }
    return NORMA_OK;
}

norma_status norma_chain_block_start(norma_chain_block *block, int64_t first, int64_t count)
{
    const norma_chain_cell *cell = block->cell;
    memset(block->progress, 0, sizeof *block->progress);
    block->progress->first = first;
    block->progress->count = count;
    block->progress->taken = -1;
    memset(block->n_held, 0, sizeof block->n_held);
    for (int64_t i = 0; i < block->layout.n_values * block->layout.lanes; i++)
        norma_ergodic_init(&block->ergodic[i]);
    NORMA_TRY(norma_chain_start(block->chain, cell->seed, cell->stream_cell,
                                cell->first_replica + first, block->progress->count));
    return measure(block);
}

/* Lyapunov exponents leave out the burn-in, or the first tenth where that is to be estimated. */
static int64_t lyapunov_burn_in(const norma_chain_block *block)
{
    return block->setup->burn_in >= 0 ? block->setup->burn_in : block->cell->depth / 10;
}

norma_status norma_chain_block_step(norma_chain_block *block)
{
    NORMA_TRY(norma_chain_step(block->chain));
    if (block->layout.n_exponents > 0 &&
        norma_chain_get_layer(block->chain) == lyapunov_burn_in(block))
        norma_chain_reset_lyapunov(block->chain);
    return measure(block);
}

void norma_chain_block_get_state(norma_chain_block *block, const void **bytes, int64_t *size)
{
    norma_chain_get_state(block->chain, block->state + block->chain_at);
    *bytes = block->state;
    *size = block->state_size;
}

norma_status norma_chain_block_set_state(norma_chain_block *block, const void *bytes, int64_t size)
{
    if (size != block->state_size)
        return NORMA_FAIL(NORMA_CONFIG,
                          "the state of a chain has %lld bytes here and %lld in the "
                          "checkpoint: it was written by another version",
                          (long long)block->state_size, (long long)size);
    memcpy(block->state, bytes, (size_t)size);
    memset(block->n_held, 0, sizeof block->n_held);
    norma_chain_set_state(block->chain, block->state + block->chain_at);
    return NORMA_OK;
}

bool norma_chain_block_compares(const norma_chain_block *block)
{
    return block->comparison && block->progress->first == 0;
}

norma_status norma_chain_block_compare(norma_chain_block *block, bool (*stops)(void *context),
                                       void *context)
{
    const norma_chain_cell *cell = block->cell;
    norma_chain_comparison *comparison = block->comparison;
    norma_status status = NORMA_OK;
    norma_chain_get_state(block->chain, block->state + block->chain_at);
    NORMA_GOTO(status, norma_chain_comparison_start(comparison, cell->seed, cell->stream_cell));
    NORMA_GOTO(status, norma_chain_comparison_measure(comparison, due_at(block, 0)));
    for (int64_t layer = 1; layer <= cell->n_compared; layer++) {
        bool last = layer == cell->n_compared;
        NORMA_GOTO(status, norma_chain_comparison_step(comparison));
        NORMA_GOTO(status, norma_chain_comparison_measure(comparison, last ? NORMA_OBSERVABLES_ALL
                                                                           : due_at(block, layer)));
        if (!last && stops(context))
            status = NORMA_STOPPED;
        if (status != NORMA_OK)
            goto done;
    }
    norma_chain_comparison_get(comparison, block->differences,
                               block->differences + block->layout.n_values);
done:
    norma_chain_set_state(block->chain, block->state + block->chain_at);
    return status;
}

/* Burn-in of an observable in values of its own stride. */
static int64_t burn_in_values(const norma_chain_block *block, int o)
{
    int64_t layers = block->setup->burn_in;
    int64_t stride = block->setup->stride[o];
    return layers < 0 ? -1 : layers / stride + (layers % stride != 0);
}

static void finish_averages(norma_chain_block *block, norma_chain_average *averages)
{
    const norma_chain_layout *layout = &block->layout;
    for (int o = 0; o < NORMA_N_OBSERVABLES; o++)
        for (int64_t v = 0; v < layout->n_of[o]; v++)
            for (int64_t lane = 0; lane < block->progress->count; lane++) {
                int64_t i = (layout->offset[o] + v) * layout->lanes + lane;
                averages[i].result =
                    norma_ergodic_get(&block->ergodic[i], burn_in_values(block, o));
                norma_ergodic_halves(&block->ergodic[i], burn_in_values(block, o),
                                     averages[i].halves);
            }
}

/* alpha = mean of tr(diag(M^2)^2) over mean of tr(M^3). */
static void finish_regularity(const norma_chain_block *block, double *regularity)
{
    const norma_chain_layout *layout = &block->layout;
    const int top = NORMA_OBSERVABLE_TR_DIAG2;
    const int bottom = NORMA_OBSERVABLE_TR_M3;
    for (int64_t lane = 0; lane < layout->lanes; lane++) {
        double *alpha = &regularity[lane];
        double *error = &regularity[layout->lanes + lane];
        *alpha = NAN;
        *error = NAN;
        if (layout->n_of[top] > 0 && layout->n_of[bottom] > 0 && lane < block->progress->count &&
            block->setup->stride[top] == block->setup->stride[bottom])
            norma_ergodic_ratio(&block->ergodic[layout->offset[top] * layout->lanes + lane],
                                &block->ergodic[layout->offset[bottom] * layout->lanes + lane],
                                burn_in_values(block, top), alpha, error);
    }
}

norma_chain_outcome norma_chain_block_finish(norma_chain_block *block)
{
    const norma_chain_layout *layout = &block->layout;
    norma_chain_outcome out = norma_chain_layout_view(layout, block->result);
    memcpy(block->result, block->state, sizeof *block->progress);
    finish_averages(block, out.averages);
    finish_regularity(block, out.regularity);
    for (int64_t lane = 0; lane < block->progress->count && layout->n_exponents > 0; lane++) {
        norma_chain_get_lyapunov(block->chain, (int)lane, block->exponents);
        for (int64_t k = 0; k < layout->n_exponents; k++)
            out.exponents[k * layout->lanes + lane] = block->exponents[k];
    }
    for (int64_t i = 0; out.differences && i < 2 * layout->n_compared_values; i++)
        out.differences[i] = block->progress->first == 0 ? block->differences[i] : NAN;
    return out;
}

/* out[n] = one lane of values[n][lanes]. */
static void take_lane(const norma_chain_layout *layout, const double *values, int64_t n,
                      int64_t lane, double *out)
{
    for (int64_t i = 0; i < n; i++)
        out[i] = values[i * layout->lanes + lane];
}

void norma_chain_block_entry(norma_chain_block *block, int64_t lane, const void **bytes,
                             int64_t *size)
{
    const norma_chain_layout *layout = &block->layout;
    const norma_chain_outcome from = norma_chain_layout_view(layout, block->result);
    norma_chain_outcome to = norma_chain_layout_view(&block->entry_layout, block->entry);
    *to.progress = *from.progress;
    to.progress->first += lane;
    to.progress->count = 1;
    for (int64_t v = 0; v < layout->n_values; v++)
        to.averages[v] = from.averages[v * layout->lanes + lane];
    take_lane(layout, from.regularity, 2, lane, to.regularity);
    take_lane(layout, from.exponents, layout->n_exponents, lane, to.exponents);
    for (int64_t i = 0; to.differences && from.differences && i < 2 * layout->n_compared_values;
         i++)
        to.differences[i] = to.progress->first == 0 ? from.differences[i] : NAN;
    *bytes = block->entry;
    *size = block->entry_layout.result_size;
}
