#include "mpi/runtime/log.h"

#include "src/base/mem.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <time.h>

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

/* One line in one write, so that lines of several programs do not mix; a text of many lines, such
 * as a help page, is as long as it wants. */
static void print_line(FILE *stream, const char *prefix, const char *format, va_list arguments)
{
    char line[2048];
    char *text = NULL;
    va_list again;
    if (!speaker)
        return;
    va_copy(again, arguments);
    int length = vsnprintf(line, sizeof line, format, arguments);
    if (length >= (int)sizeof line && NORMA_ALLOC(text, (int64_t)length + 1) == NORMA_OK)
        vsnprintf(text, (size_t)length + 1, format, again);
    va_end(again);
    fprintf(stream, "%s%s\n", prefix, text ? text : line);
    fflush(stream);
    norma_mem_free(text);
}

void norma_log_info(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    if (current_level >= NORMA_LOG_NORMAL)
        print_line(stderr, "norma: ", format, arguments);
    va_end(arguments);
}

void norma_log_warning_local(const char *format, ...)
{
    const bool spoke = speaker;
    va_list arguments;
    va_start(arguments, format);
    speaker = true;
    if (current_level >= NORMA_LOG_NORMAL)
        print_line(stderr, "norma: warning: ", format, arguments);
    speaker = spoke;
    va_end(arguments);
}

void norma_log_news(const char *format, ...)
{
    enum { N_KEPT = 64, LENGTH = 256 };
    static char kept[N_KEPT][LENGTH];
    static int next;
    char line[LENGTH];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    for (int i = 0; i < N_KEPT; i++)
        if (strcmp(kept[i], line) == 0)
            return;
    memcpy(kept[next], line, sizeof line);
    next = (next + 1) % N_KEPT;
    norma_log_info("%s", line);
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

void norma_log_wait_for_reader_local(void)
{
    enum { MILLISECONDS = 5000 };
    const struct timespec pause = {.tv_nsec = 1000000};
    int unread = 0;
    struct stat about;
    if (!speaker || fstat(fileno(stderr), &about) != 0 || !S_ISFIFO(about.st_mode))
        return;
    for (int i = 0; i < MILLISECONDS; i++) {
        if (ioctl(fileno(stderr), FIONREAD, &unread) != 0 || unread == 0)
            return;
        nanosleep(&pause, NULL);
    }
}

bool norma_log_results_arrived_local(void)
{
    return fflush(stdout) == 0 && !ferror(stdout);
}
