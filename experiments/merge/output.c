#include "experiments/merge/output.h"

#include "experiments/job/sweep_dimensions.h"
#include "experiments/merge/arrays.h"
#include "experiments/merge/pool.h"
#include "io/merge/group.h"
#include "io/result/provenance.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"
#include "src/base/mem.h"

#include <stdio.h>
#include <string.h>

enum {
    MOST_NAMED = 8,    /* files, kernels that an attribute names */
    FLUSH_EVERY = 1000 /* groups of cells */
};

/* --- provenance ------------------------------------------------------------------------------ */

static const norma_merge_about *about_of(const norma_merge_parts *parts, int64_t part)
{
    return norma_merge_inputs_about_local(parts->inputs, part);
}

/* "3 files: a.h5, b.h5, c.h5". */
static void append_files(const norma_merge_parts *parts, norma_text *out)
{
    norma_text_append(out, "%lld %s: ", (long long)parts->n, parts->n == 1 ? "file" : "files");
    for (int64_t i = 0; i < parts->n && i < MOST_NAMED; i++)
        norma_text_append(out, "%s%s", i > 0 ? ", " : "", parts->all[i].path);
    if (parts->n > MOST_NAMED)
        norma_text_append(out, ", ...");
}

/* Is the name in a list "A, B"? */
static bool is_in_list(const char *list, const char *name)
{
    size_t length = strlen(name);
    for (const char *at = list; at; at = strchr(at, ',')) {
        at += strspn(at, ", ");
        if (strncmp(at, name, length) == 0 && (at[length] == ',' || at[length] == '\0'))
            return true;
    }
    return false;
}

/* The BLAS kernels of the parts, each once, and a warning where there are several. */
static void append_kernels(const norma_merge_parts *parts, norma_text *out)
{
    for (int64_t i = 0; i < parts->n; i++) {
        const char *kernel = about_of(parts, i)->blas_kernel;
        if (!kernel || (out->data && is_in_list(out->data, kernel)))
            continue;
        if (out->length > 0)
            norma_log_news("warning: %s was made with BLAS kernels %s, and %s with %s: last bits "
                           "may differ from those of one run",
                           parts->all[0].path, out->data, parts->all[i].path, kernel);
        norma_text_append(out, "%s%s", out->length > 0 ? ", " : "", kernel);
    }
}

static void warn_of_commits(const norma_merge_parts *parts)
{
    const char *first = about_of(parts, 0)->git_commit;
    for (int64_t i = 1; i < parts->n; i++) {
        const char *commit = about_of(parts, i)->git_commit;
        if (!first || !commit || strcmp(first, commit) == 0)
            continue;
        norma_log_news("warning: %s was written by commit %s, and %s by %s", parts->all[0].path,
                       first, parts->all[i].path, commit);
        return;
    }
}

static norma_status set_taken(const norma_merge_parts *parts, norma_result *file, const char *name,
                              norma_text *text)
{
    char *taken = NULL;
    norma_status status = norma_agree(parts->world, norma_text_take(text, &taken));
    if (status == NORMA_OK)
        status = norma_result_set_text(file, "/", name, taken);
    norma_mem_free(taken);
    return status;
}

static norma_status write_provenance(const norma_call *call, const norma_merge_parts *parts,
                                     const norma_merge_coverage *coverage, norma_result *file)
{
    const norma_merge_about *first = about_of(parts, 0);
    char *configuration = NULL;
    norma_text text;
    norma_provenance provenance = {.title = first->title ? first->title : "Merged results",
                                   .argc = call->argc,
                                   .argv = call->argv,
                                   .seed = first->seed,
                                   .process_grid = "merged: the ranks of each part computed it"};
    if (norma_config_knows(parts->whole, "seed"))
        provenance.seed = norma_config_get_seed(parts->whole, 0, "seed");
    NORMA_TRY(norma_agree(parts->world, norma_config_write(parts->whole, &configuration)));
    provenance.configuration = configuration;
    norma_status status = norma_provenance_write(file, call->runtime, &provenance);
    norma_mem_free(configuration);
    NORMA_TRY(status);
    norma_text_init(&text);
    append_files(parts, &text);
    NORMA_TRY(set_taken(parts, file, "merged_from", &text));
    append_kernels(parts, &text);
    warn_of_commits(parts);
    if (text.length > 0)
        NORMA_TRY(set_taken(parts, file, "blas_kernel", &text));
    if (coverage->n_missing == 0)
        return NORMA_OK;
    norma_text_append(&text, "%lld of %lld cells: %s", (long long)coverage->n_missing,
                      (long long)norma_config_get_whole_sweep(parts->whole)->n_cells,
                      coverage->missing);
    return set_taken(parts, file, "missing_cells", &text);
}

/* --- the root: scalars of the sweep ---------------------------------------------------------- */

/* A part that is a single cell of a sweep. */
static bool is_lone(const norma_merge_parts *parts, const norma_merge_part *part)
{
    return norma_config_is_single(part->config) && !norma_config_is_single(parts->whole);
}

/* names[]: those of the sweep's dimensions, as the result has them. */
static int list_axes(const norma_config *config, const char *names[NORMA_MAX_DIMENSIONS])
{
    const norma_sweep *sweep = norma_config_get_sweep(config);
    int n = 0;
    for (int64_t i = 0; i < sweep->n_axes && n < NORMA_MAX_DIMENSIONS; i++)
        names[n++] = sweep->axes[i].dimension;
    return n;
}

static norma_status write_root(norma_merge_parts *parts, norma_result *file)
{
    typedef const char *names[NORMA_MAX_DIMENSIONS];
    names axes;
    int64_t extents[NORMA_MAX_DIMENSIONS];
    names *leading = NULL;
    norma_merge_piece *pieces = NULL;
    const norma_sweep *sweep = norma_config_get_sweep(parts->whole);
    norma_status status = NORMA_CALLOC(pieces, parts->n);
    if (status == NORMA_OK)
        status = NORMA_CALLOC(leading, parts->n);
    NORMA_GOTO(status, norma_agree(parts->world, status));
    for (int64_t i = 0; i < parts->n; i++) {
        const norma_merge_part *part = &parts->all[i];
        pieces[i] = (norma_merge_piece){.input = i,
                                        .path = "/",
                                        .n_leading = list_axes(part->config, leading[i]),
                                        .leading = leading[i],
                                        .n_cells = part->n_cells,
                                        .cells = part->cells,
                                        .order = part->order,
                                        .replica = part->first_replica - parts->first_replica};
        if (is_lone(parts, part))
            pieces[i].left_out = norma_merge_arrays_local(parts->command);
    }
    for (int64_t a = 0; a < sweep->n_axes && a < NORMA_MAX_DIMENSIONS; a++)
        extents[a] = sweep->axes[a].n;
    norma_merge_group group = {.path = "/",
                               .n_axes = list_axes(parts->whole, axes),
                               .axes = axes,
                               .extents = extents,
                               .first_replica = parts->first_replica,
                               .n_replicas = parts->n_replicas,
                               .joins_replicas = parts->joins_replicas,
                               .pool = norma_merge_pool_replicas,
                               .pieces = pieces,
                               .n_pieces = parts->n};
    NORMA_GOTO(status, norma_merge_group_attributes(parts->inputs, file, &group));
    status = norma_merge_group_write(parts->inputs, file, &group);
done:
    norma_mem_free(leading);
    norma_mem_free(pieces);
    return status;
}

/* --- the arrays of cells --------------------------------------------------------------------- */

/* The piece that an entry's part has of its cell's arrays; false where it has none. */
static norma_status find_arrays(norma_merge_parts *parts, const norma_merge_entry *entry,
                                char path[32], norma_merge_piece *piece, bool *found)
{
    static const int64_t only_cell = 0;
    const norma_merge_part *part = &parts->all[entry->part];
    *piece = (norma_merge_piece){.input = entry->part,
                                 .path = path,
                                 .n_cells = 1,
                                 .cells = &only_cell,
                                 .replica = part->first_replica - parts->first_replica};
    if (is_lone(parts, part)) {
        snprintf(path, 32, "/");
        piece->only = norma_merge_arrays_with_axes_local(parts->command);
        NORMA_TRY(norma_merge_arrays_kept_local(part, found));
        if (*found) {
            char array[64];
            snprintf(array, sizeof array, "/%s", piece->only[0]);
            NORMA_TRY(norma_merge_inputs_has_local(parts->inputs, entry->part, array, found));
        }
        return NORMA_OK;
    }
    *found = about_of(parts, entry->part)->has_cells;
    snprintf(path, 32, "/cells/%06lld",
             (long long)norma_config_get_cell_number(part->config, entry->index));
    return *found ? norma_merge_inputs_has_local(parts->inputs, entry->part, path, found)
                  : NORMA_OK;
}

/* The arrays of one cell, from the entries [from, to). */
static norma_status write_cell(norma_merge_parts *parts, const norma_merge_coverage *coverage,
                               int64_t from, int64_t to, norma_result *file)
{
    char path[32];
    char(*paths)[32] = NULL;
    norma_merge_piece *pieces = NULL;
    int64_t n = 0;
    norma_status status = NORMA_ALLOC(pieces, to - from);
    if (status == NORMA_OK)
        status = NORMA_ALLOC(paths, to - from);
    for (int64_t i = from; i < to && status == NORMA_OK; i++) {
        bool found = false;
        status = find_arrays(parts, &coverage->entries[i], paths[n], &pieces[n], &found);
        n += found ? 1 : 0;
    }
    status = norma_agree(parts->world, status);
    if (status == NORMA_OK && n > 0) {
        snprintf(path, sizeof path, "/cells/%06lld", (long long)coverage->entries[from].cell);
        norma_merge_group group = {.path = path,
                                   .first_replica = parts->first_replica,
                                   .n_replicas = parts->n_replicas,
                                   .joins_replicas = parts->joins_replicas,
                                   .pool = norma_merge_pool_replicas,
                                   .pieces = pieces,
                                   .n_pieces = n};
        status = norma_merge_group_write(parts->inputs, file, &group);
    }
    norma_mem_free(paths);
    norma_mem_free(pieces);
    return status;
}

static bool may_have_arrays(const norma_merge_parts *parts)
{
    for (int64_t i = 0; i < parts->n; i++)
        if (about_of(parts, i)->has_cells ||
            (is_lone(parts, &parts->all[i]) && norma_merge_arrays_local(parts->command)))
            return true;
    return false;
}

static norma_status write_cells(norma_merge_parts *parts, const norma_merge_coverage *coverage,
                                norma_result *file)
{
    int64_t n_done = 0;
    if (norma_config_is_single(parts->whole) || !may_have_arrays(parts))
        return NORMA_OK;
    for (int64_t i = 0; i < coverage->n;) {
        int64_t from = i;
        while (i < coverage->n && coverage->entries[i].cell == coverage->entries[from].cell)
            i++;
        NORMA_TRY(write_cell(parts, coverage, from, i, file));
        if (++n_done % FLUSH_EVERY == 0)
            NORMA_TRY(norma_result_flush(file));
    }
    return NORMA_OK;
}

norma_status norma_merge_output_write(const norma_call *call, norma_merge_parts *parts,
                                      const norma_merge_coverage *coverage, norma_result *file)
{
    const char *signal = about_of(parts, 0)->signal;
    NORMA_TRY(write_provenance(call, parts, coverage, file));
    NORMA_TRY(norma_sweep_dimensions_describe(parts->whole, file));
    NORMA_TRY(norma_sweep_dimensions_add(call->runtime->world, parts->whole, file));
    NORMA_TRY(write_root(parts, file));
    NORMA_TRY(write_cells(parts, coverage, file));
    if (signal) {
        char path[300];
        snprintf(path, sizeof path, "/%s", signal);
        NORMA_TRY(norma_result_set_default(file, path));
    }
    return norma_result_begin(file);
}
