/* Doors to libraries: faults of theirs that an installation may still have. */
#include "src/base/mem.h"
#include "tests/harness/mpi_harness.h"

#include <math.h>

void dbdsqr_(const char *uplo, const int *n, const int *n_vt, const int *n_u, const int *n_c,
             double *d, double *e, double *vt, const int *ld_vt, double *u, const int *ld_u,
             double *c, const int *ld_c, double *work, int *info);

/* Some versions of DBDSQR count their iterations in 32 bits and give up at once from n = 18919 on;
 * ScaLAPACK's PDGESVD, with vectors, ends in it. The bidiagonal form of a Gaussian matrix. */
static void test_singular_values_of_many_rows(void **state)
{
    enum { N = 19000 };
    static const int n = N;
    static const int none = 0;
    static const int one = 1;
    double *d = NULL, *e = NULL, *u = NULL, *work = NULL;
    double before = 0, after = 0;
    int info = 0;
    (void)state;
    norma_test_ok_all(NORMA_ALLOC(d, N));
    norma_test_ok_all(NORMA_ALLOC(e, N));
    norma_test_ok_all(NORMA_ALLOC(u, N));
    norma_test_ok_all(NORMA_ALLOC(work, INT64_C(4) * N));
    for (int i = 0; i < N; i++) {
        d[i] = sqrt((double)(N - i));
        e[i] = sqrt((double)(N - i - 1));
        u[i] = 1;
        before += d[i] * d[i] + e[i] * e[i];
    }
    dbdsqr_("U", &n, &none, &one, &none, d, e, u, &one, u, &one, u, &one, work, &info);
    for (int i = N - 1; i >= 0; i--)
        after += d[i] * d[i];
    norma_test_check_all(info == 0);
    norma_test_check_all(fabs(after - before) < 1e-12 * before);
    NORMA_FREE(d);
    NORMA_FREE(e);
    NORMA_FREE(u);
    NORMA_FREE(work);
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_singular_values_of_many_rows),
};

norma_test_main_mpi("mpi.library", tests)
