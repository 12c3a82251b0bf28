#include "mpi/linalg/grid.h"

#include "mpi/linalg/scalapack.h"
#include "mpi/runtime/agree.h"
#include "src/base/mem.h"

/* The property of a BLACS context: combine operations give the same bits in every run. */
enum { BLACS_REPEATABLE = 15 };

/* Longest allowed grid, columns a row. */
#define MAX_ASPECT 4

norma_grid_shape norma_grid_choose_local(int n_ranks, int64_t n_row_blocks, int64_t n_column_blocks)
{
    /* No more processes than blocks have work; and those are not tried one by one. */
    if (n_row_blocks < n_ranks && n_column_blocks < n_ranks &&
        n_row_blocks * n_column_blocks < n_ranks)
        n_ranks = (int)(n_row_blocks * n_column_blocks);
    for (int n = n_ranks; n > 1; n--) {
        int rows = 1;
        for (int r = 2; r <= n / r; r++)
            if (n % r == 0)
                rows = r;
        /* Few row blocks: fewer, longer rows of processes are the only ones that all have work. */
        while (rows > 1 && (rows > n_row_blocks || n % rows != 0))
            rows--;
        int columns = n / rows;
        if (columns <= MAX_ASPECT * rows && rows <= n_row_blocks && columns <= n_column_blocks)
            return (norma_grid_shape){rows, columns};
    }
    return (norma_grid_shape){1, 1};
}

/* The BLACS context of this rank's grid; the ranks of grid->active call it together. */
static norma_status open_context(norma_grid *grid)
{
    const int repeatable = 1;
    int n_rows = 0;
    int n_columns = 0;
    grid->handle = Csys2blacs_handle(grid->active);
    grid->context = grid->handle;
    Cblacs_gridinit(&grid->context, "R", grid->shape.n_rows, grid->shape.n_columns);
    /* Sums over ranks in one order, so that a run can be repeated bit for bit. */
    Cblacs_set(grid->context, BLACS_REPEATABLE, &repeatable);
    Cblacs_gridinfo(grid->context, &n_rows, &n_columns, &grid->row, &grid->column);
    if (n_rows != grid->shape.n_rows || n_columns != grid->shape.n_columns || grid->row < 0)
        return NORMA_FAIL(NORMA_LIBRARY, "BLACS gave a %d x %d grid where %d x %d was asked for",
                          n_rows, n_columns, grid->shape.n_rows, grid->shape.n_columns);
    return NORMA_OK;
}

norma_status norma_grid_create(MPI_Comm comm, norma_grid_shape shape, norma_grid **out)
{
    norma_grid *grid = NULL;
    norma_status status = NORMA_OK;
    int rank = 0;
    int size = 0;
    int n_active = shape.n_rows * shape.n_columns;
    MPI_Comm_rank(comm, &rank);
    MPI_Comm_size(comm, &size);
    status = NORMA_CALLOC(grid, 1);
    if (status == NORMA_OK)
        *grid = (norma_grid){.comm = comm,
                             .active = MPI_COMM_NULL,
                             .shape = shape,
                             .row = -1,
                             .column = -1,
                             .n_idle = size - n_active,
                             .context = -1,
                             .handle = -1};
    if (status == NORMA_OK && n_active > size)
        status = NORMA_FAIL(NORMA_LIBRARY, "a %d x %d grid on %d ranks", shape.n_rows,
                            shape.n_columns, size);
    NORMA_GOTO(status, norma_agree(comm, status));
    MPI_Comm_split(comm, rank < n_active ? 0 : MPI_UNDEFINED, rank, &grid->active);
    if (n_active == 1 && rank == 0)
        grid->row = grid->column = 0;
    else if (rank < n_active)
        status = open_context(grid);
    NORMA_GOTO(status, norma_agree(comm, status));
    *out = grid;
    return NORMA_OK;
done:
    norma_grid_destroy(&grid);
    return status;
}

void norma_grid_destroy(norma_grid **grid)
{
    if (!*grid)
        return;
    if ((*grid)->context >= 0)
        Cblacs_gridexit((*grid)->context);
    if ((*grid)->handle >= 0)
        Cfree_blacs_system_handle((*grid)->handle);
    if ((*grid)->active != MPI_COMM_NULL)
        MPI_Comm_free(&(*grid)->active);
    NORMA_FREE(*grid);
}
