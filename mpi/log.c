#include "mpi/log.h"

#include <stdarg.h>
#include <stdio.h>

static bool speaker = true;
static norma_log_level current_level = NORMA_LOG_NORMAL;

void norma_log_set_speaker_local(bool speaks)
{
    speaker = speaks;
}

void norma_log_set_level_local(norma_log_level level)
{
    current_level = level;
}

norma_log_level norma_log_level_local(void)
{
    return current_level;
}

bool norma_log_speaks_local(void)
{
    return speaker;
}

/* One line in one write, so that lines of several programs do not mix. */
static void print_line(FILE *stream, const char *prefix, const char *format, va_list arguments)
{
    char line[2048];
    if (!speaker)
        return;
    vsnprintf(line, sizeof line, format, arguments);
    fprintf(stream, "%s%s\n", prefix, line);
    fflush(stream);
}

void norma_log_info(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (current_level >= NORMA_LOG_NORMAL)
        print_line(stderr, "norma: ", format, arguments);
    va_end(arguments);
}

void norma_log_detail(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (current_level >= NORMA_LOG_VERBOSE)
        print_line(stderr, "norma: ", format, arguments);
    va_end(arguments);
}

void norma_log_warning(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (current_level >= NORMA_LOG_NORMAL)
        print_line(stderr, "norma: warning: ", format, arguments);
    va_end(arguments);
}

void norma_log_error(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line(stderr, "norma: error: ", format, arguments);
    va_end(arguments);
}

void norma_log_result(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    print_line(stdout, "", format, arguments);
    va_end(arguments);
}
