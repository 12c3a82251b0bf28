#include "io/input/place.h"

#include "src/base/mem.h"

#include <stdbool.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static bool is_file(const char *path)
{
    struct stat about;
    return stat(path, &about) == 0 && !S_ISDIR(about.st_mode);
}

norma_status norma_place_split_root(const char *where, char **file, const char **inside)
{
    char *copy = norma_mem_strdup(where);
    if (!copy)
        return NORMA_MEMORY;
    *file = copy;
    *inside = NULL;
    if (access(where, F_OK) == 0)
        return NORMA_OK;
    char *cut = NULL;
    for (char *colon = strchr(copy, ':'); colon; colon = strchr(colon + 1, ':')) {
        if (colon == copy || colon[1] == '\0')
            continue;
        cut = colon;
        *colon = '\0';
        bool found = is_file(copy);
        *colon = ':';
        if (found)
            break;
    }
    if (cut) {
        *cut = '\0';
        *inside = cut + 1;
    }
    return NORMA_OK;
}
