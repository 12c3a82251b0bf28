#include "mpi/layer/layer_groups.h"

#include "mpi/linalg/replicated.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"
#include "src/base/index.h"
#include "src/base/mem.h"

#include <math.h>
#include <stddef.h>
#include <string.h>

typedef struct work {
    MPI_Comm comm;
    int rank, size;
    int64_t n_groups;
    const norma_layer_problem *problems;
    int64_t c1, c2, n;          /* of a group: features, output channels, entries of the kernel */
    norma_layer_solution *each; /* [n_groups], without arrays; owned */
    int *counts, *starts;       /* [size]: groups of the ranks, then of the array at hand; owned */
} work;

int64_t norma_layer_groups_most_local(int64_t n_groups, int n_ranks)
{
    return norma_index_ceil_divide(n_groups, n_ranks);
}

norma_status norma_layer_groups_estimate_local(int64_t n_groups, const norma_layer_problem *problem,
                                               const norma_solver_options *options, int n_ranks,
                                               norma_layer_estimate *out)
{
    if (n_groups == 1)
        return norma_layer_solve_estimate_local(problem, options, n_ranks, out);
    double groups = (double)n_groups;
    NORMA_TRY(norma_layer_solve_estimate_local(problem, options, 1, out));
    double numbers = (double)problem->n_features + (double)problem->shape.n_channels_out +
                     (double)norma_khatri_rao_n_rows(&problem->shape);
    out->bytes += groups * (8 * numbers + (double)sizeof(norma_layer_solution));
    out->flops *= groups;
    out->n_rows *= n_groups;
    out->n_minimum *= n_groups;
    out->n_idle = n_groups < n_ranks ? n_ranks - (int)n_groups : 0;
    return NORMA_OK;
}

static norma_status prepare_local(work *w, norma_layer_solution *all)
{
    int ignored = 0;
    const norma_layer_problem *p = w->problems;
    w->c1 = p->n_features;
    w->c2 = p->shape.n_channels_out;
    w->n = norma_khatri_rao_n_rows(&p->shape);
    int64_t longest = w->n > w->c1 ? w->n : w->c1;
    NORMA_TRY(norma_index_multiply(longest, w->n_groups, "kernel entries of all groups", &longest));
    NORMA_TRY(norma_index_to_int(longest, "kernel entries of all groups", &ignored));
    NORMA_TRY(
        norma_index_to_int(w->n_groups * (int64_t)sizeof *w->each, "groups of channels", &ignored));
    NORMA_TRY(NORMA_CALLOC(w->each, w->n_groups));
    NORMA_TRY(NORMA_ALLOC(w->counts, w->size));
    NORMA_TRY(NORMA_ALLOC(w->starts, w->size));
    NORMA_TRY(NORMA_CALLOC(all->gamma1, w->n_groups * w->c1));
    NORMA_TRY(NORMA_CALLOC(all->gamma2, w->n_groups * w->c2));
    return NORMA_CALLOC(all->kernel, w->n_groups * w->n);
}

/* Solves one group on this rank. */
static norma_status solve_one(work *w, const norma_solver_options *options, int64_t g,
                              norma_layer_solution *all)
{
    norma_layer_solution s;
    NORMA_TRY(norma_layer_solve(MPI_COMM_SELF, &w->problems[g], options, &s));
    memcpy(all->gamma1 + g * w->c1, s.gamma1, (size_t)w->c1 * sizeof(double));
    memcpy(all->gamma2 + g * w->c2, s.gamma2, (size_t)w->c2 * sizeof(double));
    memcpy(all->kernel + g * w->n, s.kernel, (size_t)w->n * sizeof(double));
    w->each[g] = s;
    w->each[g].gamma1 = w->each[g].gamma2 = w->each[g].kernel = NULL;
    norma_layer_solution_clear(&s);
    return NORMA_OK;
}

/* This rank's groups. Only the first one speaks: the others would repeat it. */
static norma_status solve_share_local(work *w, const norma_solver_options *options,
                                      norma_layer_solution *all)
{
    norma_status status = NORMA_OK;
    norma_log_level level = norma_log_level_local();
    int64_t first = 0;
    int64_t count = norma_index_share(w->n_groups, w->size, w->rank, &first);
    for (int64_t g = first; g < first + count && status == NORMA_OK; g++) {
        status = solve_one(w, options, g, all);
        if (status != NORMA_OK)
            status = norma_status_context(status, "group %lld of %lld: ", (long long)g,
                                          (long long)w->n_groups);
        norma_log_set_level_local(NORMA_LOG_QUIET);
    }
    norma_log_set_level_local(level);
    return status;
}

/* Every group's `length` elements to every rank. */
static void gather(work *w, int64_t length, MPI_Datatype type, void *values)
{
    for (int r = 0; r < w->size; r++) {
        int64_t first = 0;
        w->counts[r] = (int)(norma_index_share(w->n_groups, w->size, r, &first) * length);
        w->starts[r] = (int)(first * length);
    }
    MPI_Allgatherv(MPI_IN_PLACE, 0, MPI_DATATYPE_NULL, values, w->counts, w->starts, type, w->comm);
}

/* Root mean square over the groups of a member of their solutions. */
static double mean_square(const work *w, size_t member)
{
    double sum = 0;
    for (int64_t g = 0; g < w->n_groups; g++) {
        double x = *(const double *)((const char *)&w->each[g] + member);
        sum += x * x;
    }
    return sqrt(sum / (double)w->n_groups);
}

/* Counts and worst cases. What was not computed stays NaN. */
static void join(const work *w, norma_layer_solution *all)
{
    for (int64_t g = 0; g < w->n_groups; g++) {
        const norma_layer_solution *s = &w->each[g];
        all->n_rows += s->n_rows;
        all->n_minimum += s->n_minimum;
        all->n_features += s->n_features;
        all->n_used += s->n_used;
        all->numerical_rank += s->numerical_rank;
        all->least_squares |= s->least_squares;
        all->iterations = s->iterations > all->iterations ? s->iterations : all->iterations;
        all->stopping = s->stopping > all->stopping ? s->stopping : all->stopping;
        all->max_error = fmax(all->max_error, s->max_error);
        all->relative_gradient = fmax(all->relative_gradient, s->relative_gradient);
        if (!(s->condition_number <= all->condition_number)) {
            all->condition_number = fmax(all->condition_number, s->condition_number);
            all->condition_error = s->condition_error;
        }
        all->condition_number_solved =
            fmax(all->condition_number_solved, s->condition_number_solved);
        all->sigma_max = fmax(all->sigma_max, s->sigma_max);
        all->sigma_min = fmin(all->sigma_min, s->sigma_min);
        all->max_abs_gamma = fmax(all->max_abs_gamma, s->max_abs_gamma);
    }
    all->rmse = mean_square(w, offsetof(norma_layer_solution, rmse));
    all->floor = mean_square(w, offsetof(norma_layer_solution, floor));
    all->rmse_single = mean_square(w, offsetof(norma_layer_solution, rmse_single));
}

/* Times of the slowest rank. */
static void join_times(const work *w, norma_layer_solution *all)
{
    double flops = 0;
    for (int r = 0; r < w->size; r++) {
        double seconds[3] = {0, 0, 0};
        int64_t first = 0;
        int64_t count = norma_index_share(w->n_groups, w->size, r, &first);
        for (int64_t g = first; g < first + count; g++) {
            const norma_layer_solution *s = &w->each[g];
            seconds[0] += s->seconds;
            seconds[1] += s->seconds_assembly;
            seconds[2] += s->seconds_condition;
            flops += 1e9 * s->gflops * s->seconds;
        }
        all->seconds = fmax(all->seconds, seconds[0]);
        all->seconds_assembly = fmax(all->seconds_assembly, seconds[1]);
        all->seconds_condition = fmax(all->seconds_condition, seconds[2]);
    }
    all->gflops = flops / all->seconds / 1e9;
}

/* The norm of the kernel's error over that of the target, of all groups together. */
static double relative_residual(const work *w, double rmse)
{
    double size = 0;
    for (int64_t g = 0; g < w->n_groups; g++)
        size = hypot(size, norma_replicated_norm_local(w->problems[g].target, w->n));
    return size > 0 ? rmse * sqrt((double)(w->n_groups * w->n)) / size : 0;
}

/* Prints one warning for all groups, since only the first one prints its own. */
static void warn(const work *w)
{
    int64_t n = 0;
    for (int64_t g = 0; g < w->n_groups; g++) {
        const norma_layer_solution *s = &w->each[g];
        bool states = norma_solver_describe(s->solver)->states_answer && !s->least_squares;
        n += (s->least_squares && s->relative_residual > 1) || (states && s->rmse > s->floor);
    }
    if (n > 0)
        norma_log_warning("%lld of %lld groups have answers that are far from their targets, or "
                          "above the floor of double precision",
                          (long long)n, (long long)w->n_groups);
}

static void release(work *w)
{
    NORMA_FREE(w->each);
    NORMA_FREE(w->counts);
    NORMA_FREE(w->starts);
}

norma_status norma_layer_groups_solve(MPI_Comm comm, int64_t n_groups,
                                      const norma_layer_problem *problems,
                                      const norma_solver_options *options,
                                      norma_layer_solution *solution)
{
    work w = {.comm = comm, .n_groups = n_groups, .problems = problems};
    norma_layer_solution all = {.condition_number = NAN,
                                .condition_number_solved = NAN,
                                .condition_error = NAN,
                                .relative_gradient = NAN,
                                .sigma_max = NAN,
                                .sigma_min = NAN,
                                .grid_rows = 1,
                                .grid_columns = 1};
    if (n_groups == 1)
        return norma_layer_solve(comm, problems, options, solution);
    MPI_Comm_rank(comm, &w.rank);
    MPI_Comm_size(comm, &w.size);
    norma_status status = norma_agree(comm, prepare_local(&w, &all));
    if (status != NORMA_OK)
        goto done;
    NORMA_GOTO(status, norma_agree(comm, solve_share_local(&w, options, &all)));
    gather(&w, (int64_t)sizeof *w.each, MPI_BYTE, w.each);
    gather(&w, w.c1, MPI_DOUBLE, all.gamma1);
    gather(&w, w.c2, MPI_DOUBLE, all.gamma2);
    gather(&w, w.n, MPI_DOUBLE, all.kernel);
    all.solver = w.each[0].solver;
    all.n_idle = n_groups < w.size ? w.size - (int)n_groups : 0;
    join(&w, &all);
    join_times(&w, &all);
    all.relative_residual = relative_residual(&w, all.rmse);
    warn(&w);
    *solution = all;
done:
    if (status != NORMA_OK)
        norma_layer_solution_clear(&all);
    release(&w);
    return status;
}
