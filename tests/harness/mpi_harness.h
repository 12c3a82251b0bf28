#ifndef NORMA_TESTS_MPI_HARNESS_H
#define NORMA_TESTS_MPI_HARNESS_H
/*
 * Harness for tests on several ranks. Every check is collective over the world: it agrees before it
 * fails, so that no rank is left alone in the next collective call. Only rank 0 prints.
 */
#include "tests/harness/harness.h"

#include "mpi/runtime/runtime.h"

/* The runtime of the test program. */
extern norma_runtime *norma_test_runtime;

/* True with the argument `all`: a test takes every step of a long walk, else some of them. */
extern bool norma_test_all;

/* True on all ranks when `mine` holds on all; otherwise prints where and on which rank it failed.
 */
bool norma_test_agree(bool mine, const char *what, const char *file, int line);

/* Collective checks. */
#define norma_test_check_all(condition)                                                            \
    do {                                                                                           \
        if (!norma_test_agree((condition), #condition, __FILE__, __LINE__))                        \
            fail();                                                                                \
    } while (0)

/* `call` must return NORMA_OK on all ranks. */
#define norma_test_ok_all(call)                                                                    \
    do {                                                                                           \
        norma_status norma_test_status = (call);                                                   \
        const char *norma_test_what =                                                              \
            norma_test_status == NORMA_OK ? #call : norma_status_error()->message;                 \
        if (!norma_test_agree(norma_test_status == NORMA_OK, norma_test_what, __FILE__, __LINE__)) \
            fail();                                                                                \
    } while (0)

/* `call` must return `expected` on all ranks, with `text` in the message; clears the record. */
#define norma_test_fails_all(call, expected, text)                                                 \
    do {                                                                                           \
        norma_status_clear();                                                                      \
        norma_status norma_test_status = (call);                                                   \
        bool norma_test_good = norma_test_status == (expected) &&                                  \
                               norma_test_contains(norma_status_error()->message, (text));         \
        if (!norma_test_agree(norma_test_good, norma_status_error()->message, __FILE__, __LINE__)) \
            fail();                                                                                \
        norma_status_clear();                                                                      \
    } while (0)

int norma_test_run_mpi(int argc, char **argv, const char *name, const struct CMUnitTest *tests,
                       size_t n_tests);

#define norma_test_main_mpi(name, tests)                                                           \
    int main(int argc, char **argv)                                                                \
    {                                                                                              \
        return norma_test_run_mpi(argc, argv, name, tests, sizeof(tests) / sizeof((tests)[0]));    \
    }

#endif
