/* The files of a reconstruction, read once. */
#include "experiments/reconstruct/construct/construction.h"
#include "experiments/reconstruct/construct/layers.h"
#include "experiments/reconstruct/construct/teacher.h"
#include "experiments/reconstruct/samples.h"
#include "experiments/reconstruct/setup.h"
#include "experiments/reconstruct/skip.h"
#include "mpi/runtime/agree.h"
#include "src/base/mem.h"
#include "src/construct/teacher.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* Weights of sources and skips for the layers of a network that are reconstructed. */
static norma_status read_weights(const norma_runtime *runtime, const norma_config *config,
                                 const norma_network *network, norma_reconstruct_inputs *inputs)
{
    bool statistics = norma_config_get_choice(config, 0, "bn-statistics") == NORMA_STATISTICS_FILE;
    bool *needed = NULL;
    norma_status status = NORMA_CALLOC(needed, network->n_layers);
    NORMA_GOTO(status, norma_agree(runtime->world, status));
    for (int64_t l = 0; l < network->n_layers; l++)
        needed[l] = norma_reconstruct_layers_take(config, network, l);
    if (norma_config_has(config, "source")) {
        status = norma_source_read(runtime->world, norma_config_get_text(config, 0, "source"),
                                   network, needed, norma_reconstruct_skip_is_used(config),
                                   statistics, &inputs->source);
        NORMA_GOTO(status,
                   norma_status_context(status, "%s: ", norma_config_where(config, "source")));
    }
    status = norma_reconstruct_skip_read(runtime, config, network, needed, inputs);
done:
    NORMA_FREE(needed);
    return status;
}

/* Names the option whose file the failure is about. */
static norma_status blame(const norma_config *config, const char *option, norma_status status)
{
    return norma_status_context(status, "%s: ", norma_config_where(config, option));
}

/* --input-range: two numbers, for a target that declares none or the same. */
static norma_status declare_range(const norma_config *config, norma_target *target)
{
    const char *where = norma_config_where(config, "input-range");
    const norma_network *network = norma_target_network_local(target);
    bool declared = false;
    if (norma_config_get_count(config, "input-range") != 2)
        return NORMA_FAIL(norma_config_blame(config, "input-range"),
                          "%s: two numbers are expected, MIN,MAX", where);
    double min = norma_config_get_real(config, 0, "input-range");
    double max = norma_config_get_real(config, 1, "input-range");
    if (!(min <= max))
        return NORMA_FAIL(norma_config_blame(config, "input-range"),
                          "%s: the first number, %g, is larger than the second, %g", where, min,
                          max);
    norma_target_declare_range_local(target, min, max, &declared);
    if (!declared)
        return NORMA_FAIL(norma_config_blame(config, "input-range"),
                          "%s: %g to %g, but the target declares %g to %g", where, min, max,
                          network->input_min, network->input_max);
    return NORMA_OK;
}

static norma_status read_target(const norma_runtime *runtime, const norma_config *config,
                                norma_reconstruct_inputs *inputs)
{
    norma_status status = norma_target_read(
        runtime->world, norma_config_get_text(config, 0, "target"), &inputs->target);
    if (status != NORMA_OK)
        return blame(config, "target", status);
    if (norma_config_has(config, "input-range"))
        status = declare_range(config, inputs->target);
    if (status == NORMA_OK)
        status = norma_reconstruct_layers_check_chain(config,
                                                      norma_target_network_local(inputs->target));
    return norma_agree(runtime->world, status);
}

static norma_status read_dataset(const norma_runtime *runtime, const norma_config *config,
                                 norma_reconstruct_inputs *inputs)
{
    norma_status status =
        norma_dataset_read(runtime->world, norma_config_get_text(config, 0, "dataset"),
                           norma_config_get_integer(config, 0, "samples"), &inputs->dataset);
    if (status != NORMA_OK)
        return blame(config, "dataset", status);
    NORMA_TRY(norma_images_check(norma_dataset_images_local(inputs->dataset),
                                 norma_target_network_local(inputs->target)));
    norma_reconstruct_samples_warn(inputs);
    return NORMA_OK;
}

/* The random target of the first cell, for shapes. */
static norma_status create_random(const norma_config *config, norma_network **out)
{
    norma_config_shape kernel = {1, 1};
    if (norma_reconstruct_teacher_wanted(config))
        return norma_teacher_create(norma_config_get_integer(config, 0, "width"), out);
    if (norma_config_has(config, "kernel"))
        kernel = norma_config_get_shape(config, 0, "kernel");
    return norma_network_create_single(norma_config_get_integer(config, 0, "c-out"),
                                       norma_config_get_integer(config, 0, "c-in"),
                                       (norma_kernel_shape){kernel.height, kernel.width},
                                       &(norma_activation){.kind = NORMA_ACTIVATION_IDENTITY}, out);
}

norma_status norma_reconstruct_inputs_read(const norma_runtime *runtime, const norma_config *config,
                                           norma_reconstruct_inputs *inputs)
{
    norma_network *random = NULL;
    memset(inputs, 0, sizeof *inputs);
    if (norma_config_has(config, "target"))
        NORMA_TRY(read_target(runtime, config, inputs));
    if (norma_config_has(config, "dataset"))
        NORMA_TRY(read_dataset(runtime, config, inputs));
    if (inputs->target)
        NORMA_TRY(norma_reconstruct_construction_build(runtime, config, inputs));
    if (inputs->target)
        return read_weights(runtime, config, norma_target_network_local(inputs->target), inputs);

    /* A random target of the first cell tells the shapes that the source must have; those of a
     * sweep over targets differ and are checked cell by cell. */
    NORMA_TRY(norma_reconstruct_teacher_read(runtime, config, inputs));
    norma_status status = norma_agree(runtime->world, create_random(config, &random));
    if (status == NORMA_OK)
        status = read_weights(runtime, config, random, inputs);
    norma_network_destroy(&random);
    return status;
}

void norma_reconstruct_inputs_clear(norma_reconstruct_inputs *inputs)
{
    norma_reconstruct_construction_clear(inputs);
    norma_skips_destroy(&inputs->skips);
    norma_source_destroy(&inputs->source);
    norma_dataset_destroy(&inputs->dataset);
    norma_target_destroy(&inputs->student);
    norma_target_destroy(&inputs->target);
}

void norma_reconstruct_digest(const norma_reconstruct_inputs *inputs,
                              char digest[NORMA_RECONSTRUCT_DIGEST])
{
    digest[0] = '\0';
    const norma_target *file = inputs->target ? inputs->target : inputs->student;
    if (file)
        snprintf(digest, NORMA_RECONSTRUCT_DIGEST, "%016" PRIx64,
                 norma_network_digest(norma_target_network_local(file)));
}

const norma_images *norma_reconstruct_images(const norma_reconstruct_inputs *inputs)
{
    return inputs->dataset ? norma_dataset_images_local(inputs->dataset) : NULL;
}

const norma_images *norma_reconstruct_cell_images(const norma_reconstruct_cell *cell,
                                                  const norma_reconstruct_inputs *inputs)
{
    return cell->drawn.n_images > 0 ? &cell->drawn : norma_reconstruct_images(inputs);
}

bool norma_reconstruct_has_images(const norma_config *config,
                                  const norma_reconstruct_inputs *inputs)
{
    return inputs->dataset || norma_reconstruct_teacher_wanted(config);
}
