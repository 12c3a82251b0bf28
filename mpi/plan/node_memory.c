#include "mpi/plan/node_memory.h"

#include <inttypes.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { PATH_LENGTH = 2048 };

/* The number behind `key` in a file of "key  number unit" lines, or the file's only number when key
 * is NULL; -1 when there is none. */
static int64_t read_number(const char *path, const char *key)
{
    char line[256];
    int64_t number = -1;
    FILE *stream = fopen(path, "r");
    if (!stream)
        return -1;
    while (number < 0 && fgets(line, sizeof line, stream)) {
        const char *start = line;
        if (key) {
            if (strncmp(line, key, strlen(key)) != 0)
                continue;
            start = line + strlen(key);
        }
        if (sscanf(start, "%" SCNd64, &number) != 1)
            number = -1;
        if (!key)
            break;
    }
    fclose(stream);
    return number;
}

/* The names of a version's files. */
typedef struct group_files {
    const char *mount, *limit, *used, *cache_key;
} group_files;

static const group_files version_2 = {"/sys/fs/cgroup", "memory.max", "memory.current",
                                      "inactive_file "};
static const group_files version_1 = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes",
                                      "memory.usage_in_bytes", "total_inactive_file "};

/* Memory that one group leaves; INT64_MAX without a limit. */
static int64_t left_of_group(const char *folder, const group_files *files)
{
    char path[PATH_LENGTH];
    snprintf(path, sizeof path, "%.1900s/%s", folder, files->limit);
    int64_t limit = read_number(path, NULL);
    snprintf(path, sizeof path, "%.1900s/%s", folder, files->used);
    int64_t used = read_number(path, NULL);
    snprintf(path, sizeof path, "%.1900s/memory.stat", folder);
    int64_t cache = read_number(path, files->cache_key);
    if (limit < 0 || used < 0)
        return INT64_MAX;
    used -= cache > 0 ? cache : 0;
    return limit > used ? limit - (used > 0 ? used : 0) : 0;
}

/* The same for a group and all above it: the least counts. */
static int64_t left_of_groups(const char *root, const char *group, const group_files *files)
{
    char folder[PATH_LENGTH];
    int64_t least = INT64_MAX;
    int n = snprintf(folder, sizeof folder, "%.500s%s", root, files->mount);
    size_t top = n > 0 ? (size_t)n : 0;
    snprintf(folder + top, sizeof folder - top, "%.1000s", group);
    for (;;) {
        int64_t here = left_of_group(folder, files);
        least = here < least ? here : least;
        char *slash = strrchr(folder, '/');
        if (strlen(folder) <= top || !slash)
            return least;
        *slash = '\0';
    }
}

/* Does a comma-separated list name the controller of memory? */
static bool lists_memory(const char *controllers)
{
    for (const char *at = strstr(controllers, "memory"); at; at = strstr(at + 1, "memory"))
        if ((at == controllers || at[-1] == ',') && (at[6] == '\0' || at[6] == ','))
            return true;
    return false;
}

/* Memory that the control groups of this process leave, by /proc/self/cgroup: lines "0::/group" of
 * version 2, "4:memory:/group" of version 1. */
static int64_t group_memory(const char *root)
{
    char path[PATH_LENGTH];
    char line[PATH_LENGTH];
    int64_t least = left_of_groups(root, "", &version_2);
    int64_t other = left_of_groups(root, "", &version_1);
    least = other < least ? other : least;
    snprintf(path, sizeof path, "%.500s/proc/self/cgroup", root);
    FILE *stream = fopen(path, "r");
    if (!stream)
        return least;
    while (fgets(line, sizeof line, stream)) {
        char *controllers = strchr(line, ':');
        char *group = controllers ? strchr(controllers + 1, ':') : NULL;
        if (!group)
            continue;
        *group++ = '\0';
        group[strcspn(group, "\n")] = '\0';
        group[strcmp(group, "/") == 0 ? 0 : strlen(group)] = '\0';
        if (controllers[1] == '\0')
            other = left_of_groups(root, group, &version_2);
        else if (lists_memory(controllers + 1))
            other = left_of_groups(root, group, &version_1);
        least = other < least ? other : least;
    }
    fclose(stream);
    return least;
}

/* Slurm's numbers are MiB; 0 stands for all of the node. */
static int64_t slurm_memory(void)
{
    const char *node = getenv("SLURM_MEM_PER_NODE");
    const char *cpu = getenv("SLURM_MEM_PER_CPU");
    const char *cpus = getenv("SLURM_CPUS_ON_NODE");
    cpus = cpus ? cpus : getenv("SLURM_JOB_CPUS_PER_NODE");
    long long mebibytes = node ? atoll(node) : cpu && cpus ? atoll(cpu) * atoll(cpus) : 0;
    return mebibytes > 0 && mebibytes < (1LL << 40) ? (int64_t)mebibytes << 20 : INT64_MAX;
}

norma_status norma_plan_node_memory_local(const char *root, int64_t *bytes)
{
    char path[PATH_LENGTH];
    snprintf(path, sizeof path, "%.500s/proc/meminfo", root);
    int64_t available = read_number(path, "MemAvailable:");
    int64_t group = group_memory(root);
    int64_t slurm = slurm_memory();
    if (available < 0)
        return NORMA_FAIL(NORMA_LIBRARY, "cannot read MemAvailable from /proc/meminfo");
    available *= 1024;
    available = available < group ? available : group;
    *bytes = available < slurm ? available : slurm;
    return NORMA_OK;
}

int64_t norma_plan_peak_memory_local(void)
{
    int64_t kibibytes = read_number("/proc/self/status", "VmHWM:");
    return kibibytes > 0 ? kibibytes * 1024 : 0;
}
