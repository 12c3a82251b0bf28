#include "src/features/structural_rank.h"

#include "src/base/mem_place.h"

#include <string.h>

/* Columns in this order: virtual ones, one for each active channel of the min rule; the skip
 * connection that gamma2 multiplies; features. Rows are those of the active channels, (a, j, k). */
struct norma_structural {
    const norma_width_rule *rule; /* borrowed */
    int64_t n_rows;               /* a, j, k */
    int64_t n_channels;           /* active ones */
    int64_t n_virtual;
    int64_t n_fixed;            /* columns before the features */
    int64_t n_features, n_room; /* added; allocated */
    int64_t n_matched;          /* rows */
    int64_t n_alive;            /* rows that searches may still visit */
    int64_t n_unvisited;        /* of these, not reached in the current search */
    int64_t least_width;
    bool skip_searched;
    int64_t width_first, width_second; /* c0 |K1|, c2 |K2| */
    int64_t *order;    /* [n_rows], owned; rows: unvisited, visited (the last first), dead */
    int64_t *position; /* [n_rows], owned; of a row in `order` */
    int64_t *match;    /* [n_rows], owned; the column, or -1 */
    int64_t *parent;   /* [n_rows], owned; the column from which a search reached the row */
    int64_t *free_rows, *free_position; /* [n_rows], owned; unmatched rows, a row in the list */
    int64_t *row_of;                    /* [n_fixed + n_room], owned; matched row, or -1 */
    int64_t *offset1, *offset2;         /* [|K1|], [|K2|], owned; position of a tap in K */
    unsigned char *support1, *support2; /* [n_room][width_first], [n_room][width_second], owned */
    int64_t *list1, *list2, n_list1, n_list2; /* owned; the nonzeros of the current column */
};

/* --- the support of a column ----------------------------------------------------------------- */

static int64_t channel_of(const norma_structural *s, int64_t a)
{
    return s->rule->width == NORMA_WIDTH_MIN ? s->rule->active[a] : a;
}

/* Does a column with given values (virtual, skip) have the row? */
static bool fixed_meets(const norma_structural *s, int64_t column, int64_t row)
{
    int64_t length = s->rule->row_length;
    int64_t a = row / length;
    int64_t I = channel_of(s, a) * length + row % length;
    if (column < s->n_virtual)
        return a == column && s->rule->target[I] != 0;
    return s->rule->skip[I] != 0;
}

/* Does the column have the row? */
static bool meets(const norma_structural *s, int64_t column, int64_t row)
{
    if (column < s->n_fixed)
        return fixed_meets(s, column, row);
    const norma_kernel *kernel = &s->rule->shape.kernel;
    int64_t n_taps1 = norma_kernel_taps(kernel->first);
    int64_t n_taps2 = norma_kernel_taps(kernel->second);
    int64_t n_taps = norma_kernel_taps(kernel->composite);
    int64_t J = column - s->n_fixed;
    int64_t i = channel_of(s, row / s->rule->row_length);
    int64_t j = row % s->rule->row_length / n_taps;
    int64_t y = row % n_taps / kernel->composite.width;
    int64_t x = row % n_taps % kernel->composite.width;
    const unsigned char *first = s->support1 + J * s->width_first + j * n_taps1;
    const unsigned char *second = s->support2 + J * s->width_second + i * n_taps2;
    for (int64_t q = 0; q < n_taps1; q++) {
        int64_t py = y - q / kernel->first.width;
        int64_t px = x - q % kernel->first.width;
        if (first[q] && py >= 0 && py < kernel->second.height && px >= 0 &&
            px < kernel->second.width && second[py * kernel->second.width + px])
            return true;
    }
    return false;
}

/* Lists where the nonzeros of a feature lie: offsets (j, q) of `first` within a channel's row,
 * offsets (a, p) of `second` within the rows. */
static void list_nonzeros(norma_structural *s, int64_t J)
{
    const norma_kernel *kernel = &s->rule->shape.kernel;
    int64_t n_taps1 = norma_kernel_taps(kernel->first);
    int64_t n_taps2 = norma_kernel_taps(kernel->second);
    int64_t n_taps = norma_kernel_taps(kernel->composite);
    const unsigned char *first = s->support1 + J * s->width_first;
    const unsigned char *second = s->support2 + J * s->width_second;
    s->n_list1 = 0;
    s->n_list2 = 0;
    for (int64_t e = 0; e < s->width_first; e++)
        if (first[e])
            s->list1[s->n_list1++] = e / n_taps1 * n_taps + s->offset1[e % n_taps1];
    for (int64_t a = 0; a < s->n_channels; a++)
        for (int64_t p = 0; p < n_taps2; p++)
            if (second[channel_of(s, a) * n_taps2 + p])
                s->list2[s->n_list2++] = a * s->rule->row_length + s->offset2[p];
}

/* --- the search ------------------------------------------------------------------------------ */

static void visit(norma_structural *s, int64_t column, int64_t row)
{
    int64_t at = s->position[row];
    int64_t last = s->order[--s->n_unvisited];
    s->order[at] = last;
    s->position[last] = at;
    s->order[s->n_unvisited] = row;
    s->position[row] = s->n_unvisited;
    s->parent[row] = column;
}

static bool is_unvisited(const norma_structural *s, int64_t row)
{
    return s->position[row] < s->n_unvisited;
}

/* A free row of the feature whose nonzeros are listed, or -1. Tries the shorter of two lists. */
static int64_t find_free(const norma_structural *s, int64_t column)
{
    int64_t n_free = s->n_rows - s->n_matched;
    if (n_free < s->n_list1 * s->n_list2) {
        for (int64_t f = 0; f < n_free; f++)
            if (meets(s, column, s->free_rows[f]))
                return s->free_rows[f];
        return -1;
    }
    for (int64_t b = 0; b < s->n_list2; b++)
        for (int64_t a = 0; a < s->n_list1; a++)
            if (s->match[s->list2[b] + s->list1[a]] < 0)
                return s->list2[b] + s->list1[a];
    return -1;
}

/* Visits all rows of a feature whose nonzeros are listed. */
static void visit_feature(norma_structural *s, int64_t column)
{
    if (s->n_unvisited < s->n_list1 * s->n_list2) {
        for (int64_t u = s->n_unvisited - 1; u >= 0; u--)
            if (meets(s, column, s->order[u]))
                visit(s, column, s->order[u]);
        return;
    }
    for (int64_t b = 0; b < s->n_list2; b++)
        for (int64_t a = 0; a < s->n_list1; a++)
            if (is_unvisited(s, s->list2[b] + s->list1[a]))
                visit(s, column, s->list2[b] + s->list1[a]);
}

/* The same two steps for a column with given values: a free row, or -1 and its rows visited. */
static int64_t expand_fixed(norma_structural *s, int64_t column)
{
    int64_t start = column < s->n_virtual ? column * s->rule->row_length : 0;
    int64_t end = column < s->n_virtual ? start + s->rule->row_length : s->n_rows;
    for (int64_t row = start; row < end; row++)
        if (s->match[row] < 0 && fixed_meets(s, column, row))
            return row;
    for (int64_t row = start; row < end; row++)
        if (is_unvisited(s, row) && fixed_meets(s, column, row))
            visit(s, column, row);
    return -1;
}

static int64_t expand(norma_structural *s, int64_t column)
{
    if (column < s->n_fixed)
        return expand_fixed(s, column);
    list_nonzeros(s, column - s->n_fixed);
    int64_t row = find_free(s, column);
    if (row < 0)
        visit_feature(s, column);
    return row;
}

/* Matches a free row, which `column` has, and passes on along the path to the column `start`. */
static void augment(norma_structural *s, int64_t start, int64_t column, int64_t row)
{
    int64_t n_free = s->n_rows - s->n_matched;
    int64_t at = s->free_position[row];
    s->free_rows[at] = s->free_rows[n_free - 1];
    s->free_position[s->free_rows[at]] = at;
    s->n_matched++;
    for (;;) {
        int64_t before = s->row_of[column];
        s->match[row] = column;
        s->row_of[column] = row;
        if (column == start)
            return;
        row = before;
        column = s->parent[row];
    }
}

/* Searches an augmenting path from an unmatched column. When there is none, the rows reached are
 * dead: all columns matched to them have no other rows. */
static void search(norma_structural *s, int64_t start)
{
    int64_t next = s->n_alive;
    int64_t column = start;
    s->n_unvisited = s->n_alive;
    for (;;) {
        int64_t row = expand(s, column);
        if (row >= 0) {
            augment(s, start, column, row);
            return;
        }
        if (next == s->n_unvisited)
            break;
        column = s->match[s->order[--next]];
    }
    s->n_alive = s->n_unvisited;
}

/* --- building -------------------------------------------------------------------------------- */

/* Room for features. Measures or allocates: src/base/mem_place.h. */
static norma_status place_room(norma_structural *s, int64_t n_room, double *bytes)
{
    NORMA_TRY(NORMA_PLACE(s->row_of, s->n_fixed + n_room, bytes));
    NORMA_TRY(NORMA_PLACE_UNSET(s->support1, n_room, s->width_first, bytes));
    return NORMA_PLACE_UNSET(s->support2, n_room, s->width_second, bytes);
}

static void free_room(norma_structural *s)
{
    NORMA_FREE(s->row_of);
    NORMA_FREE(s->support1);
    NORMA_FREE(s->support2);
}

static norma_status grow(norma_structural *s, int64_t n_room)
{
    norma_structural larger = *s;
    larger.row_of = NULL;
    larger.support1 = larger.support2 = NULL;
    norma_status status = place_room(&larger, n_room, NULL);
    if (status != NORMA_OK) {
        free_room(&larger);
        return status;
    }
    if (s->row_of)
        memcpy(larger.row_of, s->row_of,
               (size_t)(s->n_fixed + s->n_features) * sizeof *larger.row_of);
    if (s->n_features > 0) {
        memcpy(larger.support1, s->support1, (size_t)(s->n_features * s->width_first));
        memcpy(larger.support2, s->support2, (size_t)(s->n_features * s->width_second));
    }
    free_room(s);
    *s = larger;
    s->n_room = n_room;
    return NORMA_OK;
}

static norma_status place(norma_structural *s, const norma_kernel *kernel, double *bytes)
{
    NORMA_TRY(NORMA_PLACE(s->order, s->n_rows, bytes));
    NORMA_TRY(NORMA_PLACE(s->position, s->n_rows, bytes));
    NORMA_TRY(NORMA_PLACE(s->match, s->n_rows, bytes));
    NORMA_TRY(NORMA_PLACE(s->parent, s->n_rows, bytes));
    NORMA_TRY(NORMA_PLACE(s->free_rows, s->n_rows, bytes));
    NORMA_TRY(NORMA_PLACE(s->free_position, s->n_rows, bytes));
    NORMA_TRY(NORMA_PLACE(s->list1, s->width_first, bytes));
    NORMA_TRY(NORMA_PLACE(s->list2, s->width_second, bytes));
    NORMA_TRY(NORMA_PLACE(s->offset1, norma_kernel_taps(kernel->first), bytes));
    return NORMA_PLACE(s->offset2, norma_kernel_taps(kernel->second), bytes);
}

/* Rows free, virtual columns matched: all of them can be, each has rows of its own. */
static void begin(norma_structural *s)
{
    const norma_kernel *kernel = &s->rule->shape.kernel;
    for (int64_t q = 0; q < norma_kernel_taps(kernel->first); q++)
        s->offset1[q] = norma_kernel_composite_tap(kernel, q, 0);
    for (int64_t p = 0; p < norma_kernel_taps(kernel->second); p++)
        s->offset2[p] = norma_kernel_composite_tap(kernel, 0, p);
    for (int64_t row = 0; row < s->n_rows; row++) {
        s->order[row] = s->position[row] = row;
        s->free_rows[row] = s->free_position[row] = row;
        s->match[row] = -1;
        s->parent[row] = -1;
    }
    for (int64_t column = 0; column < s->n_fixed; column++)
        s->row_of[column] = -1;
    s->n_alive = s->n_rows;
    for (int64_t column = 0; column < s->n_virtual; column++)
        search(s, column);
}

norma_status norma_structural_create(const norma_width_rule *rule, norma_structural **out)
{
    norma_structural *s = NULL;
    NORMA_TRY(NORMA_CALLOC(s, 1));
    bool min = rule->width == NORMA_WIDTH_MIN;
    s->rule = rule;
    s->n_channels = min ? rule->n_active : rule->shape.n_channels_out;
    s->n_rows = s->n_channels * rule->row_length;
    s->n_virtual = min ? s->n_channels : 0;
    s->n_fixed = s->n_virtual + (rule->skip_inside ? 1 : 0);
    s->width_first = norma_khatri_rao_width_first(&rule->shape);
    s->width_second = norma_khatri_rao_width_second(&rule->shape);
    norma_status status = place(s, &rule->shape.kernel, NULL);
    if (status == NORMA_OK)
        status = grow(s, 0);
    if (status == NORMA_OK) {
        begin(s);
        *out = s;
    } else
        norma_structural_destroy(&s);
    return status;
}

/* Active channels whose virtual column is in every maximum matching. */
static int64_t count_lost(const norma_structural *s)
{
    int64_t n = 0;
    for (int64_t column = 0; column < s->n_virtual; column++)
        if (s->position[s->row_of[column]] < s->n_alive)
            n++;
    return n;
}

/* One feature more: a path, or dead rows; then the least width may have been reached. */
static void add_feature(norma_structural *s)
{
    int64_t column = s->n_fixed + s->n_features++;
    s->row_of[column] = -1;
    search(s, column);
    if (s->n_matched < s->n_rows)
        return;
    if (s->rule->skip_inside && !s->skip_searched) {
        s->skip_searched = true; /* its column is never matched: from there channels are reached */
        search(s, s->n_virtual);
    }
    if (s->least_width == 0 && count_lost(s) == 0)
        s->least_width = s->n_features;
}

/* Room that more features than before are given. */
static int64_t enlarged(int64_t wanted)
{
    return wanted + wanted / 4;
}

norma_status norma_structural_add(norma_structural *s, int64_t n, const double *second,
                                  const double *first)
{
    int64_t wanted = s->n_features + n;
    if (wanted > s->n_room)
        NORMA_TRY(grow(s, s->n_room > 0 ? enlarged(wanted) : wanted));
    for (int64_t k = 0; k < n; k++) {
        unsigned char *support1 = s->support1 + s->n_features * s->width_first;
        unsigned char *support2 = s->support2 + s->n_features * s->width_second;
        for (int64_t e = 0; e < s->width_first; e++)
            support1[e] = first[k * s->width_first + e] != 0;
        for (int64_t e = 0; e < s->width_second; e++)
            support2[e] = second[k * s->width_second + e] != 0;
        add_feature(s);
    }
    return NORMA_OK;
}

norma_structural_rank norma_structural_get(const norma_structural *s)
{
    const norma_width_rule *rule = s->rule;
    norma_structural_rank out = {.n_features = s->n_features,
                                 .n_system = rule->n_system,
                                 .rank = s->n_matched - s->n_virtual,
                                 .least_width = s->least_width};
    if (rule->closed && s->n_features > out.rank)
        out.rank++; /* the closing row */
    int64_t most = s->n_features < rule->n_system ? s->n_features : rule->n_system;
    out.deficiency = most - out.rank;
    if (s->n_features >= rule->n_system)
        out.n_lost = rule->skip_inside && !s->skip_searched ? 0 : count_lost(s);
    return out;
}

double norma_structural_bytes(const norma_khatri_rao_shape *shape, int64_t n_features)
{
    norma_structural s = {.n_rows = norma_khatri_rao_n_rows(shape),
                          .n_fixed = shape->n_channels_out + 1,
                          .width_first = norma_khatri_rao_width_first(shape),
                          .width_second = norma_khatri_rao_width_second(shape)};
    double bytes = (double)sizeof s;
    (void)place(&s, &shape->kernel, &bytes);
    (void)place_room(&s, n_features, &bytes);
    (void)place_room(&s, enlarged(n_features), &bytes);
    return bytes;
}

void norma_structural_destroy(norma_structural **structural)
{
    norma_structural *s = *structural;
    if (!s)
        return;
    NORMA_FREE(s->order);
    NORMA_FREE(s->position);
    NORMA_FREE(s->match);
    NORMA_FREE(s->parent);
    NORMA_FREE(s->free_rows);
    NORMA_FREE(s->free_position);
    NORMA_FREE(s->row_of);
    NORMA_FREE(s->offset1);
    NORMA_FREE(s->offset2);
    NORMA_FREE(s->support1);
    NORMA_FREE(s->support2);
    NORMA_FREE(s->list1);
    NORMA_FREE(s->list2);
    NORMA_FREE(*structural);
}
