#include "io/result/provenance.h"

#include "io/result/result_internal.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/blas.h"
#include "src/base/cpu.h"
#include "src/base/mem.h"
#include "src/base/text.h"

#include <stdio.h>
#include <string.h>
#include <sys/utsname.h>
#include <time.h>

/* From git_version.cmake, made anew at each build. */
extern const char norma_git_commit[];

const char *norma_provenance_version_local(void)
{
    return NORMA_VERSION;
}

void norma_provenance_now_local(char text[static 24])
{
    time_t now = time(NULL);
    struct tm utc;
    gmtime_r(&now, &utc);
    strftime(text, 24, "%Y-%m-%dT%H:%M:%SZ", &utc);
}

/* Readers take the texts for UTF-8: other bytes become '?'. */
static void append_clean(norma_text *text, const char *bytes)
{
    size_t length = strlen(bytes);
    for (size_t at = 0; at < length;) {
        uint32_t code = 0;
        size_t step = norma_text_decode(bytes + at, length - at, &code);
        if (step > 0)
            norma_text_append_bytes(text, bytes + at, (int64_t)step);
        else
            norma_text_append(text, "?");
        at += step > 0 ? step : 1;
    }
}

/* An argument as a shell would take it back. */
static void append_argument(norma_text *text, const char *argument)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789"
                                "_-.,:/=+@%";
    if (argument[0] && argument[strspn(argument, plain)] == '\0') {
        append_clean(text, argument);
        return;
    }
    norma_text_append(text, "'");
    for (const char *c = argument; *c;) {
        char part[256];
        size_t length = strcspn(c, "'");
        if (length == 0) {
            norma_text_append(text, "'\\''");
            c++;
            continue;
        }
        snprintf(part, sizeof part, "%.*s", (int)(length < 255 ? length : 255), c);
        append_clean(text, part);
        c += strlen(part);
    }
    norma_text_append(text, "'");
}

static void append_command_line(norma_text *text, const norma_provenance *provenance)
{
    for (int i = 0; i < provenance->argc; i++) {
        norma_text_append(text, "%s", i > 0 ? " " : "");
        append_argument(text, provenance->argv[i]);
    }
}

/* Linux on amd64 names the processor; elsewhere the architecture has to do. */
static void append_cpu(norma_text *text)
{
    char line[512];
    struct utsname machine;
    FILE *stream = fopen("/proc/cpuinfo", "r");
    bool found = false;
    while (stream && !found && fgets(line, sizeof line, stream)) {
        char *colon = strchr(line, ':');
        found = strncmp(line, "model name", 10) == 0 && colon;
        if (found) {
            colon[strcspn(colon, "\n")] = '\0';
            append_clean(text, colon[1] == ' ' ? colon + 2 : colon + 1);
        }
    }
    if (stream)
        fclose(stream);
    if (!found)
        norma_text_append(text, "%s", uname(&machine) == 0 ? machine.machine : "unknown");
}

static void append_mpi(norma_text *text)
{
    char version[MPI_MAX_LIBRARY_VERSION_STRING] = "";
    int length = 0;
    MPI_Get_library_version(version, &length);
    append_clean(text, version);
}

static void append_hdf5(norma_text *text)
{
    unsigned major = 0;
    unsigned minor = 0;
    unsigned release = 0;
    norma_h5_prepare_local();
    H5get_libversion(&major, &minor, &release);
    norma_text_append(text, "%u.%u.%u", major, minor, release);
}

/* One host a node, in the order of ranks. On rank 0 text holds them; collective over the world. */
static norma_status append_hosts(const norma_runtime *runtime, norma_text *text)
{
    char name[MPI_MAX_PROCESSOR_NAME] = "";
    int length = 0;
    char *names = NULL;
    norma_status status = NORMA_OK;
    if (runtime->rank == 0)
        status = NORMA_CALLOC(names, (int64_t)runtime->size * MPI_MAX_PROCESSOR_NAME);
    status = norma_agree(runtime->world, status);
    if (status == NORMA_OK) {
        if (runtime->node_rank == 0)
            MPI_Get_processor_name(name, &length);
        MPI_Gather(name, MPI_MAX_PROCESSOR_NAME, MPI_CHAR, names, MPI_MAX_PROCESSOR_NAME, MPI_CHAR,
                   0, runtime->world);
        for (int64_t i = 0; names && i < runtime->size; i++)
            if (names[i * MPI_MAX_PROCESSOR_NAME])
                norma_text_append(text, "%s%s", text->length > 0 ? "," : "",
                                  names + i * MPI_MAX_PROCESSOR_NAME);
    }
    norma_mem_free(names);
    return status;
}

/* Sets a root attribute to what rank 0 has in text, and empties text. Collective. */
static norma_status set_from_root(norma_result *file, const char *name, norma_text *text)
{
    char *mine = NULL;
    int64_t length = 0;
    norma_status status = norma_text_take(text, &mine);
    if (status == NORMA_OK && file->rank == 0)
        length = (int64_t)strlen(mine);
    MPI_Bcast(&length, 1, MPI_INT64_T, 0, file->comm);
    if (status == NORMA_OK && file->rank != 0) {
        norma_mem_free(mine);
        status = NORMA_CALLOC(mine, length + 1);
    }
    status = norma_agree(file->comm, status);
    if (status == NORMA_OK) {
        MPI_Bcast(mine, (int)length, MPI_CHAR, 0, file->comm);
        status = norma_result_set_text(file, "/", name, mine);
    }
    norma_mem_free(mine);
    return status;
}

static norma_status write_program(norma_result *file, const norma_provenance *provenance)
{
    char now[24];
    norma_text text;
    norma_text_init(&text);
    norma_provenance_now_local(now);
    NORMA_TRY(norma_result_set_text(file, "/", "title", provenance->title));
    NORMA_TRY(norma_result_set_text(file, "/", "Conventions", "CF-1.10"));
    norma_text_append(&text, "%s ", now);
    append_command_line(&text, provenance);
    NORMA_TRY(set_from_root(file, "history", &text));
    NORMA_TRY(norma_result_set_text(file, "/", "source", "Norma " NORMA_VERSION));
    NORMA_TRY(norma_result_set_text(file, "/", "git_commit", norma_git_commit));
    append_command_line(&text, provenance);
    NORMA_TRY(set_from_root(file, "command_line", &text));
    NORMA_TRY(norma_result_set_uint64(file, "/", "seed", provenance->seed));
    norma_text_append(&text, "%s", now);
    return set_from_root(file, "started", &text);
}

static norma_status write_machine(norma_result *file, const norma_runtime *runtime,
                                  const norma_provenance *provenance)
{
    norma_text text;
    norma_text_init(&text);
    NORMA_TRY(norma_result_set_int64(file, "/", "ranks", runtime->size));
    NORMA_TRY(norma_result_set_int64(file, "/", "threads", runtime->n_threads));
    NORMA_TRY(norma_result_set_int64(file, "/", "nodes", runtime->n_nodes));
    NORMA_TRY(norma_result_set_int64(file, "/", "cores_per_node", runtime->n_cores_allowed));
    NORMA_TRY(norma_result_set_int64(file, "/", "cores_per_rank", runtime->n_cores_bound));
    NORMA_TRY(append_hosts(runtime, &text));
    NORMA_TRY(set_from_root(file, "hosts", &text));
    NORMA_TRY(norma_result_set_text(file, "/", "process_grid", provenance->process_grid));
    append_cpu(&text);
    NORMA_TRY(set_from_root(file, "cpu_model", &text));
    norma_text_append(&text, "%s", norma_cpu_isa_name(norma_cpu_isa()));
    return set_from_root(file, "instruction_set", &text);
}

static norma_status write_libraries(norma_result *file, const norma_runtime *runtime)
{
    norma_text text;
    norma_text_init(&text);
    NORMA_TRY(norma_result_set_text(file, "/", "compiler", NORMA_COMPILER));
    append_mpi(&text);
    NORMA_TRY(set_from_root(file, "mpi_library", &text));
    append_hdf5(&text);
    NORMA_TRY(set_from_root(file, "hdf5_version", &text));
    norma_text_append(&text, "%s", norma_blas_config_local());
    NORMA_TRY(set_from_root(file, "openblas_config", &text));
    NORMA_TRY(norma_result_set_text(file, "/", "blas_kernel", runtime->blas_kernel));
    return norma_result_set_text(file, "/", "scalapack_library", NORMA_SCALAPACK);
}

norma_status norma_provenance_write(norma_result *file, const norma_runtime *runtime,
                                    const norma_provenance *provenance)
{
    NORMA_TRY(write_program(file, provenance));
    NORMA_TRY(write_machine(file, runtime, provenance));
    NORMA_TRY(write_libraries(file, runtime));
    return norma_result_write_text(file, "/configuration",
                                   "effective configuration, can be run again",
                                   provenance->configuration);
}

bool norma_provenance_has_dataset_local(const char *name)
{
    static const char *const all[] = {"configuration", "command_line", "history"};
    for (size_t i = 0; i < sizeof all / sizeof all[0]; i++)
        if (strcmp(name, all[i]) == 0)
            return true;
    return false;
}

norma_status norma_provenance_describe_local(char **out)
{
    norma_text text;
    norma_text_init(&text);
    norma_text_append(&text, "norma: %s\ncommit: %s\ncompiler: %s\nMPI: ", NORMA_VERSION,
                      norma_git_commit, NORMA_COMPILER);
    append_mpi(&text);
    norma_text_append(&text, "\nHDF5: ");
    append_hdf5(&text);
    norma_text_append(&text, "\nOpenBLAS: %s\nScaLAPACK: %s\nlibrary integers: %zu bits\n",
                      norma_blas_config_local(), NORMA_SCALAPACK, 8 * sizeof(int));
    return norma_text_take(&text, out);
}
