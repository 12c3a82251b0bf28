#include "mpi/layer/layer_select.h"

#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"
#include "src/base/index.h"
#include "src/base/mem.h"

#include <stdbool.h>
#include <string.h>

/* Features looked at a time. */
enum { BLOCK = 256 };

static bool all_zero(const double *x, int64_t n)
{
    for (int64_t i = 0; i < n; i++)
        if (x[i] != 0)
            return false;
    return true;
}

/* zero[J] = 1 for the features first .. first + count - 1 that have no weight in this layer. */
static void mark_zero(const norma_tensor *tensor, int64_t first, int64_t count, double *rows,
                      unsigned char *zero)
{
    const norma_tensor_spec *spec = norma_tensor_get_spec(tensor);
    int64_t width = spec->n_channels * spec->n_taps;
    for (int64_t start = first; start < first + count; start += BLOCK) {
        int64_t n = first + count - start < BLOCK ? first + count - start : BLOCK;
        norma_tensor_fill(tensor, start, n, rows);
        for (int64_t j = 0; j < n; j++)
            if (all_zero(rows + j * width, width))
                zero[start + j] = 1;
    }
}

/* zero[n_features] on all ranks, each rank looking at its share. */
static norma_status find_zero(MPI_Comm comm, const norma_layer_problem *problem,
                              unsigned char *zero)
{
    int rank = 0;
    int size = 1;
    int n = 0;
    int64_t first = 0;
    int64_t widest = norma_khatri_rao_width_first(&problem->shape);
    double *rows = NULL;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    if (norma_khatri_rao_width_second(&problem->shape) > widest)
        widest = norma_khatri_rao_width_second(&problem->shape);
    norma_status status = norma_index_to_int(problem->n_features, "features", &n);
    if (status == NORMA_OK)
        status = NORMA_ALLOC(rows, BLOCK * widest);
    status = norma_agree(comm, status);
    if (status == NORMA_OK) {
        int64_t count = norma_index_share(problem->n_features, size, rank, &first);
        mark_zero(problem->w1, first, count, rows, zero);
        mark_zero(problem->w2, first, count, rows, zero);
        MPI_Allreduce(MPI_IN_PLACE, zero, n, MPI_UNSIGNED_CHAR, MPI_BOR, comm);
    }
    NORMA_FREE(rows);
    return status;
}

/* The first n_used features that are not zero; local, equal on all ranks. */
static norma_status pick(const norma_layer_problem *problem, const unsigned char *zero,
                         norma_layer_selection *selection)
{
    int64_t n = 0;
    int64_t n_zero = 0;
    NORMA_TRY(NORMA_ALLOC(selection->features, selection->n_used));
    for (int64_t j = 0; j < problem->n_features; j++) {
        if (zero[j])
            n_zero++;
        else if (n < selection->n_used)
            selection->features[n++] = j;
    }
    if (n < selection->n_used)
        return NORMA_FAIL(NORMA_NUMERIC,
                          "the system is singular: %lld of %lld features have no weight in one of "
                          "the source layers, and %lld others are needed; use more features, "
                          "another source law or another kernel split",
                          (long long)n_zero, (long long)problem->n_features,
                          (long long)selection->n_used);
    if (selection->features[n - 1] == n - 1) {
        NORMA_FREE(selection->features);
        return NORMA_OK;
    }
    NORMA_TRY(norma_tensor_create_selected(problem->w1, selection->features, n, &selection->w1));
    NORMA_TRY(norma_tensor_create_selected(problem->w2, selection->features, n, &selection->w2));
    selection->problem.w1 = selection->w1;
    selection->problem.w2 = selection->w2;
    return NORMA_OK;
}

norma_status norma_layer_select(MPI_Comm comm, const norma_layer_problem *problem, int64_t n_used,
                                norma_layer_selection *selection)
{
    unsigned char *zero = NULL;
    norma_status status = NORMA_OK;
    memset(selection, 0, sizeof *selection);
    selection->problem = *problem;
    selection->n_used = n_used;
    if (n_used == problem->n_features ||
        (!norma_tensor_may_vanish(problem->w1) && !norma_tensor_may_vanish(problem->w2)))
        return NORMA_OK;
    NORMA_GOTO(status, norma_agree(comm, NORMA_CALLOC(zero, problem->n_features)));
    NORMA_GOTO(status, find_zero(comm, problem, zero));
    NORMA_GOTO(status, norma_agree(comm, pick(problem, zero, selection)));
    if (selection->features)
        norma_log_news("features without weights are left out");
done:
    NORMA_FREE(zero);
    return status;
}

void norma_layer_select_scatter_local(const norma_layer_selection *selection, int64_t n_features,
                                      double *gamma)
{
    if (!selection->features)
        return;
    int64_t next = n_features;
    for (int64_t k = selection->n_used - 1; k >= 0; k--) {
        int64_t to = selection->features[k];
        double value = gamma[k];
        for (int64_t j = to + 1; j < next; j++)
            gamma[j] = 0;
        gamma[to] = value;
        next = to;
    }
    for (int64_t j = 0; j < next; j++)
        gamma[j] = 0;
}

void norma_layer_selection_clear_local(norma_layer_selection *selection)
{
    norma_tensor_destroy(&selection->w2);
    norma_tensor_destroy(&selection->w1);
    NORMA_FREE(selection->features);
}
