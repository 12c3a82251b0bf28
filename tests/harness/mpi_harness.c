#include "tests/harness/mpi_harness.h"

#include "src/base/mem.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

norma_runtime *norma_test_runtime;
bool norma_test_all;

bool norma_test_agree(bool mine, const char *what, const char *file, int line)
{
    int failing = mine ? INT_MAX : norma_test_runtime->rank;
    int lowest = INT_MAX;
    MPI_Allreduce(&failing, &lowest, 1, MPI_INT, MPI_MIN, norma_test_runtime->world);
    if (lowest == INT_MAX)
        return true;
    if (lowest == norma_test_runtime->rank)
        fprintf(stderr, "%s:%d: rank %d of %d: %s\n", file, line, lowest, norma_test_runtime->size,
                what);
    return false;
}

int norma_test_run_mpi(int argc, char **argv, const char *name, const struct CMUnitTest *tests,
                       size_t n_tests)
{
    norma_test_start_watchdog();
    norma_test_all = argc > 1 && strcmp(argv[1], "all") == 0;
    norma_status status = norma_runtime_open(&argc, &argv, &norma_test_runtime);
    if (!norma_test_runtime)
        return EXIT_FAILURE;
    if (norma_test_runtime->rank != 0 && !freopen("/dev/null", "w", stdout))
        status = NORMA_FAIL(NORMA_IO, "cannot silence the output of a rank");
    int n_failed = 1;
    if (status == NORMA_OK)
        n_failed = _cmocka_run_group_tests(name, tests, n_tests, NULL, NULL);
    else if (norma_test_runtime->rank == 0)
        fprintf(stderr, "%s: %s\n", name, norma_status_error()->message);
    int bad = n_failed != 0 || norma_mem_live() != 0 ? 1 : 0;
    int any = 1;
    MPI_Allreduce(&bad, &any, 1, MPI_INT, MPI_MAX, norma_test_runtime->world);
    norma_status_clear();
    norma_runtime_close(&norma_test_runtime, NORMA_OK);
    return any ? EXIT_FAILURE : EXIT_SUCCESS;
}
