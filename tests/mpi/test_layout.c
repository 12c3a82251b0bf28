/* mpi/linalg/layout, grid, dmat: block-cyclic indices against a walk over all items, grid shapes,
 * limits.
 */
#include "tests/harness/mpi_harness.h"

#include "mpi/linalg/dmat.h"
#include "mpi/linalg/grid.h"
#include "mpi/linalg/layout.h"

#include <limits.h>
#include <stdio.h>

/* Deals items out one by one and compares every function with the count so far. */
static bool walk_agrees(int64_t n, int64_t block, int n_processes)
{
    const norma_layout layout = {n, block, n_processes};
    int64_t held[8] = {0};
    bool good = true;
    for (int64_t g = 0; g < n; g++) {
        int process = (int)(g / block) % n_processes;
        int64_t local = held[process]++;
        good = good && norma_layout_owner_local(&layout, g) == process &&
               norma_layout_index_local(&layout, g) == local &&
               norma_layout_global_local(&layout, process, local) == g;
        int64_t to_end_of_block = block - g % block;
        int64_t to_end = n - g;
        good = good && norma_layout_run_local(&layout, process, local) ==
                           (to_end < to_end_of_block ? to_end : to_end_of_block);
    }
    for (int p = 0; p < n_processes; p++)
        good = good && norma_layout_count_local(&layout, p) == held[p];
    return good && norma_layout_n_blocks_local(&layout) == (n + block - 1) / block;
}

static void test_layout_exhaustive(void **state)
{
    (void)state;
    bool good = true;
    for (int64_t n = 0; n <= 40; n++)
        for (int64_t block = 1; block <= 12; block++)
            for (int n_processes = 1; n_processes <= 7; n_processes++)
                good = good && walk_agrees(n, block, n_processes);
    norma_test_check_all(good);
}

/* Sizes whose products leave 32 bits. */
static void test_layout_large(void **state)
{
    (void)state;
    const norma_layout layout = {(int64_t)1 << 40, 64, 3};
    int64_t sum = 0;
    for (int p = 0; p < 3; p++)
        sum += norma_layout_count_local(&layout, p);
    norma_test_check_all(sum == layout.n);
    int64_t last = layout.n - 1;
    int owner = norma_layout_owner_local(&layout, last);
    int64_t local = norma_layout_index_local(&layout, last);
    norma_test_check_all(local == norma_layout_count_local(&layout, owner) - 1);
    norma_test_check_all(norma_layout_global_local(&layout, owner, local) == last);
}

static bool shape_is(int n_ranks, int64_t row_blocks, int64_t column_blocks, int rows, int columns)
{
    norma_grid_shape shape = norma_grid_choose_local(n_ranks, row_blocks, column_blocks);
    if (shape.n_rows != rows || shape.n_columns != columns)
        fprintf(stderr, "%d ranks: %d x %d, expected %d x %d\n", n_ranks, shape.n_rows,
                shape.n_columns, rows, columns);
    return shape.n_rows == rows && shape.n_columns == columns;
}

static void test_grid_shapes(void **state)
{
    (void)state;
    const int64_t many = 1 << 20;
    norma_test_check_all(shape_is(1, many, many, 1, 1));
    norma_test_check_all(shape_is(2, many, many, 1, 2));
    norma_test_check_all(shape_is(3, many, many, 1, 3));
    norma_test_check_all(shape_is(4, many, many, 2, 2));
    norma_test_check_all(shape_is(5, many, many, 2, 2)); /* one idle */
    norma_test_check_all(shape_is(7, many, many, 2, 3));
    norma_test_check_all(shape_is(12, many, many, 3, 4));
    norma_test_check_all(shape_is(191, many, many, 10, 19)); /* prime: 190 */
    norma_test_check_all(shape_is(65536, many, many, 256, 256));
    norma_test_check_all(shape_is(64, 1, 1, 1, 1)); /* one block: one rank */
    norma_test_check_all(shape_is(6, 2, 2, 2, 2));  /* no more ranks than blocks */
    norma_test_check_all(shape_is(4, 1, 4, 1, 4));
    bool good = true;
    for (int n = 1; n <= 300; n++) {
        for (int64_t blocks = 1; blocks <= 30; blocks++) {
            norma_grid_shape s = norma_grid_choose_local(n, blocks, blocks);
            good = good && s.n_rows >= 1 && s.n_rows <= s.n_columns &&
                   s.n_columns <= 4 * s.n_rows && s.n_rows * s.n_columns <= n &&
                   s.n_columns <= blocks;
        }
        norma_grid_shape s = norma_grid_choose_local(n, many, many);
        good = good && s.n_rows * s.n_columns >= n - n / 5;
    }
    norma_test_check_all(good);
}

/* A grid on the world, and one on a part of it in another order: BLACS is not sized from the world.
 */
static void test_grid_on_any_communicator(void **state)
{
    (void)state;
    MPI_Comm world = norma_test_runtime->world;
    int rank = norma_test_runtime->rank;
    int size = norma_test_runtime->size;
    norma_grid_shape shape = norma_grid_choose_local(size, 100, 100);
    norma_grid *grid = NULL;
    norma_test_ok_all(norma_grid_create(world, shape, &grid));
    bool active = rank < shape.n_rows * shape.n_columns;
    norma_test_check_all(grid->n_idle == size - shape.n_rows * shape.n_columns);
    norma_test_check_all(active ? grid->row == rank / shape.n_columns &&
                                      grid->column == rank % shape.n_columns
                                : grid->row == -1 && grid->column == -1);
    norma_grid_destroy(&grid);

    MPI_Comm half;
    MPI_Comm_split(world, rank % 2, -rank, &half);
    int half_rank = 0;
    int half_size = 0;
    MPI_Comm_rank(half, &half_rank);
    MPI_Comm_size(half, &half_size);
    shape = norma_grid_choose_local(half_size, 100, 100);
    norma_status status = norma_grid_create(half, shape, &grid);
    norma_test_ok_all(status);
    norma_test_check_all(half_rank >= shape.n_rows * shape.n_columns ||
                         grid->column == half_rank % shape.n_columns);
    norma_grid_destroy(&grid);
    MPI_Comm_free(&half);

    shape.n_columns = size + 1;
    norma_test_fails_all(norma_grid_create(world, shape, &grid), NORMA_LIBRARY, "grid on");
}

/* 46340^2 < 2^31 - 1 < 46341^2. */
static void test_limit_of_local_elements(void **state)
{
    (void)state;
    const norma_grid_shape one = {1, 1};
    const norma_grid_shape two = {1, 2};
    norma_test_ok_all(norma_dmat_check_local(46340, 64, one));
    norma_test_fails_all(norma_dmat_check_local(46341, 64, one), NORMA_LIMIT, "at least 2 ranks");
    norma_test_ok_all(norma_dmat_check_local(46341, 64, two));
    norma_test_fails_all(norma_dmat_check_local(1000000, 64, two), NORMA_LIMIT, "at least ");
    norma_test_fails_all(norma_dmat_check_local((int64_t)1 << 31, 64, two), NORMA_LIMIT,
                         "2147483648 rows");
    int needed = norma_dmat_ranks_needed_local(1000000, 64);
    int64_t blocks = 1000000 / 64;
    norma_test_check_all(
        norma_dmat_largest_local(1000000, 64, norma_grid_choose_local(needed, blocks, blocks)) <=
        NORMA_DMAT_MAX_LOCAL);
    norma_test_check_all(
        norma_dmat_largest_local(1000000, 64, norma_grid_choose_local(needed - 1, blocks, blocks)) >
        NORMA_DMAT_MAX_LOCAL);

    /* Found without trying every number below: 4096 x 4096 channels with 3x3 taps. */
    int many = norma_dmat_ranks_needed_local(150994944, 64);
    norma_test_check_all(many >= 10616832 && many < 10700000);
    norma_test_check_all(norma_dmat_ranks_needed_local(2147483647, 64) == INT_MAX);
}

static void test_matrix_blocks_add_up(void **state)
{
    (void)state;
    MPI_Comm world = norma_test_runtime->world;
    norma_grid *grid = NULL;
    norma_dmat *matrix = NULL;
    norma_test_ok_all(
        norma_grid_create(world, norma_grid_choose_local(norma_test_runtime->size, 8, 8), &grid));
    norma_test_ok_all(norma_dmat_create(grid, 61, 8, &matrix));
    int64_t count = matrix->n_local_rows * matrix->n_local_columns;
    int64_t largest = 0;
    MPI_Allreduce(&count, &largest, 1, MPI_INT64_T, MPI_MAX, world);
    MPI_Allreduce(MPI_IN_PLACE, &count, 1, MPI_INT64_T, MPI_SUM, world);
    norma_test_check_all(count == 61 * 61);
    norma_test_check_all(largest == norma_dmat_largest_local(61, 8, grid->shape));
    norma_dmat_destroy_local(&matrix);
    norma_grid_destroy(&grid);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_layout_exhaustive),
    cmocka_unit_test(test_layout_large),
    cmocka_unit_test(test_grid_shapes),
    cmocka_unit_test(test_grid_on_any_communicator),
    cmocka_unit_test(test_limit_of_local_elements),
    cmocka_unit_test(test_matrix_blocks_add_up),
};

norma_test_main_mpi("mpi.layout", tests)
