#ifndef NORMA_EXPERIMENTS_RECONSTRUCT_JOURNAL_H
#define NORMA_EXPERIMENTS_RECONSTRUCT_JOURNAL_H
/*
 * Finished layers and comparisons as bytes, so that a run that was stopped or killed goes on with
 * the others (io/checkpoint/checkpoint.h). Weights are not kept: they are drawn again.
 */
#include "experiments/reconstruct/run.h"

/* Appends lines "  key: value" that tell the contents of the input files from others under the same
 * names. Local. */
void norma_reconstruct_fingerprint(const norma_reconstruct_inputs *inputs, norma_text *text);

/* A finished layer: the record, its maps, measured statistics and singular values where there are
 * any, and the orders[n_orders] of its replica's channels (construct/alignment.h), whose other
 * layers must fit this one. *bytes is counted memory that the caller frees. Local. */
NORMA_MUST_USE norma_status norma_reconstruct_journal_pack(const norma_reconstruct_record *record,
                                                           const norma_reconstruct_layer *layer,
                                                           const double *orders, int64_t n_orders,
                                                           void **bytes, int64_t *size);

/* Puts it back: *record, the orders, and the maps and statistics into *layer, whose shapes are set.
 * NORMA_CONFIG when the bytes are of another layer. Local. */
NORMA_MUST_USE norma_status norma_reconstruct_journal_unpack(const void *bytes, int64_t size,
                                                             norma_reconstruct_record *record,
                                                             norma_reconstruct_layer *layer,
                                                             double *orders, int64_t n_orders);

#endif
