#ifndef NORMA_IO_INPUT_TARGET_GRAPH_H
#define NORMA_IO_INPUT_TARGET_GRAPH_H
/* Inside of io/input/target: which groups a target file has, and what each reads. Rank 0 only. */
#include "io/hdf5/h5_input.h"
#include "src/network/network.h"

/* "/layers/" and a name. */
#define NORMA_TARGET_GROUP_LENGTH (8 + NORMA_LAYER_NAME_LENGTH)

/* The path of the group of a layer; returns group. */
const char *norma_target_format_group(const norma_layer *layer,
                                      char group[NORMA_TARGET_GROUP_LENGTH]);

/* A network of one layer a group of /layers, named and connected, in an order in which each stands
 * behind all that it reads; groups whose order in the file is such a one keep it. Everything else
 * is as norma_network_create leaves it. NORMA_CONFIG with file and path for names and connections
 * that are missing, unknown or circular. The caller owns *out. */
NORMA_MUST_USE norma_status norma_target_read_graph_root(const norma_h5_input *input,
                                                         norma_network **out);

#endif
