/* io/result/result: names that are refused; writes that fail on one rank or on all, at once or
 * unnoticed. All ranks must learn of them, nobody may wait, and nothing may be left that looks
 * finished. */
#include "tests/harness/mpi_harness.h"

#include "io/result/info.h"
#include "io/result/result.h"
#include "src/base/index.h"
#include "src/base/mem.h"

#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <unistd.h>

/* MEDIUM values are written independently, LARGE collectively. */
enum { MEDIUM = 300000, LARGE = 2200000 };

static char path[64], part[80];
static struct rlimit old_limit;

/* Names this program's files (with the number of ranks: tests run side by side), and removes those
 * of an earlier run. */
static void clear(void)
{
    snprintf(path, sizeof path, "test_result_failure_%d.h5", norma_test_runtime->size);
    snprintf(part, sizeof part, "%s.part", path);
    norma_status_clear();
    if (norma_test_runtime->rank == 0) {
        unlink(path);
        unlink(part);
    }
    MPI_Barrier(norma_test_runtime->world);
}

/* A new file with the variable /values of n elements. */
static norma_result *start(int64_t n)
{
    norma_result *file = NULL;
    clear();
    norma_test_ok_all(
        norma_result_create(norma_test_runtime->world, path, &(norma_result_options){0}, &file));
    norma_test_ok_all(norma_schema_add_dimension(
        file, "/",
        &(norma_dimension){.name = "index", .length = n, .units = "1", .long_name = "index"}));
    norma_test_ok_all(norma_schema_add_variable(file, "/",
                                                &(norma_variable){.name = "values",
                                                                  .type = NORMA_FLOAT64,
                                                                  .dimensions = {"index"},
                                                                  .units = "1",
                                                                  .long_name = "values"}));
    return file;
}

static void finish(norma_result *file)
{
    norma_result_abandon(&file);
    norma_test_check_all(access(path, F_OK) != 0 && access(part, F_OK) != 0);
}

/* From here on the system refuses this rank's bytes beyond `bytes` of any file. */
static void limit_files(rlim_t bytes)
{
    struct rlimit low = {.rlim_cur = bytes, .rlim_max = old_limit.rlim_max};
    signal(SIGXFSZ, SIG_IGN);
    setrlimit(RLIMIT_FSIZE, &low);
}

static norma_status write_values(norma_result *file, int64_t n_values)
{
    int64_t first = 0;
    double *values = NULL;
    int64_t n =
        norma_index_share(n_values, norma_test_runtime->size, norma_test_runtime->rank, &first);
    NORMA_TRY(NORMA_ALLOC(values, n));
    for (int64_t i = 0; i < n; i++)
        values[i] = (double)(first + i);
    norma_status status = norma_result_write(file, "/values", NORMA_FLOAT64, &first, &n, values);
    norma_mem_free(values);
    return status;
}

static void test_local_write_on_one_rank(void **state)
{
    int last = norma_test_runtime->size - 1;
    const double value = 1;
    norma_status status = NORMA_OK;
    norma_result *file = start(MEDIUM);
    (void)state;
    if (norma_test_runtime->rank == last) {
        limit_files(1 << 16);
        status = norma_result_write_local(file, "/values", NORMA_FLOAT64, (int64_t[]){MEDIUM - 1},
                                          NULL, &value);
    }
    norma_test_check_all((status == NORMA_IO) == (norma_test_runtime->rank == last));
    norma_status_clear();
    setrlimit(RLIMIT_FSIZE, &old_limit);
    finish(file);
}

/* The metadata cannot be written either: HDF5 alone would hang in abandon on several ranks. */
static void test_write_on_one_rank(void **state)
{
    norma_result *file = start(MEDIUM);
    (void)state;
    if (norma_test_runtime->rank == norma_test_runtime->size - 1)
        limit_files(1 << 10);
    norma_test_fails_all(write_values(file, MEDIUM), NORMA_IO, "/values");
    finish(file);
    setrlimit(RLIMIT_FSIZE, &old_limit);
}

static void test_write_on_all_ranks(void **state)
{
    norma_result *file = start(MEDIUM);
    (void)state;
    limit_files(1 << 10);
    norma_test_fails_all(write_values(file, MEDIUM), NORMA_IO, "/values");
    finish(file);
    setrlimit(RLIMIT_FSIZE, &old_limit);
}

/* Zeros in place of a value in FILE.part: what a lost write looks like. */
static bool lose_root(double value)
{
    double found = 0;
    const double nothing = 0;
    int fd = open(part, O_RDWR);
    bool lost = false;
    for (off_t at = 0; !lost && pread(fd, &found, sizeof found, at) == sizeof found; at++)
        if (memcmp(&found, &value, sizeof found) == 0)
            lost = pwrite(fd, &nothing, sizeof nothing, at) == sizeof nothing;
    close(fd);
    return lost;
}

static void test_lost_write(void **state)
{
    const double value = 0.123456789;
    norma_result *file = start(3);
    (void)state;
    norma_test_ok_all(norma_result_write_replicated(file, "/values", NORMA_FLOAT64, (int64_t[]){1},
                                                    NULL, &value));
    norma_test_check_all(norma_test_runtime->rank != 0 || lose_root(value));
    norma_test_fails_all(norma_result_flush(file), NORMA_IO, "/values does not hold the values");
    finish(file);
}

/* A collective write may lose data without a word (ranks that write for others drop their errors):
 * at the latest the samples of the flush show it. Open MPI is left with pending requests by that
 * and cannot sync another file afterwards: a run ends here, and so does this program. */
static void test_collective_write(void **state)
{
    norma_result *file = start(LARGE);
    (void)state;
    limit_files(1 << 20);
    norma_status status = write_values(file, LARGE);
    setrlimit(RLIMIT_FSIZE, &old_limit);
    if (status == NORMA_OK)
        status = norma_result_flush(file);
    norma_test_check_all(status == NORMA_IO);
    norma_status_clear();
    finish(file);
}

static int remember_limit(void **state)
{
    (void)state;
    return getrlimit(RLIMIT_FSIZE, &old_limit);
}

static void write_text_file_root(const char *name, const char *text)
{
    if (norma_test_runtime->rank == 0) {
        FILE *stream = fopen(name, "w");
        fputs(text, stream);
        fclose(stream);
    }
    MPI_Barrier(norma_test_runtime->world);
}

static norma_status create_at(const char *name, bool force, int64_t bytes)
{
    norma_result *file = NULL;
    norma_status status =
        norma_result_create(norma_test_runtime->world, name,
                            &(norma_result_options){.force = force, .bytes = bytes}, &file);
    norma_result_abandon(&file);
    return status;
}

static void test_refusals(void **state)
{
    (void)state;
    clear();
    norma_test_fails_all(create_at("", false, 0), NORMA_CONFIG, "not a file name");
    norma_test_fails_all(create_at("./", false, 0), NORMA_CONFIG, "not a file name");
    norma_test_fails_all(create_at("no_such_folder/a.h5", false, 0), NORMA_IO, "no_such_folder");
    norma_test_fails_all(create_at("/dev/null", true, 0), NORMA_CONFIG, "not a regular file");
    norma_test_fails_all(create_at("/proc/a.h5", false, 0), NORMA_IO, "/proc/a.h5");
    norma_test_fails_all(create_at(path, false, (int64_t)1 << 60), NORMA_LIMIT,
                         "needs 1152921504606846976 bytes");
    write_text_file_root(path, "my notes, worth more than a run\n");
    norma_test_fails_all(create_at(path, false, 0), NORMA_CONFIG, "not an HDF5 file");
    norma_test_fails_all(create_at(path, true, 0), NORMA_CONFIG, "not even with --force");
    norma_test_check_all(access(part, F_OK) != 0);
    norma_test_fails_all(norma_info_print(norma_test_runtime->world, path), NORMA_CONFIG,
                         "is not an HDF5 file");
    norma_test_fails_all(norma_info_print(norma_test_runtime->world, "nothing.h5"), NORMA_CONFIG,
                         "nothing.h5: No");
    norma_test_fails_all(norma_info_print(norma_test_runtime->world, "."), NORMA_CONFIG,
                         "a folder");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_refusals),
    cmocka_unit_test_setup(test_local_write_on_one_rank, remember_limit),
    cmocka_unit_test(test_write_on_one_rank),
    cmocka_unit_test(test_write_on_all_ranks),
    cmocka_unit_test(test_lost_write),
    cmocka_unit_test(test_collective_write), /* last: see there */
};

norma_test_main_mpi("io.result_failure", tests)
