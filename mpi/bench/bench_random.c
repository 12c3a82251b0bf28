/* Random numbers of every law on every instruction set of this processor. */
#include "mpi/bench/bench.h"

#include "mpi/runtime/agree.h"
#include "src/base/cpu.h"
#include "src/base/mem.h"
#include "src/random/tensor.h"

#include <math.h>
#include <stdio.h>

/* Numbers go to a buffer that stays in the cache; a turn fills it many times. */
enum { N_CHANNELS = 64, N_ROWS = 256, N_FILLS = 128 };

typedef struct filling {
    const norma_tensor *tensor; /* NULL: words */
    uint64_t seed;
    double *out; /* [N_ROWS][N_CHANNELS] */
    uint64_t *words;
} filling;

static norma_status fill(void *context)
{
    filling *f = context;
    const int64_t n = (int64_t)N_ROWS * N_CHANNELS;
    norma_rng_stream stream = {.purpose = NORMA_RNG_SOURCE_WEIGHTS};
    for (int64_t k = 0; k < N_FILLS; k++)
        if (f->tensor)
            norma_tensor_fill(f->tensor, k * N_ROWS, N_ROWS, f->out);
        else
            norma_rng_fill_words(f->seed, &stream, k * n, n, f->words);
    return NORMA_OK;
}

/* One law on the instruction set in use, beside raw words. */
static norma_status measure_law(norma_bench *bench, norma_distribution law, filling *words)
{
    norma_tensor_spec spec = {.distribution = law,
                              .role = NORMA_TENSOR_FIRST,
                              .seed = bench->seed,
                              .stream = {.purpose = NORMA_RNG_SOURCE_WEIGHTS},
                              .n_features = (int64_t)N_ROWS * N_FILLS,
                              .n_channels = N_CHANNELS,
                              .n_taps = 1};
    norma_tensor *tensor = NULL;
    double n = (double)N_ROWS * N_CHANNELS * N_FILLS * bench->runtime->size;
    double seconds = 0;
    double limit = 0;
    norma_status status = norma_agree(bench->runtime->world, norma_tensor_create(&spec, &tensor));
    if (status == NORMA_OK) {
        filling work = {.tensor = tensor, .out = words->out};
        status = norma_bench_time(bench, fill, &work, fill, words, &seconds, &limit);
    }
    if (status == NORMA_OK) {
        norma_bench_figure figure = {.unit = "number",
                                     .size = (int64_t)N_ROWS * N_CHANNELS,
                                     .rate = n / seconds,
                                     .limit_rate = n / limit,
                                     .seconds = seconds};
        const char *isa = norma_cpu_isa_name(norma_cpu_isa());
        snprintf(figure.name, sizeof figure.name, "%s-%s", norma_distribution_name(law), isa);
        snprintf(figure.limit, sizeof figure.limit, "words-%s", isa);
        norma_bench_add_local(bench, &figure);
    }
    norma_tensor_destroy(&tensor);
    return status;
}

/* Raw words beside the store to memory. */
static norma_status measure_words(norma_bench *bench, filling *words)
{
    norma_bench_store *store = NULL;
    double seconds = 0;
    double limit = 0;
    double n = (double)N_ROWS * N_CHANNELS * N_FILLS * bench->runtime->size;
    NORMA_TRY(norma_bench_store_create(bench, &store));
    norma_status status =
        norma_bench_time(bench, fill, words, norma_bench_store_run, store, &seconds, &limit);
    if (status == NORMA_OK) {
        norma_bench_figure figure = {.limit = "memory",
                                     .unit = "byte",
                                     .size = (int64_t)N_ROWS * N_CHANNELS,
                                     .rate = n * sizeof(double) / seconds,
                                     .limit_rate = norma_bench_store_bytes_local(store) / limit,
                                     .seconds = seconds};
        snprintf(figure.name, sizeof figure.name, "words-%s", norma_cpu_isa_name(norma_cpu_isa()));
        norma_bench_add_local(bench, &figure);
    }
    norma_bench_store_destroy_local(&store);
    return status;
}

static norma_status measure_isa(norma_bench *bench, filling *words)
{
    NORMA_TRY(measure_words(bench, words));
    for (int law = 0; law < NORMA_N_DISTRIBUTIONS; law++)
        if (norma_law_is_drawn((norma_distribution)law))
            NORMA_TRY(measure_law(bench, (norma_distribution)law, words));
    return NORMA_OK;
}

/* True when all ranks' processors have the set: they measure together. */
static bool is_supported(const norma_bench *bench, norma_isa isa)
{
    return !norma_agree_any(bench->runtime->world, !norma_cpu_supports(isa));
}

norma_status norma_bench_random(norma_bench *bench)
{
    norma_isa kept = norma_cpu_isa();
    double budget = bench->seconds;
    filling words = {.seed = bench->seed};
    norma_status status = NORMA_ALLOC(words.out, (int64_t)N_ROWS * N_CHANNELS);
    if (status == NORMA_OK)
        status = NORMA_ALLOC(words.words, (int64_t)N_ROWS * N_CHANNELS);
    status = norma_agree(bench->runtime->world, status);
    bench->seconds /= 4; /* many laws, short turns */
    for (int isa = 0; isa < NORMA_N_ISAS && status == NORMA_OK; isa++)
        if (is_supported(bench, (norma_isa)isa)) {
            norma_cpu_set_isa((norma_isa)isa);
            status = measure_isa(bench, &words);
        }
    bench->seconds = budget;
    norma_cpu_set_isa(kept);
    NORMA_FREE(words.out);
    NORMA_FREE(words.words);
    return status;
}
