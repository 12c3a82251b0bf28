/* mpi/runtime/log: a run that ends with an error waits until its message has been read. */
#include "tests/harness/harness.h"

#include "mpi/runtime/log.h"

#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/ioctl.h>
#include <time.h>
#include <unistd.h>

typedef struct reader {
    int pipe[2];
    char text[200];
} reader;

/* Reads the pipe after a moment. */
static void *read_later(void *data)
{
    reader *r = data;
    const struct timespec pause = {.tv_nsec = 200000000};
    nanosleep(&pause, NULL);
    ssize_t length = read(r->pipe[0], r->text, sizeof r->text - 1);
    r->text[length > 0 ? length : 0] = '\0';
    return NULL;
}

static void test_waits_for_reader(void **state)
{
    (void)state;
    reader r = {{0}, {0}};
    pthread_t thread;
    int unread = -1;
    norma_test_check(pipe(r.pipe) == 0);
    int kept = dup(STDERR_FILENO);
    dup2(r.pipe[1], STDERR_FILENO);
    norma_log_wait_for_reader_local(); /* nothing was printed: no wait */
    norma_log_error("the layer has no %s", "rows");
    bool started = pthread_create(&thread, NULL, read_later, &r) == 0;
    if (started) {
        norma_log_wait_for_reader_local();
        ioctl(STDERR_FILENO, FIONREAD, &unread);
    }
    dup2(kept, STDERR_FILENO);
    close(kept);
    norma_test_check(started);
    norma_test_check(unread == 0);
    pthread_join(thread, NULL);
    norma_test_check(strcmp(r.text, "norma: error: the layer has no rows\n") == 0);
    close(r.pipe[0]);
    close(r.pipe[1]);
}

/* A file has no reader. */
static void test_file(void **state)
{
    (void)state;
    FILE *file = tmpfile();
    norma_test_check(file != NULL);
    int kept = dup(STDERR_FILENO);
    dup2(fileno(file), STDERR_FILENO);
    norma_log_error("no reader");
    norma_log_wait_for_reader_local();
    dup2(kept, STDERR_FILENO);
    close(kept);
    norma_test_check(lseek(fileno(file), 0, SEEK_END) ==
                     (off_t)strlen("norma: error: no reader\n"));
    fclose(file);
}

static const struct CMUnitTest tests[] = {cmocka_unit_test(test_waits_for_reader),
                                          cmocka_unit_test(test_file)};

norma_test_main_serial("mpi.log", tests)
