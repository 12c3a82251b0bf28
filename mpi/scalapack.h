#ifndef NORMA_MPI_SCALAPACK_H
#define NORMA_MPI_SCALAPACK_H
/*
 * Prototypes of what Norma calls in BLACS, ScaLAPACK and LAPACK: Fortran without a C header.
 * Integers are 32 bits; whoever calls checks sizes first. info = 0 is no evidence of an answer.
 */
#include <mpi.h>

/* BLACS: a context from a communicator, processes row by row ("R"). */
int Csys2blacs_handle(MPI_Comm comm);
void Cfree_blacs_system_handle(int handle);
void Cblacs_gridinit(int *context, const char *order, int n_rows, int n_columns);
void Cblacs_gridinfo(int context, int *n_rows, int *n_columns, int *row, int *column);
void Cblacs_gridexit(int context);

/* LU factors on one process (threaded by OpenBLAS). */
void dgetrf_(const int *m, const int *n, double *a, const int *lda, int *ipiv, int *info);
void sgetrf_(const int *m, const int *n, float *a, const int *lda, int *ipiv, int *info);

#endif
