#include "src/config/config_value.h"

#include "src/base/mem.h"
#include "src/config/config_number.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

/* A text of so many characters is neither a number nor a name nor a shape. */
#define LONGEST 512

bool norma_config_type_is_text(norma_option_type type)
{
    return type == NORMA_OPTION_STRING || type == NORMA_OPTION_PATH;
}

bool norma_config_type_is_number(norma_option_type type)
{
    return type == NORMA_OPTION_INTEGER || type == NORMA_OPTION_SEED || type == NORMA_OPTION_REAL;
}

void norma_config_bounds_append(const norma_option *option, norma_text *out)
{
    char number[NORMA_TEXT_REAL];
    if (option->min.kind)
        norma_text_append(out, "%s %s", option->min.kind == NORMA_INCLUSIVE ? "at least" : "above",
                          norma_text_format_real(option->min.value, number));
    if (option->min.kind && option->max.kind)
        norma_text_append(out, " and ");
    if (option->max.kind)
        norma_text_append(out, "%s %s", option->max.kind == NORMA_INCLUSIVE ? "at most" : "below",
                          norma_text_format_real(option->max.value, number));
}

static bool is_within(const norma_option *option, double x)
{
    const norma_option_bound *min = &option->min, *max = &option->max;
    if ((min->kind == NORMA_INCLUSIVE && x < min->value) ||
        (min->kind == NORMA_EXCLUSIVE && x <= min->value))
        return false;
    return !((max->kind == NORMA_INCLUSIVE && x > max->value) ||
             (max->kind == NORMA_EXCLUSIVE && x >= max->value));
}

norma_status norma_config_value_check(const norma_option *option, const norma_config_value *value,
                                      const norma_config_place *place)
{
    bool good = true;
    if (option->type == NORMA_OPTION_INTEGER)
        good = is_within(option, (double)value->integer);
    else if (option->type == NORMA_OPTION_SEED)
        good = is_within(option, (double)value->seed);
    else if (option->type == NORMA_OPTION_REAL || option->type == NORMA_OPTION_DURATION)
        good = is_within(option, value->real);
    else if (option->type == NORMA_OPTION_SHAPE)
        good = is_within(option, (double)value->shape.height) &&
               is_within(option, (double)value->shape.width);
    if (good)
        return NORMA_OK;

    norma_text bounds;
    norma_text_init(&bounds);
    norma_config_value_append(option, value, &bounds);
    norma_text_append(&bounds, " is out of range; %s must be ",
                      option->type == NORMA_OPTION_SHAPE ? "both numbers" : "it");
    norma_config_bounds_append(option, &bounds);
    norma_status status = bounds.status;
    if (status == NORMA_OK)
        status = NORMA_FAIL(place->status, "%s: %s", place->where, bounds.data);
    norma_text_clear(&bounds);
    return status;
}

/* Fails with the message for a text that is not a value of the option's type. */
static norma_status fail_type(const norma_option *option, const char *text,
                              norma_number_result result, const norma_config_place *place)
{
    static const char *const expected[] = {
        [NORMA_OPTION_FLAG] = "is not true or false",
        [NORMA_OPTION_INTEGER] = "is not a whole number",
        [NORMA_OPTION_SEED] = "is not a whole number from 0 to 18446744073709551615",
        [NORMA_OPTION_REAL] = "is not a number",
        [NORMA_OPTION_DURATION] = "is not a duration such as 90s, 15min, 2h, 1d or HH:MM:SS",
        [NORMA_OPTION_SHAPE] = "is not a shape such as 3x3 (height x width) or 3",
    };
    char quoted[NORMA_TEXT_QUOTED];
    const char *problem = expected[option->type];
    if (result == NORMA_NUMBER_OVERFLOW && option->type == NORMA_OPTION_INTEGER)
        problem = "is beyond the whole numbers of 64 bits";
    else if (result == NORMA_NUMBER_OVERFLOW && option->type != NORMA_OPTION_SEED)
        problem = "is beyond the range of double precision";
    return NORMA_FAIL(place->status, "%s: %s %s", place->where,
                      norma_text_quote(text, strlen(text), quoted), problem);
}

norma_names norma_config_names(const norma_option *option)
{
    static const char *const none[] = {NULL};
    if (option->names)
        return *option->names;
    return norma_names_of_list("name", option->choices ? option->choices : none);
}

const char *norma_config_choice(const norma_option *option, const norma_config_value *value)
{
    norma_names names = norma_config_names(option);
    return norma_names_name(&names, value->choice);
}

/* "3x5" or "3". */
static norma_number_result read_shape(const char *text, norma_config_shape *out)
{
    char number[LONGEST];
    const char *times = strpbrk(text, "xX");
    size_t n = times ? (size_t)(times - text) : strlen(text);
    memcpy(number, text, n);
    number[n] = '\0';
    norma_number_result result = norma_number_read_integer(number, &out->height);
    out->width = out->height;
    if (result == NORMA_NUMBER_OK && times)
        result = norma_number_read_integer(times + 1, &out->width);
    if (result == NORMA_NUMBER_OK && (out->height < 1 || out->width < 1))
        result = NORMA_NUMBER_MALFORMED;
    return result;
}

static norma_status parse_choice(const norma_option *option, const char *text,
                                 const norma_config_place *place, norma_config_value *value)
{
    norma_names names = norma_config_names(option);
    int64_t index = norma_names_index(&names, text);
    if (index < 0)
        return norma_status_context(norma_names_fail(&names, place->status, text),
                                    "%s: ", place->where);
    value->choice = (int)index;
    return NORMA_OK;
}

static norma_number_result read_value(norma_option_type type, const char *text,
                                      norma_config_value *value)
{
    switch (type) {
    case NORMA_OPTION_FLAG:
        value->flag = strcmp(text, "true") == 0;
        return value->flag || strcmp(text, "false") == 0 ? NORMA_NUMBER_OK : NORMA_NUMBER_MALFORMED;
    case NORMA_OPTION_INTEGER:
        return norma_number_read_integer(text, &value->integer);
    case NORMA_OPTION_SEED:
        return norma_number_read_unsigned(text, &value->seed);
    case NORMA_OPTION_REAL:
        return norma_number_read_real(text, &value->real);
    case NORMA_OPTION_DURATION:
        return norma_number_read_duration(text, &value->real);
    default:
        return read_shape(text, &value->shape);
    }
}

/* Reads a value that is not free text. */
static norma_status parse_plain(const norma_option *option, const char *text,
                                const norma_config_place *place, norma_config_value *value)
{
    char quoted[NORMA_TEXT_QUOTED];
    if (option->type == NORMA_OPTION_CHOICE)
        return parse_choice(option, text, place, value);
    bool listed = strchr(text, ',') || strstr(text, "..");
    if (option->many == NORMA_ONE && option->type != NORMA_OPTION_FLAG && listed)
        return NORMA_FAIL(place->status, "%s: takes one value, not the list %s", place->where,
                          norma_text_quote(text, strlen(text), quoted));
    norma_number_result result = read_value(option->type, text, value);
    if (result != NORMA_NUMBER_OK)
        return fail_type(option, text, result, place);
    if (option->type == NORMA_OPTION_REAL &&
        ((isinf(value->real) && !option->allow_inf) || (isnan(value->real) && !option->allow_nan)))
        return NORMA_FAIL(place->status, "%s: %s is not allowed; a finite number is needed",
                          place->where, norma_text_quote(text, strlen(text), quoted));
    return norma_config_value_check(option, value, place);
}

/* Copies a free text, byte for byte. */
static norma_status parse_text(const norma_option *option, const char *text, int64_t length,
                               const norma_config_place *place, norma_config_value *value)
{
    char quoted[NORMA_TEXT_QUOTED];
    char *copy = norma_mem_alloc(length + 1, 1, __FILE__, __LINE__);
    if (!copy)
        return NORMA_MEMORY;
    memcpy(copy, text, (size_t)length);
    copy[length] = '\0';
    const char *expected = option->check ? option->check(copy) : NULL;
    if (expected) {
        norma_mem_free(copy);
        return NORMA_FAIL(place->status, "%s: %s; expected %s", place->where,
                          norma_text_quote(text, (size_t)length, quoted), expected);
    }
    value->text = copy;
    return NORMA_OK;
}

norma_status norma_config_value_parse(const norma_option *option, const char *text, int64_t length,
                                      const norma_config_place *place, norma_config_value *value)
{
    char plain[LONGEST], quoted[NORMA_TEXT_QUOTED];
    bool is_text = norma_config_type_is_text(option->type);
    const char *end = text + length;
    memset(value, 0, sizeof *value);
    if (!is_text || option->many != NORMA_ONE) {
        while (text < end && strchr(" \t\r\n", *text))
            text++;
        while (end > text && strchr(" \t\r\n", end[-1]))
            end--;
    }
    length = end - text;
    if (length == 0)
        return NORMA_FAIL(place->status, "%s: the value is empty", place->where);
    if (is_text)
        return parse_text(option, text, length, place, value);
    if (length >= LONGEST)
        return NORMA_FAIL(place->status, "%s: %s is too long", place->where,
                          norma_text_quote(text, (size_t)length, quoted));
    memcpy(plain, text, (size_t)length);
    plain[length] = '\0';
    return parse_plain(option, plain, place, value);
}

static int compare_reals(double a, double b)
{
    if (isnan(a) || isnan(b))
        return (isnan(a) ? 1 : 0) - (isnan(b) ? 1 : 0);
    return (a > b) - (a < b);
}

int norma_config_value_compare(const norma_option *option, const norma_config_value *a,
                               const norma_config_value *b)
{
    switch (option->type) {
    case NORMA_OPTION_FLAG:
        return a->flag - b->flag;
    case NORMA_OPTION_INTEGER:
        return (a->integer > b->integer) - (a->integer < b->integer);
    case NORMA_OPTION_SEED:
        return (a->seed > b->seed) - (a->seed < b->seed);
    case NORMA_OPTION_REAL:
    case NORMA_OPTION_DURATION:
        return compare_reals(a->real, b->real);
    case NORMA_OPTION_CHOICE:
        return (a->choice > b->choice) - (a->choice < b->choice);
    case NORMA_OPTION_SHAPE:
        if (a->shape.height != b->shape.height)
            return a->shape.height < b->shape.height ? -1 : 1;
        return (a->shape.width > b->shape.width) - (a->shape.width < b->shape.width);
    default:
        return strcmp(a->text, b->text);
    }
}

void norma_config_value_append(const norma_option *option, const norma_config_value *value,
                               norma_text *out)
{
    char number[NORMA_TEXT_REAL];
    switch (option->type) {
    case NORMA_OPTION_FLAG:
        norma_text_append(out, "%s", value->flag ? "true" : "false");
        break;
    case NORMA_OPTION_INTEGER:
        norma_text_append(out, "%lld", (long long)value->integer);
        break;
    case NORMA_OPTION_SEED:
        norma_text_append(out, "%llu", (unsigned long long)value->seed);
        break;
    case NORMA_OPTION_REAL:
        norma_text_append(out, "%s", norma_text_format_real(value->real, number));
        break;
    case NORMA_OPTION_DURATION:
        norma_text_append(out, "%ss", norma_text_format_real(value->real, number));
        break;
    case NORMA_OPTION_CHOICE:
        norma_text_append(out, "%s", norma_config_choice(option, value));
        break;
    case NORMA_OPTION_SHAPE:
        norma_text_append(out, "%lldx%lld", (long long)value->shape.height,
                          (long long)value->shape.width);
        break;
    default:
        norma_text_append(out, "%s", value->text);
    }
}

void norma_config_value_clear(const norma_option *option, norma_config_value *value)
{
    if (norma_config_type_is_text(option->type))
        NORMA_FREE(value->text);
}

norma_status norma_config_values_push(norma_config_values *values, const norma_option *option,
                                      norma_config_value *value)
{
    if (values->n == values->capacity) {
        int64_t capacity = values->capacity > 0 ? 2 * values->capacity : 1;
        norma_config_value *grown = norma_mem_resize(values->values, values->n, capacity,
                                                     sizeof *grown, __FILE__, __LINE__);
        if (!grown) {
            norma_config_value_clear(option, value);
            return NORMA_MEMORY;
        }
        values->values = grown;
        values->capacity = capacity;
    }
    values->values[values->n++] = *value;
    return NORMA_OK;
}

void norma_config_values_clear(norma_config_values *values, const norma_option *option)
{
    for (int64_t i = 0; i < values->n; i++)
        norma_config_value_clear(option, &values->values[i]);
    norma_mem_free(values->values);
    memset(values, 0, sizeof *values);
}
