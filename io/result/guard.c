#include "io/result/guard.h"

#include <errno.h>
#include <mpi.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

static bool failed;
static char reason[MPI_MAX_ERROR_STRING];

void norma_guard_clear_local(void)
{
    failed = false;
    reason[0] = '\0';
}

bool norma_guard_failed_local(void)
{
    return failed;
}

const char *norma_guard_reason_local(void)
{
    return reason;
}

/* System errors that mean that bytes did not arrive. */
static bool is_write_error(int system_error)
{
    static const int known[] = {ENOSPC, EDQUOT, EFBIG, EIO, ESTALE, EROFS, ENXIO};
    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (system_error == known[i])
            return true;
    return false;
}

void norma_guard_append_limit_local(char *text, size_t size)
{
    struct rlimit limit;
    size_t used = strlen(text);
    if (getrlimit(RLIMIT_FSIZE, &limit) == 0 && limit.rlim_cur != RLIM_INFINITY)
        snprintf(text + used, size - used,
                 ": files of this process are limited to %llu bytes (ulimit -f)",
                 (unsigned long long)limit.rlim_cur);
}

/* MPI-IO's texts are general ("unknown error"); the system's last word is better where there is
 * one. */
static void note(int error, int system_error)
{
    int length = 0;
    if (failed)
        return;
    failed = true;
    if (is_write_error(system_error))
        snprintf(reason, sizeof reason, "%s", strerror(system_error));
    else if (error == MPI_SUCCESS || PMPI_Error_string(error, reason, &length) != MPI_SUCCESS)
        snprintf(reason, sizeof reason, "less was written than asked for");
    /* MPI-IO may have lost the system's word; the limit is worth a look in any case. */
    if (system_error == EFBIG || !is_write_error(system_error))
        norma_guard_append_limit_local(reason, sizeof reason);
}

/* Notes a failed or incomplete write; what HDF5 sees is a complete one. Open MPI's collective
 * writes drop the errors of the ranks that write for others: errno, which was zero before, still
 * holds them. */
static int look_at_write(int error, int system_error, int count, MPI_Datatype type,
                         MPI_Status *status)
{
    MPI_Count size = 0;
    MPI_Count written = 0;
    PMPI_Type_size_x(type, &size);
    size *= count;
    written = size;
    if (error == MPI_SUCCESS && status != MPI_STATUS_IGNORE)
        PMPI_Get_elements_x(status, MPI_BYTE, &written);
    if (error == MPI_SUCCESS && written == size && !is_write_error(system_error))
        return MPI_SUCCESS;
    note(error, system_error);
    if (status != MPI_STATUS_IGNORE)
        PMPI_Status_set_elements_x(status, MPI_BYTE, size);
    return MPI_SUCCESS;
}

/* The functions of MPI that HDF5 changes files with. */

int MPI_File_write_at(MPI_File file, MPI_Offset offset, const void *data, int count,
                      MPI_Datatype type, MPI_Status *status)
{
    errno = 0;
    int error = PMPI_File_write_at(file, offset, data, count, type, status);
    return look_at_write(error, errno, count, type, status);
}

int MPI_File_write_at_all(MPI_File file, MPI_Offset offset, const void *data, int count,
                          MPI_Datatype type, MPI_Status *status)
{
    errno = 0;
    int error = PMPI_File_write_at_all(file, offset, data, count, type, status);
    return look_at_write(error, errno, count, type, status);
}

int MPI_File_sync(MPI_File file)
{
    errno = 0;
    int error = PMPI_File_sync(file);
    if (error != MPI_SUCCESS)
        note(error, errno);
    return MPI_SUCCESS;
}

int MPI_File_set_size(MPI_File file, MPI_Offset size)
{
    errno = 0;
    int error = PMPI_File_set_size(file, size);
    if (error != MPI_SUCCESS)
        note(error, errno);
    return MPI_SUCCESS;
}
