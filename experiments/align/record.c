#include "experiments/align/record.h"

#include "mpi/runtime/progress.h"
#include "src/base/mem.h"
#include "src/stats/interval.h"

#include <float.h>
#include <math.h>
#include <string.h>

/* Level of the interval of a probability. */
static const double level = 0.95;

#define NUMBER(label, kind, unit, text)                                                            \
    {                                                                                              \
        .name = (label), .type = (kind), .units = (unit), .long_name = (text)                      \
    }

const norma_variable norma_align_scalars[NORMA_N_ALIGN_SCALARS] = {
    NUMBER("n_rows", NORMA_INT64, "1", "weights of the target in K, the rows n of M"),
    NUMBER("n_features", NORMA_INT64, "1", "columns of M, c1"),
    NUMBER("rank", NORMA_INT64, "1", "rank of M"),
    NUMBER("target_rms", NORMA_FLOAT64, "1", "root mean square of the target over n weights"),
    NUMBER("rounding", NORMA_FLOAT64, "1",
           "rmse of an exact answer stays below it: sqrt(n) 2^-52 target_rms"),
    NUMBER("match_found", NORMA_INT64, "1", "trials in which a perfect matching exists"),
    NUMBER("match_probability", NORMA_FLOAT64, "1", "their share"),
    NUMBER("match_low", NORMA_FLOAT64, "1", "lower end of its 95% interval (Wilson)"),
    NUMBER("match_high", NORMA_FLOAT64, "1", "upper end of its 95% interval (Wilson)"),
    NUMBER("match_bound", NORMA_FLOAT64, "1",
           "upper bound on the probability (RF Theorem 4.2); the probability itself for one row"),
    NUMBER("match_claimed", NORMA_FLOAT64, "1",
           "RF Theorem 4.3 as printed, candidates taken as independent"),
    NUMBER("seconds_factor", NORMA_FLOAT64, "s", "time of M, its factors and the criterion"),
    NUMBER("seconds_match", NORMA_FLOAT64, "s", "time of the matchings"),
};

const norma_variable norma_align_results[NORMA_N_ALIGN_RESULTS] = {
    NUMBER("rmse", NORMA_FLOAT64, "1", "root mean square error of the n weights, least squares"),
    NUMBER("relative_error", NORMA_FLOAT64, "1", "rmse over target_rms"),
    NUMBER("criterion", NORMA_FLOAT64, "1", "squared norm of the target outside of M's range"),
    NUMBER("n_evaluations", NORMA_INT64, "1", "permutations that the search evaluated"),
    NUMBER("seconds", NORMA_FLOAT64, "s", "time of the search"),
};

norma_status norma_align_record_init(int64_t n_searches, int64_t n_channels,
                                     norma_align_record *record)
{
    memset(record, 0, sizeof *record);
    record->n_searches = n_searches;
    record->n_channels = n_channels;
    record->n_numbers = NORMA_N_ALIGN_SCALARS + n_searches * (NORMA_N_ALIGN_RESULTS + n_channels);
    NORMA_TRY(NORMA_ALLOC(record->numbers, record->n_numbers));
    for (int64_t i = 0; i < record->n_numbers; i++)
        record->numbers[i] = NAN;
    record->scalars = record->numbers;
    record->results = record->scalars + NORMA_N_ALIGN_SCALARS;
    record->permutations = record->results + NORMA_N_ALIGN_RESULTS * n_searches;
    return NORMA_OK;
}

static norma_status measure_searches(const norma_align_cell *cell,
                                     const norma_align_problem *problem, norma_align_record *record)
{
    norma_status status = NORMA_OK;
    int64_t *permutation = NULL;
    double n = (double)cell->n_rows;
    double target2 = problem->target2;
    NORMA_TRY(NORMA_ALLOC(permutation, problem->n_channels));
    for (int s = 0; s < cell->n_searches && status == NORMA_OK; s++) {
        int64_t n_evaluations = 0;
        double criterion = 0;
        double begun = norma_progress_clock_local();
        status = norma_align_search_run(cell->searches[s], problem, &cell->options, permutation,
                                        &criterion, &n_evaluations);
        double *result = record->results + s;
        result[NORMA_ALIGN_RMSE * record->n_searches] = sqrt(criterion / n);
        result[NORMA_ALIGN_RELATIVE_ERROR * record->n_searches] =
            target2 > 0 ? sqrt(criterion / target2) : NAN;
        result[NORMA_ALIGN_CRITERION * record->n_searches] = criterion;
        result[NORMA_ALIGN_N_EVALUATIONS * record->n_searches] = (double)n_evaluations;
        result[NORMA_ALIGN_SECONDS_SEARCH * record->n_searches] =
            norma_progress_clock_local() - begun;
        for (int64_t i = 0; i < problem->n_channels; i++)
            record->permutations[s * record->n_channels + i] = (double)permutation[i];
    }
    NORMA_FREE(permutation);
    return status;
}

static norma_status measure_alignment(const norma_align_cell *cell, norma_align_record *record)
{
    norma_align_complement complement = {0};
    norma_align_problem problem = {0};
    norma_status status = NORMA_OK;
    double begun = norma_progress_clock_local();
    NORMA_GOTO(status, norma_align_complement_init(cell->n_rows, cell->n_features,
                                                   norma_align_cell_fill, cell, &complement));
    NORMA_GOTO(status, norma_align_problem_init(&complement, cell->pair.shape.n_channels_out,
                                                cell->pair.target, &problem));
    record->scalars[NORMA_ALIGN_RANK] = (double)complement.rank;
    norma_align_complement_clear(&complement);
    record->scalars[NORMA_ALIGN_SECONDS_FACTOR] = norma_progress_clock_local() - begun;
    status = measure_searches(cell, &problem, record);
done:
    norma_align_complement_clear(&complement);
    norma_align_problem_clear(&problem);
    return status;
}

static norma_status measure_matching(const norma_align_cell *cell, norma_align_record *record)
{
    int64_t n_found = 0;
    double *scalars = record->scalars;
    double begun = norma_progress_clock_local();
    NORMA_TRY(norma_matching_count(&cell->matching, cell->n_trials, cell->pair.seed, &cell->stream,
                                   &n_found));
    scalars[NORMA_ALIGN_MATCH_FOUND] = (double)n_found;
    scalars[NORMA_ALIGN_MATCH_PROBABILITY] = (double)n_found / (double)cell->n_trials;
    norma_interval_wilson(n_found, cell->n_trials, level, scalars + NORMA_ALIGN_MATCH_LOW,
                          scalars + NORMA_ALIGN_MATCH_HIGH);
    scalars[NORMA_ALIGN_MATCH_BOUND] = norma_matching_bound(&cell->matching);
    scalars[NORMA_ALIGN_MATCH_CLAIMED] = norma_matching_claimed(&cell->matching);
    scalars[NORMA_ALIGN_SECONDS_MATCH] = norma_progress_clock_local() - begun;
    return NORMA_OK;
}

norma_status norma_align_record_measure(const norma_align_cell *cell, norma_align_record *record)
{
    double n = (double)cell->n_rows;
    double target2 = 0;
    double *scalars = record->scalars;
    for (int64_t e = 0; e < cell->n_rows; e++)
        target2 += cell->pair.target[e] * cell->pair.target[e];
    scalars[NORMA_ALIGN_N_ROWS] = n;
    scalars[NORMA_ALIGN_N_FEATURES] = (double)cell->n_features;
    scalars[NORMA_ALIGN_TARGET_RMS] = sqrt(target2 / n);
    scalars[NORMA_ALIGN_ROUNDING] = DBL_EPSILON * sqrt(target2);
    if (cell->n_searches > 0)
        NORMA_TRY(measure_alignment(cell, record));
    return cell->n_trials > 0 ? measure_matching(cell, record) : NORMA_OK;
}

void norma_align_record_clear(norma_align_record *record)
{
    NORMA_FREE(record->numbers);
    memset(record, 0, sizeof *record);
}
