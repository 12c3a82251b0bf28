#include "io/config/config_read.h"

#include "io/config/config_text.h"
#include "mpi/runtime/agree.h"
#include "src/base/mem.h"
#include "src/config/config_store.h"

/* The --config file of a parsed command line, NULL without one. */
static const char *file_local(const norma_config *config)
{
    const norma_config_item *item = norma_config_find(config, "config");
    return item && item->values.n > 0 ? item->values.values[0].text : NULL;
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
        NORMA_GOTO(status, norma_config_text_read(comm, path, &text, &length));
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
