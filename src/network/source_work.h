#ifndef NORMA_NETWORK_SOURCE_WORK_H
#define NORMA_NETWORK_SOURCE_WORK_H
/*
 * Inside of src/network/source: how a source pair's run is cut into products. For src/network only.
 *
 * Images are gathered into groups whose columns (pixels of the hidden layer, all images of the
 * group side by side) one GEMM takes at once: one image a group when it has enough pixels, several
 * otherwise. Image number n sits at place n mod group; missing images are zeros. A group's columns
 * are cut into tiles, features into blocks. Neither cut depends on the number of threads, ranks or
 * images, so an image's bits do not either.
 */
#include "src/network/source.h"

/* Features propagated at once: the inner dimension of the second product. */
#define NORMA_SOURCE_BLOCK 256
/* Columns of a tile at most. Block x tile of hidden values take 2 MiB: about a core's cache. */
#define NORMA_SOURCE_TILE 1024
/* A group has at least this many columns where images allow. */
#define NORMA_SOURCE_MIN_COLUMNS 64

typedef struct norma_source_layout {
    int64_t n_pixels;    /* of the hidden layer */
    int64_t group;       /* images a group */
    int64_t n_columns;   /* group * n_pixels */
    int64_t tile;        /* columns a tile; the last one may be shorter */
    int64_t n_tiles;     /* of a group */
    int64_t n_parts;     /* groups of channels */
    int64_t n_features;  /* of a part */
    int64_t size_first;  /* c0 |K1| of a part */
    int64_t size_second; /* c2 |K2| of a part */
} norma_source_layout;

/* Doubles of a group of images: columns of the inputs, products of the outputs, of all parts. */
int64_t norma_source_layout_columns(const norma_source_layout *layout);
int64_t norma_source_layout_products(const norma_source_layout *layout);

struct norma_source_work {
    int n_threads;
    int64_t arena_size;             /* doubles in arena */
    int64_t hidden_size, conv_size; /* of one thread */
    double *arena;                  /* columns, then products of all groups; owned */
    double *w1, *w2;                /* [block][size_first], [block][size_second]; owned */
    double *hidden;                 /* [n_threads][block * tile]; owned */
    double *conv;                   /* [n_threads][conv_size]; owned */
    double *range;                  /* [n_threads][2][block]; owned */
    int64_t skip_size;              /* of one thread */
    double *skip;                   /* [n_threads][skip_size]; owned */
    double *skip_weights;           /* of one pair; owned */
};

void norma_source_layout_init(norma_source_layout *layout, const norma_source_shape *shape);

/* Groups that images first .. first + n_images - 1 touch. */
int64_t norma_source_layout_groups(const norma_source_layout *layout, int64_t first,
                                   int64_t n_images);

/* The most images, from `first` on and at most n_images, whose groups fit into the arena when each
 * takes `group_size` doubles; at least 1. */
int64_t norma_source_layout_fit(const norma_source_layout *layout, int64_t arena_size,
                                int64_t group_size, int64_t first, int64_t n_images);

#endif
