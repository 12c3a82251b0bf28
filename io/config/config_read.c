#include "io/config/config_read.h"

#include "io/config/config_text.h"
#include "io/result/h5.h"
#include "io/result/result_read.h"
#include "mpi/runtime/agree.h"
#include "src/base/mem.h"
#include "src/config/config_store.h"

#include <string.h>

/* The --config file of a parsed command line, NULL without one. */
static const char *file_local(const norma_config *config)
{
    const norma_config_item *item = norma_config_find(config, "config");
    return item && item->values.n > 0 ? item->values.values[0].text : NULL;
}

/* The configuration that a result holds, of this command. */
static norma_status read_result(MPI_Comm comm, const norma_command *command, const char *path,
                                char **text, int64_t *length)
{
    norma_result_reader *reader = NULL;
    norma_status status = NORMA_OK;
    NORMA_GOTO(status, norma_result_reader_open(comm, path, &reader));
    NORMA_GOTO(status, norma_result_reader_text(reader, "/configuration", text));
    *length = (int64_t)strlen(*text);
    if (!norma_config_has_section(*text, command->name))
        status =
            NORMA_FAIL(NORMA_CONFIG, "%s: holds no configuration of norma %s", path, command->name);
done:
    norma_result_reader_close(&reader);
    return status;
}

/* A result file is known by its content; a text is read once, since it may come from a pipe. */
static norma_status read_text(MPI_Comm comm, const norma_command *command, const char *path,
                              char **text, int64_t *length)
{
    int rank = 0;
    MPI_Comm_rank(comm, &rank);
    if (norma_agree_any(comm, rank == 0 && norma_h5_is_hdf5_local(path)))
        return read_result(comm, command, path, text, length);
    return norma_config_text_read(comm, path, text, length);
}

norma_status norma_config_read(MPI_Comm comm, const norma_command *command,
                               const char *const *sections, int argc, char *const *argv,
                               norma_config **out)
{
    norma_config *config = NULL;
    char *text = NULL;
    int64_t length = 0;
    norma_status status = norma_config_parse(command, argc, argv, &config);
    NORMA_GOTO(status, norma_agree(comm, status));
    const char *path = file_local(config);
    if (path) {
        NORMA_GOTO(status, read_text(comm, command, path, &text, &length));
        status = norma_config_apply(config, sections, path, text, length);
    }
    if (status == NORMA_OK)
        status = norma_config_settle(config);
    NORMA_GOTO(status, norma_agree(comm, status));
    *out = config;
    config = NULL;
done:
    NORMA_FREE(text);
    norma_config_destroy(&config);
    return status;
}

norma_status norma_config_read_local(const norma_command *command, int argc, char *const *argv,
                                     norma_config **out)
{
    norma_config *config = NULL;
    norma_status status = NORMA_OK;
    NORMA_GOTO(status, norma_config_parse(command, argc, argv, &config));
    NORMA_GOTO(status, norma_config_settle(config));
    *out = config;
    config = NULL;
done:
    norma_config_destroy(&config);
    return status;
}
