#ifndef NORMA_EXPERIMENTS_RECONSTRUCT_RUN_H
#define NORMA_EXPERIMENTS_RECONSTRUCT_RUN_H
/* The steps of a reconstruction: a layer solved, a network compared, a line of the table. */
#include "experiments/job/job.h"
#include "experiments/reconstruct/construct/structure.h"
#include "experiments/reconstruct/output.h"
#include "experiments/reconstruct/plan.h"
#include "experiments/reconstruct/setup.h"

typedef struct norma_reconstruct_run {
    const norma_runtime *runtime; /* borrowed, as is the next */
    const norma_config *config;
    norma_reconstruct_inputs inputs;
    norma_plan_machine machine;
    norma_reconstruct_groups groups;
    norma_reconstruct_output output;
} norma_reconstruct_run;

/* A row of the table, one layer, in numbers that can be sent. */
typedef struct norma_reconstruct_row {
    double c2, c0, n_rows, n_features, solver, iterations, rmse, floor, max_error, condition_number,
        max_abs_gamma, seconds, gflops, digits_lost;
} norma_reconstruct_row;

/* A solved layer without its arrays. */
typedef struct norma_reconstruct_record {
    norma_layer_solution solution; /* its arrays NULL */
    norma_reconstruct_layer_extra extra;
    norma_reconstruct_structure structure; /* where output.with_structure */
} norma_reconstruct_record;

/* Opens and lays out the result, and prints how ranks share a layer. Collective. */
NORMA_MUST_USE norma_status norma_reconstruct_run_open(norma_reconstruct_run *run,
                                                       norma_job_context *job);

void norma_reconstruct_print_heading(void);

norma_reconstruct_row norma_reconstruct_row_of(const norma_reconstruct_layer *layer,
                                               const norma_layer_solution *solution);
void norma_reconstruct_print_row(int64_t cell, int64_t replica, int64_t layer,
                                 const norma_reconstruct_row *row);

/* Solves a layer of a cell for a replica, shifts it into the activation's linear region and writes
 * it; the layer's maps and statistics stay with the cell. Collective over the writer's team, whose
 * communicator `evaluate` was made for. */
NORMA_MUST_USE norma_status norma_reconstruct_run_layer(norma_reconstruct_run *run,
                                                        const norma_reconstruct_writer *writer,
                                                        norma_reconstruct_cell *cell,
                                                        norma_evaluate *evaluate, int64_t replica,
                                                        int64_t number,
                                                        norma_reconstruct_record *record);

/* Writes a solved layer of a cell, as norma_reconstruct_run_layer does. Collective over the
 * writer's team. */
NORMA_MUST_USE norma_status norma_reconstruct_run_write(const norma_reconstruct_writer *writer,
                                                        const norma_reconstruct_cell *cell,
                                                        int64_t replica, int64_t number,
                                                        const norma_reconstruct_record *record);

/* Runs the cell's source network and its target on all images and writes the comparison. Collective
 * over the writer's team, whose ranks `evaluate` was made for. */
NORMA_MUST_USE norma_status norma_reconstruct_run_compare(const norma_reconstruct_writer *writer,
                                                          const norma_reconstruct_cell *cell,
                                                          norma_evaluate *evaluate, int64_t replica,
                                                          norma_evaluate_result *result);

/* Two lines about a comparison; exact: no activation is only nearly linear; teacher: the loss. */
void norma_reconstruct_print_comparison(const norma_evaluate_result *result, bool exact,
                                        bool teacher);

#endif
