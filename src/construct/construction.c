#include "src/construct/construction.h"

static const char *const no_options[] = {NULL};
static const char *const rank_options[] = {"target-rank", "rank-tolerance", NULL};
static const char *const block_options[] = {"block", "nearest", NULL};

static const char *const deep_options[] = {"depth", "widths", "kernels", "starts", NULL};

static const char *const teacher_options[] = {"width", "teacher-dist", "student", NULL};

static const norma_construction_descriptor table[] = {
    [NORMA_CONSTRUCTION_PAIR] = {"pair", "one source pair for each target layer", no_options},
    [NORMA_CONSTRUCTION_LOW_RANK] =
        {"low-rank",
         "two source pairs, for the factors of each layer by singular values (EXP23 Cor. 1)",
         rank_options},
    [NORMA_CONSTRUCTION_SKIP] =
        {"skip", "a source layer for each block of inputs, with skip connections (EXP23 Thm 2)",
         block_options},
    [NORMA_CONSTRUCTION_DEEP] =
        {"deep", "a product of --depth frozen layers between scales (CNN24 Thm 2.5)", deep_options},
    [NORMA_CONSTRUCTION_TEACHER] = {"teacher",
                                    "one source pair for a drawn network of --width neurons, run "
                                    "on drawn inputs (EXP23 App. E)",
                                    teacher_options},
};
const norma_names norma_construction_names = NORMA_NAMES("construction", "constructions", table);

const norma_construction_descriptor *norma_construction_get(norma_construction construction)
{
    return &table[construction];
}

norma_status norma_construction_check_opening(const norma_activation *activation)
{
    char known[NORMA_ACTIVATION_LIST];
    if (norma_activation_is_homogeneous(activation))
        return NORMA_OK;
    return NORMA_FAIL(NORMA_CONFIG, "activation %s: deep sources are opened by shifts with %s only",
                      norma_activation_name(activation->kind),
                      norma_names_join(&norma_activation_homogeneous_names, known, sizeof known));
}
