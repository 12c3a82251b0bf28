#ifndef NORMA_TESTS_MPI_MEMORY_H
#define NORMA_TESTS_MPI_MEMORY_H
/* Checks, for tests on several ranks, that a plan states the memory that its run takes. */
#include "tests/harness/mpi_harness.h"

#include "src/base/mem_count.h"

#include <stdio.h>

/* `call` must return NORMA_OK on all ranks, and take `planned` bytes on the one that takes most. */
#define norma_test_takes_all(planned, call)                                                        \
    do {                                                                                           \
        double norma_test_planned = (planned);                                                     \
        int64_t norma_test_before = norma_mem_count_bytes();                                       \
        norma_test_ok_all(call);                                                                   \
        double norma_test_taken = (double)(norma_mem_count_bytes() - norma_test_before);           \
        char norma_test_text[128];                                                                 \
        MPI_Allreduce(MPI_IN_PLACE, &norma_test_taken, 1, MPI_DOUBLE, MPI_MAX,                     \
                      norma_test_runtime->world);                                                  \
        snprintf(norma_test_text, sizeof norma_test_text, "%.17g bytes taken, planned are %.17g",  \
                 norma_test_taken, norma_test_planned);                                            \
        if (!norma_test_agree(norma_test_taken == norma_test_planned, norma_test_text, __FILE__,   \
                              __LINE__))                                                           \
            fail();                                                                                \
    } while (0)

#endif
