#ifndef NORMA_NETWORK_NETWORK_H
#define NORMA_NETWORK_NETWORK_H
/*
 * A target network: a chain of convolutional and linear layers, each followed by an activation and
 * a pool, with batch norm folded into weight and bias (SPEC "Networks").
 *
 * Life: norma_network_create; set the description of each layer; norma_network_allocate (or
 * _attach); fill weights; norma_layer_fold; norma_network_infer_shapes. io/input/target does all of
 * it for files.
 *
 * Activations of one image are [channels][height][width], row-major, FP64. A linear layer is a
 * 1 x 1 convolution on a single pixel whose channels are its inputs: after a spatial layer the
 * channels are the flattened [channels][height][width].
 */
#include "src/base/status.h"
#include "src/features/kernel.h"
#include "src/network/activation.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum norma_layer_kind {
    NORMA_LAYER_CONV2D,
    NORMA_LAYER_LINEAR,
    NORMA_N_LAYER_KINDS
} norma_layer_kind;

typedef enum norma_pool {
    NORMA_POOL_NONE,
    NORMA_POOL_MAX2,           /* maximum of 2 x 2 blocks; an odd last row or column is dropped */
    NORMA_POOL_GLOBAL_AVERAGE, /* mean of all pixels */
    NORMA_N_POOLS
} norma_pool;

/* Extents of one image's activations. height = width = 0: not known. */
typedef struct norma_shape {
    int64_t channels, height, width;
} norma_shape;

typedef struct norma_layer {
    norma_layer_kind kind;
    int64_t n_channels_out;    /* c2 */
    int64_t n_channels_in;     /* c0; all inputs of a linear layer */
    norma_kernel_shape kernel; /* 1 x 1 when linear */
    int64_t stride[2];         /* height, width */
    int64_t padding[2];        /* zeros on both sides of each axis */
    norma_activation activation;
    norma_pool pool;
    double *weight; /* [c2][c0][height][width], batch norm folded in */
    double *bias;   /* [c2], batch norm folded in */
    /* Set by norma_network_infer_shapes: */
    norma_shape input;  /* what the layer sees: {c0, 1, 1} when linear */
    norma_shape hidden; /* of the convolution's output, before activation and pool */
    norma_shape output; /* after the pool */
} norma_layer;

#define NORMA_NETWORK_NAME_LENGTH 128

typedef struct norma_network {
    int64_t n_layers;
    norma_layer *layers; /* owned */
    norma_shape input;   /* of an image; channels always known, height and width perhaps 0 */
    double *scale;       /* [input.channels]: x = scale * pixel + offset */
    double *offset;      /* [input.channels] */
    double input_min;    /* declared range of x; NaN when not declared */
    double input_max;
    char dataset[NORMA_NETWORK_NAME_LENGTH]; /* the data set it was trained on, or "" */
    double *storage;                         /* owned memory of all weights, or NULL: attached */
} norma_network;

/* Names as in target files ("conv2d", "max2"); NORMA_CONFIG with the nearest known one. */
NORMA_MUST_USE norma_status norma_layer_kind_from_name(const char *name, norma_layer_kind *out);
NORMA_MUST_USE norma_status norma_pool_from_name(const char *name, norma_pool *out);

/* A network of n_layers >= 1 layers, each a 1 x 1 convolution with stride 1, no padding, identity
 * activation, no pool, channels 0, no weights yet; input range not declared. Caller owns *out. */
NORMA_MUST_USE norma_status norma_network_create(int64_t n_layers, norma_network **out);

/* Doubles that the weights, biases, scales and offsets take together; needs the layers' extents and
 * input.channels. */
int64_t norma_network_storage_size(const norma_network *network);

/* Points the layers' weight and bias, scale and offset into storage[norma_network_storage_size],
 * which the network borrows: it must outlive the network. Contents are left as they are. */
void norma_network_attach(norma_network *network, double *storage);

/* The same with memory of the network's own: weights and biases 0, scale 1, offset 0. */
NORMA_MUST_USE norma_status norma_network_allocate(norma_network *network);

/* A network of a single layer on unknown image extents, input range [-1, 1]: for random targets and
 * bare weight files. Linear when kernel is 1 x 1. Without weights, enough for shapes; they follow
 * with norma_network_allocate or _attach. Caller owns *out. */
NORMA_MUST_USE norma_status norma_network_create_single(int64_t n_channels_out,
                                                        int64_t n_channels_in,
                                                        norma_kernel_shape kernel,
                                                        const norma_activation *activation,
                                                        norma_network **out);

/* Folds a pre-activation batch norm in evaluation mode into the layer:
 * W' = gamma W / sqrt(var + eps), b' = beta + gamma (b - mean) / sqrt(var + eps); all arrays [c2].
 * NORMA_CONFIG, naming the channel, where var + eps is not positive or a folded value is not
 * finite. */
NORMA_MUST_USE norma_status norma_layer_fold(norma_layer *layer, const double *gamma,
                                             const double *beta, const double *mean,
                                             const double *var, double eps);

/* Fills input, hidden and output of every layer from network->input and checks all extents against
 * each other (NORMA_CONFIG, naming the layer by its number, what it gets and what it expects). With
 * unknown image extents only channel counts are checked, and a linear layer can follow only a
 * linear one or a global average. */
NORMA_MUST_USE norma_status norma_network_infer_shapes(norma_network *network);

/* A network of the same layers with weights of its own. Caller owns *out. NORMA_MEMORY. */
NORMA_MUST_USE norma_status norma_network_copy(const norma_network *network, norma_network **out);

/* Weights and bias of layer `number` of `to` from those of `from`, a network of the same extents,
 * with channels in another order: output channel i is rows[i] of from; the input channels follow
 * `before`, the order of the outputs of the layer in front, all pixels of a channel that a linear
 * layer takes together. Either is NULL where the order stays. With the orders of all layers but the
 * last, given to each layer as rows and to the next one as before, both networks compute the same.
 */
void norma_network_reorder(const norma_network *from, int64_t number, const int64_t *before,
                           const int64_t *rows, norma_network *to);

/* channels * height * width. */
int64_t norma_shape_size(norma_shape shape);

/* A number that tells one network from another: a 64-bit FNV-1a hash of all weights and biases, as
 * folded, and of the scale and offset of the inputs. Equal networks give equal numbers. */
uint64_t norma_network_digest(const norma_network *network);

/* Elements of the layer's weight, c2 c0 |K|. */
int64_t norma_layer_weight_size(const norma_layer *layer);

/* Frees the network; attached storage is not touched. NULL is allowed. */
void norma_network_destroy(norma_network **network);

#endif
