#include "src/stats/moments.h"

#include <math.h>
#include <stdbool.h>

void norma_moments_init(norma_moments *moments)
{
    moments->count = 0;
    moments->mean = moments->squares = 0;
}

/* An infinite value makes the mean infinite and leaves no variance. */
static bool add_infinite(norma_moments *into, int64_t count, double mean)
{
    if (!isinf(into->mean) && !isinf(mean))
        return false;
    into->count += count;
    into->mean += mean;
    into->squares = NAN;
    return true;
}

void norma_moments_add(norma_moments *moments, double x)
{
    if (add_infinite(moments, 1, x))
        return;
    double before = x - moments->mean;
    moments->count++;
    moments->mean += before / (double)moments->count;
    moments->squares += before * (x - moments->mean);
}

void norma_moments_merge(norma_moments *into, const norma_moments *other)
{
    if (other->count == 0)
        return;
    if (into->count == 0) {
        *into = *other;
        return;
    }
    if (add_infinite(into, other->count, other->mean))
        return;
    double n = (double)into->count, m = (double)other->count;
    double difference = other->mean - into->mean;
    into->count += other->count;
    into->mean += difference * m / (n + m);
    into->squares += other->squares + difference * difference * n * m / (n + m);
}

double norma_moments_variance(const norma_moments *moments)
{
    return moments->count > 1 ? moments->squares / (double)(moments->count - 1) : NAN;
}
