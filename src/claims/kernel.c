/* THESIS chapter 5: the sequence rho' = kappa(rho) for sums of six Hermite polynomials. A case is
 * their coefficients, then rho_0. */
#include "src/claims/family.h"
#include "src/theory/kernel_dynamics.h"

#include <math.h>
#include <string.h>

enum { TERMS = 6, LAYERS = 3, DEEP = 60 };

static void draw_terms(norma_claim_random *random, int64_t number, bool centred,
                       norma_claim_case *out)
{
    out->rows = 1;
    out->columns = TERMS;
    out->n = out->n_free = TERMS + 1;
    for (int k = 0; k < TERMS; k++)
        out->x[k] = norma_claim_normal(random) * (number % 3 == 0 && k > 1 ? 0.03 : 1);
    if (centred)
        out->x[0] = 0;
    double u = norma_claim_uniform(random);
    out->x[TERMS] = number % 4 == 0 ? 1e-4 * u : number % 4 == 1 ? 1 - 1e-4 * u : 2 * u - 1;
}

NORMA_CLAIM_DRAW(centred_kernel)
{
    draw_terms(random, number, true, out);
}

NORMA_CLAIM_DRAW(kernel)
{
    draw_terms(random, number, false, out);
}

/* Mostly the constant and the linear term: kappa'(1) < 1. */
NORMA_CLAIM_DRAW(fast_kernel)
{
    draw_terms(random, number, false, out);
    for (int k = 2; k < TERMS; k++)
        out->x[k] *= 0.1;
}

/* kappa'(1) > 1; the first case is kappa = 0.7 + 0.3 rho^5 next to 1. */
NORMA_CLAIM_DRAW(inner_kernel)
{
    draw_terms(random, number, false, out);
    if (number > 0)
        return;
    memset(out->x, 0, sizeof out->x);
    out->x[0] = sqrt(0.7);
    out->x[TERMS - 1] = sqrt(0.3);
    out->x[TERMS] = 1 - 1e-12;
}

/* The dynamics of a case; *met = false for numbers that make no map. */
static norma_status dynamics_of(const norma_claim_case *c, norma_kernel_variant variant,
                                norma_kernel_map *map, norma_kernel_dynamics *dynamics, bool *met)
{
    norma_transfer phi = {.n_terms = TERMS, .shift = 0, .factor = 1};
    double size = 0;
    for (int k = variant == NORMA_KERNEL_POST_LN ? 1 : 0; k < TERMS; k++)
        size += c->x[k] * c->x[k];
    memcpy(phi.term, c->x, TERMS * sizeof *phi.term);
    *met = size > 1e-12 && size < 1e12 && fabs(c->x[TERMS]) < 1;
    if (!*met)
        return NORMA_OK;
    NORMA_TRY(norma_kernel_map_init_variant(&phi, variant, map));
    return norma_kernel_dynamics_init(map, dynamics);
}

/* |rho_1| / (1 - |rho_1|) against the rate times the same of rho_0. */
static norma_status one_layer(const norma_claim_case *c, bool printed, norma_claim_sides *out)
{
    norma_kernel_map map;
    norma_kernel_dynamics dynamics;
    NORMA_TRY(dynamics_of(c, NORMA_KERNEL_POST_LN, &map, &dynamics, &out->met));
    if (!out->met || dynamics.kernel_case != NORMA_KERNEL_CASE_CENTERED) {
        out->met = false;
        return NORMA_OK;
    }
    double start = fabs(c->x[TERMS]), after = fabs(norma_kernel_map_value(&map, c->x[TERMS]));
    out->left = after / (1 - after);
    out->right = start / (1 - start) * (printed ? dynamics.rate_printed : dynamics.rate_corrected);
    out->rounding = 1e-12 * (1 + out->left / (1 - after) + out->right / (1 - start));
    return NORMA_OK;
}

NORMA_CLAIM_FORM(centred_corrected, one_layer(c, false, out))
NORMA_CLAIM_FORM(centred_printed, one_layer(c, true, out))

/* The distance after some layers against the theorem's bound, in one of its cases. */
static norma_status layers(const norma_claim_case *c, norma_kernel_case wanted, int64_t depth,
                           norma_claim_sides *out)
{
    norma_kernel_map map;
    norma_kernel_dynamics dynamics;
    double rho[DEEP + 1], distance[DEEP + 1];
    NORMA_TRY(dynamics_of(c, NORMA_KERNEL_NONE, &map, &dynamics, &out->met));
    if (!out->met || dynamics.kernel_case != wanted) {
        out->met = false;
        return NORMA_OK;
    }
    norma_kernel_dynamics_iterate(&map, &dynamics, c->x[TERMS], depth, rho, distance);
    out->met = distance[depth] > 1e-9;
    out->left = distance[depth];
    out->right = norma_kernel_dynamics_bound(&dynamics, c->x[TERMS], true, depth);
    out->rounding = 1e-11 * (1 + out->right);
    return NORMA_OK;
}

NORMA_CLAIM_FORM(fast, layers(c, NORMA_KERNEL_CASE_FAST, LAYERS, out))

/* The first coefficient is not used: the others are scaled to kappa'(1) = 1, and it is what they
 * leave of kappa(1) = 1. */
NORMA_CLAIM_DRAW(critical_kernel)
{
    draw_terms(random, number, true, out);
}

NORMA_CLAIM_SIDES(critical)
{
    norma_claim_case scaled = *c;
    double slope = 0, size = 0;
    (void)random;
    for (int k = 1; k < TERMS; k++)
        slope += k * c->x[k] * c->x[k];
    out->met = slope > 1e-12 && slope < 1e12;
    if (!out->met)
        return NORMA_OK;
    for (int k = 1; k < TERMS; k++) {
        scaled.x[k] /= sqrt(slope);
        size += scaled.x[k] * scaled.x[k];
    }
    scaled.x[0] = sqrt(fmax(1 - size, 0));
    return layers(&scaled, NORMA_KERNEL_CASE_CRITICAL, LAYERS, out);
}

NORMA_CLAIM_FORM(inner_printed, layers(c, NORMA_KERNEL_CASE_INNER, DEEP, out))

/* |rho_l| <= |rho_0| / (1 - |rho_0|) alpha^l with the constant of Thm 5.8. */
NORMA_CLAIM_SIDES(centred_layers)
{
    norma_kernel_map map;
    norma_kernel_dynamics dynamics;
    double rho[LAYERS + 1], distance[LAYERS + 1], start = fabs(c->x[TERMS]);
    (void)random;
    NORMA_TRY(dynamics_of(c, NORMA_KERNEL_POST_LN, &map, &dynamics, &out->met));
    if (!out->met || dynamics.kernel_case != NORMA_KERNEL_CASE_CENTERED) {
        out->met = false;
        return NORMA_OK;
    }
    norma_kernel_dynamics_iterate(&map, &dynamics, c->x[TERMS], LAYERS, rho, distance);
    out->left = fabs(rho[LAYERS]);
    out->right = start / (1 - start) * pow(dynamics.rate_corrected, LAYERS);
    out->met = out->left > 1e-9;
    out->rounding = 1e-13 * (1 + out->right / (1 - start));
    return NORMA_OK;
}
