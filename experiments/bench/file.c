#include "experiments/bench/file.h"

#include "io/result/result.h"
#include "mpi/runtime/agree.h"
#include "src/base/mem.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

typedef struct writing {
    const norma_runtime *runtime;
    char result[PATH_MAX]; /* of all ranks */
    char plain[PATH_MAX];  /* of this rank */
    double *data;          /* [n] */
    int64_t n;
} writing;

static norma_status write_result(void *context)
{
    writing *w = context;
    MPI_Comm world = w->runtime->world;
    norma_result *file = NULL;
    const norma_result_options options = {.force = true,
                                          .bytes = w->n * 8 * (int64_t)w->runtime->size};
    int64_t start[] = {w->runtime->rank, 0};
    int64_t count[] = {1, w->n};
    const norma_dimension dimensions[] = {
        {.name = "rank", .length = w->runtime->size, .units = "1", .long_name = "rank"},
        {.name = "number", .length = w->n, .units = "1", .long_name = "number"},
    };
    norma_status status = NORMA_OK;
    NORMA_GOTO(status, norma_result_create(world, w->result, &options, &file));
    for (int i = 0; i < 2; i++)
        NORMA_GOTO(status, norma_schema_add_dimension(file, "/", &dimensions[i]));
    NORMA_GOTO(status, norma_schema_add_variable(
                           file, "/",
                           &(norma_variable){.name = "values",
                                             .type = NORMA_FLOAT64,
                                             .written_whole = true,
                                             .dimensions = {"rank", "number"},
                                             .units = "1",
                                             .long_name = "values that each rank wrote"}));
    NORMA_GOTO(status, norma_result_begin(file));
    NORMA_GOTO(status, norma_result_write(file, "values", NORMA_FLOAT64, start, count, w->data));
    NORMA_GOTO(status, norma_result_close(&file, NORMA_RESULT_COMPLETE));
done:
    norma_result_abandon(&file);
    return status;
}

static norma_status write_plain_local(const writing *w)
{
    const char *next = (const char *)w->data;
    int64_t left = w->n * (int64_t)sizeof(double);
    int file = open(w->plain, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666);
    bool good = file >= 0;
    while (good && left > 0) {
        ssize_t written = write(file, next, (size_t)left);
        good = written > 0;
        next += good ? written : 0;
        left -= good ? written : 0;
    }
    good = good && fsync(file) == 0;
    int reason = errno;
    if (file >= 0 && close(file) != 0 && good) {
        good = false;
        reason = errno;
    }
    return good ? NORMA_OK
                : NORMA_FAIL(NORMA_IO, "cannot write %s: %s", w->plain, strerror(reason));
}

static norma_status write_plain(void *context)
{
    const writing *w = context;
    return norma_agree(w->runtime->world, write_plain_local(w));
}

static norma_status prepare_local(writing *w, const char *path, int64_t bytes)
{
    w->n = bytes / (int64_t)sizeof(double);
    int a = snprintf(w->result, sizeof w->result, "%s.bench", path);
    int b = snprintf(w->plain, sizeof w->plain, "%s.bench.%d", path, w->runtime->rank);
    if (a >= PATH_MAX || b >= PATH_MAX)
        return NORMA_FAIL(NORMA_CONFIG, "output %s: the name is too long", path);
    NORMA_TRY(NORMA_ALLOC(w->data, w->n));
    for (int64_t e = 0; e < w->n; e++)
        w->data[e] = 1 / (double)(1 + e);
    return NORMA_OK;
}

norma_status norma_bench_file(norma_bench *bench, const char *path, int64_t bytes)
{
    writing w = {.runtime = bench->runtime};
    double seconds = 0;
    double limit = 0;
    norma_status status = prepare_local(&w, path, bytes);
    NORMA_GOTO(status, norma_agree(bench->runtime->world, status));
    NORMA_GOTO(status,
               norma_bench_time(bench, write_result, &w, write_plain, &w, &seconds, &limit));
    double total = (double)w.n * sizeof(double) * bench->runtime->size;
    norma_bench_add_local(bench, &(norma_bench_figure){.name = "hdf5",
                                                       .limit = "files",
                                                       .unit = "byte",
                                                       .size = bytes,
                                                       .rate = total / seconds,
                                                       .limit_rate = total / limit,
                                                       .seconds = seconds});
done:
    if (w.data) {
        unlink(w.plain);
        if (bench->runtime->rank == 0)
            unlink(w.result);
    }
    NORMA_FREE(w.data);
    return status;
}
