/* mpi/runtime/agree: one status for all ranks, the lowest failing rank's record, guards on equal
 * arguments.
 */
#include "tests/harness/mpi_harness.h"

#include "mpi/runtime/agree.h"

#include <stdio.h>
#include <string.h>

static void test_all_ok(void **state)
{
    (void)state;
    norma_test_check_all(norma_agree(norma_test_runtime->world, NORMA_OK) == NORMA_OK);
}

/* For every set of failing ranks: the lowest one's status and message reach everybody. */
static void test_every_set_of_failing_ranks(void **state)
{
    (void)state;
    int rank = norma_test_runtime->rank;
    int size = norma_test_runtime->size;
    for (int set = 1; set < 1 << size; set++) {
        int lowest = __builtin_ctz((unsigned)set);
        char expected[64];
        norma_status status = NORMA_OK;
        norma_status_clear();
        if (set >> rank & 1)
            status = NORMA_FAIL(rank % 2 ? NORMA_IO : NORMA_NUMERIC, "rank %d says no", rank);
        status = norma_agree(norma_test_runtime->world, status);
        snprintf(expected, sizeof expected, "rank %d says no", lowest);
        norma_test_check_all(status == (lowest % 2 ? NORMA_IO : NORMA_NUMERIC));
        norma_test_check_all(strcmp(norma_status_error()->message, expected) == 0);
    }
    norma_status_clear();
}

static void test_status_without_record(void **state)
{
    (void)state;
    norma_status_clear();
    norma_status status =
        norma_test_runtime->rank == norma_test_runtime->size - 1 ? NORMA_LIMIT : NORMA_OK;
    norma_test_check_all(norma_agree(norma_test_runtime->world, status) == NORMA_LIMIT);
    norma_test_check_all(norma_status_error()->message[0] != '\0');
    norma_status_clear();
}

static void test_any_and_same(void **state)
{
    (void)state;
    MPI_Comm world = norma_test_runtime->world;
    int last = norma_test_runtime->size - 1;
    int64_t value = 42;
    norma_test_check_all(!norma_agree_any(world, false));
    norma_test_check_all(norma_agree_any(world, norma_test_runtime->rank == last));
    norma_test_ok_all(norma_agree_same(world, &value, sizeof value, "the answer"));
    value += norma_test_runtime->rank;
    if (norma_test_runtime->size > 1)
        norma_test_fails_all(norma_agree_same(world, &value, sizeof value, "the answer"),
                             NORMA_LIBRARY, "the answer differs");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_all_ok),
    cmocka_unit_test(test_every_set_of_failing_ranks),
    cmocka_unit_test(test_status_without_record),
    cmocka_unit_test(test_any_and_same),
};

norma_test_main_mpi("mpi.agree", tests)
