#ifndef NORMA_EXPERIMENTS_RECONSTRUCT_OUTPUT_H
#define NORMA_EXPERIMENTS_RECONSTRUCT_OUTPUT_H
/*
 * The result file of a reconstruction: which variables it has and what goes into them. Scalars are
 * [sweep..., replica, layer] or [sweep..., replica]; arrays stand in /layers/NNN when the run has a
 * single cell, in /cells/NNNNNN/layers/NNN in a sweep.
 */
#include "experiments/reconstruct/construct/structure.h"
#include "experiments/reconstruct/setup.h"
#include "io/result/result.h"
#include "mpi/runtime/team.h"

/* Results of the evaluation about a layer's source pair. */
typedef struct norma_reconstruct_layer_extra {
    double shift_magnitude;    /* of what cancels in an output (norma_maps) */
    double digits_lost;        /* log10 of it, 0 at least */
    double shift_error_double; /* rounding of the sum of what cancels, in FP64 ... */
    double shift_error_single; /* ... and in FP32 */
    double epsilon;            /* of an approximate activation; 0 when it is exact */
    double epsilon_floor;      /* least attainable one; 0 when it is exact */
    double activation_scale;   /* g, by which pre-activations shrink */
    double rmse_given_order;   /* with --align: of the target's own order of channels */
} norma_reconstruct_layer_extra;

/* Of a layer with affine maps. */
norma_reconstruct_layer_extra
norma_reconstruct_layer_extra_of(const norma_reconstruct_layer *layer);

typedef struct norma_reconstruct_output {
    norma_result *file;           /* borrowed */
    const norma_config *config;   /* borrowed */
    const norma_runtime *runtime; /* borrowed */
    bool save_gamma, save_weights, save_values, with_images;
    bool with_structure; /* some source weights may be zero */
    bool with_orders;    /* --align */
    int n_teacher;       /* variables of --construction teacher: loss, and loss_student */
    int64_t n_replicas, n_layers;
    const norma_low_rank *low_rank; /* of layers 2 l and 2 l + 1, borrowed, or NULL */
} norma_reconstruct_output;

/* Bytes of the file, roughly from above. Local. */
int64_t norma_reconstruct_output_bytes(const norma_config *config,
                                       const norma_reconstruct_inputs *inputs,
                                       const norma_reconstruct_cell *first);

/* Adds all scalars to `file`, which is borrowed. `first` is the first cell (every cell has as many
 * layers). Collective. */
NORMA_MUST_USE norma_status norma_reconstruct_output_layout(norma_reconstruct_output *output,
                                                            const norma_runtime *runtime,
                                                            const norma_config *config,
                                                            const norma_reconstruct_inputs *inputs,
                                                            const norma_reconstruct_cell *first,
                                                            norma_result *file);

/* The ranks that write something together: all of the file's, or a group of them, or one alone.
 * Different groups write different layers, in any order. */
typedef struct norma_reconstruct_writer {
    norma_reconstruct_output *output; /* borrowed */
    const norma_team *team;           /* borrowed */
    bool is_world;                    /* the team has all ranks of the file */
} norma_reconstruct_writer;

norma_reconstruct_writer norma_reconstruct_writer_of_local(norma_reconstruct_output *output,
                                                           const norma_team *team);

/* Gives values that all ranks of the team hold to the file, on the team's root
 * (norma_result_put_local); start and count as in norma_result_write. Local: the caller agrees. */
NORMA_MUST_USE norma_status norma_reconstruct_writer_put_local(
    const norma_reconstruct_writer *writer, const char *variable, norma_type type,
    const int64_t *start, const int64_t *count, const void *values);

/* Are there arrays of layers in the file? Local. */
bool norma_reconstruct_output_has_arrays(const norma_reconstruct_output *output);

/* Creates the groups of the arrays of a cell, if any are to be saved. Collective. */
NORMA_MUST_USE norma_status norma_reconstruct_output_add_cell(norma_reconstruct_output *output,
                                                              const norma_reconstruct_cell *cell);

/* The scalars of one layer. Collective over the writer's team. */
NORMA_MUST_USE norma_status norma_reconstruct_output_layer(
    const norma_reconstruct_writer *writer, int64_t cell, int64_t replica, int64_t layer,
    const norma_layer_solution *solution, const norma_reconstruct_layer_extra *extra,
    const norma_reconstruct_structure *structure);

/* The arrays of one layer: affine maps, weights. Collective over the writer's team. */
NORMA_MUST_USE norma_status norma_reconstruct_output_arrays(const norma_reconstruct_writer *writer,
                                                            const norma_reconstruct_cell *cell,
                                                            int64_t replica, int64_t layer);

/* The peak memory of the largest rank so far. Collective. */
NORMA_MUST_USE norma_status norma_reconstruct_output_memory(norma_reconstruct_output *output,
                                                            int64_t cell, int64_t replica);

/* The comparison of a replica's networks. Collective over the writer's team. */
NORMA_MUST_USE norma_status
norma_reconstruct_output_evaluation(const norma_reconstruct_writer *writer, int64_t cell,
                                    int64_t replica, const norma_evaluate_result *result);

/* Means and 95% confidence intervals over the replicas of a cell. Collective. */
NORMA_MUST_USE norma_status norma_reconstruct_output_statistics(
    norma_reconstruct_output *output, int64_t cell, const norma_evaluate_result *results);

#endif
