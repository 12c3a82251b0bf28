/* The collective way: the file is read on rank 0 and refused on all ranks alike. */
#include "io/config/config_read.h"
#include "io/config/config_text.h"
#include "mpi/runtime/agree.h"
#include "tests/harness/mpi_harness.h"
#include "tests/io/config_fixture.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

static char folder[64];

/* A path in the folder of this run, the same on all ranks. */
static const char *path_of(const char *name)
{
    static char path[128];
    snprintf(path, sizeof path, "%s/%s", folder, name);
    return path;
}

static void write_root(const char *name, const char *text, off_t size)
{
    if (norma_test_runtime->rank == 0) {
        FILE *file = fopen(path_of(name), "w");
        bool good = file && fputs(text, file) >= 0;
        good = file && fclose(file) == 0 && good;
        good = good && (size == 0 || truncate(path_of(name), size) == 0);
        if (!good)
            fprintf(stderr, "cannot write %s\n", path_of(name));
    }
    MPI_Barrier(norma_test_runtime->world);
}

static int make_folder(void **state)
{
    (void)state;
    if (norma_test_runtime->rank == 0) {
        snprintf(folder, sizeof folder, "/tmp/norma_config_XXXXXX");
        if (!mkdtemp(folder))
            folder[0] = '\0';
    }
    MPI_Bcast(folder, sizeof folder, MPI_CHAR, 0, norma_test_runtime->world);
    return folder[0] ? 0 : -1;
}

static int remove_folder(void **state)
{
    (void)state;
    static const char *const names[] = {"run.yaml", "bad.yaml", "large.yaml", "pipe", "empty.yaml"};
    for (size_t i = 0; norma_test_runtime->rank == 0 && i < sizeof names / sizeof names[0]; i++)
        unlink(path_of(names[i]));
    return norma_test_runtime->rank == 0 ? rmdir(folder) : 0;
}

static norma_status read_config(const char *flags, const char *name, norma_config **out)
{
    char line[256], *argv[32];
    snprintf(line, sizeof line, "%s --config %s", flags, path_of(name));
    int argc = fixture_split(line, argv);
    return norma_config_read(norma_test_runtime->world, &fixture_command, fixture_sections, argc,
                             argv, out);
}

static void reads(void **state)
{
    (void)state;
    norma_config *c = NULL;
    write_root("run.yaml", "solve:\n  width: 4,5\n  offset: 9\n", 0);
    write_root("empty.yaml", "", 0);
    norma_test_ok_all(read_config("--offset 3", "run.yaml", &c));
    norma_test_check_all(norma_config_get_integer(c, 1, "width") == 5);
    norma_test_check_all(norma_config_get_integer(c, 0, "offset") == 3);
    norma_config_destroy(&c);
    norma_test_ok_all(read_config("", "empty.yaml", &c));
    norma_test_check_all(norma_config_get_integer(c, 0, "width") == 8);
    norma_config_destroy(&c);
    norma_test_ok_all(norma_config_read(norma_test_runtime->world, &fixture_command,
                                        fixture_sections, 0, NULL, &c));
    norma_config_destroy(&c);
}

static void refuses(void **state)
{
    (void)state;
    norma_config *c = NULL;
    write_root("bad.yaml", "solve:\n  widht: 4\n", 0);
    write_root("large.yaml", "solve:\n", 100 << 20);
    if (norma_test_runtime->rank == 0 && mkfifo(path_of("pipe"), 0600) != 0)
        fprintf(stderr, "cannot make a pipe\n");
    MPI_Barrier(norma_test_runtime->world);
    norma_test_fails_all(read_config("", "bad.yaml", &c), NORMA_CONFIG,
                         "bad.yaml:2: solve: unknown key 'widht'; did you mean 'width'?");
    norma_test_fails_all(read_config("", "large.yaml", &c), NORMA_CONFIG,
                         "large.yaml: 104857600 bytes; a configuration has at most 16777216");
    norma_test_fails_all(read_config("", "pipe", &c), NORMA_CONFIG,
                         "pipe: gave no text: is there a program that writes to it?");
    norma_test_fails_all(read_config("", "none.yaml", &c), NORMA_CONFIG,
                         "none.yaml: No such file or directory");
    norma_test_fails_all(read_config("", "", &c), NORMA_CONFIG,
                         "/: is a directory; a file was expected");
    norma_test_fails_all(read_config("--exces 1", "bad.yaml", &c), NORMA_USAGE,
                         "--exces: unknown option");
    norma_test_check_all(c == NULL);
}

/* Zero bytes reach every rank as they are. */
static void bytes(void **state)
{
    (void)state;
    char *text = NULL;
    int64_t length = 0;
    write_root("bad.yaml", "solve:\n", 100);
    norma_test_ok_all(
        norma_config_text_read(norma_test_runtime->world, path_of("bad.yaml"), &text, &length));
    norma_test_check_all(length == 100 && text[6] == '\n' && text[7] == '\0' && text[100] == '\0');
    norma_test_ok_all(
        norma_agree_same(norma_test_runtime->world, text, (size_t)length, "the text"));
    norma_mem_free(text);
    norma_config *c = NULL;
    norma_test_fails_all(read_config("", "bad.yaml", &c), NORMA_CONFIG,
                         "bad.yaml:2: holds a zero byte: not a text file");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test_setup(reads, make_folder),
    cmocka_unit_test(refuses),
    cmocka_unit_test_teardown(bytes, remove_folder),
};

norma_test_main_mpi("config_read", tests)
