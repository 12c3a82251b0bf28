#include "src/chain/observables.h"

#include "src/base/text.h"

#include <string.h>

typedef struct description {
    const char *name, *long_name;
    bool is_count;
} description;

static const description table[NORMA_N_OBSERVABLES] = {
    {"soft_rank", "number of eigenvalues of M = H H^T / N that are at least tau", true},
    {"stable_rank", "tr(M)^2 / ||M||_F^2, a lower bound of the rank", false},
    {"numerical_rank", "number of singular values of H above the tolerance", true},
    {"fro2", "||M||_F^2", false},
    {"tr_m3", "tr(M^3)", false},
    {"tr_diag2", "tr(diag(M^2)^2)", false},
    {"singular_value", "largest singular values of H", false},
    {"sigma_min", "smallest singular value of H", false},
    {"log_sigma_min", "logarithm of the smallest singular value of H that centring leaves", false},
    {"orthogonality_gap", "distance of the normalized Gram matrix from its orthogonal limit",
     false},
    {"isometry_gap",
     "log of arithmetic over geometric mean of the eigenvalues of H^T H; +inf when singular, as "
     "behind a centring normalization",
     false},
    {"isometry_gap_features",
     "log of arithmetic over geometric mean of the eigenvalues of H H^T; +inf when singular, as "
     "behind a centring normalization",
     false},
    {"cosine", "cosine of the angle between samples 1 and 2", false},
    {"gram_12", "Gram matrix element of samples 1 and 2", false},
    {"gram_distance",
     "Frobenius distance of the Gram matrix from its fixed point, or the input's where it has none",
     false},
    {"w2_bures", "conditional Wasserstein-2 distance from a Gaussian", false},
    {"log_norm", "logarithm of the Frobenius norm of H", false},
    {"row_bias", "variance over squared mean of row norms before normalization", false},
    {"column_bias", "variance over squared mean of column norms before normalization", false}};

const char *norma_observable_name(norma_observable observable)
{
    return table[observable].name;
}

const char *norma_observable_long_name(norma_observable observable)
{
    return table[observable].long_name;
}

bool norma_observable_is_count(norma_observable observable)
{
    return table[observable].is_count;
}

static norma_status parse_one(const char *word, norma_observable_set *out)
{
    norma_text_search search;
    norma_text_search_init(&search, word);
    if (strcmp(word, "all") == 0) {
        *out |= NORMA_OBSERVABLES_ALL;
        return NORMA_OK;
    }
    for (int k = 0; k < NORMA_N_OBSERVABLES; k++) {
        if (strcmp(word, table[k].name) == 0) {
            *out |= NORMA_OBSERVABLE_BIT(k);
            return NORMA_OK;
        }
        norma_text_search_offer(&search, table[k].name);
    }
    const char *nearest = norma_text_search_result(&search);
    return NORMA_FAIL(NORMA_CONFIG, "unknown observable '%s'%s%s%s", word,
                      nearest ? "; did you mean '" : "", nearest ? nearest : "",
                      nearest ? "'?" : "");
}

norma_status norma_observable_parse(const char *text, norma_observable_set *out)
{
    norma_observable_set set = 0;
    while (*text) {
        char word[40] = "";
        size_t length = strcspn(text, ",");
        if (length >= sizeof word)
            return NORMA_FAIL(NORMA_CONFIG, "unknown observable '%.60s'", text);
        memcpy(word, text, length);
        for (size_t i = 0; i < length; i++)
            if (word[i] == '-')
                word[i] = '_';
        if (length > 0)
            NORMA_TRY(parse_one(word, &set));
        text += length + (text[length] == ',');
    }
    if (set == 0)
        return NORMA_FAIL(NORMA_CONFIG, "no observable was named");
    *out = set;
    return NORMA_OK;
}

void norma_observable_request_init(norma_observable_request *out)
{
    norma_observable_request request = {0};
    request.wanted = NORMA_OBSERVABLE_BIT(NORMA_OBSERVABLE_SOFT_RANK) |
                     NORMA_OBSERVABLE_BIT(NORMA_OBSERVABLE_STABLE_RANK);
    request.n_tau = 1;
    request.tau[0] = 0.5;
    *out = request;
}
