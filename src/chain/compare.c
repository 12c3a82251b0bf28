#include "src/chain/compare.h"

#include "src/base/mem.h"
#include "src/chain/chain_state.h"

#include <math.h>

struct norma_chain_comparison {
    norma_chain *single; /* borrowed */
    norma_chain *twin;   /* owned */
    int64_t n_values;
    double *values[2];            /* [n_values] of single, of its twin */
    double *difference, *largest; /* [n_values] */
};

static norma_chain_spec spec_of_twin(const norma_chain_spec *spec)
{
    norma_chain_spec twin = *spec;
    twin.single = false;
    return twin;
}

static norma_status allocate(norma_chain_comparison *c)
{
    NORMA_TRY(NORMA_CALLOC(c->values[0], c->n_values));
    NORMA_TRY(NORMA_CALLOC(c->values[1], c->n_values));
    NORMA_TRY(NORMA_CALLOC(c->difference, c->n_values));
    return NORMA_CALLOC(c->largest, c->n_values);
}

norma_status norma_chain_comparison_create(norma_chain *chain, norma_chain_comparison **out)
{
    norma_chain_comparison *c = NULL;
    norma_status status = NORMA_OK;
    norma_chain_spec spec = spec_of_twin(&chain->spec);
    NORMA_GOTO(status, NORMA_CALLOC(c, 1));
    c->single = chain;
    c->n_values = norma_chain_n_values_all(chain);
    NORMA_GOTO(status, norma_chain_create(&spec, &chain->input, &chain->request, 1, &c->twin));
    NORMA_GOTO(status, allocate(c));
    if (chain->team)
        norma_chain_join(c->twin, chain->team);
    *out = c;
    return NORMA_OK;
done:
    norma_chain_comparison_destroy(&c);
    return status;
}

void norma_chain_comparison_destroy(norma_chain_comparison **comparison)
{
    norma_chain_comparison *c = *comparison;
    if (!c)
        return;
    norma_chain_destroy(&c->twin);
    NORMA_FREE(c->values[0]);
    NORMA_FREE(c->values[1]);
    NORMA_FREE(c->difference);
    NORMA_FREE(c->largest);
    NORMA_FREE(*comparison);
}

norma_status norma_chain_comparison_bytes(const norma_chain_spec *spec,
                                          const norma_chain_input *input,
                                          const norma_observable_request *request, double *bytes)
{
    norma_chain_needs needs = {0};
    norma_chain_spec twin = spec_of_twin(spec);
    NORMA_TRY(norma_chain_check(&twin, input, request, 1, &needs));
    *bytes = needs.bytes;
    return NORMA_OK;
}

norma_status norma_chain_comparison_start(norma_chain_comparison *comparison, uint64_t seed,
                                          int64_t cell)
{
    for (int64_t v = 0; v < comparison->n_values; v++)
        comparison->difference[v] = comparison->largest[v] = 0;
    NORMA_TRY(norma_chain_start(comparison->single, seed, cell, 0, 1));
    return norma_chain_start(comparison->twin, seed, cell, 0, 1);
}

norma_status norma_chain_comparison_step(norma_chain_comparison *comparison)
{
    NORMA_TRY(norma_chain_step(comparison->single));
    return norma_chain_step(comparison->twin);
}

static double distance(double x, double y)
{
    if (x == y || (isnan(x) && isnan(y)))
        return 0;
    return isfinite(x) && isfinite(y) ? fabs(x - y) : INFINITY;
}

norma_status norma_chain_comparison_measure(norma_chain_comparison *comparison,
                                            norma_observable_set set)
{
    const norma_chain *chain = comparison->single;
    double *const *values = comparison->values;
    NORMA_TRY(norma_chain_measure(comparison->single, set, values[0]));
    NORMA_TRY(norma_chain_measure(comparison->twin, set, values[1]));
    for (int o = 0; o < NORMA_N_OBSERVABLES; o++) {
        if (!(set & NORMA_OBSERVABLE_BIT(o)))
            continue;
        for (int64_t v = chain->offset[o]; v < chain->offset[o + 1]; v++) {
            double *difference = &comparison->difference[v], *largest = &comparison->largest[v];
            *difference = fmax(*difference, distance(values[0][v], values[1][v]));
            if (isfinite(values[1][v]))
                *largest = fmax(*largest, fabs(values[1][v]));
        }
    }
    return NORMA_OK;
}

void norma_chain_comparison_get(const norma_chain_comparison *comparison, double *difference,
                                double *relative)
{
    const norma_chain *chain = comparison->single;
    const int64_t log_norm = norma_chain_wants(chain, NORMA_OBSERVABLE_LOG_NORM)
                                 ? chain->offset[NORMA_OBSERVABLE_LOG_NORM]
                                 : -1;
    for (int64_t v = 0; v < comparison->n_values; v++) {
        double largest = comparison->largest[v];
        difference[v] = comparison->difference[v];
        relative[v] = v == log_norm ? difference[v] : largest > 0 ? difference[v] / largest : NAN;
    }
}
