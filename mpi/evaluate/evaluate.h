#ifndef NORMA_MPI_EVALUATE_EVALUATE_H
#define NORMA_MPI_EVALUATE_EVALUATE_H
/*
 * The source network beside its target on images spread over ranks: ranges of the pre-activations,
 * then both networks run and compared. An image's arithmetic does not depend on the number of ranks
 * and threads, so neither does any result but the times.
 *
 * Use: norma_evaluate_create; for each layer: solve, norma_evaluate_bounds, norma_maps_create; then
 * norma_evaluate_run. Images are processed in batches that keep activations within a memory budget;
 * the target's activations are advanced from layer to layer as bounds are asked for in order.
 */
#include "src/network/bounds.h"
#include "src/network/images.h"
#include "src/network/maps.h"
#include "src/network/source.h"

#include <mpi.h>

/* Activations and scratch a rank may hold by default, bytes. */
#define NORMA_EVALUATE_BUDGET (INT64_C(512) << 20)

typedef struct norma_evaluate norma_evaluate;

/* For the first n_images images of `images`, budget bytes a rank (0: the default). network and
 * images are borrowed and equal on all ranks; images may be NULL (with n_images 0) when only
 * declared ranges are used. Collective over comm (borrowed). Caller owns *out. */
NORMA_MUST_USE norma_status norma_evaluate_create(MPI_Comm comm, const norma_network *network,
                                                  const norma_images *images, int64_t n_images,
                                                  int64_t budget, norma_evaluate **out);

/* lo[c1], hi[c1] = bounds of u_J = W1[J] * x (no gamma, no margin: see norma_bounds_scale) for the
 * pair `shape` on target layer number `layer`, by the rule `bound`, equal on all ranks. Collective.
 */
NORMA_MUST_USE norma_status norma_evaluate_bounds(norma_evaluate *evaluate, int64_t layer,
                                                  const norma_source_shape *shape,
                                                  const norma_tensor *w1, norma_bound bound,
                                                  double *lo, double *hi);

/* Runs are compared with `network` from here on, in place of the network that the source pairs
 * stand for; it takes the same images and has as many outputs. Borrowed. To be called before
 * bounds and runs. Collective. */
NORMA_MUST_USE norma_status norma_evaluate_compare_with(norma_evaluate *evaluate,
                                                        const norma_network *network);

typedef struct norma_evaluate_result {
    int64_t n_images;
    double output_max_error; /* of the last layer's outputs, source against target */
    double output_rmse;
    double mean_square;         /* of the same differences: output_rmse^2 */
    double mean_square_targets; /* NaN, for the caller: of a run without any pair, compared with
                                   another network */
    double output_max;          /* largest |output| of the target */
    double accuracy_target;     /* NaN without labels */
    double accuracy_source;
    int64_t n_decisions_differing; /* argmax of the outputs, the first of equals */
    int64_t n_clipped;             /* hidden pre-activations below the linear region */
    double n_flops;                /* of the source pairs, all images */
    double seconds;                /* spent in the source pairs, the slowest rank's */
} norma_evaluate_result;

/* The images of all ranks together, and this rank's: n_local from number first on. Local. */
int64_t norma_evaluate_share_local(const norma_evaluate *evaluate, int64_t *first,
                                   int64_t *n_local);

/* Runs from here on store the outputs of this rank's images as well, [n_local][outputs] of the
 * target and of the source in FP64. Both are borrowed; NULL: they are not stored. Local. */
void norma_evaluate_store_outputs_local(norma_evaluate *evaluate, double *target, double *source);

/* Runs source[n_layers of the network] and the target on all images and compares; the result is
 * equal on all ranks. Collective. */
NORMA_MUST_USE norma_status norma_evaluate_run(norma_evaluate *evaluate,
                                               const norma_source_layer *source,
                                               norma_evaluate_result *result);

/* Memory of an evaluation beyond network and images, in bytes, of a rank and of all ranks. */
typedef struct norma_evaluate_cost {
    int64_t held;             /* from norma_evaluate_create on */
    int64_t bounds;           /* during norma_evaluate_bounds on a data set, with what is held */
    int64_t run;              /* during norma_evaluate_run, with what is held */
    double n_flops;           /* of the source's pairs, for all images */
    int64_t image_values;     /* activations of one image that are held at once */
    int64_t image_values_all; /* activations of one image, of all layers together */
} norma_evaluate_cost;

/* For n_images images and the pairs shapes[n_shapes]; budget as in norma_evaluate_create.
 * NORMA_MEMORY. Local. */
NORMA_MUST_USE norma_status norma_evaluate_cost_local(const norma_network *network,
                                                      int64_t n_shapes,
                                                      const norma_source_shape *shapes,
                                                      int64_t n_images, int n_ranks, int n_threads,
                                                      int64_t budget, norma_evaluate_cost *cost);

/* Collective; nulls; NULL is allowed. */
void norma_evaluate_destroy(norma_evaluate **evaluate);

#endif
