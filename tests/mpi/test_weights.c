/*
 * Weights do not know who computes them: every rank fills its share of the features, on its own
 * instruction set and with its own number of threads, and rank 0 finds the bits of the tensor that
 * it computes alone with scalar code.
 */
#include "tests/harness/mpi_harness.h"

#include "src/base/cpu.h"
#include "src/base/index.h"
#include "src/base/mem.h"
#include "src/random/tensor.h"

#include <stdlib.h>
#include <string.h>

enum { N_FEATURES = 301, N_CHANNELS = 6, N_TAPS = 4, ROW = N_CHANNELS * N_TAPS };

static norma_tensor_spec spec_of(int distribution, int role)
{
    norma_tensor_spec spec = {.distribution = (norma_distribution)distribution,
                              .role = (norma_tensor_role)role,
                              .seed = UINT64_MAX - 2,
                              .stream = {.purpose = NORMA_RNG_TEST, .layer = 5, .replica = 1000},
                              .n_features = N_FEATURES,
                              .n_channels = N_CHANNELS,
                              .n_taps = N_TAPS};
    spec.pair = role == NORMA_TENSOR_FIRST
                    ? (norma_tensor_pair){1000, N_CHANNELS, {1, N_TAPS}, {1, 1}}
                    : (norma_tensor_pair){N_CHANNELS, 1000, {1, 1}, {1, N_TAPS}};
    return spec;
}

/* Fills rows first .. first + count - 1, a thread a few rows at a time. */
static norma_status fill_share(const norma_tensor_spec *spec, int n_threads, int64_t first,
                               int64_t count, double *out)
{
    norma_tensor *tensor = NULL;
    NORMA_TRY(norma_tensor_create(spec, &tensor));
#pragma omp parallel for schedule(dynamic) num_threads(n_threads)
    for (int64_t part = 0; part < count; part += 1 + n_threads) {
        int64_t n = count - part < 1 + n_threads ? count - part : 1 + n_threads;
        norma_tensor_fill(tensor, first + part, n, out + part * ROW);
    }
    norma_tensor_destroy(&tensor);
    return NORMA_OK;
}

/* The tensor in one piece by scalar code, on every rank. */
static norma_status fill_alone(const norma_tensor_spec *spec, double *out)
{
    norma_cpu_set_isa(NORMA_ISA_SCALAR);
    return fill_share(spec, 1, 0, N_FEATURES, out);
}

static bool row_differs(const void *a, const void *b)
{
    return memcmp(a, b, ROW * sizeof(double)) != 0;
}

/* Gathers the shares on rank 0; counts there the rows that differ from `whole`. */
static int64_t count_wrong_rows(const double *share, int64_t count, const double *whole,
                                double *gathered)
{
    const norma_runtime *runtime = norma_test_runtime;
    int counts[64];
    int offsets[64];
    for (int rank = 0; rank < runtime->size && rank < 64; rank++) {
        int64_t first = 0;
        counts[rank] = ROW * (int)norma_index_share(N_FEATURES, runtime->size, rank, &first);
        offsets[rank] = ROW * (int)first;
    }
    MPI_Gatherv(share, (int)count * ROW, MPI_DOUBLE, gathered, counts, offsets, MPI_DOUBLE, 0,
                runtime->world);
    int64_t n_wrong = 0;
    for (int64_t feature = 0; runtime->rank == 0 && feature < N_FEATURES; feature++)
        n_wrong += row_differs(gathered + feature * ROW, whole + feature * ROW);
    return n_wrong;
}

/* isa < 0: ranks use different ones. */
static void check_shares(int isa, int n_threads)
{
    const norma_runtime *runtime = norma_test_runtime;
    double *whole = NULL;
    double *share = NULL;
    double *gathered = NULL;
    int64_t first = 0;
    int64_t count = norma_index_share(N_FEATURES, runtime->size, runtime->rank, &first);
    int mine = isa >= 0 ? isa : (runtime->rank + 1) % NORMA_N_ISAS;
    if (!norma_cpu_supports((norma_isa)mine))
        mine = NORMA_ISA_SCALAR;
    norma_test_ok_all(NORMA_ALLOC(whole, N_FEATURES * ROW));
    norma_test_ok_all(NORMA_ALLOC(share, count * ROW));
    norma_test_ok_all(NORMA_ALLOC(gathered, N_FEATURES * ROW));
    for (int d = 0; d < NORMA_DISTRIBUTION_GIVEN; d++)
        for (int role = 0; role < 2; role++) {
            norma_tensor_spec spec = spec_of(d, role);
            norma_test_ok_all(fill_alone(&spec, whole));
            norma_cpu_set_isa((norma_isa)mine);
            norma_test_ok_all(fill_share(&spec, n_threads, first, count, share));
            norma_test_check_all(count_wrong_rows(share, count, whole, gathered) == 0);
        }
    NORMA_FREE(whole);
    NORMA_FREE(share);
    NORMA_FREE(gathered);
}

/* Runs first, before the others choose for themselves. */
static void environment_is_heard(void **state)
{
    (void)state;
    const char *asked = getenv("NORMA_ISA");
    const char *used = norma_cpu_isa_name(norma_cpu_isa());
    norma_test_check_all(!asked || !asked[0] || strcmp(asked, used) == 0);
}

static void shares_make_the_whole(void **state)
{
    (void)state;
    for (int isa = 0; isa < NORMA_N_ISAS; isa++)
        check_shares(isa, 1);
}

static void instruction_sets_may_mix(void **state)
{
    (void)state;
    check_shares(-1, 1);
}

static void threads_do_not_matter(void **state)
{
    (void)state;
    check_shares(NORMA_ISA_AVX2, 2);
    check_shares(-1, 1 + norma_test_runtime->rank);
}

/* The comparison above sees a single wrong row. */
static void a_wrong_entry_is_noticed(void **state)
{
    (void)state;
    const norma_runtime *runtime = norma_test_runtime;
    double whole[N_FEATURES * ROW];
    double share[N_FEATURES * ROW];
    double gathered[N_FEATURES * ROW];
    int64_t first = 0;
    int64_t count = norma_index_share(N_FEATURES, runtime->size, runtime->rank, &first);
    norma_tensor_spec spec = spec_of(NORMA_DISTRIBUTION_NORMAL, 0);
    norma_test_ok_all(fill_alone(&spec, whole));
    norma_test_ok_all(fill_share(&spec, 1, first, count, share));
    if (runtime->rank == runtime->size - 1)
        share[count * ROW - 1] = 0;
    int64_t n_wrong = count_wrong_rows(share, count, whole, gathered);
    norma_test_check_all(n_wrong == (runtime->rank == 0 ? 1 : 0));
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(environment_is_heard),     cmocka_unit_test(shares_make_the_whole),
    cmocka_unit_test(instruction_sets_may_mix), cmocka_unit_test(threads_do_not_matter),
    cmocka_unit_test(a_wrong_entry_is_noticed),
};

norma_test_main_mpi("weights", tests)
