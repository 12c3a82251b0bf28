/* io/result/schema: the shape of chunks. */
#include "tests/harness/harness.h"

#include "io/result/schema.h"
#include "src/base/index.h"

enum { MOST = 4 };

/* Bytes of a chunk between 64 KiB and 16 MiB, and at most an eighth of the file wasted at the ends
 * of the axes (a fiftieth where there are many values to choose from). */
static void check(int n, const int64_t *extents, int64_t size, double most_waste)
{
    int64_t chunk[MOST] = {0};
    int64_t bytes = size;
    double stored = (double)size;
    double needed = (double)size;
    norma_test_check(norma_schema_chunk_local(n, extents, size, chunk));
    for (int i = 0; i < n; i++) {
        norma_test_check(chunk[i] >= 1 && chunk[i] <= extents[i]);
        bytes *= chunk[i];
        stored *= (double)(norma_index_ceil_divide(extents[i], chunk[i]) * chunk[i]);
        needed *= (double)extents[i];
    }
    norma_test_check(bytes >= (int64_t)64 << 10 && bytes <= (int64_t)16 << 20);
    norma_test_check(stored <= (1 + most_waste) * needed);
}

static void test_chunks(void **state)
{
    (void)state;
    check(1, (int64_t[]){1000000}, 8, 0);
    check(1, (int64_t[]){1000003}, 8, 0.02);
    check(1, (int64_t[]){131072}, 8, 0);
    check(1, (int64_t[]){131073}, 8, 0.02);
    check(2, (int64_t[]){1, 1000000}, 8, 0);
    check(2, (int64_t[]){1000000, 1}, 8, 0);
    check(2, (int64_t[]){1000000, 3}, 4, 0.02);
    check(2, (int64_t[]){36801, 36801}, 8, 0.02);
    check(2, (int64_t[]){3, 131071}, 8, 0);
    check(2, (int64_t[]){7, 131073}, 8, 0.02);
    check(2, (int64_t[]){3, 65537}, 8, 0.125);
    check(4, (int64_t[]){20, 10, 2, 1000001}, 8, 0.02);
    check(4, (int64_t[]){64, 64, 3, 333}, 8, 0.125);
    check(3, (int64_t[]){1LL << 20, 1LL << 12, 5}, 1, 0.125);
    for (int64_t length = 131072; length < 4000000; length += 7919) {
        check(1, &length, 8, 0.02);
        check(2, (int64_t[]){length, 5}, 1 + (length % 2 ? 7 : 3), 0.02);
    }
}

static void test_small_arrays_are_contiguous(void **state)
{
    int64_t chunk[MOST];
    (void)state;
    norma_test_check(!norma_schema_chunk_local(0, NULL, 8, chunk));
    norma_test_check(!norma_schema_chunk_local(1, (int64_t[]){1000}, 8, chunk));
    norma_test_check(!norma_schema_chunk_local(2, (int64_t[]){0, 1LL << 40}, 8, chunk));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_chunks),
    cmocka_unit_test(test_small_arrays_are_contiguous),
};

norma_test_main_serial("io.schema", tests)
