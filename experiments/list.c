/*
 * norma list [FAMILY]: which solvers, activations, subcommands, ... are there?
 *
 * Prints the families of choices, or the members of one with a summary each:
 *     norma list solvers
 * A family is a line of the table below, its members are those of the library's own table.
 */
#include "experiments/driver.h"
#include "experiments/subcommands.h"

#include "io/config/config_read.h"
#include "io/input/dataset.h"
#include "mpi/layer/solver.h"
#include "mpi/runtime/log.h"
#include "mpi/spectrum/spectrum.h"
#include "src/align/searches.h"
#include "src/chain/input.h"
#include "src/chain/observables.h"
#include "src/chain/spec.h"
#include "src/claims/claim.h"
#include "src/construct/construction.h"
#include "src/features/width_rule.h"
#include "src/gradient/loss.h"
#include "src/network/activation.h"
#include "src/network/bounds.h"
#include "src/random/law.h"

typedef struct family {
    const char *name, *summary;
    const norma_names *members;
} family;

static const family families[] = {
    {"subcommands", "what norma can be asked to do", &norma_subcommand_names},
    {"solvers", "how the linear system of a layer is solved (reconstruct --solver)",
     &norma_solver_names},
    {"laws", "random weights (--weight-dist, --target-dist, --source-dist)",
     &norma_law_source_names},
    {"presets", "papers' definitions of a layer (chain --preset)", &norma_chain_preset_names},
    {"normalizations", "chain --norm", &norma_chain_norm_names},
    {"observables", "measured on the layers of a chain (chain --observables)",
     &norma_observable_names},
    {"bounds", "of pre-activations (reconstruct --bound)", &norma_bound_names},
    {"residuals", "skip connections beside source pairs (reconstruct --residual)",
     &norma_residual_names},
    {"searches", "for the order of a target's channels (align --search)",
     &norma_align_search_names},
    {"constructions", "what stands for a target layer (reconstruct --construction)",
     &norma_construction_names},
    {"width-rules", "unknowns of a source pair (reconstruct --width-rule)", &norma_width_names},
    {"methods", "how singular values are measured (spectrum --method)",
     &norma_spectrum_method_names},
    {"inputs", "batches at layer 0 that are drawn (chain --input)", &norma_chain_input_names},
    {"datasets", "images with a name (reconstruct --dataset)", &norma_dataset_names},
    {"losses", "what norma gradient differentiates (gradient --loss)", &norma_gradient_loss_names},
    {"claims", "of the papers (claims --claim)", &norma_claim_names},
    {"activations", "functions of networks (reconstruct --activation) and chains (chain --act)",
     &norma_activation_names},
};
static const norma_names family_names = NORMA_NAMES("family", "families", families);

static const norma_option options[] = {
    {.name = "family",
     .type = NORMA_OPTION_CHOICE,
     .positional = true,
     .placeholder = "FAMILY",
     .command_line_only = true,
     .names = &family_names,
     .unset_text = "the families",
     .help = "The family whose members are printed."},
    NORMA_OPTION_END,
};

static const norma_option *const tables[] = {options, NULL};

static const norma_command command = {
    .name = "list",
    .description = "Prints the members of a family of choices, one a line: the name, then a "
                   "summary. These are the names that options take.",
    .tables = tables,
};

static void print(const norma_names *names)
{
    for (int64_t i = norma_names_next(names, 0); i < names->n; i = norma_names_next(names, i + 1))
        norma_log_result("%-21s %s", norma_names_name(names, i), norma_names_summary(names, i));
}

static norma_status run(const norma_call *call)
{
    norma_config *config = NULL;
    norma_status status =
        call->runtime
            ? norma_config_read(call->runtime->world, &command, call->sections, call->n_arguments,
                                call->arguments, &config)
            : norma_config_read_local(&command, call->n_arguments, call->arguments, &config);
    if (status == NORMA_OK)
        print(norma_config_has(config, "family")
                  ? families[norma_config_get_choice(config, 0, "family")].members
                  : &family_names);
    norma_config_destroy(&config);
    return status;
}

const norma_driver norma_driver_list = {.command = &command, .alone = true, .run = run};
