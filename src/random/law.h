#ifndef NORMA_RANDOM_LAW_H
#define NORMA_RANDOM_LAW_H
/*
 * The laws of random weights: one table for the tensors of a source pair (src/random/tensor.h), the
 * matrices of chains (src/chain/weights.h), options, help and benchmarks. A new law is one line of
 * the table below; a law that is made of none of the sources also needs its code.
 *
 * An entry of a law is its source times a factor: with f the fan (see norma_law_fan),
 *     NORMALS      sqrt(gain / f) times a standard normal
 *     UNIFORMS     sqrt(gain / f) times a uniform number on [-sqrt 3, sqrt 3]
 *     POSITIVE     gain / sqrt(f) times a uniform number on [0, 1]
 *     SIGNS        sqrt(gain / f) times +-1 with equal probability
 *     HAAR         a uniformly distributed (semi-)orthogonal matrix; no factor
 *     PAIRS        both layers of a source pair together: src/random/conditioned.h
 *     GIVEN        values that the caller hands over, from a file
 * A masked law keeps each entry with keep_probability and makes it zero otherwise.
 */
#include "src/base/names.h"
#include "src/base/status.h"

#include <stdbool.h>

/* clang-format off */
/* Columns: number, name, source, gain, fan, flags, summary. */
#define NORMA_LAWS(LAW) \
    LAW(NORMAL,           "normal",           NORMALS,  1, ONE,   ROTATES | LANES, "normal entries of variance 1") \
    LAW(UNIFORM,          "uniform",          UNIFORMS, 1, ONE,   LANES,           "uniform on [-sqrt 3, sqrt 3], variance 1") \
    LAW(HE_NORMAL,        "he-normal",        NORMALS,  2, IN,    ROTATES | LANES, "normal entries of variance 2 / fan_in") \
    LAW(HE_UNIFORM,       "he-uniform",       UNIFORMS, 2, IN,    LANES,           "uniform around 0, variance 2 / fan_in") \
    LAW(XAVIER,           "xavier",           NORMALS,  2, BOTH,  ROTATES | LANES, "normal entries of variance 2 / (fan_in + fan_out)") \
    LAW(ORTHOGONAL,       "orthogonal",       HAAR,     1, ONE,   ROTATES,         "uniformly distributed (semi-)orthogonal matrix, no gain") \
    LAW(SPARSE_HE_NORMAL, "sparse-he-normal", NORMALS,  2, IN,    MASKED | LANES,  "he-normal, each entry kept with --keep-probability") \
    LAW(ER_NORMAL,        "er-normal",        NORMALS,  1, ONE,   MASKED | LANES,  "normal, each entry kept with --keep-probability") \
    LAW(ER_SIGN,          "er-sign",          SIGNS,    1, ONE,   MASKED | LANES,  "1 or -1, each entry kept with --keep-probability") \
    LAW(UNIFORM_POSITIVE, "uniform-positive", POSITIVE, 2, IN,    LANES,           "uniform on [0, 2 / sqrt(fan_in)]") \
    LAW(ID_COND,          "id-cond",          PAIRS,    1, ONE,   NONE,            "source pairs whose feature matrix is the identity") \
    LAW(ID_COND_MIN,      "id-cond-min",      PAIRS,    1, ONE,   NONE,            "id-cond with the n - c2 + 1 features of the min rule") \
    LAW(ORTHO_COND,       "ortho-cond",       PAIRS,    1, ONE,   NONE,            "source pairs whose feature matrix is orthogonal") \
    LAW(GIVEN,            "given",            GIVEN,    1, ONE,   NONE,            "values from a file")
/* clang-format on */

#define NORMA_LAW_NUMBER(number, ...) NORMA_DISTRIBUTION_##number,
typedef enum norma_distribution {
    NORMA_LAWS(NORMA_LAW_NUMBER) NORMA_N_DISTRIBUTIONS
} norma_distribution;
#undef NORMA_LAW_NUMBER

typedef enum norma_law_source {
    NORMA_LAW_NORMALS,
    NORMA_LAW_UNIFORMS,
    NORMA_LAW_POSITIVE,
    NORMA_LAW_SIGNS,
    NORMA_LAW_HAAR,
    NORMA_LAW_PAIRS,
    NORMA_LAW_GIVEN
} norma_law_source;

typedef enum norma_law_fan {
    NORMA_LAW_FAN_ONE, /* 1: the law has a scale of its own; chains multiply their weight scale */
    NORMA_LAW_FAN_IN,
    NORMA_LAW_FAN_BOTH /* fan_in + fan_out */
} norma_law_fan;

enum {
    NORMA_LAW_NONE = 0,
    NORMA_LAW_MASKED = 1,  /* entries are zero at random */
    NORMA_LAW_ROTATES = 2, /* W Q has the law of W for an orthogonal Q: law exact is possible */
    NORMA_LAW_LANES = 4    /* chains draw it for several replicas at once */
};

typedef struct norma_law {
    const char *name, *summary; /* constant strings */
    norma_law_source source;
    double gain;
    norma_law_fan fan;
    unsigned flags;
} norma_law;

/* The descriptor of a law; constant. */
const norma_law *norma_law_get(norma_distribution distribution);

/* Does the law have the flag? */
bool norma_law_has(norma_distribution distribution, unsigned flag);

/* Is it a law of one tensor or matrix, which needs no partner and no values? */
bool norma_law_is_drawn(norma_distribution distribution);

/* The factor on a source of variance 1, or on a uniform number on [0, 1] for POSITIVE; 1 for laws
 * that have no factor. */
double norma_law_factor(norma_distribution distribution, double fan_in, double fan_out);

/* The factor on a uniform number on (-1, 1), of laws made of UNIFORMS. */
double norma_law_half_range(norma_distribution distribution, double fan_in, double fan_out);

/* "sparse-he-normal, er-normal or er-sign": the drawn laws that have the flag, for messages.
 * Returns out. */
#define NORMA_LAW_LIST 256
const char *norma_law_list(unsigned flag, char out[NORMA_LAW_LIST]);

/* The families of names: laws of one tensor or matrix, and with those of source pairs. Values from
 * a file have no name that an option takes. */
extern const norma_names norma_law_names;
extern const norma_names norma_law_source_names;

/* The law named `name` ("he-normal"), any of norma_law_source_names; NORMA_CONFIG with the nearest
 * known name otherwise. */
NORMA_MUST_USE norma_status norma_distribution_from_name(const char *name, norma_distribution *out);

/* The name of a law; a constant string. */
const char *norma_distribution_name(norma_distribution distribution);

#endif
