#ifndef NORMA_NETWORK_NETWORK_H
#define NORMA_NETWORK_NETWORK_H
/*
 * A target network: a graph of layers, in an order in which each stands behind all that it reads
 * (SPEC "Networks"). In a chain every layer is convolutional or linear, followed by an activation
 * and a pool, with batch norm folded into weight and bias, and reads the one before it.
 *
 * Life: norma_network_create (a chain); norma_network_connect where it is another graph; set the
 * description of each layer; norma_network_allocate (or _attach); fill weights; norma_layer_fold;
 * norma_network_infer_shapes. io/input/target does all of it for files.
 *
 * Activations of one image are [channels][height][width], row-major, FP64. A linear layer is a
 * 1 x 1 convolution on a single pixel whose channels are its inputs: after a spatial layer the
 * channels are the flattened [channels][height][width].
 */
#include "src/base/status.h"
#include "src/features/kernel.h"
#include "src/network/activation.h"
#include "src/operators/shape.h"
#include "src/operators/slots.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum norma_layer_kind {
    NORMA_LAYER_CONV2D,
    NORMA_LAYER_LINEAR,
    NORMA_LAYER_BATCHNORM,      /* weight[c] x + bias[c] */
    NORMA_LAYER_ADD,            /* of all inputs; an extent of 1 is repeated */
    NORMA_LAYER_MULTIPLY,       /* of all inputs; an extent of 1 is repeated */
    NORMA_LAYER_CONCAT,         /* along the channels */
    NORMA_LAYER_ACTIVATION,     /* of its input */
    NORMA_LAYER_CLIP,           /* min(max(x, clip[0]), clip[1]) */
    NORMA_LAYER_MAX_POOL,       /* of windows of `kernel` pixels; padding is below all pixels */
    NORMA_LAYER_AVERAGE_POOL,   /* of windows of `kernel` pixels */
    NORMA_LAYER_GLOBAL_AVERAGE, /* of all pixels */
    NORMA_LAYER_FLATTEN,        /* all values as channels of one pixel */
    NORMA_LAYER_SOFTMAX,        /* over the channels of each pixel */
    NORMA_LAYER_RESHAPE,        /* the same values in their order with other extents */
    NORMA_LAYER_RESIZE,         /* of images; each pixel is the nearest one below */
    NORMA_N_LAYER_KINDS
} norma_layer_kind;

typedef enum norma_pool {
    NORMA_POOL_NONE,
    NORMA_POOL_MAX2,           /* maximum of 2 x 2 blocks; an odd last row or column is dropped */
    NORMA_POOL_GLOBAL_AVERAGE, /* mean of all pixels */
    NORMA_N_POOLS
} norma_pool;

/* Room for the name of a layer: that of its group in the file. */
#define NORMA_LAYER_NAME_LENGTH 128

typedef struct norma_layer {
    norma_layer_kind kind;
    char name[NORMA_LAYER_NAME_LENGTH]; /* "003" where nothing else is set */
    int64_t n_channels_out;             /* c2 */
    int64_t n_channels_in;              /* c0; all inputs of a linear layer; of the first input */
    norma_kernel_shape kernel;          /* 1 x 1 when linear; the window of a pool */
    int64_t stride[2];                  /* height, width */
    int64_t padding[2];                 /* zeros on both sides of each axis */
    int64_t padding_more[2]; /* further ones behind the last row and column; fewer if negative */
    int64_t dilation[2];     /* distance of a kernel's taps */
    int64_t groups;          /* of channels, each convolved apart from the others */
    bool counts_padding;     /* an average pool divides by its window, padding included */
    double clip[2];          /* least and largest value of a clip; infinite: no limit */
    int64_t extents[3];      /* channels, height, width of a reshape, -1: what is left; of a resize
                                height and width, 0: by the factor */
    int64_t factor[2];       /* of a resize */
    norma_activation activation;
    norma_pool pool; /* of convolutional and linear layers */
    double *weight;  /* [c2][c0 / groups][height][width], batch norm folded in */
    double *bias;    /* [c2], batch norm folded in */
    /* Set by norma_network_create and _connect: */
    int64_t first_input, n_inputs; /* its sources are network->inputs[first_input ...] */
    /* Set by norma_network_infer_shapes: */
    norma_shape input;  /* what the layer sees: {c0, 1, 1} when linear; of the first input */
    norma_shape hidden; /* of the convolution's output, before activation and pool */
    norma_shape output; /* after the pool */
} norma_layer;

#define NORMA_NETWORK_NAME_LENGTH 128

typedef struct norma_network {
    int64_t n_layers;
    norma_layer *layers; /* owned */
    int64_t n_inputs;    /* of all layers together */
    int64_t *inputs;     /* [n_inputs]: the layer that is read, or -1: the image; owned */
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

const char *norma_layer_kind_name(norma_layer_kind kind);

/* Is it convolutional or linear: a layer that a source pair can stand for? */
bool norma_layer_has_kernel(const norma_layer *layer);

/* NULL, or why no source pair can stand for the layer. */
const char *norma_layer_unpaired(const norma_layer *layer);

/* A network of n_layers >= 1 layers, each a 1 x 1 convolution with stride 1, no padding, identity
 * activation, no pool, channels 0, no weights yet, which reads the layer before; input range not
 * declared. Caller owns *out. */
NORMA_MUST_USE norma_status norma_network_create(int64_t n_layers, norma_network **out);

/* The layers read edges->sources, which are copied; sources have lower numbers than the layers that
 * read them. NORMA_MEMORY. */
NORMA_MUST_USE norma_status norma_network_connect(norma_network *network, const norma_edges *edges);

/* Are all layers convolutional or linear, without groups, dilation or unequal padding, and reads
 * each the one before it? */
bool norma_network_is_chain(const norma_network *network);

/* The shape of the values that input number k of the layer gives. */
norma_shape norma_network_input_shape(const norma_network *network, const norma_layer *layer,
                                      int64_t k);

/* Memory for the activations of one image: slot 0 holds the image itself. Shapes must have been
 * inferred with known extents. NORMA_MEMORY; *slots is to be cleared whatever is returned. */
NORMA_MUST_USE norma_status norma_network_place(const norma_network *network, norma_slots *slots);

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
 * each other (NORMA_CONFIG, naming the layer, what it gets and what it expects). With unknown image
 * extents only channel counts are checked, a linear layer can follow only a linear one or a global
 * average, and all layers must be convolutional or linear. A value that no layer reads, but for
 * that of the last one, is refused, and so are more than 10^12 values of one image. */
NORMA_MUST_USE norma_status norma_network_infer_shapes(norma_network *network);

/* A chain of the same layers with weights of its own. Caller owns *out. NORMA_MEMORY. */
NORMA_MUST_USE norma_status norma_network_copy(const norma_network *network, norma_network **out);

/* Weights and bias of layer `number` of `to` from those of `from`, a network of the same extents,
 * with channels in another order: output channel i is rows[i] of from; the input channels follow
 * `before`, the order of the outputs of the layer in front, all pixels of a channel that a linear
 * layer takes together. Either is NULL where the order stays. With the orders of all layers but the
 * last, given to each layer as rows and to the next one as before, both networks compute the same.
 */
void norma_network_reorder(const norma_network *from, int64_t number, const int64_t *before,
                           const int64_t *rows, norma_network *to);

/* A number that tells one network from another: a 64-bit FNV-1a hash of all weights and biases, as
 * folded, and of the scale and offset of the inputs; where it is no chain also of what the layers
 * do and read. Equal networks give equal numbers. */
uint64_t norma_network_digest(const norma_network *network);

/* Elements of the layer's weight, c2 c0 |K| / groups, and of its bias. */
int64_t norma_layer_weight_size(const norma_layer *layer);
int64_t norma_layer_bias_size(const norma_layer *layer);

/* Frees the network; attached storage is not touched. NULL is allowed. */
void norma_network_destroy(norma_network **network);

#endif
