#include "experiments/reconstruct/construct/teacher.h"

#include "mpi/runtime/agree.h"
#include "src/construct/construction.h"
#include "src/construct/teacher.h"
#include "src/random/law.h"

#include <string.h>

const norma_option norma_reconstruct_teacher_options[] = {
    {.name = "width",
     .type = NORMA_OPTION_INTEGER,
     .many = NORMA_SWEEP,
     .group = "Target",
     .placeholder = "D",
     .unit = "neurons",
     .unset_text = "needed with --construction teacher",
     .min = NORMA_AT_LEAST(1),
     .max = NORMA_AT_MOST(65536),
     .help =
         "Hidden neurons, and inputs, of the network that is drawn with --construction teacher."},
    {.name = "teacher-dist",
     .type = NORMA_OPTION_CHOICE,
     .many = NORMA_SWEEP,
     .group = "Target",
     .default_text = "xavier",
     .names = &norma_law_names,
     .help = "Law of the weights of the network that is drawn with --construction teacher; of "
             "xavier they have variance 1 / D."},
    {.name = "student",
     .type = NORMA_OPTION_PATH,
     .group = "Target",
     .placeholder = "FILE[:PATH]",
     .unset_text = "the pair stands for the teacher's own layer",
     .help = "Weights [D, D], as of --target, of a network that was trained on the outputs of the "
             "teacher with --construction teacher: the pair stands for its layer, and is compared "
             "with the teacher."},
    NORMA_OPTION_END,
};

bool norma_reconstruct_teacher_wanted(const norma_config *config)
{
    return norma_config_get_choice(config, 0, "construction") == NORMA_CONSTRUCTION_TEACHER;
}

norma_status norma_reconstruct_teacher_settle(norma_config *config)
{
    if (!norma_reconstruct_teacher_wanted(config) || norma_config_has(config, "source") ||
        !norma_config_is_set(config, "keep-probability") ||
        norma_config_is_set(config, "source-dist"))
        return NORMA_OK;
    return norma_config_set_text(config, "source-dist",
                                 norma_distribution_name(NORMA_DISTRIBUTION_SPARSE_HE_NORMAL));
}

norma_status norma_reconstruct_teacher_check_options(const norma_config *config)
{
    static const char *const others[] = {"target",       "c-out",       "c-in",
                                         "kernel",       "layers",      "target-dist",
                                         "dataset",      "align",       "target-per-replica",
                                         "kernel-split", "input-range", NULL};
    if (!norma_reconstruct_teacher_wanted(config))
        return NORMA_OK;
    NORMA_TRY(norma_config_refuse_given(config, others,
                                        "not with --construction teacher, which draws a network of "
                                        "--width neurons and its inputs"));
    if (!norma_config_has(config, "width"))
        return norma_config_refuse(
            config, "construction",
            "teacher needs the width of the network that is drawn: give --width");
    static const char *const repeats[] = {"replicas", "replica-offset", NULL};
    if (!norma_config_has(config, "student"))
        return NORMA_OK;
    return norma_config_refuse_given(
        config, repeats, "a student was trained for one teacher, that of replica 0; leave it out");
}

norma_status norma_reconstruct_teacher_read(const norma_runtime *runtime,
                                            const norma_config *config,
                                            norma_reconstruct_inputs *inputs)
{
    if (!norma_config_has(config, "student"))
        return NORMA_OK;
    norma_status status = norma_target_read(
        runtime->world, norma_config_get_text(config, 0, "student"), &inputs->student);
    return norma_status_context(status, "%s: ", norma_config_where(config, "student"));
}

/* The law of the teacher's weights; replica 0 until another one is drawn. */
static norma_status describe_weights(const norma_config *config, norma_reconstruct_cell *cell,
                                     int64_t width)
{
    const char *name = norma_config_get_text(config, cell->number, "teacher-dist");
    cell->target_spec = (norma_tensor_spec){
        .keep_probability = cell->keep_probability,
        .role = NORMA_TENSOR_FIRST,
        .seed = cell->seed,
        .stream = {.purpose = NORMA_RNG_TARGET_WEIGHTS, .cell = cell->stream_cell},
        .n_features = width,
        .n_channels = width,
        .n_taps = 1,
    };
    return norma_distribution_from_name(name, &cell->target_spec.distribution);
}

norma_status norma_reconstruct_teacher_init(const norma_config *config,
                                            const norma_reconstruct_inputs *inputs,
                                            bool shapes_only, norma_reconstruct_cell *cell)
{
    int64_t width = norma_config_get_integer(config, cell->number, "width");
    int64_t n_replicas = norma_config_get_integer(config, 0, "replicas");
    cell->drawn =
        (norma_images){.n_images = norma_config_get_integer(config, 0, "samples"),
                       .shape = {width, 1, 1},
                       .drawn = true,
                       .seed = cell->seed,
                       .stream = {.purpose = NORMA_RNG_RUN_INPUT, .cell = cell->stream_cell}};
    norma_rng_stream last = cell->drawn.stream;
    last.replica = norma_config_get_integer(config, 0, "replica-offset") + n_replicas - 1;
    NORMA_TRY(norma_rng_check(&last, cell->drawn.n_images * width));
    NORMA_TRY(norma_teacher_create(width, &cell->random));
    cell->target_per_replica = true;
    cell->network = cell->random;
    if (inputs->student) {
        norma_status status = norma_teacher_create_student(
            width, norma_target_network_local(inputs->student), &cell->student);
        if (status != NORMA_OK)
            return norma_status_context(status, "%s: ", norma_config_where(config, "student"));
        cell->network = cell->student;
    }
    if (shapes_only)
        return NORMA_OK;
    NORMA_TRY(norma_teacher_allocate(cell->random));
    NORMA_TRY(describe_weights(config, cell, width));
    return norma_reconstruct_fill_target(cell, 0);
}

norma_solver norma_reconstruct_teacher_solver(norma_distribution source)
{
    return norma_law_has(source, NORMA_LAW_MASKED) ? NORMA_SOLVER_SVD : NORMA_SOLVER_QR;
}
