#include "io/merge/inputs_internal.h"

#include "io/result/provenance.h"
#include "io/result/result_internal.h"
#include "src/base/mem.h"

#include <hdf5_hl.h>
#include <string.h>

/* Files that are open at a time. */
enum { MOST_OPEN = 64 };

typedef struct input {
    norma_merge_about about;
    hid_t file; /* H5I_INVALID_HID: closed */
    int64_t used;
} input;

struct norma_merge_inputs {
    int64_t n, n_open, clock;
    input *all; /* [n] */
};

/* --- files ----------------------------------------------------------------------------------- */

static void close_oldest(norma_merge_inputs *inputs)
{
    input *oldest = NULL;
    for (int64_t i = 0; i < inputs->n; i++) {
        input *in = &inputs->all[i];
        if (in->file >= 0 && (!oldest || in->used < oldest->used))
            oldest = in;
    }
    if (!oldest)
        return;
    H5Fclose(oldest->file);
    oldest->file = H5I_INVALID_HID;
    inputs->n_open--;
}

norma_status norma_merge_inputs_file_local(norma_merge_inputs *inputs, int64_t i, hid_t *file)
{
    input *in = &inputs->all[i];
    if (in->file < 0) {
        if (inputs->n_open >= MOST_OPEN)
            close_oldest(inputs);
        NORMA_TRY(norma_h5_open_local(in->about.path, &in->file));
        inputs->n_open++;
    }
    in->used = ++inputs->clock;
    *file = in->file;
    return NORMA_OK;
}

norma_status norma_merge_inputs_has_local(norma_merge_inputs *inputs, int64_t i, const char *group,
                                          bool *out)
{
    hid_t file = H5I_INVALID_HID;
    NORMA_TRY(norma_merge_inputs_file_local(inputs, i, &file));
    *out = norma_h5_exists_local(file, group);
    return NORMA_OK;
}

norma_status norma_merge_inputs_group_local(norma_merge_inputs *inputs, int64_t i, const char *path,
                                            hid_t *group, bool *found)
{
    hid_t file = H5I_INVALID_HID;
    *group = H5I_INVALID_HID;
    NORMA_TRY(norma_merge_inputs_file_local(inputs, i, &file));
    *found = norma_h5_exists_local(file, path);
    if (!*found)
        return NORMA_OK;
    *group = H5Gopen2(file, path, H5P_DEFAULT);
    if (*group < 0)
        return NORMA_H5_FAIL(NORMA_CONFIG, "%s: group %s cannot be opened",
                             inputs->all[i].about.path, path);
    return NORMA_OK;
}

/* --- its provenance -------------------------------------------------------------------------- */

static norma_status check_state(const char *path, const char *version, const char *state)
{
    const char *mine = norma_provenance_version_local();
    if (!version || !state)
        return NORMA_FAIL(NORMA_CONFIG, "%s: not a result of norma", path);
    if (strcmp(state, "running") == 0)
        return NORMA_FAIL(NORMA_CONFIG, "%s: the run that writes it has not finished", path);
    if (strcmp(state, "partial") == 0)
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s was merged with --partial and lacks cells: merge the files that it "
                          "was made from, with those that were missing",
                          path);
    if (strcmp(state, "complete") != 0)
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s: its run %s before the end; the same command with --resume completes "
                          "it",
                          path, state);
    if (strcmp(version, mine) != 0)
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s was written by norma %s, and this is norma %s: results of different "
                          "versions are not merged",
                          path, version, mine);
    return NORMA_OK;
}

static norma_status check(hid_t file, const char *path)
{
    char *version = NULL;
    char *state = NULL;
    norma_status status = norma_h5_get_text_local(file, "norma_version", &version);
    if (status == NORMA_OK)
        status = norma_h5_get_text_local(file, "status", &state);
    if (status == NORMA_OK)
        status = check_state(path, version, state);
    norma_mem_free(version);
    norma_mem_free(state);
    return status;
}

static norma_status read_configuration(hid_t file, const char *path, char **out)
{
    if (!norma_h5_exists_local(file, "/configuration"))
        return NORMA_FAIL(NORMA_CONFIG, "%s holds no configuration", path);
    hid_t set = H5Dopen2(file, "/configuration", H5P_DEFAULT);
    norma_status status = set < 0 ? NORMA_OK : norma_h5_read_text_local(set, out);
    if (status == NORMA_OK && !*out)
        status = NORMA_FAIL(NORMA_CONFIG, "%s: /configuration is not a text", path);
    if (set >= 0)
        H5Dclose(set);
    return status;
}

/* The first and the number of the replicas; an axis without values counts from 0. */
static norma_status read_replicas(hid_t file, norma_merge_about *about)
{
    char name[NORMA_NAME_LENGTH] = "";
    hsize_t length = 0;
    int64_t *numbers = NULL;
    norma_status status = NORMA_OK;
    if (!norma_h5_exists_local(file, "/replica"))
        return NORMA_OK;
    hid_t set = H5Dopen2(file, "/replica", H5P_DEFAULT);
    hid_t space = H5Dget_space(set);
    H5Sget_simple_extent_dims(space, &length, NULL);
    H5Sclose(space);
    about->n_replicas = (int64_t)length;
    (void)H5DSget_scale_name(set, name, sizeof name);
    if (strncmp(name, NORMA_NOT_A_VARIABLE, strlen(NORMA_NOT_A_VARIABLE)) != 0)
        status = NORMA_ALLOC(numbers, about->n_replicas);
    if (numbers && H5Dread(set, H5T_NATIVE_INT64, H5S_ALL, H5S_ALL, H5P_DEFAULT, numbers) < 0)
        status = NORMA_H5_FAIL(NORMA_CONFIG, "%s: /replica cannot be read", about->path);
    if (numbers && status == NORMA_OK && about->n_replicas > 0) {
        about->first_replica = numbers[0];
        if (numbers[about->n_replicas - 1] != numbers[0] + about->n_replicas - 1)
            status =
                NORMA_FAIL(NORMA_CONFIG, "%s: /replica does not count in steps of 1", about->path);
    }
    norma_mem_free(numbers);
    H5Dclose(set);
    return status;
}

static norma_status read_about(hid_t file, norma_merge_about *about)
{
    const struct {
        const char *name;
        char **text;
    } texts[] = {{"input_files", &about->input_files},
                 {"blas_kernel", &about->blas_kernel},
                 {"git_commit", &about->git_commit},
                 {"title", &about->title},
                 {"signal", &about->signal}};
    NORMA_TRY(check(file, about->path));
    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++)
        NORMA_TRY(norma_h5_get_text_local(file, texts[i].name, texts[i].text));
    if (H5Aexists(file, "seed") > 0) {
        hid_t attribute = H5Aopen(file, "seed", H5P_DEFAULT);
        herr_t result = H5Aread(attribute, H5T_NATIVE_UINT64, &about->seed);
        H5Aclose(attribute);
        if (result < 0)
            return NORMA_H5_FAIL(NORMA_CONFIG, "%s: its seed cannot be read", about->path);
    }
    about->has_cells = norma_h5_exists_local(file, "/cells");
    NORMA_TRY(read_configuration(file, about->path, &about->configuration));
    return read_replicas(file, about);
}

norma_status norma_merge_inputs_open_local(const char *const *paths, int64_t n,
                                           norma_merge_inputs **out)
{
    norma_merge_inputs *inputs = NULL;
    norma_status status = NORMA_OK;
    norma_h5_prepare_local();
    NORMA_GOTO(status, NORMA_CALLOC(inputs, 1));
    NORMA_GOTO(status, NORMA_CALLOC(inputs->all, n));
    inputs->n = n;
    for (int64_t i = 0; i < n; i++) {
        inputs->all[i].about.path = paths[i];
        inputs->all[i].file = H5I_INVALID_HID;
    }
    for (int64_t i = 0; i < n; i++) {
        hid_t file = H5I_INVALID_HID;
        NORMA_GOTO(status, norma_merge_inputs_file_local(inputs, i, &file));
        NORMA_GOTO(status, read_about(file, &inputs->all[i].about));
    }
    *out = inputs;
    return NORMA_OK;
done:
    norma_merge_inputs_destroy_local(&inputs);
    return status;
}

const norma_merge_about *norma_merge_inputs_about_local(const norma_merge_inputs *inputs, int64_t i)
{
    return &inputs->all[i].about;
}

void norma_merge_inputs_destroy_local(norma_merge_inputs **inputs)
{
    norma_merge_inputs *all = *inputs;
    for (int64_t i = 0; all && all->all && i < all->n; i++) {
        norma_merge_about *about = &all->all[i].about;
        char *const texts[] = {about->configuration, about->input_files, about->blas_kernel,
                               about->git_commit,    about->title,       about->signal};
        for (size_t k = 0; k < sizeof texts / sizeof texts[0]; k++)
            norma_mem_free(texts[k]);
        if (all->all[i].file >= 0)
            H5Fclose(all->all[i].file);
    }
    if (all)
        norma_mem_free(all->all);
    NORMA_FREE(*inputs);
}
