/* norma: the one executable. Finds the subcommand, hands over, leaves through the runtime. */
#include "mpi/runtime.h"

#include "mpi/log.h"

#include <stdio.h>
#include <string.h>

int main(int argc, char **argv)
{
    norma_runtime *runtime = NULL;
    norma_status status = norma_runtime_open(&argc, &argv, &runtime);
    if (!runtime)
        return norma_status_exit_code(status);
    return norma_runtime_close(&runtime, status);
}
