/* io/input/dataset: IDX and CIFAR files plain and zipped, HDF5, Fashion-MNIST itself. Bad files are
 * among those of test_target.c. */
#include "tests/harness/mpi_harness.h"

#include "io/hdf5/h5_input.h"
#include "io/input/dataset.h"

#include <math.h>
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
        good = (images->pixels ? images->pixels[k] : images->values[k]) == pixels[k];
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

/* CIFAR-10 and CIFAR-100 by name, folder and file: the pixels numpy wrote, fine labels. */
static void test_cifar(void **state)
{
    (void)state;
    enum { N = 4, SIZE = 3 * 32 * 32 };
    static const struct {
        const char *name, *expected;
        int32_t labels[N];
    } cases[] = {{"cifar-10", "/ten", {9, 0, 3, 7}},
                 {"cifar-100", "/hundred", {99, 0, 42, 7}},
                 {"cifar-10-batches-bin", "/ten", {9, 0, 3, 7}},
                 {"cifar-100-binary/test.bin", "/hundred", {99, 0, 42, 7}},
                 {"zipped_cifar/any.bin.gz", "/hundred", {99, 0, 42, 7}}};
    const int64_t extents[4] = {N, 3, 32, 32};
    static double pixels[N * SIZE];
    char path[PATH_LENGTH];
    setenv("NORMA_DATA", files("", path), 1);
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        norma_dataset *dataset = NULL;
        norma_h5_input *input = NULL;
        const char *name = k < 2 ? cases[k].name : files(cases[k].name, path);
        norma_test_ok_all(norma_dataset_read(norma_test_runtime->world, name, N, &dataset));
        const norma_images *images = norma_dataset_images_local(dataset);
        norma_test_check_all(images->shape.channels == 3 && images->shape.height == 32 &&
                             images->shape.width == 32 && images->n_images == N);
        norma_test_check_all(memcmp(images->labels, cases[k].labels, sizeof cases[k].labels) == 0);
        norma_test_ok(norma_h5_input_open_root(files("cifar_expected.h5", path), &input));
        norma_test_ok(norma_h5_input_read_root(input, cases[k].expected, 4, extents, pixels));
        norma_h5_input_close_root(&input);
        bool equal = true;
        for (int64_t i = 0; i < (int64_t)N * SIZE; i++)
            equal = equal && images->pixels[i] == (uint8_t)pixels[i];
        norma_test_check_all(equal);
        norma_dataset_destroy(&dataset);
    }
    unsetenv("NORMA_DATA");
}

/* HDF5 images of every type, with labels of the same type; the first n alone too. Those stored as
 * unsigned bytes stay bytes whatever their values are. */
static void test_hdf5_types(void **state)
{
    (void)state;
    static const char *const names[] = {"f2",     "f4",     "f8",     "g",      "u1",    "i2",
                                        "u2",     "i4",     "u4",     "i8",     "u8",    "big_f2",
                                        "big_f4", "big_f8", "big_i2", "big_i4", "big_u8"};
    char path[PATH_LENGTH], inside[64];
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
        for (int64_t n = 2; n <= IMAGES; n += IMAGES - 2) {
            norma_dataset *dataset = NULL;
            snprintf(inside, sizeof inside, "sets.h5:/%s/images", names[k]);
            norma_test_ok_all(
                norma_dataset_read(norma_test_runtime->world, files(inside, path), n, &dataset));
            const norma_images *read = norma_dataset_images_local(dataset);
            norma_test_check_all((read->values == NULL) == (strcmp(names[k], "u1") == 0));
            norma_test_check_all(are_expected(norma_dataset_images_local(dataset), n, true));
            norma_dataset_destroy(&dataset);
        }
}

/* Other layouts, no labels, and values that are no bytes. */
static void test_hdf5_shapes(void **state)
{
    (void)state;
    char path[PATH_LENGTH], inside[64];
    static const struct {
        const char *name;
        norma_shape shape;
        bool labels;
    } cases[] = {{"/images", {1, 4, 3}, true},         {"images", {1, 4, 3}, true},
                 {"/packed/images", {1, 4, 3}, false}, {"/flat/images", {12, 1, 1}, false},
                 {"/i1/images", {1, 4, 3}, false},     {"/half/images", {1, 4, 3}, true}};
    double pixels[IMAGES * PIXELS];
    for (size_t k = 0; k < sizeof cases / sizeof cases[0]; k++) {
        norma_dataset *dataset = NULL;
        norma_dataset *whole = NULL;
        snprintf(inside, sizeof inside, "sets.h5:%s", cases[k].name);
        norma_test_ok_all(
            norma_dataset_read(norma_test_runtime->world, files(inside, path), IMAGES, &dataset));
        norma_test_ok_all(
            norma_dataset_read(norma_test_runtime->world, files("set", path), IMAGES, &whole));
        const norma_images *images = norma_dataset_images_local(dataset);
        const uint8_t *bytes = norma_dataset_images_local(whole)->pixels;
        bool half = strcmp(cases[k].name, "/half/images") == 0;
        int divide = strcmp(cases[k].name, "/i1/images") == 0 ? 2 : 1;
        norma_test_check_all(memcmp(&images->shape, &cases[k].shape, sizeof images->shape) == 0);
        norma_test_check_all((images->labels != NULL) == cases[k].labels);
        norma_test_check_all((images->values != NULL) == (half || divide == 2));
        for (int i = 0; i < IMAGES * PIXELS; i++)
            pixels[i] = (half ? 2 : 1) * (images->values ? images->values[i] : images->pixels[i]);
        bool equal = true;
        for (int i = 0; i < IMAGES * PIXELS; i++)
            equal = equal && (int)pixels[i] == bytes[i] / divide && pixels[i] == floor(pixels[i]);
        norma_test_check_all(equal);
        for (int n = 0; half && n < IMAGES; n++)
            norma_test_check_all(images->labels[n] == 300 + n);
        norma_dataset_destroy(&dataset);
        norma_dataset_destroy(&whole);
    }
}

/* Labels under other names, as [n, 1], as QMNIST's, of other types; a packed dataset is no bytes.
 */
static void test_labels(void **state)
{
    (void)state;
    static const char *const names[] = {"dotted",
                                        "mixed",
                                        "mixed/t10k-images-idx3-ubyte",
                                        "qmnist",
                                        "sets.h5:/named_x_test/x_test",
                                        "sets.h5:named_test_images/test_images",
                                        "sets.h5:/named_X/X",
                                        "sets.h5:/named_test_set_x/test_set_x",
                                        "sets.h5:/named_data/data"};
    static const char *const types[] = {"idx_09/my-images.idx3", "idx_0b/my-images.idx3",
                                        "idx_0c/my-images.idx3", "idx_0d/my-images.idx3",
                                        "idx_0e/my-images.idx3", "sets.h5:/scaled/images"};
    char path[PATH_LENGTH];
    norma_dataset *whole = NULL;
    MPI_Comm world = norma_test_runtime->world;
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++) {
        norma_dataset *dataset = NULL;
        norma_test_ok_all(norma_dataset_read(world, files(names[k], path), IMAGES, &dataset));
        norma_test_check_all(are_expected(norma_dataset_images_local(dataset), IMAGES, true));
        norma_test_check_all(norma_dataset_images_local(dataset)->label_high == IMAGES - 1);
        norma_dataset_destroy(&dataset);
    }
    norma_test_ok_all(norma_dataset_read(world, files("set", path), IMAGES, &whole));
    const uint8_t *bytes = norma_dataset_images_local(whole)->pixels;
    for (size_t k = 0; k < sizeof types / sizeof types[0]; k++) {
        norma_dataset *dataset = NULL;
        bool scaled = k == sizeof types / sizeof types[0] - 1, equal = true;
        norma_test_ok_all(norma_dataset_read(world, files(types[k], path), IMAGES, &dataset));
        const norma_images *images = norma_dataset_images_local(dataset);
        norma_test_check_all(images->values && (images->labels != NULL) != scaled);
        for (int i = 0; i < IMAGES * PIXELS && images->values; i++) {
            int half = bytes[i] / 2;
            equal = equal && images->values[i] == (scaled ? bytes[i] * (1.0 / 255) : half);
        }
        norma_test_check_all(equal);
        norma_dataset_destroy(&dataset);
    }
    norma_dataset_destroy(&whole);
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
    static const int32_t first[] = {9, 2, 1, 1, 6, 1, 4, 6, 5, 7};
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
    cmocka_unit_test(test_cifar),
    cmocka_unit_test(test_hdf5_types),
    cmocka_unit_test(test_hdf5_shapes),
    cmocka_unit_test(test_labels),
    cmocka_unit_test(test_counts),
    cmocka_unit_test(test_fashion_mnist),
    cmocka_unit_test(test_search),
};

norma_test_main_mpi("io.dataset", tests)
