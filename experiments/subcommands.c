#include "experiments/subcommands.h"

static const norma_subcommand table[] = {
    {"reconstruct", "solve for gamma, beta of a layer or a whole network; verify; write HDF5",
     &norma_driver_reconstruct},
    {"evaluate", "re-run a stored source network against its target on data",
     &norma_driver_evaluate},
    {"chain", "Markov chain of representations through up to 10^7 random layers",
     &norma_driver_chain},
    {"gradient", "gradients back through random layers: norms, rates, Jacobians, cosines",
     &norma_driver_gradient},
    {"meanfield", "infinite width: kernel maps, fixed points, rates; fluctuations at finite width",
     &norma_driver_meanfield},
    {"spectrum", "singular values of the feature matrix, beside their limit laws",
     &norma_driver_spectrum},
    {"align", "order of a target's output channels that too few features reproduce best",
     &norma_driver_align},
    {"claims", "hold every theorem of the papers against both sides of its inequality",
     &norma_driver_claims},
    {"bench", "measure this machine: BLAS, random numbers, solvers, chains, files",
     &norma_driver_bench},
    {"info", "what a result file holds: status, provenance, variables", &norma_driver_info},
    {"diff", "the variables in which two result files differ", &norma_driver_diff},
    {"merge", "join the results of one sweep: shares, seeds, replicas, further values",
     &norma_driver_merge},
    {"list", "the names that options take: solvers, activations, subcommands, ...",
     &norma_driver_list},
    {"plan", "dry run of CMD: process grid, memory per rank, operations, bytes written, time",
     NULL},
};

static bool is_planned(int64_t i)
{
    return table[i].driver && table[i].driver->plan;
}

const norma_names norma_subcommand_names = NORMA_NAMES("subcommand", "subcommands", table);
const norma_names norma_subcommand_planned_names =
    NORMA_NAMES_OF("subcommand of norma plan", "planned subcommands", table, is_planned);

const norma_subcommand *norma_subcommand_get(int64_t i)
{
    return &table[i];
}
