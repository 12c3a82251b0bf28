#include "mpi/runtime/replicas.h"

#include "mpi/runtime/agree.h"
#include "mpi/runtime/progress.h"
#include "src/base/mem.h"

/* The window on rank 0. */
enum {
    SLOT_TICKET, /* the next one */
    SLOT_WORD,   /* GO_ON, or what is worse */
    SLOT_SAVES,  /* how often a save was asked for */
    SLOT_WORK,   /* done by all groups */
    N_SLOTS
};

enum { GO_ON = 0, STOP = 1, FAIL = 2 };

/* Seconds between looks at rank 0's window; longer where many ranks look. */
static const double shortest_interval = 0.1;
static const double interval_per_rank = 0.0005;

/* Seconds between rank 0's attentions to its window. */
static const double attention_interval = 0.001;

/* A save that another group asked for within this time of one's own is the same one: launchers hand
 * a signal to all ranks. */
static const double same_save = 1.0;

struct norma_replicas {
    MPI_Comm world; /* owned duplicate */
    MPI_Comm group; /* owned, MPI_COMM_NULL for an idle rank */
    int rank, size;
    int group_rank, group_size, number, n_groups;
    MPI_Win window;
    int64_t *slots; /* rank 0's, of the window */
    double interval, last_exchange, last_save, last_attended;
    int64_t work_mine;   /* not reported yet */
    int64_t work_all;    /* as last received */
    int64_t saves_heard; /* of SLOT_SAVES */
    int64_t n_done;      /* tickets finished by this group; its root counts */
};

static void join_group(norma_replicas *r, int64_t group_size)
{
    r->group_size = (int)group_size;
    r->n_groups = r->size / r->group_size;
    r->number = r->rank / r->group_size;
    bool idle = r->number >= r->n_groups;
    MPI_Comm_split(r->world, idle ? MPI_UNDEFINED : r->number, r->rank, &r->group);
    r->group_rank = r->rank % r->group_size;
}

/* Where Open MPI has no component for windows between these nodes it returns an error on every
 * rank. */
static norma_status open_window(norma_replicas *r)
{
    MPI_Aint bytes = r->rank == 0 ? (MPI_Aint)(N_SLOTS * sizeof *r->slots) : 0;
    norma_status status = NORMA_OK;
    MPI_Comm_set_errhandler(r->world, MPI_ERRORS_RETURN);
    int code = MPI_Win_allocate(bytes, (int)sizeof *r->slots, MPI_INFO_NULL, r->world, &r->slots,
                                &r->window);
    MPI_Comm_set_errhandler(r->world, MPI_ERRORS_ARE_FATAL);
    int made = code == MPI_SUCCESS;
    MPI_Allreduce(MPI_IN_PLACE, &made, 1, MPI_INT, MPI_MIN, r->world);
    if (!made)
        status = NORMA_FAIL(NORMA_LIBRARY,
                            "this MPI has no one-sided communication between its ranks; with Open "
                            "MPI 4 set OMPI_MCA_osc=^ucx in the environment, which allows pt2pt");
    status = norma_agree(r->world, status);
    if (status != NORMA_OK) {
        if (made)
            MPI_Win_free(&r->window);
        return status;
    }
    MPI_Win_lock_all(MPI_MODE_NOCHECK, r->window);
    for (int i = 0; r->rank == 0 && i < N_SLOTS; i++)
        r->slots[i] = 0;
    MPI_Win_sync(r->window);
    MPI_Barrier(r->world);
    return NORMA_OK;
}

static void free_communicators(norma_replicas *r)
{
    if (r->group != MPI_COMM_NULL)
        MPI_Comm_free(&r->group);
    MPI_Comm_free(&r->world);
}

norma_status norma_replicas_create(MPI_Comm world, int64_t group_size, norma_replicas **out)
{
    int size = 0;
    norma_replicas *r = NULL;
    MPI_Comm_size(world, &size);
    norma_status status =
        group_size >= 1 && group_size <= size
            ? NORMA_CALLOC(r, 1)
            : NORMA_FAIL(NORMA_USAGE, "groups of %lld ranks cannot be made from %d",
                         (long long)group_size, size);
    status = norma_agree(world, status);
    if (status != NORMA_OK) {
        norma_mem_free(r);
        return status;
    }
    MPI_Comm_dup(world, &r->world);
    MPI_Comm_rank(world, &r->rank);
    r->size = size;
    join_group(r, group_size);
    status = open_window(r);
    if (status != NORMA_OK) {
        free_communicators(r);
        norma_mem_free(r);
        return status;
    }
    r->interval = shortest_interval + interval_per_rank * r->n_groups;
    *out = r;
    return NORMA_OK;
}

void norma_replicas_destroy(norma_replicas **replicas)
{
    norma_replicas *r = *replicas;
    if (!r)
        return;
    MPI_Win_unlock_all(r->window);
    MPI_Win_free(&r->window);
    free_communicators(r);
    NORMA_FREE(*replicas);
}

MPI_Comm norma_replicas_group_local(const norma_replicas *replicas)
{
    return replicas->group;
}

int norma_replicas_group_rank_local(const norma_replicas *replicas)
{
    return replicas->group_rank;
}

int norma_replicas_n_groups_local(const norma_replicas *replicas)
{
    return replicas->n_groups;
}

/* The slot's value before `value` was combined into it. */
static int64_t exchange(norma_replicas *r, int slot, int64_t value, MPI_Op op)
{
    int64_t before = 0;
    MPI_Fetch_and_op(&value, &before, MPI_INT64_T, 0, slot, op, r->window);
    MPI_Win_flush(0, r->window);
    return before;
}

static void spread(norma_replicas *r, int64_t word)
{
    (void)exchange(r, SLOT_WORD, word, MPI_MAX);
}

/* The next ticket, -1 when there is none or all must stop. */
static int64_t take_ticket(norma_replicas *r, int64_t n_tickets)
{
    int64_t ticket = -1;
    norma_stop_request mine = norma_stop_look_local();
    if (mine == NORMA_STOP_END)
        spread(r, STOP);
    else if (mine == NORMA_STOP_SAVE) /* nothing to save here, between two tasks */
        r->saves_heard = exchange(r, SLOT_SAVES, 1, MPI_SUM) + 1;
    if (r->group_rank == 0 && exchange(r, SLOT_WORD, 0, MPI_NO_OP) == GO_ON)
        ticket = exchange(r, SLOT_TICKET, 1, MPI_SUM);
    if (r->group_size > 1)
        MPI_Bcast(&ticket, 1, MPI_INT64_T, 0, r->group);
    return ticket < n_tickets ? ticket : -1;
}

static norma_status run_tickets(norma_replicas *r, int64_t n_tickets, norma_replicas_task task,
                                void *context)
{
    norma_status status = NORMA_OK;
    while (status == NORMA_OK) {
        int64_t ticket = take_ticket(r, n_tickets);
        if (ticket < 0)
            break;
        status = task(context, ticket);
        if (r->group_size > 1)
            status = norma_agree(r->group, status);
        if (status == NORMA_OK && r->group_rank == 0)
            r->n_done++;
    }
    if (status != NORMA_OK && r->group_rank == 0)
        spread(r, status == NORMA_STOPPED ? STOP : FAIL);
    if (r->work_mine > 0)
        r->work_all = exchange(r, SLOT_WORK, r->work_mine, MPI_SUM) + r->work_mine;
    r->work_mine = 0;
    return status;
}

norma_status norma_replicas_run(norma_replicas *r, int64_t n_tickets, norma_replicas_task task,
                                void *context)
{
    norma_status status = NORMA_OK;
    r->n_done = 0;
    if (r->rank == 0)
        (void)exchange(r, SLOT_TICKET, 0, MPI_REPLACE);
    MPI_Barrier(r->world);
    if (r->group != MPI_COMM_NULL)
        status = run_tickets(r, n_tickets, task, context);
    /* Whoever only stopped must not hide another rank's failure. */
    status = norma_agree(r->world, status == NORMA_STOPPED ? NORMA_OK : status);
    if (status != NORMA_OK)
        return status;
    int64_t n_done = r->n_done;
    MPI_Allreduce(MPI_IN_PLACE, &n_done, 1, MPI_INT64_T, MPI_SUM, r->world);
    return n_done == n_tickets ? NORMA_OK : NORMA_STOPPED;
}

/* Tells the others and hears from them. */
static norma_stop_request exchange_with_all(norma_replicas *r, norma_stop_request mine, double now)
{
    if (mine == NORMA_STOP_SAVE)
        r->saves_heard = exchange(r, SLOT_SAVES, 1, MPI_SUM) + 1;
    if (mine == NORMA_STOP_END)
        spread(r, STOP);
    r->work_all = exchange(r, SLOT_WORK, r->work_mine, MPI_SUM) + r->work_mine;
    r->work_mine = 0;
    r->last_exchange = now;
    if (exchange(r, SLOT_WORD, 0, MPI_NO_OP) != GO_ON)
        return NORMA_STOP_END;
    int64_t saves = exchange(r, SLOT_SAVES, 0, MPI_NO_OP);
    bool asked = saves != r->saves_heard && now - r->last_save > same_save;
    r->saves_heard = saves;
    return asked && mine == NORMA_STOP_NONE ? NORMA_STOP_SAVE : mine;
}

/* Rank 0 answers for its window: some networks need its attention for that. */
static void attend(norma_replicas *r, double now)
{
    int ignored = 0;
    if (now - r->last_attended < attention_interval)
        return;
    r->last_attended = now;
    MPI_Iprobe(MPI_ANY_SOURCE, MPI_ANY_TAG, r->world, &ignored, MPI_STATUS_IGNORE);
}

norma_stop_request norma_replicas_poll(norma_replicas *r, int64_t work)
{
    int request = (int)norma_stop_look_local();
    double now = norma_progress_clock_local();
    if (r->group_size > 1)
        MPI_Allreduce(MPI_IN_PLACE, &request, 1, MPI_INT, MPI_MAX, r->group);
    if (r->group_rank == 0) {
        r->work_mine += work;
        if (request != NORMA_STOP_NONE || now - r->last_exchange >= r->interval)
            request = (int)exchange_with_all(r, (norma_stop_request)request, now);
        else if (r->rank == 0 && r->size > 1)
            attend(r, now);
    }
    if (r->group_size > 1)
        MPI_Bcast(&request, 1, MPI_INT, 0, r->group);
    if (request == NORMA_STOP_SAVE)
        r->last_save = now;
    return (norma_stop_request)request;
}

int64_t norma_replicas_work_local(const norma_replicas *r)
{
    return r->work_all;
}

void norma_replicas_collect(MPI_Comm world, int64_t n, double *values)
{
    const int64_t piece = (int64_t)1 << 24;
    for (int64_t at = 0; at < n; at += piece)
        MPI_Allreduce(MPI_IN_PLACE, values + at, (int)(n - at < piece ? n - at : piece), MPI_DOUBLE,
                      MPI_SUM, world);
}
