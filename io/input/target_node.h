#ifndef NORMA_IO_INPUT_TARGET_NODE_H
#define NORMA_IO_INPUT_TARGET_NODE_H
/* Inside of io/input/target: groups that are neither convolutional nor linear. Rank 0 only. */
#include "io/hdf5/h5_input.h"
#include "src/network/network.h"

/* Attributes, members and number of inputs of the layer, whose kind and connections are known:
 * those that its kind does not have are refused. A sum or product with a constant becomes a
 * batch norm's affine map. */
NORMA_MUST_USE norma_status norma_target_describe_node_root(const norma_h5_input *input,
                                                            const char *group, norma_layer *layer);

/* Reads the arrays of a described layer, where it has some. */
NORMA_MUST_USE norma_status norma_target_read_node_root(const norma_h5_input *input,
                                                        const char *group, norma_layer *layer);

#endif
