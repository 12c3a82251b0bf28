#include "experiments/claims/ledger.h"

#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"
#include "src/base/mem.h"

#include <errno.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

/* The verdict rests on the worst case, or on the constant: its text. */
static void describe(const norma_claim *claim, norma_claim_verdict verdict, const double *m,
                     char *out, size_t size)
{
    if (verdict == NORMA_CLAIM_NOT_COVERED || verdict == NORMA_CLAIM_NEVER_MET)
        (void)snprintf(out, size, "-");
    else if (verdict == NORMA_CLAIM_CONSTANT_UNKNOWN)
        (void)snprintf(out, size, "C = %.4g (%.4g to %.4g by blocks)", m[NORMA_CLAIM_RATIO],
                       m[NORMA_CLAIM_RATIO_LEAST], m[NORMA_CLAIM_RATIO]);
    else if (norma_claim_is_random(claim))
        (void)snprintf(out, size, "%.4g %s %.4g (error %.2g)", m[NORMA_CLAIM_LEFT],
                       claim->equal ? "=" : "<=", m[NORMA_CLAIM_RIGHT], m[NORMA_CLAIM_ERROR]);
    else
        (void)snprintf(out, size, "%.4g %s %.4g", m[NORMA_CLAIM_LEFT],
                       claim->equal ? "=" : "<=", m[NORMA_CLAIM_RIGHT]);
}

/* Does the verdict differ from the one derived by hand? Of planted versions all are false. */
static bool is_surprise(const norma_claim *claim, const norma_claim_budget *budget,
                        norma_claim_verdict verdict)
{
    if (budget->planted)
        return budget->n_blocks > 0 && verdict != NORMA_CLAIM_VIOLATED;
    return verdict != claim->expected;
}

static norma_claim_verdict verdict_of(const norma_claims_run *run, int64_t i)
{
    if (run->budgets[i].n_blocks == 0)
        return NORMA_CLAIM_NOT_COVERED;
    return norma_claim_judge(norma_claim_get(run->claims[i]), run->merged + i * NORMA_CLAIM_HEAD);
}

void norma_claims_ledger_print(const norma_claims_run *run)
{
    int64_t counts[NORMA_N_CLAIM_VERDICTS] = {0}, n_surprises = 0;
    double n_looks = 0, n_samples = 0;
    norma_log_result("#%-23s %-20s %9s %9s  %s", "claim", "verdict", "cases", "violated",
                     "worst case: left and right side");
    for (int64_t i = 0; i < run->n_claims; i++) {
        const norma_claim *claim = norma_claim_get(run->claims[i]);
        const double *m = run->merged + i * NORMA_CLAIM_HEAD;
        norma_claim_verdict verdict = verdict_of(run, i);
        bool surprise = is_surprise(claim, &run->budgets[i], verdict);
        char worst[96];
        if (run->budgets[i].planted && run->budgets[i].n_blocks == 0)
            continue;
        describe(claim, verdict, m, worst, sizeof worst);
        norma_log_result("%-24s %-20s %9.0f %9.0f  %s%s", claim->name,
                         norma_names_name(&norma_claim_verdict_names, verdict),
                         m[NORMA_CLAIM_N_MET], m[NORMA_CLAIM_N_VIOLATED],
                         verdict == NORMA_CLAIM_NOT_COVERED ? claim->remark : worst,
                         surprise ? "  unexpected" : "");
        counts[verdict]++;
        n_surprises += surprise ? 1 : 0;
        n_looks += m[NORMA_CLAIM_N_LOOKS];
        n_samples += m[NORMA_CLAIM_N_SAMPLES];
    }
    for (int v = 0; v < NORMA_N_CLAIM_VERDICTS; v++)
        if (counts[v] > 0)
            norma_log_result("# %lld %s", (long long)counts[v],
                             norma_names_name(&norma_claim_verdict_names, v));
    norma_log_result("# %lld unexpected; %.0f looks at means and shares: a true claim is accused "
                     "with a probability below %.2g in all",
                     (long long)n_surprises, n_looks,
                     1.02 * norma_claim_accusation(run->budgets[0].n_errors) * n_looks);
    norma_log_result("# %.4g evaluations of both sides", n_samples);
}

norma_status norma_claims_ledger_check_root(const norma_config *config)
{
    if (!norma_config_has(config, "table") || norma_config_get_flag(config, "force"))
        return NORMA_OK;
    const char *path = norma_config_get_text(config, 0, "table");
    return access(path, F_OK) == 0
               ? NORMA_FAIL(NORMA_CONFIG, "%s exists; --force replaces it", path)
               : NORMA_OK;
}

/* A cell of the table: the column's mark must not occur in it. */
static void append_cell(norma_text *text, const char *cell)
{
    norma_text_append(text, " ");
    for (const char *c = cell; *c; c++)
        norma_text_append(text, *c == '|' ? "\\%c" : "%c", *c);
    norma_text_append(text, " |");
}

static void append_rows(const norma_claims_run *run, norma_text *text)
{
    for (int64_t i = 0; i < run->n_claims; i++) {
        const norma_claim *claim = norma_claim_get(run->claims[i]);
        const double *m = run->merged + i * NORMA_CLAIM_HEAD;
        norma_claim_verdict verdict = verdict_of(run, i);
        char worst[96], cases[32];
        describe(claim, verdict, m, worst, sizeof worst);
        (void)snprintf(cases, sizeof cases, "%.0f", m[NORMA_CLAIM_N_MET]);
        norma_text_append(text, "|");
        append_cell(text, claim->name);
        append_cell(text, claim->place);
        append_cell(text, claim->summary);
        append_cell(text, claim->form);
        append_cell(text, norma_names_name(&norma_claim_kind_names, claim->kind));
        append_cell(text, norma_names_name(&norma_claim_verdict_names, verdict));
        append_cell(text, cases);
        append_cell(text, worst);
        append_cell(text, claim->remark ? claim->remark : "");
        norma_text_append(text, "\n");
    }
}

static norma_status compose(const norma_job_context *job, const norma_claims_run *run, char **out)
{
    norma_text text;
    norma_text_init(&text);
    norma_text_append(
        &text,
        "# The papers' claims\n\n"
        "`norma claims --depth %s --seed %llu --table FILE` made this page; do not edit it. Each "
        "claim is held\n"
        "against both sides of its own inequality: see [tools.md](tools.md). The worst case is "
        "that of draws and search.\n\n",
        norma_config_get_text(job->config, 0, "depth"),
        (unsigned long long)norma_config_get_seed(job->config, 0, "seed"));
    for (int64_t v = 0; v < norma_claim_verdict_names.n; v++)
        norma_text_append(&text, "* %s: %s\n", norma_names_name(&norma_claim_verdict_names, v),
                          norma_names_summary(&norma_claim_verdict_names, v));
    norma_text_append(&text,
                      "\n| claim | place | statement | form | kind | verdict | cases | worst "
                      "case | remark |\n"
                      "| --- | --- | --- | --- | --- | --- | --- | --- | --- |\n");
    append_rows(run, &text);
    return norma_text_take(&text, out);
}

static norma_status write_root(const norma_job_context *job, const norma_claims_run *run)
{
    const char *path = norma_config_get_text(job->config, 0, "table");
    char *page = NULL;
    NORMA_TRY(compose(job, run, &page));
    FILE *stream = fopen(path, norma_config_get_flag(job->config, "force") ? "w" : "wx");
    bool written = stream && fwrite(page, 1, strlen(page), stream) == strlen(page);
    int error = errno;
    if (stream && fclose(stream) != 0 && written) {
        written = false;
        error = errno; /* a full disk may show here first */
    }
    norma_mem_free(page);
    return written ? NORMA_OK : NORMA_FAIL(NORMA_IO, "%s: %s", path, strerror(error));
}

norma_status norma_claims_ledger_write(const norma_job_context *job, const norma_claims_run *run)
{
    norma_status status = NORMA_OK;
    if (norma_config_has(job->config, "table") && job->runtime->rank == 0)
        status = write_root(job, run);
    return norma_agree(job->runtime->world, status);
}
