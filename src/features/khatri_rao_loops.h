/*
 * The loops of src/features/khatri_rao_kernels.h. Included once a precision by
 * src/features/khatri_rao_both_loops.h, which defines before: KR_REAL, KR_LANES and KR_NAME(what).
 * Tiles of KR_TILE rows and two vectors of columns are summed in registers: everything that indexes
 * them is unrolled.
 */
typedef KR_REAL KR_NAME(vector) __attribute__((vector_size(KR_LANES * sizeof(KR_REAL)), may_alias));

/* acc[row][v] += tile[row][k] b[k][v], or tile[k][row] where `across`, k over the whole tile. */
static inline __attribute__((always_inline)) void
KR_NAME(add_tile)(int n_v, int across, const KR_REAL *tile, const KR_VECTOR *b, KR_VECTOR (*acc)[2])
{
    KR_UNROLL_PARTLY
    for (int k = 0; k < KR_TILE; k++, b += n_v) {
        KR_UNROLL
        for (int row = 0; row < KR_TILE; row++) {
            KR_REAL weight = across ? tile[k * KR_TILE + row] : tile[row * KR_TILE + k];
            KR_UNROLL
            for (int v = 0; v < n_v; v++)
                acc[row][v] += weight * b[v];
        }
    }
}

static inline __attribute__((always_inline)) void KR_NAME(clear)(int n_v, KR_VECTOR (*acc)[2])
{
    KR_UNROLL
    for (int row = 0; row < KR_TILE; row++) {
        KR_UNROLL
        for (int v = 0; v < n_v; v++)
            acc[row][v] = (KR_VECTOR){0};
    }
}

/* to = acc, or += where `more`: long sums are made of short ones, which rounds less. */
static inline __attribute__((always_inline)) void KR_NAME(store)(int n_v, int more,
                                                                 KR_VECTOR (*acc)[2], KR_VECTOR *to)
{
    KR_UNROLL
    for (int row = 0; row < KR_TILE; row++) {
        KR_UNROLL
        for (int v = 0; v < n_v; v++) {
            if (more)
                acc[row][v] += to[row * n_v + v];
            to[row * n_v + v] = acc[row][v];
        }
    }
}

/* One panel of n_v vectors, from vector `start` on. The wide numbers are taken KR_DEEP tiles at a
 * time, whose part of the panel stays in cache for all features of the block. */
static inline __attribute__((always_inline)) void
KR_NAME(multiply_panel)(int n_v, int64_t start, const norma_khatri_rao_block *block,
                        const KR_REAL *unfolded)
{
    const KR_VECTOR *panel = (const KR_VECTOR *)unfolded + block->wide_tiles * KR_TILE * start;
    KR_VECTOR *out = (KR_VECTOR *)block->scaled + block->n_tiles * KR_TILE * start;
    for (int64_t from = 0; from < block->wide_tiles; from += KR_DEEP) {
        int64_t to = from + KR_DEEP < block->wide_tiles ? from + KR_DEEP : block->wide_tiles;
        for (int64_t f = 0; f < block->n_tiles; f++) {
            const KR_REAL *tile =
                (const KR_REAL *)block->wide + (f * block->wide_tiles + from) * KR_SQUARE;
            KR_VECTOR *place = out + f * KR_TILE * n_v;
            KR_VECTOR acc[KR_TILE][2];
            KR_NAME(clear)(n_v, acc);
            for (int64_t t = from; t < to; t++, tile += KR_SQUARE)
                KR_NAME(add_tile)(n_v, 0, tile, panel + t * KR_TILE * n_v, acc);
            KR_NAME(store)(n_v, from > 0, acc, place);
        }
    }
}

static inline __attribute__((always_inline)) void
KR_NAME(accumulate_panel)(int n_v, int64_t start, const norma_khatri_rao_block *block,
                          KR_REAL *folded)
{
    KR_VECTOR *panel = (KR_VECTOR *)folded + block->wide_tiles * KR_TILE * start;
    const KR_VECTOR *rows = (const KR_VECTOR *)block->scaled + block->n_tiles * KR_TILE * start;
    for (int64_t t = 0; t < block->wide_tiles; t++) {
        const KR_REAL *tile = (const KR_REAL *)block->wide + t * KR_SQUARE;
        KR_VECTOR *place = panel + t * KR_TILE * n_v;
        KR_VECTOR acc[KR_TILE][2];
        KR_NAME(clear)(n_v, acc);
        for (int64_t f = 0; f < block->n_tiles; f++, tile += block->wide_tiles * KR_SQUARE)
            KR_NAME(add_tile)(n_v, 1, tile, rows + f * KR_TILE * n_v, acc);
        KR_NAME(store)(n_v, 1, acc, place);
    }
}

static void KR_NAME(multiply)(const norma_khatri_rao_block *block, const void *unfolded)
{
    int64_t v = 0;
    for (; v + 2 <= block->n_vectors; v += 2)
        KR_NAME(multiply_panel)(2, v, block, unfolded);
    if (v < block->n_vectors)
        KR_NAME(multiply_panel)(1, v, block, unfolded);
}

static void KR_NAME(accumulate)(const norma_khatri_rao_block *block, void *folded)
{
    int64_t v = 0;
    for (; v + 2 <= block->n_vectors; v += 2)
        KR_NAME(accumulate_panel)(2, v, block, folded);
    if (v < block->n_vectors)
        KR_NAME(accumulate_panel)(1, v, block, folded);
}

/* Vector v of a row of scaled. */
static inline KR_VECTOR *KR_NAME(scaled_at)(const norma_khatri_rao_block *block, int64_t row,
                                            int64_t v)
{
    int64_t start = v & ~(int64_t)1;
    int64_t n_v = start + 2 <= block->n_vectors ? 2 : 1;
    return (KR_VECTOR *)block->scaled + block->n_tiles * KR_TILE * start + row * n_v + v - start;
}

static void KR_NAME(dot)(const norma_khatri_rao_block *block, double *dots)
{
    const KR_VECTOR *narrow = block->narrow;
    for (int64_t row = 0; row < block->n_tiles * KR_TILE; row++, narrow += block->n_vectors) {
        KR_VECTOR sum = {0};
        double total = 0;
        for (int64_t v = 0; v < block->n_vectors; v++)
            sum += narrow[v] * *KR_NAME(scaled_at)(block, row, v);
        for (int lane = 0; lane < KR_LANES; lane++)
            total += (double)sum[lane];
        dots[row] = total;
    }
}

static void KR_NAME(scale)(const norma_khatri_rao_block *block, const double *factors)
{
    const KR_VECTOR *narrow = block->narrow;
    for (int64_t row = 0; row < block->n_tiles * KR_TILE; row++, narrow += block->n_vectors) {
        KR_REAL factor = (KR_REAL)factors[row];
        for (int64_t v = 0; v < block->n_vectors; v++)
            *KR_NAME(scaled_at)(block, row, v) = factor * narrow[v];
    }
}

static const norma_khatri_rao_kernels KR_NAME(kernels) = {
    KR_TILE, KR_LANES, KR_NAME(multiply), KR_NAME(dot), KR_NAME(scale), KR_NAME(accumulate)};
