/* From flags, a file and defaults to a norma_config. */
#include "src/config/config.h"

#include "src/base/mem.h"
#include "src/config/config_expand.h"
#include "src/config/config_store.h"
#include "src/config/config_yaml.h"

#include <stdio.h>
#include <string.h>

/* Room for the place of a value; of a longer path the end is kept. */
#define LONGEST_WHERE 400
#define LONGEST_PATH 240

bool norma_config_wants_help(int argc, char *const *argv)
{
    for (int i = 0; i < argc && strcmp(argv[i], "--") != 0; i++)
        if (strcmp(argv[i], "--help") == 0 || strcmp(argv[i], "-h") == 0)
            return true;
    return false;
}

static norma_status create(const norma_command *command, norma_config **out)
{
    norma_config *config = NULL;
    int64_t n_items = 0;
    for (const norma_option *const *table = command->tables; *table; table++)
        for (const norma_option *option = *table; option->name; option++)
            n_items++;
    NORMA_TRY(NORMA_CALLOC(config, 1));
    config->command = command;
    norma_sweep_init(&config->whole);
    norma_sweep_init(&config->sweep);
    norma_status status = NORMA_CALLOC(config->items, n_items);
    if (status != NORMA_OK) {
        norma_config_destroy(&config);
        return status;
    }
    for (const norma_option *const *table = command->tables; *table; table++)
        for (const norma_option *option = *table; option->name; option++) {
            if (norma_config_find(config, option->name)) {
                status = NORMA_FAIL(NORMA_LIBRARY, "two options of '%s' are named '%s'",
                                    command->name, option->name);
                norma_config_destroy(&config);
                return status;
            }
            config->items[config->n_items++].option = option;
        }
    *out = config;
    return NORMA_OK;
}

void norma_config_destroy(norma_config **config)
{
    if (!*config)
        return;
    for (int64_t i = 0; i < (*config)->n_items; i++)
        norma_config_remove(&(*config)->items[i]);
    norma_mem_free((*config)->items);
    norma_sweep_clear(&(*config)->whole);
    NORMA_FREE(*config);
}

/* --- the command line ----------------------------------------------------------------------- */

static norma_status fail_option(const norma_config *config, const char *argument, const char *name)
{
    norma_text invocation;
    char quoted[NORMA_TEXT_QUOTED];
    const char *nearest = norma_config_nearest(config, name, false);
    norma_text_init(&invocation);
    norma_config_append_invocation(config->command, &invocation);
    norma_status status = invocation.status;
    /* The flag itself without quotes, like every place. */
    norma_text_quote(argument, strcspn(argument, "="), quoted);
    int length = (int)strlen(quoted) - 2;
    if (status == NORMA_OK && nearest)
        status = NORMA_FAIL(NORMA_USAGE, "%.*s: unknown option of '%s'; did you mean '--%s'?",
                            length, quoted + 1, invocation.data, nearest);
    else if (status == NORMA_OK)
        status = NORMA_FAIL(NORMA_USAGE, "%.*s: unknown option; '%s --help' lists them", length,
                            quoted + 1, invocation.data);
    norma_text_clear(&invocation);
    return status;
}

static norma_status fail_argument(const norma_config *config, const char *argument)
{
    norma_text invocation;
    char quoted[NORMA_TEXT_QUOTED];
    const norma_config_item *item = norma_config_find(config, argument);
    norma_text_quote(argument, strlen(argument), quoted);
    if (item && !item->option->positional)
        return NORMA_FAIL(NORMA_USAGE, "unexpected argument %s; did you mean '--%s'?", quoted,
                          argument);
    norma_text_init(&invocation);
    norma_config_append_invocation(config->command, &invocation);
    norma_status status = invocation.status;
    if (status == NORMA_OK)
        status = NORMA_FAIL(NORMA_USAGE, "unexpected argument %s; see '%s --help'", quoted,
                            invocation.data);
    norma_text_clear(&invocation);
    return status;
}

static norma_status check_utf8(const char *where, const char *text)
{
    size_t length = strlen(text);
    for (size_t i = 0; i < length;) {
        uint32_t code = 0;
        size_t n = norma_text_decode(text + i, length - i, &code);
        if (n == 0)
            return NORMA_FAIL(NORMA_USAGE, "%s: the value is not UTF-8 (byte 0x%02x)", where,
                              (unsigned)(unsigned char)text[i]);
        i += n;
    }
    return NORMA_OK;
}

static norma_status set_argument(norma_config_item *item, const char *where, const char *value)
{
    if (item->origin == NORMA_ORIGIN_COMMAND_LINE)
        return NORMA_FAIL(NORMA_USAGE, "%s: given twice", where);
    NORMA_TRY(check_utf8(where, value));
    return norma_config_replace_text(item, NORMA_ORIGIN_COMMAND_LINE, NORMA_USAGE, where, value);
}

/* -5, -.5, -inf are values where numbers are read; elsewhere a value behind a blank that begins
 * with a dash is more likely a forgotten value. */
static bool looks_like_value(const norma_option *option, const char *text)
{
    if (text[0] != '-' || text[1] == '\0')
        return true;
    return norma_config_type_is_number(option->type) && strchr("0123456789.iInN", text[1]);
}

/* argv[*i] begins with "--". */
static norma_status parse_flag(norma_config *config, int argc, char *const *argv, int *i)
{
    char where[LONGEST_WHERE];
    const char *argument = argv[*i], *equals = strchr(argument, '=');
    size_t length = equals ? (size_t)(equals - argument) : strlen(argument);
    if (length >= sizeof where)
        return fail_option(config, argument, "");
    memcpy(where, argument, length);
    where[length] = '\0';
    norma_config_item *item = norma_config_find(config, where + 2);
    if (!item || item->option->positional)
        return fail_option(config, argument, where + 2);
    if (equals)
        return set_argument(item, where, equals + 1);
    if (item->option->type == NORMA_OPTION_FLAG)
        return set_argument(item, where, "true");
    if (*i + 1 == argc)
        return NORMA_FAIL(NORMA_USAGE, "%s: needs a value", where);
    const char *value = argv[*i + 1];
    if (!looks_like_value(item->option, value)) {
        char quoted[NORMA_TEXT_QUOTED];
        return NORMA_FAIL(NORMA_USAGE,
                          "%s: needs a value, but %s follows (a value that begins so "
                          "is given as %s=...)",
                          where, norma_text_quote(value, strlen(value), quoted), where);
    }
    ++*i;
    return set_argument(item, where, value);
}

/* One more value of a positional list: an argument is a value as it stands, commas and all. */
static norma_status push_argument(norma_config_item *item, const char *where, const char *argument)
{
    const norma_config_place place = {.status = NORMA_USAGE, .where = where};
    norma_config_value value;
    NORMA_TRY(check_utf8(where, argument));
    NORMA_TRY(norma_config_value_parse(item->option, argument, (int64_t)strlen(argument), &place,
                                       &value));
    NORMA_TRY(norma_config_values_push(&item->values, item->option, &value));
    if (!item->where)
        item->where = norma_mem_strdup(where);
    item->origin = NORMA_ORIGIN_COMMAND_LINE;
    return item->where ? NORMA_OK : NORMA_MEMORY;
}

/* The next positional option takes the argument; a list takes all that follow. */
static norma_status parse_positional(norma_config *config, const char *argument)
{
    for (int64_t i = 0; i < config->n_items; i++) {
        norma_config_item *item = &config->items[i];
        const char *where =
            item->option->placeholder ? item->option->placeholder : item->option->name;
        if (item->option->positional && item->option->many == NORMA_LIST)
            return push_argument(item, where, argument);
        if (item->option->positional && item->origin == NORMA_ORIGIN_NONE)
            return set_argument(item, where, argument);
    }
    return fail_argument(config, argument);
}

norma_status norma_config_parse(const norma_command *command, int argc, char *const *argv,
                                norma_config **out)
{
    norma_config *config = NULL;
    norma_status status = NORMA_OK;
    bool ended = false;
    NORMA_GOTO(status, create(command, &config));
    for (int i = 0; i < argc; i++) {
        const char *argument = argv[i];
        if (!ended && strcmp(argument, "--") == 0)
            ended = true;
        else if (!ended && strncmp(argument, "--", 2) == 0)
            NORMA_GOTO(status, parse_flag(config, argc, argv, &i));
        else if (!ended && argument[0] == '-' && argument[1] != '\0')
            NORMA_GOTO(status, fail_option(config, argument, argument + 1));
        else
            NORMA_GOTO(status, parse_positional(config, argument));
    }
    NORMA_GOTO(status, norma_config_check_exclusive(config, NORMA_ORIGIN_COMMAND_LINE));
    *out = config;
    config = NULL;
done:
    norma_config_destroy(&config);
    return status;
}

/* --- the file ------------------------------------------------------------------------------- */

/* "run.yaml:7: reconstruct: width". */
static void format_where(const norma_config *config, const char *path, int line, const char *key,
                         char where[LONGEST_WHERE])
{
    size_t length = strlen(path);
    bool cut = length > LONGEST_PATH;
    snprintf(where, LONGEST_WHERE, "%s%s:%d: %s: %s", cut ? "..." : "",
             cut ? path + length - LONGEST_PATH : path, line, config->command->name, key);
}

static norma_status find_entry(const norma_config *config, const char *path,
                               const norma_config_entry *entry, norma_config_item **out)
{
    char quoted[NORMA_TEXT_QUOTED], where[LONGEST_WHERE];
    const norma_config_scalar *key = &entry->key;
    norma_config_item *item =
        strlen(key->text) == (size_t)key->length ? norma_config_find(config, key->text) : NULL;
    format_where(config, path, key->line, item ? item->option->name : "", where);
    norma_text_quote(key->text, (size_t)key->length, quoted);
    if (!item) {
        const char *nearest = norma_config_nearest(config, key->text, true);
        return NORMA_FAIL(NORMA_CONFIG, "%sunknown key %s%s%s%s", where, quoted,
                          nearest ? "; did you mean '" : "", nearest ? nearest : "",
                          nearest ? "'?" : "");
    }
    if (item->option->command_line_only)
        return NORMA_FAIL(NORMA_CONFIG, "%s: belongs on the command line, not in a file", where);
    if (item->line)
        return NORMA_FAIL(NORMA_CONFIG, "%s: given again; first in line %d", where, item->line);
    *out = item;
    return NORMA_OK;
}

/* One value of the entry, or item of its list. */
static norma_status expand_scalar(const norma_option *option, const norma_config_scalar *scalar,
                                  const norma_config_place *place, norma_config_values *values)
{
    if (scalar->is_null)
        return NORMA_FAIL(place->status, "%s: no value; leave the key out for the default",
                          place->where);
    if (strlen(scalar->text) != (size_t)scalar->length)
        return NORMA_FAIL(place->status, "%s: the value holds a zero character", place->where);
    return norma_config_expand(option, scalar->text, scalar->length, place, values);
}

/* The line that gave the value at `index` of an entry which has been expanded before. */
static norma_status find_line(const norma_config_entry *entry, const norma_option *option,
                              const norma_config_place *place, int64_t index, int *line)
{
    norma_status status = NORMA_OK;
    norma_config_values values = {0};
    for (int64_t i = 0; values.n <= index; i++) {
        *line = entry->items[i].line;
        NORMA_GOTO(status, expand_scalar(option, &entry->items[i], place, &values));
    }
done:
    norma_config_values_clear(&values, option);
    return status;
}

static norma_status expand_entry(const norma_config *config, const char *path,
                                 const norma_config_entry *entry, const norma_option *option,
                                 norma_config_values *values)
{
    char where[LONGEST_WHERE];
    norma_config_place place = {.status = NORMA_CONFIG, .where = where};
    format_where(config, path, entry->key.line, option->name, where);
    if (entry->is_list && option->many == NORMA_ONE)
        return NORMA_FAIL(NORMA_CONFIG, "%s: takes one value, not a list", where);
    if (entry->n_items == 0)
        return NORMA_FAIL(NORMA_CONFIG, "%s: an empty list", where);
    for (int64_t i = 0; i < entry->n_items; i++) {
        format_where(config, path, entry->items[i].line, option->name, where);
        NORMA_TRY(expand_scalar(option, &entry->items[i], &place, values));
    }
    int64_t repeated = -1;
    NORMA_TRY(norma_config_find_repeated(option, values, &repeated));
    if (repeated < 0)
        return NORMA_OK;
    int line = 0;
    NORMA_TRY(find_line(entry, option, &place, repeated, &line));
    format_where(config, path, line, option->name, where);
    return norma_config_fail_repeated(option, &values->values[repeated], &place);
}

static norma_status apply_entry(const norma_config *config, const char *path,
                                const norma_config_entry *entry)
{
    norma_status status = NORMA_OK;
    char where[LONGEST_WHERE];
    norma_config_item *item = NULL;
    norma_config_values values = {0};
    NORMA_TRY(find_entry(config, path, entry, &item));
    NORMA_GOTO(status, expand_entry(config, path, entry, item->option, &values));
    item->line = entry->key.line;
    if (item->origin != NORMA_ORIGIN_COMMAND_LINE) {
        format_where(config, path, entry->key.line, item->option->name, where);
        NORMA_GOTO(status, norma_config_replace(item, NORMA_ORIGIN_FILE, where, &values));
    }
done:
    norma_config_values_clear(&values, item->option);
    return status;
}

norma_status norma_config_apply(norma_config *config, const char *const *sections, const char *path,
                                const char *text, int64_t length)
{
    norma_status status = NORMA_OK;
    norma_config_section section = {0};
    NORMA_TRY(
        norma_config_section_read(path, text, length, config->command->name, sections, &section));
    for (int64_t i = 0; i < section.n_entries; i++)
        NORMA_GOTO(status, apply_entry(config, path, &section.entries[i]));
    NORMA_GOTO(status, norma_config_check_exclusive(config, NORMA_ORIGIN_FILE));
done:
    norma_config_section_clear(&section);
    return status;
}

/* --- the rest ------------------------------------------------------------------------------- */

/* The strongest origin in the item's exclusive group. */
static norma_config_origin strongest(const norma_config *config, const norma_config_item *item)
{
    norma_config_origin origin = item->origin;
    for (int64_t i = 0; item->option->exclusive && i < config->n_items; i++) {
        const norma_config_item *other = &config->items[i];
        if (other->option->exclusive && other->origin > origin &&
            strcmp(other->option->exclusive, item->option->exclusive) == 0)
            origin = other->origin;
    }
    return origin;
}

/* Nothing was given where something must be: names the option, or those of its exclusive group. */
static norma_status fail_required(const norma_config *config, const norma_option *option)
{
    norma_text names;
    norma_text_init(&names);
    for (int64_t i = 0; i < config->n_items; i++) {
        const norma_option *other = config->items[i].option;
        if (other != option && !(option->exclusive && other->exclusive &&
                                 strcmp(option->exclusive, other->exclusive) == 0))
            continue;
        bool named = other->positional && other->placeholder;
        norma_text_append(&names, "%s%s%s", names.length > 0 ? " or " : "",
                          other->positional ? "" : "--", named ? other->placeholder : other->name);
    }
    norma_text_append(&names, ": must be given; see '");
    norma_config_append_invocation(config->command, &names);
    norma_status status = names.status;
    if (status == NORMA_OK)
        status = NORMA_FAIL(NORMA_USAGE, "%s --help'", names.data);
    norma_text_clear(&names);
    return status;
}

static norma_status settle_item(const norma_config *config, norma_config_item *item)
{
    char where[LONGEST_WHERE];
    const norma_option *option = item->option;
    const char *text = option->default_text;
    norma_config_origin origin = strongest(config, item);
    if (item->origin != NORMA_ORIGIN_NONE && item->origin < origin)
        norma_config_remove(item);
    if (option->type == NORMA_OPTION_FLAG && !text)
        text = "false";
    if (origin == NORMA_ORIGIN_NONE && text) {
        snprintf(where, sizeof where, "%s (default)", option->name);
        NORMA_TRY(
            norma_config_replace_text(item, NORMA_ORIGIN_DEFAULT, NORMA_LIBRARY, where, text));
    }
    if (option->required && strongest(config, item) == NORMA_ORIGIN_NONE)
        return fail_required(config, option);
    return NORMA_OK;
}

norma_status norma_config_settle(norma_config *config)
{
    for (int64_t i = 0; i < config->n_items; i++)
        NORMA_TRY(settle_item(config, &config->items[i]));
    return norma_config_build_sweep(config);
}
