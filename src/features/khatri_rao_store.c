#include "src/base/cpu.h"
#include "src/base/index.h"
#include "src/base/mem_place.h"
#include "src/features/khatri_rao_state.h"

#include <omp.h>

/* Bytes of wide weights of the features that a thread works on at a time: they are read twice, and
 * are to stay in the second-level cache. */
#define BLOCK_BYTES (256 << 10)
/* Long sums are made of blocks': too many short ones round more. */
#define MIN_BLOCK 240
#define MAX_BLOCK 480

static const norma_khatri_rao_kernels *kernels_of(bool single)
{
#ifdef NORMA_X86_KERNELS
    if (norma_cpu_isa() == NORMA_ISA_AVX512)
        return norma_khatri_rao_kernels_avx512[single];
    if (norma_cpu_isa() == NORMA_ISA_AVX2)
        return norma_khatri_rao_kernels_avx2[single];
#endif
    return norma_khatri_rao_kernels_scalar[single];
}

static int64_t round_up(int64_t n, int64_t step)
{
    return norma_index_ceil_divide(n, step) * step;
}

static int64_t clamp(int64_t x, int64_t least, int64_t most)
{
    return x < least ? least : x > most ? most : x;
}

static norma_khatri_rao_sizes sizes_of(const norma_khatri_rao_shape *shape, int64_t n_features,
                                       const norma_khatri_rao_mode *mode)
{
    const norma_khatri_rao_kernels *kernels = kernels_of(mode->single);
    int64_t n_first = norma_khatri_rao_width_first(shape);
    int64_t n_second = norma_khatri_rao_width_second(shape);
    norma_khatri_rao_sizes s = {.second_is_wide = n_second >= n_first,
                                .n_wide = n_second >= n_first ? n_second : n_first,
                                .n_narrow = n_second >= n_first ? n_first : n_second,
                                .real = (int64_t)(mode->single ? sizeof(float) : sizeof(double)),
                                .n_threads = omp_get_max_threads()};
    s.wide_tiles = norma_index_ceil_divide(s.n_wide, kernels->tile);
    s.n_vectors = norma_index_ceil_divide(s.n_narrow, kernels->lanes);
    s.wide = s.wide_tiles * kernels->tile;
    s.narrow = s.n_vectors * kernels->lanes;
    s.part = round_up(norma_index_ceil_divide(n_features, s.n_threads), kernels->tile);
    s.block = clamp(BLOCK_BYTES / (s.wide * s.real), MIN_BLOCK, MAX_BLOCK);
    s.block = clamp(round_up(s.block, kernels->tile), kernels->tile, s.part);
    return s;
}

/* Where number w of a thread's packed row is among the wide ones. */
static int64_t wide_place(const norma_khatri_rao *kr, int64_t row, int64_t w)
{
    int64_t tile = kr->kernels->tile;
    return ((row / tile * kr->size.wide_tiles + w / tile) * tile + row % tile) * tile + w % tile;
}

/* Packs one tile of features, `count` of which exist, from their drawn weights. */
static void pack_tile(const norma_khatri_rao *kr, const double *first, const double *second,
                      int64_t count, unsigned char *wide, unsigned char *narrow)
{
    const norma_khatri_rao_sizes *s = &kr->size;
    const double *from_wide = s->second_is_wide ? second : first;
    const double *from_narrow = s->second_is_wide ? first : second;
    double per_wide = 1 / (s->second_is_wide ? kr->mode.unit_second : kr->mode.unit_first);
    double per_narrow = 1 / (s->second_is_wide ? kr->mode.unit_first : kr->mode.unit_second);
    for (int64_t row = 0; row < kr->kernels->tile; row++) {
        for (int64_t w = 0; w < s->wide; w++)
            norma_khatri_rao_put(
                kr, wide, wide_place(kr, row, w),
                row < count && w < s->n_wide ? from_wide[row * s->n_wide + w] * per_wide : 0);
        for (int64_t w = 0; w < s->narrow; w++)
            norma_khatri_rao_put(kr, narrow, row * s->narrow + w,
                                 row < count && w < s->n_narrow
                                     ? from_narrow[row * s->n_narrow + w] * per_narrow
                                     : 0);
    }
}

void norma_khatri_rao_pack(const norma_khatri_rao *kr, const norma_khatri_rao_worker *w,
                           int64_t start, int64_t count, unsigned char *wide, unsigned char *narrow)
{
    const int64_t tile = kr->kernels->tile;
    double *first = w->drawn;
    double *second = w->drawn + tile * norma_khatri_rao_width_first(&kr->shape);
    for (int64_t row = 0; row < count; row += tile) {
        int64_t n = count - row < tile ? count - row : tile;
        kr->source.fill(kr->source.context, start + row, n, first, second);
        pack_tile(kr, first, second, n, wide + row * kr->size.wide * kr->size.real,
                  narrow + row * kr->size.narrow * kr->size.real);
    }
}

/* Measures or allocates: src/base/mem_place.h. */
static norma_status place_worker(const norma_khatri_rao *kr, norma_khatri_rao_worker *w,
                                 double *bytes)
{
    const norma_khatri_rao_sizes *s = &kr->size;
    const int64_t real = s->real;
    int64_t held = kr->mode.regenerated ? s->block : s->part;
    NORMA_TRY(NORMA_PLACE_UNSET(w->wide, held, s->wide * real, bytes));
    NORMA_TRY(NORMA_PLACE_UNSET(w->narrow, held, s->narrow * real, bytes));
    NORMA_TRY(NORMA_PLACE_UNSET(w->scaled, s->block, s->narrow * real, bytes));
    NORMA_TRY(NORMA_PLACE_UNSET(w->folded, s->wide, s->narrow * real, bytes));
    NORMA_TRY(NORMA_PLACE_UNSET(w->factors, s->block, 1, bytes));
    return NORMA_PLACE_UNSET(w->drawn, kr->kernels->tile, s->n_wide + s->n_narrow, bytes);
}

static norma_status place(norma_khatri_rao *kr, double *bytes)
{
    const norma_khatri_rao_sizes *s = &kr->size;
    norma_khatri_rao_worker measured;
    NORMA_TRY(NORMA_PLACE(kr->workers, s->n_threads, bytes));
    for (int t = 0; t < s->n_threads; t++)
        NORMA_TRY(place_worker(kr, bytes ? &measured : &kr->workers[t], bytes));
    NORMA_TRY(NORMA_PLACE_ROWS(kr->unfolded, s->wide, s->narrow * s->real, bytes));
    NORMA_TRY(NORMA_PLACE(kr->column_start, s->n_narrow, bytes));
    NORMA_TRY(NORMA_PLACE(kr->column_step, s->n_narrow, bytes));
    return NORMA_PLACE_ROWS(kr->tap, norma_kernel_taps(kr->shape.kernel.second),
                            norma_kernel_taps(kr->shape.kernel.first), bytes);
}

/* Panels have two vectors, the last one where their number is odd. */
static void place_column(norma_khatri_rao *kr, int64_t c)
{
    int64_t lanes = kr->kernels->lanes;
    int64_t start = c / (2 * lanes) * 2;
    kr->column_step[c] = (start + 2 <= kr->size.n_vectors ? 2 : 1) * lanes;
    kr->column_start[c] = (kr->size.wide - 1) * lanes * start + c;
}

static void fill_tables(norma_khatri_rao *kr)
{
    int64_t n_first = norma_kernel_taps(kr->shape.kernel.first);
    int64_t n_second = norma_kernel_taps(kr->shape.kernel.second);
    for (int64_t c = 0; c < kr->size.n_narrow; c++)
        place_column(kr, c);
    for (int64_t p = 0; p < n_second; p++)
        for (int64_t q = 0; q < n_first; q++)
            kr->tap[p * n_first + q] = norma_kernel_composite_tap(&kr->shape.kernel, q, p);
}

static norma_khatri_rao describe(const norma_khatri_rao_shape *shape, int64_t n_features,
                                 const norma_khatri_rao_mode *mode)
{
    return (norma_khatri_rao){.shape = *shape,
                              .mode = *mode,
                              .kernels = kernels_of(mode->single),
                              .n_features = n_features,
                              .size = sizes_of(shape, n_features, mode)};
}

double norma_khatri_rao_bytes(const norma_khatri_rao_shape *shape, int64_t n_features,
                              const norma_khatri_rao_mode *mode)
{
    norma_khatri_rao kr = describe(shape, n_features, mode);
    double bytes = (double)sizeof kr;
    (void)place(&kr, &bytes);
    return bytes;
}

norma_status norma_khatri_rao_create(const norma_khatri_rao_shape *shape, int64_t n_features,
                                     const norma_khatri_rao_source *source,
                                     const norma_khatri_rao_mode *mode, norma_khatri_rao **out)
{
    norma_khatri_rao *kr = NULL;
    norma_status status = norma_khatri_rao_check(shape);
    if (status != NORMA_OK)
        return status;
    NORMA_GOTO(status, NORMA_CALLOC(kr, 1));
    *kr = describe(shape, n_features, mode);
    kr->source = *source;
    if (!mode->single || mode->unit_first == 0)
        kr->mode.unit_first = 1;
    if (!mode->single || mode->unit_second == 0)
        kr->mode.unit_second = 1;
    NORMA_GOTO(status, place(kr, NULL));
    fill_tables(kr);
#pragma omp parallel for schedule(static, 1) num_threads(kr->size.n_threads)
    for (int t = 0; t < kr->size.n_threads; t++) {
        norma_khatri_rao_worker *w = &kr->workers[t];
        w->count = norma_index_share(n_features, kr->size.n_threads, t, &w->first);
        if (!mode->regenerated)
            norma_khatri_rao_pack(kr, w, w->first, w->count, w->wide, w->narrow);
    }
    *out = kr;
    kr = NULL;
done:
    norma_khatri_rao_destroy(&kr);
    return status;
}

/* Row `row` of what a worker has stored, back in the order of the layers. */
static void unpack(const norma_khatri_rao *kr, const norma_khatri_rao_worker *w, int64_t row,
                   double *first, double *second)
{
    const norma_khatri_rao_sizes *s = &kr->size;
    double *wide = s->second_is_wide ? second : first;
    double *narrow = s->second_is_wide ? first : second;
    for (int64_t e = 0; e < s->n_wide; e++)
        wide[e] = norma_khatri_rao_get(kr, w->wide, wide_place(kr, row, e));
    for (int64_t e = 0; e < s->n_narrow; e++)
        narrow[e] = norma_khatri_rao_get(kr, w->narrow, row * s->narrow + e);
}

void norma_khatri_rao_read(const void *context, int64_t start, int64_t count, double *first,
                           double *second)
{
    const norma_khatri_rao *kr = context;
    int64_t n_first = norma_khatri_rao_width_first(&kr->shape);
    int64_t n_second = norma_khatri_rao_width_second(&kr->shape);
    if (kr->mode.regenerated) {
        kr->source.fill(kr->source.context, start, count, first, second);
        for (int64_t e = 0; kr->mode.single && e < count * n_first; e++)
            first[e] = (double)(float)(first[e] / kr->mode.unit_first);
        for (int64_t e = 0; kr->mode.single && e < count * n_second; e++)
            second[e] = (double)(float)(second[e] / kr->mode.unit_second);
        return;
    }
    const norma_khatri_rao_worker *w = kr->workers;
    for (int64_t J = start; J < start + count; J++) {
        while (J >= w->first + w->count)
            w++;
        unpack(kr, w, J - w->first, first + (J - start) * n_first, second + (J - start) * n_second);
    }
}

void norma_khatri_rao_destroy(norma_khatri_rao **kr)
{
    if (!*kr)
        return;
    for (int t = 0; (*kr)->workers && t < (*kr)->size.n_threads; t++) {
        norma_khatri_rao_worker *w = &(*kr)->workers[t];
        NORMA_FREE(w->wide);
        NORMA_FREE(w->narrow);
        NORMA_FREE(w->scaled);
        NORMA_FREE(w->folded);
        NORMA_FREE(w->factors);
        NORMA_FREE(w->drawn);
    }
    NORMA_FREE((*kr)->workers);
    NORMA_FREE((*kr)->unfolded);
    NORMA_FREE((*kr)->tap);
    NORMA_FREE((*kr)->column_start);
    NORMA_FREE((*kr)->column_step);
    NORMA_FREE(*kr);
}
