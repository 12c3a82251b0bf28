#ifndef NORMA_EXPERIMENTS_RECONSTRUCT_SETUP_H
#define NORMA_EXPERIMENTS_RECONSTRUCT_SETUP_H
/*
 * From the configuration of a reconstruction to its objects: what is read once (inputs), what a
 * cell of the sweep fixes (cell), what a replica draws (the pairs).
 */
#include "io/input/dataset.h"
#include "io/input/skip.h"
#include "io/input/source.h"
#include "io/input/target.h"
#include "mpi/evaluate/evaluate.h"
#include "mpi/layer/layer_solve.h"
#include "mpi/runtime/runtime.h"
#include "src/align/searches.h"
#include "src/config/config.h"
#include "src/network/low_rank.h"
#include "src/network/skip.h"

/* Files, read once a run. All owned; what the configuration does not name is NULL. */
typedef struct norma_reconstruct_inputs {
    norma_target *target;
    norma_dataset *dataset;
    norma_source *source;
    norma_skips *skips;
    norma_target *student;    /* of --construction teacher */
    norma_network *factored;  /* the target with two layers for each of its own, or NULL */
    norma_low_rank *low_rank; /* [n_low_rank], of each target layer, or NULL */
    int64_t n_low_rank;
} norma_reconstruct_inputs;

/* Where the running statistics of the source's batch norms come from, in the order of
 * norma_reconstruct_statistics_names. */
typedef enum norma_statistics {
    NORMA_STATISTICS_UNIT,
    NORMA_STATISTICS_DATASET,
    NORMA_STATISTICS_FILE
} norma_statistics;

/* One layer of a cell. */
typedef struct norma_reconstruct_layer {
    bool wanted;    /* reconstructed; otherwise the target's own runs and the rest is not set */
    bool aligned;   /* an order of its output channels is searched for */
    int64_t groups; /* of channels: each has a system of its own */
    norma_khatri_rao_shape shape; /* of one group */
    norma_source_shape source_shape;
    norma_activation activation; /* inside the source pair */
    int64_t n_minimum;           /* features that the width rule asks for, of all groups */
    int64_t n_features;          /* c1, of all groups */
    double *embedded;            /* Wt inside K, [c2][c0 / groups][|K|]; owned; NULL in a plan */
    /* Of the current replica: */
    norma_tensor *w1, *w2; /* of all groups; owned */
    norma_maps *maps;      /* owned */
    double *skip;          /* Ws [c2][c0][|Kt|]; owned; NULL without a residual and in a plan */
    double *skip_embedded; /* Ws inside K, like the target; owned */
    norma_bn_statistics statistics1, statistics2; /* borrowed, or in `measured` */
    double *measured;                             /* owned; NULL unless measured */
    double rmse_given; /* of the given order of channels; NaN where none was searched for */
    int64_t
        *permutation; /* [c2]: target row of each output channel, for --align; owned; else NULL */
    int64_t n_values;
    double *values; /* [n_values]: singular values of M, for --save spectrum; owned; else NULL */
} norma_reconstruct_layer;

/* One cell of the sweep. */
typedef struct norma_reconstruct_cell {
    int64_t number;
    uint64_t seed;
    int64_t stream_cell;   /* the cell field of its random numbers */
    int64_t first_replica; /* --replica-offset: their replica field of replica 0 */
    norma_distribution distribution;
    double keep_probability;
    norma_width width;
    norma_residual residual;
    norma_skip_spec skip; /* without layer, replica and values */
    norma_solver solver;
    norma_store store;  /* of the weights */
    bool solves_single; /* --solver-precision single */
    norma_condition_effort condition;
    int64_t lbfgs_history;  /* 0: the solver's own */
    int64_t max_iterations; /* 0: the solver's own */
    norma_bound bound;
    norma_statistics statistics;
    double bn_eps;
    bool single;                   /* the source network runs in FP32 */
    norma_maps_accuracy accuracy;  /* of every layer's maps */
    norma_tensor_spec target_spec; /* of a random target */
    bool target_per_replica;
    const norma_network *network; /* of the target file, `random`, `student` or `ordered` */
    norma_network *random;        /* owned; with --construction teacher the teacher */
    norma_network *student;       /* owned; stands for the teacher, or NULL */
    norma_images drawn;           /* its inputs; n_images 0 without a teacher */
    bool aligns;                  /* --align, and then: */
    int search;                   /* of src/align/searches.h */
    norma_align_options align;    /* of the search */
    const norma_network *given;   /* borrowed; with the channels in the order of the file */
    norma_network *ordered;       /* owned; in that of the current replica; NULL in a plan */
    int64_t n_layers;
    norma_reconstruct_layer *layers; /* [n_layers], owned */
} norma_reconstruct_cell;

/* Refuses combinations of options that contradict each other. Local. */
NORMA_MUST_USE norma_status norma_reconstruct_check_options(const norma_config *config);

/* Reads target, data set and source weights. Collective; *inputs is to be cleared whatever is
 * returned. */
NORMA_MUST_USE norma_status norma_reconstruct_inputs_read(const norma_runtime *runtime,
                                                          const norma_config *config,
                                                          norma_reconstruct_inputs *inputs);

/* Collective. */
void norma_reconstruct_inputs_clear(norma_reconstruct_inputs *inputs);

/* The images of the data set, or NULL. Local. */
const norma_images *norma_reconstruct_images(const norma_reconstruct_inputs *inputs);

/* The images that a cell's networks are run on: those, or the drawn ones, or NULL. Borrowed from
 * both. Local. */
const norma_images *norma_reconstruct_cell_images(const norma_reconstruct_cell *cell,
                                                  const norma_reconstruct_inputs *inputs);

/* Are there images, of a data set or drawn? Local. */
bool norma_reconstruct_has_images(const norma_config *config,
                                  const norma_reconstruct_inputs *inputs);

/* A text that distinguishes the target file's network from others; "" for a random target. Local.
 */
enum { NORMA_RECONSTRUCT_DIGEST = 17 };
void norma_reconstruct_digest(const norma_reconstruct_inputs *inputs,
                              char digest[NORMA_RECONSTRUCT_DIGEST]);

/* Shapes, widths and target weights of a cell; with shapes_only (a plan) no weight is drawn or
 * copied. Local and equal on all ranks; *cell is to be cleared whatever is returned. */
NORMA_MUST_USE norma_status norma_reconstruct_cell_init(const norma_config *config,
                                                        const norma_reconstruct_inputs *inputs,
                                                        int64_t number, bool shapes_only,
                                                        norma_reconstruct_cell *cell);

/* "c-out=8, seed=3: " in front of an error of a sweep's cell. Local. */
norma_status norma_reconstruct_in_cell(const norma_config *config, int64_t cell,
                                       norma_status status);

/* Features of a layer from --features, --excess, --overparam, or the minimum itself. NORMA_CONFIG
 * below 1, NORMA_LIMIT from 2^31 on. Local. */
NORMA_MUST_USE norma_status norma_reconstruct_choose_width(const norma_config *config, int64_t cell,
                                                           int64_t n_minimum, int64_t *n_features);

/* Are the activations of all source pairs linear, not only nearly so, where they are used? */
bool norma_reconstruct_is_exact(const norma_reconstruct_cell *cell);

/* Prepares W1, W2, the skip and, drawn per replica, the target of a layer for a replica; frees
 * those of the one before. Local. */
NORMA_MUST_USE norma_status norma_reconstruct_pair_init(norma_reconstruct_cell *cell,
                                                        const norma_reconstruct_inputs *inputs,
                                                        int64_t layer, int64_t replica);

/* Draws the weights of a random target for a replica of the seed; drawn inputs are those of the
 * replica then. Local. */
NORMA_MUST_USE norma_status norma_reconstruct_fill_target(norma_reconstruct_cell *cell,
                                                          int64_t replica);

/* Points the statistics of a layer at its `measured` ones: mean1, variance1 [c1], mean2, variance2
 * [c2]. Local. */
void norma_reconstruct_use_measured(norma_reconstruct_layer *layer);

/* The source layer that runs in the target's place; borrows from the cell. Local. */
norma_source_layer norma_reconstruct_source_layer(const norma_reconstruct_cell *cell,
                                                  int64_t number);

void norma_reconstruct_cell_clear(norma_reconstruct_cell *cell);

#endif
