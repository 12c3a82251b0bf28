#ifndef NORMA_BASE_LARGEST_H
#define NORMA_BASE_LARGEST_H
/* The largest magnitude of an array. Pure. */
#include <stdint.h>
#include <string.h>

/* max |x[k]|, 0 for count = 0, NaN where one is NaN. Magnitudes of doubles have the order of their
 * bits, NaN above infinity; four at a time do not wait for each other. */
static inline double norma_largest_magnitude(int64_t count, const double *x)
{
    const uint64_t magnitude = UINT64_MAX >> 1;
    uint64_t largest[4] = {0, 0, 0, 0};
    double value = 0;
    int64_t k = 0;
    for (; k + 4 <= count; k += 4)
        for (int i = 0; i < 4; i++) {
            uint64_t bits = 0; /* one at a time: four would go through memory */
            memcpy(&bits, x + k + i, sizeof bits);
            largest[i] = (bits & magnitude) > largest[i] ? bits & magnitude : largest[i];
        }
    for (; k < count; k++) {
        uint64_t bits = 0;
        memcpy(&bits, x + k, sizeof bits);
        largest[0] = (bits & magnitude) > largest[0] ? bits & magnitude : largest[0];
    }
    for (int i = 1; i < 4; i++)
        largest[0] = largest[i] > largest[0] ? largest[i] : largest[0];
    memcpy(&value, largest, sizeof value);
    return value;
}

#endif
