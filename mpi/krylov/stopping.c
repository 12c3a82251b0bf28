#include "mpi/krylov/stopping.h"

static const char *const names[NORMA_N_STOPPINGS] = {"none", "tolerance", "no-progress", "limit"};

const char *norma_stopping_name(norma_stopping stopping)
{
    return names[stopping];
}
