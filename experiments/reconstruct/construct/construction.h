#ifndef NORMA_EXPERIMENTS_RECONSTRUCT_CONSTRUCT_CONSTRUCTION_H
#define NORMA_EXPERIMENTS_RECONSTRUCT_CONSTRUCT_CONSTRUCTION_H
/* --construction: what stands for a target layer. `pair`: one source pair. `low-rank`: two, for the
 * factors of the layer (src/network/low_rank.h). Others: a stack of source layers
 * (experiments/reconstruct/stack/stack.h). */
#include "experiments/reconstruct/setup.h"
#include "experiments/reconstruct/stack/stack.h"
#include "src/construct/construction.h"

/* The stack that the configuration asks for; NULL where it asks for pairs. Local. */
const norma_stack_kind *norma_reconstruct_stack_kind(const norma_config *config);

/* Refuses options that the construction does not take. Local. */
NORMA_MUST_USE norma_status
norma_reconstruct_construction_check_options(const norma_config *config);

/* Factors the target's layers where the construction asks for it, once a run, and prints each rank
 * with the one up to which it pays: inputs->factored and inputs->low_rank. Collective. */
NORMA_MUST_USE norma_status norma_reconstruct_construction_build(const norma_runtime *runtime,
                                                                 const norma_config *config,
                                                                 norma_reconstruct_inputs *inputs);

/* Collective. */
void norma_reconstruct_construction_clear(norma_reconstruct_inputs *inputs);

/* The evaluation of a cell's network on its images, compared with the target as it was given: not
 * factored, with its channels in their order; or with the teacher.
 * Collective over comm; the caller owns *out. */
NORMA_MUST_USE norma_status norma_reconstruct_construction_evaluate(
    MPI_Comm comm, const norma_reconstruct_cell *cell, const norma_reconstruct_inputs *inputs,
    norma_evaluate **out);

#endif
