#ifndef NORMA_CHAIN_SPEC_H
#define NORMA_CHAIN_SPEC_H
/* clang-format off */
/*
 * One layer of a chain of representations, H is d x N (width x batch):
 *
 *     Z  = W H                                residual = infinity
 *     Z  = H + residual W H                   otherwise
 *     H' = scale act_scale phi(alpha_l norm(Z))      order norm-act
 *     H' = scale norm(act_scale phi(alpha_l Z))      order act-norm
 *
 * with alpha_l = gain (l + 1)^(-gain_exponent), l counted from 0. norm is one of
 *
 *     bn           every row is scaled to a fixed norm      (RANK20 Eq. (2), THESIS (2.1), (6.4))
 *     bn-centered  the same after the row's mean is subtracted                     (THESIS (3.1))
 *     ln, rms      every column, with and without its mean subtracted             (THESIS (5.13))
 *
 * the fixed norm being sqrt(length), or 1 where unit_norm is set.
 */
/* clang-format on */
#include "src/base/names.h"
#include "src/base/status.h"
#include "src/network/activation.h"
#include "src/random/law.h"

#include <stdbool.h>
#include <stdint.h>

/* clang-format off */
/* The presets, a line each; a new one is a line here. Columns: number, name, weights, weight_scale (0:
 * 1 / sqrt(d)), residual, norm, unit_norm, order, activation, act_scale, scale, gram_scale, start,
 * carry_norm of norma_chain_spec, whose other fields are 0; then a summary with the source. */
#define NORMA_CHAIN_PRESETS(P) \
    P(RANK20,           "rank20",           NORMAL,     1, INFINITY, BN,          false, NORM_ACT, IDENTITY, 1, 1, 1, AS_GIVEN,       false, "BN(H + g W H), unit variance, no centring (RANK20 Eq. (1))") \
    P(THESIS2,          "thesis2",          NORMAL,     0, INFINITY, BN,          true,  NORM_ACT, IDENTITY, 1, 0, 1, UNIT_FROBENIUS, false, "BN(W H) / sqrt(d), rows of norm 1 before (THESIS (2.1))") \
    P(THESIS3,          "thesis3",          NORMAL,     0, INFINITY, BN_CENTERED, false, NORM_ACT, IDENTITY, 1, 1, 0, THROUGH_LAYER,  false, "state A = phi(BN(h)), G = A^T A / d (THESIS (3.1))") \
    P(THESIS5,          "thesis5",          NORMAL,     0, INFINITY, NONE,        false, NORM_ACT, RELU,     0, 1, 1, AS_GIVEN,       false, "phi(W H) / sqrt(E phi(X)^2) (THESIS section 5)") \
    P(THESIS5_PRE_RMS,  "thesis5-pre-rms",  NORMAL,     0, INFINITY, RMS,         false, NORM_ACT, RELU,     1, 1, 1, AS_GIVEN,       false, "phi(RMS(W H))") \
    P(THESIS5_POST_RMS, "thesis5-post-rms", NORMAL,     0, INFINITY, RMS,         false, ACT_NORM, RELU,     1, 1, 1, AS_GIVEN,       false, "RMS(phi(W H))") \
    P(THESIS5_PRE_LN,   "thesis5-pre-ln",   NORMAL,     0, INFINITY, LN,          false, NORM_ACT, RELU,     1, 1, 1, AS_GIVEN,       false, "phi(LN(W H))") \
    P(THESIS5_POST_LN,  "thesis5-post-ln",  NORMAL,     0, INFINITY, LN,          false, ACT_NORM, RELU,     1, 1, 1, AS_GIVEN,       false, "LN(phi(W H))") \
    P(THESIS6,          "thesis6",          ORTHOGONAL, 1, INFINITY, BN,          true,  NORM_ACT, IDENTITY, 1, 1, 1, AS_GIVEN,       false, "BN(W X), orthogonal W, rows of norm 1 (THESIS (6.3))") \
    P(THESIS6_SHAPED,   "thesis6-shaped",   ORTHOGONAL, 1, INFINITY, BN,          false, NORM_ACT, TANH,     1, 1, 1, AS_GIVEN,       false, "phi(alpha_l BN(W X)), rows of norm sqrt(n) (THESIS (6.11))") \
    P(VANILLA,          "vanilla",          NORMAL,     0, INFINITY, NONE,        false, NORM_ACT, IDENTITY, 1, 1, 1, AS_GIVEN,       true,  "W H, W ~ N(0, 1/d), the norm carried in its logarithm") \
    P(VANILLA_RESIDUAL, "vanilla-residual", NORMAL,     1, 1,        NONE,        false, NORM_ACT, IDENTITY, 1, 1, 1, AS_GIVEN,       true,  "(I + g W) H, unit variance, the norm carried in its logarithm")
/* clang-format on */

#define NORMA_CHAIN_NUMBER(number, ...) NORMA_CHAIN_##number,
typedef enum norma_chain_preset {
    NORMA_CHAIN_PRESETS(NORMA_CHAIN_NUMBER) NORMA_N_CHAIN_PRESETS
} norma_chain_preset;
#undef NORMA_CHAIN_NUMBER

typedef enum norma_chain_norm {
    NORMA_CHAIN_NORM_NONE,
    NORMA_CHAIN_NORM_BN,
    NORMA_CHAIN_NORM_BN_CENTERED,
    NORMA_CHAIN_NORM_LN,
    NORMA_CHAIN_NORM_RMS,
    NORMA_N_CHAIN_NORMS
} norma_chain_norm;

typedef enum norma_chain_order {
    NORMA_CHAIN_NORM_ACT,
    NORMA_CHAIN_ACT_NORM,
    NORMA_N_CHAIN_ORDERS
} norma_chain_order;

/* Preparation of the input before it is H_0. */
typedef enum norma_chain_origin {
    NORMA_CHAIN_START_AS_GIVEN,
    NORMA_CHAIN_START_UNIT_FROBENIUS, /* scaled to ||H_0||_F = 1 */
    NORMA_CHAIN_START_THROUGH_LAYER   /* through norm and activation, without a product */
} norma_chain_origin;

/* How W H is drawn: W itself, or (exact in law, batch < width) the action of W on span(H) only. */
typedef enum norma_chain_law {
    NORMA_CHAIN_LAW_AUTO, /* exact where it is possible, else pathwise */
    NORMA_CHAIN_LAW_PATHWISE,
    NORMA_CHAIN_LAW_EXACT,
    NORMA_N_CHAIN_LAWS
} norma_chain_law;

typedef struct norma_chain_spec {
    norma_chain_preset preset; /* what the fields below came from; only named in messages */
    int64_t width;             /* d */
    int64_t batch;             /* N */
    double residual;           /* g > 0, or infinity for a product without skip connection */
    norma_distribution weights;
    double keep_probability; /* of masked laws; 0 means 1/2 */
    double weight_scale;     /* factor of laws that do not depend on the fan (NORMA_LAW_FAN_ONE) */
    const double *given;     /* weights GIVEN: [n_given][d][d], used as they are; borrowed */
    int64_t n_given;         /* layers in `given`: the chain ends there */
    norma_chain_norm norm;
    bool unit_norm; /* norm 1 instead of sqrt(length) */
    double bn_eps;  /* added to the mean square (variance) of a row; 0: none, and a row
                       without variance is an error */
    norma_chain_order order;
    norma_activation activation;
    double act_scale;     /* factor of phi; 0 means 1 / sqrt(E phi(X)^2) */
    double gain;          /* factor of every alpha_l; 0 means 1 */
    double gain_exponent; /* kappa of alpha_l = gain (l + 1)^(-kappa) */
    double scale;         /* last factor; 0 means 1 / sqrt(d) */
    double gram_scale;    /* G = gram_scale H^T H; 0 means 1 / d */
    norma_chain_origin start;
    bool carry_norm; /* no normalization: rescale, carry the logarithm of the norm */
    bool single;     /* H and W rounded to single precision, W H in its arithmetic; sums,
                        normalization and observables in double (src/chain/single.h) */
    norma_chain_law law;
} norma_chain_spec;

/* *out = the preset's layer at width d = width and batch N = batch (0: N = d). The caller may
 * change fields before norma_chain_spec_finish. */
void norma_chain_spec_init(norma_chain_preset preset, int64_t width, int64_t batch,
                           norma_chain_spec *out);

/* Checks every field and the combinations, and replaces the defaults named in the struct (0 fields,
 * AUTO) by their values. NORMA_CONFIG with what is wrong and what is possible; NORMA_LIMIT where a
 * size leaves what counters and 32-bit BLAS indices can hold. Idempotent. */
NORMA_MUST_USE norma_status norma_chain_spec_finish(norma_chain_spec *spec);

/* alpha_l of a finished spec, l counted from 0. */
double norma_chain_spec_gain(const norma_chain_spec *spec, int64_t layer);

/* Is the map linear up to the scaling of rows and columns (identity activation)? */
bool norma_chain_spec_is_linear(const norma_chain_spec *spec);

/* The families of names: "rank20", "thesis5-pre-rms", ..; "none", "bn", ..; "norm-act", "act-norm";
 * "exact", "pathwise" (auto is what an unset option means). */
extern const norma_names norma_chain_preset_names;
extern const norma_names norma_chain_norm_names;
extern const norma_names norma_chain_order_names;
extern const norma_names norma_chain_law_names;

/* Each parser gives NORMA_CONFIG with the nearest known name. */
NORMA_MUST_USE norma_status norma_chain_preset_parse(const char *text, norma_chain_preset *out);
NORMA_MUST_USE norma_status norma_chain_norm_parse(const char *text, norma_chain_norm *out);
NORMA_MUST_USE norma_status norma_chain_order_parse(const char *text, norma_chain_order *out);
NORMA_MUST_USE norma_status norma_chain_law_parse(const char *text, norma_chain_law *out);
const char *norma_chain_norm_name(norma_chain_norm norm);
const char *norma_chain_law_name(norma_chain_law law);

#endif
