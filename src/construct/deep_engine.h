#ifndef NORMA_CONSTRUCT_DEEP_ENGINE_H
#define NORMA_CONSTRUCT_DEEP_ENGINE_H
/*
 * The linear algebra of a search for the scales of a deep source (src/construct/deep.h): by dense
 * factors on one rank (here), or by ranks together (mpi/construct/deep_ranks.h). The functions find
 * the Jacobian J of the source at its present scales; they expect norma_deep_update to have been
 * called.
 */
#include "src/construct/deep.h"

struct norma_deep_engine {
    void *context; /* handed to the functions */

    /* The rank of J. */
    norma_status (*find_rank)(void *context, int64_t *rank);

    /* gamma[c_l] of layer `layer` alone, least squares of minimum norm for target[n]; *solved is
     * false, and gamma undefined, where they are singular. */
    norma_status (*solve_layer)(void *context, int64_t layer, const double *target, double *gamma,
                                bool *solved);

    /* The step[sum c_l] that minimizes |residual - J step|^2 + damping^2 |step|^2, and the square
     * of the residual that it leaves in this linear model. */
    norma_status (*find_step)(void *context, double damping, const double *residual, double *step,
                              double *left);

    /* The same with the J and the damping of the last step, whose factors are kept. NULL where that
     * would cost as much as a step. */
    norma_status (*find_again)(void *context, double damping, const double *residual, double *step,
                               double *left);

    /* Root mean square over the weights of the rounding of the sums that they come from. */
    norma_status (*find_floor)(void *context, double *floor);

    /* The condition of J; +inf: singular. */
    norma_status (*find_condition)(void *context, double *condition);

    /* Gives all ranks the numbers of the first one, and the failure of one; NULL where there is one
     * rank. */
    void (*share)(void *context, int64_t n, double *values);
    norma_status (*agree)(void *context, norma_status status);
};

/* Bytes of the arrays of a search; `bends`: its engine has find_again. */
double norma_deep_search_bytes(const norma_deep_shape *shape, bool bends);

/* Dense factors of J and of J with its damping, with orthogonal transformations alone. */
NORMA_MUST_USE norma_status norma_deep_dense_create(norma_deep *deep, norma_deep_engine *engine);
void norma_deep_dense_destroy(norma_deep_engine *engine);

/* The floor from sum over weights and scales of (J gamma)^2, those of the last layer left out. */
double norma_deep_floor(const norma_deep *deep, double sum_of_squares);

#endif
