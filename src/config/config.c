/* Values of a settled configuration. */
#include "src/config/config.h"

#include "src/config/config_expand.h"
#include "src/config/config_number.h"
#include "src/config/config_store.h"

#include <assert.h>
#include <stdio.h>
#include <string.h>

static norma_config_item *find(const norma_config *config, const char *name)
{
    norma_config_item *item = norma_config_find(config, name);
    assert(item && "an option of the command's tables");
    return item;
}

int64_t norma_config_get_cell_number(const norma_config *config, int64_t cell)
{
    return config->first_cell + cell * config->cell_step;
}

/* The value of a cell, or at an index of a list. */
static const norma_config_value *get(const norma_config *config, int64_t cell,
                                     const norma_config_item *item)
{
    assert(item->values.n > 0 && "an option that has a value");
    int64_t i = 0;
    if (item->option->many == NORMA_LIST) {
        assert(cell >= 0 && cell < item->values.n);
        i = cell;
    } else if (item->values.n > 1) {
        assert(cell >= 0 && cell < config->sweep.n_cells);
        const norma_sweep_axis *axis = config->whole.axes;
        while (axis->name != item->option->name)
            axis++;
        i = norma_config_get_cell_number(config, cell) / axis->stride % axis->n;
    }
    return &item->values.values[i];
}

bool norma_config_knows(const norma_config *config, const char *name)
{
    return norma_config_find(config, name) != NULL;
}

bool norma_config_has(const norma_config *config, const char *name)
{
    return find(config, name)->origin != NORMA_ORIGIN_NONE;
}

/* True when the values are those of the default text. */
static bool is_default(const norma_config_item *item)
{
    const norma_option *option = item->option;
    const char *text = option->default_text;
    if (option->type == NORMA_OPTION_FLAG && !text)
        text = "false";
    if (!text)
        return false;
    norma_config_values values = {0};
    const norma_config_place place = {.status = NORMA_LIBRARY, .where = option->name};
    norma_status status = norma_config_expand(option, text, (int64_t)strlen(text), &place, &values);
    bool same = status == NORMA_OK && values.n == item->values.n;
    for (int64_t i = 0; same && i < values.n; i++)
        same = norma_config_value_compare(option, &values.values[i], &item->values.values[i]) == 0;
    norma_config_values_clear(&values, option);
    return same;
}

bool norma_config_is_given(const norma_config *config, const char *name)
{
    const norma_config_item *item = find(config, name);
    return item->origin > NORMA_ORIGIN_DEFAULT && !is_default(item);
}

bool norma_config_is_set(const norma_config *config, const char *name)
{
    return find(config, name)->origin > NORMA_ORIGIN_DEFAULT;
}

const char *norma_config_where(const norma_config *config, const char *name)
{
    const norma_config_item *item = find(config, name);
    assert(item->where && "an option that has a value");
    return item->where;
}

norma_status norma_config_blame(const norma_config *config, const char *name)
{
    return find(config, name)->origin == NORMA_ORIGIN_COMMAND_LINE ? NORMA_USAGE : NORMA_CONFIG;
}

norma_status norma_config_refuse(const norma_config *config, const char *name, const char *why)
{
    return NORMA_FAIL(norma_config_blame(config, name), "%s: %s", norma_config_where(config, name),
                      why);
}

norma_status norma_config_refuse_given(const norma_config *config, const char *const *names,
                                       const char *why)
{
    for (; *names; names++)
        if (norma_config_is_given(config, *names))
            return norma_config_refuse(config, *names, why);
    return NORMA_OK;
}

bool norma_config_get_flag(const norma_config *config, const char *name)
{
    const norma_config_item *item = find(config, name);
    assert(item->option->type == NORMA_OPTION_FLAG);
    return item->values.n > 0 && item->values.values[0].flag;
}

int64_t norma_config_get_integer(const norma_config *config, int64_t cell, const char *name)
{
    const norma_config_item *item = find(config, name);
    assert(item->option->type == NORMA_OPTION_INTEGER);
    return get(config, cell, item)->integer;
}

uint64_t norma_config_get_seed(const norma_config *config, int64_t cell, const char *name)
{
    const norma_config_item *item = find(config, name);
    assert(item->option->type == NORMA_OPTION_SEED);
    return get(config, cell, item)->seed;
}

double norma_config_get_real(const norma_config *config, int64_t cell, const char *name)
{
    const norma_config_item *item = find(config, name);
    assert(item->option->type == NORMA_OPTION_REAL);
    return get(config, cell, item)->real;
}

double norma_config_get_seconds(const norma_config *config, int64_t cell, const char *name)
{
    const norma_config_item *item = find(config, name);
    assert(item->option->type == NORMA_OPTION_DURATION);
    return get(config, cell, item)->real;
}

norma_config_shape norma_config_get_shape(const norma_config *config, int64_t cell,
                                          const char *name)
{
    const norma_config_item *item = find(config, name);
    assert(item->option->type == NORMA_OPTION_SHAPE);
    return get(config, cell, item)->shape;
}

/* The text of a value of a choice or a text. */
static const char *text_of(const norma_option *option, const norma_config_value *value)
{
    assert(option->type == NORMA_OPTION_CHOICE || norma_config_type_is_text(option->type));
    return option->type == NORMA_OPTION_CHOICE ? norma_config_choice(option, value) : value->text;
}

const char *norma_config_get_text(const norma_config *config, int64_t cell, const char *name)
{
    const norma_config_item *item = find(config, name);
    return text_of(item->option, get(config, cell, item));
}

int norma_config_get_choice(const norma_config *config, int64_t cell, const char *name)
{
    const norma_config_item *item = find(config, name);
    assert(item->option->type == NORMA_OPTION_CHOICE);
    return get(config, cell, item)->choice;
}

int64_t norma_config_get_count(const norma_config *config, const char *name)
{
    return find(config, name)->values.n;
}

bool norma_config_list_holds(const norma_config *config, const char *name, const char *text)
{
    const norma_config_item *item = find(config, name);
    for (int64_t i = 0; i < item->values.n; i++)
        if (strcmp(text_of(item->option, &item->values.values[i]), text) == 0)
            return true;
    return false;
}

const norma_sweep *norma_config_get_sweep(const norma_config *config)
{
    return &config->sweep;
}

const norma_sweep *norma_config_get_whole_sweep(const norma_config *config)
{
    return &config->whole;
}

bool norma_config_is_share(const norma_config *config)
{
    return config->sweep.axes == &config->cell_axis;
}

bool norma_config_is_single(const norma_config *config)
{
    return config->whole.n_cells == 1;
}

int64_t norma_config_get_integer_at(const norma_config *config, int64_t index, const char *name)
{
    const norma_config_item *item = find(config, name);
    assert(item->option->type == NORMA_OPTION_INTEGER && index < item->values.n);
    return item->values.values[index].integer;
}

void norma_config_describe_cell(const norma_config *config, int64_t cell, norma_text *out)
{
    for (int64_t i = 0; i < config->whole.n_axes; i++) {
        const norma_config_item *item = find(config, config->whole.axes[i].name);
        norma_text_append(out, "%s%s=", i > 0 ? ", " : "", item->option->name);
        norma_config_value_append(item->option, get(config, cell, item), out);
    }
}

const norma_command *norma_config_get_command(const norma_config *config)
{
    return config->command;
}

norma_status norma_config_set_text(norma_config *config, const char *name, const char *text)
{
    char where[128];
    snprintf(where, sizeof where, "%s (set by the program)", name);
    NORMA_TRY(norma_config_replace_text(find(config, name), NORMA_ORIGIN_PROGRAM, NORMA_CONFIG,
                                        where, text));
    return norma_config_build_sweep(config);
}

norma_status norma_config_set_integer(norma_config *config, const char *name, int64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%lld", (long long)value);
    return norma_config_set_text(config, name, text);
}

norma_status norma_config_set_seed(norma_config *config, const char *name, uint64_t value)
{
    char text[32];
    snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    return norma_config_set_text(config, name, text);
}
