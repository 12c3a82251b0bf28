#include "src/config/config_expand.h"

#include "src/base/mem.h"
#include "src/config/config_number.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define LONGEST 512
#define TOLERANCE 1e-9

/* A range while it is read and walked; `text` is the whole of it, for messages. */
typedef struct range {
    const norma_option *option;
    const norma_config_place *place;
    norma_config_values *values;
    char text[LONGEST];
    norma_config_value first, last;
    bool geometric;
    const char *step; /* as written, without the x; NULL: none given */
} range;

static norma_status fail_range(const range *r, const char *problem)
{
    char quoted[NORMA_TEXT_QUOTED];
    return NORMA_FAIL(r->place->status, "%s: range %s %s", r->place->where,
                      norma_text_quote(r->text, strlen(r->text), quoted), problem);
}

static norma_status fail_empty(const range *r)
{
    return fail_range(r, "is empty: its step leads away from its end");
}

static norma_status check_room(const norma_config_values *values, double more,
                               const norma_config_place *place)
{
    if ((double)values->n + more <= NORMA_SWEEP_MOST_CELLS)
        return NORMA_OK;
    return NORMA_FAIL(place->status, "%s: more than %d values", place->where,
                      NORMA_SWEEP_MOST_CELLS);
}

static norma_status push(const range *r, norma_config_value value)
{
    NORMA_TRY(norma_config_value_check(r->option, &value, r->place));
    return norma_config_values_push(r->values, r->option, &value);
}

/* A whole number, signed or a seed, as a uint64_t; the order of the numbers is kept. */
static uint64_t to_ordered(const range *r, norma_config_value value)
{
    return r->option->type == NORMA_OPTION_SEED ? value.seed
                                                : (uint64_t)value.integer ^ ((uint64_t)1 << 63);
}

static norma_config_value from_ordered(const range *r, uint64_t ordered)
{
    norma_config_value value = {0};
    uint64_t bits = ordered ^ ((uint64_t)1 << 63);
    if (r->option->type == NORMA_OPTION_SEED)
        value.seed = ordered;
    else
        memcpy(&value.integer, &bits, sizeof bits);
    return value;
}

/* Splits the written step into direction and size. Without one the range climbs by 1. */
static norma_status read_whole_step(const range *r, bool *down, uint64_t *size)
{
    *down = r->step && r->step[0] == '-';
    *size = 1;
    if (!r->step)
        return NORMA_OK;
    if (norma_number_read_unsigned(r->step + *down, size) != NORMA_NUMBER_OK)
        return fail_range(r, "has a step that is not a whole number");
    if (*size == 0)
        return fail_range(r, "has a step of zero: it never ends");
    return NORMA_OK;
}

static norma_status walk_whole_sum(const range *r)
{
    bool down = false;
    uint64_t step = 1, first = to_ordered(r, r->first), last = to_ordered(r, r->last);
    NORMA_TRY(read_whole_step(r, &down, &step));
    if (down ? first < last : first > last)
        return fail_empty(r);
    uint64_t steps = (down ? first - last : last - first) / step;
    NORMA_TRY(check_room(r->values, (double)steps + 1, r->place));
    for (uint64_t i = 0; i <= steps; i++)
        NORMA_TRY(push(r, from_ordered(r, down ? first - i * step : first + i * step)));
    return NORMA_OK;
}

static norma_status walk_whole_product(const range *r)
{
    uint64_t factor = 0;
    bool is_seed = r->option->type == NORMA_OPTION_SEED;
    bool negative = !is_seed && r->first.integer < 0;
    if (norma_number_read_unsigned(r->step, &factor) != NORMA_NUMBER_OK || factor < 2)
        return fail_range(r, "needs a whole factor of at least 2");
    uint64_t first = is_seed ? r->first.seed : (uint64_t)r->first.integer;
    uint64_t last = is_seed ? r->last.seed : (uint64_t)r->last.integer;
    if (negative) {
        first = -first;
        last = -last;
    }
    if (first == 0)
        return fail_range(r, "starts at zero: no factor leads away from it");
    if ((!is_seed && negative != (r->last.integer < 0)) || first > last)
        return fail_empty(r);
    bool overflow = false;
    for (uint64_t x = first; !overflow && x <= last;
         overflow = __builtin_mul_overflow(x, factor, &x)) {
        norma_config_value value = {0};
        uint64_t bits = negative ? -x : x;
        if (is_seed)
            value.seed = bits;
        else
            memcpy(&value.integer, &bits, sizeof bits);
        NORMA_TRY(check_room(r->values, 1, r->place));
        NORMA_TRY(push(r, value));
    }
    return NORMA_OK;
}

/* The number of 15 decimal digits that is nearest to x, as a person would write it. */
static double round_decimal(double x)
{
    char text[NORMA_TEXT_REAL];
    snprintf(text, sizeof text, "%.15g", x);
    return strtod(text, NULL);
}

static norma_status push_real(const range *r, int64_t i, double x, double tolerance)
{
    norma_config_value value = {.real = i == 0 ? r->first.real : round_decimal(x)};
    if (fabs(x - r->last.real) <= tolerance)
        value.real = r->last.real;
    return push(r, value);
}

static norma_status walk_real_sum(const range *r, double step)
{
    double first = r->first.real, last = r->last.real;
    if (step == 0)
        return fail_range(r, "has a step of zero: it never ends");
    double steps = (last - first) / step;
    if (steps < 0)
        return fail_empty(r);
    NORMA_TRY(check_room(r->values, steps + 1, r->place));
    for (int64_t i = 0; i <= (int64_t)floor(steps + TOLERANCE); i++)
        NORMA_TRY(push_real(r, i, first + (double)i * step, TOLERANCE * fabs(step)));
    return NORMA_OK;
}

static norma_status walk_real_product(const range *r, double factor)
{
    double first = r->first.real, last = r->last.real;
    if (!(factor > 0) || factor == 1)
        return fail_range(r, "needs a factor above 0 other than 1");
    if (first == 0 || last == 0 || (first < 0) != (last < 0))
        return fail_range(r, "cannot go through zero by a factor");
    double steps = (log(fabs(last)) - log(fabs(first))) / log(factor);
    if (steps < -TOLERANCE)
        return fail_empty(r);
    NORMA_TRY(check_room(r->values, steps + 1, r->place));
    /* 0.1 has no exact double, but 10 has one: dividing by 10 keeps decimal numbers exact. */
    double inverse = rint(1 / factor);
    bool divide = factor < 1 && fabs(1 / factor - inverse) <= 1e-14 * inverse;
    for (int64_t i = 0; i <= (int64_t)floor(steps + TOLERANCE); i++) {
        double x = divide ? first / pow(inverse, (double)i) : first * pow(factor, (double)i);
        NORMA_TRY(push_real(r, i, x, TOLERANCE * fabs(last)));
    }
    return NORMA_OK;
}

static norma_status walk_real(const range *r)
{
    double step = 0;
    if (!isfinite(r->first.real) || !isfinite(r->last.real))
        return fail_range(r, "must have finite ends");
    if (!r->step)
        return fail_range(r, "needs a step: first..last:step or first..last:xfactor");
    if (norma_number_read_real(r->step, &step) != NORMA_NUMBER_OK || !isfinite(step))
        return fail_range(r, "has a step that is not a finite number");
    return r->geometric ? walk_real_product(r, step) : walk_real_sum(r, step);
}

/* Expands one range, first..last or first..last:step. r->text holds "..". */
static norma_status expand_range(range *r)
{
    char parts[LONGEST];
    memcpy(parts, r->text, sizeof parts);
    char *last = strstr(parts, "..");
    *last = '\0';
    last += 2;
    char *step = strchr(last, ':');
    if (step) {
        *step++ = '\0';
        r->geometric = *step == 'x';
        r->step = step + (r->geometric ? 1 : 0);
    }
    int64_t n_first = (int64_t)strlen(parts), n_last = (int64_t)strlen(last);
    if (n_first == 0 || n_last == 0)
        return fail_range(r, "must have two ends");
    if (strstr(last, ".."))
        return fail_range(r, "is not of the form first..last:step");
    NORMA_TRY(norma_config_value_parse(r->option, parts, n_first, r->place, &r->first));
    NORMA_TRY(norma_config_value_parse(r->option, last, n_last, r->place, &r->last));
    if (r->option->type == NORMA_OPTION_REAL)
        return walk_real(r);
    return r->geometric ? walk_whole_product(r) : walk_whole_sum(r);
}

/* Takes a text as a value, without the backslashes in front of its commas. */
static norma_status expand_text(const range *r, const char *text, int64_t length)
{
    char *plain = NULL;
    int64_t n = 0;
    norma_config_value value;
    NORMA_TRY(NORMA_CALLOC(plain, length + 1));
    for (int64_t i = 0; i < length; i++)
        if (text[i] != '\\' || i + 1 == length || text[i + 1] != ',')
            plain[n++] = text[i];
    norma_status status = norma_config_value_parse(r->option, plain, n, r->place, &value);
    norma_mem_free(plain);
    NORMA_TRY(status);
    return norma_config_values_push(r->values, r->option, &value);
}

static norma_status expand_item(const norma_option *option, const char *text, int64_t length,
                                const norma_config_place *place, norma_config_values *values)
{
    range r = {.option = option, .place = place, .values = values};
    while (length > 0 && strchr(" \t\r\n", *text)) {
        text++;
        length--;
    }
    while (length > 0 && strchr(" \t\r\n", text[length - 1]))
        length--;
    if (norma_config_type_is_number(option->type) && length < LONGEST) {
        memcpy(r.text, text, (size_t)length);
        if (strstr(r.text, ".."))
            return expand_range(&r);
    }
    if (norma_config_type_is_text(option->type))
        return expand_text(&r, text, length);
    norma_config_value value;
    NORMA_TRY(norma_config_value_parse(option, text, length, place, &value));
    return norma_config_values_push(values, option, &value);
}

/* Is the text up to `end` a number? Blanks around it do not count. */
static bool is_number(const char *text, const char *end)
{
    char copy[64];
    double value = 0;
    while (text < end && strchr(" \t\r\n", *text))
        text++;
    while (end > text && strchr(" \t\r\n", end[-1]))
        end--;
    if (end - text >= (int64_t)sizeof copy)
        return false;
    memcpy(copy, text, (size_t)(end - text));
    copy[end - text] = '\0';
    return norma_number_read_real(copy, &value) == NORMA_NUMBER_OK;
}

/* The next comma that separates items: in texts a comma behind a backslash does not. */
static const char *find_comma(const norma_option *option, const char *at, const char *end)
{
    const char *comma = memchr(at, ',', (size_t)(end - at));
    while (comma && comma > at && comma[-1] == '\\' && norma_config_type_is_text(option->type))
        comma = memchr(comma + 1, ',', (size_t)(end - comma - 1));
    return comma;
}

/* The comma that ends an item, or `end`. In a list of names, numbers behind a name with parameters
 * ("hermite-sum:0,0.4,0.9") are parameters of that name as well. */
static const char *item_end(const norma_option *option, const char *item, const char *end)
{
    const char *comma = find_comma(option, item, end);
    if (!comma || option->type != NORMA_OPTION_STRING || !memchr(item, ':', (size_t)(comma - item)))
        return comma ? comma : end;
    while (comma) {
        const char *next = find_comma(option, comma + 1, end);
        if (!is_number(comma + 1, next ? next : end))
            return comma;
        comma = next;
    }
    return end;
}

bool norma_config_needs_escape(const norma_option *option, const char *text)
{
    const char *end = text + strlen(text);
    return option->many != NORMA_ONE && norma_config_type_is_text(option->type) &&
           (item_end(option, text, end) < end || strstr(text, "\\,"));
}

norma_status norma_config_expand(const norma_option *option, const char *text, int64_t length,
                                 const norma_config_place *place, norma_config_values *values)
{
    char quoted[NORMA_TEXT_QUOTED];
    if (option->many == NORMA_ONE) {
        norma_config_value value;
        NORMA_TRY(norma_config_value_parse(option, text, length, place, &value));
        return norma_config_values_push(values, option, &value);
    }
    const char *end = text + length;
    for (const char *item = text; item <= end;) {
        const char *stop = item_end(option, item, end);
        const char *comma = stop < end ? stop : NULL;
        if (strspn(item, " \t\r\n") >= (size_t)(stop - item) && (comma || item > text))
            return NORMA_FAIL(place->status, "%s: an empty item in the list %s", place->where,
                              norma_text_quote(text, (size_t)length, quoted));
        NORMA_TRY(check_room(values, 1, place));
        NORMA_TRY(expand_item(option, item, stop - item, place, values));
        item = stop + 1;
    }
    return NORMA_OK;
}

/* Sorts `order`, indices of values, by value; equal values keep their order. (qsort does not serve:
 * its comparison cannot be given the option.) */
static void sort(const norma_option *option, const norma_config_value *values, int64_t *order,
                 int64_t *spare, int64_t n)
{
    if (n < 2)
        return;
    int64_t half = n / 2;
    sort(option, values, order, spare, half);
    sort(option, values, order + half, spare, n - half);
    memcpy(spare, order, (size_t)half * sizeof *spare);
    for (int64_t i = 0, j = half, k = 0; i < half; k++) {
        bool first =
            j == n || norma_config_value_compare(option, &values[spare[i]], &values[order[j]]) <= 0;
        order[k] = first ? spare[i++] : order[j++];
    }
}

norma_status norma_config_order(const norma_option *option, const norma_config_values *values,
                                int64_t **out)
{
    norma_status status = NORMA_OK;
    int64_t *order = NULL, *spare = NULL;
    NORMA_GOTO(status, NORMA_ALLOC(order, values->n));
    NORMA_GOTO(status, NORMA_ALLOC(spare, values->n));
    for (int64_t i = 0; i < values->n; i++)
        order[i] = i;
    sort(option, values->values, order, spare, values->n);
    *out = order;
    order = NULL;
done:
    NORMA_FREE(spare);
    NORMA_FREE(order);
    return status;
}

norma_status norma_config_find_repeated(const norma_option *option,
                                        const norma_config_values *values, int64_t *index)
{
    int64_t *order = NULL;
    *index = -1;
    NORMA_TRY(norma_config_order(option, values, &order));
    for (int64_t i = 1; i < values->n; i++)
        if (norma_config_value_compare(option, &values->values[order[i - 1]],
                                       &values->values[order[i]]) == 0 &&
            (*index < 0 || order[i] < *index))
            *index = order[i];
    norma_mem_free(order);
    return NORMA_OK;
}

norma_status norma_config_fail_repeated(const norma_option *option, const norma_config_value *value,
                                        const norma_config_place *place)
{
    norma_text text;
    char quoted[NORMA_TEXT_QUOTED];
    norma_text_init(&text);
    norma_config_value_append(option, value, &text);
    norma_status status = text.status;
    if (status == NORMA_OK)
        status = NORMA_FAIL(place->status, "%s: %s is listed twice", place->where,
                            norma_text_quote(text.data, (size_t)text.length, quoted));
    norma_text_clear(&text);
    return status;
}
