#include "mpi/values/chase.h"

#include "mpi/values/chase_kernels.h"
#include "src/base/cpu.h"
#include "src/base/mem_place.h"

#include <omp.h>
#include <sched.h>
#include <stdatomic.h>
#include <string.h>

/* The blocks on which the sweeps of a group work at a time hold about group_numbers numbers, so
 * that they stay in the cache of a core. */
enum { MOST_SWEEPS = 16 };
static const int64_t group_numbers = 50000;

typedef struct chase {
    int64_t n, width;
    int64_t lead;   /* distance of columns: entry (r, c) is base[c * lead + r] */
    double *filled; /* the band, with room for the entries that become nonzero */
    double *base;
    int64_t group;         /* sweeps of a group */
    atomic_llong *reached; /* [groups]: steps that the last sweep of a group has taken */
    double *space;         /* [threads][space_numbers] */
    const norma_chase_kernels *kernels;
} chase;

/* The sweep of one row. */
typedef struct sweep {
    int64_t row;
    norma_chase_reflector left, right;
} sweep;

static const norma_chase_kernels *choose_kernels(void)
{
#ifdef NORMA_X86_KERNELS
    if (norma_cpu_isa() == NORMA_ISA_AVX512)
        return &norma_chase_kernels_avx512;
    if (norma_cpu_isa() == NORMA_ISA_AVX2)
        return &norma_chase_kernels_avx2;
#endif
    return &norma_chase_kernels_scalar;
}

static int64_t smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* Steps of the sweep of a row. */
static int64_t count_steps(const chase *w, int64_t row)
{
    return (w->n - 1 - row + w->width - 1) / w->width;
}

static int64_t space_numbers(int64_t width, int64_t group)
{
    return 2 * width * group + 4 * width;
}

static int64_t choose_group(int64_t width)
{
    int64_t group = group_numbers / (4 * width * width);
    return group < 1 ? 1 : smaller(group, MOST_SWEEPS);
}

/* Step 0 reduces the row itself. Every later step changes the block above the diagonal that the
 * step before has filled. All steps end with a block on the diagonal. */
static void take_step(const chase *w, sweep *s, int64_t index, double *work)
{
    int64_t at = s->row + 1 + index * w->width;
    int size = (int)smaller(w->width, w->n - at);
    double *diagonal = w->base + at * w->lead + at;
    if (index > 0) {
        w->kernels->above((int)w->width, size, diagonal - w->width, w->lead, &s->left, &s->right,
                          work);
    } else {
        double *row = diagonal - 1;
        for (int c = 0; c < size; c++)
            work[c] = row[c * w->lead];
        row[0] = w->kernels->reflector(size, work, &s->right);
        for (int c = 1; c < size; c++)
            row[c * w->lead] = 0;
    }
    w->kernels->diagonal(size, diagonal, w->lead, &s->right, &s->left, work);
}

/* Waits until the last sweep of the group before has taken step + 1: the first sweep of this group
 * may then take `step`. */
static void wait_for(const chase *w, int64_t group, int64_t step)
{
    if (group == 0)
        return;
    while (atomic_load_explicit(&w->reached[group - 1], memory_order_acquire) < step + 2)
        sched_yield();
}

static void run_group(const chase *w, int64_t group, double *space)
{
    sweep sweeps[MOST_SWEEPS];
    int64_t first = group * w->group;
    int64_t n_sweeps = smaller(w->group, w->n - 1 - first);
    double *work = space + 2 * w->width * w->group;
    for (int64_t i = 0; i < n_sweeps; i++) {
        sweeps[i].row = first + i;
        sweeps[i].left.v = space + 2 * i * w->width;
        sweeps[i].right.v = sweeps[i].left.v + w->width;
    }
    int64_t n_rounds = count_steps(w, first) + 2 * (n_sweeps - 1);
    for (int64_t round = 0; round < n_rounds; round++) {
        wait_for(w, group, round);
        for (int64_t i = 0; i < n_sweeps; i++) {
            int64_t step = round - 2 * i;
            if (step >= 0 && step < count_steps(w, sweeps[i].row))
                take_step(w, &sweeps[i], step, work);
        }
        int64_t last = round - 2 * (n_sweeps - 1) + 1;
        atomic_store_explicit(&w->reached[group], last, memory_order_release);
    }
    atomic_store_explicit(&w->reached[group], INT64_MAX, memory_order_release);
}

static void fill_in(chase *w, const double *band)
{
    for (int64_t c = 0; c < w->n; c++)
        for (int64_t d = 0; d <= smaller(c, w->width); d++)
            w->base[c * w->lead + c - d] = band[c * (w->width + 1) + w->width - d];
}

static chase sizes_of(int64_t n, int64_t width)
{
    return (chase){.n = n, .width = width, .lead = 3 * width, .group = choose_group(width)};
}

static int64_t count_groups(const chase *w)
{
    return (w->n - 1 + w->group - 1) / w->group;
}

/* Measures or allocates: src/base/mem_place.h. */
static norma_status place(chase *w, int n_threads, double *bytes)
{
    NORMA_TRY(NORMA_PLACE(w->filled, w->n * (3 * w->width + 1) + 3 * w->width, bytes));
    NORMA_TRY(NORMA_PLACE(w->reached, count_groups(w), bytes));
    return NORMA_PLACE_UNSET(w->space, n_threads, space_numbers(w->width, w->group), bytes);
}

norma_status norma_chase_bidiagonal_local(int64_t n, int64_t width, const double *band,
                                          double *diagonal, double *beside)
{
    chase w = sizes_of(n, width);
    int64_t n_groups = count_groups(&w);
    norma_status status = place(&w, omp_get_max_threads(), NULL);
    NORMA_GOTO(status, status);
    w.base = w.filled + 2 * width;
    w.kernels = choose_kernels();
    fill_in(&w, band);
#pragma omp parallel
    {
        double *space = w.space + omp_get_thread_num() * space_numbers(width, w.group);
        for (int64_t g = omp_get_thread_num(); g < n_groups; g += omp_get_num_threads())
            run_group(&w, g, space);
    }
    for (int64_t c = 0; c < n; c++)
        diagonal[c] = w.base[c * w.lead + c];
    for (int64_t c = 0; c + 1 < n; c++)
        beside[c] = w.base[(c + 1) * w.lead + c];
done:
    NORMA_FREE(w.filled);
    NORMA_FREE(w.reached);
    NORMA_FREE(w.space);
    return status;
}

double norma_chase_bytes_local(int64_t n, int64_t width, int n_threads)
{
    chase w = sizes_of(n, width);
    double bytes = 0;
    (void)place(&w, n_threads, &bytes);
    return bytes;
}
