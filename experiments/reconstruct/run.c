#include "experiments/reconstruct/run.h"

#include "experiments/reconstruct/construct/layer_values.h"
#include "experiments/reconstruct/construct/systems.h"
#include "experiments/reconstruct/solver.h"
#include "experiments/reconstruct/statistics.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"
#include "src/base/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* The process grid of the last layer that is reconstructed. */
static norma_status describe_grid(const norma_reconstruct_cell *first, int group_size, char *text,
                                  size_t length)
{
    norma_layer_estimate estimate;
    int64_t last = first->n_layers - 1;
    while (!first->layers[last].wanted)
        last--;
    norma_solver_options options = norma_reconstruct_solver_options(first, 0);
    NORMA_TRY(norma_reconstruct_systems_estimate(first, last, &options, group_size, &estimate));
    snprintf(text, length, "%d x %d, %d idle", estimate.grid_rows, estimate.grid_columns,
             estimate.n_idle);
    return NORMA_OK;
}

norma_status norma_reconstruct_run_open(norma_reconstruct_run *run, norma_job_context *job)
{
    const norma_runtime *runtime = job->runtime;
    norma_reconstruct_cell first;
    int group_size = (int)norma_job_group_size(job);
    char grid[96] = "";
    char title[256];
    run->machine = job->machine;
    norma_status status = norma_reconstruct_cell_init(job->config, &run->inputs, 0, true, &first);
    if (status == NORMA_OK)
        status = describe_grid(&first, group_size, grid, sizeof grid);
    NORMA_GOTO(status, norma_agree(runtime->world, status));
    norma_log_info("process grid %s", grid);
    if (group_size < runtime->size)
        norma_log_info("%d groups of %d ranks, %d ranks in none", runtime->size / group_size,
                       group_size, runtime->size % group_size);
    snprintf(title, sizeof title, "Reconstruction of %s",
             run->inputs.target ? norma_config_get_text(job->config, 0, "target")
                                : "a random layer");
    const norma_job_file about = {
        .title = title,
        .process_grid = grid,
        .configuration = job->settings,
        .bytes = norma_reconstruct_output_bytes(job->config, &run->inputs, &first)};
    NORMA_GOTO(status, norma_job_open(job, &about));
    NORMA_GOTO(status, norma_result_set_int64(job->file, "/", "group_size", group_size));
    status = norma_reconstruct_output_layout(&run->output, runtime, job->config, &run->inputs,
                                             &first, job->file);
done:
    norma_reconstruct_cell_clear(&first);
    return status;
}

/* More digits lost get a warning. */
static const double most_digits_lost = 10;

void norma_reconstruct_print_heading(void)
{
    norma_log_result(
        "#cell replica layer    c2    c0      n_rows        c1       solver iterations "
        "     rmse rmse/floor  max_error condition max_gamma  seconds   GFLOP/s");
}

void norma_reconstruct_print_row(int64_t cell, int64_t replica, int64_t layer,
                                 const norma_reconstruct_row *r)
{
    norma_log_result("%5lld %7lld %5lld %5.0f %5.0f %11.0f %9.0f %12s %10.0f %9.2e %10.3g %10.2e "
                     "%9.2e %9.2e %8.2f %9.2f",
                     (long long)cell, (long long)replica, (long long)layer, r->c2, r->c0, r->n_rows,
                     r->n_features, norma_solver_name((norma_solver)r->solver), r->iterations,
                     r->rmse, r->floor > 0 ? r->rmse / r->floor : 0.0, r->max_error,
                     r->condition_number, r->max_abs_gamma, r->seconds, r->gflops);
    if (r->digits_lost > most_digits_lost)
        norma_log_news("warning: layer %lld: the shift into the linear region costs more than %g "
                       "of the 16 digits of its outputs (digits_lost in the result): narrower "
                       "bounds, as of --bound data or a smaller input range, cost fewer",
                       (long long)layer, most_digits_lost);
}

norma_reconstruct_row norma_reconstruct_row_of(const norma_reconstruct_layer *layer,
                                               const norma_layer_solution *s)
{
    return (norma_reconstruct_row){
        .c2 = (double)layer->source_shape.n_channels_out,
        .c0 = (double)layer->source_shape.n_channels_in,
        .n_rows = (double)s->n_rows,
        .n_features = (double)s->n_features,
        .solver = (double)s->solver,
        .iterations = (double)s->iterations,
        .rmse = s->rmse,
        .floor = s->floor,
        .max_error = s->max_error,
        .condition_number = s->condition_number,
        .max_abs_gamma = s->max_abs_gamma,
        .seconds = s->seconds,
        .gflops = s->gflops,
        .digits_lost = norma_reconstruct_layer_extra_of(layer).digits_lost,
    };
}

/* Bounds of the pre-activations, then the affine maps that stay inside the linear region. */
static norma_status make_maps(MPI_Comm comm, const norma_reconstruct_cell *cell,
                              norma_evaluate *evaluate, int64_t number,
                              const norma_layer_solution *solution)
{
    norma_reconstruct_layer *layer = &cell->layers[number];
    double *lo = NULL;
    double *hi = NULL;
    norma_status status = NORMA_ALLOC(lo, layer->n_features);
    if (status == NORMA_OK)
        status = NORMA_ALLOC(hi, layer->n_features);
    NORMA_GOTO(status, norma_agree(comm, status));

    NORMA_GOTO(status, norma_evaluate_bounds(evaluate, number, &layer->source_shape, layer->w1,
                                             cell->bound, lo, hi));
    norma_bounds_scale(layer->n_features, solution->gamma1, lo, hi, cell->accuracy.roundoff, lo,
                       hi);
    norma_maps_destroy(&layer->maps);
    status = norma_maps_create(&layer->source_shape, layer->w2, &layer->activation, &cell->accuracy,
                               solution->gamma1, lo, hi, solution->gamma2,
                               cell->network->layers[number].bias, &layer->maps);
    status = norma_agree(comm, status);
done:
    NORMA_FREE(hi);
    NORMA_FREE(lo);
    return status;
}

norma_status norma_reconstruct_run_write(const norma_reconstruct_writer *writer,
                                         const norma_reconstruct_cell *cell, int64_t replica,
                                         int64_t number, const norma_reconstruct_record *record)
{
    NORMA_TRY(norma_reconstruct_output_layer(writer, cell->number, replica, number,
                                             &record->solution, &record->extra,
                                             &record->structure));
    return norma_reconstruct_output_arrays(writer, cell, replica, number);
}

/* Before the solution: is it possible with the zeros of this draw? */
static norma_status examine(norma_reconstruct_run *run, const norma_team *team,
                            const norma_reconstruct_cell *cell, int64_t replica, int64_t number,
                            norma_reconstruct_structure *structure)
{
    char text[NORMA_RECONSTRUCT_STRUCTURE_TEXT];
    if (!run->output.with_structure)
        return NORMA_OK;
    NORMA_TRY(norma_reconstruct_structure_measure(
        team, cell, number, norma_reconstruct_memory_per_rank(&run->machine), structure));
    if (norma_reconstruct_structure_is_short(structure))
        norma_log_warning("cell %lld, replica %lld, layer %lld: %s", (long long)cell->number,
                          (long long)replica, (long long)number,
                          norma_reconstruct_structure_describe(structure, text));
    return NORMA_OK;
}

/* A failure that the structure explains. */
static norma_status explain(norma_status status, const norma_reconstruct_structure *structure)
{
    char text[NORMA_RECONSTRUCT_STRUCTURE_TEXT];
    if (status != NORMA_NUMERIC || !norma_reconstruct_structure_is_short(structure))
        return status;
    return norma_status_context(status,
                                "%s: ", norma_reconstruct_structure_describe(structure, text));
}

norma_status norma_reconstruct_run_layer(norma_reconstruct_run *run,
                                         const norma_reconstruct_writer *writer,
                                         norma_reconstruct_cell *cell, norma_evaluate *evaluate,
                                         int64_t replica, int64_t number,
                                         norma_reconstruct_record *record)
{
    MPI_Comm comm = writer->team->group;
    norma_layer_solution solution;
    norma_solver_options options =
        norma_reconstruct_solver_options(cell, norma_reconstruct_memory_per_rank(&run->machine));
    norma_status status = NORMA_OK;
    memset(&solution, 0, sizeof solution);

    status = norma_reconstruct_pair_init(cell, &run->inputs, number, replica);
    NORMA_GOTO(status, norma_agree(comm, status));
    NORMA_GOTO(status, examine(run, writer->team, cell, replica, number, &record->structure));
    status = norma_reconstruct_systems_solve(comm, cell, number, &options, &solution);
    NORMA_GOTO(status, explain(status, &record->structure));
    NORMA_GOTO(status, make_maps(comm, cell, evaluate, number, &solution));

    if (run->output.save_gamma)
        NORMA_GOTO(status, norma_reconstruct_statistics_fill(comm, cell, &run->inputs, evaluate,
                                                             number, &solution));

    if (run->output.save_values)
        NORMA_GOTO(status, norma_reconstruct_values_measure(writer->team, cell, number));

    record->solution = solution;
    record->solution.gamma1 = record->solution.gamma2 = record->solution.kernel = NULL;
    record->extra = norma_reconstruct_layer_extra_of(&cell->layers[number]);
    status = norma_reconstruct_run_write(writer, cell, replica, number, record);
done:
    norma_layer_solution_clear(&solution);
    return norma_status_context(status, "layer %lld: ", (long long)number);
}

norma_status norma_reconstruct_run_compare(const norma_reconstruct_writer *writer,
                                           const norma_reconstruct_cell *cell,
                                           norma_evaluate *evaluate, int64_t replica,
                                           norma_evaluate_result *result)
{
    norma_source_layer *sources = NULL;
    double loss_student = NAN;
    norma_status status = norma_team_agree(writer->team, NORMA_CALLOC(sources, cell->n_layers));
    if (status != NORMA_OK)
        return status;
    if (cell->student) { /* sources without weights: the student's own layers run */
        norma_evaluate_result dense;
        NORMA_GOTO(status, norma_evaluate_run(evaluate, sources, &dense));
        loss_student = dense.mean_square;
    }
    for (int64_t i = 0; i < cell->n_layers; i++)
        if (cell->layers[i].wanted)
            sources[i] = norma_reconstruct_source_layer(cell, i);
    NORMA_GOTO(status, norma_evaluate_run(evaluate, sources, result));
    result->mean_square_targets = loss_student;
    status = norma_reconstruct_output_evaluation(writer, cell->number, replica, result);
done:
    NORMA_FREE(sources);
    return status;
}

void norma_reconstruct_print_comparison(const norma_evaluate_result *result, bool exact,
                                        bool teacher)
{
    const char *verdict = exact ? ": exact" : ": every layer within its epsilon";
    if (teacher)
        norma_log_result("# %lld inputs: loss %.3e, largest output difference %.3e",
                         (long long)result->n_images, result->mean_square,
                         result->output_max_error);
    else
        norma_log_result(
            "# %lld images: %lld decisions differ, largest output difference %.3e, RMS "
            "%.3e, accuracy source %.4f target %.4f",
            (long long)result->n_images, (long long)result->n_decisions_differing,
            result->output_max_error, result->output_rmse, result->accuracy_source,
            result->accuracy_target);
    norma_log_result("# source network: %.3e flops in %.2f s, %.1f GFLOP/s; %lld pre-activations "
                     "clipped%s",
                     result->n_flops, result->seconds, 1e-9 * result->n_flops / result->seconds,
                     (long long)result->n_clipped, result->n_clipped == 0 ? verdict : "");
}
