#ifndef NORMA_TESTS_PLANNED_MEMORY_H
#define NORMA_TESTS_PLANNED_MEMORY_H
/* Checks, for serial tests, that a plan states the memory that its run takes. */
#include "tests/harness/harness.h"

#include "src/base/mem_count.h"

/* Fails unless call returns NORMA_OK and takes exactly `planned` bytes of memory. */
#define norma_test_takes(planned, call)                                                            \
    do {                                                                                           \
        double norma_test_planned = (planned);                                                     \
        int64_t norma_test_before = norma_mem_count_bytes();                                       \
        norma_test_ok(call);                                                                       \
        int64_t norma_test_taken = norma_mem_count_bytes() - norma_test_before;                    \
        if ((double)norma_test_taken != norma_test_planned)                                        \
            fail_msg("%s takes %lld bytes, planned are %.17g", #call, (long long)norma_test_taken, \
                     norma_test_planned);                                                          \
    } while (0)

#endif
