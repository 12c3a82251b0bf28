#ifndef NORMA_CHAIN_OBSERVABLES_H
#define NORMA_CHAIN_OBSERVABLES_H
/*
 * What is measured on H after a layer. M = H H^T / N is d x d, G = gram_scale H^T H is N x N (see
 * src/chain/spec.h); s_i are the min(d, N) singular values of H.
 */
#include "src/base/status.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum norma_observable {
    NORMA_OBSERVABLE_SOFT_RANK,         /* #{i: s_i^2 / N >= tau}, one per tau (RANK20 Eq. (3)) */
    NORMA_OBSERVABLE_STABLE_RANK,       /* r = tr(M)^2 / ||M||_F^2 (RANK20 Eq. (4)) */
    NORMA_OBSERVABLE_NUMERICAL_RANK,    /* #{i: s_i > tolerance s_1} */
    NORMA_OBSERVABLE_FRO2,              /* ||M||_F^2 */
    NORMA_OBSERVABLE_TR_M3,             /* tr(M^3) */
    NORMA_OBSERVABLE_TR_DIAG2,          /* tr(diag(M^2)^2) */
    NORMA_OBSERVABLE_SINGULAR_VALUE,    /* s_1 .. s_k */
    NORMA_OBSERVABLE_SIGMA_MIN,         /* s_min(d,N) (THESIS assumption A_1) */
    NORMA_OBSERVABLE_LOG_SIGMA_MIN,     /* its logarithm from accumulated triangular factors */
    NORMA_OBSERVABLE_ORTHOGONALITY_GAP, /* V of THESIS (2.2); centred linear chains: against
                                           (I - 11^T/N) / (N - 1) */
    NORMA_OBSERVABLE_ISOMETRY_GAP,      /* -log(det^(1/N) / (tr/N)) of G; +inf when singular */
    NORMA_OBSERVABLE_ISOMETRY_GAP_FEATURES, /* the same of H H^T, d x d */
    NORMA_OBSERVABLE_COSINE,                /* of samples 0 and 1 */
    NORMA_OBSERVABLE_GRAM_12,               /* G of samples 0 and 1 */
    NORMA_OBSERVABLE_GRAM_DISTANCE,         /* ||G - G*||_F */
    NORMA_OBSERVABLE_W2_BURES,    /* ||(G / tr G)^(1/2) - I / sqrt(N)||_F (THESIS Lemma 2.2) */
    NORMA_OBSERVABLE_LOG_NORM,    /* log ||H||_F, also where the norm leaves the range */
    NORMA_OBSERVABLE_ROW_BIAS,    /* var / mean^2 of the row norms of Z (THESIS Thm 4.3) */
    NORMA_OBSERVABLE_COLUMN_BIAS, /* var / mean^2 of the column norms of Z; both before norm */
    NORMA_N_OBSERVABLES
} norma_observable;

/* A set of observables, one bit each. */
typedef uint32_t norma_observable_set;
#define NORMA_OBSERVABLE_BIT(observable) ((norma_observable_set)1 << (observable))
#define NORMA_OBSERVABLES_ALL (NORMA_OBSERVABLE_BIT(NORMA_N_OBSERVABLES) - 1)

/* How an observable is described in files: its name ("soft_rank"), a sentence, and whether its
 * values are counts (all are dimensionless). Constant strings. */
const char *norma_observable_name(norma_observable observable);
const char *norma_observable_long_name(norma_observable observable);
bool norma_observable_is_count(norma_observable observable);

/* Reads "soft_rank,fro2" or "all" (dashes and underscores are equal); NORMA_CONFIG with the nearest
 * known name. */
NORMA_MUST_USE norma_status norma_observable_parse(const char *text, norma_observable_set *out);

#define NORMA_OBSERVABLE_MAX_TAU 64

/* What a chain will be asked for: workspaces are made for it. */
typedef struct norma_observable_request {
    norma_observable_set wanted;
    int n_tau;
    double tau[NORMA_OBSERVABLE_MAX_TAU]; /* thresholds of soft_rank */
    int n_singular;                       /* k of singular_value; at most min(d, N) */
    bool rank_single;      /* numerical_rank of H rounded to single precision, in its arithmetic */
    double rank_tolerance; /* relative to s_1; 0: max(d, N) times the precision's epsilon */
    bool lyapunov;         /* accumulate Lyapunov exponents */
    const double *gram_reference; /* G* [N][N], borrowed; NULL: see norma_chain_create */
} norma_observable_request;

/* soft_rank at tau 1/2 and the stable rank, nothing else. */
void norma_observable_request_init(norma_observable_request *out);

#endif
