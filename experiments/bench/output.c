#include "experiments/bench/output.h"

#include "io/result/provenance.h"
#include "io/result/result.h"
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
    NORMA_TRY(norma_schema_add_dimension(file, "/",
                                         &(norma_dimension){.name = "figure",
                                                            .length = c->n,
                                                            .units = "1",
                                                            .long_name = "what was measured",
                                                            .type = NORMA_NAME,
                                                            .values = c->number,
                                                            .names = {c->n, c->names}}));
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

norma_status norma_bench_output_write(const norma_bench *bench, const norma_call *call,
                                      const norma_config *config)
{
    MPI_Comm world = call->runtime->world;
    const norma_result_options options = {.force = norma_config_get_flag(config, "force")};
    char *configuration = NULL;
    norma_result *file = NULL;
    columns *c = NULL;
    norma_status status = NORMA_CALLOC(c, 1);
    if (status == NORMA_OK)
        status = norma_config_write(config, &configuration);
    NORMA_GOTO(status, norma_agree(world, status));
    fill_columns(bench, c);
    NORMA_GOTO(status, norma_result_create(world, norma_config_get_text(config, 0, "output"),
                                           &options, &file));
    NORMA_GOTO(status, norma_provenance_write(
                           file, call->runtime,
                           &(norma_provenance){.title = "Rates of a machine beside their limits",
                                               .argc = call->argc,
                                               .argv = call->argv,
                                               .seed = bench->seed,
                                               .process_grid = "all ranks",
                                               .configuration = configuration}));
    NORMA_GOTO(status, add_and_write(file, c));
    status = norma_result_close(&file, NORMA_RESULT_COMPLETE);
done:
    norma_result_abandon(&file);
    norma_mem_free(configuration);
    NORMA_FREE(c);
    return status;
}
