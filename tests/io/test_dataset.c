/* io/dataset: IDX files plain and zipped, Fashion-MNIST itself. Bad files are among those of
 * test_target.c. */
#include "tests/harness/mpi_harness.h"

#include "io/dataset.h"
#include "io/h5_input.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PATH_LENGTH 1024

static const char *files(const char *name, char path[PATH_LENGTH])
{
    const char *folder = getenv("NORMA_TEST_INPUTS");
    snprintf(path, PATH_LENGTH, "%s/%s", folder ? folder : ".", name);
    return path;
}

enum { IMAGES = 6, PIXELS = 12 };

/* Are these the first n images that numpy wrote? (rank 0 judges) */
static bool are_expected(const norma_images *images, int64_t n, bool with_labels)
{
    char path[PATH_LENGTH];
    double pixels[IMAGES * PIXELS];
    const int64_t extents[3] = {IMAGES, 4, 3};
    norma_h5_input *input = NULL;
    bool good = images->n_images == n && images->shape.channels == 1 && images->shape.height == 4 &&
                images->shape.width == 3 && (images->labels != NULL) == with_labels;
    for (int64_t k = 0; good && with_labels && k < n; k++)
        good = images->labels[k] == k;
    if (norma_test_runtime->rank != 0)
        return good;
    norma_test_ok(norma_h5_input_open_root(files("set_expected.h5", path), &input));
    norma_test_ok(norma_h5_input_read_root(input, "/pixels", 3, extents, pixels));
    norma_h5_input_close_root(&input);
    for (int64_t k = 0; good && k < n * PIXELS; k++)
        good = images->pixels[k] == (uint8_t)pixels[k];
    return good;
}

static void test_folders_and_files(void **state)
{
    (void)state;
    static const char *const names[] = {"set", "set_gz", "set/t10k-images-idx3-ubyte",
                                        "set_gz/t10k-images-idx3-ubyte.gz", "alone-images"};
    char path[PATH_LENGTH];
    for (int k = 0; k < 5; k++)
        for (int64_t n = 1; n <= IMAGES; n += IMAGES - 1) {
            norma_dataset *dataset = NULL;
            norma_test_ok_all(
                norma_dataset_read(norma_test_runtime->world, files(names[k], path), n, &dataset));
            norma_test_check_all(are_expected(norma_dataset_images_local(dataset), n, k < 4));
            norma_test_check_all(strstr(norma_dataset_path_local(dataset), "images") != NULL);
            norma_dataset_destroy(&dataset);
        }
}

static void test_counts(void **state)
{
    (void)state;
    char path[PATH_LENGTH];
    norma_dataset *dataset = NULL;
    MPI_Comm world = norma_test_runtime->world;
    norma_test_fails_all(norma_dataset_read(world, files("set", path), IMAGES + 1, &dataset),
                         NORMA_CONFIG, "holds 6 items, 7 are asked for");
    norma_test_fails_all(norma_dataset_read(world, path, 0, &dataset), NORMA_CONFIG,
                         "at least one");
}

/* The published first labels, and all ten thousand images. */
static void test_fashion_mnist(void **state)
{
    (void)state;
    static const uint8_t first[] = {9, 2, 1, 1, 6, 1, 4, 6, 5, 7};
    int64_t counts[10] = {0};
    norma_dataset *dataset = NULL;
    norma_test_ok_all(
        norma_dataset_read(norma_test_runtime->world, "fashion-mnist", 10000, &dataset));
    const norma_images *images = norma_dataset_images_local(dataset);
    norma_test_check_all(images->shape.height == 28 && images->shape.width == 28);
    norma_test_check_all(memcmp(images->labels, first, sizeof first) == 0);
    for (int64_t n = 0; n < 10000; n++)
        counts[images->labels[n] % 10]++;
    for (int k = 0; k < 10; k++)
        norma_test_check_all(counts[k] == 1000);
    norma_dataset_destroy(&dataset);
}

/* NORMA_DATA goes first; a folder without the files falls back to the package. */
static void test_search(void **state)
{
    (void)state;
    char path[PATH_LENGTH];
    norma_dataset *dataset = NULL;
    MPI_Comm world = norma_test_runtime->world;
    setenv("NORMA_DATA", files("set", path), 1);
    norma_test_ok_all(norma_dataset_read(world, "fashion-mnist", 2, &dataset));
    norma_test_check_all(norma_dataset_images_local(dataset)->shape.height == 4);
    norma_dataset_destroy(&dataset);
    setenv("NORMA_DATA", "/nowhere", 1);
    norma_test_ok_all(norma_dataset_read(world, "fashion-mnist", 2, &dataset));
    norma_test_check_all(norma_dataset_images_local(dataset)->shape.height == 28);
    norma_dataset_destroy(&dataset);
    unsetenv("NORMA_DATA");
}

static const struct CMUnitTest tests[] = {
    cmocka_unit_test(test_folders_and_files),
    cmocka_unit_test(test_counts),
    cmocka_unit_test(test_fashion_mnist),
    cmocka_unit_test(test_search),
};

norma_test_main_mpi("io.dataset", tests)
