/*
 * Small systems that every rank solves alone, with their condition numbers, as runs of many
 * replicas do: beside the routines of LAPACK that give the same for a matrix that is there.
 */
#include "mpi/bench/bench_layer.h"

#include "mpi/linalg/scalapack.h"
#include "mpi/runtime/agree.h"
#include "src/base/mem.h"
#include "src/base/rng.h"

#include <stdio.h>
#include <string.h>

/* Channels of the system that the pseudo-inverse solves: 1024 equations. */
enum { SVD_CHANNELS = 32 };

typedef struct lapack_work {
    int n;
    bool vectors;                 /* all singular vectors, no factors */
    double *a, *copy, *b, *sigma; /* [n][n], [n][n], [n], [n] */
    double *u, *vt;               /* [n][n], or NULL */
    double *space;                /* [n_space] */
    int *integers;                /* [8 n] */
    int n_space;
} lapack_work;

static norma_status run_svd(lapack_work *w, double *space, int n_space)
{
    int info = 0;
    memcpy(w->copy, w->a, (size_t)w->n * (size_t)w->n * sizeof *w->a);
    dgesdd_(w->vectors ? "A" : "N", &w->n, &w->n, w->copy, &w->n, w->sigma, w->u, &w->n, w->vt,
            &w->n, space, &n_space, w->integers, &info);
    return info == 0 ? NORMA_OK : NORMA_FAIL(NORMA_LIBRARY, "dgesdd: info = %d", info);
}

static norma_status run_lapack(void *context)
{
    static const int one = 1;
    lapack_work *w = context;
    int info = 0;
    NORMA_TRY(run_svd(w, w->space, w->n_space));
    if (w->vectors)
        return NORMA_OK;
    memcpy(w->copy, w->a, (size_t)w->n * (size_t)w->n * sizeof *w->a);
    dgesv_(&w->n, &one, w->copy, &w->n, w->integers, w->b, &w->n, &info);
    return info == 0 ? NORMA_OK : NORMA_FAIL(NORMA_LIBRARY, "dgesv: info = %d", info);
}

static norma_status prepare_lapack(lapack_work *w, uint64_t seed)
{
    const norma_rng_stream stream = {.purpose = NORMA_RNG_START_VECTOR};
    int64_t n = w->n;
    double size = 0;
    NORMA_TRY(NORMA_ALLOC(w->a, n * n));
    NORMA_TRY(NORMA_ALLOC(w->copy, n * n));
    NORMA_TRY(NORMA_ALLOC(w->b, n));
    NORMA_TRY(NORMA_ALLOC(w->sigma, n));
    NORMA_TRY(NORMA_ALLOC(w->integers, 8 * n));
    if (w->vectors) {
        NORMA_TRY(NORMA_ALLOC(w->u, n * n));
        NORMA_TRY(NORMA_ALLOC(w->vt, n * n));
    }
    norma_rng_fill_normal(seed, &stream, 0, n * n, w->a);
    norma_rng_fill_normal(seed, &stream, n * n, n, w->b);
    NORMA_TRY(run_svd(w, &size, -1));
    w->n_space = (int)size + 1;
    return NORMA_ALLOC(w->space, w->n_space);
}

static void clear_lapack(lapack_work *w)
{
    NORMA_FREE(w->a);
    NORMA_FREE(w->copy);
    NORMA_FREE(w->b);
    NORMA_FREE(w->sigma);
    NORMA_FREE(w->u);
    NORMA_FREE(w->vt);
    NORMA_FREE(w->space);
    NORMA_FREE(w->integers);
}

/* Systems of c^2 equations by `solver`, one on each rank at a time. */
static norma_status measure(norma_bench *bench, int64_t c, norma_solver solver, const char *name)
{
    norma_bench_layer layer;
    lapack_work lapack = {.n = (int)(c * c), .vectors = solver == NORMA_SOLVER_SVD};
    double seconds = 0;
    double limit = 0;
    norma_status status = norma_bench_layer_init(&layer, bench, MPI_COMM_SELF, c, c, 1, 0);
    layer.options.solver = solver;
    if (status == NORMA_OK)
        status = prepare_lapack(&lapack, bench->seed);
    status = norma_agree(bench->runtime->world, status);
    if (status == NORMA_OK)
        status = norma_bench_time(bench, norma_bench_layer_solve, &layer, run_lapack, &lapack,
                                  &seconds, &limit);
    if (status == NORMA_OK) {
        norma_bench_figure figure = {.limit = "lapack", .unit = "run", .size = c * c};
        snprintf(figure.name, sizeof figure.name, "%s", name);
        norma_bench_add_counts_local(bench, &figure, 1, seconds, limit);
    }
    norma_bench_layer_clear(&layer);
    clear_lapack(&lapack);
    return status;
}

norma_status norma_bench_small(norma_bench *bench)
{
    static const int64_t channels[] = {8, 10, 18, 32};
    const int n = (int)(sizeof channels / sizeof channels[0]);
    double budget = bench->seconds;
    norma_status status = NORMA_OK;
    bench->seconds /= n;
    for (int i = 0; i < n && status == NORMA_OK; i++) {
        char name[NORMA_BENCH_NAME];
        long long rows = channels[i] * channels[i];
        snprintf(name, sizeof name, "small-%lld", rows);
        status = measure(bench, channels[i], NORMA_SOLVER_LU, name);
    }
    bench->seconds = budget;
    return status == NORMA_OK ? measure(bench, SVD_CHANNELS, NORMA_SOLVER_SVD, "svd") : status;
}
