#include "mpi/plan/rates.h"

#include "mpi/runtime/agree.h"
#include "mpi/runtime/blas.h"
#include "mpi/runtime/progress.h"
#include "src/base/cpu.h"
#include "src/base/mem.h"
#include "src/base/peak/peak.h"

#include <cblas.h>
#include <math.h>

/* Extents of the matrices: as large as half a second and the caches of a server allow; turns. */
#define PRODUCT INT64_C(768)
#define VECTOR INT64_C(4096)
#define TURNS 8
/* Rounds of multiply-adds: some milliseconds. */
#define PEAK_ROUNDS (INT64_C(1) << 18)

/* Ranks of a node that is assumed. */
#define ASSUMED_PER_NODE 32

typedef struct workspace {
    double *matrix; /* [VECTOR][VECTOR] */
    double *vectors;
    float *single; /* [3][PRODUCT][PRODUCT] */
} workspace;

static void multiply_double(const workspace *w)
{
    const double *a = w->matrix;
    double *c = w->matrix + 2 * PRODUCT * PRODUCT;
    cblas_dgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, PRODUCT, PRODUCT, PRODUCT, 1, a, PRODUCT,
                a + PRODUCT * PRODUCT, PRODUCT, 0, c, PRODUCT);
}

static void multiply_single(const workspace *w)
{
    const float *a = w->single;
    float *c = w->single + 2 * PRODUCT * PRODUCT;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, PRODUCT, PRODUCT, PRODUCT, 1, a, PRODUCT,
                a + PRODUCT * PRODUCT, PRODUCT, 0, c, PRODUCT);
}

static void multiply_vector(const workspace *w)
{
    cblas_dgemv(CblasColMajor, CblasNoTrans, VECTOR, VECTOR, 1, w->matrix, VECTOR, w->vectors, 1, 0,
                w->vectors + VECTOR, 1);
}

/* Turns a second, of the fastest. */
static double time_turns(void (*work)(const workspace *), const workspace *w)
{
    double best = INFINITY;
    for (int turn = 0; turn < TURNS; turn++) {
        double started = norma_progress_clock_local();
        work(w);
        best = fmin(best, norma_progress_clock_local() - started);
    }
    return 1 / fmax(best, 1e-9);
}

static norma_status measure_local(norma_rates *rates)
{
    workspace w = {NULL, NULL, NULL};
    const int64_t n = VECTOR * VECTOR;
    const int64_t n_single = 3 * PRODUCT * PRODUCT;
    const double flops = 2 * (double)(PRODUCT * PRODUCT * PRODUCT);
    norma_status status = NORMA_OK;
    NORMA_GOTO(status, NORMA_ALLOC(w.matrix, n));
    NORMA_GOTO(status, NORMA_ALLOC(w.vectors, 2 * VECTOR));
    NORMA_GOTO(status, NORMA_ALLOC(w.single, n_single));
    for (int64_t i = 0; i < n; i++)
        w.matrix[i] = 1.0 / (double)(i % 17 + 1);
    for (int64_t i = 0; i < n_single; i++)
        w.single[i] = 1.0F / (float)(i % 17 + 1);
    for (int64_t i = 0; i < 2 * VECTOR; i++)
        w.vectors[i] = 1;
    rates->dgemv = (double)n * time_turns(multiply_vector, &w);
    rates->sgemm = flops * time_turns(multiply_single, &w);
    rates->dgemm = flops * time_turns(multiply_double, &w);
done:
    NORMA_FREE(w.matrix);
    NORMA_FREE(w.vectors);
    NORMA_FREE(w.single);
    return status;
}

/* Multiply-adds on registers a second, of the fastest turn. */
static double measure_peak(bool single)
{
    double best = 0;
    for (int turn = 0; turn < TURNS; turn++) {
        double flops = 0;
        double started = norma_progress_clock_local();
#pragma omp parallel reduction(+ : flops)
        flops += norma_peak_run(norma_cpu_widest(), single, PEAK_ROUNDS);
        best = fmax(best, flops / fmax(norma_progress_clock_local() - started, 1e-9));
    }
    return best;
}

norma_status norma_rates_measure(const norma_runtime *runtime, norma_rates *rates)
{
    norma_rates mine = {0};
    mine.fma_double = measure_peak(false);
    mine.fma_single = measure_peak(true);
    NORMA_TRY(norma_agree(runtime->world, measure_local(&mine)));
    MPI_Allreduce(&mine.fma_double, &rates->fma_double, 1, MPI_DOUBLE, MPI_MIN, runtime->world);
    MPI_Allreduce(&mine.fma_single, &rates->fma_single, 1, MPI_DOUBLE, MPI_MIN, runtime->world);
    MPI_Allreduce(&mine.dgemm, &rates->dgemm, 1, MPI_DOUBLE, MPI_MIN, runtime->world);
    MPI_Allreduce(&mine.sgemm, &rates->sgemm, 1, MPI_DOUBLE, MPI_MIN, runtime->world);
    MPI_Allreduce(&mine.dgemv, &rates->dgemv, 1, MPI_DOUBLE, MPI_MIN, runtime->world);
    norma_blas_judge_local("dgemm", rates->dgemm, rates->fma_double);
    norma_blas_judge_local("sgemm", rates->sgemm, rates->fma_single);
    return NORMA_OK;
}

void norma_rates_assume_local(norma_rates *rates, int64_t n_ranks)
{
    *rates = (norma_rates){.dgemm = NORMA_RATES_ASSUMED_DGEMM,
                           .sgemm = 2 * NORMA_RATES_ASSUMED_DGEMM,
                           .fma_double = NORMA_RATES_ASSUMED_DGEMM,
                           .fma_single = 2 * NORMA_RATES_ASSUMED_DGEMM,
                           .dgemv = 1.2e9};
    norma_rates_place_local(rates, n_ranks, ASSUMED_PER_NODE);
}

void norma_rates_place_local(norma_rates *rates, int64_t n_ranks, int64_t per_node)
{
    bool one_node = n_ranks <= per_node;
    rates->per_node = (int)(one_node ? n_ranks : per_node);
    rates->network.latency = one_node ? 1e-6 : 2e-6;
    rates->network.bandwidth = one_node ? 4e9 : 25e9 / (double)per_node;
}
