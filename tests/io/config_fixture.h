#ifndef NORMA_TESTS_CONFIG_FIXTURE_H
#define NORMA_TESTS_CONFIG_FIXTURE_H
/* A command with an option of every kind, for the tests of src/config/config*. */
#include "src/base/mem.h"
#include "src/config/config.h"
#include "src/config/config_common.h"
#include "tests/harness/harness.h"

#include <string.h>

static const char *const fixture_laws[] = {"he-normal", "he-uniform", "orthogonal", "er-sign",
                                           NULL};
static const char *const fixture_saved[] = {"gamma", "spectrum", "weights", NULL};
static const char *const fixture_sections[] = {"solve", "chain", "info", NULL};

static const char *fixture_check_split(const char *text)
{
    return strcmp(text, "first") == 0 || strcmp(text, "second") == 0 || strchr(text, '+')
               ? NULL
               : "first, second or HxW+HxW";
}

static const norma_option fixture_options[] = {
    {.name = "input",
     .type = NORMA_OPTION_PATH,
     .positional = true,
     .placeholder = "INPUT",
     .help = "What is read."},
    {.name = "width",
     .type = NORMA_OPTION_INTEGER,
     .many = NORMA_SWEEP,
     .group = "Size",
     .default_text = "8",
     .unit = "channels",
     .min = NORMA_AT_LEAST(1),
     .max = NORMA_AT_MOST(100000),
     .help = "Width of a layer."},
    {.name = "offset",
     .type = NORMA_OPTION_INTEGER,
     .many = NORMA_SWEEP,
     .group = "Size",
     .unset_text = "centred",
     .help = "Any whole number."},
    {.name = "scale",
     .type = NORMA_OPTION_REAL,
     .many = NORMA_SWEEP,
     .group = "Size",
     .allow_inf = true,
     .allow_nan = true,
     .help = "Any number at all."},
    {.name = "keep",
     .type = NORMA_OPTION_REAL,
     .many = NORMA_SWEEP,
     .default_text = "0.5",
     .min = NORMA_ABOVE(0),
     .max = NORMA_AT_MOST(1),
     .help = "Probability."},
    {.name = "law",
     .type = NORMA_OPTION_CHOICE,
     .many = NORMA_SWEEP,
     .group = "Weights",
     .default_text = "he-normal",
     .choices = fixture_laws,
     .help = "Law of the weights."},
    {.name = "kernel",
     .type = NORMA_OPTION_SHAPE,
     .many = NORMA_SWEEP,
     .group = "Weights",
     .default_text = "3x3",
     .min = NORMA_AT_LEAST(1),
     .max = NORMA_AT_MOST(31),
     .help = "Kernel."},
    {.name = "split",
     .type = NORMA_OPTION_STRING,
     .group = "Weights",
     .default_text = "second",
     .check = fixture_check_split,
     .help = "Which layer has the kernel."},
    {.name = "data",
     .type = NORMA_OPTION_STRING,
     .many = NORMA_SWEEP,
     .group = "Data",
     .help = "Names of data sets."},
    {.name = "file", .type = NORMA_OPTION_PATH, .group = "Data", .help = "A file."},
    {.name = "samples",
     .type = NORMA_OPTION_INTEGER,
     .group = "Data",
     .default_text = "1000",
     .min = NORMA_AT_LEAST(1),
     .unit = "images",
     .help = "Images used."},
    {.name = "layers",
     .type = NORMA_OPTION_INTEGER,
     .many = NORMA_LIST,
     .min = NORMA_AT_LEAST(0),
     .unset_text = "all",
     .help = "Layers treated."},
    {.name = "time-limit",
     .type = NORMA_OPTION_DURATION,
     .min = NORMA_ABOVE(0),
     .help = "When to stop."},
    {.name = "fast", .type = NORMA_OPTION_FLAG, .help = "Hurry."},
    {.name = "features",
     .type = NORMA_OPTION_INTEGER,
     .many = NORMA_SWEEP,
     .exclusive = "size",
     .min = NORMA_AT_LEAST(1),
     .help = "Number of features."},
    {.name = "excess",
     .type = NORMA_OPTION_INTEGER,
     .many = NORMA_SWEEP,
     .exclusive = "size",
     .default_text = "0",
     .help = "Features above the minimum."},
    {.name = "overparam",
     .type = NORMA_OPTION_REAL,
     .many = NORMA_SWEEP,
     .exclusive = "size",
     .min = NORMA_AT_LEAST(0),
     .help = "Relative excess."},
    NORMA_OPTION_SAVE(fixture_saved, "gamma of a single cell"),
    NORMA_OPTION_END,
};

static const norma_option *const fixture_tables[] = {fixture_options, norma_config_random_options,
                                                     norma_config_run_options, NULL};
static const norma_command fixture_command = {
    .name = "solve",
    .description = "Solves something.\n\nAt length.",
    .tables = fixture_tables,
};

/* Splits `line` at blanks into argv (at most 31); returns the count. */
static inline int fixture_split(char *line, char **argv)
{
    int n = 0;
    for (char *word = strtok(line, " "); word && n < 31; word = strtok(NULL, " "))
        argv[n++] = word;
    argv[n] = NULL;
    return n;
}

/* Configuration from flags (blanks between), and a file text called run.yaml unless NULL. */
static inline norma_status fixture_read(const char *flags, const char *yaml, norma_config **out)
{
    char line[2048], *argv[32];
    norma_config *config = NULL;
    norma_status status = NORMA_OK;
    assert_true(strlen(flags) < sizeof line);
    strcpy(line, flags);
    NORMA_GOTO(status,
               norma_config_parse(&fixture_command, fixture_split(line, argv), argv, &config));
    if (yaml)
        NORMA_GOTO(status, norma_config_apply(config, fixture_sections, "run.yaml", yaml,
                                              (int64_t)strlen(yaml)));
    NORMA_GOTO(status, norma_config_settle(config));
    *out = config;
    config = NULL;
done:
    norma_config_destroy(&config);
    return status;
}

/* The whole message of a refusal must be `message`. */
static inline void fixture_refuse(const char *flags, const char *yaml, norma_status expected,
                                  const char *message)
{
    norma_config *config = NULL;
    norma_status_clear();
    norma_status status = fixture_read(flags, yaml, &config);
    if (status != expected || strcmp(norma_status_error()->message, message) != 0)
        fail_msg("'%s' / '%s': status %d\n  got    '%s'\n  wanted '%s'", flags, yaml ? yaml : "",
                 (int)status, norma_status_error()->message, message);
    assert_null(config);
    norma_status_clear();
}

#endif
