#include "mpi/bench/bench.h"

#include "mpi/runtime/agree.h"
#include "mpi/runtime/blas.h"
#include "mpi/runtime/progress.h"
#include "src/base/cpu.h"
#include "src/base/mem.h"
#include "src/base/peak/peak.h"

#include <cblas.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

/* Rounds of multiply-adds take some milliseconds. */
enum { LARGEST_SYSTEM = 46000, PEAK_ROUNDS = 1 << 20 };

struct norma_bench_product {
    int64_t n;
    int n_ranks;
    bool single;
    void *a, *b, *c; /* [n][n] */
};

struct norma_bench_store {
    int64_t n;
    int n_ranks;
    double *data; /* [n] */
    double value;
};

static const int64_t n_stored = INT64_C(1) << 24;

void norma_bench_init_local(norma_bench *bench, const norma_runtime *runtime, bool quick)
{
    double n_cores = (double)runtime->n_threads * runtime->size;
    int64_t n = (int64_t)((quick ? 2000 : 8000) * sqrt(n_cores));
    *bench = (norma_bench){.runtime = runtime,
                           .seconds = quick ? 0.5 : 4,
                           .n_gemm = quick ? 2000 : 4000,
                           .n_system = n < LARGEST_SYSTEM ? n : LARGEST_SYSTEM,
                           .n_channels = quick ? 16 : 32,
                           .seed = 1};
}

int64_t norma_bench_bytes_local(const norma_bench *bench, int64_t n_ranks)
{
    double products = 3.0 * (double)bench->n_gemm * (double)bench->n_gemm * sizeof(double);
    double system = (double)bench->n_system * (double)bench->n_system * sizeof(double);
    double store = (double)n_stored * sizeof(double);
    double most = products + 1.1 * system / (double)n_ranks;
    return (int64_t)(most > store ? most : store);
}

void norma_bench_add_local(norma_bench *bench, const norma_bench_figure *figure)
{
    if (bench->n_figures < NORMA_BENCH_MOST)
        bench->figures[bench->n_figures++] = *figure;
}

void norma_bench_add_counts_local(norma_bench *bench, const norma_bench_figure *figure,
                                  int64_t count, double seconds, double limit_seconds)
{
    double all = (double)count * bench->runtime->size;
    norma_bench_figure measured = *figure;
    measured.rate = all / seconds;
    measured.limit_rate = all / limit_seconds;
    measured.seconds = seconds;
    norma_bench_add_local(bench, &measured);
}

static norma_status run_timed(const norma_bench *bench, norma_bench_action action, void *context,
                              double *fastest)
{
    MPI_Comm world = bench->runtime->world;
    MPI_Barrier(world);
    double start = norma_progress_clock_local();
    norma_status status = action(context);
    double seconds = norma_progress_clock_local() - start;
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, world);
    *fastest = fmin(*fastest, seconds);
    return norma_agree(world, status);
}

/* One turn of the limit. The first one pays for pages and threads, and in slow work has no second:
 * a short one is run again at once. */
static norma_status run_limit(const norma_bench *bench, norma_bench_action limit, void *context,
                              bool first, double *fastest)
{
    NORMA_TRY(run_timed(bench, limit, context, fastest));
    for (int again = 0; again < 2 && first && *fastest < bench->seconds / 20; again++)
        NORMA_TRY(run_timed(bench, limit, context, fastest));
    return NORMA_OK;
}

norma_status norma_bench_time(const norma_bench *bench, norma_bench_action work, void *work_context,
                              norma_bench_action limit, void *limit_context, double *seconds,
                              double *limit_seconds)
{
    double spent = 0;
    *seconds = INFINITY;
    if (limit_seconds)
        *limit_seconds = INFINITY;
    for (bool first = true; first || spent < bench->seconds; first = false) {
        double start = norma_progress_clock_local();
        if (limit)
            NORMA_TRY(run_limit(bench, limit, limit_context, first, limit_seconds));
        NORMA_TRY(run_timed(bench, work, work_context, seconds));
        spent += norma_progress_clock_local() - start;
        MPI_Bcast(&spent, 1, MPI_DOUBLE, 0, bench->runtime->world);
    }
    return NORMA_OK;
}

/* --- products --------------------------------------------------------------------------------- */

static norma_status allocate_product(norma_bench_product *p)
{
    int64_t bytes = p->n * p->n * (int64_t)(p->single ? sizeof(float) : sizeof(double));
    unsigned char *part[3] = {NULL, NULL, NULL};
    norma_status status = NORMA_OK;
    for (int i = 0; i < 3 && status == NORMA_OK; i++)
        status = NORMA_ALLOC(part[i], bytes);
    p->a = part[0];
    p->b = part[1];
    p->c = part[2];
    return status;
}

static void fill_product(norma_bench_product *p)
{
    for (int64_t e = 0; e < p->n * p->n; e++) {
        double value = 1 / (double)(1 + e % 1021);
        if (p->single) {
            ((float *)p->a)[e] = ((float *)p->b)[e] = (float)value;
            ((float *)p->c)[e] = 0;
        } else {
            ((double *)p->a)[e] = ((double *)p->b)[e] = value;
            ((double *)p->c)[e] = 0;
        }
    }
}

norma_status norma_bench_product_create(const norma_bench *bench, bool single,
                                        norma_bench_product **out)
{
    norma_bench_product *p = NULL;
    norma_status status = NORMA_CALLOC(p, 1);
    if (status == NORMA_OK) {
        p->n = bench->n_gemm;
        p->n_ranks = bench->runtime->size;
        p->single = single;
        status = allocate_product(p);
    }
    status = norma_agree(bench->runtime->world, status);
    if (status != NORMA_OK) {
        norma_bench_product_destroy_local(&p);
        return status;
    }
    fill_product(p);
    *out = p;
    return NORMA_OK;
}

norma_status norma_bench_product_run(void *product)
{
    norma_bench_product *p = product;
    int n = (int)p->n;
    if (p->single)
        cblas_sgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, p->a, n, p->b, n, 0,
                    p->c, n);
    else
        cblas_dgemm(CblasColMajor, CblasNoTrans, CblasNoTrans, n, n, n, 1, p->a, n, p->b, n, 0,
                    p->c, n);
    return NORMA_OK;
}

double norma_bench_product_flops_local(const norma_bench_product *product)
{
    double n = (double)product->n;
    return 2 * n * n * n * product->n_ranks;
}

void norma_bench_product_destroy_local(norma_bench_product **product)
{
    if (!*product)
        return;
    norma_mem_free((*product)->a);
    norma_mem_free((*product)->b);
    norma_mem_free((*product)->c);
    NORMA_FREE(*product);
}

norma_status norma_bench_peak_run(void *context)
{
    norma_bench_peak *peak = context;
    double flops = 0;
#pragma omp parallel reduction(+ : flops)
    flops += norma_peak_run(norma_cpu_widest(), peak->single, peak->n_rounds);
    peak->flops = flops;
    return NORMA_OK;
}

/* A product in one precision beside the processors' limit in it. */
static norma_status measure_product(norma_bench *bench, bool single)
{
    const char *limit_name = single ? "fma-single" : "fma-double";
    norma_bench_product *product = NULL;
    norma_bench_peak peak = {.n_rounds = PEAK_ROUNDS, .single = single};
    double seconds = 0;
    double limit = 0;
    NORMA_TRY(norma_bench_product_create(bench, single, &product));
    norma_status status = norma_bench_time(bench, norma_bench_product_run, product,
                                           norma_bench_peak_run, &peak, &seconds, &limit);
    double flops = norma_bench_product_flops_local(product);
    norma_bench_product_destroy_local(&product);
    NORMA_TRY(status);
    MPI_Allreduce(MPI_IN_PLACE, &peak.flops, 1, MPI_DOUBLE, MPI_SUM, bench->runtime->world);
    norma_bench_figure figure = {.limit = "none",
                                 .unit = "flop",
                                 .size = PEAK_ROUNDS,
                                 .rate = peak.flops / limit,
                                 .limit_rate = NAN,
                                 .seconds = limit};
    snprintf(figure.name, sizeof figure.name, "%s", limit_name);
    norma_bench_add_local(bench, &figure);
    figure = (norma_bench_figure){.unit = "flop",
                                  .size = bench->n_gemm,
                                  .rate = flops / seconds,
                                  .limit_rate = peak.flops / limit,
                                  .seconds = seconds};
    snprintf(figure.name, sizeof figure.name, "%s", single ? "sgemm" : "dgemm");
    snprintf(figure.limit, sizeof figure.limit, "%s", limit_name);
    norma_bench_add_local(bench, &figure);
    norma_blas_judge_local(figure.name, figure.rate, figure.limit_rate);
    return NORMA_OK;
}

norma_status norma_bench_gemm(norma_bench *bench)
{
    NORMA_TRY(measure_product(bench, false));
    return measure_product(bench, true);
}

/* --- memory ----------------------------------------------------------------------------------- */

norma_status norma_bench_store_create(const norma_bench *bench, norma_bench_store **out)
{
    norma_bench_store *s = NULL;
    norma_status status = NORMA_CALLOC(s, 1);
    if (status == NORMA_OK) {
        s->n = n_stored;
        s->n_ranks = bench->runtime->size;
        status = NORMA_ALLOC(s->data, s->n);
    }
    status = norma_agree(bench->runtime->world, status);
    if (status != NORMA_OK)
        norma_bench_store_destroy_local(&s);
    else
        norma_bench_store_run(s);
    *out = s;
    return status;
}

norma_status norma_bench_store_run(void *store)
{
    norma_bench_store *s = store;
    double *data = s->data;
    double value = ++s->value;
#pragma omp parallel for schedule(static)
    for (int64_t e = 0; e < s->n; e++)
        data[e] = value;
    return NORMA_OK;
}

double norma_bench_store_bytes_local(const norma_bench_store *store)
{
    return (double)store->n * sizeof(double) * store->n_ranks;
}

void norma_bench_store_destroy_local(norma_bench_store **store)
{
    if (!*store)
        return;
    NORMA_FREE((*store)->data);
    NORMA_FREE(*store);
}

norma_status norma_bench_memory(norma_bench *bench)
{
    norma_bench_store *store = NULL;
    double seconds = 0;
    norma_status status = NORMA_OK;
    NORMA_GOTO(status, norma_bench_store_create(bench, &store));
    NORMA_GOTO(status,
               norma_bench_time(bench, norma_bench_store_run, store, NULL, NULL, &seconds, NULL));
    double bytes = norma_bench_store_bytes_local(store);
    norma_bench_add_local(bench, &(norma_bench_figure){.name = "memory",
                                                       .limit = "none",
                                                       .unit = "byte",
                                                       .size = store->n * (int64_t)sizeof(double),
                                                       .rate = bytes / seconds,
                                                       .limit_rate = NAN,
                                                       .seconds = seconds});
done:
    norma_bench_store_destroy_local(&store);
    return status;
}
