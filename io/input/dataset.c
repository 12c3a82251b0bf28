#include "io/input/dataset.h"

#include "io/hdf5/foreign.h"
#include "io/hdf5/h5_input.h"
#include "io/input/cifar.h"
#include "io/input/h5_images.h"
#include "io/input/idx.h"
#include "io/input/labels.h"
#include "io/input/place.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/shared.h"
#include "src/base/mem.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <zlib.h>

#define PATH_LENGTH 1024

struct norma_dataset {
    norma_images images;
    char path[PATH_LENGTH];
    char type[NORMA_H5_INPUT_TYPE];
    char labels_from[NORMA_LABELS_PATH];
    norma_shared *shared; /* values, labels, pixels, each where there are any; owned */
};

typedef enum file_kind { FILE_IDX, FILE_CIFAR, FILE_HDF5 } file_kind;

/* The files that rank 0 found, and their contents. */
typedef struct parts {
    file_kind kind;
    bool without_labels;      /* nobody asks for them */
    bool in_folder;           /* searched for in a folder, so that labels must be there */
    char inside[PATH_LENGTH]; /* of an HDF5 file: the dataset */
    uint8_t *pixels;          /* owned, as those below; NULL: values */
    double *values;
    norma_labels labels;
} parts;

/* The data sets known by a name. Files in a folder of its own come before Fashion-MNIST, and behind
 * all names of files CIFAR. */
static const char fashion_mnist[] = "fashion-mnist";
static const struct {
    const char *name, *summary;
    const char *folder, *file; /* of CIFAR: where its archive unpacks to, and the test images */
} named[] = {
    {fashion_mnist, "from NORMA_DATA or Debian's package dataset-fashion-mnist", NULL, NULL},
    {"cifar-10", "its binary version, from NORMA_DATA", "cifar-10-batches-bin", "test_batch.bin"},
    {"cifar-100", "its binary version, from NORMA_DATA", "cifar-100-binary", "test.bin"},
};
const norma_names norma_dataset_names = NORMA_NAMES("data set", "data sets", named);

/* The index in the table; -1 where there is none. */
static int find_named(const char *name)
{
    for (int i = 0; i < (int)norma_dataset_names.n; i++)
        if (strcmp(name, named[i].name) == 0)
            return i;
    return -1;
}

bool norma_dataset_is_named_local(const char *name)
{
    return find_named(name) >= 0;
}

static bool is_file(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && !S_ISDIR(info.st_mode);
}

static bool is_folder(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode);
}

/* folder/name or folder/name.gz, whichever is there. */
static bool find_in_folder(const char *folder, const char *name, char path[PATH_LENGTH])
{
    static const char *const endings[] = {"", ".gz"};
    for (int k = 0; k < 2; k++) {
        int n = snprintf(path, PATH_LENGTH, "%s/%s%s", folder, name, endings[k]);
        if (n > 0 && n < PATH_LENGTH && is_file(path))
            return true;
    }
    return false;
}

/* MNIST's test images, as they are named in archives, and dotted as some unpackers leave them. */
static bool find_images(const char *folder, char path[PATH_LENGTH])
{
    static const char *const names[] = {"t10k-images-idx3-ubyte", "t10k-images.idx3-ubyte",
                                        "qmnist-test-images-idx3-ubyte"};
    for (size_t k = 0; k < sizeof names / sizeof names[0]; k++)
        if (find_in_folder(folder, names[k], path))
            return true;
    return false;
}

static norma_status find_fashion_mnist(char path[PATH_LENGTH])
{
    const char *data = getenv("NORMA_DATA");
    char folder[PATH_LENGTH];
    if (data) {
        int n = snprintf(folder, sizeof folder, "%s/fashion-mnist", data);
        if ((n > 0 && n < PATH_LENGTH && find_images(folder, path)) || find_images(data, path))
            return NORMA_OK;
    }
    if (find_images("/usr/share/datasets/fashion-mnist", path))
        return NORMA_OK;
    return NORMA_FAIL(
        NORMA_CONFIG,
        "fashion-mnist: t10k-images-idx3-ubyte.gz is neither in NORMA_DATA (%s) nor in "
        "/usr/share/datasets/fashion-mnist; install Debian's package "
        "dataset-fashion-mnist, or set NORMA_DATA to the folder that holds the files",
        data ? data : "not set");
}

/* A CIFAR of the table, as its archive unpacks into NORMA_DATA. */
static norma_status find_named_cifar(int i, char path[PATH_LENGTH])
{
    const char *folder_name = named[i].folder;
    const char *file = named[i].file;
    const char *data = getenv("NORMA_DATA");
    char folder[PATH_LENGTH];
    if (data) {
        int n = snprintf(folder, sizeof folder, "%s/%s", data, folder_name);
        if ((n > 0 && n < PATH_LENGTH && find_in_folder(folder, file, path)) ||
            find_in_folder(data, file, path))
            return NORMA_OK;
    }
    return NORMA_FAIL(NORMA_CONFIG,
                      "%s: %s is not in NORMA_DATA (%s), nor in %s there; unpack the archive of "
                      "the binary version and set NORMA_DATA to the folder it stands in",
                      named[i].name, file, data ? data : "not set", folder_name);
}

static norma_status find_in(const char *folder, char path[PATH_LENGTH], parts *found)
{
    found->in_folder = true;
    if (find_images(folder, path))
        return NORMA_OK;
    found->kind = FILE_CIFAR;
    if (find_in_folder(folder, "test_batch.bin", path) || find_in_folder(folder, "test.bin", path))
        return NORMA_OK;
    return NORMA_FAIL(NORMA_CONFIG,
                      "%s: holds no t10k-images-idx3-ubyte (or .gz), nor CIFAR's test_batch.bin "
                      "or test.bin",
                      folder);
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text);
    size_t m = strlen(end);
    return n >= m && strcmp(text + n - m, end) == 0;
}

/* Refuses archives and other kinds, also those that gzip packed: they are known by their first
 * bytes. */
static norma_status check_kind(const char *name)
{
    unsigned char head[NORMA_FOREIGN_HEAD];
    gzFile file = gzopen(name, "rb");
    if (!file)
        return NORMA_FAIL(NORMA_CONFIG, "%s: cannot be opened: %s", name, strerror(errno));
    int n = gzread(file, head, sizeof head);
    bool packed = gzdirect(file) == 0;
    (void)gzclose(file);
    const char *foreign = norma_foreign_describe_local(head, n > 0 ? (size_t)n : 0);
    if (!foreign)
        return NORMA_OK;
    return NORMA_FAIL(NORMA_CONFIG, "%s is not a data set of images but %s%s", name,
                      packed ? "gzip data of " : "", foreign);
}

/* The kind of a file by its content and name, or refuses an HDF5 file without the path inside. */
static norma_status find_file(const char *name, char path[PATH_LENGTH], parts *found)
{
    if (norma_h5_input_is_hdf5_root(name))
        return NORMA_FAIL(NORMA_CONFIG,
                          "data set %s: which dataset of the file? Give %s:/images (labels are "
                          "taken from /labels)",
                          name, name);
    NORMA_TRY(check_kind(name));
    found->kind = ends_with(name, ".bin") || ends_with(name, ".bin.gz") ? FILE_CIFAR : FILE_IDX;
    if (snprintf(path, PATH_LENGTH, "%s", name) < PATH_LENGTH)
        return NORMA_OK;
    return NORMA_FAIL(NORMA_CONFIG, "the data set's path is too long");
}

/* FILE:PATH of an existing file. */
static norma_status find_inside(const char *name, char path[PATH_LENGTH], parts *found, bool *is)
{
    char *file = NULL;
    const char *inside = NULL;
    NORMA_TRY(norma_place_split_root(name, &file, &inside));
    *is = inside && strlen(name) < PATH_LENGTH && is_file(file);
    if (*is) {
        memcpy(path, file, strlen(file) + 1);
        memcpy(found->inside, inside, strlen(inside) + 1);
        found->kind = FILE_HDF5;
    }
    norma_mem_free(file);
    return NORMA_OK;
}

/* From a name to the file of images. */
static norma_status find_root(const char *name, char path[PATH_LENGTH], parts *found)
{
    bool inside = false;
    char known[128];
    if (strcmp(name, fashion_mnist) == 0) {
        found->in_folder = true;
        return find_fashion_mnist(path);
    }
    if (is_folder(name))
        return find_in(name, path, found);
    if (is_file(name))
        return find_file(name, path, found);
    NORMA_TRY(find_inside(name, path, found, &inside));
    if (inside)
        return NORMA_OK;
    if (find_named(name) >= 0) {
        found->kind = FILE_CIFAR;
        return find_named_cifar(find_named(name), path);
    }
    return NORMA_FAIL(NORMA_CONFIG, "data set %s: no such file or folder, nor a known name (%s)",
                      name, norma_names_join(&norma_dataset_names, known, sizeof known));
}

static norma_status read_idx_root(int64_t n_images, norma_dataset *dataset, parts *read)
{
    norma_idx idx;
    NORMA_TRY(norma_idx_read_root(dataset->path, 3, 4, n_images, &idx));
    const int64_t *x = idx.extents + idx.n_axes - 3;
    dataset->images.shape = (norma_shape){idx.n_axes == 3 ? 1 : x[0], x[1], x[2]};
    snprintf(dataset->type, sizeof dataset->type, "%s", idx.type);
    read->pixels = idx.bytes;
    read->values = idx.values;
    if (read->without_labels)
        return NORMA_OK;
    NORMA_TRY(norma_labels_read_idx_root(dataset->path, idx.extents[0], n_images, &read->labels));
    if (!read->labels.numbers && read->in_folder)
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s: there is no file of labels (t10k-labels-idx1-ubyte) "
                          "beside it",
                          dataset->path);
    return NORMA_OK;
}

static norma_status read_cifar_root(int64_t n_images, norma_dataset *dataset, parts *read)
{
    dataset->images.shape = (norma_shape){NORMA_CIFAR_CHANNELS, NORMA_CIFAR_SIDE, NORMA_CIFAR_SIDE};
    snprintf(dataset->type, sizeof dataset->type, "uint8");
    snprintf(read->labels.where, sizeof read->labels.where, "%s", dataset->path);
    NORMA_TRY(norma_cifar_read_root(dataset->path, n_images, &read->pixels, &read->labels.numbers));
    for (int64_t n = 0; n < n_images; n++)
        if (read->labels.numbers[n] > read->labels.high)
            read->labels.high = read->labels.numbers[n];
    return NORMA_OK;
}

static norma_status read_h5_root(int64_t n_images, norma_dataset *dataset, parts *read)
{
    norma_h5_images images;
    NORMA_TRY(norma_h5_images_read_root(dataset->path, read->inside, n_images,
                                        !read->without_labels, &images));
    dataset->images.shape = images.shape;
    memcpy(dataset->type, images.type, sizeof dataset->type);
    read->pixels = images.pixels;
    read->values = images.values;
    read->labels = images.labels;
    return NORMA_OK;
}

static norma_status read_root(const char *name, int64_t n_images, norma_dataset *dataset,
                              parts *read)
{
    if (n_images < 1)
        return NORMA_FAIL(NORMA_CONFIG, "at least one sample of the data set must be taken");
    NORMA_TRY(find_root(name, dataset->path, read));
    dataset->images.n_images = n_images;
    norma_status status = read->kind == FILE_CIFAR  ? read_cifar_root(n_images, dataset, read)
                          : read->kind == FILE_HDF5 ? read_h5_root(n_images, dataset, read)
                                                    : read_idx_root(n_images, dataset, read);
    dataset->images.label_low = read->labels.low;
    dataset->images.label_high = read->labels.high;
    if (read->labels.numbers)
        memcpy(dataset->labels_from, read->labels.where, sizeof dataset->labels_from);
    return status;
}

/* Rank 0's images to every node: first what needs the larger alignment. */
static norma_status share(MPI_Comm comm, int rank, norma_dataset *dataset, const parts *read)
{
    int has[2] = {read->values != NULL, read->labels.numbers != NULL};
    MPI_Bcast(&dataset->images, (int)sizeof dataset->images, MPI_BYTE, 0, comm);
    MPI_Bcast(dataset->path, PATH_LENGTH, MPI_CHAR, 0, comm);
    MPI_Bcast(dataset->type, NORMA_H5_INPUT_TYPE, MPI_CHAR, 0, comm);
    MPI_Bcast(dataset->labels_from, NORMA_LABELS_PATH, MPI_CHAR, 0, comm);
    MPI_Bcast(has, 2, MPI_INT, 0, comm);
    int64_t n = dataset->images.n_images;
    int64_t n_pixels = n * norma_shape_size(dataset->images.shape);
    size_t pixel_bytes = (size_t)n_pixels * (has[0] ? sizeof(double) : sizeof(uint8_t));
    size_t label_bytes = has[1] ? (size_t)n * sizeof(int32_t) : 0;
    size_t label_start = has[0] ? pixel_bytes : 0;
    size_t pixel_start = has[0] ? 0 : label_bytes;
    NORMA_TRY(norma_shared_create(comm, (int64_t)(pixel_bytes + label_bytes), &dataset->shared));
    uint8_t *bytes = norma_shared_data_local(dataset->shared);
    if (rank == 0) {
        if (read->values)
            memcpy(bytes + pixel_start, read->values, pixel_bytes);
        if (read->pixels)
            memcpy(bytes + pixel_start, read->pixels, pixel_bytes);
        if (read->labels.numbers)
            memcpy(bytes + label_start, read->labels.numbers, label_bytes);
    }
    norma_shared_broadcast(dataset->shared);
    dataset->images.pixels = has[0] ? NULL : bytes + pixel_start;
    dataset->images.values = has[0] ? (const double *)(const void *)bytes : NULL;
    dataset->images.labels_from = dataset->labels_from;
    dataset->images.labels = has[1] ? (const int32_t *)(const void *)(bytes + label_start) : NULL;
    return NORMA_OK;
}

static norma_status read_dataset(MPI_Comm comm, const char *name, int64_t n_images,
                                 bool without_labels, norma_dataset **out)
{
    int rank = 0;
    norma_dataset *dataset = NULL;
    parts read = {.without_labels = without_labels};
    MPI_Comm_rank(comm, &rank);
    norma_status status = NORMA_CALLOC(dataset, 1);
    if (status == NORMA_OK && rank == 0)
        status = read_root(name, n_images, dataset, &read);
    NORMA_GOTO(status, norma_agree(comm, status));
    NORMA_GOTO(status, share(comm, rank, dataset, &read));
    *out = dataset;
    dataset = NULL;
done:
    NORMA_FREE(read.pixels);
    NORMA_FREE(read.values);
    NORMA_FREE(read.labels.numbers);
    norma_dataset_destroy(&dataset);
    return status;
}

norma_status norma_dataset_read(MPI_Comm comm, const char *name, int64_t n_images,
                                norma_dataset **out)
{
    return read_dataset(comm, name, n_images, false, out);
}

norma_status norma_dataset_read_images(MPI_Comm comm, const char *name, int64_t n_images,
                                       norma_dataset **out)
{
    return read_dataset(comm, name, n_images, true, out);
}

const norma_images *norma_dataset_images_local(const norma_dataset *dataset)
{
    return &dataset->images;
}

const char *norma_dataset_path_local(const norma_dataset *dataset)
{
    return dataset->path;
}

const char *norma_dataset_type_local(const norma_dataset *dataset)
{
    return dataset->type;
}

void norma_dataset_destroy(norma_dataset **dataset)
{
    if (!*dataset)
        return;
    norma_shared_destroy(&(*dataset)->shared);
    NORMA_FREE(*dataset);
}
