#include "experiments/gradient/plan.h"

#include "experiments/gradient/output.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/log.h"
#include "mpi/runtime/progress.h"
#include "src/base/text.h"
#include "src/chain/kernels/lanes.h"

#include <math.h>

/* Seconds given to the first layers of a cell, and to all cells. */
static const double cell_seconds = 0.3;
static const double all_seconds = 20;

/* A replica of this many layers gives the time of a layer, forth and back. */
enum { MEASURED_LAYERS = 8 };

/* Rows of a matrix that a product packs at a time. */
static const double packed_rows = 384;

/* Matrices of the read-out's smaller side that drawing it takes. */
static const double n_factors = 4;

typedef struct need {
    const norma_gradient_setup *setup;
    const norma_gradient_cell *cell;
    double base; /* bytes of the process before it computes */
} need;

/* The factors of a Haar read-out while it is drawn (src/random/cholqr.h). */
static double readout_bytes(const norma_gradient_cell *cell)
{
    const double side = fmin((double)cell->spec.width, (double)cell->request.loss.classes);
    return cell->request.loss.readout == NORMA_GRADIENT_READOUT_HAAR ? 8 * n_factors * side * side
                                                                     : 0;
}

/* norma_plan_bytes_function */
static int64_t peak_bytes(const void *context, int64_t n_ranks)
{
    const need *n = context;
    const norma_chain_spec *spec = &n->cell->spec;
    const bool small = spec->width <= NORMA_SOLO_MAX_SIZE && spec->batch <= NORMA_SOLO_MAX_SIZE;
    const double longest = fmax((double)spec->width, (double)spec->batch);
    double packing = small ? 0 : 8 * packed_rows * longest;
    double groups = fmax(1, floor((double)n_ranks / (double)n->cell->request.n_members));
    double share = ceil((double)n->setup->n_tasks / groups);
    double records = 8 * (double)n->cell->n_numbers * (share + 1);
    double bytes = n->base + n->cell->needs.bytes + packing + records + readout_bytes(n->cell);
    return bytes < 9e18 ? (int64_t)bytes : INT64_MAX;
}

/* Refuses the first cell that does not fit; *peak is the largest one's. */
static norma_status check_memory(const norma_gradient_setup *setup,
                                 const norma_plan_machine *machine, double base, double *peak)
{
    *peak = 0;
    for (int64_t i = 0; i < setup->n_cells; i++) {
        need n = {setup, &setup->cells[i], base};
        norma_text where;
        norma_text_init(&where);
        norma_config_describe_cell(setup->config, i, &where);
        norma_status status = norma_plan_check_local(
            machine, setup->n_cells > 1 && where.data ? where.data : "run", peak_bytes, &n,
            "fewer ranks a node leave more for each, --segment near the root of the depth takes "
            "the least");
        norma_text_clear(&where);
        NORMA_TRY(status);
        *peak = fmax(*peak, (double)peak_bytes(&n, machine->n_ranks));
    }
    return NORMA_OK;
}

/* Seconds of a layer, forth and back, from a short replica whose segments are computed again as
 * those of the cell. */
static norma_status measure(const norma_gradient_cell *cell, double *seconds)
{
    norma_gradient_request request = cell->request;
    norma_gradient *g = NULL;
    norma_status status = NORMA_OK;
    int64_t n_runs = 0;
    double elapsed = 0;
    *seconds = 0;
    if (cell->depth == 0)
        return NORMA_OK;
    const bool again = cell->needs.segment < cell->depth;
    request.depth = cell->depth < MEASURED_LAYERS ? cell->depth : MEASURED_LAYERS;
    request.segment = again ? 1 : request.depth;
    request.per_sample = request.isometry_gap = false;
    request.n_members = 1;
    request.jacobian = request.jacobian < request.depth ? request.jacobian : request.depth;
    NORMA_GOTO(status, norma_gradient_create(&cell->spec, &cell->input, &request, &g));
    while (n_runs < 2 || elapsed < cell_seconds) { /* the first run warms up */
        double begun = norma_progress_clock_local();
        NORMA_GOTO(status, norma_gradient_start(g, cell->seed, cell->stream_cell, 0));
        while (!norma_gradient_is_done(g))
            NORMA_GOTO(status, norma_gradient_step(g));
        elapsed += n_runs++ == 0 ? 0 : norma_progress_clock_local() - begun;
        if (n_runs > 1 && elapsed > cell_seconds)
            break;
    }
    *seconds = elapsed / (double)((n_runs - 1) * request.depth);
done:
    norma_gradient_destroy(&g);
    return status;
}

/* Rank 0 measures; cells behind the time that is spent are judged by their operations. */
static norma_status print_cells(const norma_gradient_setup *setup, double *total, double *longest)
{
    double begun = norma_progress_clock_local();
    double per_operation = 0;
    norma_log_result("#cell     width     batch       depth segment      law seconds_a_layer");
    for (int64_t i = 0; i < setup->n_cells; i++) {
        const norma_gradient_cell *cell = &setup->cells[i];
        double seconds = cell->layer_cost * per_operation;
        if (i == 0 || norma_progress_clock_local() - begun < all_seconds)
            NORMA_TRY(measure(cell, &seconds));
        per_operation = seconds > 0 ? seconds / cell->layer_cost : per_operation;
        *total += seconds * (double)cell->depth * (double)setup->n_replicas;
        *longest = fmax(*longest, seconds * (double)cell->depth);
        norma_log_result("%5lld %9lld %9lld %11lld %7lld %8s %15.3e", (long long)i,
                         (long long)cell->spec.width, (long long)cell->spec.batch,
                         (long long)cell->depth, (long long)cell->needs.segment,
                         norma_chain_law_name(cell->spec.law), seconds);
    }
    return NORMA_OK;
}

static norma_status print_plan(const norma_gradient_setup *setup, const norma_plan_machine *machine,
                               double peak)
{
    char text[32];
    double total = 0;
    double longest = 0;
    const double group = (double)norma_config_get_integer(setup->config, 0, "group-size");
    const double groups = fmax(1, floor((double)machine->n_ranks / group));
    NORMA_TRY(print_cells(setup, &total, &longest));
    /* a group's at best: what is not a product is shared less evenly */
    double busy = fmin(groups, (double)setup->n_tasks) * group;
    norma_progress_format_seconds_local(fmax(total / busy, longest / group), text, sizeof text);
    norma_log_result("# time about %s on %lld ranks, of which %.0f are busy (%.3g core seconds)",
                     text, (long long)machine->n_ranks, busy, total);
    norma_plan_print_memory_local(machine, peak, (double)norma_gradient_output_bytes(setup));
    return NORMA_OK;
}

norma_status norma_gradient_plan(const norma_runtime *runtime, const norma_gradient_setup *setup,
                                 const norma_plan_machine *machine, bool print)
{
    double peak = 0;
    double base = (double)norma_plan_peak_memory(runtime);
    norma_status status = check_memory(setup, machine, base, &peak);
    if (status == NORMA_OK && print && runtime->rank == 0)
        status = print_plan(setup, machine, peak);
    return norma_agree(runtime->world, status);
}
