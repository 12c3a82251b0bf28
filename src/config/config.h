#ifndef NORMA_CONFIG_CONFIG_H
#define NORMA_CONFIG_CONFIG_H
/*
 * The configuration of a run: values of the options of one command, from its flags, a YAML file,
 * defaults, and what the program settles itself. io/config/config_read.h reads one in a single
 * collective call; this header is the part that does not communicate: all functions are local, and
 * equal input gives equal results on every rank.
 *
 * Messages name the place: "--width: ..." or "run.yaml:7: reconstruct: width: ...".
 */
#include "src/base/status.h"
#include "src/base/text.h"
#include "src/config/config_option.h"
#include "src/config/sweep.h"

#include <stdbool.h>
#include <stdint.h>

typedef struct norma_config norma_config;

typedef struct norma_config_shape {
    int64_t height, width;
} norma_config_shape;

/* --- reading ------------------------------------------------------------------------------- */

/* True when -h or --help is among the arguments (before a "--"). */
bool norma_config_wants_help(int argc, char *const *argv);

/* Reads flags and positional arguments: argv[argc] begins behind the subcommand's name. *out is
 * owned by the caller; `command` is borrowed and must outlive it. NORMA_USAGE for an unknown or
 * repeated flag, a missing or bad value. Call norma_config_settle before any getter but
 * norma_config_has. */
NORMA_MUST_USE norma_status norma_config_parse(const norma_command *command, int argc,
                                               char *const *argv, norma_config **out);

/* Reads the YAML text of `length` bytes that was in `path` (named in messages): the command's own
 * section; flags win over it. `sections` (NULL-terminated) are the names of all subcommands, whose
 * sections may stand beside it. NORMA_CONFIG, naming file, line and key, for what is wrong. Once at
 * most, before norma_config_settle. */
NORMA_MUST_USE norma_status norma_config_apply(norma_config *config, const char *const *sections,
                                               const char *path, const char *text, int64_t length);

/* Does a text of norma_config_write hold the section of this command? */
bool norma_config_has_section(const char *text, const char *command);

/* Fills in defaults, checks required options, builds the sweep. NORMA_LIMIT for too many cells. */
NORMA_MUST_USE norma_status norma_config_settle(norma_config *config);

void norma_config_destroy(norma_config **config);

/* --- values --------------------------------------------------------------------------------
 * `name` must be an option of the command and of the getter's type, and have a value: anything else
 * is a programming error (assert). `cell` is a cell of the sweep; 0 does for options that are not
 * swept. Texts are borrowed, valid until the option is set or the configuration destroyed. */

/* True when the command has an option of this name; the only getter that takes any name. */
bool norma_config_knows(const norma_config *config, const char *name);

/* True when the option has a value: given, by default or set. */
bool norma_config_has(const norma_config *config, const char *name);

/* True when it has a value other than its default; so a configuration that was written and read
 * again answers the same. */
bool norma_config_is_given(const norma_config *config, const char *name);

/* True when a flag, a file or the program itself gave the value, be it that of the default. */
bool norma_config_is_set(const norma_config *config, const char *name);

/* Where the value comes from, to begin a message with: "--excess", "run.yaml:7: reconstruct:
 * excess", "excess (default)", "excess (set by the program)". Borrowed like a text. */
const char *norma_config_where(const norma_config *config, const char *name);

/* Status for an error in the option's value: NORMA_USAGE for one from the command line, otherwise
 * NORMA_CONFIG. */
norma_status norma_config_blame(const norma_config *config, const char *name);

/* Fails with "--excess: why", naming where the option's value comes from, as norma_config_blame. */
NORMA_MUST_USE norma_status norma_config_refuse(const norma_config *config, const char *name,
                                                const char *why);

/* Refuses the first option of the NULL-terminated `names` that is given; NORMA_OK where none is. */
NORMA_MUST_USE norma_status norma_config_refuse_given(const norma_config *config,
                                                      const char *const *names, const char *why);

bool norma_config_get_flag(const norma_config *config, const char *name);
int64_t norma_config_get_integer(const norma_config *config, int64_t cell, const char *name);
uint64_t norma_config_get_seed(const norma_config *config, int64_t cell, const char *name);
double norma_config_get_real(const norma_config *config, int64_t cell, const char *name);
double norma_config_get_seconds(const norma_config *config, int64_t cell, const char *name);
norma_config_shape norma_config_get_shape(const norma_config *config, int64_t cell,
                                          const char *name);

/* A choice's, string's or path's text. */
const char *norma_config_get_text(const norma_config *config, int64_t cell, const char *name);

/* A choice's index in its option's .choices or in the table of its .names. */
int norma_config_get_choice(const norma_config *config, int64_t cell, const char *name);

/* Values of an option: of a NORMA_LIST the length of its list (0 without a value), otherwise 1 or
 * its length along the sweep. The getters of a list take the index within the list as `cell`. */
int64_t norma_config_get_count(const norma_config *config, const char *name);

/* True when a NORMA_LIST of choices or texts holds `text`. */
bool norma_config_list_holds(const norma_config *config, const char *name, const char *text);

/* The value at an index 0 .. count - 1 of an option, whichever cells have it. */
int64_t norma_config_get_integer_at(const norma_config *config, int64_t index, const char *name);

/* The cells of this run; borrowed. With --cells a single axis "cell" of those that it selects. */
const norma_sweep *norma_config_get_sweep(const norma_config *config);

/* All cells, with one axis for each swept option, whatever --cells says; borrowed. */
const norma_sweep *norma_config_get_whole_sweep(const norma_config *config);

/* The number of a cell of this run in the whole sweep. */
int64_t norma_config_get_cell_number(const norma_config *config, int64_t cell);

/* True when --cells selects some of the cells. */
bool norma_config_is_share(const norma_config *config);

/* True when the whole sweep is a single cell: no option has several values. */
bool norma_config_is_single(const norma_config *config);

/* Appends a cell's coordinates for people: "excess=8, source-dist=he-normal"; nothing when there is
 * a single cell. */
void norma_config_describe_cell(const norma_config *config, int64_t cell, norma_text *out);

const norma_command *norma_config_get_command(const norma_config *config);

/* --- settled at run time --------------------------------------------------------------------
 * Replace the value(s) by one (a drawn seed, a default output name), through the same checks;
 * NORMA_CONFIG on a bad value, the old one kept. Must be done alike on all ranks. */
NORMA_MUST_USE norma_status norma_config_set_text(norma_config *config, const char *name,
                                                  const char *text);
NORMA_MUST_USE norma_status norma_config_set_integer(norma_config *config, const char *name,
                                                     int64_t value);
NORMA_MUST_USE norma_status norma_config_set_seed(norma_config *config, const char *name,
                                                  uint64_t value);

/* --- writing --------------------------------------------------------------------------------*/

/* The effective configuration as YAML: every option that has a value, defaults included, sweeps as
 * lists; options without one as comments; command_line_only options left out. Read again, it gives
 * the same values bit for bit. *text is owned by the caller (norma_mem_free). */
NORMA_MUST_USE norma_status norma_config_write(const norma_config *config, char **text);

#endif
