#ifndef NORMA_EXPERIMENTS_JOB_JOB_H
#define NORMA_EXPERIMENTS_JOB_JOB_H
/*
 * The skeleton of a subcommand that computes and writes a result file: norma_job_run reads options,
 * settles the seed, refuses, plans, announces, opens files, handles signals and time limits, and
 * closes. The subcommand is a table of functions. The smallest one needs three:
 *
 *     typedef struct state { ... } state;              what lives as long as the run
 *
 *     static norma_status read(norma_job_context *job)    files and options into job->state
 *     static norma_status plan(norma_job_context *job, bool print)  refuse what does not fit
 *     static norma_status compute(norma_job_context *job) norma_job_open, variables, results
 *
 *     static const norma_job job = {
 *         .default_output = "spectrum.h5", .read = read, .plan = plan, .compute = compute};
 *
 *     static norma_status run(const norma_call *call)
 *     {
 *         state own = {0};
 *         return norma_job_run(call, &job, &own);
 *     }
 *
 *     const norma_driver norma_driver_spectrum = {
 *         .command = &command, .plan = &plan_command, .computes = true, .run = run};
 *
 * The option tables of `command` hold norma_config_run_options, and, as the subcommand supports
 * them, norma_config_random_options (--seed --replicas --cell-streams), norma_job_options (--resume
 * --time-limit --checkpoint-every), and for the plan norma_plan_options (--ranks --node-memory).
 * The skeleton acts on those options that a command has. Many tasks with checkpoints go through
 * experiments/job/queue.h.
 */
#include "experiments/driver.h"
#include "experiments/job/grow.h"
#include "io/checkpoint/checkpoint.h"
#include "io/result/result.h"
#include "mpi/plan/plan.h"
#include "src/base/text.h"
#include "src/config/config.h"

/* A run in progress, as the functions of a job see it. Everything but `state` belongs to the
 * skeleton; the functions may set options of `config`, alike on all ranks. */
typedef struct norma_job_context {
    const norma_call *call;
    const norma_runtime *runtime;
    norma_config *config;       /* settled: the options `output` and `seed` have values */
    norma_plan_machine machine; /* from `group` on: this one, or what `norma plan` was given */
    int64_t group_size;   /* ranks that compute a task together, as `group` chose; 0: none did */
    const char *settings; /* from `plan` on: the effective configuration as YAML */
    const char *configuration;      /* the same, then the lines of `fingerprint` */
    const char *input_files;        /* the lines of `fingerprint` alone */
    norma_result *file;             /* from norma_job_open on */
    norma_checkpoint *checkpoint;   /* the same; NULL where the command has no --resume */
    norma_grow grow;                /* from `plan` on: the run before that this one extends */
    norma_checkpoint_growth growth; /* the same: how, where grow.grows */
    bool replaces; /* the output is a complete result, which stays until this one is complete */
    void *state;   /* of the subcommand */
} norma_job_context;

/* A subcommand. NULL stands for a function that has nothing to do, but in the fields marked with *.
 * They are called in this order. */
typedef struct norma_job {
    const char *default_output; /* "chain.h5" * */

    /* Refuses options that contradict each other. Local, equal on all ranks. */
    norma_status (*check)(norma_job_context *job);

    /* Reads files and prepares what the plan needs. * Collective. */
    norma_status (*read)(norma_job_context *job);

    /* Sets job->group_size for the ranks of job->machine, if it is the run that chooses. On
     * --resume it is before what an earlier run chose, where results in the checkpoint depend on it
     * and there are so many ranks. Collective. */
    norma_status (*group)(norma_job_context *job);

    /* Appends lines "  key: value" that identify the content of input files, so that a run resumes
     * only with the same. Local. */
    void (*fingerprint)(const norma_job_context *job, norma_text *text);

    /* Refuses what does not fit into the machine (norma_plan_check_local); with `print` prints what
     * the run would take. * Collective. */
    norma_status (*plan)(norma_job_context *job, bool print);

    /* Sets job->grow.n_parts and n_behind: each replica of each cell has n_parts tasks, [cells]
     * [replicas][n_parts], and behind all of them [cells][replicas][n_behind]. NULL: --resume
     * cannot extend the run. Local. */
    void (*tasks)(norma_job_context *job);

    /* Changes job->growth where that is not all. --depth may grow only where this is given. Local.
     */
    norma_status (*grow)(norma_job_context *job);

    /* Opens the result with norma_job_open, lays it out, computes and writes. NORMA_STOPPED when a
     * signal or the time limit ended it with its state in the checkpoint. * Collective. */
    norma_status (*compute)(norma_job_context *job);

    /* Frees what the other functions left in job->state, on success and on failure; called once
     * options were read. Collective. */
    void (*clear)(norma_job_context *job);
} norma_job;

/* Runs a subcommand, or plans it where call->plan or --dry-run asks for that. `state` is handed to
 * the functions. Collective over call->runtime->world. */
NORMA_MUST_USE norma_status norma_job_run(const norma_call *call, const norma_job *job,
                                          void *state);

/* The provenance of a result. All borrowed during the call. */
typedef struct norma_job_file {
    const char *title;         /* "Reconstruction of net.h5" */
    const char *process_grid;  /* how ranks share the work: "2 x 3, 1 idle" */
    const char *configuration; /* job->settings, or job->configuration */
    int64_t bytes;             /* expected size of the file, roughly from above; 0: unknown */
    uint64_t seed;             /* of commands without the option --seed */
} norma_job_file;

/* Creates the result file with its provenance, then opens the checkpoint where the command has
 * --resume. The caller adds variables and calls norma_result_begin; the skeleton closes both.
 * Collective. */
NORMA_MUST_USE norma_status norma_job_open(norma_job_context *job, const norma_job_file *about);

/* --checkpoint-every in seconds. Local. */
double norma_job_save_interval(const norma_config *config);

/* Ranks that compute a task together: as `group` chose, else --group-size; all ranks where neither
 * has a value. Local. */
int64_t norma_job_group_size(const norma_job_context *job);

#endif
