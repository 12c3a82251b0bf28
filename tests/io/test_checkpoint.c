/* io/checkpoint/checkpoint: journals and states come back as they were written, the damaged ones
 * count as not there, and a checkpoint is resumed by its own configuration alone. */
#include "tests/harness/mpi_harness.h"

#include "io/checkpoint/checkpoint.h"
#include "src/base/mem.h"

#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { N_EACH = 3, N_NUMBERS = 100 };

static const char *const usual =
    "chain:\n  width: 8  # layers\n  seed: 17\n  output: \"a # b.h5\"\n";
static const char *const free_keys[] = {"output", NULL};
static char output[64];

static MPI_Comm world(void)
{
    return norma_test_runtime->world;
}

static int rank(void)
{
    return norma_test_runtime->rank;
}

static int n_tasks(void)
{
    return N_EACH * norma_test_runtime->size;
}

static norma_checkpoint_options options(bool resume, bool force, const char *configuration)
{
    return (norma_checkpoint_options){
        .resume = resume, .force = force, .configuration = configuration, .free_keys = free_keys};
}

static norma_status open_as(bool resume, bool force, const char *configuration,
                            norma_checkpoint **out)
{
    norma_checkpoint_options with = options(resume, force, configuration);
    return norma_checkpoint_open(world(), output, &with, out);
}

/* An empty checkpoint, one file name per number of ranks: tests run side by side. */
static norma_checkpoint *start(void)
{
    norma_checkpoint *c = NULL;
    snprintf(output, sizeof output, "test_checkpoint_%d.h5", norma_test_runtime->size);
    norma_status_clear();
    norma_test_ok_all(open_as(false, true, usual, &c));
    norma_test_check_all(!norma_checkpoint_resumed_local(c));
    return c;
}

static void close_checkpoint(norma_checkpoint **c, bool finished, bool stays)
{
    norma_test_check_all(norma_checkpoint_close(c, finished) == stays);
    char folder[80];
    snprintf(folder, sizeof folder, "%s.ckpt", output);
    norma_test_check_all((access(folder, F_OK) == 0) == stays);
}

static void entry(char path[PATH_MAX], const char *format, int number)
{
    int n = snprintf(path, PATH_MAX, "%s.ckpt/", output);
    snprintf(path + n, PATH_MAX - (size_t)n, format, number);
}

static bool flip_last_byte(const char *path)
{
    unsigned char byte = 0;
    int fd = open(path, O_RDWR | O_CLOEXEC);
    bool good = fd >= 0 && lseek(fd, -1, SEEK_END) > 0 && read(fd, &byte, 1) == 1;
    byte ^= 1;
    good = good && lseek(fd, -1, SEEK_END) > 0 && write(fd, &byte, 1) == 1;
    if (fd >= 0)
        close(fd);
    return good;
}

static void fill(int task, int version, double numbers[N_NUMBERS])
{
    for (int i = 0; i < N_NUMBERS; i++)
        numbers[i] = 1000 * task + 10 * version + 1.0 / (i + 1);
}

static norma_status save(norma_checkpoint *c, int task, int version)
{
    double numbers[N_NUMBERS];
    fill(task, version, numbers);
    return norma_checkpoint_save_local(c, task, numbers, sizeof numbers);
}

static norma_status append(norma_checkpoint *c, int task, int version)
{
    double numbers[N_NUMBERS];
    fill(task, version, numbers);
    return norma_checkpoint_append_local(c, task, numbers, sizeof numbers);
}

static bool is_version(const void *bytes, int64_t size, int task, int version)
{
    double numbers[N_NUMBERS];
    fill(task, version, numbers);
    return bytes && size == (int64_t)sizeof numbers && memcmp(bytes, numbers, sizeof numbers) == 0;
}

/* The state of a task is that version; 0: there is none. */
static bool holds(norma_checkpoint *c, int task, int version)
{
    void *bytes = NULL;
    int64_t size = -1;
    if (norma_checkpoint_load_local(c, task, &bytes, &size) != NORMA_OK)
        return false;
    bool good = version > 0 ? is_version(bytes, size, task, version) : !bytes && size == 0;
    norma_mem_free(bytes);
    return good;
}

typedef struct visits {
    int n, version;
    bool good;
} visits;

static norma_status visit(void *context, int64_t task, const void *bytes, int64_t size)
{
    visits *v = context;
    v->n++;
    v->good = v->good && is_version(bytes, size, (int)task, v->version);
    return NORMA_OK;
}

/* Tasks 0 .. n - 1 of n_tasks are finished, and no others. */
static void check_replay(norma_checkpoint *c, int n)
{
    unsigned char done[64];
    bool good = true;
    visits v = {.version = 1, .good = true};
    norma_test_ok_all(norma_checkpoint_replay(c, n_tasks(), done, visit, &v));
    for (int task = 0; task < n_tasks(); task++)
        good = good && done[task] == (task < n ? 1 : 0);
    norma_test_check_all(good);
    norma_test_check_all(v.good && v.n == (rank() == 0 ? n : 0));
}

static void test_two_generations(void **state)
{
    (void)state;
    char path[PATH_MAX];
    norma_checkpoint *c = start();
    norma_test_check_all(holds(c, rank(), 0));
    for (int version = 1; version <= 5; version++) {
        norma_test_ok_all(save(c, rank(), version));
        norma_test_check_all(holds(c, rank(), version));
    }
    close_checkpoint(&c, false, true);

    /* The fifth is the odd one. Damaged, the fourth is the newest whole one; then none is. */
    norma_test_ok_all(open_as(true, false, usual, &c));
    norma_test_check_all(norma_checkpoint_resumed_local(c) && holds(c, rank(), 5));
    entry(path, "task-%d.1", rank());
    norma_test_check_all(flip_last_byte(path) && holds(c, rank(), 4));
    norma_test_ok_all(save(c, rank(), 6));
    norma_test_check_all(holds(c, rank(), 6));
    norma_test_check_all(truncate(path, 200) == 0 && holds(c, rank(), 4));
    entry(path, "task-%d.0", rank());
    norma_test_check_all(truncate(path, 0) == 0 && holds(c, rank(), 0));
    close_checkpoint(&c, true, false);
}

static void test_finished_tasks_leave_no_state(void **state)
{
    (void)state;
    norma_checkpoint *c = start();
    norma_test_ok_all(save(c, rank(), 1));
    norma_test_ok_all(save(c, rank(), 2));
    norma_test_ok_all(append(c, rank(), 1));
    norma_test_check_all(holds(c, rank(), 0));
    close_checkpoint(&c, false, true);
    norma_test_ok_all(open_as(true, false, usual, &c));
    check_replay(c, norma_test_runtime->size);
    close_checkpoint(&c, true, false);
}

/* The part of an entry that a kill leaves is cut off, and later entries follow the whole ones. */
static void test_torn_journal(void **state)
{
    (void)state;
    char path[PATH_MAX];
    int last = n_tasks() - 1;
    struct stat about = {0};
    norma_checkpoint *c = start();
    for (int i = 0; i < N_EACH; i++) {
        int task = i * norma_test_runtime->size + rank();
        norma_test_ok_all(append(c, task, 1));
    }
    norma_test_ok_all(norma_checkpoint_sync_local(c));
    close_checkpoint(&c, false, true);

    /* The last entry of the last rank's journal is that of the last task. */
    entry(path, "done-%06d", norma_test_runtime->size - 1);
    if (rank() == 0 && stat(path, &about) == 0)
        norma_test_check(truncate(path, about.st_size - 1) == 0);
    MPI_Barrier(world());
    norma_test_ok_all(open_as(true, false, usual, &c));
    check_replay(c, last);
    norma_test_check_all(rank() > 0 ||
                         (stat(path, &about) == 0 && about.st_size % (N_EACH - 1) == 0));
    norma_test_ok_all(rank() == norma_test_runtime->size - 1 ? append(c, last, 1) : NORMA_OK);
    close_checkpoint(&c, false, true);

    norma_test_ok_all(open_as(true, false, usual, &c));
    check_replay(c, n_tasks());
    close_checkpoint(&c, true, false);
}

static void test_fewer_ranks_take_over(void **state)
{
    (void)state;
    norma_checkpoint *c = start();
    norma_checkpoint_options with = options(true, false, usual);
    norma_test_ok_all(save(c, rank(), 3));
    close_checkpoint(&c, false, true);
    bool good = true;
    MPI_Comm alone;
    MPI_Comm_split(world(), rank(), 0, &alone);
    if (rank() == 0) {
        good = norma_checkpoint_open(alone, output, &with, &c) == NORMA_OK;
        for (int task = 0; good && task < norma_test_runtime->size; task++)
            good = holds(c, task, 3);
        norma_checkpoint_close(&c, true);
    }
    MPI_Comm_free(&alone);
    norma_test_check_all(good);
}

static void test_other_configuration(void **state)
{
    (void)state;
    norma_checkpoint *c = start();
    norma_test_ok_all(append(c, rank(), 1));
    close_checkpoint(&c, false, true);

    norma_test_fails_all(open_as(false, false, usual, &c), NORMA_CONFIG, "--resume continues it");
    const char *wider = "chain:\n  width: 16\n  seed: 17\n  output: \"a # b.h5\"\n";
    norma_test_fails_all(open_as(true, false, wider, &c), NORMA_CONFIG, "width was ");
    norma_checkpoint_options with = options(true, false, wider);
    norma_test_fails_all(norma_checkpoint_check(world(), output, &with), NORMA_CONFIG,
                         "width was ");
    norma_test_fails_all(open_as(true, false, "chain:\n  width: 8\n  output: x\n", &c),
                         NORMA_CONFIG, "seed was ");
    norma_test_fails_all(
        open_as(true, false, "chain:\n  width: 8\n  seed: 17\n  depth: 3\n  output: x\n", &c),
        NORMA_CONFIG, "depth was ");

    /* Comments and free keys may differ; the refusals above changed nothing. */
    norma_test_ok_all(
        open_as(true, false, "chain:\n  width: 8\n  seed: 17  # drawn\n  output: x\n", &c));
    norma_test_check_all(norma_checkpoint_resumed_local(c));
    check_replay(c, norma_test_runtime->size);
    close_checkpoint(&c, false, true);

    norma_test_ok_all(open_as(false, true, wider, &c));
    norma_test_check_all(!norma_checkpoint_resumed_local(c));
    check_replay(c, 0);
    close_checkpoint(&c, false, false);
}

/* The state of a task keeps its checksum's key: one that another run left is none of ours. */
static void test_state_of_another_run(void **state)
{
    (void)state;
    char path[PATH_MAX];
    char aside[PATH_MAX];
    norma_checkpoint *c = start();
    norma_test_ok_all(save(c, rank(), 1));
    entry(path, "task-%d.1", rank());
    snprintf(aside, sizeof aside, "%s.state-%d", output, rank());
    norma_test_check_all(rename(path, aside) == 0);
    close_checkpoint(&c, true, false);

    norma_test_ok_all(open_as(false, false, usual, &c));
    norma_test_check_all(link(aside, path) == 0 && holds(c, rank(), 1));
    close_checkpoint(&c, true, false);
    norma_test_ok_all(open_as(false, false, "chain:\n  seed: 18\n", &c));
    norma_test_check_all(rename(aside, path) == 0 && holds(c, rank(), 0));
    close_checkpoint(&c, true, false);
}

static void test_recall(void **state)
{
    (void)state;
    char *value = NULL;
    norma_checkpoint *c = start();
    norma_test_ok_all(norma_checkpoint_recall(world(), output, "seed", &value));
    norma_test_check_all(value && strcmp(value, "17") == 0);
    norma_mem_free(value);
    norma_test_ok_all(norma_checkpoint_recall(world(), output, "output", &value));
    norma_test_check_all(value && strcmp(value, "\"a # b.h5\"") == 0);
    norma_mem_free(value);
    norma_test_ok_all(norma_checkpoint_recall(world(), output, "see", &value));
    norma_test_check_all(!value);
    close_checkpoint(&c, false, false); /* neither a result nor a state */
    norma_test_ok_all(norma_checkpoint_recall(world(), output, "seed", &value));
    norma_test_check_all(!value);
}

static void test_damaged_configuration(void **state)
{
    (void)state;
    char path[PATH_MAX];
    norma_checkpoint *c = start();
    norma_test_ok_all(append(c, rank(), 1));
    close_checkpoint(&c, false, true);
    entry(path, "configuration", 0);
    norma_test_check_all(rank() > 0 || flip_last_byte(path));
    norma_test_fails_all(open_as(true, false, usual, &c), NORMA_CONFIG, "is damaged");
    norma_test_check_all(rank() > 0 || unlink(path) == 0);
    norma_test_fails_all(open_as(true, false, usual, &c), NORMA_CONFIG, "is not a checkpoint");
    norma_test_ok_all(open_as(false, true, usual, &c));
    close_checkpoint(&c, false, false);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_two_generations),
    cmocka_unit_test(test_finished_tasks_leave_no_state),
    cmocka_unit_test(test_torn_journal),
    cmocka_unit_test(test_fewer_ranks_take_over),
    cmocka_unit_test(test_other_configuration),
    cmocka_unit_test(test_state_of_another_run),
    cmocka_unit_test(test_recall),
    cmocka_unit_test(test_damaged_configuration),
};

norma_test_main_mpi("io/checkpoint/checkpoint", tests)
