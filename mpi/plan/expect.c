#include "mpi/plan/expect.h"

#include "mpi/layer/layer_choice.h"
#include "mpi/layer/solver_time.h"
#include "mpi/plan/traffic.h"

#include <math.h>

/* Parts of the rates that stages reach, measured on one core with AVX-512; those of solvers are in
 * mpi/layer/solver_time.c. */
static const double solve_part = 0.5;      /* of dgemv: triangular solves */
static const double evaluation_part = 0.7; /* of dgemm: the source network (evaluation-double) */
static const double evaluation_more = 1.1; /* target, bounds and comparison beside it, times */

/* The matrix whose messages are counted, and the network. */
typedef struct messages {
    const norma_layer_choice *choice;
    const norma_rates *rates;
} messages;

static norma_traffic_layout layout_of(const messages *m, bool single)
{
    return (norma_traffic_layout){.n = m->choice->n_system,
                                  .block = m->choice->block_size,
                                  .grid = m->choice->grid,
                                  .per_node = m->rates->per_node,
                                  .single = single,
                                  .network = m->rates->network};
}

/* Panels travel while ranks multiply. */
static double factor_messages(const void *of, bool single, double compute)
{
    norma_traffic t = {0};
    norma_traffic_layout layout = layout_of(of, single);
    norma_traffic_factor_local(&layout, &t);
    double seconds = fmax(0, t.seconds[NORMA_TRAFFIC_SEND] - compute);
    for (int k = NORMA_TRAFFIC_SEND + 1; k < NORMA_N_TRAFFIC; k++)
        seconds += t.seconds[k];
    return seconds;
}

static double solve_messages(const void *of, bool single)
{
    norma_traffic t = {0};
    norma_traffic_layout layout = layout_of(of, single);
    norma_traffic_solve_local(&layout, &t);
    return t.seconds[NORMA_TRAFFIC_BCAST] + t.seconds[NORMA_TRAFFIC_REDUCE];
}

static double pass_messages(const norma_layer_problem *problem, int n_ranks,
                            const norma_rates *rates)
{
    norma_traffic t = {0};
    norma_traffic_pass_local(norma_khatri_rao_n_rows(&problem->shape), n_ranks, rates->network, &t);
    return t.seconds[NORMA_TRAFFIC_ALLREDUCE];
}

norma_status norma_expect_solve_local(const norma_layer_problem *problem,
                                      const norma_solver_options *options, int n_ranks,
                                      const norma_rates *rates, norma_expected *out)
{
    norma_layer_choice choice = {0};
    NORMA_TRY(norma_layer_choice_make_local(problem, options, n_ranks, &choice));
    messages of = {&choice, rates};
    norma_solver_price price = {.choice = &choice,
                                .problem = problem,
                                .options = options,
                                .dgemm = rates->dgemm,
                                .sgemm = rates->sgemm,
                                .dgemv = rates->dgemv,
                                .n = (double)choice.n_system,
                                .c1 = (double)choice.n_used,
                                .n_ranks = n_ranks,
                                .n_active = (double)choice.grid.n_rows * choice.grid.n_columns,
                                .pass = pass_messages(problem, n_ranks, rates),
                                .closed = choice.n_rows < choice.n_system,
                                .factor_messages = factor_messages,
                                .solve_messages = solve_messages,
                                .messages = &of};
    norma_solver_seconds seconds = {0, 0, 0};
    price.product = norma_khatri_rao_flops(&problem->shape, choice.n_used) /
                    (rates->dgemm * NORMA_SOLVER_PRODUCT_PART * n_ranks);
    price.product += price.pass;
    price.solve = price.n * price.n / (rates->dgemv * solve_part * price.n_active);
    norma_solver_describe(choice.solver)->time(&price, &seconds);
    /* The verdict of the min rule measures diag(gamma2) KR once more. */
    if (problem->width == NORMA_WIDTH_MIN)
        seconds.condition += norma_solver_time_largest_local(&price);
    *out = (norma_expected){.assembly = seconds.assembly,
                            .solution = seconds.solution,
                            .condition = seconds.condition,
                            .total = seconds.assembly + seconds.solution + seconds.condition};
    return NORMA_OK;
}

double norma_expect_evaluation_local(double n_flops, int n_ranks, const norma_rates *rates)
{
    return evaluation_more * n_flops / (evaluation_part * rates->dgemm * n_ranks);
}
