/* A program for the script tests: writes a result file that has one of everything.
 *     write_result FILE [--force] [--values N] [--whole]
 * N doubles (default 1000) go into /large, spread over the ranks, on one axis of that length;
 * --whole leaves out the pass that fills it. Exit codes and messages are those of the runtime. */
#include "io/result/provenance.h"
#include "io/result/result.h"
#include "src/base/index.h"
#include "src/base/mem.h"

#include <stdlib.h>
#include <string.h>

enum { N_REPLICAS = 3, N_LAYERS = 4, N_TAU = 2, N_FEATURES = 7 };

typedef struct arguments {
    const char *path;
    bool force, whole;
    int64_t n_values;
} arguments;

static norma_status parse(int argc, char **argv, arguments *a)
{
    *a = (arguments){.n_values = 1000};
    for (int i = 1; i < argc; i++) {
        if (strcmp(argv[i], "--force") == 0)
            a->force = true;
        else if (strcmp(argv[i], "--whole") == 0)
            a->whole = true;
        else if (strcmp(argv[i], "--values") == 0 && i + 1 < argc)
            a->n_values = strtoll(argv[++i], NULL, 10);
        else
            a->path = argv[i];
    }
    return a->path ? NORMA_OK : NORMA_FAIL(NORMA_USAGE, "write_result FILE [--force] ...");
}

static norma_status add_axes(norma_result *file, const arguments *a)
{
    static const int32_t numbers[] = {0, 1, 2, 3};
    static const double taus[N_TAU] = {0.25, 0.5};
    static const char *const distributions[] = {"he-normal", "orthogonal"};
    static const int8_t chosen[] = {1, 0};
    const norma_dimension axes[] = {
        {.name = "source_dist",
         .length = 2,
         .units = "1",
         .long_name = "source distribution",
         .type = NORMA_NAME,
         .values = chosen,
         .names = {2, distributions}},
        {.name = "replica",
         .length = N_REPLICAS,
         .units = "1",
         .long_name = "replica",
         .type = NORMA_INT32,
         .values = numbers},
        {.name = "layer",
         .length = N_LAYERS,
         .units = "1",
         .long_name = "layer of the target",
         .type = NORMA_INT32,
         .values = numbers},
        {.name = "tau",
         .length = N_TAU,
         .units = "1",
         .long_name = "threshold",
         .type = NORMA_FLOAT64,
         .values = taus},
        {.name = "index",
         .length = a->n_values,
         .units = "1",
         .long_name = "number of the value",
         .type = NORMA_INT32},
    };
    for (size_t i = 0; i < sizeof axes / sizeof axes[0]; i++)
        NORMA_TRY(norma_schema_add_dimension(file, "/", &axes[i]));
    NORMA_TRY(norma_schema_add_group(file, "/layers/000"));
    const norma_dimension feature = {.name = "feature",
                                     .length = N_FEATURES,
                                     .units = "1",
                                     .long_name = "feature",
                                     .type = NORMA_INT32};
    return norma_schema_add_dimension(file, "/layers/000", &feature);
}

static norma_status add(norma_result *file, const char *name, norma_type type, const char *units,
                        norma_schema_names names, const char *const axes[4])
{
    norma_variable variable = {
        .name = name, .type = type, .units = units, .long_name = "what it is", .names = names};
    for (int i = 0; i < 4; i++)
        variable.dimensions[i] = axes[i];
    return norma_schema_add_variable(file, "/", &variable);
}

static norma_status add_variables(norma_result *file, const arguments *a)
{
    static const char *const solvers[] = {"lu", "krylov"};
    static const char *const answers[] = {"false", "true"};
    static const char *const by_layer[4] = {"replica", "layer"};
    static const char *const layers[4] = {"layer"};
    static const char *const replicas[4] = {"replica"};
    static const char *const scalar[4] = {NULL};
    static const char *const swept[4] = {"source_dist", "replica", "tau", "layer"};
    const norma_schema_names none = {0, NULL};
    NORMA_TRY(add(file, "rmse", NORMA_FLOAT64, "1", none, by_layer));
    NORMA_TRY(add(file, "seconds", NORMA_FLOAT32, "s", none, by_layer));
    NORMA_TRY(add(file, "iterations", NORMA_INT32, "1", none, by_layer));
    NORMA_TRY(add(file, "n_steps", NORMA_INT64, "1", none, layers));
    NORMA_TRY(add(file, "solver", NORMA_NAME, "1", (norma_schema_names){2, solvers}, by_layer));
    NORMA_TRY(add(file, "done", NORMA_NAME, "1", (norma_schema_names){2, answers}, replicas));
    NORMA_TRY(add(file, "accuracy", NORMA_FLOAT64, "1", none, scalar));
    NORMA_TRY(add(file, "soft_rank", NORMA_FLOAT64, "1", none, swept));
    NORMA_TRY(norma_schema_add_variable(file, "/",
                                        &(norma_variable){.name = "large",
                                                          .type = NORMA_FLOAT64,
                                                          .written_whole = a->whole,
                                                          .dimensions = {"index"},
                                                          .units = "1",
                                                          .long_name = "many values"}));
    return norma_schema_add_variable(file, "/layers/000",
                                     &(norma_variable){.name = "gamma1",
                                                       .type = NORMA_FLOAT64,
                                                       .dimensions = {"feature"},
                                                       .units = "1",
                                                       .long_name = "scales"});
}

static norma_status write_small(norma_result *file)
{
    static const float seconds[N_REPLICAS * N_LAYERS] = {1, 2, 3, 4, 5, 6};
    static const int8_t solver = 1;
    static const int32_t iterations = 12;
    static const int64_t steps[N_LAYERS] = {1, 1LL << 40, 3, 4};
    static const double accuracy = 0.915;
    static const double gamma[N_FEATURES] = {1, 2, 3, 4, 5, 6, 7};
    static const double rmse[N_LAYERS] = {1e-16, 2e-16, 3e-16, 4e-16};
    NORMA_TRY(norma_result_write_replicated(file, "/seconds", NORMA_FLOAT32, NULL, NULL, seconds));
    NORMA_TRY(norma_result_write_replicated(file, "/solver", NORMA_NAME, (int64_t[]){1, 2}, NULL,
                                            &solver));
    NORMA_TRY(norma_result_write_replicated(file, "/iterations", NORMA_INT32, (int64_t[]){1, 2},
                                            NULL, &iterations));
    NORMA_TRY(norma_result_write_replicated(file, "/n_steps", NORMA_INT64, NULL, NULL, steps));
    NORMA_TRY(
        norma_result_write_replicated(file, "/accuracy", NORMA_FLOAT64, NULL, NULL, &accuracy));
    NORMA_TRY(norma_result_write_replicated(file, "/rmse", NORMA_FLOAT64, (int64_t[]){1, 0},
                                            (int64_t[]){1, N_LAYERS}, rmse));
    return norma_result_write_replicated(file, "/layers/000/gamma1", NORMA_FLOAT64, NULL, NULL,
                                         gamma);
}

static norma_status write_large(norma_result *file, const norma_runtime *runtime, int64_t n_values)
{
    int64_t first = 0;
    double *values = NULL;
    int64_t n = norma_index_share(n_values, runtime->size, runtime->rank, &first);
    NORMA_TRY(NORMA_ALLOC(values, n));
    for (int64_t i = 0; i < n; i++)
        values[i] = (double)(first + i);
    norma_status status = norma_result_write(file, "/large", NORMA_FLOAT64, &first, &n, values);
    norma_mem_free(values);
    return status;
}

static norma_status write_file(const norma_runtime *runtime, const arguments *a, int argc,
                               char **argv)
{
    norma_result *file = NULL;
    NORMA_TRY(norma_result_create(runtime->world, a->path,
                                  &(norma_result_options){.force = a->force}, &file));
    norma_status status =
        norma_provenance_write(file, runtime,
                               &(norma_provenance){.title = "One of everything",
                                                   .argc = argc,
                                                   .argv = argv,
                                                   .seed = UINT64_MAX,
                                                   .process_grid = "1 x 1",
                                                   .configuration = "reconstruct:\n  seed: 1\n"});
    if (status == NORMA_OK)
        status = add_axes(file, a);
    if (status == NORMA_OK)
        status = add_variables(file, a);
    if (status == NORMA_OK)
        status = norma_result_set_default(file, "/rmse");
    if (status == NORMA_OK)
        status = norma_result_begin(file);
    if (status == NORMA_OK)
        status = write_small(file);
    if (status == NORMA_OK)
        status = write_large(file, runtime, a->n_values);
    if (status != NORMA_OK) {
        norma_result_abandon(&file);
        return status;
    }
    return norma_result_close(&file, NORMA_RESULT_COMPLETE);
}

int main(int argc, char **argv)
{
    norma_runtime *runtime = NULL;
    arguments a;
    norma_status status = norma_runtime_open(&argc, &argv, &runtime);
    if (!runtime)
        return norma_status_exit_code(status);
    if (status == NORMA_OK)
        status = parse(argc, argv, &a);
    if (status == NORMA_OK)
        status = write_file(runtime, &a, argc, argv);
    return norma_runtime_close(&runtime, status);
}
