/*
 * norma bench: how fast is this machine at what Norma does?
 *
 * Every rate is measured beside the limit it is compared with, on the same cores in the same run:
 * BLAS products, memory, random numbers, assembly, solvers, network evaluation, chains, files. All
 * ranks work at once.
 *     mpirun -q -n 2 norma bench --quick
 */
#include "experiments/bench/file.h"
#include "experiments/bench/output.h"
#include "experiments/job/job.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"
#include "src/config/config_common.h"

#include <math.h>
#include <string.h>

/* Bytes that each rank writes. */
static const int64_t n_bytes = INT64_C(256) << 20;
static const int64_t n_bytes_quick = INT64_C(32) << 20;

static const char *const parts[] = {"gemm",   "memory", "random",   "assembly",   "dense", "small",
                                    "krylov", "chain",  "gradient", "evaluation", "hdf5",  NULL};

static const norma_option options[] = {
    {.name = "quick",
     .type = NORMA_OPTION_FLAG,
     .group = "Measurement",
     .help = "Small sizes: ends within a minute on two cores, rates below those of large ones."},
    {.name = "only",
     .type = NORMA_OPTION_CHOICE,
     .many = NORMA_LIST,
     .group = "Measurement",
     .placeholder = "LIST",
     .choices = parts,
     .unset_text = "all of them",
     .help = "What to measure."},
    {.name = "size",
     .type = NORMA_OPTION_INTEGER,
     .group = "Measurement",
     .unset_text = "8000 (quick: 2000) times the square root of the cores in use",
     .unit = "equations",
     .min = NORMA_AT_LEAST(4),
     .max = NORMA_AT_MOST(1e6),
     .help = "Equations of the dense systems; the next lower square number is taken."},
    {.name = "channels",
     .type = NORMA_OPTION_INTEGER,
     .group = "Measurement",
     .unset_text = "32 (quick: 16)",
     .unit = "channels",
     .min = NORMA_AT_LEAST(1),
     .max = NORMA_AT_MOST(1024),
     .help = "Channels of the 3 x 3 convolution for krylov and evaluation."},
    {.name = "seconds",
     .type = NORMA_OPTION_DURATION,
     .group = "Measurement",
     .unset_text = "4 s (quick: 0.5 s)",
     .help = "Time for each figure, about: what takes longer runs once."},
    NORMA_OPTION_END,
};

static const norma_option *const tables[] = {options, norma_config_run_options, NULL};

static const norma_command command = {
    .name = "bench",
    .description = "Measures rates of what Norma does, each beside the limit it is compared with, "
                   "in one run on the same cores, and prints and writes them with their ratios. "
                   "Rates are of all ranks together, which work at once.",
    .tables = tables,
};

static const norma_command plan_command = {
    .name = "bench",
    .invocation = "norma plan bench",
    .description = "Says what norma bench would measure with these flags and the memory it needs, "
                   "without measuring.",
    .tables = tables,
};

static norma_status read(norma_job_context *job)
{
    const norma_config *config = job->config;
    norma_bench *bench = job->state;
    norma_bench_init_local(bench, job->runtime, norma_config_get_flag(config, "quick"));
    if (norma_config_has(config, "size"))
        bench->n_system = norma_config_get_integer(config, 0, "size");
    if (norma_config_has(config, "channels"))
        bench->n_channels = norma_config_get_integer(config, 0, "channels");
    if (norma_config_has(config, "seconds"))
        bench->seconds = norma_config_get_seconds(config, 0, "seconds");
    return NORMA_OK;
}

static int64_t bytes_of_rank(const void *bench, int64_t n_ranks)
{
    return norma_bench_bytes_local(bench, n_ranks);
}

static norma_status measure_part(norma_bench *bench, const norma_config *config, const char *part)
{
    static const struct {
        const char *name;
        norma_status (*measure)(norma_bench *bench);
    } measurements[] = {
        {"gemm", norma_bench_gemm},         {"memory", norma_bench_memory},
        {"random", norma_bench_random},     {"assembly", norma_bench_assembly},
        {"dense", norma_bench_dense},       {"small", norma_bench_small},
        {"krylov", norma_bench_krylov},     {"chain", norma_bench_chain},
        {"gradient", norma_bench_gradient}, {"evaluation", norma_bench_network},
    };
    for (size_t i = 0; i < sizeof measurements / sizeof measurements[0]; i++)
        if (strcmp(part, measurements[i].name) == 0)
            return measurements[i].measure(bench);
    return norma_bench_file(bench, norma_config_get_text(config, 0, "output"),
                            norma_config_get_flag(config, "quick") ? n_bytes_quick : n_bytes);
}

static void print_figures(const norma_bench *bench, int first)
{
    for (int i = first; i < bench->n_figures; i++) {
        const norma_bench_figure *f = &bench->figures[i];
        double ratio = f->rate / f->limit_rate;
        if (isnan(ratio))
            norma_log_result("%-28s %10lld %12.4g %-7s %12.4g %8s %-14s %12s", f->name,
                             (long long)f->size, f->rate, f->unit, f->seconds, "-", f->limit, "-");
        else
            norma_log_result("%-28s %10lld %12.4g %-7s %12.4g %8.3f %-14s %12.4g", f->name,
                             (long long)f->size, f->rate, f->unit, f->seconds, ratio, f->limit,
                             f->limit_rate);
    }
}

static norma_status measure(norma_bench *bench, const norma_config *config)
{
    norma_log_result("#%-27s %10s %12s %-7s %12s %8s %-14s %12s", "figure", "size", "rate/s",
                     "unit", "seconds", "ratio", "limit", "limit/s");
    for (int i = 0; parts[i]; i++) {
        int first = bench->n_figures;
        if (norma_config_has(config, "only") && !norma_config_list_holds(config, "only", parts[i]))
            continue;
        NORMA_TRY(measure_part(bench, config, parts[i]));
        print_figures(bench, first);
    }
    return NORMA_OK;
}

static void print_plan(const norma_bench *bench)
{
    char memory[32];
    int n_ranks = bench->runtime->size;
    norma_plan_format_bytes_local((double)norma_bench_bytes_local(bench, n_ranks), memory,
                                  sizeof memory);
    norma_log_result("# dense systems of %lld equations, products of %lld, convolutions of %lld "
                     "channels, %g s a figure; %s a rank",
                     (long long)bench->n_system, (long long)bench->n_gemm,
                     (long long)bench->n_channels, bench->seconds, memory);
}

static norma_status plan(norma_job_context *job, bool print)
{
    const norma_bench *bench = job->state;
    norma_status status = norma_plan_check_local(&job->machine, "the measurement", bytes_of_rank,
                                                 bench, "or use --size");
    NORMA_TRY(norma_agree(job->runtime->world, status));
    if (print)
        print_plan(bench);
    return NORMA_OK;
}

static norma_status compute(norma_job_context *job)
{
    norma_bench *bench = job->state;
    NORMA_TRY(measure(bench, job->config));
    return norma_bench_output_write(bench, job);
}

static const norma_job bench_job = {
    .default_output = "bench.h5", .read = read, .plan = plan, .compute = compute};

static norma_status run(const norma_call *call)
{
    norma_bench bench;
    return norma_job_run(call, &bench_job, &bench);
}

const norma_driver norma_driver_bench = {
    .command = &command, .plan = &plan_command, .computes = true, .run = run};
