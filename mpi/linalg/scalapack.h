#ifndef NORMA_MPI_LINALG_SCALAPACK_H
#define NORMA_MPI_LINALG_SCALAPACK_H
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
void Cblacs_set(int context, int what, const int *value);

/* LU factors on one process (threaded by OpenBLAS). */
void dgetrf_(const int *m, const int *n, double *a, const int *lda, int *ipiv, int *info);
void sgetrf_(const int *m, const int *n, float *a, const int *lda, int *ipiv, int *info);

/* Factors A = Q R and A = L Q, products with Q, triangular solves, singular value decomposition: on
 * one process, and on a grid. */
void dgeqrf_(const int *m, const int *n, double *a, const int *lda, double *tau, double *work,
             const int *lwork, int *info);
void dgelqf_(const int *m, const int *n, double *a, const int *lda, double *tau, double *work,
             const int *lwork, int *info);
void dormqr_(const char *side, const char *trans, const int *m, const int *n, const int *k,
             const double *a, const int *lda, const double *tau, double *c, const int *ldc,
             double *work, const int *lwork, int *info);
void dormlq_(const char *side, const char *trans, const int *m, const int *n, const int *k,
             const double *a, const int *lda, const double *tau, double *c, const int *ldc,
             double *work, const int *lwork, int *info);
void dtrsm_(const char *side, const char *uplo, const char *trans, const char *diag, const int *m,
            const int *n, const double *alpha, const double *a, const int *lda, double *b,
            const int *ldb);
void dgesv_(const int *n, const int *nrhs, double *a, const int *lda, int *ipiv, double *b,
            const int *ldb, int *info);
void dgesvd_(const char *jobu, const char *jobvt, const int *m, const int *n, double *a,
             const int *lda, double *s, double *u, const int *ldu, double *vt, const int *ldvt,
             double *work, const int *lwork, int *info);
void dgesdd_(const char *jobz, const int *m, const int *n, double *a, const int *lda, double *s,
             double *u, const int *ldu, double *vt, const int *ldvt, double *work, const int *lwork,
             int *iwork, int *info);
void pdgeqrf_(const int *m, const int *n, double *a, const int *ia, const int *ja, const int *desc,
              double *tau, double *work, const int *lwork, int *info);
void pdgelqf_(const int *m, const int *n, double *a, const int *ia, const int *ja, const int *desc,
              double *tau, double *work, const int *lwork, int *info);
void pdormqr_(const char *side, const char *trans, const int *m, const int *n, const int *k,
              const double *a, const int *ia, const int *ja, const int *desca, const double *tau,
              double *c, const int *ic, const int *jc, const int *descc, double *work,
              const int *lwork, int *info);
void pdormlq_(const char *side, const char *trans, const int *m, const int *n, const int *k,
              const double *a, const int *ia, const int *ja, const int *desca, const double *tau,
              double *c, const int *ic, const int *jc, const int *descc, double *work,
              const int *lwork, int *info);
void pdtrsm_(const char *side, const char *uplo, const char *trans, const char *diag, const int *m,
             const int *n, const double *alpha, const double *a, const int *ia, const int *ja,
             const int *desca, double *b, const int *ib, const int *jb, const int *descb);
void pdgesvd_(const char *jobu, const char *jobvt, const int *m, const int *n, double *a,
              const int *ia, const int *ja, const int *desca, double *s, double *u, const int *iu,
              const int *ju, const int *descu, double *vt, const int *ivt, const int *jvt,
              const int *descvt, double *work, const int *lwork, int *info);

/* A = Q B P' with B bidiagonal, and products with Q and P. */
void dgebrd_(const int *m, const int *n, double *a, const int *lda, double *d, double *e,
             double *tauq, double *taup, double *work, const int *lwork, int *info);
void dormbr_(const char *vect, const char *side, const char *trans, const int *m, const int *n,
             const int *k, const double *a, const int *lda, const double *tau, double *c,
             const int *ldc, double *work, const int *lwork, int *info);

/* Singular values and vectors of a bidiagonal matrix by divide and conquer ("I"; q and iq are not
 * referenced); work [3 n^2 + 4 n], iwork [8 n]. */
void dbdsdc_(const char *uplo, const char *compq, const int *n, double *d, double *e, double *u,
             const int *ldu, double *vt, const int *ldvt, double *q, int *iq, double *work,
             int *iwork, int *info);

/* Singular values of a bidiagonal matrix to high relative accuracy; work [4 n]. */
void dlasq1_(const int *n, double *d, double *e, double *work, int *info);

/* The same, applied to rows of V' from the left, to U from the right, to C from the left. */
void dbdsqr_(const char *uplo, const int *n, const int *ncvt, const int *nru, const int *ncc,
             double *d, double *e, double *vt, const int *ldvt, double *u, const int *ldu,
             double *c, const int *ldc, double *work, int *info);

#endif
