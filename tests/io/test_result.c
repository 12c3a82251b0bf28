/* io/result/result and io/result/schema: distributed writes read back by one process, the life of a
 * file, wrong calls. */
#include "tests/harness/mpi_harness.h"

#include "io/result/h5.h"
#include "io/result/info.h"
#include "io/result/provenance.h"
#include "io/result/result.h"
#include "mpi/runtime/log.h"
#include "src/base/index.h"
#include "src/base/mem.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { N_ROWS = 301, N_COLUMNS = 1003, N_SMALL = 5 };

static char path[64], part[80];

static MPI_Comm world(void)
{
    return norma_test_runtime->world;
}

static bool exists(const char *name)
{
    return access(name, F_OK) == 0;
}

/* Names of this program's files (one per number of ranks: tests run side by side); removes what an
 * earlier run left. */
static void start(void)
{
    snprintf(path, sizeof path, "test_result_%d.h5", norma_test_runtime->size);
    snprintf(part, sizeof part, "%s.part", path);
    norma_status_clear();
    if (norma_test_runtime->rank == 0) {
        unlink(path);
        unlink(part);
    }
    MPI_Barrier(world());
}

static norma_status create(bool force, norma_result **file)
{
    return norma_result_create(world(), path, &(norma_result_options){.force = force}, file);
}

static double value_at(int64_t row, int64_t column)
{
    return sin((double)(row * N_COLUMNS + column));
}

static norma_status add_axis(norma_result *file, const char *group, const char *name,
                             int64_t length, const int32_t *values)
{
    return norma_schema_add_dimension(file, group,
                                      &(norma_dimension){.name = name,
                                                         .length = length,
                                                         .units = "1",
                                                         .long_name = "an axis",
                                                         .type = NORMA_INT32,
                                                         .values = values});
}

static norma_status add_variable(norma_result *file, const char *group, const char *name,
                                 norma_type type, const char *first, const char *second)
{
    return norma_schema_add_variable(file, group,
                                     &(norma_variable){.name = name,
                                                       .type = type,
                                                       .dimensions = {first, second},
                                                       .units = "1",
                                                       .long_name = "a variable"});
}

static void add_matrix(norma_result *file)
{
    norma_test_ok_all(add_axis(file, "/", "row", N_ROWS, NULL));
    norma_test_ok_all(add_axis(file, "/", "column", N_COLUMNS, NULL));
    norma_test_ok_all(add_variable(file, "/", "by_rows", NORMA_FLOAT64, "row", "column"));
    norma_test_ok_all(add_variable(file, "/", "by_columns", NORMA_FLOAT64, "row", "column"));
}

/* This rank's block of the matrix of value_at. Ranks from n_writers on have none. */
static norma_status write_block(norma_result *file, const char *name, bool rows, int n_writers)
{
    int64_t start_at[2] = {0, 0};
    int64_t count[2] = {N_ROWS, N_COLUMNS};
    int axis = rows ? 0 : 1;
    double *data = NULL;
    if (norma_test_runtime->rank < n_writers)
        count[axis] =
            norma_index_share(count[axis], n_writers, norma_test_runtime->rank, &start_at[axis]);
    else
        count[axis] = 0;
    NORMA_TRY(NORMA_ALLOC(data, count[0] * count[1]));
    for (int64_t i = 0; i < count[0]; i++)
        for (int64_t j = 0; j < count[1]; j++)
            data[i * count[1] + j] = value_at(start_at[0] + i, start_at[1] + j);
    norma_status status = norma_result_write(file, name, NORMA_FLOAT64, start_at, count, data);
    norma_mem_free(data);
    return status;
}

/* Reads a whole variable on rank 0, serially; others return true. */
static bool read_root(const char *file, const char *name, hid_t type, void *data)
{
    if (norma_test_runtime->rank != 0)
        return true;
    hid_t id = H5I_INVALID_HID;
    if (norma_h5_open_local(file, &id) != NORMA_OK)
        return false;
    hid_t dataset = H5Dopen2(id, name, H5P_DEFAULT);
    bool good = H5Dread(dataset, type, H5S_ALL, H5S_ALL, H5P_DEFAULT, data) >= 0;
    H5Dclose(dataset);
    H5Fclose(id);
    return good;
}

static bool status_is_root(const char *file, const char *expected)
{
    if (norma_test_runtime->rank != 0)
        return true;
    hid_t id = H5I_INVALID_HID;
    char *found = NULL;
    if (norma_h5_open_local(file, &id) != NORMA_OK)
        return false;
    bool good = norma_h5_get_text_local(id, "status", &found) == NORMA_OK && found &&
                strcmp(found, expected) == 0;
    norma_mem_free(found);
    H5Fclose(id);
    return good;
}

static bool matrix_is_right(const char *name)
{
    double *found = NULL;
    bool good = true;
    if (norma_test_runtime->rank != 0)
        return true;
    if (NORMA_ALLOC(found, (int64_t)N_ROWS * N_COLUMNS) != NORMA_OK)
        return false;
    good = read_root(path, name, H5T_NATIVE_DOUBLE, found);
    for (int64_t i = 0; i < N_ROWS && good; i++)
        for (int64_t j = 0; j < N_COLUMNS && good; j++)
            good = found[i * N_COLUMNS + j] == value_at(i, j);
    norma_mem_free(found);
    return good;
}

static void test_distributed_round_trip(void **state)
{
    norma_result *file = NULL;
    int size = norma_test_runtime->size;
    (void)state;
    start();
    norma_test_ok_all(create(false, &file));
    add_matrix(file);
    norma_test_ok_all(write_block(file, "/by_rows", true, size));
    norma_test_ok_all(write_block(file, "/by_columns", false, (size + 1) / 2));
    norma_test_ok_all(norma_result_close(&file, NORMA_RESULT_COMPLETE));
    norma_test_check_all(file == NULL);
    norma_test_check_all(matrix_is_right("/by_rows"));
    norma_test_check_all(matrix_is_right("/by_columns"));
}

/* Rows of this rank in pieces, neighbours (rows) or from the last to the first (columns). */
static norma_status keep_piece(norma_result *file, int64_t row, int64_t piece)
{
    enum { LENGTH = 17, N_PIECES = N_COLUMNS / LENGTH };
    double data[LENGTH];
    const int64_t at[] = {row, piece * LENGTH};
    const int64_t back[] = {row, (N_PIECES - 1 - piece) * LENGTH};
    const int64_t count[] = {1, LENGTH};
    for (int64_t j = 0; j < LENGTH; j++)
        data[j] = value_at(row, at[1] + j);
    NORMA_TRY(norma_result_put_local(file, "/by_rows", NORMA_FLOAT64, at, count, data));
    for (int64_t j = 0; j < LENGTH; j++)
        data[j] = value_at(row, back[1] + j);
    return norma_result_put_local(file, "/by_columns", NORMA_FLOAT64, back, count, data);
}

/* Two rows of this rank (or the last one) in pieces that are neighbours, but whose values are not
 * one run in the file: they must not be merged. */
static norma_status keep_block(norma_result *file, int64_t row, int64_t n_rows)
{
    enum { LENGTH = 17, N_PIECES = N_COLUMNS / LENGTH };
    double data[2 * LENGTH];
    const int64_t count[] = {n_rows, LENGTH};
    for (int64_t piece = 0; piece < N_PIECES; piece++) {
        const int64_t at[] = {row, piece * LENGTH};
        for (int64_t i = 0; i < n_rows; i++)
            for (int64_t j = 0; j < LENGTH; j++)
                data[i * LENGTH + j] = value_at(row + i, at[1] + j);
        NORMA_TRY(norma_result_put_local(file, "/by_blocks", NORMA_FLOAT64, at, count, data));
    }
    return NORMA_OK;
}

/* Small writes that are kept and merged hold what single ones would. */
static void test_kept_writes(void **state)
{
    norma_result *file = NULL;
    norma_status status = NORMA_OK;
    int64_t first = 0;
    const int64_t outside[] = {0, N_COLUMNS};
    double value = 1;
    (void)state;
    start();
    norma_test_ok_all(create(false, &file));
    add_matrix(file);
    norma_test_ok_all(add_variable(file, "/", "by_blocks", NORMA_FLOAT64, "row", "column"));
    norma_test_ok_all(norma_result_begin(file));
    int64_t n =
        norma_index_share(N_ROWS, norma_test_runtime->size, norma_test_runtime->rank, &first);
    for (int64_t row = first; row < first + n && status == NORMA_OK; row++)
        for (int64_t piece = 0; piece < N_COLUMNS / 17 && status == NORMA_OK; piece++)
            status = keep_piece(file, row, piece);
    for (int64_t row = first; row < first + n && status == NORMA_OK; row += 2)
        status = keep_block(file, row, row + 1 < first + n ? 2 : 1);
    norma_test_ok_all(status);
    norma_test_fails_all(
        norma_result_put_local(file, "/by_rows", NORMA_FLOAT64, outside, NULL, &value),
        NORMA_LIBRARY, "of dimension 1, which has 1003");
    norma_test_fails_all(
        norma_result_put_local(file, "/nothing", NORMA_FLOAT64, outside, NULL, &value),
        NORMA_LIBRARY, "no variable");
    norma_test_ok_all(norma_result_close(&file, NORMA_RESULT_COMPLETE));
    norma_test_check_all(matrix_is_right("/by_rows"));
    norma_test_check_all(matrix_is_right("/by_columns"));
    norma_test_check_all(matrix_is_right("/by_blocks"));
}

/* Elements nobody wrote are missing; those written one by one are there, whoever wrote them. */
static void test_small_writes_and_missing(void **state)
{
    static const int32_t numbers[N_SMALL] = {2, 3, 5, 7, 11};
    static const char *const words[] = {"lu", "krylov"};
    norma_result *file = NULL;
    double reals[N_SMALL] = {0};
    int32_t counts[N_SMALL] = {0};
    int32_t axis[N_SMALL] = {0};
    int8_t names[N_SMALL] = {0};
    (void)state;
    start();
    norma_test_ok_all(create(false, &file));
    norma_test_ok_all(norma_schema_add_group(file, "/layers/000"));
    norma_test_ok_all(add_axis(file, "/layers/000", "layer", N_SMALL, numbers));
    norma_test_ok_all(add_variable(file, "/layers/000", "rmse", NORMA_FLOAT64, "layer", NULL));
    norma_test_ok_all(add_variable(file, "/layers/000", "iterations", NORMA_INT32, "layer", NULL));
    norma_test_ok_all(
        norma_schema_add_variable(file, "/layers/000",
                                  &(norma_variable){.name = "solver",
                                                    .type = NORMA_NAME,
                                                    .dimensions = {"layer"},
                                                    .units = "1",
                                                    .long_name = "solver",
                                                    .names = {.n = 2, .texts = words}}));
    double real = norma_test_runtime->rank == 0 ? 0.25 : -1;
    int32_t count = 17;
    int8_t name = 1;
    norma_status status = NORMA_OK;
    norma_test_ok_all(norma_result_write_replicated(file, "/layers/000/rmse", NORMA_FLOAT64,
                                                    (int64_t[]){2}, NULL, &real));
    if (norma_test_runtime->rank == norma_test_runtime->size - 1)
        status = norma_result_write_local(file, "/layers/000/iterations", NORMA_INT32,
                                          (int64_t[]){4}, NULL, &count);
    norma_test_ok_all(status);
    norma_test_ok_all(norma_result_write_replicated(file, "/layers/000/solver", NORMA_NAME,
                                                    (int64_t[]){0}, NULL, &name));
    norma_test_ok_all(norma_result_close(&file, NORMA_RESULT_STOPPED));
    norma_test_check_all(status_is_root(path, "stopped"));
    norma_test_check_all(read_root(path, "/layers/000/rmse", H5T_NATIVE_DOUBLE, reals));
    norma_test_check_all(read_root(path, "/layers/000/iterations", H5T_NATIVE_INT32, counts));
    norma_test_check_all(read_root(path, "/layers/000/solver", H5T_NATIVE_INT8, names));
    norma_test_check_all(read_root(path, "/layers/000/layer", H5T_NATIVE_INT32, axis));
    bool root = norma_test_runtime->rank == 0;
    norma_test_check_all(!root || (isnan(reals[0]) && isnan(reals[4]) && reals[2] == 0.25));
    norma_test_check_all(!root || (counts[4] == 17 && counts[0] == NORMA_MISSING_INT32));
    norma_test_check_all(!root || (names[0] == 1 && names[3] == NORMA_MISSING_NAME));
    norma_test_check_all(!root || memcmp(axis, numbers, sizeof axis) == 0);
}

static void test_life(void **state)
{
    norma_result *file = NULL;
    (void)state;
    start();
    norma_test_ok_all(create(false, &file));
    norma_test_check_all(exists(part) && !exists(path));
    add_matrix(file);
    norma_test_ok_all(norma_result_flush(file));
    norma_test_check_all(status_is_root(part, "running"));
    norma_test_ok_all(norma_result_close(&file, NORMA_RESULT_COMPLETE));
    norma_test_check_all(exists(path) && !exists(part));
    norma_test_check_all(status_is_root(path, "complete"));
    norma_test_fails_all(create(false, &file), NORMA_CONFIG, "exists with status complete");
    norma_test_check_all(file == NULL && !exists(part));
    /* With force the old file stays until the new one is finished. */
    norma_test_ok_all(create(true, &file));
    norma_test_check_all(status_is_root(path, "complete"));
    add_matrix(file);
    norma_test_ok_all(norma_result_begin(file));
    norma_test_check_all(status_is_root(part, "running"));
    norma_result_abandon(&file);
    norma_test_check_all(file == NULL && !exists(part) && status_is_root(path, "complete"));
    norma_test_ok_all(create(true, &file));
    norma_test_ok_all(norma_result_close(&file, NORMA_RESULT_STOPPED));
    norma_test_check_all(status_is_root(path, "stopped") && !exists(part));
}

/* The second half of the matrix, the end of the file, and both halves read back. */
static void finish_matrix(norma_result **file)
{
    norma_test_ok_all(write_block(*file, "/by_columns", false, norma_test_runtime->size));
    norma_test_ok_all(norma_result_close(file, NORMA_RESULT_COMPLETE));
    norma_test_check_all(matrix_is_right("/by_rows") && matrix_is_right("/by_columns"));
}

/* The second run with the same output is refused, and the first goes on. */
static void test_two_runs_with_one_output(void **state)
{
    norma_result *first = NULL;
    norma_result *second = NULL;
    (void)state;
    start();
    norma_test_ok_all(create(false, &first));
    add_matrix(first);
    norma_test_fails_all(create(false, &second), NORMA_CONFIG, "being written by another run");
    norma_test_fails_all(create(true, &second), NORMA_CONFIG, "being written by another run");
    norma_test_check_all(exists(part) && second == NULL);
    norma_test_ok_all(write_block(first, "/by_rows", true, norma_test_runtime->size));
    norma_test_ok_all(norma_result_flush(first));
    finish_matrix(&first);
}

/* A run whose FILE.part has gone to another one (as one on another host can do) hears of it and
 * harms nothing. */
static void test_output_taken_by_another(void **state)
{
    norma_result *first = NULL;
    norma_result *second = NULL;
    (void)state;
    start();
    norma_test_ok_all(create(false, &first));
    add_matrix(first);
    if (norma_test_runtime->rank == 0)
        norma_test_check(unlink(part) == 0);
    norma_test_ok_all(create(false, &second));
    add_matrix(second);
    norma_test_ok_all(write_block(second, "/by_rows", true, norma_test_runtime->size));
    norma_test_fails_all(norma_result_flush(first), NORMA_IO, "replaced by another run");
    norma_result_abandon(&first);
    norma_test_check_all(exists(part));
    finish_matrix(&second);
}

static void test_abandoned_with_and_without_cells(void **state)
{
    norma_result *file = NULL;
    (void)state;
    start();
    norma_log_set_level_local(NORMA_LOG_QUIET);
    norma_test_ok_all(create(false, &file));
    add_matrix(file);
    norma_test_ok_all(write_block(file, "/by_rows", true, norma_test_runtime->size));
    norma_test_ok_all(norma_result_flush(file));
    norma_result_abandon(&file);
    norma_test_check_all(exists(part) && !exists(path) && status_is_root(part, "running"));
    norma_test_fails_all(norma_info_print(world(), part), NORMA_CONFIG, "was killed");
    norma_test_ok_all(create(false, &file)); /* the dead run's is replaced */
    norma_result_abandon(&file);
    norma_test_check_all(!exists(part) && !exists(path));
    norma_log_set_level_local(NORMA_LOG_NORMAL);
}

static void test_wrong_calls(void **state)
{
    norma_result *file = NULL;
    double data[N_SMALL] = {0};
    int last = norma_test_runtime->size - 1;
    (void)state;
    start();
    norma_test_ok_all(create(false, &file));
    norma_test_ok_all(add_axis(file, "/", "layer", N_SMALL, NULL));
    norma_test_ok_all(add_variable(file, "/", "rmse", NORMA_FLOAT64, "layer", NULL));
    norma_test_fails_all(add_variable(file, "/", "rmse", NORMA_FLOAT64, "layer", NULL), NORMA_IO,
                         "already exists");
    norma_test_fails_all(add_variable(file, "/", "x", NORMA_FLOAT64, "replica", NULL),
                         NORMA_LIBRARY, "no dimension 'replica'");
    norma_test_fails_all(add_variable(file, "/", "x", NORMA_FLOAT64, "rmse", NULL), NORMA_LIBRARY,
                         "no dimension 'rmse'");
    norma_test_fails_all(add_variable(file, "/none", "x", NORMA_FLOAT64, "layer", NULL),
                         NORMA_LIBRARY, "no group /none");
    norma_test_fails_all(add_variable(file, "/", "a/b", NORMA_FLOAT64, NULL, NULL), NORMA_LIBRARY,
                         "'a/b' cannot be a name");
    norma_test_fails_all(norma_result_write(file, "/rmse", NORMA_FLOAT32, NULL, NULL, data),
                         NORMA_LIBRARY, "type");
    norma_test_fails_all(norma_result_write(file, "/none", NORMA_FLOAT64, NULL, NULL, data),
                         NORMA_LIBRARY, "no variable /none");
    /* One rank alone is wrong: all hear of it. */
    int64_t at = norma_test_runtime->rank == last ? N_SMALL - 1 : 0;
    int64_t n = norma_test_runtime->rank == last ? 2 : 0;
    norma_test_fails_all(norma_result_write(file, "/rmse", NORMA_FLOAT64, &at, &n, data),
                         NORMA_LIBRARY, "elements 4 to 5 of dimension 0");
    if (norma_test_runtime->size > 1)
        norma_test_fails_all(add_variable(file, "/",
                                          norma_test_runtime->rank == last ? "one" : "other",
                                          NORMA_FLOAT64, NULL, NULL),
                             NORMA_LIBRARY, "differs between ranks");
    norma_result_abandon(&file);
    norma_test_check_all(!exists(part) && !exists(path));
}

static void test_attributes_and_texts(void **state)
{
    enum { LONG = 70000 };
    char *text = NULL;
    norma_result *file = NULL;
    static char *const arguments[] = {"norma", "reconstruct", "--output", "it's a name.h5", NULL};
    (void)state;
    start();
    norma_test_ok_all(NORMA_CALLOC(text, LONG + 1));
    memset(text, 'x', LONG);
    norma_test_ok_all(create(false, &file));
    norma_test_ok_all(norma_provenance_write(file, norma_test_runtime,
                                             &(norma_provenance){.title = "A test",
                                                                 .argc = 4,
                                                                 .argv = arguments,
                                                                 .seed = UINT64_MAX,
                                                                 .process_grid = "1 x 1",
                                                                 .configuration = text}));
    norma_test_ok_all(norma_result_set_text(file, "/", "long_text", text));
    norma_test_fails_all(norma_result_set_text(file, "/configuration", "comment", text),
                         NORMA_LIMIT, "70000 bytes");
    norma_test_ok_all(norma_result_set_text(file, "/", "title", "Another title"));
    norma_test_ok_all(norma_result_close(&file, NORMA_RESULT_COMPLETE));
    norma_mem_free(text);
    bool good = true;
    if (norma_test_runtime->rank == 0) {
        hid_t id = H5I_INVALID_HID;
        char *title = NULL;
        char *command = NULL;
        good = norma_h5_open_local(path, &id) == NORMA_OK &&
               norma_h5_get_text_local(id, "title", &title) == NORMA_OK &&
               norma_h5_get_text_local(id, "command_line", &command) == NORMA_OK &&
               H5Lexists(id, "long_text", H5P_DEFAULT) > 0;
        good = good && strcmp(title, "Another title") == 0 &&
               strcmp(command, "norma reconstruct --output 'it'\\''s a name.h5'") == 0;
        norma_mem_free(title);
        norma_mem_free(command);
        H5Fclose(id);
    }
    norma_test_check_all(good);
    norma_test_ok_all(norma_info_print(world(), path));
    norma_test_check_all(norma_test_runtime->rank != 0 || truncate(path, 3000) == 0);
    norma_test_fails_all(norma_info_print(world(), path), NORMA_CONFIG, "truncated");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_distributed_round_trip),
    cmocka_unit_test(test_kept_writes),
    cmocka_unit_test(test_small_writes_and_missing),
    cmocka_unit_test(test_life),
    cmocka_unit_test(test_two_runs_with_one_output),
    cmocka_unit_test(test_output_taken_by_another),
    cmocka_unit_test(test_abandoned_with_and_without_cells),
    cmocka_unit_test(test_wrong_calls),
    cmocka_unit_test(test_attributes_and_texts),
};

norma_test_main_mpi("io.result", tests)
