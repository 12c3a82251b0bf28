/* src/gradient/share: members' rows cover a width once; blocks of W have the bits of its rows;
 * refusals of too many members. */
#include "tests/harness/harness.h"

#include "src/gradient/gradient.h"
#include "src/gradient/share.h"
#include "src/gradient/weights.h"

#include <math.h>

enum { MOST = 9, WIDTH = 21, COLUMNS = 3 };

/* The place of a member, for which nothing is sent. */
static norma_chain_team team_of(int rank, int size)
{
    return (norma_chain_team){.rank = rank, .size = size};
}

static void covers(void **state)
{
    static const int64_t widths[] = {1, 7, 8, 9, 64, 133, 301}, units[] = {1, 8, 128};
    (void)state;
    for (size_t w = 0; w < sizeof widths / sizeof *widths; w++)
        for (int size = 1; size <= MOST; size++)
            for (size_t u = 0; u < 3; u++) {
                int64_t next = 0;
                for (int rank = 0; rank < size; rank++) {
                    const norma_chain_team team = team_of(rank, size);
                    norma_gradient_share share;
                    int64_t first = 0;
                    norma_gradient_share_init(widths[w], size, &share);
                    norma_gradient_share_join(&share, &team);
                    int64_t count = norma_gradient_share_part(&share, widths[w], units[u], &first);
                    assert_true(count >= 0 && first == next);
                    assert_true(first % units[u] == 0 || count == 0);
                    next += count;
                    assert_true(share.count <= share.most);
                    assert_true(share.count > 0 ||
                                size > norma_gradient_share_most_members(widths[w]));
                }
                assert_int_equal(next, widths[w]);
            }
}

static void blocks_of_weights(void **state)
{
    static const norma_chain_block_of_weights blocks[] = {
        {0, 4, 0, WIDTH}, {2, 3, 5, 8}, {WIDTH - 1, 1, WIDTH - 1, 1}, {1, 2, 3, 1}};
    (void)state;
    for (int law = 0; law < NORMA_N_DISTRIBUTIONS; law++) {
        const norma_law_source source = norma_law_get((norma_distribution)law)->source;
        const norma_chain_draw draw = {5, 1, 2, 3};
        double rows[WIDTH * WIDTH] = {0}, block[WIDTH * WIDTH];
        norma_chain_spec spec;
        if (source == NORMA_LAW_HAAR || source == NORMA_LAW_PAIRS || source == NORMA_LAW_GIVEN)
            continue;
        norma_chain_spec_init(NORMA_CHAIN_RANK20, WIDTH, COLUMNS, &spec);
        spec.weights = (norma_distribution)law;
        norma_chain_weights_rows(&spec, &draw, 0, WIDTH, rows);
        for (size_t b = 0; b < sizeof blocks / sizeof *blocks; b++) {
            norma_chain_weights_block(&spec, &draw, &blocks[b], block);
            for (int64_t i = 0; i < blocks[b].n_rows; i++)
                for (int64_t j = 0; j < blocks[b].n_columns; j++)
                    assert_true(block[i * blocks[b].n_columns + j] ==
                                rows[(blocks[b].row + i) * WIDTH + blocks[b].column + j]);
        }
    }
}

static void members(void **state)
{
    const norma_chain_input input = {.kind = NORMA_CHAIN_INPUT_GAUSSIAN, .epsilon = NAN};
    norma_gradient_request request = {.loss.classes = 2, .depth = 20, .segment = 20};
    norma_gradient_needs alone, shared;
    norma_gradient *g = NULL;
    norma_chain_spec spec;
    (void)state;
    norma_chain_spec_init(NORMA_CHAIN_RANK20, 160, 80, &spec);
    spec.law = NORMA_CHAIN_LAW_PATHWISE;
    norma_test_ok(norma_gradient_check(&spec, &input, &request, &alone));
    assert_int_equal(alone.most_members, 20);
    request.n_members = 4;
    norma_test_ok(norma_gradient_check(&spec, &input, &request, &shared));
    /* three quarters of H and Z, but for the two of the layer under way; W, which one process keeps
     */
    norma_test_check_close(alone.bytes - shared.bytes,
                           8.0 * (2 * 80 * (20 * 120 - 160) + 20 * 160 * 160), 0);
    request.n_members = 21;
    norma_test_fails(norma_gradient_create(&spec, &input, &request, &g), NORMA_LIMIT,
                     "at most 20 processes");
    spec.law = NORMA_CHAIN_LAW_EXACT;
    norma_test_ok(norma_gradient_check(&spec, &input, &request, &shared));
    assert_int_equal(shared.most_members, 1);
    assert_non_null(shared.not_shared);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(covers),
    cmocka_unit_test(blocks_of_weights),
    cmocka_unit_test(members),
};

norma_test_main_serial("src/gradient_share", tests)
