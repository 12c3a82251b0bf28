#ifndef NORMA_CONFIG_CONFIG_EXPAND_H
#define NORMA_CONFIG_CONFIG_EXPAND_H
/* Lists and ranges: "8,16,32..256:x2" as values. Local. */
#include "src/config/config_value.h"

/* Appends the values that `length` bytes of text (and a zero behind them) stand for. Of an option
 * that takes one value: that value. Otherwise items between commas (a comma within a text stands
 * behind a backslash), each a value or, of numbers, a range:
 *
 *     3..7        whole numbers, step 1
 *     10..50:10   arithmetic, also 10..50:+10 and 50..10:-10
 *     8..256:x2   geometric, also 1..1e-6:x0.1
 *
 * The end belongs to the range where a step hits it (to 1e-9 of a step, for doubles). Later values
 * of a range of doubles are rounded to 15 digits, so that 0.1..0.5:0.1 holds 0.3. Refused: empty
 * items, ranges that go the wrong way or have no end, more than NORMA_SWEEP_MOST_CELLS values.
 * On failure what was appended stays. */
NORMA_MUST_USE norma_status norma_config_expand(const norma_option *option, const char *text,
                                                int64_t length, const norma_config_place *place,
                                                norma_config_values *values);

/* Would a text be read again as another one? Its commas need backslashes then. */
bool norma_config_needs_escape(const norma_option *option, const char *text);

/* *out = counted memory that the caller frees: the indices of the values, sorted by value; equal
 * ones keep their order. Only NORMA_MEMORY can fail. */
NORMA_MUST_USE norma_status norma_config_order(const norma_option *option,
                                               const norma_config_values *values, int64_t **out);

/* *index is the first value that is equal to an earlier one, -1 when all are distinct. Only
 * NORMA_MEMORY can fail. */
NORMA_MUST_USE norma_status norma_config_find_repeated(const norma_option *option,
                                                       const norma_config_values *values,
                                                       int64_t *index);

/* The refusal of values->values[index], which occurred before. */
NORMA_MUST_USE norma_status norma_config_fail_repeated(const norma_option *option,
                                                       const norma_config_value *value,
                                                       const norma_config_place *place);

#endif
