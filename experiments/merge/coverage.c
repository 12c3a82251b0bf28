#include "experiments/merge/coverage.h"

#include "src/base/mem.h"
#include "src/base/text.h"

#include <stdlib.h>
#include <string.h>

/* Missing cells that are listed. */
enum { MOST_LISTED = 8 };

/* An entry with what it is sorted by. */
typedef struct keyed {
    norma_merge_entry entry;
    int64_t first_replica;
} keyed;

static int compare(const void *a, const void *b)
{
    const keyed *x = a;
    const keyed *y = b;
    if (x->entry.cell != y->entry.cell)
        return x->entry.cell < y->entry.cell ? -1 : 1;
    if (x->first_replica != y->first_replica)
        return x->first_replica < y->first_replica ? -1 : 1;
    return (x->entry.part > y->entry.part) - (x->entry.part < y->entry.part);
}

static norma_status list_entries(const norma_merge_parts *parts, norma_merge_coverage *coverage)
{
    keyed *all = NULL;
    int64_t n = 0;
    for (int64_t p = 0; p < parts->n; p++)
        coverage->n += parts->all[p].n_cells;
    NORMA_TRY(NORMA_ALLOC(coverage->entries, coverage->n));
    NORMA_TRY(NORMA_ALLOC(all, coverage->n));
    for (int64_t p = 0; p < parts->n; p++)
        for (int64_t i = 0; i < parts->all[p].n_cells; i++)
            all[n++] = (keyed){{parts->all[p].cells[i], p, i}, parts->all[p].first_replica};
    qsort(all, (size_t)n, sizeof *all, compare);
    for (int64_t i = 0; i < n; i++)
        coverage->entries[i] = all[i].entry;
    norma_mem_free(all);
    return NORMA_OK;
}

/* "cell 5 (width=8, seed=1)". */
static void append_cell(const norma_merge_parts *parts, int64_t cell, norma_text *out)
{
    norma_text_append(out, "%lld", (long long)cell);
    if (norma_config_is_single(parts->whole))
        return;
    norma_text_append(out, " (");
    norma_config_describe_cell(parts->whole, cell, out);
    norma_text_append(out, ")");
}

static norma_status fail_twice(const norma_merge_parts *parts, int64_t cell, int64_t replica,
                               int64_t a, int64_t b)
{
    norma_text text;
    char *name = NULL;
    norma_text_init(&text);
    append_cell(parts, cell, &text);
    NORMA_TRY(norma_text_take(&text, &name));
    norma_status status =
        NORMA_FAIL(NORMA_CONFIG, "replica %lld of cell %.300s is in %s and in %s",
                   (long long)replica, name, parts->all[a].path, parts->all[b].path);
    norma_mem_free(name);
    return status;
}

/* The replicas of one cell, entries[from .. to - 1]: false when some are missing. */
static norma_status check_cell(const norma_merge_parts *parts, const norma_merge_coverage *coverage,
                               int64_t cell, int64_t from, int64_t to, bool *whole)
{
    int64_t next = parts->first_replica;
    *whole = true;
    for (int64_t i = from; i < to; i++) {
        const norma_merge_part *part = &parts->all[coverage->entries[i].part];
        if (part->first_replica < next)
            return fail_twice(parts, cell, part->first_replica, coverage->entries[i - 1].part,
                              coverage->entries[i].part);
        *whole = *whole && part->first_replica == next;
        next = part->first_replica + part->n_replicas;
    }
    *whole = *whole && next == parts->first_replica + parts->n_replicas;
    return NORMA_OK;
}

norma_status norma_merge_coverage_init(const norma_merge_parts *parts,
                                       norma_merge_coverage *coverage)
{
    int64_t n_cells = norma_config_get_whole_sweep(parts->whole)->n_cells;
    norma_text missing;
    norma_status status = NORMA_OK;
    memset(coverage, 0, sizeof *coverage);
    norma_text_init(&missing);
    NORMA_GOTO(status, list_entries(parts, coverage));
    for (int64_t cell = 0, i = 0; cell < n_cells; cell++) {
        int64_t from = i;
        bool whole = true;
        while (i < coverage->n && coverage->entries[i].cell == cell)
            i++;
        NORMA_GOTO(status, check_cell(parts, coverage, cell, from, i, &whole));
        if (whole)
            continue;
        if (coverage->n_missing < MOST_LISTED) {
            norma_text_append(&missing, "%s", coverage->n_missing > 0 ? ", " : "");
            append_cell(parts, cell, &missing);
        }
        coverage->n_missing++;
    }
    if (coverage->n_missing > MOST_LISTED)
        norma_text_append(&missing, ", ...");
    if (coverage->n_missing > 0)
        status = norma_text_take(&missing, &coverage->missing);
done:
    norma_text_clear(&missing);
    return status;
}

void norma_merge_coverage_clear(norma_merge_coverage *coverage)
{
    NORMA_FREE(coverage->entries);
    NORMA_FREE(coverage->missing);
}
