/* The frozen weights of stacks in the result file, drawn again where they are written. */
#include "experiments/reconstruct/stack/weights.h"

#include "experiments/reconstruct/options.h"
#include "src/base/mem.h"

#include <stdio.h>
#include <string.h>

bool norma_stack_weights_wanted(const norma_config *config)
{
    return norma_config_has(config, "save") &&
           norma_config_list_holds(config, "save", NORMA_RECONSTRUCT_SAVE_WEIGHTS);
}

static int64_t count(const norma_stack_array *array)
{
    int64_t n = 1;
    for (int i = 0; i < array->n_extents; i++)
        n *= array->extents[i];
    return n;
}

norma_status norma_stack_weights_count(const norma_stack_kind *kind, const norma_stack_place *place,
                                       double *n)
{
    norma_stack_array arrays[NORMA_STACK_MOST_ARRAYS];
    int n_arrays = 0;
    *n = 0;
    NORMA_TRY(kind->weights(place, arrays, &n_arrays));
    for (int a = 0; a < n_arrays; a++)
        *n += (double)count(&arrays[a]);
    return NORMA_OK;
}

/* Is a dimension one of the arrays before, or before it in its own? */
static bool is_there(const norma_stack_array *arrays, int a, int i)
{
    for (int b = 0; b <= a; b++)
        for (int k = 0; k < (b == a ? i : arrays[b].n_extents); k++)
            if (strcmp(arrays[b].dimensions[k], arrays[a].dimensions[i]) == 0)
                return true;
    return false;
}

static norma_status set_attributes(const norma_stack_place *place, norma_result *file,
                                   const char *group)
{
    const norma_activation activation = norma_stack_activation(place);
    NORMA_TRY(
        norma_result_set_text(file, group, "activation", norma_activation_name(activation.kind)));
    if (activation.kind != NORMA_ACTIVATION_LEAKY_RELU)
        return NORMA_OK;
    return norma_result_set_double(file, group, "negative_slope", activation.parameter);
}

norma_status norma_stack_weights_add(const norma_stack_kind *kind, const norma_stack_place *place,
                                     norma_result *file, const char *group)
{
    norma_stack_array arrays[NORMA_STACK_MOST_ARRAYS];
    int n_arrays = 0;
    NORMA_TRY(kind->weights(place, arrays, &n_arrays));
    NORMA_TRY(set_attributes(place, file, group));
    for (int a = 0; a < n_arrays; a++) {
        norma_variable variable = {.name = arrays[a].name,
                                   .type = NORMA_FLOAT64,
                                   .dimensions = {"replica"},
                                   .units = "1",
                                   .long_name = arrays[a].long_name};
        for (int i = 0; i < arrays[a].n_extents; i++) {
            variable.dimensions[i + 1] = arrays[a].dimensions[i];
            if (!is_there(arrays, a, i))
                NORMA_TRY(norma_schema_add_axis(file, group, arrays[a].dimensions[i],
                                                arrays[a].extents[i], "index of frozen weights"));
        }
        NORMA_TRY(norma_schema_add_variable(file, group, &variable));
    }
    return NORMA_OK;
}

static norma_status write_source(const norma_stack_kind *kind, const norma_stack_place *place,
                                 const void *source, norma_result *file, const char *group)
{
    norma_stack_array arrays[NORMA_STACK_MOST_ARRAYS];
    int n_arrays = 0;
    norma_status status = NORMA_OK;
    NORMA_TRY(kind->weights(place, arrays, &n_arrays));
    for (int a = 0; a < n_arrays && status == NORMA_OK; a++) {
        int64_t start[1 + NORMA_STACK_MOST_EXTENTS] = {place->replica};
        int64_t extents[1 + NORMA_STACK_MOST_EXTENTS] = {1};
        char path[160];
        double *values = NULL;
        for (int i = 0; i < arrays[a].n_extents; i++)
            extents[i + 1] = arrays[a].extents[i];
        NORMA_TRY(NORMA_ALLOC(values, count(&arrays[a])));
        kind->copy_weights(source, a, values);
        snprintf(path, sizeof path, "%s/%s", group, arrays[a].name);
        status = norma_result_put_local(file, path, NORMA_FLOAT64, start, extents, values);
        NORMA_FREE(values);
    }
    return status;
}

norma_status norma_stack_weights_write_local(const norma_stack_kind *kind,
                                             const norma_stack_place *place, norma_result *file,
                                             const char *group)
{
    void *source = NULL;
    NORMA_TRY(kind->create(place, &source));
    norma_status status = write_source(kind, place, source, file, group);
    kind->destroy(&source);
    return status;
}
