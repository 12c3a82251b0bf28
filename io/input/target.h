#ifndef NORMA_IO_INPUT_TARGET_H
#define NORMA_IO_INPUT_TARGET_H
/* Target networks from HDF5 files (SPEC "Inputs"): whole networks, or a bare weight dataset as a
 * one-layer target. */
#include "src/network/network.h"

#include <mpi.h>
#include <stdbool.h>

typedef struct norma_target norma_target;

/* Reads "FILE" (a network: groups /layers/000, /layers/001, ...) or "FILE:PATH" (a bare 2-D or 4-D
 * dataset: one layer with identity activation on inputs in [-1, 1]), folds batch norm, infers and
 * checks all shapes. Weights are held once a node. NORMA_CONFIG with file and path for anything
 * missing, malformed or contradictory. Collective over comm; the caller owns *out. */
NORMA_MUST_USE norma_status norma_target_read(MPI_Comm comm, const char *where, norma_target **out);

/* The network; borrowed from the target, equal on all ranks. Local. */
const norma_network *norma_target_network_local(const norma_target *target);

/* Declares the range of the network's inputs where the file does not: *declared is then true, also
 * where the file has the same range. Local, alike on all ranks. */
void norma_target_declare_range_local(norma_target *target, double min, double max, bool *declared);

/* Collective; nulls; NULL is allowed. */
void norma_target_destroy(norma_target **target);

#endif
