#include "src/stats/moments.h"

#include <math.h>

void norma_moments_init(norma_moments *moments)
{
    moments->count = 0;
    moments->mean = moments->squares = 0;
}

void norma_moments_add(norma_moments *moments, double x)
{
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
