#ifndef NORMA_IO_CONFIG_CONFIG_READ_H
#define NORMA_IO_CONFIG_CONFIG_READ_H
/* The whole way from a command line to a configuration, on all ranks. */
#include "src/config/config.h"

#include <mpi.h>

/* Reads the flags argv[argc] (behind the subcommand's name), the file that --config names, if the
 * command has that option and it is given (a YAML text, or a result that holds one), and fills in
 * the rest: norma_config_parse, _apply, _settle. `sections` (NULL-terminated) are the names of all
 * subcommands. Rank 0 alone touches the file. *out is owned by the caller. Collective over comm;
 * command and arguments must be equal on all ranks. */
NORMA_MUST_USE norma_status norma_config_read(MPI_Comm comm, const norma_command *command,
                                              const char *const *sections, int argc,
                                              char *const *argv, norma_config **out);

/* The same in a process without MPI, for a command without --config. Local. */
NORMA_MUST_USE norma_status norma_config_read_local(const norma_command *command, int argc,
                                                    char *const *argv, norma_config **out);

#endif
