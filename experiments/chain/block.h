#ifndef NORMA_EXPERIMENTS_CHAIN_BLOCK_H
#define NORMA_EXPERIMENTS_CHAIN_BLOCK_H
/*
 * A block of replicas of one cell on their way through the layers: what is recorded, what is
 * averaged, and both as bytes, for checkpoints (state) and when done (result). Nothing here
 * communicates. Arrays have replicas last, in [lanes] places of which `count` are used. The journal
 * keeps one replica an entry, so that it does not depend on blocks.
 */
#include "experiments/chain/setup.h"
#include "src/stats/ergodic.h"

/* How far a block is. */
typedef struct norma_chain_progress {
    int64_t first, count; /* replicas */
    int64_t n_recorded[NORMA_N_OBSERVABLES];
    int64_t taken;  /* pieces hold the records up to this layer; -1 before the first */
    double seconds; /* spent on it, in all goes */
} norma_chain_progress;

/* The time average of one value of one replica. */
typedef struct norma_chain_average {
    norma_ergodic_result result;
    norma_moments halves[2]; /* for R-hat */
} norma_chain_average;

/* The places of a cell's values. Arrays of lanes are [..][lanes]; offsets without unit count values
 * or records without lanes, and those called _at count bytes from the beginning of a result. */
typedef struct norma_chain_layout {
    int64_t lanes, n_values; /* values of a measurement, all observables */
    int64_t n_of[NORMA_N_OBSERVABLES], offset[NORMA_N_OBSERVABLES];
    int64_t n_records[NORMA_N_OBSERVABLES];                                /* in the file */
    int64_t n_held[NORMA_N_OBSERVABLES], held_offset[NORMA_N_OBSERVABLES]; /* in memory, at most */
    int64_t n_held_values; /* numbers of all held records, without lanes */
    int64_t n_exponents;
    int64_t n_compared_values; /* of single precision with double: n_values, or 0 */
    int64_t averages_at, regularity_at, exponents_at, differences_at, result_size;
} norma_chain_layout;

/* Records of a block on their way to the file and the journal, in front of the numbers: of each
 * observable [n][n_of][lanes]. What a run holds of them does not grow with the depth. */
typedef struct norma_chain_piece {
    int64_t first, count, lanes; /* of the block */
    int64_t after, upto;         /* all records of layers after < l <= upto */
    int64_t begin[NORMA_N_OBSERVABLES], n[NORMA_N_OBSERVABLES]; /* records of the observable */
} norma_chain_piece;

/* A finished block as the parts of its bytes; borrows. */
typedef struct norma_chain_outcome {
    norma_chain_progress *progress;
    norma_chain_average *averages; /* [n_values][lanes] */
    double *regularity;            /* [2][lanes]: alpha and its standard error */
    double *exponents;             /* [n_exponents][lanes] */
    double *differences; /* [2][n_values], largest and relative (src/chain/compare.h), NaN but in
                            the block of replica 0; NULL for chains in double */
} norma_chain_outcome;

typedef struct norma_chain_block norma_chain_block;

/* The places of a block of `lanes` replicas of a cell, or with 1 those of a journal's entry. */
void norma_chain_layout_init(const norma_chain_setup *setup, const norma_chain_cell *cell,
                             int64_t lanes, norma_chain_layout *layout);

/* The parts of a result of layout->result_size bytes, for reading and writing; `bytes` is aligned
 * for double. */
norma_chain_outcome norma_chain_layout_view(const norma_chain_layout *layout, void *bytes);

/* *bytes of a block of one of the cell's sizes: those of its chains, and its own as the code that
 * allocates them counts. */
NORMA_MUST_USE norma_status norma_chain_block_measure(const norma_chain_setup *setup,
                                                      const norma_chain_cell *cell, int64_t lanes,
                                                      double *bytes);

/* A block's workspace, for any block of one of the cell's sizes; caller owns. With a team (NULL:
 * alone) of several ranks start and step are collective over it, and all members hold the same. */
NORMA_MUST_USE norma_status norma_chain_block_create(const norma_chain_setup *setup,
                                                     const norma_chain_cell *cell, int64_t lanes,
                                                     const norma_chain_team *team,
                                                     norma_chain_block **out);
void norma_chain_block_destroy(norma_chain_block **block);

const norma_chain_cell *norma_chain_block_cell(const norma_chain_block *block);
const norma_chain_layout *norma_chain_block_layout(const norma_chain_block *block);

/* At layer 0 of replicas first .. first + count - 1, measured; 1 <= count <= lanes. */
NORMA_MUST_USE norma_status norma_chain_block_start(norma_chain_block *block, int64_t first,
                                                    int64_t count);

/* One layer further, measured and recorded where that is due. */
NORMA_MUST_USE norma_status norma_chain_block_step(norma_chain_block *block);

int64_t norma_chain_block_layer(const norma_chain_block *block);
void norma_chain_block_add_seconds(norma_chain_block *block, double seconds);

/* The state as bytes: borrowed, valid until the next step. Setting it goes on bit for bit;
 * NORMA_CONFIG for one of another size. */
void norma_chain_block_get_state(norma_chain_block *block, const void **bytes, int64_t *size);
NORMA_MUST_USE norma_status norma_chain_block_set_state(norma_chain_block *block, const void *bytes,
                                                        int64_t size);

/* True when the next layer may have no room: a piece has to be taken now. */
bool norma_chain_block_is_full(const norma_chain_block *block);

/* Takes the records that are held as the bytes of a piece, borrowed until the next one; *bytes =
 * NULL and *size = 0 when there are none. Before a state is got, and before the block is finished,
 * all must have been taken, kept and written. */
void norma_chain_block_take_piece(norma_chain_block *block, const void **bytes, int64_t *size);

/* The layer up to which pieces hold all records. */
int64_t norma_chain_block_taken(const norma_chain_block *block);

/* True when the error of single precision is measured with this block: it holds replica 0 of a
 * cell in single precision. */
bool norma_chain_block_compares(const norma_chain_block *block);

/* Runs replica 0's first layers in both precisions, layer by layer, between the last step and
 * finish; `stops` is asked after every layer, and when it says so NORMA_STOPPED is returned and the
 * comparison is to be made again. The block is left as it was. Collective over the team. */
NORMA_MUST_USE norma_status norma_chain_block_compare(norma_chain_block *block,
                                                      bool (*stops)(void *context), void *context);

/* Averages and all; borrowed like a state. */
norma_chain_outcome norma_chain_block_finish(norma_chain_block *block);

/* The result of one replica of a finished block as bytes for the journal, of the layout of one
 * lane; borrowed until the next call. */
void norma_chain_block_entry(norma_chain_block *block, int64_t lane, const void **bytes,
                             int64_t *size);

/* Bytes of a piece. */
int64_t norma_chain_piece_size(const norma_chain_layout *layout, const norma_chain_piece *piece);

/* Renumber the records of a piece, and the counts in a state, of a shallower run that recorded the
 * layers before[]. Up to its last layer setup->schedule has no further ones. Records of layers that
 * this run does not record are removed. In place; *size shrinks. NORMA_CONFIG when the piece does
 * not fit the cell. */
NORMA_MUST_USE norma_status norma_chain_piece_renumber(const norma_chain_setup *setup,
                                                       const norma_chain_cell *cell,
                                                       const norma_chain_schedule *before,
                                                       void *bytes, int64_t *size);
void norma_chain_state_renumber(const norma_chain_setup *setup, const norma_chain_schedule *before,
                                void *bytes);

/* The parts of a piece's bytes, and the layout that they have; borrowed. NORMA_CONFIG when they are
 * none of the cell. */
NORMA_MUST_USE norma_status norma_chain_piece_read(const norma_chain_setup *setup,
                                                   const norma_chain_cell *cell, const void *bytes,
                                                   int64_t size, norma_chain_layout *layout,
                                                   const norma_chain_piece **piece,
                                                   const double **records);

/* The outcome that the bytes of a result hold, which is to be read only. NORMA_CONFIG for another
 * size. */
NORMA_MUST_USE norma_status norma_chain_outcome_read(const norma_chain_layout *layout,
                                                     const void *bytes, int64_t size,
                                                     norma_chain_outcome *out);

#endif
