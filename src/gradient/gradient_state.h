#ifndef NORMA_GRADIENT_GRADIENT_STATE_H
#define NORMA_GRADIENT_GRADIENT_STATE_H
/* Internal to src/gradient: the object of gradient.h, and the steps that its files share. */
#include "src/gradient/gradient.h"
#include "src/gradient/map.h"
#include "src/gradient/weights.h"

/* A pass over the layers. */
typedef enum norma_gradient_pass {
    NORMA_GRADIENT_FORWARD,
    NORMA_GRADIENT_AGAIN, /* a segment is computed again */
    NORMA_GRADIENT_BACKWARD
} norma_gradient_pass;

struct norma_gradient {
    const norma_chain_spec *spec; /* of the chain */
    norma_gradient_request request;
    norma_chain *chain;
    int64_t n_segments, segment; /* layers of one */
    int64_t n_windows, n_pairs;
    unsigned char *state; /* what a checkpoint keeps, in one piece, which the parts below are of:
                             src/gradient/gradient_save.c; owned */
    unsigned char *kept;  /* [n_segments][kept_bytes]: the chain at the beginning of each */
    int64_t kept_bytes;
    norma_gradient_share share;
    double *h, *z;     /* [segment][share.most][N]: rows of H_l, Z_l of the segment loaded */
    double *w;         /* [segment][d][d]: entries of W of the segment loaded; NULL: drawn again */
    double *whole[2];  /* [d][N]: H_l, Z_l of `gathered`; NULL: h and z hold all rows */
    int64_t gathered;  /* the layer; -1: none */
    int64_t *exponent; /* [segment]: H = h 2^e, Z = z 2^e */
    double *v, *spare; /* [d][N] */
    int64_t v_exponent;
    norma_gradient_map map;
    norma_gradient_weights weights;
    norma_gradient_loss loss;
    norma_gradient_pass pass;
    int64_t layer;        /* forward and again: H_layer is held; backward: the next W */
    int64_t progress;     /* furthest layer forward, and layers backward */
    int64_t last;         /* the layer of v, for norma_gradient_get_layer; -1: none */
    const double *last_h; /* its H */
    norma_chain_draw draw;
    double value; /* of the loss */
    double *log_norm, *isometry_gap, *log_jacobian, *cosine;
    double *tangent[2];       /* jacobian: [d][N] */
    double *samples, *spread; /* per_sample: [N][N], [N][d]; */
    double *products;         /* per_sample: [N][N] */
};

/* gradient_save.c: bytes of the state; sets the pointers to its parts. */
int64_t norma_gradient_state_bytes(const norma_gradient *g);
void norma_gradient_state_divide(norma_gradient *g);

/* gradient.c: layers that the backward pass has before it. */
int64_t norma_gradient_n_left(const norma_gradient *g);

/* segment.c: the state of the chain at the beginning of a segment. */
unsigned char *norma_gradient_kept(norma_gradient *g, int64_t segment);

/* Turns to computing the segment of layer g->layer again, for the backward pass. */
void norma_gradient_load(norma_gradient *g);

/* Makes g->weights those of a layer of the loaded segment. */
void norma_gradient_take_weights(norma_gradient *g, int64_t layer);

/* Puts H_l, Z_l of a layer of the loaded segment at *h, *z, valid until the next call. Collective
 * over the team. */
void norma_gradient_loaded(norma_gradient *g, int64_t layer, const double **h, const double **z);

/* H_layer of the chain to H_(layer + 1); with `loads` H and Z are held. Errors as norma_chain_step.
 */
NORMA_MUST_USE norma_status norma_gradient_advance(norma_gradient *g, bool loads);

/* gradient.c: v[count] 2^*exponent stays what it is, the largest element becoming 1 or a bit more.
 * Returns false when a value is not finite. */
bool norma_gradient_rescale(int64_t count, double *v, int64_t *exponent);

/* jacobian.c: log of the spectral norm of the Jacobian of window w, by power iteration from below.
 * Its layers are loaded. */
NORMA_MUST_USE norma_status norma_gradient_jacobian(norma_gradient *g, int64_t window);

/* cosine.c: cosines between the gradients of single samples in the last W; v is dL/dH_L and the map
 * is set. */
void norma_gradient_cosine(norma_gradient *g);

#endif
