#ifndef NORMA_IO_INPUT_TARGET_LAYER_H
#define NORMA_IO_INPUT_TARGET_LAYER_H
/* Inside of io/input/target: one layer's group. Rank 0 only. */
#include "io/hdf5/h5_input.h"
#include "src/network/network.h"

/* Reads the description of the layer in `group` ("/layers/003"): attributes and the extents of its
 * weight; refuses members and attributes that are not known. */
NORMA_MUST_USE norma_status norma_target_describe_layer_root(const norma_h5_input *input,
                                                             const char *group, norma_layer *layer);

/* Reads weight, bias and batch norm of a described layer, whose arrays are in place, and folds. */
NORMA_MUST_USE norma_status norma_target_read_layer_root(const norma_h5_input *input,
                                                         const char *group, norma_layer *layer);

/* The attribute activation, and that of its parameter; fallback: the name where there is none,
 * NULL: it must be there. */
NORMA_MUST_USE norma_status norma_target_read_activation_root(const norma_h5_input *input,
                                                              const char *group,
                                                              const char *fallback,
                                                              norma_activation *activation);

/* Stride, padding, dilation and groups of a described kind. */
NORMA_MUST_USE norma_status norma_target_read_geometry_root(const norma_h5_input *input,
                                                            const char *group, norma_layer *layer);

/* Reads the four arrays of a batch norm and folds it into weight and bias, which are there. */
NORMA_MUST_USE norma_status norma_target_read_batch_norm_root(const norma_h5_input *input,
                                                              const char *group,
                                                              norma_layer *layer);

/* An attribute of 1 or 2 whole numbers from `least` on; 1 stands for both. Kept when missing. */
NORMA_MUST_USE norma_status norma_target_read_pair_root(const norma_h5_input *input,
                                                        const char *object, const char *name,
                                                        int64_t least, int64_t pair[2]);

#endif
