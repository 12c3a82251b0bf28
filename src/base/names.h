#ifndef NORMA_BASE_NAMES_H
#define NORMA_BASE_NAMES_H
/*
 * Families of choices (solvers, activations, subcommands, ...), each one table of descriptors. A
 * descriptor begins with `const char *name, *summary;`, and whatever the family needs follows.
 * Options, help, messages, the manual page and tests read names and summaries from that table:
 *
 *     static const norma_solver_descriptor table[] = {{"auto", "the best of ..."}, ...};
 *     const norma_names norma_solver_names = NORMA_NAMES("solver", "solvers", table);
 *
 * A number of a family is the index in its table, which an enumeration may repeat.
 */
#include "src/base/status.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Another program's name for a member. */
typedef struct norma_synonym {
    const char *other, *name;
} norma_synonym;

typedef struct norma_names {
    const char *kind;   /* of one member, for messages: "solver" */
    const char *plural; /* of the family, for `norma list`: "solvers" */
    const void *table;  /* [n] descriptors of `size` bytes; borrowed */
    int64_t n;
    size_t size;                   /* one pointer: an array of plain names without summaries */
    bool (*takes)(int64_t i);      /* is descriptor i a member? NULL: all are */
    const norma_synonym *synonyms; /* ended by {NULL, NULL}; where there are any, capitals do not
                                    * matter. NULL: none */
} norma_names;

#define NORMA_NAMES_COUNT(table) ((int64_t)(sizeof(table) / sizeof(table)[0]))

/* Initializers of the family of a table, of the part of it for which takes(i) holds, and of such a
 * part with synonyms. */
#define NORMA_NAMES_OF(kind, plural, table, takes)                                                 \
    NORMA_NAMES_WITH(kind, plural, table, takes, NULL)
#define NORMA_NAMES_WITH(kind, plural, table, takes, synonyms)                                     \
    {                                                                                              \
        (kind), (plural), (table), NORMA_NAMES_COUNT(table), sizeof(table)[0], (takes), (synonyms) \
    }
#define NORMA_NAMES(kind, plural, table) NORMA_NAMES_OF(kind, plural, table, NULL)

/* The family of the plain names in a NULL-terminated list, which is borrowed. */
norma_names norma_names_of_list(const char *kind, const char *const *list);

/* The name of member i; NULL where i is no member. */
const char *norma_names_name(const norma_names *names, int64_t i);

/* The summary of member i, a line without a stop at its end; NULL where there is none. */
const char *norma_names_summary(const norma_names *names, int64_t i);

/* The first member from i on; n where none is left. For loops over the members of a family. */
int64_t norma_names_next(const norma_names *names, int64_t i);

/* The index of the member called `name`, in which '_' counts as '-', or of the one that has it as a
 * synonym; -1 where there is none. */
int64_t norma_names_index(const norma_names *names, const char *name);

/* The most members that norma_names_list takes. */
#define NORMA_NAMES_MOST 64

/* list[n] = the names of the whole table, members or not: those of a variable in a file. Returns
 * n. */
int norma_names_list(const norma_names *names, const char *list[NORMA_NAMES_MOST]);

/* Writes "krylov, qr and svd", cut to `size` bytes. Returns out. */
const char *norma_names_join(const norma_names *names, char *out, size_t size);

/* Fails with `status` and "unknown solver 'krilov'; did you mean 'krylov'? Known: auto, lu, ...".
 */
NORMA_MUST_USE norma_status norma_names_fail(const norma_names *names, norma_status status,
                                             const char *name);

/* *out = the index of the member called `name`, as norma_names_index; otherwise the failure of
 * norma_names_fail with NORMA_CONFIG. */
NORMA_MUST_USE norma_status norma_names_find(const norma_names *names, const char *name,
                                             int64_t *out);

#endif
