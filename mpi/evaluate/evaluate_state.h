#ifndef NORMA_MPI_EVALUATE_EVALUATE_STATE_H
#define NORMA_MPI_EVALUATE_EVALUATE_STATE_H
/* Inside of mpi/evaluate/evaluate: this rank's share of the images and the target activations it
 * holds. */
#include "mpi/evaluate/evaluate.h"
#include "src/network/forward.h"

struct norma_evaluate {
    MPI_Comm comm; /* borrowed */
    int rank, size;
    int n_threads;
    int64_t budget;
    const norma_network *network; /* borrowed */
    const norma_images *images;   /* borrowed; NULL without a data set */
    int64_t n_images;             /* of all ranks */
    int64_t first, n_local;       /* this rank's share */
    int64_t n_batch;              /* images whose activations are held at once */
    norma_slots slots;            /* of the activations of one image; owned */
    norma_forward *forward;       /* owned; NULL without images */
    double **buffers;             /* [slots.n_slots][n_batch][slot]; owned */
    int64_t held_batch;           /* whose activations are held (-1: nobody's) ... */
    int64_t held_layer;           /* ... at the input of which layer */
    norma_evaluate *other;        /* owned; of the network that runs are compared with; NULL: this
                                     one's */
    double *outputs_target;       /* [n_local][outputs], where runs store them; borrowed, or NULL */
    double *outputs_source;
};

/* Bytes of what a run keeps of one image. */
#define NORMA_EVALUATE_RECORD_BYTES ((int64_t)(5 * sizeof(double)))

/* Batches of this rank's images. */
int64_t norma_evaluate_n_batches_local(const norma_evaluate *evaluate);

/* First image (its number in the data set) and number of images of a batch of this rank. */
int64_t norma_evaluate_batch_local(const norma_evaluate *evaluate, int64_t batch, int64_t *first);

/* Brings the target's activations of a batch to the input of a layer (n_layers: the outputs); they
 * are then those held. Continues from where they stand if that is on the way. */
void norma_evaluate_advance_local(norma_evaluate *evaluate, int64_t batch, int64_t layer);

/* The activations held: of the first input of that layer, or the outputs. */
const double *norma_evaluate_held_local(const norma_evaluate *evaluate);

/* Buffers for n_batch images in the slots; *buffers is to be given to _free_local whatever is
 * returned. */
NORMA_MUST_USE norma_status norma_evaluate_allocate_local(const norma_slots *slots, int64_t n_batch,
                                                          double ***buffers);
void norma_evaluate_free_local(const norma_slots *slots, double ***buffers);

/* One BLAS thread from here on, since BLAS is called from OpenMP threads; returns the number to set
 * afterwards. */
int norma_evaluate_enter_threads_local(void);

#endif
