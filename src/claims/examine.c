#include "src/claims/examine.h"

#include "src/claims/family.h"

#include <math.h>
#include <string.h>

/* Random numbers of three uses have tensors of their own: drawing cases, the search, replicas. */
enum { DRAW = 0, SEARCH = 1, REPLICAS = 2 };

/* The replicas of a case are doubled at most so often: 2^40 replicas are out of reach. */
enum { LOOKS = 40 };

/* Both sides of one case, and their errors. */
typedef struct finding {
    norma_claim_sides sides;
    double error;  /* standard error of left - right */
    double excess; /* (left - right) / max(|left|, |right|), by absolute value for equalities */
    bool violated;
    int64_t n_looks, n_samples;
} finding;

/* Deterministic cases, or replicas, between two questions of budget->stop. */
enum { PATIENCE = 256 };

static bool must_stop(const norma_claim_budget *budget, int64_t number)
{
    return budget->stop && number % PATIENCE == 0 && budget->stop(budget->context);
}

/* The stream depends on the claim's name (hashed by FNV-1a), not on its place in the table, so that
 * a new claim changes no case of the others. */
static norma_claim_random stream_of(const norma_claim *claim, uint64_t seed, int tensor,
                                    int64_t number)
{
    uint32_t hash = 2166136261u;
    for (const char *c = claim->name; *c; c++)
        hash = (hash ^ (uint32_t)(unsigned char)*c) * 16777619u;
    norma_claim_random random = {.seed = seed, .next = 0};
    random.stream.purpose = NORMA_RNG_CLAIMS;
    random.stream.tensor = tensor;
    random.stream.layer = number;
    random.stream.cell = (int64_t)(hash % (uint32_t)NORMA_RNG_N_CELLS);
    return random;
}

/* The right side; for a planted false version it is 1% beyond the sharpest known constant. */
static double right_side(const norma_claim *claim, const norma_claim_budget *budget, double right)
{
    double sharp = claim->sharp > 0 ? claim->sharp : 1;
    if (!budget->planted)
        return right;
    if (claim->equal)
        return 1.01 * right;
    return right > 0 ? 0.99 * sharp * right : right - 0.01 * fabs(right);
}

static void weigh(const norma_claim *claim, const norma_claim_budget *budget, finding *out)
{
    double difference = out->sides.left - out->sides.right;
    double size = fmax(fabs(out->sides.left), fabs(out->sides.right));
    if (claim->equal)
        difference = fabs(difference);
    out->excess = size > 0 ? difference / size : 0;
    out->violated = claim->kind != NORMA_CLAIM_CONSTANT &&
                    difference > out->sides.rounding + budget->n_errors * out->error;
}

static bool is_finite(const norma_claim_sides *sides)
{
    return isfinite(sides->left) && isfinite(sides->right) && isfinite(sides->rounding);
}

static norma_status look_once(const norma_claim *claim, const norma_claim_budget *budget,
                              const norma_claim_case *c, finding *out)
{
    memset(out, 0, sizeof *out);
    out->n_samples = 1;
    NORMA_TRY(claim->evaluate(c, NULL, &out->sides));
    out->sides.met = out->sides.met && is_finite(&out->sides);
    if (!out->sides.met)
        return NORMA_OK;
    out->sides.right = right_side(claim, budget, out->sides.right);
    weigh(claim, budget, out);
    return NORMA_OK;
}

/* Means over replicas. The difference is taken in each replica, where both sides share their draws.
 */
typedef struct sums {
    int64_t n;
    double left, right, difference, squares; /* means, and squared deviations of the difference */
} sums;

static void add(sums *into, double left, double right)
{
    double difference = left - right, n = (double)++into->n;
    double step = difference - into->difference;
    into->left += (left - into->left) / n;
    into->right += (right - into->right) / n;
    into->difference += step / n;
    into->squares += step * (difference - into->difference);
}

/* Doubles the number of replicas until the mean difference is clearly on one side of 0, or its
 * error is below rounding. */
static norma_status look_often(const norma_claim *claim, uint64_t seed,
                               const norma_claim_budget *budget, int64_t number,
                               const norma_claim_case *c, finding *out)
{
    norma_claim_random random = stream_of(claim, seed, REPLICAS, number);
    sums all = {0};
    memset(out, 0, sizeof *out);
    for (int64_t until = budget->n_replicas; out->n_looks < LOOKS; until *= 2) {
        while (all.n < until) {
            norma_claim_sides one = {0};
            if (must_stop(budget, all.n))
                return NORMA_STOPPED;
            out->n_samples++;
            NORMA_TRY(claim->evaluate(c, &random, &one));
            if (!one.met || !is_finite(&one))
                return NORMA_OK; /* the hypothesis is about the case: it fails in all replicas alike
                                  */
            add(&all, one.left, right_side(claim, budget, one.right));
            out->sides.rounding = one.rounding;
        }
        out->n_looks++;
        out->sides.met = true;
        out->sides.left = all.left;
        out->sides.right = all.right;
        /* replicas that all agree show no spread: one of them is taken to differ */
        double floor = claim->kind == NORMA_CLAIM_PROBABILITY ? 1 : 0;
        out->error = sqrt(fmax(all.squares, floor) / (double)(all.n - 1) / (double)all.n);
        weigh(claim, budget, out);
        double clear = out->sides.rounding + budget->n_errors * out->error;
        bool settled = budget->n_errors * out->error <= out->sides.rounding;
        if (fabs(out->sides.left - out->sides.right) > clear || settled ||
            until >= budget->n_replicas_most)
            break;
    }
    return NORMA_OK;
}

/* Changes one number, all numbers, or one row by a random step of relative size `scale`. */
static void move(norma_claim_random *random, double scale, norma_claim_case *c)
{
    double kind = 4 * norma_claim_uniform(random), size = 0;
    for (int64_t i = 0; i < c->n_free; i++)
        size += c->x[i] * c->x[i] / (double)c->n_free;
    size = size > 0 ? sqrt(size) : 1;
    int64_t at = norma_claim_integer(random, 0, c->n_free - 1);
    if (kind < 1) {
        c->x[at] += scale * size * norma_claim_normal(random);
    } else if (kind < 2) {
        c->x[at] *= 1 + scale * norma_claim_normal(random);
    } else if (kind < 3 || c->rows < 2) {
        for (int64_t i = 0; i < c->n_free; i++)
            c->x[i] += scale * size * norma_claim_normal(random);
    } else {
        double factor = exp(scale * norma_claim_normal(random));
        int64_t row = at / c->columns;
        for (int64_t j = 0; j < c->columns && row < c->rows; j++)
            c->x[row * c->columns + j] *= factor;
    }
}

static double ratio_of(const finding *found)
{
    return found->sides.right > 0 ? found->sides.left / found->sides.right : -INFINITY;
}

/* Counts a case in the record; true where it meets the hypothesis and is the worst so far. */
static bool note(const norma_claim *claim, const finding *found, const norma_claim_case *c,
                 double *record)
{
    record[NORMA_CLAIM_N_LOOKS] += (double)found->n_looks;
    record[NORMA_CLAIM_N_SAMPLES] += (double)found->n_samples;
    if (!found->sides.met)
        return false;
    record[NORMA_CLAIM_N_VIOLATED] += found->violated ? 1 : 0;
    record[NORMA_CLAIM_N_TRIVIAL] +=
        claim->trivial > 0 && found->sides.right >= claim->trivial ? 1 : 0;
    record[NORMA_CLAIM_RATIO] = fmax(record[NORMA_CLAIM_RATIO], ratio_of(found));
    bool first = record[NORMA_CLAIM_N_MET]++ == 0;
    bool graver = found->violated && record[NORMA_CLAIM_N_VIOLATED] == 1;
    bool lighter = !found->violated && record[NORMA_CLAIM_N_VIOLATED] > 0;
    if (!first && !graver && (lighter || found->excess <= record[NORMA_CLAIM_EXCESS]))
        return false;
    record[NORMA_CLAIM_EXCESS] = found->excess;
    record[NORMA_CLAIM_LEFT] = found->sides.left;
    record[NORMA_CLAIM_RIGHT] = found->sides.right;
    record[NORMA_CLAIM_ROUNDING] = found->sides.rounding;
    record[NORMA_CLAIM_ERROR] = found->error;
    record[NORMA_CLAIM_ROWS] = (double)c->rows;
    record[NORMA_CLAIM_COLUMNS] = (double)c->columns;
    record[NORMA_CLAIM_N] = (double)c->n;
    for (int64_t i = 0; i < NORMA_CLAIM_NUMBERS; i++)
        record[NORMA_CLAIM_WORST + i] = i < c->n ? c->x[i] : NAN;
    return true;
}

/* Climbs from the worst case of the block by random steps of decreasing size. */
static norma_status search(const norma_claim *claim, uint64_t seed, int64_t block,
                           const norma_claim_budget *budget, norma_claim_case *c, double *record)
{
    norma_claim_random random = stream_of(claim, seed, SEARCH, block);
    if (c->n_free < 1 || record[NORMA_CLAIM_N_MET] == 0)
        return NORMA_OK;
    for (int64_t i = 0; i < budget->n_steps; i++) {
        norma_claim_case next = *c;
        finding found;
        double part = (double)(i % 200) / 200; /* from 1 to 1e-5, again and again */
        if (must_stop(budget, i))
            return NORMA_STOPPED;
        move(&random, pow(10, -5 * part), &next);
        NORMA_TRY(look_once(claim, budget, &next, &found));
        if (note(claim, &found, &next, record))
            *c = next;
    }
    return NORMA_OK;
}

int64_t norma_claim_record_size(const norma_claim_budget *budget)
{
    return NORMA_CLAIM_HEAD + 4 * budget->n_cases;
}

double norma_claim_accusation(double n_errors)
{
    return erfc(n_errors / sqrt(2.0));
}

norma_status norma_claim_examine(const norma_claim *claim, uint64_t seed, int64_t block,
                                 const norma_claim_budget *budget, double *record)
{
    norma_claim_case worst = {0};
    norma_claim_random last = stream_of(claim, seed, REPLICAS, (block + 1) * budget->n_cases);
    NORMA_TRY(norma_rng_check(&last.stream, 1));
    for (int64_t i = 0; i < norma_claim_record_size(budget); i++)
        record[i] = i < NORMA_CLAIM_WORST ? 0 : NAN;
    record[NORMA_CLAIM_RATIO] = -INFINITY;
    record[NORMA_CLAIM_N_CASES] = (double)budget->n_cases;
    for (int64_t i = 0; i < budget->n_cases; i++) {
        int64_t number = block * budget->n_cases + i;
        norma_claim_random random = stream_of(claim, seed, DRAW, number);
        norma_claim_case c = {0};
        finding found;
        if (must_stop(budget, i))
            return NORMA_STOPPED;
        random.wide = budget->wide;
        claim->draw(&random, number, &c);
        if (norma_claim_is_random(claim))
            NORMA_TRY(look_often(claim, seed, budget, number, &c, &found));
        else
            NORMA_TRY(look_once(claim, budget, &c, &found));
        if (note(claim, &found, &c, record))
            worst = c;
        if (found.sides.met) {
            record[NORMA_CLAIM_HEAD + i] = found.sides.left;
            record[NORMA_CLAIM_HEAD + budget->n_cases + i] = found.sides.right;
            record[NORMA_CLAIM_HEAD + 2 * budget->n_cases + i] = found.error;
            record[NORMA_CLAIM_HEAD + 3 * budget->n_cases + i] = (double)found.n_samples;
        }
    }
    if (!norma_claim_is_random(claim))
        NORMA_TRY(search(claim, seed, block, budget, &worst, record));
    record[NORMA_CLAIM_RATIO_LEAST] = record[NORMA_CLAIM_RATIO];
    return NORMA_OK;
}

void norma_claim_merge(double *into, const double *block)
{
    if (into[NORMA_CLAIM_N_CASES] <= 0) {
        memcpy(into, block, NORMA_CLAIM_HEAD * sizeof *into);
        return;
    }
    bool first = into[NORMA_CLAIM_N_MET] <= 0;
    bool graver = block[NORMA_CLAIM_N_VIOLATED] > 0 && into[NORMA_CLAIM_N_VIOLATED] <= 0;
    bool lighter = block[NORMA_CLAIM_N_VIOLATED] <= 0 && into[NORMA_CLAIM_N_VIOLATED] > 0;
    bool worse = block[NORMA_CLAIM_EXCESS] > into[NORMA_CLAIM_EXCESS];
    for (int i = NORMA_CLAIM_N_CASES; i <= NORMA_CLAIM_N_SAMPLES; i++)
        into[i] += block[i];
    if (block[NORMA_CLAIM_N_MET] <= 0)
        return;
    into[NORMA_CLAIM_RATIO] = fmax(into[NORMA_CLAIM_RATIO], block[NORMA_CLAIM_RATIO]);
    into[NORMA_CLAIM_RATIO_LEAST] =
        first ? block[NORMA_CLAIM_RATIO]
              : fmin(into[NORMA_CLAIM_RATIO_LEAST], block[NORMA_CLAIM_RATIO_LEAST]);
    if (first || graver || (worse && !lighter))
        memcpy(into + NORMA_CLAIM_EXCESS, block + NORMA_CLAIM_EXCESS,
               (NORMA_CLAIM_HEAD - NORMA_CLAIM_EXCESS) * sizeof *into);
}

norma_claim_verdict norma_claim_judge(const norma_claim *claim, const double *merged)
{
    if (!claim->evaluate)
        return NORMA_CLAIM_NOT_COVERED;
    if (merged[NORMA_CLAIM_N_MET] <= 0)
        return NORMA_CLAIM_NEVER_MET;
    if (merged[NORMA_CLAIM_N_VIOLATED] > 0)
        return NORMA_CLAIM_VIOLATED;
    if (claim->kind == NORMA_CLAIM_CONSTANT)
        return NORMA_CLAIM_CONSTANT_UNKNOWN;
    if (merged[NORMA_CLAIM_N_TRIVIAL] >= merged[NORMA_CLAIM_N_MET])
        return NORMA_CLAIM_VACUOUS;
    return claim->expected == NORMA_CLAIM_SHARPER_KNOWN ? NORMA_CLAIM_SHARPER_KNOWN
                                                        : NORMA_CLAIM_NOT_VIOLATED;
}
