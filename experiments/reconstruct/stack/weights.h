#ifndef NORMA_EXPERIMENTS_RECONSTRUCT_STACK_WEIGHTS_H
#define NORMA_EXPERIMENTS_RECONSTRUCT_STACK_WEIGHTS_H
/* --save weights with stacks: the frozen weights, in the groups of the layers beside gamma and
 * beta, [replica, ...] in the order that PyTorch has. */
#include "experiments/reconstruct/stack/stack.h"
#include "io/result/result.h"

/* Are they asked for? Local. */
bool norma_stack_weights_wanted(const norma_config *config);

/* Numbers of a layer and a replica. Local. */
NORMA_MUST_USE norma_status norma_stack_weights_count(const norma_stack_kind *kind,
                                                      const norma_stack_place *place, double *n);

/* Adds the arrays of a layer to its group, which has the axis replica, and the attributes with
 * which a reader can run the stack. Collective. */
NORMA_MUST_USE norma_status norma_stack_weights_add(const norma_stack_kind *kind,
                                                    const norma_stack_place *place,
                                                    norma_result *file, const char *group);

/* Draws the weights of place->replica and gives them to the file. Local. */
NORMA_MUST_USE norma_status norma_stack_weights_write_local(const norma_stack_kind *kind,
                                                            const norma_stack_place *place,
                                                            norma_result *file, const char *group);

#endif
