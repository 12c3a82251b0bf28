#include "src/chain/input.h"

#include "src/base/rng.h"

#include <math.h>
#include <string.h>

static const struct {
    const char *name, *summary;
    double epsilon; /* unless given; 0: the kind has none */
} kinds[NORMA_N_CHAIN_INPUTS] = {
    [NORMA_CHAIN_INPUT_GAUSSIAN] = {"gaussian", "independent standard normal entries", 0},
    [NORMA_CHAIN_INPUT_NEAR_COLLINEAR] =
        {"near-collinear", "one Gaussian sample, plus epsilon times another for each", 1e-5},
    [NORMA_CHAIN_INPUT_NEAR_BASIS] = {"near-basis",
                                      "e_0 and (1 - epsilon) e_0 + epsilon e_j (THESIS Fig. 2.1)",
                                      1e-3},
    [NORMA_CHAIN_INPUT_DIAGONAL] = {"diagonal",
                                    "1, epsilon, epsilon, ... on the diagonal (THESIS Fig. 2.2)",
                                    1e-6},
    [NORMA_CHAIN_INPUT_DEGENERATE] = {"degenerate",
                                      "--input-distinct Gaussian samples, repeated in turn", 0},
    [NORMA_CHAIN_INPUT_RANK_ONE] =
        {"rank-one", "(1 - epsilon) I + epsilon u v^T, u and v uniform on [0, 1] (THESIS Fig. 6.1)",
         5e-3},
    [NORMA_CHAIN_INPUT_GIVEN] = {"given", "values handed in", 0},
};

static bool is_drawn(int64_t i)
{
    return i != NORMA_CHAIN_INPUT_GIVEN;
}

static bool has_epsilon(int64_t i)
{
    return kinds[i].epsilon > 0;
}

const norma_names norma_chain_input_names =
    NORMA_NAMES_OF("chain input", "chain inputs", kinds, is_drawn);
const norma_names norma_chain_input_epsilon_names =
    NORMA_NAMES_OF("chain input", "chain inputs with an epsilon", kinds, has_epsilon);

bool norma_chain_input_has_epsilon(norma_chain_input_kind kind)
{
    return has_epsilon(kind);
}

norma_status norma_chain_input_parse(const char *text, norma_chain_input_kind *out)
{
    int64_t k = 0;
    NORMA_TRY(norma_names_find(&norma_chain_input_names, text, &k));
    *out = (norma_chain_input_kind)k;
    return NORMA_OK;
}

static norma_status check_values(const norma_chain_input *input, int64_t d, int64_t n)
{
    if (!input->values)
        return NORMA_FAIL(NORMA_CONFIG, "a given chain input has no values");
    if (input->rows != d || input->columns != n)
        return NORMA_FAIL(
            NORMA_CONFIG, "the chain input is %lld x %lld, but width x batch is %lld x %lld",
            (long long)input->rows, (long long)input->columns, (long long)d, (long long)n);
    for (int64_t i = 0; i < d * n; i++) {
        double x = input->values[i / n * input->row_length + i % n];
        if (!isfinite(x))
            return NORMA_FAIL(NORMA_CONFIG, "chain input: element [%lld, %lld] is %g",
                              (long long)(i / n), (long long)(i % n), x);
    }
    return NORMA_OK;
}

norma_status norma_chain_input_finish(norma_chain_input *input, int64_t d, int64_t n)
{
    const char *name = kinds[input->kind].name;
    if (isnan(input->epsilon))
        input->epsilon = kinds[input->kind].epsilon;
    if (!isfinite(input->epsilon) || input->epsilon < 0)
        return NORMA_FAIL(NORMA_CONFIG, "chain input %s: epsilon must be 0 or positive, not %g",
                          name, input->epsilon);
    if (input->kind == NORMA_CHAIN_INPUT_DEGENERATE) {
        if (input->n_distinct == 0)
            input->n_distinct = n > 1 ? n / 2 : 1;
        if (input->n_distinct < 1 || input->n_distinct > n)
            return NORMA_FAIL(
                NORMA_CONFIG,
                "chain input degenerate: distinct samples must be 1 to %lld, not %lld",
                (long long)n, (long long)input->n_distinct);
    }
    if (input->kind == NORMA_CHAIN_INPUT_NEAR_BASIS && n > d)
        return NORMA_FAIL(
            NORMA_CONFIG,
            "chain input near-basis: the batch (%lld) must not exceed the width (%lld)",
            (long long)n, (long long)d);
    input->row_length = input->row_length > 0 ? input->row_length : input->columns;
    return input->kind == NORMA_CHAIN_INPUT_GIVEN ? check_values(input, d, n) : NORMA_OK;
}

/* out[i][j] = common[i] + epsilon out[i][j], common being tensor 1. */
static void make_collinear(const norma_chain_input *input, uint64_t seed, norma_rng_stream stream,
                           int64_t d, int64_t n, double *out)
{
    stream.tensor = 1;
    for (int64_t i = 0; i < d; i++) {
        double common = 0;
        norma_rng_fill_normal(seed, &stream, i, 1, &common);
        for (int64_t j = 0; j < n; j++)
            out[i * n + j] = common + input->epsilon * out[i * n + j];
    }
}

static void make_rank_one(const norma_chain_input *input, uint64_t seed, norma_rng_stream stream,
                          int64_t d, int64_t n, double *out)
{
    norma_rng_stream other = stream;
    other.tensor = 1;
    norma_rng_fill_uniform(seed, &other, 0, n, out + (d - 1) * n); /* v, in the last row */
    for (int64_t i = 0; i < d; i++) {
        double u = 0;
        norma_rng_fill_uniform(seed, &stream, i, 1, &u);
        for (int64_t j = 0; j < n; j++)
            out[i * n + j] = input->epsilon * u * out[(d - 1) * n + j];
        if (i < n)
            out[i * n + i] += 1 - input->epsilon;
    }
}

static void make_sparse(const norma_chain_input *input, int64_t d, int64_t n, double *out)
{
    memset(out, 0, (size_t)(d * n) * sizeof *out);
    out[0] = 1;
    for (int64_t j = 1; j < n && j < d; j++) {
        out[j * n + j] = input->epsilon;
        if (input->kind == NORMA_CHAIN_INPUT_NEAR_BASIS)
            out[j] = 1 - input->epsilon;
    }
}

static void repeat_samples(int64_t n_distinct, int64_t d, int64_t n, double *out)
{
    for (int64_t i = 0; i < d; i++)
        for (int64_t j = n_distinct; j < n; j++)
            out[i * n + j] = out[i * n + j % n_distinct];
}

void norma_chain_input_fill(const norma_chain_input *input, uint64_t seed, int64_t cell,
                            int64_t replica, int64_t d, int64_t n, double *out)
{
    norma_rng_stream stream = {NORMA_RNG_CHAIN_INPUT, 0, 0, replica, cell};
    switch (input->kind) {
    case NORMA_CHAIN_INPUT_GIVEN:
        for (int64_t i = 0; i < d; i++)
            memcpy(out + i * n, input->values + i * input->row_length, (size_t)n * sizeof *out);
        return;
    case NORMA_CHAIN_INPUT_NEAR_BASIS:
    case NORMA_CHAIN_INPUT_DIAGONAL:
        make_sparse(input, d, n, out);
        return;
    case NORMA_CHAIN_INPUT_RANK_ONE:
        make_rank_one(input, seed, stream, d, n, out);
        return;
    default:
        norma_rng_fill_normal(seed, &stream, 0, d * n, out);
        break;
    }
    if (input->kind == NORMA_CHAIN_INPUT_NEAR_COLLINEAR)
        make_collinear(input, seed, stream, d, n, out);
    if (input->kind == NORMA_CHAIN_INPUT_DEGENERATE)
        repeat_samples(input->n_distinct, d, n, out);
}
