/* The arrays of a chain; every function below measures or allocates: src/base/mem_place.h. */
#include "src/base/mem_place.h"
#include "src/chain/chain_state.h"

static norma_status place_product(norma_chain *chain, double *bytes)
{
    const norma_chain_spec *spec = &chain->spec;
    const int64_t d = spec->width, n = spec->batch, lanes = chain->lanes;
    const bool exact = spec->law == NORMA_CHAIN_LAW_EXACT;
    const bool haar = norma_law_get(spec->weights)->source == NORMA_LAW_HAAR;
    if (exact || !haar)
        NORMA_TRY(NORMA_PLACE(chain->panel, exact ? d * n : chain->panel_rows * d * lanes, bytes));
    if (spec->single) {
        NORMA_TRY(NORMA_PLACE(chain->h_single, d * n, bytes));
        NORMA_TRY(NORMA_PLACE(chain->panel_single, chain->panel_rows * d, bytes));
        NORMA_TRY(NORMA_PLACE(chain->z_single, chain->panel_rows * n, bytes));
    }
    if (exact)
        NORMA_TRY(NORMA_PLACE(chain->triangle, n * n, bytes));
    if (exact || haar) {
        NORMA_TRY(NORMA_PLACE(chain->columns, d * n, bytes));
        NORMA_TRY(NORMA_PLACE(chain->tau, d, bytes));
        NORMA_TRY(NORMA_PLACE(chain->lapack, chain->n_lapack, bytes));
    }
    if (haar) {
        NORMA_TRY(NORMA_PLACE(chain->reflectors, d * (exact ? n : d), bytes));
        NORMA_TRY(NORMA_PLACE(chain->sign, d, bytes));
    }
    return NORMA_OK;
}

static norma_status place_single_scratch(norma_chain *chain, int64_t small, double *bytes)
{
    norma_chain_scratch *s = &chain->scratch;
    NORMA_TRY(NORMA_PLACE(s->matrix_single, chain->spec.width * chain->spec.batch, bytes));
    NORMA_TRY(NORMA_PLACE(s->singular_single, small, bytes));
    return NORMA_PLACE(s->work_single, s->n_work, bytes);
}

static norma_status place_scratch(norma_chain *chain, double *bytes)
{
    norma_chain_scratch *s = &chain->scratch;
    const int64_t d = chain->spec.width, n = chain->spec.batch, lanes = chain->lanes;
    const int64_t small = d < n ? d : n, longest = d > n ? d : n;
    const bool of_small = chain->family[NORMA_OBSERVABLE_FAMILY_SMALL_GRAM];
    const bool of_samples = chain->family[NORMA_OBSERVABLE_FAMILY_SAMPLE_GRAM];
    const int64_t m = of_samples ? n : of_small ? small : 0;
    NORMA_TRY(NORMA_PLACE(s->matrix, d * n, bytes));
    NORMA_TRY(NORMA_PLACE(s->gram, m * m * lanes, bytes));
    if (of_small)
        NORMA_TRY(NORMA_PLACE(s->square, longest * (small + NORMA_CHAIN_PADDING) * lanes, bytes));
    if (norma_chain_is_small(chain) && norma_chain_wants(chain, NORMA_OBSERVABLE_SOFT_RANK))
        NORMA_TRY(NORMA_PLACE(s->factors, (2 * small + 1) * small * lanes, bytes));
    NORMA_TRY(NORMA_PLACE(s->diagonal, small * lanes, bytes));
    NORMA_TRY(NORMA_PLACE(s->off, small * lanes, bytes));
    NORMA_TRY(NORMA_PLACE(s->pivots, small, bytes));
    NORMA_TRY(NORMA_PLACE(s->singular, small, bytes));
    s->n_work = 70 * longest + 4 * small * lanes;
    NORMA_TRY(NORMA_PLACE(s->work, s->n_work, bytes));
    if (chain->request.rank_single && norma_chain_wants(chain, NORMA_OBSERVABLE_NUMERICAL_RANK))
        NORMA_TRY(place_single_scratch(chain, small, bytes));
    return NORMA_OK;
}

static norma_status place(norma_chain *chain, double *bytes)
{
    const norma_chain_spec *spec = &chain->spec;
    const int64_t d = spec->width, n = spec->batch, lanes = chain->lanes;
    const int64_t longest = d > n ? d : n;
    NORMA_TRY(NORMA_PLACE(chain->h, d * n * lanes, bytes));
    NORMA_TRY(NORMA_PLACE(chain->z, d * n * lanes, bytes));
    NORMA_TRY(NORMA_PLACE(chain->mean, longest * lanes, bytes));
    NORMA_TRY(NORMA_PLACE(chain->square, longest * lanes, bytes));
    NORMA_TRY(NORMA_PLACE(chain->raw, longest * lanes, bytes));
    NORMA_TRY(NORMA_PLACE(chain->factor, longest * lanes, bytes));
    NORMA_TRY(place_product(chain, bytes));
    if (norma_chain_wants(chain, NORMA_OBSERVABLE_GRAM_DISTANCE))
        NORMA_TRY(NORMA_PLACE(chain->gram_reference, lanes * n * n, bytes));
    return place_scratch(chain, bytes);
}

norma_status norma_chain_workspace_create(norma_chain *chain)
{
    if (norma_chain_wants_frame(chain))
        NORMA_TRY(norma_chain_frame_create(chain->spec.width, chain->spec.batch,
                                           norma_chain_is_centered(chain), &chain->frame));
    return place(chain, NULL);
}

norma_status norma_chain_workspace_measure(const norma_chain *chain, double *bytes)
{
    norma_chain copy = *chain; /* nothing is placed in it */
    int64_t ignored = 0;
    *bytes = 0;
    if (norma_chain_wants_frame(chain))
        NORMA_TRY(norma_chain_frame_measure(chain->spec.width, chain->spec.batch,
                                            norma_chain_is_centered(chain), bytes, &ignored));
    return place(&copy, bytes);
}

void norma_chain_workspace_destroy(norma_chain *chain)
{
    norma_chain_scratch *s = &chain->scratch;
    norma_chain_frame_destroy(&chain->frame);
    double **const arrays[] = {
        &chain->h,          &chain->z,      &chain->panel,  &chain->mean,           &chain->square,
        &chain->raw,        &chain->factor, &chain->tau,    &chain->triangle,       &chain->columns,
        &chain->reflectors, &chain->sign,   &chain->lapack, &chain->gram_reference, &s->matrix,
        &s->gram,           &s->square,     &s->factors,    &s->diagonal,           &s->off,
        &s->singular,       &s->work};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        NORMA_FREE(*arrays[i]);
    float **const singles[] = {&chain->h_single,  &chain->panel_single, &chain->z_single,
                               &s->matrix_single, &s->singular_single,  &s->work_single};
    for (size_t i = 0; i < sizeof singles / sizeof *singles; i++)
        NORMA_FREE(*singles[i]);
    NORMA_FREE(s->pivots);
}
