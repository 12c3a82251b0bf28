#ifndef NORMA_TESTS_SRC_GRADIENT_REFERENCE_H
#define NORMA_TESTS_SRC_GRADIENT_REFERENCE_H
/* An independent forward pass of a small chain and its loss in long double, and the gradients that
 * central differences give. */
#include "src/gradient/gradient.h"

enum { D = 5, N = 4, L = 3, MOST_CLASSES = 6 };

typedef struct reference {
    const norma_chain_spec *spec;
    norma_gradient_loss_spec loss;
    int only; /* the loss of this sample alone; -1: of all */
    long double h0[D][N], w[L][D][D];
    double readout[D][MOST_CLASSES], cotangent[MOST_CLASSES][N];
    int label[N];
} reference;

/* Weights, input, read-out and labels of replica 0 of a seed. */
void make_reference(const norma_chain_spec *spec, const norma_gradient_loss_spec *loss,
                    uint64_t seed, reference *r);

/* out = H_(layer + 1) of h = H_layer. */
void run_layer(const reference *r, int layer, long double h[D][N], long double out[D][N]);

long double loss_of(const reference *r);

/* out[D][D] = dL/dW of a layer by central differences. */
void differentiate(reference *r, int layer, double *out);

#endif
