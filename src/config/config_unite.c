#include "src/config/config_unite.h"

#include "src/base/mem.h"
#include "src/config/config_expand.h"
#include "src/config/config_store.h"

#include <string.h>

/* Values of a list that a message shows. */
enum { MOST_SHOWN = 4 };

static bool is_listed(const char *name, const char *const *keys)
{
    for (; *keys; keys++)
        if (strcmp(name, *keys) == 0)
            return true;
    return false;
}

static bool values_equal(const norma_option *option, const norma_config_values *a,
                         const norma_config_values *b)
{
    bool equal = a->n == b->n;
    for (int64_t i = 0; equal && i < a->n; i++)
        equal = norma_config_value_compare(option, &a->values[i], &b->values[i]) == 0;
    return equal;
}

static norma_status push_copy(norma_config_values *values, const norma_option *option,
                              const norma_config_value *value)
{
    norma_config_value copy = *value;
    if (norma_config_type_is_text(option->type)) {
        copy.text = norma_mem_strdup(value->text);
        if (!copy.text)
            return NORMA_MEMORY;
    }
    return norma_config_values_push(values, option, &copy);
}

static norma_status push_all(norma_config_values *values, const norma_option *option,
                             const norma_config_values *more)
{
    for (int64_t i = 0; i < more->n; i++)
        NORMA_TRY(push_copy(values, option, &more->values[i]));
    return NORMA_OK;
}

static void append_values(const norma_config_item *item, norma_text *out)
{
    const norma_config_values *values = &item->values;
    if (values->n == 0)
        norma_text_append(out, "no value");
    for (int64_t i = 0; i < values->n && i < MOST_SHOWN; i++) {
        norma_text_append(out, "%s", i > 0 ? "," : "");
        if (item->option->type == NORMA_OPTION_CHOICE)
            norma_text_append(out, "%s", norma_config_choice(item->option, &values->values[i]));
        else
            norma_config_value_append(item->option, &values->values[i], out);
    }
    if (values->n > MOST_SHOWN)
        norma_text_append(out, ",...");
}

static norma_status refuse(const norma_config_item *a, const char *a_name,
                           const norma_config_item *b, const char *b_name)
{
    norma_text text;
    char *message = NULL;
    norma_text_init(&text);
    norma_text_append(&text, "--%s differs: %s has ", a->option->name, a_name);
    append_values(a, &text);
    norma_text_append(&text, ", %s has ", b_name);
    append_values(b, &text);
    NORMA_TRY(norma_text_take(&text, &message));
    norma_status status = NORMA_FAIL(
        NORMA_CONFIG, "%s; results of one sweep differ in options that take several values only",
        message);
    norma_mem_free(message);
    return status;
}

/* +1, -1: the list ascends, descends; 0: neither; a single value does both. */
static bool is_sorted(const norma_option *option, const norma_config_values *values, int sign)
{
    for (int64_t i = 1; i < values->n; i++)
        if (sign * norma_config_value_compare(option, &values->values[i - 1], &values->values[i]) >=
            0)
            return false;
    return true;
}

static int direction(const norma_config_part *parts, int64_t n, int64_t item)
{
    const norma_option *option = parts[0].config->items[item].option;
    if (!norma_config_type_is_number(option->type) && option->type != NORMA_OPTION_SEED &&
        option->type != NORMA_OPTION_DURATION)
        return 0;
    for (int sign = 1; sign >= -1; sign -= 2) {
        bool all = true;
        for (int64_t k = 0; all && k < n; k++)
            all = is_sorted(option, &parts[k].config->items[item].values, sign);
        if (all)
            return sign;
    }
    return 0;
}

/* From `all`, which may hold values several times, those of the whole in their order. */
static norma_status pick(const norma_option *option, const norma_config_values *all, int sign,
                         norma_config_values *out)
{
    norma_status status = NORMA_OK;
    int64_t *order = NULL;
    unsigned char *first = NULL;
    NORMA_GOTO(status, norma_config_order(option, all, &order));
    NORMA_GOTO(status, NORMA_CALLOC(first, all->n));
    for (int64_t i = 0; i < all->n; i++)
        first[order[i]] = i == 0 || norma_config_value_compare(option, &all->values[order[i - 1]],
                                                               &all->values[order[i]]) != 0;
    for (int64_t i = 0; i < all->n; i++) {
        int64_t at = sign > 0 ? order[i] : sign < 0 ? order[all->n - 1 - i] : i;
        if (first[at])
            NORMA_GOTO(status, push_copy(out, option, &all->values[at]));
    }
done:
    NORMA_FREE(first);
    NORMA_FREE(order);
    return status;
}

static bool is_fitted(const norma_config *config, const norma_option *option)
{
    return config->command->fitted && strcmp(config->command->fitted, option->name) == 0;
}

/* The values of an option that can be swept. */
static norma_status unite_values(const norma_config_part *parts, int64_t n, int64_t item,
                                 norma_config_values *out)
{
    const norma_config_item *first = &parts[0].config->items[item];
    const norma_option *option = first->option;
    norma_config_values all = {0};
    norma_status status = push_all(&all, option, &first->values);
    bool same = true;
    for (int64_t k = 1; k < n && status == NORMA_OK; k++) {
        const norma_config_item *other = &parts[k].config->items[item];
        if ((other->values.n == 0) != (first->values.n == 0))
            status = refuse(first, parts[0].name, other, parts[k].name);
        else if (!values_equal(option, &first->values, &other->values) &&
                 is_fitted(parts[0].config, option))
            status = NORMA_FAIL(NORMA_CONFIG,
                                "--%s differs in %s and %s: results are fitted along its values, "
                                "which need one run",
                                option->name, parts[0].name, parts[k].name);
        else if (!values_equal(option, &first->values, &other->values)) {
            same = false;
            status = push_all(&all, option, &other->values);
        }
    }
    if (status == NORMA_OK)
        status =
            same ? push_all(out, option, &all) : pick(option, &all, direction(parts, n, item), out);
    norma_config_values_clear(&all, option);
    return status;
}

static norma_status unite_item(const norma_config_part *parts, int64_t n, int64_t item,
                               bool is_free, norma_config_values *out)
{
    const norma_config_item *first = &parts[0].config->items[item];
    if (!is_free && first->option->many == NORMA_SWEEP)
        return unite_values(parts, n, item, out);
    for (int64_t k = 1; k < n && !is_free; k++) {
        const norma_config_item *other = &parts[k].config->items[item];
        if (!values_equal(first->option, &first->values, &other->values))
            return refuse(first, parts[0].name, other, parts[k].name);
    }
    return push_all(out, first->option, &first->values);
}

norma_status norma_config_unite(const norma_config_part *parts, int64_t n,
                                const char *const *free_keys, norma_config **out)
{
    norma_config *whole = NULL;
    norma_status status = NORMA_OK;
    NORMA_GOTO(status, norma_config_parse(parts[0].config->command, 0, NULL, &whole));
    for (int64_t i = 0; i < whole->n_items; i++) {
        norma_config_item *item = &whole->items[i];
        const char *name = item->option->name;
        norma_config_values values = {0};
        if (item->option->command_line_only || strcmp(name, "cells") == 0)
            continue;
        status = unite_item(parts, n, i, is_listed(name, free_keys), &values);
        if (status == NORMA_OK && values.n > 0)
            status = norma_config_replace(item, NORMA_ORIGIN_PROGRAM, name, &values);
        norma_config_values_clear(&values, item->option);
        NORMA_GOTO(status, status);
    }
    NORMA_GOTO(status, norma_config_settle(whole));
    *out = whole;
    whole = NULL;
done:
    norma_config_destroy(&whole);
    return status;
}

/* index[part's values] = where the whole has them, -1: nowhere; both lists sorted, walked side by
 * side. */
static norma_status match(const norma_config_item *whole, const norma_config_item *part,
                          int64_t *index)
{
    const norma_option *option = whole->option;
    norma_status status = NORMA_OK;
    int64_t *mine = NULL;
    int64_t *theirs = NULL;
    NORMA_GOTO(status, norma_config_order(option, &whole->values, &mine));
    NORMA_GOTO(status, norma_config_order(option, &part->values, &theirs));
    for (int64_t i = 0, k = 0; k < part->values.n; k++) {
        const norma_config_value *wanted = &part->values.values[theirs[k]];
        while (i < whole->values.n &&
               norma_config_value_compare(option, &whole->values.values[mine[i]], wanted) < 0)
            i++;
        bool found =
            i < whole->values.n &&
            norma_config_value_compare(option, &whole->values.values[mine[i]], wanted) == 0;
        index[theirs[k]] = found ? mine[i] : -1;
    }
done:
    NORMA_FREE(theirs);
    NORMA_FREE(mine);
    return status;
}

norma_status norma_config_relate(const norma_config *now, const norma_config *before,
                                 const char *name, norma_config_relation *out)
{
    const norma_config_item *mine = norma_config_find(now, name);
    const norma_config_item *theirs = norma_config_find(before, name);
    int64_t *index = NULL;
    bool all = true;
    *out = NORMA_CONFIG_SAME;
    if (values_equal(mine->option, &mine->values, &theirs->values))
        return NORMA_OK;
    *out = NORMA_CONFIG_OTHER;
    if (mine->option->many != NORMA_SWEEP || theirs->values.n == 0 || mine->values.n == 0)
        return NORMA_OK;
    NORMA_TRY(NORMA_ALLOC(index, theirs->values.n));
    norma_status status = match(mine, theirs, index);
    for (int64_t i = 0; i < theirs->values.n && status == NORMA_OK; i++)
        all = all && index[i] >= 0;
    norma_mem_free(index);
    if (all && mine->values.n > theirs->values.n)
        *out = NORMA_CONFIG_LONGER;
    return status;
}

static norma_status fail_not_found(const norma_config_item *item)
{
    return NORMA_FAIL(NORMA_LIBRARY, "--%s: a part has a value that the whole sweep has not",
                      item->option->name);
}

norma_status norma_config_locate(const norma_config *whole, const norma_config *part,
                                 int64_t *cells)
{
    const norma_sweep *sweep = norma_config_get_whole_sweep(whole);
    int64_t n_cells = norma_config_get_sweep(part)->n_cells;
    for (int64_t cell = 0; cell < n_cells; cell++)
        cells[cell] = 0;
    for (int64_t a = 0; a < sweep->n_axes; a++) {
        const norma_config_item *mine = norma_config_find(whole, sweep->axes[a].name);
        const norma_config_item *theirs = norma_config_find(part, sweep->axes[a].name);
        const norma_sweep_axis *axis = NULL; /* of the part; NULL: it has one value */
        int64_t *index = NULL;
        NORMA_TRY(NORMA_ALLOC(index, theirs->values.n));
        norma_status status = match(mine, theirs, index);
        for (int64_t i = 0; i < theirs->values.n && status == NORMA_OK; i++)
            status = index[i] >= 0 ? NORMA_OK : fail_not_found(mine);
        for (int64_t i = 0; i < part->whole.n_axes; i++)
            if (strcmp(part->whole.axes[i].name, sweep->axes[a].name) == 0)
                axis = &part->whole.axes[i];
        for (int64_t cell = 0; cell < n_cells && status == NORMA_OK; cell++) {
            int64_t number = norma_config_get_cell_number(part, cell);
            cells[cell] +=
                index[axis ? number / axis->stride % axis->n : 0] * sweep->axes[a].stride;
        }
        norma_mem_free(index);
        NORMA_TRY(status);
    }
    return NORMA_OK;
}
