/* Command lines and YAML files. What is accepted is written, read again and written again: both
 * texts must be equal. */
#include "src/base/mem.h"
#include "src/config/config.h"
#include "tests/fuzz/fuzz_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *const colours[] = {"red", "green", "blue", NULL};

static const norma_option options[] = {
    {.name = "flag", .type = NORMA_OPTION_FLAG, .help = "."},
    {.name = "whole",
     .type = NORMA_OPTION_INTEGER,
     .many = NORMA_SWEEP,
     .min = NORMA_AT_LEAST(-5),
     .help = "."},
    {.name = "list", .type = NORMA_OPTION_INTEGER, .many = NORMA_LIST, .help = "."},
    {.name = "seed", .type = NORMA_OPTION_SEED, .many = NORMA_SWEEP, .help = "."},
    {.name = "real",
     .type = NORMA_OPTION_REAL,
     .many = NORMA_SWEEP,
     .allow_inf = true,
     .allow_nan = true,
     .help = "."},
    {.name = "colour",
     .type = NORMA_OPTION_CHOICE,
     .many = NORMA_SWEEP,
     .choices = colours,
     .help = "."},
    {.name = "text", .type = NORMA_OPTION_STRING, .help = "."},
    {.name = "texts", .type = NORMA_OPTION_STRING, .many = NORMA_LIST, .help = "."},
    {.name = "path", .type = NORMA_OPTION_PATH, .help = "."},
    {.name = "time", .type = NORMA_OPTION_DURATION, .help = "."},
    {.name = "kernel", .type = NORMA_OPTION_SHAPE, .many = NORMA_SWEEP, .help = "."},
    NORMA_OPTION_END,
};
static const norma_option *const tables[] = {options, NULL};
static const norma_command command = {.name = "run", .description = ".", .tables = tables};
static const char *const sections[] = {"run", "other", NULL};

/* *text = the configuration that the arguments and the YAML text give; NULL where it is refused. */
static void settle(int argc, char *const *argv, const char *yaml, size_t length, char **text)
{
    norma_config *config = NULL;
    *text = NULL;
    norma_status status = norma_config_parse(&command, argc, argv, &config);
    if (status == NORMA_OK && yaml)
        status = norma_config_apply(config, sections, "fuzz.yaml", yaml, (int64_t)length);
    if (status == NORMA_OK)
        status = norma_config_settle(config);
    if (status == NORMA_OK && norma_config_write(config, text) != NORMA_OK)
        *text = NULL;
    norma_config_destroy(&config);
}

/* Removes the remarks that tell defaults from given values: a written default is given. */
static void strip(char *text)
{
    static const char remark[] = "  # default";
    for (char *at = text; (at = strstr(at, remark));)
        memmove(at, at + sizeof remark - 1, strlen(at + sizeof remark - 1) + 1);
}

/* The bytes up to the first zero are a YAML file, the texts behind it are arguments. */
int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    enum { MOST = 16 };
    char *argv[MOST] = {NULL};
    int argc = 0;
    char *copy = calloc(size + 1, 1);
    if (!copy)
        return 0;
    memcpy(copy, data, size);
    size_t length = strlen(copy);
    for (size_t at = length + 1; at < size && argc < MOST; at += strlen(copy + at) + 1)
        argv[argc++] = copy + at;
    char *once = NULL;
    settle(argc, argv, length > 0 ? copy : NULL, length, &once);
    if (once) {
        char *twice = NULL;
        settle(0, argv, once, strlen(once), &twice);
        strip(once);
        if (twice)
            strip(twice);
        if (!twice || strcmp(once, twice) != 0) {
            fprintf(stderr, "%s\nis not\n%s\n%s\n", once, twice ? twice : "accepted",
                    norma_status_error()->message);
            fuzz_finding("a written configuration is not read as it was");
        }
        norma_mem_free(twice);
    }
    norma_mem_free(once);
    free(copy);
    fuzz_end();
    return 0;
}
