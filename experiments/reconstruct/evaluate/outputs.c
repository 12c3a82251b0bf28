#include "experiments/reconstruct/evaluate/outputs.h"

#include "experiments/reconstruct/construct/construction.h"
#include "experiments/reconstruct/construct/teacher.h"
#include "io/result/provenance.h"
#include "mpi/runtime/agree.h"
#include "src/base/mem.h"

#include <stdio.h>

static norma_result_options options_of(const norma_config *config)
{
    return (norma_result_options){.force = norma_config_get_flag(config, "force")};
}

norma_status norma_reconstruct_outputs_check(const norma_runtime *runtime,
                                             const norma_config *config, const norma_config *stored)
{
    norma_result_options options = options_of(config);
    if (!norma_config_has(config, "output"))
        return NORMA_OK;
    const char *why = NULL;
    if (!norma_config_is_single(stored))
        why = "the result holds the cells of a sweep";
    else if (norma_reconstruct_stack_kind(stored))
        why = "the result holds stacks (--construction skip or deep)";
    else if (norma_reconstruct_teacher_wanted(stored))
        why = "the result has a teacher, drawn anew for every replica";
    if (why)
        return norma_agree(runtime->world,
                           NORMA_FAIL(NORMA_USAGE,
                                      "%s: %s; outputs are written of a single network only",
                                      norma_config_where(config, "output"), why));
    return norma_result_check(runtime->world, norma_config_get_text(config, 0, "output"), &options);
}

/* Axes and variables. */
static norma_status lay_out(norma_reconstruct_outputs *outputs, int64_t n_replicas,
                            int64_t n_images)
{
    NORMA_TRY(norma_schema_add_axis(outputs->file, "/", "replica", n_replicas,
                                    "independent draw of the source weights"));
    NORMA_TRY(norma_schema_add_axis(outputs->file, "/", "image", n_images,
                                    "image of the data set, in its order"));
    NORMA_TRY(norma_schema_add_axis(outputs->file, "/", "output", outputs->n_outputs,
                                    "output of the networks"));
    NORMA_TRY(
        norma_schema_add_variable(outputs->file, "/",
                                  &(norma_variable){.name = "outputs_target",
                                                    .type = NORMA_FLOAT64,
                                                    .dimensions = {"image", "output"},
                                                    .units = "1",
                                                    .long_name = "outputs of the target network"}));
    NORMA_TRY(
        norma_schema_add_variable(outputs->file, "/",
                                  &(norma_variable){.name = "outputs_source",
                                                    .type = NORMA_FLOAT64,
                                                    .dimensions = {"replica", "image", "output"},
                                                    .units = "1",
                                                    .long_name = "outputs of the source network"}));
    return norma_result_begin(outputs->file);
}

norma_status norma_reconstruct_outputs_open(const norma_call *call, const norma_config *config,
                                            const norma_config *stored,
                                            const norma_network *network,
                                            const norma_evaluate *evaluate,
                                            norma_reconstruct_outputs *outputs)
{
    MPI_Comm world = call->runtime->world;
    norma_result_options options = options_of(config);
    char title[256];
    char *text = NULL;
    int64_t n_images = norma_evaluate_share_local(evaluate, &outputs->first, &outputs->n_local);
    outputs->runtime = call->runtime;
    outputs->n_outputs = norma_shape_size(network->layers[network->n_layers - 1].output);
    (void)snprintf(title, sizeof title, "Outputs of %s and of its target",
                   norma_config_get_text(config, 0, "file"));
    norma_status status = NORMA_ALLOC(outputs->target, outputs->n_local * outputs->n_outputs);
    if (status == NORMA_OK)
        status = NORMA_ALLOC(outputs->source, outputs->n_local * outputs->n_outputs);
    if (status == NORMA_OK)
        status = norma_config_write(config, &text);
    NORMA_GOTO(status, norma_agree(world, status));
    NORMA_GOTO(status, norma_result_create(world, norma_config_get_text(config, 0, "output"),
                                           &options, &outputs->file));
    norma_provenance provenance = {.title = title,
                                   .argc = call->argc,
                                   .argv = call->argv,
                                   .seed = norma_config_get_seed(stored, 0, "seed"),
                                   .process_grid = "each rank its own images",
                                   .configuration = text};
    NORMA_GOTO(status, norma_provenance_write(outputs->file, call->runtime, &provenance));
    status = lay_out(outputs, norma_config_get_integer(stored, 0, "replicas"), n_images);
done:
    norma_mem_free(text);
    return status;
}

norma_status norma_reconstruct_outputs_write(norma_reconstruct_outputs *outputs, int64_t replica)
{
    const int64_t start[] = {replica, outputs->first, 0};
    const int64_t count[] = {outputs->n_local > 0, outputs->n_local, outputs->n_outputs};
    if (replica == 0)
        NORMA_TRY(norma_result_write(outputs->file, "/outputs_target", NORMA_FLOAT64, start + 1,
                                     count + 1, outputs->target));
    return norma_result_write(outputs->file, "/outputs_source", NORMA_FLOAT64, start, count,
                              outputs->source);
}

norma_status norma_reconstruct_outputs_close(norma_reconstruct_outputs *outputs,
                                             norma_status status)
{
    if (status == NORMA_OK && outputs->file)
        status = norma_result_close(&outputs->file, NORMA_RESULT_COMPLETE);
    norma_result_abandon(&outputs->file);
    NORMA_FREE(outputs->target);
    NORMA_FREE(outputs->source);
    return status;
}
