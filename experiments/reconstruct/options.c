#include "experiments/reconstruct/options.h"

#include "experiments/job/options.h"
#include "experiments/job/pair_options.h"
#include "experiments/job/plan_options.h"
#include "experiments/job/search_options.h"
#include "experiments/reconstruct/construct/construction.h"
#include "experiments/reconstruct/construct/teacher.h"
#include "experiments/reconstruct/plan.h"
#include "experiments/reconstruct/statistics.h"
#include "io/input/dataset.h"
#include "mpi/layer/solver.h"
#include "src/config/config_common.h"
#include "src/features/width_rule.h"
#include "src/network/activation.h"
#include "src/network/bounds.h"
#include "src/random/law.h"

#include <stddef.h>

static const char *const skip_kernels[] = {"1x1", NORMA_RECONSTRUCT_WHOLE_KERNEL, NULL};
static const char *const centres[] = {"zero", "one", "gain", NULL};
static const char *const stores[] = {"auto", "yes", "no", NULL};
static const char *const precisions[] = {"double", NORMA_RECONSTRUCT_SINGLE, NULL};
const char *const norma_reconstruct_conditions[] = {
    [NORMA_CONDITION_FULL] = "full",
    [NORMA_CONDITION_ESTIMATE] = "estimate",
    [NORMA_CONDITION_NONE] = "none",
    NULL,
};
static const char *const group_sizes[] = {NORMA_RECONSTRUCT_AUTO_GROUPS, NULL};
static const char *const saved[] = {
    NORMA_RECONSTRUCT_SAVE_GAMMA, NORMA_RECONSTRUCT_SAVE_WEIGHTS, NORMA_RECONSTRUCT_SAVE_SPECTRUM,
    NORMA_RECONSTRUCT_SAVE_NONE,  NORMA_JOB_SAVE_STATE,           NULL};

static const norma_option target_options[] = {
    {.name = "target",
     .type = NORMA_OPTION_PATH,
     .group = "Target",
     .placeholder = "FILE[:PATH]",
     .unset_text = "a random layer from --target-dist",
     .help = "The network to reconstruct, an HDF5 file with groups /layers/000, /layers/001, ...; "
             "FILE:PATH takes one weight dataset [c2, c0] or [c2, c0, kh, kw] as a single layer."},
    {.name = "input-range",
     .type = NORMA_OPTION_REAL,
     .many = NORMA_LIST,
     .group = "Target",
     .placeholder = "MIN,MAX",
     .unset_text = "input_min and input_max of the target file",
     .help = "Range of the target's inputs, where its file declares none; bounds start from it."},
    {.name = "construction",
     .type = NORMA_OPTION_CHOICE,
     .group = "Target",
     .default_text = "pair",
     .names = &norma_construction_names,
     .help =
         "What stands for a target layer. With low-rank layer L becomes layers 2 L and 2 L + 1."},
    {.name = "depth",
     .type = NORMA_OPTION_INTEGER,
     .many = NORMA_SWEEP,
     .group = "Width",
     .unit = "layers",
     .default_text = "3",
     .exclusive = "depth",
     .min = NORMA_AT_LEAST(1),
     .max = NORMA_AT_MOST(16),
     .help = "Layers L of a source with --construction deep. The sum of its hidden widths is n + L "
             "- c2, and more with --excess or --overparam; most of it goes to the layer beside the "
             "larger end."},
    {.name = "widths",
     .type = NORMA_OPTION_STRING,
     .group = "Width",
     .placeholder = "C1+C2+...",
     .unset_text = "as of --depth",
     .exclusive = "depth",
     .help = "Hidden widths of a source with --construction deep, the first layer's first; the "
             "depth is one more than there are."},
    {.name = "kernels",
     .type = NORMA_OPTION_STRING,
     .group = "Width",
     .placeholder = "HxW+HxW+...",
     .unset_text = "the target's kernel in the first layer, 1x1 in the others",
     .help = "Kernels of the layers with --construction deep, the first layer's first."},
    {.name = "starts",
     .type = NORMA_OPTION_INTEGER,
     .group = "Solution",
     .default_text = "30",
     .min = NORMA_AT_LEAST(1),
     .max = NORMA_AT_MOST(100000),
     .help = "Random starts that the search of --construction deep makes at most."},
    {.name = "block",
     .type = NORMA_OPTION_INTEGER,
     .many = NORMA_SWEEP,
     .group = "Target",
     .unit = "inputs",
     .default_text = "4",
     .min = NORMA_AT_LEAST(1),
     .max = NORMA_AT_MOST(1048576),
     .help = "Inputs k that enter each source layer with --construction skip; k divides the "
             "layer's inputs. The width's minimum is c2 k."},
    {.name = "nearest",
     .type = NORMA_OPTION_CHOICE,
     .many = NORMA_SWEEP,
     .group = "Solution",
     .default_text = "gain",
     .choices = centres,
     .help = "Among the scales that solve a block with --construction skip, those nearest to zero, "
             "to one, or to the gain 1 / sqrt(D v) with which a layer of D weights of variance v "
             "keeps the size of its inputs. The last keeps most digits over many blocks."},
    {.name = "target-rank",
     .type = NORMA_OPTION_INTEGER,
     .group = "Target",
     .unset_text = "as of --rank-tolerance",
     .min = NORMA_AT_LEAST(1),
     .max = NORMA_AT_MOST(1048576),
     .exclusive = "rank",
     .help = "Matrix rank of every factored layer with --construction low-rank."},
    {.name = "rank-tolerance",
     .type = NORMA_OPTION_REAL,
     .group = "Target",
     .default_text = "1e-12",
     .min = NORMA_AT_LEAST(0),
     .max = NORMA_BELOW(1),
     .exclusive = "rank",
     .help = "Singular values above this share of a layer's largest are kept with --construction "
             "low-rank."},
    {.name = "target-dist",
     .type = NORMA_OPTION_CHOICE,
     .many = NORMA_SWEEP,
     .group = "Target",
     .default_text = "he-normal",
     .names = &norma_law_names,
     .help = "Law of a random target layer (identity activation, inputs in [-1, 1]); needs --c-out "
             "and --c-in."},
    {.name = "c-out",
     .type = NORMA_OPTION_INTEGER,
     .many = NORMA_SWEEP,
     .group = "Target",
     .unit = "channels",
     .unset_text = "as in the file",
     .min = NORMA_AT_LEAST(1),
     .max = NORMA_AT_MOST(1048576),
     .help = "Output channels c2 of a random target."},
    {.name = "c-in",
     .type = NORMA_OPTION_INTEGER,
     .many = NORMA_SWEEP,
     .group = "Target",
     .unit = "channels",
     .unset_text = "as in the file",
     .min = NORMA_AT_LEAST(1),
     .max = NORMA_AT_MOST(1048576),
     .help = "Input channels c0 of a random target."},
    {.name = "kernel",
     .type = NORMA_OPTION_SHAPE,
     .many = NORMA_SWEEP,
     .group = "Target",
     .unset_text = "as in the file; 1x1 (fully connected) for a random target",
     .unit = "taps",
     .min = NORMA_AT_LEAST(1),
     .max = NORMA_AT_MOST(64),
     .help = "Kernel Kt of a random target."},
    NORMA_OPTION_END,
};

static const norma_option source_options[] = {
    {.name = "residual",
     .type = NORMA_OPTION_CHOICE,
     .many = NORMA_SWEEP,
     .group = "Source",
     .default_text = "none",
     .names = &norma_residual_names,
     .help = "Frozen skip connection beside every source pair."},
    {.name = "skip",
     .type = NORMA_OPTION_STRING,
     .group = "Source",
     .placeholder = "identity|NAME|FILE",
     .unset_text = "identity; with --source the file's /source/000/Ws",
     .help =
         "Weights of the skip connections: the identity (as many output channels as input "
         "channels), a law as of --source-dist, or an HDF5 file (a name with '.' or '/') with "
         "/source/000/Ws [c2, c0, (kh, kw)] for each target layer, kernel 1x1 or the target's."},
    {.name = "skip-kernel",
     .type = NORMA_OPTION_CHOICE,
     .group = "Source",
     .default_text = "1x1",
     .choices = skip_kernels,
     .help = "Kernel of drawn skip connections: 1x1, on the middle of the target's, or target."},
    {.name = "width-rule",
     .type = NORMA_OPTION_CHOICE,
     .many = NORMA_SWEEP,
     .group = "Width",
     .default_text = "max",
     .names = &norma_width_names,
     .help = "max: gamma2 = 1 and c1 >= n = c2 c0 |K| features (CNN24 Thm 2.3). min: gamma2 is "
             "solved for as well and c1 >= n - c2 + 1, n - c2 with an outer residual (CNN24 "
             "Thm 2.2)."},
    NORMA_OPTION_END,
};

static const norma_option options[] = {
    {.name = "activation",
     .type = NORMA_OPTION_CHOICE,
     .many = NORMA_SWEEP,
     .group = "Source",
     .names = &norma_activation_network_names,
     .unset_text = "the target layer's own",
     .help =
         "Activation inside the source pairs, of all layers. Those that are linear on each side "
         "of 0 are exact; the others are nearly linear where they are used, to --epsilon."},
    {.name = "epsilon",
     .type = NORMA_OPTION_REAL,
     .many = NORMA_SWEEP,
     .group = "Source",
     .placeholder = "E",
     .unset_text = "of each layer, ten times the least that rounding leaves attainable",
     .min = NORMA_ABOVE(0),
     .max = NORMA_AT_MOST(1e300),
     .help = "Largest error of a layer's outputs (before the target's activation) that the "
             "nonlinearity of a source's activation may cause; refused, with the least attainable "
             "one, where rounding alone exceeds it."},
    {.name = "bound",
     .type = NORMA_OPTION_CHOICE,
     .many = NORMA_SWEEP,
     .group = "Source",
     .names = &norma_bound_names,
     .unset_text = "data with --dataset, otherwise interval-deep",
     .help = "How the range of pre-activations is bounded: measured on the samples, by interval "
             "arithmetic inside a layer from its measured inputs, or from the declared input range "
             "through all layers."},
    {.name = "bn-statistics",
     .type = NORMA_OPTION_CHOICE,
     .group = "Source",
     .default_text = "unit",
     .choices = norma_reconstruct_statistics_names,
     .help = "Running statistics of the source's batch norms: unit is mean 0, variance 1 - bn-eps; "
             "dataset measures them on the samples; file takes mu1, var1, mu2, var2 and the biases "
             "b1, b2 of --source. The source network computes the same with each."},
    {.name = "bn-eps",
     .type = NORMA_OPTION_REAL,
     .group = "Source",
     .default_text = "1e-5",
     .min = NORMA_AT_LEAST(0),
     .max = NORMA_BELOW(1),
     .help = "eps of the source's batch norms."},
    {.name = "layers",
     .type = NORMA_OPTION_INTEGER,
     .many = NORMA_LIST,
     .group = "Target",
     .placeholder = "LIST",
     .unset_text = "all of them",
     .min = NORMA_AT_LEAST(0),
     .max = NORMA_AT_MOST(16777215),
     .help =
         "Numbers of the target layers to reconstruct, from 0; the others stay the target's own."},
    {.name = "align",
     .type = NORMA_OPTION_CHOICE,
     .many = NORMA_SWEEP,
     .group = "Search",
     .names = &norma_align_search_names,
     .unset_text = "the target's order is kept",
     .help = "Where a layer has fewer features than weights, a permutation of its output channels "
             "is searched for that the features reproduce best; the next layer's input channels "
             "follow. The last layer keeps its order."},
    {.name = "group-size",
     .type = NORMA_OPTION_STRING,
     .group = "Run",
     .placeholder = "RANKS|auto",
     .default_text = NORMA_RECONSTRUCT_AUTO_GROUPS,
     .choices = group_sizes,
     .check = norma_reconstruct_check_group_size,
     .help =
         "Ranks that solve a layer together. With fewer than all, groups of so many take layers "
         "of all replicas and cells from a queue; networks are still compared by all ranks. auto "
         "takes what ends first by a model of times, from sizes, solver and number of ranks."},
    {.name = "target-per-replica",
     .type = NORMA_OPTION_FLAG,
     .group = "Target",
     .help = "Draw a random target anew for every replica."},
    {.name = "solver",
     .type = NORMA_OPTION_CHOICE,
     .many = NORMA_SWEEP,
     .group = "Solution",
     .default_text = "auto",
     .names = &norma_solver_names,
     .help = "How the linear system of a layer is solved. The three lbfgs solvers give the answer "
             "they stop with, however far from exact, and the reason; all others reach the "
             "rounding floor or fail."},
    {.name = "condition",
     .type = NORMA_OPTION_CHOICE,
     .group = "Solution",
     .default_text = "estimate",
     .choices = norma_reconstruct_conditions,
     .help = "How far condition numbers are measured. full: to 1e-3 and better, which may take as "
             "long as the solution. estimate: both extreme singular values to about 10%; "
             "condition_error in the file says how well. none: not at all; the file has missing "
             "values."},
    {.name = "solver-precision",
     .type = NORMA_OPTION_CHOICE,
     .many = NORMA_SWEEP,
     .group = "Solution",
     .default_text = "double",
     .choices = precisions,
     .help = "Arithmetic of the lbfgs solvers: double (FP64), or single (FP32: "
             "weights, products, gamma1, gradients and steps; the decomposition is of FP64). The "
             "other solvers answer in FP64."},
    {.name = "lbfgs-history",
     .type = NORMA_OPTION_INTEGER,
     .many = NORMA_SWEEP,
     .group = "Solution",
     .unit = "steps",
     .unset_text = "10",
     .min = NORMA_AT_LEAST(1),
     .max = NORMA_AT_MOST(1000),
     .help = "Steps that the lbfgs solvers keep."},
    {.name = "max-iterations",
     .type = NORMA_OPTION_INTEGER,
     .many = NORMA_SWEEP,
     .group = "Solution",
     .unit = "iterations",
     .unset_text = "chosen from the shape, at most 20000 for lbfgs, 50000 for chebyshev",
     .min = NORMA_AT_LEAST(1),
     .max = NORMA_AT_MOST(1000000000),
     .help = "Iterations after which an iterative solver fails; those of lbfgs give the answer "
             "that they have."},
    {.name = "store-weights",
     .type = NORMA_OPTION_CHOICE,
     .many = NORMA_SWEEP,
     .group = "Solution",
     .default_text = "auto",
     .choices = stores,
     .help = "no: source weights are drawn again in every product of the solver, with the same "
             "bits, which saves their memory and costs the time of the random numbers; not for "
             "orthogonal weights. auto: stored where they fit."},
    {.name = "dataset",
     .type = NORMA_OPTION_STRING,
     .group = "Data",
     .placeholder = "NAME|FILE[:PATH]|FOLDER",
     .unset_text = "source and target are not run",
     .names = &norma_dataset_names,
     .help = "Images for bounds and comparison: a data set by its name, an IDX file of images, "
             "CIFAR's FILE.bin, a folder with either, or FILE.h5:/images [n, channels, height, "
             "width] with /labels."},
    {.name = "samples",
     .type = NORMA_OPTION_INTEGER,
     .group = "Data",
     .default_text = "1000",
     .unit = "images",
     .min = NORMA_AT_LEAST(1),
     .max = NORMA_AT_MOST(1e9),
     .help = "The first N test images, the same for bounds and comparison; with --construction "
             "teacher inputs that are drawn from N(0, I)."},
    {.name = "precision",
     .type = NORMA_OPTION_CHOICE,
     .many = NORMA_SWEEP,
     .group = "Data",
     .default_text = "double",
     .choices = precisions,
     .help = "Arithmetic in which the source network is run: double (FP64) or single (FP32: "
             "weights, affine maps, products and sums). The target is run in FP64; for the systems "
             "see --solver-precision."},
    {.name = "save",
     .type = NORMA_OPTION_CHOICE,
     .many = NORMA_LIST,
     .group = "Output",
     .placeholder = "LIST",
     .choices = saved,
     .unset_text = "gamma in a run with a single cell, none in a sweep",
     .help =
         "Arrays to write besides the scalars: gamma (the affine maps gamma1, beta1, gamma2, "
         "beta2 and the same as PyTorch's batch norms), weights (the frozen W1, W2, and a "
         "teacher's; with --construction skip W, A, R, with deep W1, W2, ...), "
         "spectrum (all singular values of M; they are computed beside the solution). state: keep "
         "FILE.ckpt, so that --resume can extend the complete run."},
    NORMA_OPTION_END,
};

/* Behind each other they are the order of a sweep's dimensions. */
#define OWN_TABLES                                                                                 \
    target_options, norma_reconstruct_teacher_options, norma_pair_source_options, source_options,  \
        norma_pair_width_options, options, norma_search_options, norma_config_random_options,      \
        norma_job_options, norma_config_run_options

static const norma_option *const tables[] = {OWN_TABLES, NULL};
static const norma_option *const plan_tables[] = {OWN_TABLES, norma_plan_options, NULL};

#define DESCRIPTION                                                                                \
    "Solves for the scales and shifts (gamma, beta) with which frozen random layers compute the "  \
    "same function as a target layer or network, verifies the answer against its rounding floor, " \
    "runs source and target on images, and writes everything to an HDF5 file.\n"                   \
    "Options that take numbers or names accept lists and ranges (8,16,32..256:x2, 10..50:10): "    \
    "the run is then their Cartesian product, one file with a dimension for each."

const norma_command norma_reconstruct_command = {
    .name = "reconstruct",
    .description = DESCRIPTION,
    .tables = tables,
};

const norma_command norma_reconstruct_plan_command = {
    .name = "reconstruct",
    .invocation = "norma plan reconstruct",
    .description = "Predicts process grid, memory, operations, bytes written and time of a "
                   "reconstruction without computing it. Takes the flags of norma reconstruct.",
    .tables = plan_tables,
};
