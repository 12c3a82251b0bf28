#ifndef NORMA_GRADIENT_LOSS_H
#define NORMA_GRADIENT_LOSS_H
/*
 * The loss behind the last layer: a linear read-out A (classes x d), O = A H, then
 *
 *     cotangent      <C, O>, C fixed, random, of Frobenius norm 1
 *     mse            (1 / N) sum_j | O_j - e_(y_j) |^2,  e_y the unit vector of class y
 *     cross-entropy  (1 / N) sum_j log sum_k exp(O_kj - O_(y_j) j)
 *
 * Random numbers have the purpose CHAIN_GRADIENT, layer 0: tensor 1 the read-out, 2 the cotangent,
 * 3 the labels.
 */
#include "src/base/names.h"
#include "src/base/status.h"

#include <stdint.h>

typedef enum norma_gradient_loss_kind {
    NORMA_GRADIENT_LOSS_COTANGENT,
    NORMA_GRADIENT_LOSS_MSE,
    NORMA_GRADIENT_LOSS_CROSS_ENTROPY,
    NORMA_N_GRADIENT_LOSSES
} norma_gradient_loss_kind;

typedef enum norma_gradient_readout {
    NORMA_GRADIENT_READOUT_HAAR,     /* orthonormal rows, or columns where there are fewer */
    NORMA_GRADIENT_READOUT_NORMAL,   /* entries of variance 1 / d */
    NORMA_GRADIENT_READOUT_IDENTITY, /* O = H; classes = d */
    NORMA_N_GRADIENT_READOUTS
} norma_gradient_readout;

extern const norma_names norma_gradient_loss_names;
extern const norma_names norma_gradient_readout_names;

typedef struct norma_gradient_loss_spec {
    norma_gradient_loss_kind kind;
    norma_gradient_readout readout;
    int64_t classes;       /* rows of A */
    const int32_t *labels; /* [N] from 0 to classes - 1; NULL: drawn; borrowed */
} norma_gradient_loss_spec;

typedef struct norma_gradient_loss {
    norma_gradient_loss_spec spec;
    int64_t width, batch;
    double *readout;   /* [d][classes]: A'; owned */
    double *cotangent; /* [classes][N]: C, later dL/dO; owned */
    int32_t *labels;   /* [N]; owned */
} norma_gradient_loss;

/* NORMA_CONFIG for classes below 1, a cross-entropy with a single class, a read-out identity with
 * other than `width` classes, labels out of range. */
NORMA_MUST_USE norma_status norma_gradient_loss_check(const norma_gradient_loss_spec *spec,
                                                      int64_t width, int64_t batch);

/* Measures or allocates the arrays: src/base/mem_place.h. */
NORMA_MUST_USE norma_status norma_gradient_loss_place(norma_gradient_loss *loss,
                                                      const norma_gradient_loss_spec *spec,
                                                      int64_t width, int64_t batch, double *bytes);
void norma_gradient_loss_clear(norma_gradient_loss *loss);

/* Draws read-out, cotangent and labels. NORMA_MEMORY; NORMA_NUMERIC when a Haar read-out cannot be
 * made. */
NORMA_MUST_USE norma_status norma_gradient_loss_start(norma_gradient_loss *loss, uint64_t seed,
                                                      int64_t cell, int64_t replica);

/* At H = h 2^exponent, h[d][N]: *value = the loss, v[d][N] = dL/dH. NORMA_NUMERIC when H leaves the
 * range of a double, which a cotangent may. */
NORMA_MUST_USE norma_status norma_gradient_loss_back(norma_gradient_loss *loss, const double *h,
                                                     int64_t exponent, double *value, double *v);

#endif
