/*
 * Preloaded, it lets OpenBLAS take the kernels of the oldest processors, as it does on one that it
 * does not know: to OpenBLAS alone it presents OPENBLAS_CORETYPE=Prescott while that is not set.
 */
#define _GNU_SOURCE /* dladdr */
#include <dlfcn.h>
#include <string.h>

extern char **environ;

char *getenv(const char *name);

static char *find(const char *name)
{
    size_t length = strlen(name);
    for (char **entry = environ; entry && *entry; entry++)
        if (strncmp(*entry, name, length) == 0 && (*entry)[length] == '=')
            return *entry + length + 1;
    return NULL;
}

char *getenv(const char *name)
{
    static char oldest[] = "Prescott";
    Dl_info caller;
    char *value = find(name);
    if ((value && value[0]) || strcmp(name, "OPENBLAS_CORETYPE") != 0)
        return value;
    if (dladdr(__builtin_return_address(0), &caller) == 0 || !caller.dli_fname)
        return NULL;
    return strstr(caller.dli_fname, "openblas") ? oldest : NULL;
}
