#ifndef NORMA_CONFIG_CONFIG_OPTION_H
#define NORMA_CONFIG_CONFIG_OPTION_H
/*
 * The options of a subcommand: static tables. Flags, YAML keys, help, checks, sweeps
 * and the written configuration all follow from the same table.
 *
 *     static const norma_option options[] = {
 *         {.name = "samples", .type = NORMA_OPTION_INTEGER, .many = NORMA_SWEEP, .group = "Data",
 *          .default_text = "1000", .unit = "images", .min = NORMA_AT_LEAST(1),
 *          .help = "Images on which source and target are compared, the first of the test set."},
 *         NORMA_OPTION_END,
 *     };
 */
#include "src/base/names.h"

#include <stdbool.h>
#include <stdint.h>

typedef enum norma_option_type {
    NORMA_OPTION_FLAG,     /* --name, --name=true, --name=false; true or false in a file */
    NORMA_OPTION_INTEGER,  /* int64_t; 1e6 is one, 1.5 is not */
    NORMA_OPTION_SEED,     /* uint64_t, all of them */
    NORMA_OPTION_REAL,     /* double; inf and nan only where allowed */
    NORMA_OPTION_CHOICE,   /* one of .names or .choices */
    NORMA_OPTION_STRING,   /* any text; .names or .choices are known in advance, if given */
    NORMA_OPTION_PATH,     /* any text; FILE in the help */
    NORMA_OPTION_DURATION, /* seconds as double: 90s, 15min, 2h, 1d, HH:MM:SS, D-HH:MM:SS */
    NORMA_OPTION_SHAPE     /* height x width: 3x5; 3 is 3x3 */
} norma_option_type;

/* How many values an option takes. */
typedef enum norma_option_many {
    NORMA_ONE = 0, /* one value; commas in a text are part of it */
    NORMA_SWEEP,   /* a list or range makes the option an axis of the run */
    NORMA_LIST     /* a list (or range) is the value itself */
} norma_option_many;

/* A bound of a number, of both numbers of a shape, or of the seconds of a duration. Bounds of whole
 * numbers stay within 2^53. */
typedef struct norma_option_bound {
    enum { NORMA_NO_BOUND = 0, NORMA_INCLUSIVE, NORMA_EXCLUSIVE } kind;
    double value;
} norma_option_bound;

/* Initializers: .min = NORMA_AT_LEAST(1), .max = NORMA_AT_MOST(1), .min = NORMA_ABOVE(0), ... */
#define NORMA_AT_LEAST(x)                                                                          \
    {                                                                                              \
        NORMA_INCLUSIVE, (x)                                                                       \
    }
#define NORMA_AT_MOST(x)                                                                           \
    {                                                                                              \
        NORMA_INCLUSIVE, (x)                                                                       \
    }
#define NORMA_ABOVE(x)                                                                             \
    {                                                                                              \
        NORMA_EXCLUSIVE, (x)                                                                       \
    }
#define NORMA_BELOW(x)                                                                             \
    {                                                                                              \
        NORMA_EXCLUSIVE, (x)                                                                       \
    }

/* All texts are constants without line breaks. */
typedef struct norma_option {
    const char *name; /* without "--"; NULL ends a table */
    norma_option_type type;
    norma_option_many many;
    const char *group;          /* heading in the help */
    const char *placeholder;    /* for the value in the help; NULL: by type */
    const char *default_text;   /* as a user would write it; NULL: none (a flag is then false) */
    const char *unset_text;     /* what happens where there is no value: "drawn from the system" */
    const char *unit;           /* "images"; NULL: dimensionless */
    const norma_names *names;   /* a family: its names are the choices, its summaries the help */
    const char *const *choices; /* NULL-terminated; names that belong to this option alone */
    norma_option_bound min, max;
    bool allow_inf, allow_nan;
    bool positional;        /* given by its place, not by --name; in table order */
    bool required;          /* must have a value; of an exclusive group: one of them */
    bool command_line_only; /* says how to run, not what: not in files, not written */
    const char *exclusive;  /* options with the same text here exclude each other: a flag overrides
                             * the others' values from a file, any of them overrides defaults, of
                             * which the first counts */
    const char *(*check)(const char *text); /* of texts: NULL when good, else what is expected */
    const char *help;                       /* one or more sentences */
} norma_option;

#define NORMA_OPTION_END                                                                           \
    {                                                                                              \
        .name = NULL                                                                               \
    }

/* A subcommand. Tables are combined in their order, which is the order of swept options, too; no
 * name may appear twice. Everything is borrowed by whoever is given a command. */
typedef struct norma_command {
    const char *name;                  /* the section of a YAML file */
    const char *invocation;            /* "norma plan reconstruct"; NULL: "norma " and the name */
    const char *description;           /* paragraphs of the help, '\n' between them */
    const norma_option *const *tables; /* NULL-terminated list of tables */
    const char *fitted; /* a swept option along which results are fitted, so that its values belong
                           into one run; NULL: none */
} norma_command;

#endif
