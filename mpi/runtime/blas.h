#ifndef NORMA_MPI_RUNTIME_BLAS_H
#define NORMA_MPI_RUNTIME_BLAS_H
/*
 * The BLAS library of this process: which kernels it uses, and how many threads.
 *
 * OpenBLAS chooses its kernels before main begins and reads OPENBLAS_CORETYPE then, never again.
 * When its choice is of an older kind than the processor (src/base/blas_kernel.h), the process
 * replaces itself by the same program with that variable set. Another BLAS library is left alone.
 */
#include <mpi.h>

/* Room for the names of all kernels of a run. */
enum { NORMA_BLAS_NAMES = 128 };

/* Starts the program again with better kernels where that helps: then it does not return. Only
 * before MPI starts, and before anything is printed or written. It does nothing when
 * OPENBLAS_CORETYPE is set, when NORMA_NO_REEXEC is set to anything but 0, and in a process that
 * was started again already. argv is main's. Local. */
void norma_blas_restart_local(char *const *argv);

/* Prints which kernels are in use (level VERBOSE), and a warning when they are slow on this
 * processor and could not be changed. Local. */
void norma_blas_report_local(void);

/* Warns when a product (`name`: "dgemm") reaches less than a third of the processor's own limit, as
 * it does with the BLAS kernels of older processors. Local. */
void norma_blas_judge_local(const char *name, double rate, double limit);

/* The kernels in use, "SkylakeX"; "unknown" when the library is not OpenBLAS. Constant. Local. */
const char *norma_blas_kernel_local(void);

/* The kernels of all ranks, each name once, commas between: "SkylakeX,Haswell". Collective. */
void norma_blas_kernels(MPI_Comm comm, char names[static NORMA_BLAS_NAMES]);

/* BLAS threads of this rank from here on. Local. */
void norma_blas_set_threads_local(int n_threads);

/* Version and build of OpenBLAS in one line, or "unknown". Constant. Local. */
const char *norma_blas_config_local(void);

#endif
