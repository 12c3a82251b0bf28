#ifndef NORMA_TESTS_MPI_PSEUDO_INVERSE_H
#define NORMA_TESTS_MPI_PSEUDO_INVERSE_H
/* Solutions of minimum norm by LAPACK's singular values on one rank, to compare with. */
#include "tests/harness/layer_fixture.h"

#include <float.h>
#include <math.h>
#include <string.h>

void dgesvd_(const char *jobu, const char *jobvt, const int *m, const int *n, double *a,
             const int *lda, double *s, double *u, const int *ldu, double *vt, const int *ldvt,
             double *work, const int *lwork, int *info);

/* x = pseudo-inverse times b and the condition number of the first m of lda rows, of the singular
 * values that are not zero to rounding; b NULL: only the latter. */
static inline double pseudo_inverse(const double *matrix, int64_t rows, int64_t lda,
                                    int64_t columns, const double *b, double *x)
{
    int m = (int)rows;
    int n = (int)columns;
    int k = m < n ? m : n;
    int ldvt = k;
    int lwork = 10 * (m + n) + 100;
    int info = 0;
    double *a = fixture_alloc(rows * columns);
    double *s = fixture_alloc(k + 1);
    double *u = fixture_alloc((int64_t)m * k);
    double *vt = fixture_alloc((int64_t)k * n);
    double *work = fixture_alloc(lwork);
    for (int64_t J = 0; J < columns; J++)
        memcpy(a + J * rows, matrix + J * lda, (size_t)rows * sizeof *a);
    dgesvd_("S", "S", &m, &n, a, &m, s, u, &m, vt, &ldvt, work, &lwork, &info);
    while (k > 1 && s[k - 1] <= (m > n ? m : n) * DBL_EPSILON * s[0])
        k--;
    for (int r = 0; b && r < k; r++) {
        double along = 0;
        for (int64_t I = 0; I < rows; I++)
            along += u[(int64_t)r * rows + I] * b[I];
        for (int64_t J = 0; J < columns; J++)
            x[J] += along / s[r] * vt[J * ldvt + r];
    }
    double condition = info == 0 ? s[0] / s[k - 1] : NAN;
    NORMA_FREE(a);
    NORMA_FREE(s);
    NORMA_FREE(u);
    NORMA_FREE(vt);
    NORMA_FREE(work);
    return condition;
}

#endif
