#include "experiments/gradient/pool.h"

#include "experiments/job/sweep_dimensions.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"
#include "mpi/runtime/replicas.h"
#include "src/base/mem.h"
#include "src/gradient/rates.h"
#include "src/stats/moments.h"

#include <math.h>
#include <string.h>

/* Of one cell: arrays over its recorded layers. All owned. */
typedef struct pooled {
    int64_t replicas, n;                    /* n: recorded layers that have a W */
    double *all;                            /* [replicas][n_recorded]: log norms, gathered */
    double *layer;                          /* [n] */
    double *mean, *error, *rms;             /* [n_recorded] */
    double *largest, *sum, *square, *count; /* [n_recorded] */
    double *part;                           /* [2][n_recorded] */
    double rate_log, rate_log_error, rate_square, rate_square_error;
    int64_t n_zero;
} pooled;

static void clear(pooled *p)
{
    double **const arrays[] = {&p->all,     &p->layer, &p->mean,   &p->error, &p->rms,
                               &p->largest, &p->sum,   &p->square, &p->count, &p->part};
    for (size_t i = 0; i < sizeof arrays / sizeof *arrays; i++)
        NORMA_FREE(*arrays[i]);
}

static norma_status init(const norma_gradient_setup *setup, const norma_gradient_cell *cell,
                         pooled *p)
{
    const int64_t n = cell->n_recorded;
    memset(p, 0, sizeof *p);
    p->replicas = setup->n_replicas;
    while (p->n < n && cell->request.layers[p->n] < cell->depth)
        p->n++;
    NORMA_TRY(NORMA_CALLOC(p->all, p->replicas * n));
    double **const rows[] = {&p->layer,   &p->mean, &p->error,  &p->rms,
                             &p->largest, &p->sum,  &p->square, &p->count};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        NORMA_TRY(NORMA_CALLOC(*rows[i], n));
    NORMA_TRY(NORMA_CALLOC(p->part, 2 * n));
    for (int64_t k = 0; k < n; k++)
        p->layer[k] = (double)cell->request.layers[k];
    return NORMA_OK;
}

/* The log norms of all replicas on all ranks. */
static void gather(const norma_gradient_output *output, const norma_gradient_cell *cell, pooled *p)
{
    const int64_t n = cell->n_recorded;
    double n_zero = 0;
    for (int64_t r = 0; r < p->replicas; r++) {
        double *numbers = output->records[cell->number * p->replicas + r];
        if (!numbers)
            continue;
        norma_gradient_record record = norma_gradient_record_view(cell, numbers);
        memcpy(p->all + r * n, record.log_norm, (size_t)n * sizeof *p->all);
        n_zero += record.scalars[NORMA_GRADIENT_N_ZERO];
    }
    norma_replicas_collect(output->runtime->world, p->replicas * n, p->all);
    norma_replicas_collect(output->runtime->world, 1, &n_zero);
    p->n_zero = (int64_t)n_zero;
}

/* The sums of all replicas, without gradients of 0; squares are in units of the largest. */
static void add_up(pooled *p, int64_t n)
{
    for (int64_t k = 0; k < n; k++) {
        p->largest[k] = -INFINITY;
        p->sum[k] = p->square[k] = p->count[k] = 0;
        for (int64_t r = 0; r < p->replicas; r++)
            p->largest[k] = fmax(p->largest[k], p->all[r * n + k]);
        for (int64_t r = 0; r < p->replicas; r++) {
            double x = p->all[r * n + k];
            p->sum[k] += isnan(x) ? 0 : x;
            p->square[k] += isnan(x) ? 0 : exp(2 * (x - p->largest[k]));
            p->count[k] += isnan(x) ? 0 : 1;
        }
    }
}

/* mean[n] of the logarithms and rms[n], the logarithm of the root mean square, without replica
 * `without` (-1: of all); returns by pointers the rates towards the input over the middle three
 * quarters of the layers. */
static void rates(pooled *p, int64_t n, int64_t without, double *of_log, double *of_square)
{
    const int64_t first = p->n / 8;
    const int64_t count = p->n - 2 * first;
    double *mean = without < 0 ? p->mean : p->part;
    double *rms = without < 0 ? p->rms : p->part + n;
    for (int64_t k = 0; k < n; k++) {
        double x = without < 0 ? NAN : p->all[without * n + k];
        double left = p->count[k] - (isnan(x) ? 0 : 1);
        double square = p->square[k] - (isnan(x) ? 0 : exp(2 * (x - p->largest[k])));
        mean[k] = left > 0 ? (p->sum[k] - (isnan(x) ? 0 : x)) / left : NAN;
        rms[k] = left > 0 ? p->largest[k] + 0.5 * log(square / left) : NAN;
    }
    *of_log = -norma_gradient_slope(count, p->layer + first, mean + first);
    *of_square = -norma_gradient_slope(count, p->layer + first, rms + first);
}

static void spread(const pooled *p, int64_t n, int64_t k, double *error)
{
    double square = 0;
    double count = 0;
    for (int64_t r = 0; r < p->replicas; r++) {
        double x = p->all[r * n + k] - p->mean[k];
        square += isnan(x) ? 0 : x * x;
        count += isnan(x) ? 0 : 1;
    }
    *error = count > 1 ? sqrt(square / (count - 1) / count) : NAN;
}

/* Jackknife: leaves out one replica at a time. */
static void errors(pooled *p, int64_t n)
{
    norma_moments of_log;
    norma_moments of_square;
    norma_moments_init(&of_log);
    norma_moments_init(&of_square);
    for (int64_t r = 0; r < p->replicas; r++) {
        double rate[2];
        rates(p, n, r, &rate[0], &rate[1]);
        norma_moments_add(&of_log, rate[0]);
        norma_moments_add(&of_square, rate[1]);
    }
    const double count = (double)p->replicas;
    p->rate_log_error = count > 1 ? sqrt((count - 1) / count * of_log.squares) : NAN;
    p->rate_square_error = count > 1 ? sqrt((count - 1) / count * of_square.squares) : NAN;
}

static norma_status write_statistics(norma_gradient_output *output, const norma_gradient_cell *cell,
                                     const pooled *p)
{
    const struct {
        const char *name;
        const double *values;
        bool along;
    } all[] = {{"log_grad_norm_mean", p->mean, true},
               {"log_grad_norm_stderr", p->error, true},
               {"log_grad_norm_rms", p->rms, true},
               {"rate_of_mean_log", &p->rate_log, false},
               {"rate_of_mean_log_stderr", &p->rate_log_error, false},
               {"rate_of_mean_square", &p->rate_square, false},
               {"rate_of_mean_square_stderr", &p->rate_square_error, false}};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        NORMA_TRY(norma_gradient_output_write_cell_local(output, cell, all[i].name, all[i].along,
                                                         all[i].along ? cell->n_recorded : 1,
                                                         all[i].values));
    return NORMA_OK;
}

static void print_cell(const norma_gradient_output *output, const norma_gradient_cell *cell,
                       const pooled *p)
{
    norma_text where;
    norma_text_init(&where);
    norma_config_describe_cell(output->setup->config, cell->number, &where);
    if (where.data && where.length > 0)
        norma_log_result("# cell %lld: %s", (long long)cell->number, where.data);
    norma_text_clear(&where);
    norma_log_result("%5lld %9lld %13.6g %13.6g %13.6g %9.1e %13.6g %9.1e %7lld",
                     (long long)cell->number, (long long)cell->depth, p->n > 0 ? p->mean[0] : NAN,
                     p->n > 0 ? p->mean[p->n - 1] : NAN, p->rate_log, p->rate_log_error,
                     p->rate_square, p->rate_square_error, (long long)p->n_zero);
}

static norma_status pool_cell(norma_gradient_output *output, const norma_gradient_cell *cell,
                              double *rate)
{
    const int64_t n = cell->n_recorded;
    pooled p;
    norma_status status = norma_agree(output->runtime->world, init(output->setup, cell, &p));
    if (status == NORMA_OK) {
        gather(output, cell, &p);
        add_up(&p, n);
        rates(&p, n, -1, &p.rate_log, &p.rate_square);
        for (int64_t k = 0; k < n; k++)
            spread(&p, n, k, &p.error[k]);
        errors(&p, n);
        *rate = p.rate_log;
        if (output->runtime->rank == 0)
            status = write_statistics(output, cell, &p);
        print_cell(output, cell, &p);
        status = norma_agree(output->runtime->world, status);
    }
    clear(&p);
    return status;
}

/* Fits rate = c1 gain^c2 along the gains of the sweep. On rank 0. */
static norma_status fit_gains(norma_gradient_output *output, const double *rate)
{
    const norma_sweep *sweep = norma_config_get_sweep(output->setup->config);
    int64_t g = 0;
    double *gains = NULL;
    double *along = NULL;
    norma_status status = NORMA_OK;
    while (strcmp(sweep->axes[g].name, "gain") != 0)
        g++;
    const norma_sweep_axis *axis = &sweep->axes[g];
    NORMA_GOTO(status, NORMA_ALLOC(gains, axis->n));
    NORMA_GOTO(status, NORMA_ALLOC(along, axis->n));
    for (int64_t cell = 0; cell < sweep->n_cells; cell++) {
        int64_t start[NORMA_MAX_DIMENSIONS];
        double c[2];
        norma_sweep_get_indices(sweep, cell, start);
        if (start[g] != 0)
            continue;
        for (int64_t i = 0; i < axis->n; i++) {
            gains[i] =
                norma_config_get_real(output->setup->config, cell + i * axis->stride, "gain");
            along[i] = rate[cell + i * axis->stride];
        }
        for (int64_t i = g; i + 1 < sweep->n_axes; i++)
            start[i] = start[i + 1];
        norma_gradient_power_law(axis->n, gains, along, &c[0], &c[1]);
        NORMA_GOTO(status, norma_result_write_local(output->file, "rate_fit_c1", NORMA_FLOAT64,
                                                    start, NULL, &c[0]));
        NORMA_GOTO(status, norma_result_write_local(output->file, "rate_fit_c2", NORMA_FLOAT64,
                                                    start, NULL, &c[1]));
        norma_log_result("# rate = %.6g gain^%.6g over %lld gains from cell %lld on", c[0], c[1],
                         (long long)axis->n, (long long)cell);
    }
done:
    NORMA_FREE(along);
    NORMA_FREE(gains);
    return status;
}

norma_status norma_gradient_pool(norma_gradient_output *output)
{
    const norma_gradient_setup *setup = output->setup;
    double *rate = NULL;
    norma_status status = NORMA_CALLOC(rate, setup->n_cells);
    NORMA_TRY(norma_agree(output->runtime->world, status));
    norma_log_result("# cell     depth   first layer    last layer      rate log    stderr   rate "
                     "square    stderr   zeros");
    for (int64_t i = 0; i < setup->n_cells && status == NORMA_OK; i++)
        status = pool_cell(output, &setup->cells[i], &rate[i]);
    if (status == NORMA_OK && norma_sweep_dimensions_has(setup->config, "gain"))
        status = norma_agree(output->runtime->world,
                             output->runtime->rank == 0 ? fit_gains(output, rate) : NORMA_OK);
    norma_mem_free(rate);
    return status;
}
