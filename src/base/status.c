#include "src/base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

static norma_error first_error;

typedef struct status_entry {
    int exit_code;
    const char *text;
} status_entry;

#define STATUS_ENTRY(name, exit_code, text) {exit_code, text},
static const status_entry entries[] = {NORMA_STATUS_LIST(STATUS_ENTRY)};
#undef STATUS_ENTRY

int norma_status_exit_code(norma_status status)
{
    return entries[status].exit_code;
}

const char *norma_status_text(norma_status status)
{
    return entries[status].text;
}

norma_status norma_status_fail(norma_status status, const char *file, int line, const char *format,
                               ...)
{
    va_list arguments;
    va_start(arguments, format);
#pragma omp critical(norma_status)
    if (first_error.status == NORMA_OK) {
        first_error.status = status;
        snprintf(first_error.where, sizeof first_error.where, "%s:%d", file, line);
        vsnprintf(first_error.message, sizeof first_error.message, format, arguments);
    }
    va_end(arguments);
    return status;
}

norma_status norma_status_context(norma_status status, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
#pragma omp critical(norma_status)
    if (first_error.status != NORMA_OK) {
        char message[NORMA_MESSAGE_LENGTH];
        int used = vsnprintf(message, sizeof message, format, arguments);
        if (used >= 0 && used < NORMA_MESSAGE_LENGTH) {
            size_t room = sizeof message - (size_t)used;
            size_t length = strnlen(first_error.message, room - 1);
            memcpy(message + used, first_error.message, length);
            message[(size_t)used + length] = '\0';
            memcpy(first_error.message, message, sizeof message);
        }
    }
    va_end(arguments);
    return status;
}

const norma_error *norma_status_error(void)
{
    return &first_error;
}

void norma_status_set_error(const norma_error *error)
{
    first_error = *error;
}

void norma_status_clear(void)
{
    memset(&first_error, 0, sizeof first_error);
}
