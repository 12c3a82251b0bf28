/* Where the values of a block stand: results, pieces of records. */
#include "experiments/chain/block.h"

#include <string.h>

static const int64_t n_double = (int64_t)sizeof(double);

/* Records of about so many bytes are held before they go to the file. */
static const int64_t held_bytes = (int64_t)1 << 21;

void norma_chain_layout_init(const norma_chain_setup *setup, const norma_chain_cell *cell,
                             int64_t lanes, norma_chain_layout *layout)
{
    int64_t row = 0; /* bytes of one record of every observable */
    memset(layout, 0, sizeof *layout);
    layout->lanes = lanes;
    layout->n_exponents = cell->n_exponents;
    for (int o = 0; o < NORMA_N_OBSERVABLES; o++) {
        layout->offset[o] = layout->n_values;
        if (!(cell->request.wanted & NORMA_OBSERVABLE_BIT(o)))
            continue;
        layout->n_of[o] = norma_observable_n_values((norma_observable)o, &cell->request);
        layout->n_records[o] = norma_chain_schedule_count(&setup->schedule[o], cell->depth);
        layout->n_values += layout->n_of[o];
        row += layout->n_records[o] > 0 ? layout->n_of[o] * lanes * n_double : 0;
    }
    for (int o = 0; o < NORMA_N_OBSERVABLES; o++) {
        int64_t most = held_bytes / (row > 0 ? row : 1) + 1;
        layout->held_offset[o] = layout->n_held_values;
        layout->n_held[o] = layout->n_records[o] < most ? layout->n_records[o] : most;
        layout->n_held_values += layout->n_of[o] * layout->n_held[o];
    }
    layout->n_compared_values = cell->spec.single ? layout->n_values : 0;
    layout->averages_at = (int64_t)sizeof(norma_chain_progress);
    layout->regularity_at = layout->averages_at +
                            layout->n_values * layout->lanes * (int64_t)sizeof(norma_chain_average);
    layout->exponents_at = layout->regularity_at + 2 * layout->lanes * n_double;
    layout->differences_at = layout->exponents_at + layout->n_exponents * layout->lanes * n_double;
    layout->result_size = layout->differences_at + 2 * layout->n_compared_values * n_double;
}

norma_chain_outcome norma_chain_layout_view(const norma_chain_layout *layout, void *bytes)
{
    unsigned char *at = bytes;
    norma_chain_outcome view = {.progress = bytes};
    void *const averages = at + layout->averages_at;
    void *const regularity = at + layout->regularity_at;
    void *const exponents = at + layout->exponents_at;
    void *const differences = at + layout->differences_at;
    view.averages = averages;
    view.regularity = regularity;
    view.exponents = exponents;
    view.differences = layout->n_compared_values > 0 ? differences : NULL;
    return view;
}

norma_status norma_chain_outcome_read(const norma_chain_layout *layout, const void *bytes,
                                      int64_t size, norma_chain_outcome *out)
{
    if (size != layout->result_size)
        return NORMA_FAIL(NORMA_CONFIG,
                          "a result in the checkpoint has %lld bytes, not %lld: it "
                          "was written by another version",
                          (long long)size, (long long)layout->result_size);
    *out = norma_chain_layout_view(layout, (void *)bytes);
    return NORMA_OK;
}

int64_t norma_chain_piece_size(const norma_chain_layout *layout, const norma_chain_piece *piece)
{
    int64_t n = 0;
    for (int o = 0; o < NORMA_N_OBSERVABLES; o++)
        n += piece->n[o] * layout->n_of[o] * piece->lanes;
    return (int64_t)sizeof *piece + n * n_double;
}

static norma_status fail_piece(void)
{
    return NORMA_FAIL(NORMA_CONFIG, "records in the checkpoint do not fit this run: they were "
                                    "written by another version");
}

norma_status norma_chain_piece_read(const norma_chain_setup *setup, const norma_chain_cell *cell,
                                    const void *bytes, int64_t size, norma_chain_layout *layout,
                                    const norma_chain_piece **piece, const double **records)
{
    const norma_chain_piece *p = bytes;
    bool good = size >= (int64_t)sizeof *p;
    if (good)
        norma_chain_layout_init(setup, cell, p->lanes, layout);
    good = good && p->count >= 1 && p->count <= p->lanes && p->lanes <= NORMA_CHAIN_MOST_LANES &&
           p->first >= 0 && p->first + p->count <= setup->n_replicas;
    for (int o = 0; o < NORMA_N_OBSERVABLES && good; o++)
        good = p->n[o] >= 0 && p->begin[o] >= 0 && p->begin[o] + p->n[o] <= layout->n_records[o];
    if (!good || size != norma_chain_piece_size(layout, p))
        return fail_piece();
    *piece = p;
    *records = (const double *)(p + 1);
    return NORMA_OK;
}

/* The number of a layer among those recorded now; -1 where it is not. */
static int64_t number_of(const norma_chain_schedule *schedule, int64_t layer)
{
    int64_t n = norma_chain_schedule_count(schedule, layer);
    return n > 0 && norma_chain_schedule_layer(schedule, n - 1) == layer ? n - 1 : -1;
}

norma_status norma_chain_piece_renumber(const norma_chain_setup *setup,
                                        const norma_chain_cell *cell,
                                        const norma_chain_schedule *before, void *bytes,
                                        int64_t *size)
{
    norma_chain_piece *piece = bytes;
    norma_chain_layout layout;
    if (*size < (int64_t)sizeof *piece)
        return fail_piece();
    norma_chain_layout_init(setup, cell, piece->lanes, &layout);
    if (*size != norma_chain_piece_size(&layout, piece))
        return fail_piece();
    double *from = (double *)(piece + 1);
    double *to = from;
    for (int o = 0; o < NORMA_N_OBSERVABLES; o++) {
        int64_t n_row = layout.n_of[o] * piece->lanes;
        int64_t n = piece->n[o];
        int64_t begin = piece->begin[o];
        if (begin < 0 || (n > 0 && begin + n > before[o].n))
            return fail_piece();
        piece->n[o] = 0;
        for (int64_t i = 0; i < n; i++, from += n_row) {
            int64_t number =
                number_of(&setup->schedule[o], norma_chain_schedule_layer(&before[o], begin + i));
            if (number < 0)
                continue;
            if (piece->n[o] == 0)
                piece->begin[o] = number;
            memmove(to, from, (size_t)(n_row * n_double));
            to += n_row;
            piece->n[o]++;
        }
        if (piece->n[o] == 0)
            piece->begin[o] = 0;
    }
    *size = norma_chain_piece_size(&layout, piece);
    return NORMA_OK;
}

void norma_chain_state_renumber(const norma_chain_setup *setup, const norma_chain_schedule *before,
                                void *bytes)
{
    norma_chain_progress *progress = bytes;
    for (int o = 0; o < NORMA_N_OBSERVABLES; o++) {
        int64_t n = progress->n_recorded[o];
        if (n > 0 && n <= before[o].n)
            progress->n_recorded[o] = norma_chain_schedule_count(
                &setup->schedule[o], norma_chain_schedule_layer(&before[o], n - 1));
    }
}
