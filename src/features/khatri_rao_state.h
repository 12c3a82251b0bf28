#ifndef NORMA_FEATURES_KHATRI_RAO_STATE_H
#define NORMA_FEATURES_KHATRI_RAO_STATE_H
/* Internal to src/features: what the products of src/features/khatri_rao work on. */
#include "src/features/khatri_rao.h"
#include "src/features/khatri_rao_kernels.h"

#include <stdbool.h>
#include <stdint.h>

/* Of the two layers the one with more numbers a feature is called wide, the other narrow: what a
 * block of features needs beside its weights is as wide as the narrow one. */
typedef struct norma_khatri_rao_sizes {
    bool second_is_wide;
    int64_t n_wide, n_narrow;
    int64_t wide_tiles, n_vectors;
    int64_t wide, narrow; /* padded: numbers that a feature takes in a packed block */
    int64_t real;         /* bytes of a number */
    int n_threads;        /* each has a contiguous part of the features */
    int64_t part;         /* features of the largest part, in whole tiles */
    int64_t block;        /* features that a thread works on at a time, in whole tiles */
} norma_khatri_rao_sizes;

/* Workspace of a thread. */
typedef struct norma_khatri_rao_worker {
    int64_t first, count;  /* its features */
    unsigned char *wide;   /* packed: all of them, or a block */
    unsigned char *narrow; /* the same */
    unsigned char *scaled; /* [block][narrow] */
    unsigned char *folded; /* [wide][narrow]: A' diag(g) B */
    double *factors;       /* [block] */
    double *drawn;         /* [tile][n_first + n_second] */
} norma_khatri_rao_worker;

struct norma_khatri_rao {
    norma_khatri_rao_shape shape;
    norma_khatri_rao_source source;
    norma_khatri_rao_mode mode;
    const norma_khatri_rao_kernels *kernels;
    int64_t n_features;
    norma_khatri_rao_sizes size;
    norma_khatri_rao_worker *workers; /* [n_threads] */
    unsigned char *unfolded;          /* R, or R' where B is the wide one: panels of [wide] */
    int64_t *tap;                     /* [|K2|][|K1|]: p + q */
    /* Where narrow column c of a matrix starts, and how far its rows are apart: [n_narrow] each. */
    int64_t *column_start, *column_step;
};

/* Element e of an array of doubles, or floats in single precision. */
static inline void norma_khatri_rao_put(const norma_khatri_rao *kr, unsigned char *array, int64_t e,
                                        double value)
{
    if (kr->mode.single)
        ((float *)(void *)array)[e] = (float)value;
    else
        ((double *)(void *)array)[e] = value;
}

static inline double norma_khatri_rao_get(const norma_khatri_rao *kr, const unsigned char *array,
                                          int64_t e)
{
    return kr->mode.single ? (double)((const float *)(const void *)array)[e]
                           : ((const double *)(const void *)array)[e];
}

/* Packs features start .. start + count - 1, asked for from the source, into rows 0 .. of wide and
 * narrow; the last tile is filled up with zeros. */
void norma_khatri_rao_pack(const norma_khatri_rao *kr, const norma_khatri_rao_worker *w,
                           int64_t start, int64_t count, unsigned char *wide,
                           unsigned char *narrow);

#endif
