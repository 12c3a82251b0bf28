/* Options of a reconstruction that contradict each other. */
#include "experiments/job/law_options.h"
#include "experiments/reconstruct/construct/alignment.h"
#include "experiments/reconstruct/construct/construction.h"
#include "experiments/reconstruct/construct/layer_values.h"
#include "experiments/reconstruct/construct/teacher.h"
#include "experiments/reconstruct/setup.h"
#include "experiments/reconstruct/skip.h"
#include "experiments/reconstruct/solver.h"
#include "experiments/reconstruct/statistics.h"

#include <string.h>

/* Measured bounds need inputs to measure, interval-deep a range of inputs. */
static norma_status check_bounds(const norma_config *config, bool teacher)
{
    if (!norma_config_has(config, "bound"))
        return NORMA_OK;
    for (int64_t i = 0; i < norma_config_get_sweep(config)->n_cells; i++) {
        const char *bound = norma_config_get_text(config, i, "bound");
        bool deep = strcmp(bound, "interval-deep") == 0;
        if (teacher && deep)
            return norma_config_refuse(config, "bound",
                                       "the normal inputs of --construction teacher have no range: "
                                       "use data or interval");
        if (!teacher && !deep && !norma_config_has(config, "dataset"))
            return NORMA_FAIL(norma_config_blame(config, "bound"),
                              "%s: '%s' is measured on images: give --dataset, or interval-deep",
                              norma_config_where(config, "bound"), bound);
    }
    return NORMA_OK;
}

norma_status norma_reconstruct_check_options(const norma_config *config)
{
    bool teacher = norma_reconstruct_teacher_wanted(config);
    NORMA_TRY(norma_reconstruct_teacher_check_options(config));
    if (!norma_config_has(config, "target") && !teacher &&
        (!norma_config_has(config, "c-out") || !norma_config_has(config, "c-in")))
        return NORMA_FAIL(NORMA_USAGE, "no target: give --target FILE, or --c-out and --c-in for a "
                                       "random one");
    static const char *const random_only[] = {
        "c-out", "c-in", "kernel", "target-dist", "target-per-replica", NULL};
    if (norma_config_has(config, "input-range") && !norma_config_has(config, "target"))
        return norma_config_refuse(config, "input-range",
                                   "a random target has inputs in [-1, 1]; leave it out");
    if (norma_config_has(config, "target"))
        NORMA_TRY(norma_config_refuse_given(
            config, random_only, "describes a random target, but --target names a file"));
    static const char *const file_decides[] = {"excess", "overparam", "kernel-split",
                                               "keep-probability", NULL};
    static const char *const repeats[] = {"replicas", "replica-offset", NULL};
    if (norma_config_has(config, "source")) {
        NORMA_TRY(
            norma_config_refuse_given(config, file_decides, "the file of --source decides this"));
        NORMA_TRY(norma_config_refuse_given(
            config, repeats,
            "source weights from a file are the same for every replica; leave it out"));
    }
    if (norma_config_has(config, "dataset") && !norma_config_has(config, "target"))
        return norma_config_refuse(config, "dataset",
                                   "a random target layer has no images to run on; leave it out");
    if (!norma_config_has(config, "dataset") && !norma_reconstruct_stack_kind(config) && !teacher &&
        norma_config_is_given(config, "samples"))
        return norma_config_refuse(config, "samples", "needs --dataset");
    static const char *const laws[] = {"source-dist", "target-dist", "teacher-dist", "skip", NULL};
    NORMA_TRY(norma_law_options_check(config, laws));
    NORMA_TRY(norma_reconstruct_construction_check_options(config));
    NORMA_TRY(norma_reconstruct_skip_check_options(config));
    NORMA_TRY(norma_reconstruct_values_check_options(config));
    NORMA_TRY(norma_reconstruct_alignment_check_options(config));
    NORMA_TRY(norma_reconstruct_solver_check_options(config));
    NORMA_TRY(norma_reconstruct_statistics_check_options(config));
    return check_bounds(config, teacher);
}
