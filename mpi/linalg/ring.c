#include "mpi/linalg/ring.h"

#include "mpi/runtime/agree.h"
#include "mpi/runtime/shared.h"
#include "src/base/index.h"
#include "src/base/mem_place.h"

/* Parts are long enough to hide what a message costs, short enough that a ring of some nodes is
 * filled soon, and few enough for the tags of three rings (MPI promises 32768). */
#define SHORTEST_PART ((int64_t)1 << 20)
#define MOST_PARTS 8192
#define TAGS (MOST_PARTS + 2)

struct norma_ring {
    MPI_Comm comm;
    MPI_Comm node;  /* owned */
    MPI_Win window; /* owned; MPI_WIN_NULL: the buffer is `own` */
    char *own;      /* owned, or NULL */
    char **buffers; /* [ranks of the node] */
    int rank, size; /* in comm */
    int node_size;
    int *leader_of; /* [size]: the first rank, in comm, of a rank's node */
    int *place_of;  /* [size]: a rank's rank in its node */
    int *mates;     /* [node_size]: ranks of this node, in comm */
    int64_t part;   /* bytes */
    int first_tag;
    bool started;
    int holder;           /* of this node, in comm: who has the message in its buffer */
    int after;            /* holder of the next node, in comm; -1 at the end of the ring */
    int64_t bytes;        /* of the message on its way */
    int n_parts;          /* of it */
    int n_received;       /* parts that have come */
    bool announced;       /* the node's other ranks know that all parts are here */
    int *arrived;         /* [most parts]: of MPI_Testsome */
    MPI_Request *receive; /* [most parts]; on others than the holder the first is the word of it */
    MPI_Request *send;    /* [most parts] */
    MPI_Request *read;    /* [node_size]: word from the readers, at the holder */
};

int64_t norma_ring_part_local(int64_t max_bytes)
{
    int64_t part = norma_index_ceil_divide(max_bytes, MOST_PARTS);
    return part > SHORTEST_PART ? part : SHORTEST_PART;
}

/* Memory that the node shares, every rank's own part of it. */
static void open_window(norma_ring *ring, int64_t max_bytes)
{
    void *mine = NULL;
    MPI_Win_allocate_shared((MPI_Aint)max_bytes, 1, MPI_INFO_NULL, ring->node, &mine,
                            &ring->window);
    for (int r = 0; r < ring->node_size; r++) {
        MPI_Aint size = 0;
        int unit = 1;
        MPI_Win_shared_query(ring->window, r, &size, &unit, &ring->buffers[r]);
    }
    MPI_Win_lock_all(MPI_MODE_NOCHECK, ring->window);
}

/* Who shares a node with whom, at most `together` ranks. */
static void find_nodes(norma_ring *ring, int together)
{
    MPI_Comm whole = ring->node;
    int place = 0;
    MPI_Comm_rank(whole, &place);
    MPI_Comm_split(whole, place / together, place, &ring->node);
    MPI_Comm_free(&whole);
    MPI_Comm_rank(ring->node, &place);
    MPI_Comm_size(ring->node, &ring->node_size);
    MPI_Allgather(&ring->rank, 1, MPI_INT, ring->mates, 1, MPI_INT, ring->node);
    MPI_Allgather(&ring->mates[0], 1, MPI_INT, ring->leader_of, 1, MPI_INT, ring->comm);
    MPI_Allgather(&place, 1, MPI_INT, ring->place_of, 1, MPI_INT, ring->comm);
}

static norma_status place_requests(int64_t n, MPI_Request **out, double *bytes)
{
    if (bytes) {
        *bytes += (double)n * (double)sizeof(MPI_Request);
        return NORMA_OK;
    }
    *out = norma_mem_alloc(n, sizeof(MPI_Request), __FILE__, __LINE__);
    return *out ? NORMA_OK : NORMA_MEMORY;
}

/* Measures or allocates: src/base/mem_place.h. */
static norma_status place(norma_ring *ring, int64_t max_bytes, double *bytes)
{
    int64_t n_parts = norma_index_ceil_divide(max_bytes, ring->part) + 1;
    NORMA_TRY(NORMA_PLACE(ring->arrived, n_parts, bytes));
    NORMA_TRY(place_requests(n_parts, &ring->receive, bytes));
    NORMA_TRY(place_requests(n_parts, &ring->send, bytes));
    NORMA_TRY(place_requests(ring->size, &ring->read, bytes));
    NORMA_TRY(NORMA_PLACE(ring->leader_of, ring->size, bytes));
    NORMA_TRY(NORMA_PLACE(ring->place_of, ring->size, bytes));
    NORMA_TRY(NORMA_PLACE(ring->mates, ring->size, bytes));
    return NORMA_PLACE(ring->buffers, ring->size, bytes);
}

static norma_status place_own(norma_ring *ring, int64_t max_bytes, double *bytes)
{
    return NORMA_PLACE_UNSET(ring->own, max_bytes, 1, bytes);
}

double norma_ring_bytes_local(int64_t max_bytes, int size)
{
    norma_ring ring = {.part = norma_ring_part_local(max_bytes), .size = size};
    double bytes = (double)sizeof ring;
    (void)place(&ring, max_bytes, &bytes);
    (void)place_own(&ring, max_bytes, &bytes);
    return bytes;
}

norma_status norma_ring_create(MPI_Comm comm, const norma_ring_options *options, norma_ring **out)
{
    norma_ring *ring = NULL;
    int64_t max_bytes = options->max_bytes;
    int together = 0;
    norma_status status = norma_agree(comm, NORMA_CALLOC(ring, 1));
    if (status != NORMA_OK)
        goto done;
    ring->comm = comm;
    ring->node = MPI_COMM_NULL;
    ring->window = MPI_WIN_NULL;
    ring->part = norma_ring_part_local(max_bytes);
    ring->first_tag = options->which * TAGS;
    MPI_Comm_rank(comm, &ring->rank);
    MPI_Comm_size(comm, &ring->size);
    NORMA_GOTO(status, norma_agree(comm, place(ring, max_bytes, NULL)));
    MPI_Comm_split_type(comm, MPI_COMM_TYPE_SHARED, ring->rank, MPI_INFO_NULL, &ring->node);
    MPI_Comm_size(ring->node, &together);
    if (!norma_shared_has_room(ring->node, max_bytes * options->n_alike * together))
        together = 1;
    if (options->most_together > 0 && options->most_together < together)
        together = options->most_together;
    find_nodes(ring, together);
    if (ring->node_size > 1) {
        open_window(ring, max_bytes);
    } else {
        status = place_own(ring, max_bytes, NULL);
        ring->buffers[0] = ring->own;
    }
    NORMA_GOTO(status, norma_agree(comm, status));
    *out = ring;
    ring = NULL;
done:
    norma_ring_destroy(&ring);
    return status;
}

/* Who holds the message of root on the node that rank leads. */
static int holder_on(const norma_ring *ring, int leader, int root)
{
    return ring->leader_of[root] == leader ? root : leader;
}

char *norma_ring_buffer_local(norma_ring *ring, int root)
{
    return ring->buffers[ring->place_of[holder_on(ring, ring->leader_of[ring->rank], root)]];
}

/* The leader of the node after, or before, that of `leader`: in the order of leaders, cyclically.
 */
static int neighbour(const norma_ring *ring, int leader, int step)
{
    int r = leader;
    do
        r = (r + step + ring->size) % ring->size;
    while (ring->leader_of[r] != r);
    return r;
}

static void send_part(norma_ring *ring, int part)
{
    int64_t left = ring->bytes - part * ring->part;
    if (ring->after >= 0)
        MPI_Isend(norma_ring_buffer_local(ring, ring->holder) + part * ring->part,
                  (int)(left < ring->part ? left : ring->part), MPI_BYTE, ring->after,
                  ring->first_tag + part, ring->comm, &ring->send[part]);
}

/* Once all has come to the holder, the others of the node hear of it. */
static void tell(norma_ring *ring)
{
    if (ring->announced || ring->n_received < ring->n_parts || ring->rank != ring->holder)
        return;
    if (ring->window != MPI_WIN_NULL)
        MPI_Win_sync(ring->window);
    for (int r = 0; r < ring->node_size; r++)
        if (ring->mates[r] != ring->rank)
            MPI_Send(NULL, 0, MPI_BYTE, ring->mates[r], ring->first_tag + MOST_PARTS, ring->comm);
    ring->announced = true;
}

/* The holder awaits parts, and in the end the word of its readers. */
static void start_holder(norma_ring *ring, int root, int before)
{
    for (int part = 0; part < ring->n_parts; part++) {
        int64_t left = ring->bytes - part * ring->part;
        ring->receive[part] = ring->send[part] = MPI_REQUEST_NULL;
        if (ring->rank == root)
            send_part(ring, part);
        else
            MPI_Irecv(norma_ring_buffer_local(ring, ring->holder) + part * ring->part,
                      (int)(left < ring->part ? left : ring->part), MPI_BYTE, before,
                      ring->first_tag + part, ring->comm, &ring->receive[part]);
    }
    for (int r = 0; r < ring->node_size; r++) {
        ring->read[r] = MPI_REQUEST_NULL;
        if (ring->mates[r] != ring->rank)
            MPI_Irecv(NULL, 0, MPI_BYTE, ring->mates[r], ring->first_tag + MOST_PARTS + 1,
                      ring->comm, &ring->read[r]);
    }
}

void norma_ring_start(norma_ring *ring, int root, int64_t bytes)
{
    int leader = ring->leader_of[ring->rank];
    int next = neighbour(ring, leader, 1);
    ring->started = true;
    ring->announced = false;
    ring->bytes = bytes;
    ring->holder = holder_on(ring, leader, root);
    ring->after = next == ring->leader_of[root] ? -1 : next;
    ring->n_parts =
        ring->rank == ring->holder ? (int)norma_index_ceil_divide(bytes, ring->part) : 1;
    ring->n_received = ring->rank == root ? ring->n_parts : 0;
    if (ring->rank == ring->holder) {
        start_holder(ring, root, holder_on(ring, neighbour(ring, leader, -1), root));
        tell(ring);
        return;
    }
    ring->after = -1;
    MPI_Irecv(NULL, 0, MPI_BYTE, ring->holder, ring->first_tag + MOST_PARTS, ring->comm,
              &ring->receive[0]);
}

static void hand_on(norma_ring *ring, int n)
{
    for (int a = 0; a < n; a++)
        send_part(ring, ring->arrived[a]);
    ring->n_received += n > 0 ? n : 0;
    tell(ring);
}

void norma_ring_progress(norma_ring *ring)
{
    int n = 0;
    if (!ring->started)
        return;
    if (ring->n_received < ring->n_parts) {
        MPI_Testsome(ring->n_parts, ring->receive, &n, ring->arrived, MPI_STATUSES_IGNORE);
        hand_on(ring, n);
    } else if (ring->after >= 0) {
        MPI_Testall(ring->n_parts, ring->send, &n, MPI_STATUSES_IGNORE);
    }
}

void norma_ring_receive(norma_ring *ring)
{
    int n = 0;
    while (ring->n_received < ring->n_parts) {
        MPI_Waitsome(ring->n_parts, ring->receive, &n, ring->arrived, MPI_STATUSES_IGNORE);
        hand_on(ring, n);
    }
    if (ring->window != MPI_WIN_NULL)
        MPI_Win_sync(ring->window);
}

void norma_ring_finish(norma_ring *ring)
{
    if (!ring->started)
        return;
    norma_ring_receive(ring);
    if (ring->rank == ring->holder) {
        if (ring->after >= 0)
            MPI_Waitall(ring->n_parts, ring->send, MPI_STATUSES_IGNORE);
        MPI_Waitall(ring->node_size, ring->read, MPI_STATUSES_IGNORE);
    } else {
        MPI_Send(NULL, 0, MPI_BYTE, ring->holder, ring->first_tag + MOST_PARTS + 1, ring->comm);
    }
    ring->started = false;
}

void norma_ring_destroy(norma_ring **ring)
{
    norma_ring *r = *ring;
    if (!r)
        return;
    if (r->window != MPI_WIN_NULL) {
        MPI_Win_unlock_all(r->window);
        MPI_Win_free(&r->window);
    }
    if (r->node != MPI_COMM_NULL)
        MPI_Comm_free(&r->node);
    NORMA_FREE(r->own);
    NORMA_FREE(r->buffers);
    NORMA_FREE(r->leader_of);
    NORMA_FREE(r->place_of);
    NORMA_FREE(r->mates);
    NORMA_FREE(r->arrived);
    NORMA_FREE(r->receive);
    NORMA_FREE(r->send);
    NORMA_FREE(r->read);
    NORMA_FREE(*ring);
}
