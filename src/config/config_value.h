#ifndef NORMA_CONFIG_CONFIG_VALUE_H
#define NORMA_CONFIG_CONFIG_VALUE_H
/* One value of an option: from text, checked, compared, and back to text. Local. */
#include "src/config/config.h"

/* A message names this place and carries this status. */
typedef struct norma_config_place {
    norma_status status;
    const char *where; /* "--width", "run.yaml:7: reconstruct: width"; borrowed */
} norma_config_place;

typedef union norma_config_value {
    bool flag;
    int64_t integer;
    uint64_t seed;
    double real; /* REAL, DURATION (seconds) */
    int choice;
    norma_config_shape shape;
    char *text; /* STRING, PATH; owned */
} norma_config_value;

/* Growing array of an option's values. */
typedef struct norma_config_values {
    norma_config_value *values; /* owned */
    int64_t n, capacity;
} norma_config_values;

/* True when the type's values are texts; when they are numbers that ranges can run over. */
bool norma_config_type_is_text(norma_option_type type);
bool norma_config_type_is_number(norma_option_type type);

/* Reads one value from `length` bytes (no zero among them) and checks it against bounds, choices
 * and the option's own check. Blanks around it are ignored, except in a NORMA_ONE text. The caller
 * owns what *value holds (norma_config_value_clear). */
NORMA_MUST_USE norma_status norma_config_value_parse(const norma_option *option, const char *text,
                                                     int64_t length,
                                                     const norma_config_place *place,
                                                     norma_config_value *value);

/* The bounds' check alone. */
NORMA_MUST_USE norma_status norma_config_value_check(const norma_option *option,
                                                     const norma_config_value *value,
                                                     const norma_config_place *place);

/* The names that an option takes (NORMA_OPTION_CHOICE) or suggests: its family, or its own list;
 * no member where it has neither. */
norma_names norma_config_names(const norma_option *option);

/* The name of a choice's value; borrowed from the option's table. */
const char *norma_config_choice(const norma_option *option, const norma_config_value *value);

/* Order of two values of the option's type: < 0, 0, > 0; nan is equal to itself. */
int norma_config_value_compare(const norma_option *option, const norma_config_value *a,
                               const norma_config_value *b);

/* Appends the value as norma_config_value_parse reads it, doubles with the fewest of 15 to 17
 * digits that give the same bits. */
void norma_config_value_append(const norma_option *option, const norma_config_value *value,
                               norma_text *out);

void norma_config_value_clear(const norma_option *option, norma_config_value *value);

/* Moves *value to the end; on failure it is cleared. */
NORMA_MUST_USE norma_status norma_config_values_push(norma_config_values *values,
                                                     const norma_option *option,
                                                     norma_config_value *value);

void norma_config_values_clear(norma_config_values *values, const norma_option *option);

/* Appends "at least 1", "above 0 and at most 1", ...; nothing without bounds. */
void norma_config_bounds_append(const norma_option *option, norma_text *out);

#endif
