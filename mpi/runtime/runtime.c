#define _GNU_SOURCE /* sched_getaffinity, CPU_COUNT */
#include "mpi/runtime/runtime.h"

#include "mpi/runtime/agree.h"
#include "mpi/runtime/blas.h"
#include "mpi/runtime/log.h"
#include "src/base/cpu.h"
#include "src/base/mem.h"

#include <ctype.h>
#include <errno.h>
#include <omp.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

/* More threads a core of the node are taken for a mistake. */
enum { MOST_A_CORE = 16 };

/* Cores that the ranks of this node may use together, and those that this rank may. */
static void count_cores(MPI_Comm node, int *n_node, int *n_mine)
{
    cpu_set_t mine;
    cpu_set_t all;
    CPU_ZERO(&mine);
    CPU_ZERO(&all);
    if (sched_getaffinity(0, sizeof mine, &mine) != 0)
        CPU_SET(0, &mine);
    MPI_Allreduce(&mine, &all, (int)sizeof mine, MPI_BYTE, MPI_BOR, node);
    *n_mine = CPU_COUNT(&mine);
    *n_node = CPU_COUNT(&all);
}

/* The first number of OMP_NUM_THREADS, which lists one a nesting level; 0 when it is not set. */
static norma_status read_thread_count(long long *n)
{
    const char *asked = getenv("OMP_NUM_THREADS");
    char *end = NULL;
    *n = 0;
    if (!asked || !asked[0])
        return NORMA_OK;
    errno = 0;
    *n = strtoll(asked, &end, 10);
    while (isspace((unsigned char)*end))
        end++;
    if (end == asked || (*end && *end != ',') || *n < 1) {
        *n = 0;
        return NORMA_FAIL(NORMA_USAGE, "OMP_NUM_THREADS=%.40s: expected a whole number from 1 on",
                          asked);
    }
    return NORMA_OK;
}

/* Sets the number of threads, also when it returns an error. */
static norma_status choose_threads(norma_runtime *runtime)
{
    const long long most = (long long)MOST_A_CORE * runtime->n_cores_allowed;
    const int limit = omp_get_thread_limit();
    long long n = 0;
    norma_status status = read_thread_count(&n);
    long long asked = n;
    if (n == 0)
        n = runtime->n_cores_allowed / runtime->node_size;
    if ((asked == 0 || n > most) && n > runtime->n_cores_bound)
        n = runtime->n_cores_bound;
    if (n > limit)
        n = limit;
    runtime->n_threads = n > 1 ? (int)n : 1;
    runtime->n_threads_asked = asked > runtime->n_threads ? asked : 0;
    return status;
}

static norma_status describe_machine(norma_runtime *runtime)
{
    MPI_Comm_rank(runtime->world, &runtime->rank);
    MPI_Comm_size(runtime->world, &runtime->size);
    MPI_Comm_split_type(runtime->world, MPI_COMM_TYPE_SHARED, 0, MPI_INFO_NULL, &runtime->node);
    MPI_Comm_rank(runtime->node, &runtime->node_rank);
    MPI_Comm_size(runtime->node, &runtime->node_size);
    int leader = runtime->node_rank == 0 ? 1 : 0;
    MPI_Allreduce(&leader, &runtime->n_nodes, 1, MPI_INT, MPI_SUM, runtime->world);
    norma_blas_kernels(runtime->world, runtime->blas_kernel);
    count_cores(runtime->node, &runtime->n_cores_allowed, &runtime->n_cores_bound);
    return choose_threads(runtime);
}

/* A process of its own starts MPI's directory of processes in files of some megabytes, unless it is
 * kept in memory: without room for them Open MPI ends the process before Norma can say why. */
static void respect_file_limit(void)
{
    const rlim_t enough = (rlim_t)64 << 20;
    struct rlimit limit;
    if (!norma_runtime_is_launched_local() && getrlimit(RLIMIT_FSIZE, &limit) == 0 &&
        limit.rlim_cur < enough)
        setenv("PMIX_MCA_gds", "hash", 0);
}

/* Debian's Open MPI 4 disables, in its parameter file, the one component that offers windows
 * between nodes without special networks. The environment wins over that file; a value of the
 * user's stays. */
static void allow_windows_between_nodes(void)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING];
    int length = 0;
    MPI_Get_library_version(version, &length);
    if (strstr(version, "Open MPI v4") && strstr(version, "Debian"))
        setenv("OMPI_MCA_osc", "^ucx", 0);
}

norma_status norma_runtime_open(int *argc, char ***argv, norma_runtime **out)
{
    int provided = MPI_THREAD_SINGLE;
    norma_status status = NORMA_OK;
    norma_blas_restart_local(*argv);
    norma_runtime *runtime = calloc(1, sizeof *runtime); /* outlives the count of allocations */
    if (!runtime)
        return NORMA_FAIL(NORMA_MEMORY, "out of memory at start");
    /* Of Open MPI's shared file pointers, which nothing here uses, one kind cannot take the paths
     * of files beyond some 230 bytes, and aborts. */
    setenv("OMPI_MCA_sharedfp", "individual", 0);
    allow_windows_between_nodes();
    respect_file_limit();
    /* Writes then fail with EPIPE and EFBIG, which are reported, and end no process. */
    signal(SIGPIPE, SIG_IGN);
    signal(SIGXFSZ, SIG_IGN);
    if (MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided) != MPI_SUCCESS) {
        free(runtime);
        return NORMA_FAIL(NORMA_LIBRARY, "MPI did not start");
    }
    MPI_Comm_dup(MPI_COMM_WORLD, &runtime->world);
    status = describe_machine(runtime);
    norma_log_set_speaker_local(runtime->rank == 0);
    omp_set_dynamic(0); /* OMP_DYNAMIC would shrink teams under load */
    omp_set_num_threads(runtime->n_threads);
    norma_blas_set_threads_local(runtime->n_threads);
    if (status == NORMA_OK)
        status = norma_cpu_check();
    if (status == NORMA_OK && provided < MPI_THREAD_FUNNELED)
        status =
            NORMA_FAIL(NORMA_LIBRARY, "this MPI offers no thread support (FUNNELED is needed)");
    *out = runtime;
    return norma_agree(runtime->world, status);
}

/* Where launchers tell how many ranks they start. */
static const char *const promises[] = {"OMPI_COMM_WORLD_SIZE", "PMI_SIZE", "SLURM_STEP_NUM_TASKS"};

enum { ARGUMENTS_LENGTH = 512 };

bool norma_runtime_is_launched_local(void)
{
    for (size_t i = 0; i < sizeof promises / sizeof promises[0]; i++) {
        const char *text = getenv(promises[i]);
        if (text && atoi(text) > 1)
            return true;
    }
    return false;
}

norma_status norma_runtime_check_arguments(const norma_runtime *runtime, int argc,
                                           char *const *argv)
{
    char mine[ARGUMENTS_LENGTH] = "";
    char first[ARGUMENTS_LENGTH];
    uint64_t digests[2] = {14695981039346656037u, 0}; /* FNV-1a */
    size_t used = 0;
    for (int i = 1; i < argc; i++) {
        for (const char *c = argv[i];; c++) {
            digests[0] = (digests[0] ^ (unsigned char)*c) * 1099511628211u;
            if (!*c)
                break;
        }
        int n = snprintf(mine + used, sizeof mine - used, "%s%s", i > 1 ? " " : "", argv[i]);
        used += n > 0 && (size_t)n < sizeof mine - used ? (size_t)n : 0;
    }
    memcpy(first, mine, sizeof first);
    digests[1] = digests[0];
    MPI_Bcast(&digests[1], 1, MPI_UINT64_T, 0, runtime->world);
    MPI_Bcast(first, ARGUMENTS_LENGTH, MPI_CHAR, 0, runtime->world);
    norma_status status = NORMA_OK;
    if (digests[0] != digests[1])
        status = NORMA_FAIL(NORMA_USAGE,
                            "rank %d was started with other arguments than rank 0: '%.300s', not "
                            "'%.300s'; all ranks of a run take the same",
                            runtime->rank, mine, first);
    return norma_agree(runtime->world, status);
}

norma_status norma_runtime_check_launch(const norma_runtime *runtime)
{
    norma_status status = NORMA_OK;
    for (size_t i = 0; i < sizeof promises / sizeof promises[0]; i++) {
        const char *text = getenv(promises[i]);
        if (text && atoi(text) > runtime->size && status == NORMA_OK)
            status =
                NORMA_FAIL(NORMA_USAGE,
                           "the launcher announces %s ranks (%s) but MPI has %d: the launcher "
                           "and this MPI do not know each other; use mpirun of the same MPI, or "
                           "srun --mpi=pmix",
                           text, promises[i], runtime->size);
    }
    return norma_agree(runtime->world, status);
}

void norma_runtime_report_local(const norma_runtime *runtime)
{
    norma_blas_report_local();
    if (runtime->n_threads_asked > 0)
        norma_log_warning("OMP_NUM_THREADS=%lld is too much: this rank uses %d threads, as its %d "
                          "cores or OMP_THREAD_LIMIT allow",
                          runtime->n_threads_asked, runtime->n_threads, runtime->n_cores_bound);
}

void norma_runtime_announce_local(const norma_runtime *runtime)
{
    bool alone = runtime->n_threads > runtime->n_cores_bound;
    int n_threads = alone ? runtime->n_threads : runtime->node_size * runtime->n_threads;
    int n_cores = alone ? runtime->n_cores_bound : runtime->n_cores_allowed;
    norma_log_info("%d %s on %d %s, %d %s each; of %d cores a node each rank may use %d",
                   runtime->size, runtime->size == 1 ? "rank" : "ranks", runtime->n_nodes,
                   runtime->n_nodes == 1 ? "node" : "nodes", runtime->n_threads,
                   runtime->n_threads == 1 ? "thread" : "threads", runtime->n_cores_allowed,
                   runtime->n_cores_bound);
    if (n_threads > n_cores)
        norma_log_warning("%d threads for %d cores slow each other down: fewer ranks, a smaller "
                          "OMP_NUM_THREADS, or a wider binding (mpirun --bind-to none, srun -c)",
                          n_threads, n_cores);
}

norma_status norma_runtime_draw_seed(const norma_runtime *runtime, uint64_t *seed)
{
    norma_status status = NORMA_OK;
    uint64_t drawn = 0;
    if (runtime->rank == 0) {
        FILE *stream = fopen("/dev/urandom", "rb");
        if (!stream || fread(&drawn, sizeof drawn, 1, stream) != 1)
            status = NORMA_FAIL(NORMA_LIBRARY, "no randomness from /dev/urandom: give --seed");
        if (stream)
            fclose(stream);
    }
    NORMA_TRY(norma_agree(runtime->world, status));
    MPI_Bcast(&drawn, 1, MPI_UINT64_T, 0, runtime->world);
    *seed = drawn;
    return NORMA_OK;
}

int norma_runtime_end_local(norma_status status)
{
    if (status == NORMA_OK && !norma_log_results_arrived_local())
        status =
            NORMA_FAIL(NORMA_IO, "standard output cannot be written: what was printed is lost");
    if (status == NORMA_STOPPED) {
        norma_log_info("%s", norma_status_error()->message);
    } else if (status != NORMA_OK) {
        const norma_error *error = norma_status_error();
        norma_log_error("%s", error->message[0] ? error->message : norma_status_text(status));
        norma_log_detail("(%s, at %s)", norma_status_text(status), error->where);
    }
    return norma_status_exit_code(status);
}

int norma_runtime_close(norma_runtime **runtime, norma_status status)
{
    norma_runtime *r = *runtime;
    int exit_code = norma_runtime_end_local(status);
    long long live = (long long)norma_mem_live();
    if (live != 0) {
        norma_log_set_speaker_local(true);
        norma_log_warning("rank %d ends with %lld allocations alive", r->rank, live);
    }
    if (live != 0 && exit_code == 0 && getenv("NORMA_TEST_LEAKS"))
        exit_code = norma_status_exit_code(NORMA_LIBRARY);
    if (exit_code != 0 && r->size > 1)
        norma_log_wait_for_reader_local(); /* no rank ends before all are in MPI_Finalize */
    MPI_Comm_free(&r->node);
    MPI_Comm_free(&r->world);
    MPI_Finalize();
    free(r);
    *runtime = NULL;
    return exit_code;
}
