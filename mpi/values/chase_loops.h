/*
 * The loops of mpi/values/chase_kernels.h, compiled once an instruction set: the file that includes
 * this defines CHASE_TABLE. Sums run in lanes, so sets differ in the last bits.
 *
 * A block is read twice and written once: both reflectors change it in one update of rank two.
 */
#include "mpi/values/chase_kernels.h"

#include <math.h>

static double dot(int n, const double *restrict a, const double *restrict b)
{
    double sum = 0;
#pragma omp simd reduction(+ : sum)
    for (int i = 0; i < n; i++)
        sum += a[i] * b[i];
    return sum;
}

/* out[n] = a' x[m]. */
static void multiply_transpose(int m, int n, const double *a, int64_t lda, const double *restrict x,
                               double *restrict out)
{
    int c = 0;
    for (; c + 4 <= n; c += 4) {
        const double *restrict a0 = a + c * lda;
        const double *restrict a1 = a0 + lda;
        const double *restrict a2 = a1 + lda;
        const double *restrict a3 = a2 + lda;
        double s0 = 0;
        double s1 = 0;
        double s2 = 0;
        double s3 = 0;
#pragma omp simd reduction(+ : s0, s1, s2, s3)
        for (int r = 0; r < m; r++) {
            s0 += a0[r] * x[r];
            s1 += a1[r] * x[r];
            s2 += a2[r] * x[r];
            s3 += a3[r] * x[r];
        }
        out[c] = s0;
        out[c + 1] = s1;
        out[c + 2] = s2;
        out[c + 3] = s3;
    }
    for (; c < n; c++)
        out[c] = dot(m, a + c * lda, x);
}

/* out[m] = a x[n]. */
static void multiply(int m, int n, const double *a, int64_t lda, const double *restrict x,
                     double *restrict out)
{
    int c = 0;
    for (int r = 0; r < m; r++)
        out[r] = 0;
    for (; c + 4 <= n; c += 4) {
        const double *restrict a0 = a + c * lda;
        const double *restrict a1 = a0 + lda;
        const double *restrict a2 = a1 + lda;
        const double *restrict a3 = a2 + lda;
#pragma omp simd
        for (int r = 0; r < m; r++)
            out[r] += (a0[r] * x[c] + a1[r] * x[c + 1]) + (a2[r] * x[c + 2] + a3[r] * x[c + 3]);
    }
    for (; c < n; c++) {
        const double *restrict a0 = a + c * lda;
#pragma omp simd
        for (int r = 0; r < m; r++)
            out[r] += a0[r] * x[c];
    }
}

/* a -= x p' + y q'. */
static void subtract(int m, int n, double *a, int64_t lda, const double *restrict x,
                     const double *restrict p, const double *restrict y, const double *restrict q)
{
    int c = 0;
    for (; c + 4 <= n; c += 4) {
        double *restrict a0 = a + c * lda;
        double *restrict a1 = a0 + lda;
        double *restrict a2 = a1 + lda;
        double *restrict a3 = a2 + lda;
#pragma omp simd
        for (int r = 0; r < m; r++) {
            a0[r] -= x[r] * p[c] + y[r] * q[c];
            a1[r] -= x[r] * p[c + 1] + y[r] * q[c + 1];
            a2[r] -= x[r] * p[c + 2] + y[r] * q[c + 2];
            a3[r] -= x[r] * p[c + 3] + y[r] * q[c + 3];
        }
    }
    for (; c < n; c++) {
        double *restrict a0 = a + c * lda;
#pragma omp simd
        for (int r = 0; r < m; r++)
            a0[r] -= x[r] * p[c] + y[r] * q[c];
    }
}

static double make_reflector(int n, const double *x, norma_chase_reflector *out)
{
    double squares = dot(n - 1, x + 1, x + 1);
    double alpha = x[0];
    double beta = alpha;
    double scale = 0;
    out->tau = 0;
    if (squares > 0) {
        beta = -copysign(sqrt(alpha * alpha + squares), alpha);
        scale = 1 / (alpha - beta);
        out->tau = (beta - alpha) / beta;
    }
    for (int i = 1; i < n; i++)
        out->v[i] = x[i] * scale;
    out->v[0] = 1;
    return beta;
}

static void change_above(int m, int n, double *a, int64_t lda, const norma_chase_reflector *left,
                         norma_chase_reflector *right, double *work)
{
    double *s = work;       /* [n]: a' v, then tau a' v */
    double *row = work + n; /* [n] */
    double *y = row + n;    /* [m]: a u */
    multiply_transpose(m, n, a, lda, left->v, s);
    for (int c = 0; c < n; c++) {
        s[c] *= left->tau;
        row[c] = a[c * lda] - s[c];
    }
    double first = make_reflector(n, row, right);
    multiply(m, n, a, lda, right->v, y);
    double both = dot(n, s, right->v);
    for (int r = 0; r < m; r++)
        y[r] = right->tau * (y[r] - both * left->v[r]);
    subtract(m, n, a, lda, left->v, s, y, right->v);
    a[0] = first;
    for (int c = 1; c < n; c++)
        a[c * lda] = 0;
}

static void change_diagonal(int n, double *a, int64_t lda, const norma_chase_reflector *right,
                            norma_chase_reflector *left, double *work)
{
    double *s = work;          /* [n]: a' v */
    double *column = work + n; /* [n] */
    double *y = column + n;    /* [n]: tau a u */
    multiply(n, n, a, lda, right->v, y);
    for (int r = 0; r < n; r++) {
        y[r] *= right->tau;
        column[r] = a[r] - y[r];
    }
    double first = make_reflector(n, column, left);
    multiply_transpose(n, n, a, lda, left->v, s);
    double both = dot(n, y, left->v);
    for (int c = 0; c < n; c++)
        s[c] = left->tau * (s[c] - both * right->v[c]);
    subtract(n, n, a, lda, left->v, s, y, right->v);
    a[0] = first;
    for (int r = 1; r < n; r++)
        a[r] = 0;
}

const norma_chase_kernels CHASE_TABLE = {
    .above = change_above, .diagonal = change_diagonal, .reflector = make_reflector};
