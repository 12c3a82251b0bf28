#include "experiments/bench/output.h"

#include "mpi/runtime/agree.h"
#include "src/base/mem.h"

#include <string.h>

static const char *const units[] = {"flop", "number", "byte", "layer", "run"};
enum { N_UNITS = sizeof units / sizeof units[0] };

/* The figures as columns. */
typedef struct columns {
    int n;
    double rate[NORMA_BENCH_MOST], limit_rate[NORMA_BENCH_MOST], ratio[NORMA_BENCH_MOST];
    double seconds[NORMA_BENCH_MOST];
    int64_t size[NORMA_BENCH_MOST];
    int8_t number[NORMA_BENCH_MOST], limit[NORMA_BENCH_MOST], unit[NORMA_BENCH_MOST];
    const char *names[NORMA_BENCH_MOST];
    const char *limits[NORMA_BENCH_MOST]; /* those that occur */
    int n_limits;
} columns;

static int8_t find(const char *const *list, int n, const char *text)
{
    int i = 0;
    while (i < n && strcmp(list[i], text) != 0)
        i++;
    return (int8_t)i;
}

static void fill_columns(const norma_bench *bench, columns *c)
{
    c->n = bench->n_figures;
    for (int i = 0; i < c->n; i++) {
        const norma_bench_figure *f = &bench->figures[i];
        c->names[i] = f->name;
        c->number[i] = (int8_t)i;
        c->rate[i] = f->rate;
        c->limit_rate[i] = f->limit_rate;
        c->ratio[i] = f->rate / f->limit_rate;
        c->seconds[i] = f->seconds;
        c->size[i] = f->size;
        c->unit[i] = find(units, N_UNITS, f->unit);
        c->limit[i] = find(c->limits, c->n_limits, f->limit);
        if (c->limit[i] == c->n_limits)
            c->limits[c->n_limits++] = f->limit;
    }
}

static norma_status add_figures(norma_result *file, const columns *c)
{
    return norma_schema_add_dimension(file, "/",
                                      &(norma_dimension){.name = "figure",
                                                         .length = c->n,
                                                         .units = "1",
                                                         .long_name = "what was measured",
                                                         .type = NORMA_NAME,
                                                         .values = c->number,
                                                         .names = {c->n, c->names}});
}

static norma_status add_and_write(norma_result *file, const columns *c)
{
    const struct {
        norma_variable about;
        const void *data;
    } variables[] = {
        {{.name = "rate",
          .type = NORMA_FLOAT64,
          .units = "s-1",
          .long_name = "rate of all ranks together, in counts of `unit`"},
         c->rate},
        {{.name = "limit_rate",
          .type = NORMA_FLOAT64,
          .units = "s-1",
          .long_name = "rate of the limit, measured in turn on the same cores"},
         c->limit_rate},
        {{.name = "ratio",
          .type = NORMA_FLOAT64,
          .units = "1",
          .long_name = "rate over that of the limit"},
         c->ratio},
        {{.name = "seconds",
          .type = NORMA_FLOAT64,
          .units = "s",
          .long_name = "time of the fastest turn"},
         c->seconds},
        {{.name = "size", .type = NORMA_INT64, .units = "1", .long_name = "extent of the problem"},
         c->size},
        {{.name = "unit",
          .type = NORMA_NAME,
          .units = "1",
          .long_name = "what is counted",
          .names = {N_UNITS, units}},
         c->unit},
        {{.name = "limit",
          .type = NORMA_NAME,
          .units = "1",
          .long_name = "what the rate is compared with",
          .names = {c->n_limits, c->limits}},
         c->limit},
    };
    enum { N_VARIABLES = sizeof variables / sizeof variables[0] };
    NORMA_TRY(add_figures(file, c));
    for (int i = 0; i < N_VARIABLES; i++) {
        norma_variable variable = variables[i].about;
        variable.dimensions[0] = "figure";
        NORMA_TRY(norma_schema_add_variable(file, "/", &variable));
    }
    NORMA_TRY(norma_result_set_default(file, "/ratio"));
    NORMA_TRY(norma_result_begin(file));
    for (int i = 0; i < N_VARIABLES; i++)
        NORMA_TRY(norma_result_write_replicated(
            file, variables[i].about.name, variables[i].about.type, NULL, NULL, variables[i].data));
    return NORMA_OK;
}

norma_status norma_bench_output_write(const norma_bench *bench, norma_job_context *job)
{
    const norma_job_file about = {.title = "Rates of a machine beside their limits",
                                  .process_grid = "all ranks",
                                  .configuration = job->settings,
                                  .seed = bench->seed};
    columns *c = NULL;
    NORMA_TRY(norma_agree(job->runtime->world, NORMA_CALLOC(c, 1)));
    fill_columns(bench, c);
    norma_status status = norma_job_open(job, &about);
    if (status == NORMA_OK)
        status = add_and_write(job->file, c);
    NORMA_FREE(c);
    return status;
}
