#include "experiments/claims/output.h"

#include <stdio.h>

enum { NAME = 96 };

static void group_of(const norma_claim *claim, char out[NAME])
{
    (void)snprintf(out, NAME, "/claims/%s", claim->name);
}

int64_t norma_claims_output_bytes(const norma_claims_run *run)
{
    int64_t bytes = 200000;
    for (int64_t i = 0; i < run->n_claims; i++)
        bytes += 8 * (4 * run->budgets[i].n_blocks * run->budgets[i].n_cases +
                      (int64_t)2 * NORMA_CLAIM_NUMBERS) +
                 20000;
    return bytes;
}

static norma_status add_variable(norma_result *file, const char *group, const char *name,
                                 const char *dimension, const char *text)
{
    return norma_schema_add_variable(file, group,
                                     &(norma_variable){.name = name,
                                                       .type = NORMA_FLOAT64,
                                                       .dimensions = {dimension},
                                                       .units = "1",
                                                       .long_name = text});
}

static norma_status add_claim(norma_result *file, const norma_claim *claim,
                              const norma_claim_budget *budget)
{
    char group[NAME];
    group_of(claim, group);
    NORMA_TRY(norma_schema_add_group(file, group));
    NORMA_TRY(norma_result_set_text(file, group, "statement", claim->summary));
    NORMA_TRY(norma_result_set_text(file, group, "place", claim->place));
    NORMA_TRY(norma_result_set_text(file, group, "relation", claim->equal ? "=" : "<="));
    if (budget->n_blocks == 0)
        return NORMA_OK;
    NORMA_TRY(norma_schema_add_axis(file, group, "case", budget->n_blocks * budget->n_cases,
                                    "drawn case"));
    NORMA_TRY(norma_schema_add_axis(file, group, "number", NORMA_CLAIM_NUMBERS,
                                    "number of a case: its matrix by rows, then its parameters"));
    NORMA_TRY(add_variable(file, group, "left", "case", "left side; missing: hypothesis not met"));
    NORMA_TRY(add_variable(file, group, "right", "case", "right side"));
    NORMA_TRY(add_variable(file, group, "error", "case", "standard error of left - right"));
    NORMA_TRY(add_variable(file, group, "replicas", "case", "replicas; of deterministic claims 1"));
    return add_variable(file, group, "worst", "number", "the worst case of draws and search");
}

norma_status norma_claims_output_begin(norma_job_context *job, const norma_claims_run *run)
{
    NORMA_TRY(norma_schema_add_group(job->file, "/claims"));
    for (int64_t i = 0; i < run->n_claims; i++)
        NORMA_TRY(add_claim(job->file, norma_claim_get(run->claims[i]), &run->budgets[i]));
    return norma_result_begin(job->file);
}

norma_status norma_claims_output_write_local(const norma_job_context *job, const norma_claim *claim,
                                             const norma_claim_budget *budget, int64_t block,
                                             const double *record)
{
    static const char *const names[4] = {"left", "right", "error", "replicas"};
    const int64_t start = block * budget->n_cases, count = budget->n_cases;
    for (int i = 0; i < 4; i++) {
        char group[NAME], variable[NAME + 8];
        group_of(claim, group);
        (void)snprintf(variable, sizeof variable, "%s/%s", group, names[i]);
        NORMA_TRY(norma_result_write_local(job->file, variable, NORMA_FLOAT64, &start, &count,
                                           record + NORMA_CLAIM_HEAD + i * count));
    }
    return NORMA_OK;
}

static norma_status finish_claim(norma_result *file, const norma_claim *claim,
                                 const norma_claim_budget *budget, const double *merged)
{
    static const struct {
        const char *name;
        norma_claim_number number;
    } attributes[] = {{"worst_left", NORMA_CLAIM_LEFT},   {"worst_right", NORMA_CLAIM_RIGHT},
                      {"worst_error", NORMA_CLAIM_ERROR}, {"worst_rounding", NORMA_CLAIM_ROUNDING},
                      {"ratio", NORMA_CLAIM_RATIO},       {"ratio_least", NORMA_CLAIM_RATIO_LEAST}};
    static const struct {
        const char *name;
        norma_claim_number number;
    } counts[] = {{"n_cases", NORMA_CLAIM_N_CASES},       {"n_met", NORMA_CLAIM_N_MET},
                  {"n_violated", NORMA_CLAIM_N_VIOLATED}, {"n_looks", NORMA_CLAIM_N_LOOKS},
                  {"n_samples", NORMA_CLAIM_N_SAMPLES},   {"worst_rows", NORMA_CLAIM_ROWS},
                  {"worst_columns", NORMA_CLAIM_COLUMNS}, {"worst_numbers", NORMA_CLAIM_N}};
    const int64_t start = 0, count = NORMA_CLAIM_NUMBERS;
    char group[NAME], variable[NAME + 8];
    group_of(claim, group);
    norma_claim_verdict verdict =
        budget->n_blocks > 0 ? norma_claim_judge(claim, merged) : NORMA_CLAIM_NOT_COVERED;
    NORMA_TRY(norma_result_set_text(file, group, "verdict",
                                    norma_names_name(&norma_claim_verdict_names, verdict)));
    if (budget->n_blocks == 0)
        return NORMA_OK;
    for (size_t i = 0; i < sizeof attributes / sizeof attributes[0]; i++)
        NORMA_TRY(
            norma_result_set_double(file, group, attributes[i].name, merged[attributes[i].number]));
    for (size_t i = 0; i < sizeof counts / sizeof counts[0]; i++)
        NORMA_TRY(
            norma_result_set_int64(file, group, counts[i].name, (int64_t)merged[counts[i].number]));
    (void)snprintf(variable, sizeof variable, "%s/worst", group);
    return norma_result_write_replicated(file, variable, NORMA_FLOAT64, &start, &count,
                                         merged + NORMA_CLAIM_WORST);
}

norma_status norma_claims_output_finish(norma_job_context *job, const norma_claims_run *run)
{
    for (int64_t i = 0; i < run->n_claims; i++)
        NORMA_TRY(finish_claim(job->file, norma_claim_get(run->claims[i]), &run->budgets[i],
                               run->merged + i * NORMA_CLAIM_HEAD));
    return NORMA_OK;
}
