#ifndef NORMA_EXPERIMENTS_RECONSTRUCT_STACK_STACK_H
#define NORMA_EXPERIMENTS_RECONSTRUCT_STACK_STACK_H
/*
 * Constructions that put a stack of source layers in the place of each target layer, where a pair
 * puts two. A kind of stack is a table of functions on sources of its own; sizes, records, result
 * files, checkpoints, runs on inputs and `norma evaluate` are common to all kinds.
 *
 * A task is one replica of one cell, with all its layers, computed by a group of ranks: of one
 * rank, but where a layer is so large that several solve it together. All ranks of the group draw,
 * open and run the sources; the root writes.
 */
#include "experiments/job/job.h"
#include "experiments/job/queue.h"
#include "experiments/reconstruct/setup.h"
#include "io/result/result_read.h"

/* A layer of a cell, and the replica that is drawn. All borrowed. */
typedef struct norma_stack_place {
    const norma_config *config;
    const norma_reconstruct_cell *cell;
    int64_t number; /* of the target layer */
    int64_t replica;
    norma_queue *queue; /* which solve asks whether the run stops; others do without */
    int64_t n_ranks;    /* of the group, for size; and their threads */
    int n_threads;
} norma_stack_place;

/* The source of a layer. */
typedef struct norma_stack_size {
    int64_t n_equations; /* c2 c0 |K| of the target */
    int64_t n_minimum;   /* width, or sum of widths, that the theorem asks for */
    int64_t n_features;  /* that there is */
    int64_t n_stages;    /* blocks, or layers */
    int64_t n_scales, n_shifts;
    double bytes, flops; /* of drawing and solving it, on the rank that holds most; of all ranks */
    bool together;       /* it is large enough for several ranks */
} norma_stack_size;

/* Numbers of every kind about a layer; indices of norma_stack_variables. */
typedef enum norma_stack_number {
    NORMA_STACK_RMSE,
    NORMA_STACK_MAX_ERROR,
    NORMA_STACK_RELATIVE_RESIDUAL,
    NORMA_STACK_N_ROWS,
    NORMA_STACK_N_MINIMUM,
    NORMA_STACK_N_FEATURES,
    NORMA_STACK_N_STAGES,
    NORMA_STACK_CONDITION_NUMBER,
    NORMA_STACK_DIGITS_LEFT,
    NORMA_STACK_MAX_ABS_GAMMA,
    NORMA_STACK_SHIFT_MAGNITUDE,
    NORMA_STACK_SHIFT_ERROR,
    NORMA_STACK_SECONDS,
    NORMA_N_STACK_NUMBERS
} norma_stack_number;

extern const norma_variable norma_stack_variables[NORMA_N_STACK_NUMBERS];

/* An array of frozen weights in the result file, [replica] and these dimensions. */
enum { NORMA_STACK_MOST_ARRAYS = 16, NORMA_STACK_MOST_EXTENTS = 4 };
typedef struct norma_stack_array {
    char name[16];
    const char *long_name; /* constant */
    int n_extents;
    char dimensions[NORMA_STACK_MOST_EXTENTS][16];
    int64_t extents[NORMA_STACK_MOST_EXTENTS];
} norma_stack_array;

typedef struct norma_stack_kind {
    const char *stage, *stage_meaning;     /* the dimension of its stages */
    const norma_variable *layer_variables; /* [n_layer_variables], beside the common ones */
    const norma_variable *stage_variables; /* [n_stage_variables] */
    int n_layer_variables, n_stage_variables;

    /* Refuses layers and options that the kind does not take. Local, as are all but solve. */
    norma_status (*size)(const norma_stack_place *place, norma_stack_size *size);

    /* Draws a source, owned by the caller. */
    norma_status (*create)(const norma_stack_place *place, void **source);
    void (*destroy)(void **source);

    /* Solves it; NORMA_STOPPED when the run stops. Collective over the group of the queue. Fills
     * the common numbers condition_number, digits_left, max_abs_gamma, and those of the kind:
     * layer[n_layer_variables], stages[n_stage_variables][n_places]. */
    norma_status (*solve)(const norma_stack_place *place, void *source, double *common,
                          double *layer, double *stages, int64_t n_places);

    /* map[c2][c0 |K|] that it computes without shifts. */
    norma_status (*compose)(const void *source, double *map);

    /* Sets the shifts for inputs in [lo, hi], [c0 |K|] each; fills shift_magnitude, shift_error. */
    norma_status (*open)(const norma_stack_place *place, void *source, const double *lo,
                         const double *hi, double *common);

    /* y[n][c2] of x[n][c0 |K|]. */
    norma_status (*run)(const norma_stack_place *place, const void *source, int64_t n,
                        const double *x, double *y, int64_t *n_clipped);

    /* Copies scales[n_scales] and shifts[n_shifts] out of a source, or into it. */
    void (*get)(const void *source, double *scales, double *shifts);
    void (*set)(void *source, const double *scales, const double *shifts);

    /* The arrays of frozen weights, arrays[*n] of NORMA_STACK_MOST_ARRAYS; array number `array` of
     * a drawn source, row-major. */
    norma_status (*weights)(const norma_stack_place *place, norma_stack_array *arrays, int *n);
    void (*copy_weights)(const void *source, int array, double *values);
} norma_stack_kind;

extern const norma_stack_kind norma_stack_blocks; /* --construction skip */
extern const norma_stack_kind norma_stack_deep;   /* --construction deep */

/* The activation between the layers of the stack. */
norma_activation norma_stack_activation(const norma_stack_place *place);

/* The law, seed and stream of its weights; tensor and layer are the caller's to set. */
norma_tensor_spec norma_stack_weights(const norma_stack_place *place);

/* Inputs of a target layer, c0 |K|. */
int64_t norma_stack_inputs(const norma_stack_place *place);

/* --- records ---------------------------------------------------------------------------------- */

/* The comparison of a replica's network with its target; indices of norma_stack_run_variables. */
typedef enum norma_stack_output {
    NORMA_STACK_OUTPUT_MAX_ERROR,
    NORMA_STACK_OUTPUT_RMSE,
    NORMA_STACK_OUTPUT_MAX,
    NORMA_STACK_N_CLIPPED,
    NORMA_STACK_N_DIFFERING,
    NORMA_N_STACK_OUTPUTS
} norma_stack_output;

extern const norma_variable norma_stack_run_variables[NORMA_N_STACK_OUTPUTS];

/* Sizes that all records of a run share: the largest of all cells and layers. */
typedef struct norma_stack_layout {
    const norma_stack_kind *kind;
    int64_t n_cells, n_replicas, n_layers;
    int64_t n_stages, n_scales, n_shifts; /* the last two 0 where they are not saved */
    int64_t n_inputs;                     /* that networks are run on */
    bool saves_weights;
    double n_weights; /* frozen weights of a replica, of the largest cell; 0 where not saved */
} norma_stack_layout;

/* Results of a replica, one array of numbers, which is also what a checkpoint keeps. NaN: none. */
typedef struct norma_stack_record {
    int64_t n_numbers;
    double *numbers; /* [n_numbers], owned: */
    double *outputs; /*   [NORMA_N_STACK_OUTPUTS] */
    double *common;  /*   [n_layers][NORMA_N_STACK_NUMBERS] */
    double *layers;  /*   [n_layers][kind's] */
    double *stages;  /*   [n_layers][kind's][n_stages] */
    double *scales;  /*   [n_layers][n_scales] */
    double *shifts;  /*   [n_layers][n_shifts] */
} norma_stack_record;

NORMA_MUST_USE norma_status norma_stack_record_init(const norma_stack_layout *layout,
                                                    norma_stack_record *record);
void norma_stack_record_clear(norma_stack_record *record);

/* Runs the sources of place->cell, NULL where the target's own layer stays, and the target on the
 * images or on drawn inputs: outputs[NORMA_N_STACK_OUTPUTS]. Local. */
NORMA_MUST_USE norma_status norma_stack_run_network(const norma_stack_place *place,
                                                    const norma_reconstruct_inputs *inputs,
                                                    const norma_stack_layout *layout,
                                                    void *const *sources, double *outputs);

/* --- the run ---------------------------------------------------------------------------------- */

typedef struct norma_stack_run {
    const norma_reconstruct_inputs *inputs; /* borrowed */
    norma_stack_layout layout;
    norma_job_context *job; /* borrowed */
    norma_queue *queue;     /* owned */
} norma_stack_run;

/* Draws, solves, opens and runs a replica of a cell. NORMA_STOPPED when the run stops: the replica
 * is left and must be computed anew. Collective over the group of the queue. */
NORMA_MUST_USE norma_status norma_stack_measure(const norma_stack_run *run, int64_t cell,
                                                int64_t replica, norma_stack_record *record);

/* Sizes of all cells. Local. */
NORMA_MUST_USE norma_status norma_stack_layout_init(const norma_config *config,
                                                    const norma_reconstruct_inputs *inputs,
                                                    const norma_stack_kind *kind,
                                                    norma_stack_layout *layout);

/* Ranks that compute a replica together: --group-size, else `recorded`, the number of an earlier
 * run (0: none), else one where no layer is large, and otherwise as many as there are for each
 * replica, or as its memory needs. Local, equal on all ranks. */
NORMA_MUST_USE norma_status norma_stack_choose_group(const norma_job_context *job,
                                                     const norma_reconstruct_inputs *inputs,
                                                     const norma_stack_kind *kind, int64_t recorded,
                                                     int64_t *out);

/* Refuses cells that do not fit; with print a line for each. Local, equal on all ranks. */
NORMA_MUST_USE norma_status norma_stack_plan(norma_job_context *job,
                                             const norma_reconstruct_inputs *inputs,
                                             const norma_stack_kind *kind, bool print);

/* Opens the result, computes everything that the checkpoint does not hold, and writes it.
 * NORMA_STOPPED as norma_queue_run. Collective. */
NORMA_MUST_USE norma_status norma_stack_compute(norma_job_context *job,
                                                const norma_reconstruct_inputs *inputs,
                                                const norma_stack_kind *kind);

/* Dimensions and variables of the open file, and its begin. Collective. */
NORMA_MUST_USE norma_status norma_stack_output_begin(const norma_stack_run *run);

/* A replica's record, by this rank. Local. */
NORMA_MUST_USE norma_status norma_stack_output_write_local(const norma_stack_run *run, int64_t cell,
                                                           int64_t replica,
                                                           const norma_stack_record *record);

/* Bytes of the file, roughly from above. Local. */
int64_t norma_stack_output_bytes(const norma_stack_layout *layout);

/* norma evaluate: runs the stored scales and shifts of all cells and replicas again, and prints
 * the comparisons. Collective over the runtime's world. */
NORMA_MUST_USE norma_status norma_stack_evaluate(MPI_Comm world, const norma_config *config,
                                                 const norma_reconstruct_inputs *inputs,
                                                 const norma_stack_kind *kind,
                                                 norma_result_reader *reader, const char *path);

#endif
