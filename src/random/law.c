#include "src/random/law.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#define LAW(number, name, source, gain, fan, flags, summary)                                       \
    [NORMA_DISTRIBUTION_##                                                                         \
        number] = {name, summary, NORMA_LAW_##source, gain, NORMA_LAW_FAN_##fan, flags},
enum { NONE = NORMA_LAW_NONE, MASKED = NORMA_LAW_MASKED };
enum { ROTATES = NORMA_LAW_ROTATES, LANES = NORMA_LAW_LANES };
static const norma_law table[NORMA_N_DISTRIBUTIONS] = {NORMA_LAWS(LAW)};

const norma_law *norma_law_get(norma_distribution distribution)
{
    return &table[distribution];
}

bool norma_law_has(norma_distribution distribution, unsigned flag)
{
    return (table[distribution].flags & flag) != 0;
}

bool norma_law_is_drawn(norma_distribution distribution)
{
    norma_law_source source = table[distribution].source;
    return source != NORMA_LAW_PAIRS && source != NORMA_LAW_GIVEN;
}

static double fan_of(const norma_law *law, double fan_in, double fan_out)
{
    return law->fan == NORMA_LAW_FAN_ONE  ? 1
           : law->fan == NORMA_LAW_FAN_IN ? fan_in
                                          : fan_in + fan_out;
}

double norma_law_factor(norma_distribution distribution, double fan_in, double fan_out)
{
    const norma_law *law = &table[distribution];
    double fan = fan_of(law, fan_in, fan_out);
    return law->source == NORMA_LAW_POSITIVE ? law->gain / sqrt(fan) : sqrt(law->gain / fan);
}

double norma_law_half_range(norma_distribution distribution, double fan_in, double fan_out)
{
    const norma_law *law = &table[distribution];
    return sqrt(3 * law->gain / fan_of(law, fan_in, fan_out));
}

const char *norma_law_list(unsigned flag, char out[NORMA_LAW_LIST])
{
    int n = 0;
    size_t length = 0;
    for (int d = 0; d < NORMA_N_DISTRIBUTIONS; d++)
        n += norma_law_has((norma_distribution)d, flag);
    out[0] = '\0';
    for (int d = 0, k = 0; d < NORMA_N_DISTRIBUTIONS; d++) {
        if (!norma_law_has((norma_distribution)d, flag))
            continue;
        const char *separator = k == 0 ? "" : k == n - 1 ? " or " : ", ";
        (void)snprintf(out + length, NORMA_LAW_LIST - length, "%s%s", separator, table[d].name);
        length = strlen(out);
        k++;
    }
    return out;
}

static bool is_drawn(int64_t law)
{
    return norma_law_is_drawn((norma_distribution)law);
}

static bool is_not_given(int64_t law)
{
    return table[law].source != NORMA_LAW_GIVEN;
}

const norma_names norma_law_names = NORMA_NAMES_OF("law", "laws", table, is_drawn);
const norma_names norma_law_source_names =
    NORMA_NAMES_OF("law", "laws of source pairs", table, is_not_given);

norma_status norma_distribution_from_name(const char *name, norma_distribution *out)
{
    int64_t law = 0;
    NORMA_TRY(norma_names_find(&norma_law_source_names, name, &law));
    *out = (norma_distribution)law;
    return NORMA_OK;
}

const char *norma_distribution_name(norma_distribution distribution)
{
    return table[distribution].name;
}
