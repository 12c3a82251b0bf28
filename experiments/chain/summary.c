#include "experiments/chain/summary.h"

#include "experiments/job/sweep_dimensions.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"
#include "mpi/runtime/replicas.h"
#include "src/base/mem.h"
#include "src/stats/ergodic.h"

#include <math.h>
#include <stdbool.h>
#include <stdio.h>

enum { NAME_LENGTH = 96 };

/* Numbers of an average: mean, error, tau, ess, then count, mean, squares of both halves. */
enum { MEAN, ERROR, TAU, ESS, HALVES, N_NUMBERS = HALVES + 6 };

/* The numbers of a replica: rows of averages [n_rows][N_NUMBERS] (the observables' values, the
 * regularity constant, Lyapunov exponents), then what single precision costs the values, [2][n]:
 * the largest difference and the relative one. */
static int64_t n_rows(const norma_chain_layout *layout)
{
    return layout->n_values + 1 + layout->n_exponents;
}

static int64_t n_differences(const norma_chain_layout *layout)
{
    return 2 * layout->n_compared_values;
}

static void put_average(const norma_chain_average *average, double *numbers)
{
    numbers[MEAN] = average->result.mean;
    numbers[ERROR] = average->result.standard_error;
    numbers[TAU] = average->result.tau;
    numbers[ESS] = average->result.ess;
    for (int half = 0; half < 2; half++) {
        numbers[HALVES + 3 * half] = (double)average->halves[half].count;
        numbers[HALVES + 3 * half + 1] = average->halves[half].mean;
        numbers[HALVES + 3 * half + 2] = average->halves[half].squares;
    }
}

norma_status norma_chain_summary_keep(norma_chain_output *output, const norma_chain_layout *layout,
                                      int64_t task, int64_t lane,
                                      const norma_chain_outcome *outcome)
{
    int64_t n = n_rows(layout) * N_NUMBERS + n_differences(layout);
    if (output->n_summaries + n > output->capacity) {
        int64_t larger = 2 * (output->n_summaries + n);
        double *grown = norma_mem_resize(output->summaries, output->n_summaries, larger,
                                         sizeof *grown, __FILE__, __LINE__);
        if (!grown)
            return NORMA_MEMORY;
        output->summaries = grown;
        output->capacity = larger;
    }
    double *at = output->summaries + output->n_summaries;
    for (int64_t i = 0; i < n; i++)
        at[i] = 0;
    for (int64_t v = 0; v < layout->n_values; v++, at += N_NUMBERS)
        put_average(&outcome->averages[v * layout->lanes + lane], at);
    at[MEAN] = outcome->regularity[lane];
    at[ERROR] = outcome->regularity[layout->lanes + lane];
    at += N_NUMBERS;
    for (int64_t k = 0; k < layout->n_exponents; k++, at += N_NUMBERS) {
        at[MEAN] = outcome->exponents[k * layout->lanes + lane];
        at[ERROR] = NAN; /* replicas tell */
    }
    for (int64_t i = 0; i < n_differences(layout); i++)
        at[i] = outcome->differences[i];
    output->summary_at[task] = output->n_summaries;
    output->n_summaries += n;
    return NORMA_OK;
}

/* The first replica of a cell, as a task. */
static int64_t first_task(const norma_chain_output *output, const norma_chain_cell *cell)
{
    return cell->number * output->setup->n_replicas;
}

/* all[rows][replicas][N_NUMBERS] of a cell on all ranks. */
static void gather(const norma_chain_output *output, const norma_chain_cell *cell,
                   const norma_chain_layout *layout, double *all)
{
    int64_t replicas = output->setup->n_replicas;
    int64_t rows = n_rows(layout);
    for (int64_t i = 0; i < rows * replicas * N_NUMBERS; i++)
        all[i] = 0;
    for (int64_t r = 0; r < replicas; r++) {
        int64_t at = output->summary_at[first_task(output, cell) + r];
        for (int64_t row = 0; at >= 0 && row < rows; row++)
            for (int i = 0; i < N_NUMBERS; i++)
                all[(row * replicas + r) * N_NUMBERS + i] =
                    output->summaries[at + row * N_NUMBERS + i];
    }
    norma_replicas_collect(output->runtime->world, rows * replicas * N_NUMBERS, all);
}

/* differences[2][n_compared_values] of a cell, from its replica 0, on all ranks. */
static void gather_differences(const norma_chain_output *output, const norma_chain_cell *cell,
                               const norma_chain_layout *layout, double *differences)
{
    const int64_t n = n_differences(layout);
    const int64_t at = output->summary_at[first_task(output, cell)];
    const int64_t begin = at + n_rows(layout) * N_NUMBERS;
    for (int64_t i = 0; i < n; i++)
        differences[i] = at >= 0 ? output->summaries[begin + i] : 0;
    norma_replicas_collect(output->runtime->world, n, differences);
}

/* One row of all replicas. */
typedef struct row_room {
    norma_ergodic_result *averages; /* [replicas] */
    norma_moments *halves;          /* [2 replicas] */
} row_room;

/* Replicas whose R-hat is above this disagree by more than their errors. */
#define MIXED_RHAT 1.05

/* Pools a row of `all`, numbers[replicas][N_NUMBERS]. */
static norma_ergodic_pooled pool(const double *numbers, int64_t replicas, const row_room *room)
{
    for (int64_t r = 0; r < replicas; r++) {
        const double *x = numbers + r * N_NUMBERS;
        room->averages[r] = (norma_ergodic_result){
            .mean = x[MEAN], .standard_error = x[ERROR], .tau = x[TAU], .ess = x[ESS]};
        for (int h = 0; h < 2; h++)
            room->halves[2 * r + h] = (norma_moments){.count = (int64_t)x[HALVES + 3 * h],
                                                      .mean = x[HALVES + 3 * h + 1],
                                                      .squares = x[HALVES + 3 * h + 2]};
    }
    return norma_ergodic_pool(replicas, room->averages, room->halves);
}

static norma_status write_one(norma_chain_output *output, const norma_chain_cell *cell,
                              const char *base, const char *suffix, int64_t inner, double value)
{
    char name[NAME_LENGTH];
    int64_t start[NORMA_MAX_DIMENSIONS];
    snprintf(name, sizeof name, "%s_%s", base, suffix);
    norma_sweep_dimensions_index(output->setup->config, cell->number, &inner, 1, start);
    return norma_result_write_replicated(output->file, name, NORMA_FLOAT64, start, NULL, &value);
}

static void print_row(const norma_chain_cell *cell, const char *name, const char *of,
                      const norma_ergodic_pooled *p)
{
    bool undefined = p->counted && isnan(p->mean);
    norma_log_result("%5lld %24s %10s %14.7g %10.2e %9.3g %9.3g %8.5f%s%s%s",
                     (long long)cell->number, name, of, p->mean, p->error, p->tau, p->ess, p->rhat,
                     undefined ? "  undefined" : "",
                     undefined || p->ess >= NORMA_ERGODIC_MIN_TIMES ? "" : "  too-short",
                     p->rhat > MIXED_RHAT ? "  not-mixed" : "");
}

/* The observables' rows of a cell, from all[rows][replicas][N_NUMBERS]. */
static norma_status report_observables(norma_chain_output *output, const norma_chain_cell *cell,
                                       const norma_chain_layout *layout, const double *all,
                                       const row_room *room)
{
    int64_t replicas = output->setup->n_replicas;
    for (int o = 0; o < NORMA_N_OBSERVABLES; o++)
        for (int64_t v = 0; v < layout->n_of[o]; v++) {
            const char *base = norma_observable_name((norma_observable)o);
            int64_t row = layout->offset[o] + v;
            norma_ergodic_pooled p = pool(all + row * replicas * N_NUMBERS, replicas, room);
            char of[NORMA_OBSERVABLE_LABEL];
            norma_observable_label((norma_observable)o, &cell->request, v, of);
            NORMA_TRY(write_one(output, cell, base, "rhat", v, p.rhat));
            NORMA_TRY(write_one(output, cell, base, "pooled_mean", v, p.mean));
            NORMA_TRY(write_one(output, cell, base, "pooled_stderr", v, p.error));
            print_row(cell, base, of, &p);
        }
    return NORMA_OK;
}

/* A value that is no average of an observable: into the file and on the terminal. */
static norma_status report_other(norma_chain_output *output, const norma_chain_cell *cell,
                                 const char *base, const char *of, int64_t inner,
                                 const norma_ergodic_pooled *p)
{
    NORMA_TRY(write_one(output, cell, base, "pooled_mean", inner, p->mean));
    NORMA_TRY(write_one(output, cell, base, "pooled_stderr", inner, p->error));
    norma_log_result("%5lld %24s %10s %14.7g %10.2e", (long long)cell->number, base, of, p->mean,
                     p->error);
    return NORMA_OK;
}

static norma_status report_others(norma_chain_output *output, const norma_chain_cell *cell,
                                  const norma_chain_layout *layout, const double *all,
                                  const row_room *room)
{
    int64_t replicas = output->setup->n_replicas;
    const double *at = all + layout->n_values * replicas * N_NUMBERS;
    norma_ergodic_pooled p = pool(at, replicas, room);
    if (layout->n_of[NORMA_OBSERVABLE_TR_M3] > 0 && layout->n_of[NORMA_OBSERVABLE_TR_DIAG2] > 0)
        NORMA_TRY(report_other(output, cell, "regularity_alpha", "-", 0, &p));
    for (int64_t k = 0; k < layout->n_exponents; k++) {
        char of[NAME_LENGTH];
        snprintf(of, sizeof of, "k=%lld", (long long)k + 1);
        p = pool(at + (1 + k) * replicas * N_NUMBERS, replicas, room);
        NORMA_TRY(report_other(output, cell, "lyapunov", of, k, &p));
    }
    return NORMA_OK;
}

/* Prints the error of single precision of each observable: differences[2][n_compared_values]. */
static void print_differences(const norma_chain_cell *cell, const norma_chain_layout *layout,
                              const double *differences)
{
    norma_log_result("# single precision, the same %lld layers of replica 0 in double:",
                     (long long)cell->n_compared);
    norma_log_result("# cell               observable         of    difference   relative");
    for (int o = 0; o < NORMA_N_OBSERVABLES; o++)
        for (int64_t v = 0; v < layout->n_of[o]; v++) {
            const double *row = differences + layout->offset[o] + v;
            char of[NORMA_OBSERVABLE_LABEL];
            norma_observable_label((norma_observable)o, &cell->request, v, of);
            norma_log_result("%5lld %24s %10s %13.3e %10.2e", (long long)cell->number,
                             norma_observable_name((norma_observable)o), of, row[0],
                             row[layout->n_compared_values]);
        }
}

static norma_status pool_cell(norma_chain_output *output, const norma_chain_cell *cell)
{
    norma_chain_layout layout;
    double *all = NULL;
    double *differences = NULL;
    row_room room = {0};
    int64_t replicas = output->setup->n_replicas;
    norma_chain_layout_init(output->setup, cell, 1, &layout);
    norma_status status = NORMA_ALLOC(all, n_rows(&layout) * replicas * N_NUMBERS);
    if (status == NORMA_OK)
        status = NORMA_ALLOC(room.averages, replicas);
    if (status == NORMA_OK)
        status = NORMA_ALLOC(room.halves, 2 * replicas);
    if (status == NORMA_OK)
        status = NORMA_ALLOC(differences, n_differences(&layout));
    status = norma_agree(output->runtime->world, status);
    if (status == NORMA_OK) {
        gather(output, cell, &layout, all);
        status = report_observables(output, cell, &layout, all, &room);
    }
    if (status == NORMA_OK)
        status = report_others(output, cell, &layout, all, &room);
    if (status == NORMA_OK && layout.n_compared_values > 0) {
        gather_differences(output, cell, &layout, differences);
        print_differences(cell, &layout, differences);
    }
    norma_mem_free(differences);
    norma_mem_free(room.halves);
    norma_mem_free(room.averages);
    norma_mem_free(all);
    return status;
}

norma_status norma_chain_output_pool(norma_chain_output *output)
{
    const norma_chain_setup *setup = output->setup;
    if (!setup->averages)
        return NORMA_OK;
    norma_log_result("# cell               observable         of           mean     stderr   "
                     "tau_int       ess     rhat");
    for (int64_t i = 0; i < setup->n_cells; i++) {
        norma_text where;
        norma_text_init(&where);
        norma_config_describe_cell(setup->config, i, &where);
        if (where.data && where.length > 0)
            norma_log_result("# cell %lld: %s", (long long)i, where.data);
        norma_text_clear(&where);
        NORMA_TRY(pool_cell(output, &setup->cells[i]));
    }
    return NORMA_OK;
}
