#ifndef NORMA_CHAIN_OBSERVABLES_H
#define NORMA_CHAIN_OBSERVABLES_H
/*
 * The observables of a chain, measured on H after a layer. M = H H^T / N is d x d, G = gram_scale
 * H^T H is N x N (see src/chain/spec.h); s_i are the min(d, N) singular values of H.
 *
 * All of them are lines of the table below: offsets, result files, the table on the terminal,
 * workspaces, teams, refusals, options and help follow from a line. A new observable is a line here
 * and its value in the function of its family (src/chain/measure*.c).
 */
#include "src/base/names.h"
#include "src/base/status.h"

#include <stdbool.h>
#include <stdint.h>

/* clang-format off */
/* Columns: number, name, axis, family, requirement, is it a count?, sentence for the file. Comments
 * give the equation. */
#define NORMA_OBSERVABLES(OBSERVABLE) \
    /* #{i: s_i^2 / N >= tau} (RANK20 Eq. (3)) */ \
    OBSERVABLE(SOFT_RANK, "soft_rank", TAU, SMALL_GRAM, NOTHING, true, "number of eigenvalues of M = H H^T / N that are at least tau") \
    /* r = tr(M)^2 / ||M||_F^2 (RANK20 Eq. (4)) */ \
    OBSERVABLE(STABLE_RANK, "stable_rank", ONE, SMALL_GRAM, NOTHING, false, "tr(M)^2 / ||M||_F^2, a lower bound of the rank") \
    /* #{i: s_i > tolerance s_1} */ \
    OBSERVABLE(NUMERICAL_RANK, "numerical_rank", ONE, SPECTRUM, RANK_TOLERANCE, true, "number of singular values of H above the tolerance") \
    OBSERVABLE(FRO2, "fro2", ONE, SMALL_GRAM, NOTHING, false, "||M||_F^2") \
    OBSERVABLE(TR_M3, "tr_m3", ONE, SMALL_GRAM, NOTHING, false, "tr(M^3)") \
    OBSERVABLE(TR_DIAG2, "tr_diag2", ONE, SMALL_GRAM, NOTHING, false, "tr(diag(M^2)^2)") \
    /* s_1 .. s_k */ \
    OBSERVABLE(SINGULAR_VALUE, "singular_value", K, SPECTRUM, NOTHING, false, "largest singular values of H") \
    /* s_min(d, N) (THESIS assumption A_1) */ \
    OBSERVABLE(SIGMA_MIN, "sigma_min", ONE, SPECTRUM, NOTHING, false, "smallest singular value of H") \
    /* from accumulated triangular factors (src/chain/frame.h) */ \
    OBSERVABLE(LOG_SIGMA_MIN, "log_sigma_min", ONE, FRAME, NOTHING, false, "logarithm of the smallest singular value of H that centring leaves") \
    /* V of THESIS (2.2); centred linear chains: against (I - 11^T/N) / (N - 1) */ \
    OBSERVABLE(ORTHOGONALITY_GAP, "orthogonality_gap", ONE, SAMPLE_GRAM, NOTHING, false, "distance of the normalized Gram matrix from its orthogonal limit") \
    /* -log(det^(1/N) / (tr/N)) of G */ \
    OBSERVABLE(ISOMETRY_GAP, "isometry_gap", ONE, SPECTRUM, NOTHING, false, "log of arithmetic over geometric mean of the eigenvalues of H^T H; +inf when singular, as behind a centring normalization") \
    /* the same of H H^T, d x d */ \
    OBSERVABLE(ISOMETRY_GAP_FEATURES, "isometry_gap_features", ONE, SPECTRUM, NOTHING, false, "log of arithmetic over geometric mean of the eigenvalues of H H^T; +inf when singular, as behind a centring normalization") \
    OBSERVABLE(COSINE, "cosine", ONE, COLUMNS, TWO_SAMPLES, false, "cosine of the angle between samples 1 and 2") \
    OBSERVABLE(GRAM_12, "gram_12", ONE, COLUMNS, TWO_SAMPLES, false, "Gram matrix element of samples 1 and 2") \
    /* ||G - G*||_F */ \
    OBSERVABLE(GRAM_DISTANCE, "gram_distance", ONE, SAMPLE_GRAM, REFERENCE, false, "Frobenius distance of the Gram matrix from its fixed point, or the input's where it has none") \
    /* ||(G / tr G)^(1/2) - I / sqrt(N)||_F (THESIS Lemma 2.2) */ \
    OBSERVABLE(W2_BURES, "w2_bures", ONE, SPECTRUM, NOTHING, false, "conditional Wasserstein-2 distance from a Gaussian") \
    /* log ||H||_F, also where the norm leaves the range */ \
    OBSERVABLE(LOG_NORM, "log_norm", ONE, COLUMNS, NOTHING, false, "logarithm of the Frobenius norm of H") \
    /* var / mean^2 of the row norms of Z (THESIS Thm 4.3) */ \
    OBSERVABLE(ROW_BIAS, "row_bias", ONE, BIAS, NOTHING, false, "variance over squared mean of row norms before normalization") \
    OBSERVABLE(COLUMN_BIAS, "column_bias", ONE, BIAS, NOTHING, false, "variance over squared mean of column norms before normalization")
/* clang-format on */

#define NORMA_OBSERVABLE_NUMBER(number, ...) NORMA_OBSERVABLE_##number,
typedef enum norma_observable {
    NORMA_OBSERVABLES(NORMA_OBSERVABLE_NUMBER) NORMA_N_OBSERVABLES
} norma_observable;
#undef NORMA_OBSERVABLE_NUMBER

/* The dimension of an observable's values. */
typedef enum norma_observable_axis {
    NORMA_OBSERVABLE_AXIS_ONE, /* one value, no dimension */
    NORMA_OBSERVABLE_AXIS_TAU, /* one for each threshold */
    NORMA_OBSERVABLE_AXIS_K,   /* one for each of the k largest */
    NORMA_N_OBSERVABLE_AXES
} norma_observable_axis;

/* The matrix or decomposition that a group of observables shares. */
typedef enum norma_observable_family {
    NORMA_OBSERVABLE_FAMILY_SMALL_GRAM,  /* the smaller of H H^T and H^T H */
    NORMA_OBSERVABLE_FAMILY_SAMPLE_GRAM, /* H^T H */
    NORMA_OBSERVABLE_FAMILY_SPECTRUM,    /* the singular values of H */
    NORMA_OBSERVABLE_FAMILY_FRAME,       /* the frame of src/chain/frame.h */
    NORMA_OBSERVABLE_FAMILY_COLUMNS,     /* elements of H */
    NORMA_OBSERVABLE_FAMILY_BIAS,        /* Z before its normalization */
    NORMA_N_OBSERVABLE_FAMILIES
} norma_observable_family;

/* The property that a chain must have for the observable to be defined; those of a FRAME are always
 * checked. "all" leaves out what a chain does not define. */
typedef enum norma_observable_requirement {
    NORMA_OBSERVABLE_NEEDS_NOTHING,
    NORMA_OBSERVABLE_NEEDS_TWO_SAMPLES,
    NORMA_OBSERVABLE_NEEDS_REFERENCE,     /* a Gram matrix to compare with */
    NORMA_OBSERVABLE_NEEDS_RANK_TOLERANCE /* single precision: one above its rounding */
} norma_observable_requirement;

/* A set of observables, one bit each. */
typedef uint32_t norma_observable_set;
#define NORMA_OBSERVABLE_BIT(observable) ((norma_observable_set)1 << (observable))
#define NORMA_OBSERVABLES_ALL (NORMA_OBSERVABLE_BIT(NORMA_N_OBSERVABLES) - 1)

/* A line of the table; texts are constants. Values are dimensionless. */
typedef struct norma_observable_descriptor {
    const char *name, *summary;
    norma_observable_axis axis;
    norma_observable_family family;
    norma_observable_requirement requirement;
    bool is_count;
} norma_observable_descriptor;

/* The descriptor of an observable; constant. */
const norma_observable_descriptor *norma_observable_get(norma_observable observable);

/* The family of names: the observables, numbered as norma_observable. */
extern const norma_names norma_observable_names;

/* The names that a list of observables may hold: "all", the observables, "lyapunov". */
extern const norma_names norma_observable_choices;

/* Its name ("soft_rank"). */
const char *norma_observable_name(norma_observable observable);

/* All observables of a family. */
norma_observable_set norma_observable_of_family(norma_observable_family family);

/* Those that some chains do not define. */
norma_observable_set norma_observable_conditional(void);

/* The name of an axis in files ("tau"); NULL for ONE. */
const char *norma_observable_axis_name(norma_observable_axis axis);

/* Reads "soft_rank,fro2" or "all" (dashes and underscores are equal); NORMA_CONFIG with the nearest
 * known name. "lyapunov" is in no set: norma_observable_request has a field for it. */
NORMA_MUST_USE norma_status norma_observable_parse(const char *text, norma_observable_set *out);

#define NORMA_OBSERVABLE_MAX_TAU 64

/* The measurements that a chain is made for: its workspaces depend on them. */
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

/* Values of an observable under a request, wanted or not. */
int64_t norma_observable_n_values(norma_observable observable,
                                  const norma_observable_request *request);

/* "tau=0.5", "k=3" or "-": which of an observable's values is number v. Returns out. */
#define NORMA_OBSERVABLE_LABEL 40
const char *norma_observable_label(norma_observable observable,
                                   const norma_observable_request *request, int64_t v,
                                   char out[NORMA_OBSERVABLE_LABEL]);

/* soft_rank at tau 1/2 and the stable rank, nothing else. */
void norma_observable_request_init(norma_observable_request *out);

#endif
