#ifndef NORMA_MPI_KRYLOV_SURVEY_H
#define NORMA_MPI_KRYLOV_SURVEY_H
/* Properties of the source weights of a rank, found in one pass over them. */
#include "src/base/status.h"
#include "src/features/khatri_rao.h"
#include "src/features/width_rule.h"

#include <stdint.h>

typedef struct norma_survey {
    int64_t bad_first, bad_second;        /* first number that is not a weight; INT64_MAX: none */
    int64_t n_zero, first_zero;           /* features without weights; INT64_MAX: none */
    double largest_first, largest_second; /* |weight| */
    double *squares; /* [n_features]: of the columns of M; NULL without a closing row; owned */
} norma_survey;

/* Reads the n_features features of kr, the first of which has the global number `start`. Local;
 * runs on the threads of OpenMP. NORMA_CONFIG, naming it, for a weight that is not finite or too
 * large; NORMA_MEMORY. found->squares is to be freed whatever is returned. */
NORMA_MUST_USE norma_status norma_survey_run_local(const norma_width_rule *rule,
                                                   const norma_khatri_rao *kr, int64_t start,
                                                   int64_t n_features, norma_survey *found);

#endif
