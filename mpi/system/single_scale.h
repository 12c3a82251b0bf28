#ifndef NORMA_MPI_SYSTEM_SINGLE_SCALE_H
#define NORMA_MPI_SYSTEM_SINGLE_SCALE_H
/*
 * Powers of two that bring a layer's system into the range of single precision.
 *
 * Column J is divided by about the largest weights of its feature in both layers, row (i, j, k) by
 * about the largest such weights of its two channels: no entry is far above 1, and none is lost
 * that its row or column has nothing larger than. Being powers of two they change no bit of an
 * entry.
 */
#include "mpi/system/system.h"
#include "src/base/status.h"

/* row_scale[n_system], column_scale[n_system] for the entry S[r][J] row_scale[r] column_scale[J].
 * Collective over system->comm; equal on all ranks. */
NORMA_MUST_USE norma_status norma_single_scale(const norma_system *system, double *row_scale,
                                               double *column_scale);

/* Bytes that it takes on a rank with n_share features. Local, pure. */
double norma_single_scale_bytes_local(const norma_khatri_rao_shape *shape, int64_t n_share);

#endif
