#include "mpi/system/system.h"

#include "mpi/krylov/bidiagonal.h"
#include "mpi/krylov/condition.h"
#include "mpi/linalg/replicated.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"
#include "src/base/mem.h"

#include <math.h>

typedef struct gram {
    norma_product *product;
    norma_product_form form;
    int64_t n;               /* rows of the form */
    const double *row_scale; /* [n] or NULL */
    double *rows;            /* [n] */
    double *features;        /* [share] */
} gram;

/* out = D A A' D in, A the form, D the row scale. */
static norma_status apply_gram(void *context, const double *in, double *out)
{
    gram *g = context;
    for (int64_t r = 0; r < g->n; r++)
        g->rows[r] = g->row_scale ? g->row_scale[r] * in[r] : in[r];
    norma_product_apply_both(g->product, g->form, g->rows, 0, g->features, out);
    for (int64_t r = 0; g->row_scale && r < g->n; r++)
        out[r] *= g->row_scale[r];
    return NORMA_OK;
}

norma_bidiagonal_accuracy norma_system_accuracy_local(const norma_system *system)
{
    return system->condition == NORMA_CONDITION_FULL ? norma_bidiagonal_full
                                                     : norma_bidiagonal_rough;
}

double norma_system_tolerance_local(const norma_system *system, double full)
{
    return system->condition == NORMA_CONDITION_FULL ? full : NORMA_CONDITION_ROUGH;
}

norma_status norma_system_largest(const norma_system *system, norma_product_form form,
                                  const double *row_scale, double *sigma, double *error)
{
    int64_t first = 0;
    double largest = 0;
    gram g = {.product = system->product,
              .form = form,
              .n = norma_product_n_rows_local(system->product, form),
              .row_scale = row_scale};
    norma_status status = NORMA_ALLOC(g.rows, g.n);
    if (status == NORMA_OK)
        status = NORMA_ALLOC(g.features, norma_product_share_local(system->product, &first));
    NORMA_GOTO(status, norma_agree(system->comm, status));
    NORMA_GOTO(status,
               norma_condition_largest(system->comm, apply_gram, &g, g.n, system->seed,
                                       norma_system_tolerance_local(system, NORMA_CONDITION_SHARP),
                                       &largest, error));
    *sigma = sqrt(largest);
done:
    NORMA_FREE(g.rows);
    NORMA_FREE(g.features);
    return status;
}

/* A spread of singular values that single precision still sees to 1e-4. */
#define LARGEST_SINGLE_SPREAD 1000

/* Extreme singular values of a form by a process of its own; in double precision where they are too
 * far apart for single precision. */
static norma_status measure_form(const norma_system *s, norma_product_form form, double *largest,
                                 double *smallest, double *error)
{
    norma_bidiagonal_accuracy accuracy = norma_system_accuracy_local(s);
    norma_product_set_single_local(s->product, true);
    norma_status status = norma_bidiagonal_measure(s->comm, s->product, form, s->measure_steps,
                                                   s->seed, accuracy, largest, smallest, error);
    norma_product_set_single_local(s->product, false);
    if (status == NORMA_OK && !(*largest <= LARGEST_SINGLE_SPREAD * *smallest))
        status = norma_bidiagonal_measure(s->comm, s->product, form, s->measure_steps, s->seed,
                                          accuracy, largest, smallest, error);
    return status;
}

norma_status norma_system_condition(const norma_system *system, double *sigma_max,
                                    double *sigma_min, double *error,
                                    norma_layer_solution *solution)
{
    const norma_width_rule *rule = system->rule;
    solution->condition_number = solution->condition_number_solved = NAN;
    solution->sigma_max = solution->sigma_min = solution->condition_error = NAN;
    if (system->condition == NORMA_CONDITION_NONE) {
        double error_max = 0;
        if (isnan(*sigma_max))
            NORMA_TRY(
                norma_system_largest(system, NORMA_PRODUCT_SYSTEM, NULL, sigma_max, &error_max));
        if (rule->n_rows == rule->n_system)
            solution->sigma_max = *sigma_max;
        return NORMA_OK;
    }
    if (isnan(*sigma_max) || (rule->n_rows > 0 && rule->n_rows < rule->n_system))
        norma_log_news("%s: the condition number takes iterations of its own, about as many as the "
                       "solution",
                       system->name);
    if (isnan(*sigma_max))
        NORMA_TRY(measure_form(system, NORMA_PRODUCT_SYSTEM, sigma_max, sigma_min, error));
    solution->condition_number_solved = *sigma_max / *sigma_min;
    solution->sigma_max = *sigma_max;
    solution->sigma_min = *sigma_min;
    if (rule->n_rows == 0)
        solution->sigma_max = solution->sigma_min = NAN;
    else if (rule->n_rows < rule->n_system)
        NORMA_TRY(measure_form(system, NORMA_PRODUCT_ROWS, &solution->sigma_max,
                               &solution->sigma_min, error));
    solution->condition_error = *error;
    solution->condition_number = solution->sigma_max / solution->sigma_min;
    return NORMA_OK;
}

double norma_system_residual(const norma_system *system, const double *x, double *residual)
{
    int64_t n = system->rule->n_system;
    norma_product_apply(system->product, NORMA_PRODUCT_SYSTEM, x, residual);
    for (int64_t r = 0; r < n; r++)
        residual[r] = system->rhs[r] - residual[r];
    return norma_replicated_norm_local(residual, n);
}

double norma_system_gradient(const norma_system *system, const double *residual, double *gradient)
{
    int64_t first = 0;
    int64_t n_share = norma_product_share_local(system->product, &first);
    norma_product_apply_transpose_local(system->product, NORMA_PRODUCT_SYSTEM, residual, gradient);
    double squares = norma_replicated_dot_local(gradient, gradient, n_share);
    MPI_Allreduce(MPI_IN_PLACE, &squares, 1, MPI_DOUBLE, MPI_SUM, system->comm);
    return sqrt(squares);
}

norma_status norma_system_singular_local(const norma_system *system, double condition_number)
{
    int64_t first = -1;
    int64_t n_zero = norma_product_zero_features_local(system->product, &first);
    int64_t n_features = norma_product_n_features_local(system->product);
    const char *remedy = system->problem->n_features > n_features
                             ? "use a solver that takes all features, such as krylov, or another "
                               "source"
                             : "use more features or another source; svd gives the pseudo-inverse";
    if (n_zero > 0)
        return NORMA_FAIL(NORMA_NUMERIC,
                          "the system is singular: %lld of its %lld features have only zero "
                          "weights (feature %lld is the first): %s",
                          (long long)n_zero, (long long)n_features, (long long)first, remedy);
    return NORMA_FAIL(NORMA_NUMERIC,
                      "the system is singular to working precision (condition number %.3g with "
                      "%lld features): are features repeated, or output channels of the source "
                      "zero? %s",
                      condition_number, (long long)n_features, remedy);
}
