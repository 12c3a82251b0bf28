/*
 * norma evaluate RESULT.h5: does the stored source network still compute its target?
 *
 * Rebuilds the frozen weights from the stored configuration (seed, distribution), takes the affine
 * maps gamma and beta as they are in the file, runs source and target on images and compares them
 * again: nothing is solved. Changed maps give changed outputs. With --output the outputs of both
 * networks are written, for comparisons with other programs.
 *     norma evaluate result.h5 --samples 100
 */
#include "experiments/driver.h"
#include "experiments/reconstruct/construct/construction.h"
#include "experiments/reconstruct/construct/teacher.h"
#include "experiments/reconstruct/evaluate/outputs.h"
#include "experiments/reconstruct/options.h"
#include "experiments/reconstruct/setup.h"
#include "io/config/config_read.h"
#include "io/input/dataset.h"
#include "io/result/result_read.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"
#include "src/base/mem.h"

#include <stdio.h>
#include <string.h>

static const norma_option options[] = {
    {.name = "file",
     .type = NORMA_OPTION_PATH,
     .positional = true,
     .required = true,
     .command_line_only = true,
     .help = "A result of norma reconstruct that holds its affine maps."},
    {.name = "target",
     .type = NORMA_OPTION_PATH,
     .group = "Data",
     .placeholder = "FILE[:PATH]",
     .unset_text = "as in the file",
     .help = "The target network, where its file has moved; it must be the same."},
    {.name = "dataset",
     .type = NORMA_OPTION_STRING,
     .group = "Data",
     .placeholder = "NAME|FILE|FOLDER",
     .unset_text = "as in the file",
     .names = &norma_dataset_names,
     .help = "Images for the comparison, as reconstruct takes them."},
    {.name = "samples",
     .type = NORMA_OPTION_INTEGER,
     .group = "Data",
     .unset_text = "as in the file",
     .unit = "images",
     .min = NORMA_AT_LEAST(1),
     .max = NORMA_AT_MOST(1e9),
     .help = "The first N test images."},
    {.name = "output",
     .type = NORMA_OPTION_PATH,
     .group = "Output",
     .command_line_only = true,
     .placeholder = "FILE.h5",
     .unset_text = "no file",
     .help = "Write the outputs of target and source for every image to this file (HDF5)."},
    {.name = "force",
     .type = NORMA_OPTION_FLAG,
     .group = "Output",
     .command_line_only = true,
     .help = "Overwrite an existing file of outputs."},
    NORMA_OPTION_END,
};

static const norma_option *const tables[] = {options, NULL};

static const norma_command command = {
    .name = "evaluate",
    .description = "Runs the source network of a result file, with the affine maps stored there, "
                   "and its target on images, and compares them. Solves nothing.",
    .tables = tables,
};

typedef struct evaluation {
    const norma_call *call;
    norma_config *config; /* of this command */
    norma_config *stored; /* of the reconstruction */
    norma_result_reader *reader;
    norma_reconstruct_inputs inputs;
    norma_reconstruct_cell cell;
    norma_reconstruct_outputs outputs; /* with --output */
} evaluation;

/* The configuration in the file, with the data set and samples asked for here. */
static norma_status read_stored(evaluation *e)
{
    MPI_Comm world = e->call->runtime->world;
    char *text = NULL;
    char samples[32];
    char *arguments[6];
    char target_flag[] = "--target";
    char *target = NULL;
    char samples_flag[] = "--samples";
    char dataset_flag[] = "--dataset";
    char *dataset = NULL;
    int n = 0;
    norma_status status = norma_result_reader_text(e->reader, "/configuration", &text);
    if (status != NORMA_OK)
        return status;
    if (norma_config_has(e->config, "samples")) {
        snprintf(samples, sizeof samples, "%lld",
                 (long long)norma_config_get_integer(e->config, 0, "samples"));
        arguments[n++] = samples_flag;
        arguments[n++] = samples;
    }
    if (norma_config_has(e->config, "dataset")) {
        dataset = norma_mem_strdup(norma_config_get_text(e->config, 0, "dataset"));
        status = dataset ? NORMA_OK : NORMA_MEMORY;
        arguments[n++] = dataset_flag;
        arguments[n++] = dataset;
    }
    if (status == NORMA_OK && norma_config_has(e->config, "target")) {
        target = norma_mem_strdup(norma_config_get_text(e->config, 0, "target"));
        status = target ? NORMA_OK : NORMA_MEMORY;
        arguments[n++] = target_flag;
        arguments[n++] = target;
    }
    if (status == NORMA_OK)
        status = norma_config_parse(&norma_reconstruct_command, n, arguments, &e->stored);
    if (status == NORMA_OK)
        status = norma_config_apply(e->stored, e->call->sections,
                                    norma_config_get_text(e->config, 0, "file"), text,
                                    (int64_t)strlen(text));
    if (status == NORMA_OK)
        status = norma_config_settle(e->stored);
    status = norma_agree(world, status);
    norma_mem_free(target);
    norma_mem_free(dataset);
    norma_mem_free(text);
    return status;
}

/* The affine maps of a layer from the file. */
static norma_status read_maps(evaluation *e, const char *group, int64_t number, int64_t replica)
{
    static const char *const names[] = {"gamma1", "beta1", "gamma2", "beta2", "linear_region"};
    norma_reconstruct_layer *layer = &e->cell.layers[number];
    norma_maps_destroy(&layer->maps);
    norma_status status =
        norma_maps_allocate(layer->n_features, layer->source_shape.n_channels_out, &layer->maps);
    NORMA_TRY(norma_agree(e->call->runtime->world, status));
    norma_maps *maps = layer->maps;
    double region[2] = {0, 0};
    double *const rows[] = {maps->gamma1, maps->beta1, maps->gamma2, maps->beta2, region};
    const int64_t lengths[] = {maps->n_features, maps->n_features, maps->n_channels_out,
                               maps->n_channels_out, 2};
    for (int k = 0; k < 5; k++) {
        char path[96];
        snprintf(path, sizeof path, "%s/%s", group, names[k]);
        NORMA_TRY(norma_result_reader_row(e->reader, path, replica, lengths[k], rows[k]));
    }
    maps->region.low = region[0];
    maps->region.high = region[1];
    return NORMA_OK;
}

static void print_result(int64_t cell, int64_t replica, const norma_evaluate_result *r)
{
    norma_log_result("%5lld %7lld %7lld %9lld %16.8e %12.4e %15.4f %15.4f %9lld %8.2f %8.2f",
                     (long long)cell, (long long)replica, (long long)r->n_images,
                     (long long)r->n_decisions_differing, r->output_max_error, r->output_rmse,
                     r->accuracy_source, r->accuracy_target, (long long)r->n_clipped, r->seconds,
                     1e-9 * r->n_flops / r->seconds);
}

static norma_status evaluate_replica(evaluation *e, const char *root, int64_t replica)
{
    MPI_Comm world = e->call->runtime->world;
    norma_source_layer *sources = NULL;
    norma_evaluate *evaluate = NULL;
    norma_evaluate_result result;
    norma_status status = norma_agree(world, NORMA_CALLOC(sources, e->cell.n_layers));
    if (status != NORMA_OK)
        return status;
    for (int64_t i = 0; i < e->cell.n_layers; i++) {
        char group[64];
        if (!e->cell.layers[i].wanted)
            continue;
        snprintf(group, sizeof group, "%s/layers/%03lld", root, (long long)i);
        status = norma_reconstruct_pair_init(&e->cell, &e->inputs, i, replica);
        NORMA_GOTO(status, norma_agree(world, status));
        NORMA_GOTO(status, read_maps(e, group, i, replica));
        sources[i] = norma_reconstruct_source_layer(&e->cell, i);
    }
    NORMA_GOTO(status,
               norma_reconstruct_construction_evaluate(world, &e->cell, &e->inputs, &evaluate));
    if (norma_config_has(e->config, "output") && replica == 0)
        NORMA_GOTO(status, norma_reconstruct_outputs_open(e->call, e->config, e->stored,
                                                          e->cell.network, evaluate, &e->outputs));
    norma_evaluate_store_outputs_local(evaluate, e->outputs.target, e->outputs.source);
    NORMA_GOTO(status, norma_evaluate_run(evaluate, sources, &result));
    if (e->outputs.file)
        NORMA_GOTO(status, norma_reconstruct_outputs_write(&e->outputs, replica));
    print_result(e->cell.number, replica, &result);
done:
    norma_evaluate_destroy(&evaluate);
    NORMA_FREE(sources);
    return status;
}

static norma_status evaluate_cell(evaluation *e, int64_t number)
{
    MPI_Comm world = e->call->runtime->world;
    char root[32] = "";
    char first[64];
    bool there = false;
    if (!norma_config_is_single(e->stored))
        snprintf(root, sizeof root, "/cells/%06lld",
                 (long long)norma_config_get_cell_number(e->stored, number));
    norma_status status =
        norma_reconstruct_cell_init(e->stored, &e->inputs, number, false, &e->cell);
    NORMA_GOTO(status, norma_agree(world, status));
    int64_t layer = 0;
    while (!e->cell.layers[layer].wanted)
        layer++;
    snprintf(first, sizeof first, "%s/layers/%03lld/gamma1", root, (long long)layer);
    NORMA_GOTO(status, norma_result_reader_has(e->reader, first, &there));
    if (!there)
        status = NORMA_FAIL(NORMA_CONFIG,
                            "%s: no affine maps in the file (%s): reconstruct with --save gamma",
                            norma_config_get_text(e->config, 0, "file"), first);
    NORMA_GOTO(status, norma_agree(world, status));
    for (int64_t r = 0; r < norma_config_get_integer(e->stored, 0, "replicas"); r++)
        NORMA_GOTO(status, evaluate_replica(e, root, r));
done:
    norma_reconstruct_cell_clear(&e->cell);
    return status;
}

/* The target file must be the one that was reconstructed: another would look like a failure. */
static norma_status check_target(evaluation *e)
{
    char digest[NORMA_RECONSTRUCT_DIGEST];
    char *stored = NULL;
    bool there = false;
    NORMA_TRY(norma_result_reader_has(e->reader, NORMA_RECONSTRUCT_DIGEST_NAME, &there));
    if (!there)
        return NORMA_OK;
    NORMA_TRY(norma_result_reader_text(e->reader, NORMA_RECONSTRUCT_DIGEST_NAME, &stored));
    norma_reconstruct_digest(&e->inputs, digest);
    norma_status status = NORMA_OK;
    if (strcmp(digest, stored) != 0)
        status = NORMA_FAIL(NORMA_CONFIG, "%s has changed since %s was made from it",
                            norma_config_get_text(e->stored, 0, "target"),
                            norma_config_get_text(e->config, 0, "file"));
    norma_mem_free(stored);
    return norma_agree(e->call->runtime->world, status);
}

/* The result names target and data set as they were named from the folder of that run. */
static norma_status read_inputs(evaluation *e)
{
    norma_status status = norma_reconstruct_inputs_read(e->call->runtime, e->stored, &e->inputs);
    const char *option = !e->inputs.target ? "target" : !e->inputs.dataset ? "dataset" : "source";
    if (status != NORMA_OK && !norma_reconstruct_teacher_wanted(e->stored) &&
        strcmp(option, "source") != 0 && !norma_config_has(e->config, option))
        return norma_status_context(
            status, "what this result names is not found from here; give --%s: ", option);
    return status;
}

static norma_status evaluate_file(evaluation *e)
{
    const norma_runtime *runtime = e->call->runtime;
    const char *path = norma_config_get_text(e->config, 0, "file");
    norma_status status = NORMA_OK;
    NORMA_GOTO(status, norma_result_reader_open(runtime->world, path, &e->reader));
    NORMA_GOTO(status, read_stored(e));
    const norma_stack_kind *stack = norma_reconstruct_stack_kind(e->stored);
    bool teacher = norma_reconstruct_teacher_wanted(e->stored);
    if (teacher &&
        (norma_config_has(e->config, "target") || norma_config_has(e->config, "dataset")))
        status = NORMA_FAIL(NORMA_USAGE,
                            "%s has a teacher and inputs that are drawn: of the data "
                            "options only --samples has a meaning",
                            path);
    else if (!teacher && !stack && !norma_config_has(e->stored, "dataset"))
        status = NORMA_FAIL(NORMA_USAGE, "%s was made without images: give --dataset", path);
    else if (!teacher && (!stack || norma_config_has(e->stored, "dataset")) &&
             !norma_config_has(e->stored, "target"))
        status =
            NORMA_FAIL(NORMA_CONFIG, "%s has a random target layer, which no images fit", path);
    NORMA_GOTO(status, norma_agree(runtime->world, status));
    NORMA_GOTO(status, norma_reconstruct_outputs_check(runtime, e->config, e->stored));
    NORMA_GOTO(status, read_inputs(e));
    NORMA_GOTO(status, check_target(e));
    if (stack) {
        status =
            norma_stack_evaluate(runtime->world, e->stored, &e->inputs, stack, e->reader, path);
        goto done;
    }
    norma_log_result("#cell replica  images differing output_max_error  output_rmse "
                     "accuracy_source accuracy_target n_clipped  seconds  GFLOP/s");
    for (int64_t i = 0; i < norma_config_get_sweep(e->stored)->n_cells; i++)
        NORMA_GOTO(status, evaluate_cell(e, i));
done:
    status = norma_reconstruct_outputs_close(&e->outputs, status);
    norma_reconstruct_inputs_clear(&e->inputs);
    norma_config_destroy(&e->stored);
    norma_result_reader_close(&e->reader);
    return status;
}

static norma_status run(const norma_call *call)
{
    evaluation e = {.call = call};
    norma_status status = norma_config_read(call->runtime->world, &command, call->sections,
                                            call->n_arguments, call->arguments, &e.config);
    if (status == NORMA_OK) {
        norma_runtime_report_local(call->runtime);
        norma_runtime_announce_local(call->runtime);
        status = evaluate_file(&e);
    }
    norma_config_destroy(&e.config);
    return status;
}

const norma_driver norma_driver_evaluate = {.command = &command, .computes = true, .run = run};
