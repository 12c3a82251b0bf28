/* src/chain between 65 and 256 channels: products by the vector kernels against those of BLAS,
 * which the scalar instruction set takes, over some layers of every kind of weights and shape. Of
 * small matrices: eigenvalues counted by pivots, by every set of kernels, and blocks of 1 to 8
 * replicas. */
#include "tests/harness/harness.h"

#include "src/base/cpu.h"
#include "src/base/mem.h"
#include "src/base/rng.h"
#include "src/chain/chain.h"
#include "src/chain/kernels/lanes.h"

#include <math.h>
#include <string.h>

#define BIT(name) NORMA_OBSERVABLE_BIT(NORMA_OBSERVABLE_##name)
#define WANTED                                                                                     \
    (BIT(SOFT_RANK) | BIT(STABLE_RANK) | BIT(FRO2) | BIT(TR_M3) | BIT(TR_DIAG2) |                  \
     BIT(ORTHOGONALITY_GAP) | BIT(LOG_NORM))

enum { N_LAYERS = 4, N_VALUES = 10 };

/* The observables after N_LAYERS layers with the kernels of `isa`. */
static void run(norma_isa isa, const norma_chain_spec *spec, double values[N_VALUES])
{
    const norma_chain_input input = {.kind = NORMA_CHAIN_INPUT_GAUSSIAN, .epsilon = NAN};
    const norma_isa usual = norma_cpu_isa();
    norma_observable_request request;
    norma_chain *chain = NULL;
    norma_observable_request_init(&request);
    request.wanted = WANTED;
    request.n_tau = 3; /* more than are counted from factors */
    request.tau[0] = 0.2;
    request.tau[2] = 1.1;
    norma_cpu_set_isa(isa);
    norma_test_ok(norma_chain_create(spec, &input, &request, 1, &chain));
    assert_true(norma_chain_n_values_all(chain) <= N_VALUES);
    norma_test_ok(norma_chain_start(chain, 3, 0, 0, 1));
    for (int layer = 0; layer < N_LAYERS; layer++)
        norma_test_ok(norma_chain_step(chain));
    norma_test_ok(norma_chain_measure(chain, WANTED, values));
    norma_chain_destroy(&chain);
    norma_cpu_set_isa(usual);
}

static void compare(const norma_chain_spec *spec)
{
    const norma_isa sets[] = {NORMA_ISA_AVX2, NORMA_ISA_AVX512};
    double expected[N_VALUES] = {0}, found[N_VALUES] = {0};
    run(NORMA_ISA_SCALAR, spec, expected);
    for (int s = 0; s < 2; s++) {
        if (!norma_cpu_supports(sets[s]))
            continue;
        run(sets[s], spec, found);
        for (int v = 0; v < N_VALUES; v++)
            assert_true(fabs(found[v] - expected[v]) <= 1e-11 * fabs(expected[v]) + 1e-14);
    }
}

static void test_shapes(void **state)
{
    static const int64_t shapes[][2] = {{256, 256}, {65, 65}, {251, 70}, {66, 255},
                                        {130, 131}, {70, 73}, {200, 77}};
    (void)state;
    for (size_t i = 0; i < sizeof shapes / sizeof shapes[0]; i++)
        for (int skip = 0; skip < 2; skip++) {
            norma_chain_spec spec;
            norma_chain_spec_init(NORMA_CHAIN_RANK20, shapes[i][0], shapes[i][1], &spec);
            spec.law = NORMA_CHAIN_LAW_PATHWISE;
            spec.residual = skip ? 0.3 : INFINITY;
            compare(&spec);
        }
}

static void test_laws_and_norms(void **state)
{
    static const norma_chain_preset presets[] = {NORMA_CHAIN_THESIS2, NORMA_CHAIN_THESIS3,
                                                 NORMA_CHAIN_THESIS5_PRE_LN, NORMA_CHAIN_VANILLA};
    static const norma_distribution laws[] = {
        NORMA_DISTRIBUTION_ER_NORMAL, NORMA_DISTRIBUTION_ER_SIGN,
        NORMA_DISTRIBUTION_SPARSE_HE_NORMAL, NORMA_DISTRIBUTION_UNIFORM_POSITIVE};
    static const int64_t widths[] = {20, 100};
    (void)state;
    for (int w = 0; w < 2; w++)
        for (size_t i = 0; i < sizeof presets / sizeof presets[0]; i++) {
            norma_chain_spec spec;
            norma_chain_spec_init(presets[i], widths[w], 90, &spec);
            spec.law = NORMA_CHAIN_LAW_PATHWISE;
            spec.weights = laws[i];
            compare(&spec);
        }
}

/* Lane l holds q diag(1, .., m) q^T - 2 l, q a reflection: the counts are known. Every set of
 * kernels finds them, with the same growth in every bit. */
static void count_by(const norma_lanes_kernels *kernels, int64_t m, double growth[NORMA_LANES])
{
    const int64_t lanes = kernels->lanes;
    double *k = NULL, *work = NULL, v[NORMA_LANES_MAX_SIZE];
    const norma_rng_stream stream = {.purpose = NORMA_RNG_TEST};
    norma_lanes_values threshold = {0}, count = {0}, sizes = {0};
    norma_test_ok(NORMA_CALLOC(k, m * m * lanes));
    norma_test_ok(NORMA_CALLOC(work, (2 * m + 1) * m * lanes));
    norma_rng_fill_normal(6, &stream, 0, m, v);
    double square = 0;
    for (int64_t i = 0; i < m; i++)
        square += v[i] * v[i];
    for (int64_t l = 0; l < NORMA_LANES; l += lanes) {
        for (int64_t i = 0; i < m; i++)
            for (int64_t j = 0; j <= i; j++) {
                double x = 0;
                for (int64_t e = 0; e < m; e++)
                    x += (double)(e + 1) * ((i == e) - 2 / square * v[i] * v[e]) *
                         ((j == e) - 2 / square * v[j] * v[e]);
                for (int64_t lane = 0; lane < lanes; lane++)
                    k[(i * m + j) * lanes + lane] = k[(j * m + i) * lanes + lane] = x;
            }
        for (int64_t lane = 0; lane < lanes; lane++)
            threshold[lane] = 0.375 + 2 * (double)(l + lane);
        kernels->count_pivots(m, k, threshold, work, count, sizes);
        for (int64_t lane = 0; lane < lanes; lane++) {
            int64_t below = 2 * (l + lane);
            assert_int_equal((int64_t)count[lane], below < m ? m - below : 0);
            growth[l + lane] = sizes[lane];
        }
    }
    norma_mem_free(k);
    norma_mem_free(work);
}

static void test_counts_by_pivots(void **state)
{
    (void)state;
    const norma_isa usual = norma_cpu_isa();
    for (int64_t m = 1; m <= NORMA_LANES_MAX_SIZE; m += m < 20 ? 1 : 11) {
        double first[NORMA_LANES], growth[NORMA_LANES];
        for (int kernel = 0; kernel < 2 * NORMA_N_ISAS; kernel++) {
            if (!norma_cpu_supports((norma_isa)(kernel / 2)))
                continue;
            norma_cpu_set_isa((norma_isa)(kernel / 2));
            count_by(kernel % 2 ? norma_lanes_get_solo() : norma_lanes_get(), m,
                     kernel == 0 ? first : growth);
            assert_true(kernel == 0 || memcmp(first, growth, sizeof first) == 0);
        }
    }
    norma_cpu_set_isa(usual);
}

/* The observables of replicas 0 to 7 in blocks of at most `block`, [n_values][NORMA_LANES]. */
static void run_blocks(const norma_chain_spec *spec, int64_t block, double *values)
{
    const norma_chain_input input = {.kind = NORMA_CHAIN_INPUT_GAUSSIAN, .epsilon = NAN};
    norma_observable_request request;
    norma_chain *chain = NULL;
    double some[N_VALUES * NORMA_LANES] = {0};
    norma_observable_request_init(&request);
    request.wanted = WANTED;
    norma_test_ok(norma_chain_create(spec, &input, &request, block, &chain));
    const int lanes = norma_chain_n_lanes(chain);
    assert_true(lanes == block || (norma_cpu_isa() == NORMA_ISA_SCALAR && lanes == 1));
    for (int64_t first = 0; first < NORMA_LANES; first += lanes) {
        norma_test_ok(norma_chain_start(chain, 3, 0, first, lanes));
        for (int layer = 0; layer < N_LAYERS; layer++)
            norma_test_ok(norma_chain_step(chain));
        norma_test_ok(norma_chain_measure(chain, WANTED, some));
        for (int64_t v = 0; v < norma_chain_n_values_all(chain); v++)
            for (int lane = 0; lane < lanes; lane++)
                values[v * NORMA_LANES + first + lane] = some[v * lanes + lane];
    }
    norma_chain_destroy(&chain);
}

/* Blocks of 1, 2, 4 and 8 replicas with every instruction set: the same bits, also of masked laws
 * and of an odd number of entries. */
static void test_blocks_of_any_size(void **state)
{
    static const norma_distribution laws[] = {
        NORMA_DISTRIBUTION_NORMAL, NORMA_DISTRIBUTION_UNIFORM, NORMA_DISTRIBUTION_ER_NORMAL,
        NORMA_DISTRIBUTION_ER_SIGN, NORMA_DISTRIBUTION_SPARSE_HE_NORMAL};
    static const int64_t shapes[][2] = {{9, 9}, {20, 7}, {33, 40}, {64, 64}};
    const norma_isa usual = norma_cpu_isa();
    (void)state;
    for (size_t law = 0; law < sizeof laws / sizeof *laws; law++)
        for (size_t shape = 0; shape < sizeof shapes / sizeof *shapes; shape++) {
            norma_chain_spec spec;
            norma_chain_spec_init(NORMA_CHAIN_VANILLA, shapes[shape][0], shapes[shape][1], &spec);
            spec.law = NORMA_CHAIN_LAW_PATHWISE;
            spec.weights = laws[law];
            double first[N_VALUES * NORMA_LANES] = {0}, other[N_VALUES * NORMA_LANES] = {0};
            norma_cpu_set_isa(NORMA_ISA_SCALAR);
            run_blocks(&spec, 1, first);
            for (int set = 0; set < NORMA_N_ISAS; set++)
                for (int64_t block = 1; block <= NORMA_LANES; block *= 2) {
                    if (!norma_cpu_supports((norma_isa)set))
                        continue;
                    norma_cpu_set_isa((norma_isa)set);
                    run_blocks(&spec, block, other);
                    assert_memory_equal(first, other, sizeof first);
                }
        }
    norma_cpu_set_isa(usual);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_shapes),
    cmocka_unit_test(test_laws_and_norms),
    cmocka_unit_test(test_counts_by_pivots),
    cmocka_unit_test(test_blocks_of_any_size),
};

norma_test_main_serial("src.chain.solo", tests)
