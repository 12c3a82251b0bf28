#include "src/config/config_number.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* The parts of [sign] digits [. digits] [e [sign] digits]. */
typedef struct decimal {
    bool negative;
    const char *digits; /* with at most one point among them */
    size_t n;           /* bytes of digits and point */
    long exponent;      /* the written one, cut at +-100000 */
} decimal;

/* Splits the text; false when it is not of that form from end to end. */
static bool split(const char *text, decimal *out)
{
    const char *p = text;
    size_t n_digits = 0, n_points = 0;
    out->negative = *p == '-';
    if (*p == '-' || *p == '+')
        p++;
    out->digits = p;
    for (; is_digit(*p) || *p == '.'; p++) {
        n_digits += *p != '.';
        n_points += *p == '.';
    }
    out->n = (size_t)(p - out->digits);
    out->exponent = 0;
    if (n_digits == 0 || n_points > 1)
        return false;
    if (*p == 'e' || *p == 'E') {
        p++;
        bool negative = *p == '-';
        if (*p == '-' || *p == '+')
            p++;
        if (!is_digit(*p))
            return false;
        for (; is_digit(*p); p++)
            if (out->exponent < 100000)
                out->exponent = 10 * out->exponent + (*p - '0');
        if (negative)
            out->exponent = -out->exponent;
    }
    return *p == '\0';
}

/* The magnitude of a decimal as a whole number. */
static norma_number_result magnitude(const decimal *number, uint64_t *out)
{
    const char *point = memchr(number->digits, '.', number->n);
    size_t n_digits = number->n - (point != NULL);
    size_t n_before = point ? (size_t)(point - number->digits) : number->n;
    /* Digits from place `whole` on stand behind the point once the exponent has moved it. */
    long whole = (long)n_before + number->exponent;
    uint64_t value = 0;
    bool nonzero = false;
    for (size_t i = 0, seen = 0; i < number->n; i++) {
        if (number->digits[i] == '.')
            continue;
        unsigned digit = (unsigned)(number->digits[i] - '0');
        if ((long)seen >= whole && digit != 0)
            return NORMA_NUMBER_FRACTIONAL;
        nonzero = nonzero || digit != 0;
        if ((long)seen < whole && (__builtin_mul_overflow(value, (uint64_t)10, &value) ||
                                   __builtin_add_overflow(value, (uint64_t)digit, &value)))
            return NORMA_NUMBER_OVERFLOW;
        seen++;
    }
    for (long i = (long)n_digits; nonzero && i < whole; i++)
        if (__builtin_mul_overflow(value, (uint64_t)10, &value))
            return NORMA_NUMBER_OVERFLOW;
    *out = value;
    return NORMA_NUMBER_OK;
}

norma_number_result norma_number_read_integer(const char *text, int64_t *out)
{
    decimal number;
    uint64_t value = 0;
    if (!split(text, &number))
        return NORMA_NUMBER_MALFORMED;
    norma_number_result result = magnitude(&number, &value);
    if (result != NORMA_NUMBER_OK)
        return result;
    if (value > (uint64_t)INT64_MAX + number.negative)
        return NORMA_NUMBER_OVERFLOW;
    if (number.negative)
        *out = value == 0 ? 0 : -(int64_t)(value - 1) - 1;
    else
        *out = (int64_t)value;
    return NORMA_NUMBER_OK;
}

norma_number_result norma_number_read_unsigned(const char *text, uint64_t *out)
{
    decimal number;
    if (!split(text, &number))
        return NORMA_NUMBER_MALFORMED;
    norma_number_result result = magnitude(&number, out);
    if (result == NORMA_NUMBER_OK && number.negative && *out != 0)
        return NORMA_NUMBER_OVERFLOW;
    return result;
}

static bool is_special(const char *text, const char *name)
{
    if (*text == '-' || *text == '+')
        text++;
    if (*text == '.')
        text++;
    return strcasecmp(text, name) == 0;
}

norma_number_result norma_number_read_real(const char *text, double *out)
{
    decimal number;
    if (is_special(text, "nan")) {
        *out = NAN;
        return NORMA_NUMBER_OK;
    }
    if (is_special(text, "inf")) {
        *out = text[0] == '-' ? -INFINITY : INFINITY;
        return NORMA_NUMBER_OK;
    }
    if (!split(text, &number))
        return NORMA_NUMBER_MALFORMED;
    double value = strtod(text, NULL);
    bool zero = true;
    for (size_t i = 0; i < number.n; i++)
        zero = zero && (number.digits[i] == '0' || number.digits[i] == '.');
    if (isinf(value) || (value == 0 && !zero))
        return NORMA_NUMBER_OVERFLOW;
    *out = value;
    return NORMA_NUMBER_OK;
}

/* [D-]HH:MM:SS with minutes and seconds below 60. */
static bool read_clock(const char *text, double *out)
{
    double days = 0, fields[3] = {0, 0, 0};
    const char *dash = strchr(text, '-');
    const char *p = text;
    for (int field = dash ? -1 : 0; field < 3; field++) {
        int n = 0;
        double value = 0;
        for (; is_digit(*p); p++, n++)
            value = 10 * value + (*p - '0');
        int end = field == 2 ? '\0' : field < 0 ? '-' : ':';
        if (n == 0 || n > 6 || *p != end || (field > 0 && value >= 60))
            return false;
        *(field < 0 ? &days : &fields[field]) = value;
        p++;
    }
    *out = ((days * 24 + fields[0]) * 60 + fields[1]) * 60 + fields[2];
    return true;
}

norma_number_result norma_number_read_duration(const char *text, double *out)
{
    static const struct {
        const char *name;
        double seconds;
    } units[] = {{"min", 60}, {"s", 1}, {"h", 3600}, {"d", 86400}, {"", 1}};
    if (strchr(text, ':'))
        return read_clock(text, out) ? NORMA_NUMBER_OK : NORMA_NUMBER_MALFORMED;
    size_t length = strlen(text);
    for (size_t i = 0; i < sizeof units / sizeof units[0]; i++) {
        size_t unit = strlen(units[i].name);
        char number[64];
        if (length <= unit || length - unit >= sizeof number ||
            strcmp(text + length - unit, units[i].name) != 0)
            continue;
        memcpy(number, text, length - unit);
        number[length - unit] = '\0';
        if (!is_digit(number[0]) && number[0] != '.')
            return NORMA_NUMBER_MALFORMED;
        double value = 0;
        norma_number_result result = norma_number_read_real(number, &value);
        if (result != NORMA_NUMBER_OK)
            return result;
        *out = value * units[i].seconds;
        return isfinite(*out) ? NORMA_NUMBER_OK : NORMA_NUMBER_OVERFLOW;
    }
    return NORMA_NUMBER_MALFORMED;
}
