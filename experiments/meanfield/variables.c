#include "experiments/meanfield/variables.h"

#include "src/theory/gram_fluctuation.h"
#include "src/theory/kernel_dynamics.h"

const norma_meanfield_variable norma_meanfield_variables[NORMA_N_MEANFIELD_VARIABLES] = {
    [NORMA_MEANFIELD_MEAN] = {.name = "activation_mean",
                              .long_name = "mean of phi(X), X standard normal",
                              .kernel = true,
                              .batch = true},
    [NORMA_MEANFIELD_SECOND] = {.name = "activation_second",
                                .long_name = "mean of phi(X)^2",
                                .kernel = true,
                                .batch = true},
    [NORMA_MEANFIELD_KAPPA] = {.name = "kappa",
                               .long_name = "kernel map kappa(rho)",
                               .kernel = true,
                               .axes = {NORMA_MEANFIELD_GRID}},
    [NORMA_MEANFIELD_KAPPA_PRIME] = {.name = "kappa_prime",
                                     .long_name = "kappa'(rho)",
                                     .kernel = true,
                                     .axes = {NORMA_MEANFIELD_GRID}},
    [NORMA_MEANFIELD_KAPPA_SECOND] = {.name = "kappa_second",
                                      .long_name = "kappa''(rho)",
                                      .kernel = true,
                                      .axes = {NORMA_MEANFIELD_GRID}},
    [NORMA_MEANFIELD_HERMITE] = {.name = "hermite",
                                 .long_name = "Hermite coefficient of the normalized activation",
                                 .kernel = true,
                                 .axes = {NORMA_MEANFIELD_COEFFICIENT}},
    [NORMA_MEANFIELD_HERMITE_TAIL] =
        {.name = "hermite_tail",
         .long_name = "kappa(1) less the sum of the squared coefficients in the table",
         .kernel = true},
    [NORMA_MEANFIELD_SLOPE_TRUNCATED] = {.name = "kappa_prime_1_truncated",
                                         .long_name =
                                             "kappa'(1) from the coefficients in the table alone",
                                         .kernel = true},
    [NORMA_MEANFIELD_AT_ZERO] = {.name = "kappa_0", .long_name = "kappa(0)", .kernel = true},
    [NORMA_MEANFIELD_SLOPE_ZERO] = {.name = "kappa_prime_0",
                                    .long_name = "kappa'(0)",
                                    .kernel = true},
    [NORMA_MEANFIELD_AT_ONE] = {.name = "kappa_1", .long_name = "kappa(1)", .kernel = true},
    [NORMA_MEANFIELD_SLOPE_ONE] = {.name = "kappa_prime_1",
                                   .long_name = "kappa'(1), exact",
                                   .kernel = true},
    [NORMA_MEANFIELD_CURVATURE_ONE] = {.name = "kappa_second_1",
                                       .long_name = "kappa''(1), exact",
                                       .kernel = true},
    [NORMA_MEANFIELD_CASE] = {.name = "case",
                              .long_name =
                                  "case 1 to 4 of the convergence theorem; 0: kappa(rho) = rho",
                              .count = true,
                              .kernel = true},
    [NORMA_MEANFIELD_FIXED_POINT] = {.name = "fixed_point",
                                     .long_name = "attracting fixed point rho*",
                                     .kernel = true},
    [NORMA_MEANFIELD_FIXED_POINTS] = {.name = "fixed_points",
                                      .long_name = "all fixed points",
                                      .kernel = true,
                                      .axes = {NORMA_MEANFIELD_POINT}},
    [NORMA_MEANFIELD_RATE_PRINTED] = {.name = "rate_printed",
                                      .long_name = "constant of the theorem as printed: a factor a "
                                                   "layer, in case 3 alpha of its power law",
                                      .kernel = true},
    [NORMA_MEANFIELD_RATE_CORRECTED] = {.name = "rate_corrected",
                                        .long_name = "constant of the theorem, corrected",
                                        .kernel = true},
    [NORMA_MEANFIELD_RATE_ASYMPTOTIC] =
        {.name = "rate_asymptotic",
         .long_name =
             "limit of distance[l + 1] / distance[l]; with a decay_power p of distance[l] l^p",
         .kernel = true},
    [NORMA_MEANFIELD_DECAY_POWER] = {.name = "decay_power",
                                     .long_name = "0: distances fall geometrically; p: as layer^-p",
                                     .count = true,
                                     .kernel = true},
    [NORMA_MEANFIELD_RATE_PREDICTED] =
        {.name = "rate_predicted",
         .long_name =
             "distance over that of the layer before, predicted where rate_measured is taken",
         .kernel = true},
    [NORMA_MEANFIELD_RATE_MEASURED] =
        {.name = "rate_measured",
         .long_name = "distance over that of the layer before, at the last layer that is not 0",
         .kernel = true},
    [NORMA_MEANFIELD_CONSTANT_MEASURED] = {.name = "decay_constant_measured",
                                           .long_name =
                                               "distance times layer^decay_power at the last layer",
                                           .kernel = true},
    [NORMA_MEANFIELD_RHO] = {.name = "rho",
                             .long_name = "cosine of two samples",
                             .kernel = true,
                             .axes = {NORMA_MEANFIELD_LAYER}},
    [NORMA_MEANFIELD_DISTANCE] =
        {.name = "distance",
         .long_name =
             "distance from the fixed point: of rho, or of the Gram matrix in the Frobenius norm",
         .kernel = true,
         .batch = true,
         .axes = {NORMA_MEANFIELD_LAYER}},
    [NORMA_MEANFIELD_BOUND_PRINTED] = {.name = "bound_printed",
                                       .long_name = "the theorem's bound on distance, as printed",
                                       .kernel = true,
                                       .axes = {NORMA_MEANFIELD_LAYER}},
    [NORMA_MEANFIELD_BOUND_CORRECTED] = {.name = "bound_corrected",
                                         .long_name = "the theorem's bound on distance, corrected",
                                         .kernel = true,
                                         .axes = {NORMA_MEANFIELD_LAYER}},
    [NORMA_MEANFIELD_GRAM] = {.name = "gram",
                              .long_name = "Gram matrix of the batch",
                              .batch = true,
                              .axes = {NORMA_MEANFIELD_LAYER, NORMA_MEANFIELD_ENTRY}},
    [NORMA_MEANFIELD_GRAM_FIXED_POINT] = {.name = "gram_fixed_point",
                                          .long_name = "Gram matrix at the fixed point",
                                          .batch = true,
                                          .axes = {NORMA_MEANFIELD_ENTRY}},
    [NORMA_MEANFIELD_GRAM_CONTRACTION] =
        {.name = "gram_contraction",
         .long_name =
             "factor by which deviations of each kind shrink a layer, at most; above 1 they grow",
         .batch = true,
         .axes = {NORMA_MEANFIELD_KIND}},
    [NORMA_MEANFIELD_GRAM_MULTIPLICITY] = {.name = "gram_multiplicity",
                                           .long_name =
                                               "how often a kind occurs in symmetric matrices",
                                           .count = true,
                                           .batch = true,
                                           .axes = {NORMA_MEANFIELD_KIND}},
    [NORMA_MEANFIELD_GRAM_COVARIANCE] =
        {.name = "gram_covariance",
         .long_name =
             "stationary covariance of the Gram matrix at this width, a block for each kind",
         .batch = true,
         .axes = {NORMA_MEANFIELD_KIND, NORMA_MEANFIELD_ROW, NORMA_MEANFIELD_COLUMN}},
    [NORMA_MEANFIELD_GRAM_ONE_LAYER] =
        {.name = "gram_distance_one_layer",
         .long_name =
             "root mean square distance from the fixed point one layer behind it, at this width",
         .batch = true},
    [NORMA_MEANFIELD_GRAM_STATIONARY] =
        {.name = "gram_distance_stationary",
         .long_name = "stationary root mean square distance from the fixed point, at this width",
         .batch = true},
    [NORMA_MEANFIELD_GRADIENT_RATE] =
        {.name = "gradient_rate",
         .long_name = "growth of the logarithm of the gradient's norm a layer, at infinite width",
         .batch = true},
};

int64_t norma_meanfield_axis_length(const norma_meanfield_sizes *sizes, norma_meanfield_axis axis)
{
    switch (axis) {
    case NORMA_MEANFIELD_GRID:
        return sizes->n_grid;
    case NORMA_MEANFIELD_COEFFICIENT:
        return sizes->n_coefficients;
    case NORMA_MEANFIELD_LAYER:
        return sizes->n_layers;
    case NORMA_MEANFIELD_POINT:
        return NORMA_KERNEL_MAX_FIXED_POINTS;
    case NORMA_MEANFIELD_KIND:
        return NORMA_N_GRAM_KINDS;
    case NORMA_MEANFIELD_ENTRY:
    case NORMA_MEANFIELD_ROW:
    case NORMA_MEANFIELD_COLUMN:
        return 2;
    default:
        return 1;
    }
}

int64_t norma_meanfield_count(const norma_meanfield_sizes *sizes, int variable)
{
    int64_t count = 1;
    for (int i = 0; i < NORMA_MEANFIELD_MAX_AXES; i++)
        count *= norma_meanfield_axis_length(sizes, norma_meanfield_variables[variable].axes[i]);
    return count;
}

int64_t norma_meanfield_total(const norma_meanfield_sizes *sizes)
{
    int64_t total = 0;
    for (int v = 0; v < NORMA_N_MEANFIELD_VARIABLES; v++)
        total += norma_meanfield_count(sizes, v);
    return total;
}
