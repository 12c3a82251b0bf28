#include "src/chain/observables.h"

#include <stdio.h>
#include <string.h>

#define OBSERVABLE(number, name, axis, family, requirement, is_count, summary)                     \
    [NORMA_OBSERVABLE_##number] = {name,                                                           \
                                   summary,                                                        \
                                   NORMA_OBSERVABLE_AXIS_##axis,                                   \
                                   NORMA_OBSERVABLE_FAMILY_##family,                               \
                                   NORMA_OBSERVABLE_NEEDS_##requirement,                           \
                                   is_count},
static const norma_observable_descriptor table[NORMA_N_OBSERVABLES] = {
    NORMA_OBSERVABLES(OBSERVABLE)};

#define CHOICE(number, name, axis, family, requirement, is_count, summary) {name, summary},
static const struct {
    const char *name, *summary;
} choices[] = {{"all", "everything that the chain defines"},
               NORMA_OBSERVABLES(CHOICE){"lyapunov", "Lyapunov exponents of a linear chain"}};

const norma_names norma_observable_names = NORMA_NAMES("observable", "observables", table);
const norma_names norma_observable_choices = NORMA_NAMES("observable", "observables", choices);

_Static_assert(NORMA_N_OBSERVABLES < 32, "norma_observable_set has a bit for each observable");

const norma_observable_descriptor *norma_observable_get(norma_observable observable)
{
    return &table[observable];
}

const char *norma_observable_name(norma_observable observable)
{
    return table[observable].name;
}

norma_observable_set norma_observable_of_family(norma_observable_family family)
{
    norma_observable_set set = 0;
    for (int o = 0; o < NORMA_N_OBSERVABLES; o++)
        set |= table[o].family == family ? NORMA_OBSERVABLE_BIT(o) : 0;
    return set;
}

norma_observable_set norma_observable_conditional(void)
{
    norma_observable_set set = norma_observable_of_family(NORMA_OBSERVABLE_FAMILY_FRAME);
    for (int o = 0; o < NORMA_N_OBSERVABLES; o++)
        if (table[o].requirement != NORMA_OBSERVABLE_NEEDS_NOTHING)
            set |= NORMA_OBSERVABLE_BIT(o);
    return set;
}

const char *norma_observable_axis_name(norma_observable_axis axis)
{
    static const char *const names[NORMA_N_OBSERVABLE_AXES] = {
        [NORMA_OBSERVABLE_AXIS_TAU] = "tau", [NORMA_OBSERVABLE_AXIS_K] = "k"};
    return names[axis];
}

int64_t norma_observable_n_values(norma_observable observable,
                                  const norma_observable_request *request)
{
    const int64_t lengths[NORMA_N_OBSERVABLE_AXES] = {[NORMA_OBSERVABLE_AXIS_ONE] = 1,
                                                      [NORMA_OBSERVABLE_AXIS_TAU] = request->n_tau,
                                                      [NORMA_OBSERVABLE_AXIS_K] =
                                                          request->n_singular};
    return lengths[table[observable].axis];
}

const char *norma_observable_label(norma_observable observable,
                                   const norma_observable_request *request, int64_t v,
                                   char out[NORMA_OBSERVABLE_LABEL])
{
    const norma_observable_axis axis = table[observable].axis;
    if (axis == NORMA_OBSERVABLE_AXIS_ONE)
        (void)snprintf(out, NORMA_OBSERVABLE_LABEL, "-");
    else if (axis == NORMA_OBSERVABLE_AXIS_TAU)
        (void)snprintf(out, NORMA_OBSERVABLE_LABEL, "tau=%g", request->tau[v]);
    else
        (void)snprintf(out, NORMA_OBSERVABLE_LABEL, "k=%lld", (long long)v + 1);
    return out;
}

static norma_status parse_one(const char *word, norma_observable_set *out)
{
    int64_t o = 0;
    if (strcmp(word, "all") == 0) {
        *out |= NORMA_OBSERVABLES_ALL;
        return NORMA_OK;
    }
    NORMA_TRY(norma_names_find(&norma_observable_names, word, &o));
    *out |= NORMA_OBSERVABLE_BIT(o);
    return NORMA_OK;
}

norma_status norma_observable_parse(const char *text, norma_observable_set *out)
{
    norma_observable_set set = 0;
    while (*text) {
        char word[40] = "";
        size_t length = strcspn(text, ",");
        if (length >= sizeof word)
            return NORMA_FAIL(NORMA_CONFIG, "unknown observable '%.60s'", text);
        memcpy(word, text, length);
        if (length > 0)
            NORMA_TRY(parse_one(word, &set));
        text += length + (text[length] == ',');
    }
    if (set == 0)
        return NORMA_FAIL(NORMA_CONFIG, "no observable was named");
    *out = set;
    return NORMA_OK;
}

void norma_observable_request_init(norma_observable_request *out)
{
    norma_observable_request request = {0};
    request.wanted = NORMA_OBSERVABLE_BIT(NORMA_OBSERVABLE_SOFT_RANK) |
                     NORMA_OBSERVABLE_BIT(NORMA_OBSERVABLE_STABLE_RANK);
    request.n_tau = 1;
    request.tau[0] = 0.5;
    *out = request;
}
