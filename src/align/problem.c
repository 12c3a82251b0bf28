#include "src/align/problem.h"

#include "src/base/mem_place.h"

#include <cblas.h>
#include <float.h>
#include <math.h>
#include <string.h>

/* How near a unit vector has to be to a space to lie in it. */
static const double near = 1e-9;

static double square(const double *x, int64_t n)
{
    double sum = 0;
    for (int64_t s = 0; s < n; s++)
        sum += x[s] * x[s];
    return sum;
}

/* lacks[n] = 1 where a unit vector lies in the complement, 0 where in the range; false where one
 * lies in neither. Fills weights as well. */
static bool find_places(const norma_align_complement *complement, int64_t n_channels,
                        double *weights, double *lacks)
{
    int64_t n = complement->n_rows;
    int64_t row = n / n_channels;
    bool single = true;
    memset(lacks, 0, (size_t)n * sizeof *lacks);
    for (int64_t s = 0; s < complement->n_parts; s++)
        for (int64_t e = 0; e < n; e++)
            lacks[e] += complement->basis[s * n + e] * complement->basis[s * n + e];
    for (int64_t e = 0; e < n; e++) {
        weights[e / row] += lacks[e];
        single = single && (lacks[e] < near || lacks[e] > 1 - near);
        lacks[e] = lacks[e] > 0.5;
    }
    return single;
}

/* Measures or allocates: src/base/mem_place.h. lacks[n_rows]. */
static norma_status place(norma_align_problem *p, int64_t n_rows, double **lacks, double *bytes)
{
    NORMA_TRY(NORMA_PLACE_UNSET(p->parts, p->n_channels * p->n_channels, p->n_parts, bytes));
    NORMA_TRY(NORMA_PLACE(p->weights, p->n_channels, bytes));
    return NORMA_PLACE(*lacks, n_rows, bytes);
}

static norma_status place_misses(norma_align_problem *p, double *bytes)
{
    return NORMA_PLACE_ROWS(p->misses, p->n_channels, p->n_channels, bytes);
}

static norma_status count_misses(const double *lacks, int64_t row, const double *target,
                                 norma_align_problem *out)
{
    int64_t c2 = out->n_channels;
    NORMA_TRY(place_misses(out, NULL));
    for (int64_t i = 0; i < c2; i++)
        for (int64_t p = 0; p < c2; p++) {
            double count = 0;
            for (int64_t e = 0; e < row; e++)
                count += lacks[i * row + e] * (target[p * row + e] != 0);
            out->misses[i * c2 + p] = count;
        }
    return NORMA_OK;
}

norma_status norma_align_problem_init(const norma_align_complement *complement, int64_t n_channels,
                                      const double *target, norma_align_problem *out)
{
    norma_status status = NORMA_OK;
    double *lacks = NULL;
    int64_t n = complement->n_rows;
    int64_t row = n / n_channels;
    int64_t n_parts = complement->n_parts;
    memset(out, 0, sizeof *out);
    if (row * n_channels != n)
        return NORMA_FAIL(NORMA_CONFIG, "%lld rows of M do not divide among %lld output channels",
                          (long long)n, (long long)n_channels);
    out->n_channels = n_channels;
    out->n_parts = n_parts;
    out->target2 = square(target, n);
    NORMA_GOTO(status, place(out, n, &lacks, NULL));
    for (int64_t i = 0; i < n_channels && n_parts > 0; i++)
        cblas_dgemm(CblasColMajor, CblasTrans, CblasNoTrans, (int)n_parts, (int)n_channels,
                    (int)row, 1.0, complement->basis + i * row, (int)n, target, (int)row, 0.0,
                    out->parts + i * n_channels * n_parts, (int)n_parts);
    if (find_places(complement, n_channels, out->weights, lacks))
        status = count_misses(lacks, row, target, out);
done:
    NORMA_FREE(lacks);
    return status;
}

norma_status norma_align_problem_subtract(const norma_align_complement *complement,
                                          const double *less, norma_align_problem *problem)
{
    int64_t c2 = problem->n_channels;
    int64_t n = complement->n_rows;
    int64_t row = n / c2;
    int64_t n_parts = problem->n_parts;
    double *part = NULL;
    if (n_parts == 0)
        return NORMA_OK;
    NORMA_TRY(NORMA_ALLOC(part, n_parts));
    for (int64_t i = 0; i < c2; i++) {
        cblas_dgemv(CblasColMajor, CblasTrans, (int)row, (int)n_parts, 1.0,
                    complement->basis + i * row, (int)n, less + i * row, 1, 0.0, part, 1);
        for (int64_t p = 0; p < c2; p++)
            for (int64_t s = 0; s < n_parts; s++)
                problem->parts[(i * c2 + p) * n_parts + s] -= part[s];
    }
    NORMA_FREE(part);
    return NORMA_OK;
}

double norma_align_problem_bytes(int64_t n_rows, int64_t n_channels, int64_t n_parts)
{
    norma_align_problem p = {.n_channels = n_channels, .n_parts = n_parts};
    double *lacks = NULL;
    double bytes = 0;
    (void)place(&p, n_rows, &lacks, &bytes);
    (void)place_misses(&p, &bytes);
    return bytes;
}

void norma_align_problem_clear(norma_align_problem *problem)
{
    NORMA_FREE(problem->parts);
    NORMA_FREE(problem->weights);
    NORMA_FREE(problem->misses);
    memset(problem, 0, sizeof *problem);
}

const double *norma_align_part(const norma_align_problem *problem, int64_t i, int64_t p)
{
    return problem->parts + (i * problem->n_channels + p) * problem->n_parts;
}

void norma_align_sum(const norma_align_problem *problem, const int64_t *permutation, double *sum)
{
    memset(sum, 0, (size_t)problem->n_parts * sizeof *sum);
    for (int64_t i = 0; i < problem->n_channels; i++) {
        const double *part = norma_align_part(problem, i, permutation[i]);
        for (int64_t s = 0; s < problem->n_parts; s++)
            sum[s] += part[s];
    }
}

double norma_align_criterion(const norma_align_problem *problem, const int64_t *permutation,
                             double *work)
{
    norma_align_sum(problem, permutation, work);
    return square(work, problem->n_parts);
}

double norma_align_swapped(const norma_align_problem *problem, const int64_t *permutation,
                           const double *sum, int64_t i, int64_t k)
{
    const double *ii = norma_align_part(problem, i, permutation[i]);
    const double *ik = norma_align_part(problem, i, permutation[k]);
    const double *ki = norma_align_part(problem, k, permutation[i]);
    const double *kk = norma_align_part(problem, k, permutation[k]);
    double total[4] = {0}; /* four sums side by side */
    int64_t n = problem->n_parts;
    int64_t s = 0;
    for (; s + 4 <= n; s += 4)
        for (int64_t l = 0; l < 4; l++) {
            double x = sum[s + l] + ((ik[s + l] - ii[s + l]) + (ki[s + l] - kk[s + l]));
            total[l] += x * x;
        }
    for (; s < n; s++) {
        double x = sum[s] + ((ik[s] - ii[s]) + (ki[s] - kk[s]));
        total[0] += x * x;
    }
    return (total[0] + total[1]) + (total[2] + total[3]);
}

void norma_align_swap(const norma_align_problem *problem, int64_t *permutation, double *sum,
                      int64_t i, int64_t k)
{
    const double *ii = norma_align_part(problem, i, permutation[i]);
    const double *ik = norma_align_part(problem, i, permutation[k]);
    const double *ki = norma_align_part(problem, k, permutation[i]);
    const double *kk = norma_align_part(problem, k, permutation[k]);
    int64_t row = permutation[i];
    for (int64_t s = 0; s < problem->n_parts; s++)
        sum[s] += (ik[s] - ii[s]) + (ki[s] - kk[s]);
    permutation[i] = permutation[k];
    permutation[k] = row;
}

bool norma_align_improves(const norma_align_problem *problem, double before, double after)
{
    return after < before - 64 * DBL_EPSILON * (before + DBL_EPSILON * problem->target2);
}
