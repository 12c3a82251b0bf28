/* mpi/linalg/ring: every message whole, on any split into nodes, several on their way at a time. */
#include "tests/harness/mpi_harness.h"

#include "mpi/linalg/ring.h"

#include <string.h>

#define LONGEST ((int64_t)3 << 20)
enum { n_rings = 3, n_messages = 12 };

/* Byte e of message m. */
static char byte(int m, int64_t e)
{
    return (char)((e * 31 + e / 4096 + m * 7) % 127);
}

static int64_t length(int m)
{
    static const int64_t lengths[] = {LONGEST, 1, LONGEST - 5, (int64_t)1 << 20, 100, 0};
    return lengths[m % 6];
}

static void begin(norma_ring *ring, int m)
{
    int root = (m * 2) % norma_test_runtime->size;
    char *buffer = norma_ring_buffer_local(ring, root);
    for (int64_t e = 0; root == norma_test_runtime->rank && e < length(m); e++)
        buffer[e] = byte(m, e);
    norma_ring_start(ring, root, length(m));
}

static bool arrives(norma_ring *ring, int m)
{
    norma_ring_receive(ring);
    const char *buffer = norma_ring_buffer_local(ring, (m * 2) % norma_test_runtime->size);
    bool right = true;
    for (int64_t e = 0; e < length(m); e++)
        right = right && buffer[e] == byte(m, e);
    return right;
}

/* Two messages ahead of the one that is read, as a factorization has them. */
static void test_messages(void **state)
{
    (void)state;
    for (int together = 0; together <= 3; together++) {
        norma_ring *rings[n_rings] = {NULL};
        norma_ring_options options = {
            .max_bytes = LONGEST, .n_alike = 3, .most_together = together};
        for (int r = 0; r < n_rings; r++) {
            options.which = r;
            norma_test_ok_all(norma_ring_create(norma_test_runtime->world, &options, &rings[r]));
        }
        begin(rings[0], 0);
        begin(rings[1], 1);
        for (int m = 0; m < n_messages; m++) {
            norma_ring_finish(rings[(m + 2) % n_rings]);
            if (m + 2 < n_messages)
                begin(rings[(m + 2) % n_rings], m + 2);
            for (int r = 0; r < n_rings; r++)
                norma_ring_progress(rings[r]);
            norma_test_check_all(arrives(rings[m % n_rings], m));
        }
        for (int r = 0; r < n_rings; r++) {
            norma_ring_finish(rings[r]);
            norma_ring_destroy(&rings[r]);
        }
    }
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(test_messages)};

norma_test_main_mpi("mpi.ring", tests)
