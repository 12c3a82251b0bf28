#define _GNU_SOURCE /* mkdtemp, setenv */
/* mpi/plan/node_memory: control groups of both versions and Slurm's variables, in a tree of files
 * that stands for /proc and /sys. */
#include "tests/harness/harness.h"

#include "mpi/plan/node_memory.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { PATH_LENGTH = 600 };
static char root[] = "node_memory_XXXXXX";

/* Writes a file of the tree, with its folders. */
static void put(const char *name, const char *text)
{
    char path[PATH_LENGTH];
    snprintf(path, sizeof path, "%s%s", root, name);
    for (char *c = path + 1; *c; c++)
        if (*c == '/') {
            *c = '\0';
            mkdir(path, 0777);
            *c = '/';
        }
    FILE *file = fopen(path, "w");
    norma_test_check(file && fputs(text, file) >= 0 && fclose(file) == 0);
}

static void expect(int64_t bytes)
{
    int64_t found = 0;
    norma_test_ok(norma_plan_node_memory_local(root, &found));
    norma_test_check(found == bytes);
}

static void test_groups_and_slurm(void **state)
{
    (void)state;
    static const char *const variables[] = {"SLURM_MEM_PER_NODE", "SLURM_MEM_PER_CPU",
                                            "SLURM_CPUS_ON_NODE", "SLURM_JOB_CPUS_PER_NODE"};
    for (int k = 0; k < 4; k++)
        unsetenv(variables[k]);
    norma_test_check(mkdtemp(root) != NULL);
    put("/proc/meminfo", "MemTotal:  9000000 kB\nMemAvailable:  8000000 kB\n");
    expect(8000000LL * 1024);
    /* Version 2: the group of the job, below one without a limit; cache can be given back. */
    put("/proc/self/cgroup", "0::/slurm/job_7/step_0\n");
    put("/sys/fs/cgroup/slurm/job_7/step_0/memory.max", "max\n");
    put("/sys/fs/cgroup/slurm/job_7/step_0/memory.current", "100000\n");
    put("/sys/fs/cgroup/slurm/job_7/memory.max", "1000000\n");
    put("/sys/fs/cgroup/slurm/job_7/memory.current", "300000\n");
    expect(700000);
    put("/sys/fs/cgroup/slurm/job_7/memory.stat", "file 9\ninactive_file 200000\n");
    expect(900000);
    /* Version 1 beside it, with the smaller limit. */
    put("/proc/self/cgroup", "5:cpu,cpuacct:/x\n4:memory:/slurm/job_7\n0::/slurm/job_7/step_0\n");
    put("/sys/fs/cgroup/memory/slurm/job_7/memory.limit_in_bytes", "500000\n");
    put("/sys/fs/cgroup/memory/slurm/job_7/memory.usage_in_bytes", "600000\n");
    expect(0);
    put("/sys/fs/cgroup/memory/slurm/job_7/memory.usage_in_bytes", "100000\n");
    expect(400000);
    put("/proc/self/cgroup", "0::/elsewhere\n");
    expect(8000000LL * 1024);
    setenv("SLURM_MEM_PER_NODE", "2", 1);
    expect(2 << 20);
    setenv("SLURM_MEM_PER_NODE", "0", 1); /* all of the node */
    expect(8000000LL * 1024);
    unsetenv("SLURM_MEM_PER_NODE");
    setenv("SLURM_MEM_PER_CPU", "3", 1);
    setenv("SLURM_JOB_CPUS_PER_NODE", "4(x2)", 1);
    expect(12 << 20);
    setenv("SLURM_CPUS_ON_NODE", "2", 1);
    expect(6 << 20);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(test_groups_and_slurm)};

norma_test_main_serial("mpi.node_memory", tests)
