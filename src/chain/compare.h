#ifndef NORMA_CHAIN_COMPARE_H
#define NORMA_CHAIN_COMPARE_H
/*
 * The error of single precision: a chain in single precision beside its twin in double, on the same
 * input and random numbers, and how far each observable of the one departs from the other's.
 */
#include "src/chain/chain.h"

typedef struct norma_chain_comparison norma_chain_comparison;

/* Makes the twin of `chain`, whose spec is single; a team that the chain has joined is joined by
 * the twin. The chain is borrowed and is moved by the functions below: its owner saves and restores
 * its state. Caller owns *out. NORMA_MEMORY. */
NORMA_MUST_USE norma_status norma_chain_comparison_create(norma_chain *chain,
                                                          norma_chain_comparison **out);

/* Frees and nulls; NULL is allowed. */
void norma_chain_comparison_destroy(norma_chain_comparison **comparison);

/* Bytes of the twin, beside the chain's own needs. Errors as norma_chain_check. */
NORMA_MUST_USE norma_status norma_chain_comparison_bytes(const norma_chain_spec *spec,
                                                         const norma_chain_input *input,
                                                         const norma_observable_request *request,
                                                         double *bytes);

/* Both chains at layer 0 of replica 0, nothing measured. */
NORMA_MUST_USE norma_status norma_chain_comparison_start(norma_chain_comparison *comparison,
                                                         uint64_t seed, int64_t cell);

/* Both one layer further. */
NORMA_MUST_USE norma_status norma_chain_comparison_step(norma_chain_comparison *comparison);

/* Measures the observables of `set` on both. */
NORMA_MUST_USE norma_status norma_chain_comparison_measure(norma_chain_comparison *comparison,
                                                           norma_observable_set set);

/* Of all layers measured since start: difference[n_values_all] = largest |single - double| of each
 * value (+inf where only one of them is finite, 0 where both are infinite or undefined alike), and
 * relative[n_values_all] = that over the largest |double| (NaN when that is 0 or none was finite);
 * for log_norm, whose differences are relative already, the difference again.
 */
void norma_chain_comparison_get(const norma_chain_comparison *comparison, double *difference,
                                double *relative);

#endif
