#ifndef NORMA_EXPERIMENTS_DRIVER_H
#define NORMA_EXPERIMENTS_DRIVER_H
/* A subcommand as experiments/norma.c sees it, and the call that a subcommand receives. */
#include "mpi/runtime/runtime.h"
#include "src/config/config_option.h"

#include <stdbool.h>

typedef struct norma_driver norma_driver;

/* How a subcommand was called. Everything is borrowed. */
typedef struct norma_call {
    const norma_driver *driver; /* the subcommand itself */
    norma_runtime *runtime;     /* NULL: this process runs a driver with `alone`, without MPI */
    int argc;                   /* the whole command line, for the provenance */
    char *const *argv;
    int n_arguments; /* what stands behind the subcommand's name */
    char *const *arguments;
    const char *const *sections;          /* names of all subcommands, NULL-terminated */
    const norma_command *const *commands; /* of the sections, in their order */
    bool plan;                            /* called as `norma plan CMD`: predict, compute nothing */
} norma_call;

struct norma_driver {
    const norma_command *command; /* options and help of `norma CMD` */
    const norma_command *plan;    /* of `norma plan CMD`; NULL: cannot be planned */
    bool alone;                   /* one process needs no MPI: it is not started then */
    bool computes;                /* refuses to run when the launcher and MPI disagree */
    norma_status (*run)(const norma_call *call);
};

/* The subcommands, each in its own file. */
extern const norma_driver norma_driver_reconstruct;
extern const norma_driver norma_driver_evaluate;
extern const norma_driver norma_driver_chain;
extern const norma_driver norma_driver_gradient;
extern const norma_driver norma_driver_meanfield;
extern const norma_driver norma_driver_spectrum;
extern const norma_driver norma_driver_align;
extern const norma_driver norma_driver_claims;
extern const norma_driver norma_driver_bench;
extern const norma_driver norma_driver_info;
extern const norma_driver norma_driver_diff;
extern const norma_driver norma_driver_merge;
extern const norma_driver norma_driver_list;

#endif
