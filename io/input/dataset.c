#include "io/input/dataset.h"

#include "io/input/cifar.h"
#include "io/input/h5_images.h"
#include "io/input/idx.h"
#include "mpi/runtime/agree.h"
#include "mpi/runtime/shared.h"
#include "src/base/mem.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PATH_LENGTH 1024

struct norma_dataset {
    norma_images images;
    char path[PATH_LENGTH];
    norma_shared *shared; /* values, labels, pixels, each where there are any; owned */
};

typedef enum file_kind { FILE_IDX, FILE_CIFAR, FILE_HDF5 } file_kind;

/* What rank 0 found, and read. */
typedef struct parts {
    file_kind kind;
    bool in_folder;           /* searched for in a folder, so that labels must be there */
    char inside[PATH_LENGTH]; /* of an HDF5 file: the dataset */
    uint8_t *pixels;          /* owned, as those below; NULL: values */
    double *values;
    int32_t *labels; /* NULL when there are none */
} parts;

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

static bool find_images(const char *folder, char path[PATH_LENGTH])
{
    return find_in_folder(folder, "t10k-images-idx3-ubyte", path);
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

/* cifar-10 and cifar-100, as their archives unpack into NORMA_DATA. */
static norma_status find_named_cifar(const char *name, char path[PATH_LENGTH])
{
    bool ten = strcmp(name, "cifar-10") == 0;
    const char *folder_name = ten ? "cifar-10-batches-bin" : "cifar-100-binary";
    const char *file = ten ? "test_batch.bin" : "test.bin";
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
                      name, file, data ? data : "not set", folder_name);
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

/* The kind of a file by its name, or refuses an HDF5 file without the path inside. */
static norma_status find_file(const char *name, char path[PATH_LENGTH], parts *found)
{
    if (ends_with(name, ".h5") || ends_with(name, ".hdf5"))
        return NORMA_FAIL(NORMA_CONFIG,
                          "data set %s: which dataset of the file? Give %s:/images (labels are "
                          "taken from /labels)",
                          name, name);
    found->kind = ends_with(name, ".bin") || ends_with(name, ".bin.gz") ? FILE_CIFAR : FILE_IDX;
    if (snprintf(path, PATH_LENGTH, "%s", name) < PATH_LENGTH)
        return NORMA_OK;
    return NORMA_FAIL(NORMA_CONFIG, "the data set's path is too long");
}

/* FILE:PATH of an existing file. */
static bool find_inside(const char *name, char path[PATH_LENGTH], parts *found)
{
    const char *colon = strrchr(name, ':');
    if (!colon || colon == name || colon[1] == '\0' || strlen(name) >= PATH_LENGTH)
        return false;
    snprintf(path, PATH_LENGTH, "%.*s", (int)(colon - name), name);
    snprintf(found->inside, PATH_LENGTH, "%s", colon + 1);
    found->kind = FILE_HDF5;
    return is_file(path);
}

/* From a name to the file of images. */
static norma_status find_root(const char *name, char path[PATH_LENGTH], parts *found)
{
    if (strcmp(name, "fashion-mnist") == 0) {
        found->in_folder = true;
        return find_fashion_mnist(path);
    }
    if (is_folder(name))
        return find_in(name, path, found);
    if (is_file(name))
        return find_file(name, path, found);
    if (find_inside(name, path, found))
        return NORMA_OK;
    if (strcmp(name, "cifar-10") == 0 || strcmp(name, "cifar-100") == 0) {
        found->kind = FILE_CIFAR;
        return find_named_cifar(name, path);
    }
    return NORMA_FAIL(NORMA_CONFIG,
                      "data set %s: no such file or folder, nor a known name (fashion-mnist, "
                      "cifar-10, cifar-100)",
                      name);
}

/* The file of labels beside that of images: -labels-idx1- for -images-idx3-, .gz or not. */
static bool find_labels(const char *images, char path[PATH_LENGTH])
{
    static const char from[] = "images-idx3";
    char name[PATH_LENGTH];
    char folder[PATH_LENGTH];
    const char *slash = strrchr(images, '/');
    const char *base = slash ? slash + 1 : images;
    const char *at = strstr(base, from);
    if (!at)
        return false;
    snprintf(folder, sizeof folder, "%.*s", slash ? (int)(slash - images) : 1,
             slash ? images : ".");
    snprintf(name, sizeof name, "%.*slabels-idx1%s", (int)(at - base), base, at + sizeof from - 1);
    char *gz = strstr(name, ".gz");
    if (gz && gz[3] == '\0')
        *gz = '\0';
    return find_in_folder(folder, name, path);
}

static norma_status read_idx_root(int64_t n_images, norma_dataset *dataset, parts *read)
{
    char path[PATH_LENGTH];
    int64_t extents[NORMA_IDX_MAX_AXES] = {0};
    int64_t n_labels = 0;
    uint8_t *labels = NULL;
    NORMA_TRY(norma_idx_read_root(dataset->path, 3, n_images, extents, &read->pixels));
    dataset->images.shape = (norma_shape){1, extents[1], extents[2]};
    if (!find_labels(dataset->path, path)) {
        if (!read->in_folder)
            return NORMA_OK;
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s: there is no file of labels (t10k-labels-idx1-ubyte) "
                          "beside it",
                          dataset->path);
    }
    NORMA_TRY(norma_idx_read_root(path, 1, n_images, &n_labels, &labels));
    norma_status status = NORMA_ALLOC(read->labels, n_images);
    for (int64_t n = 0; n < n_images && status == NORMA_OK; n++)
        read->labels[n] = labels[n];
    NORMA_FREE(labels);
    NORMA_TRY(status);
    if (n_labels != extents[0])
        return NORMA_FAIL(NORMA_CONFIG, "%s: holds %" PRId64 " labels for %" PRId64 " images", path,
                          n_labels, extents[0]);
    return NORMA_OK;
}

static norma_status read_root(const char *name, int64_t n_images, norma_dataset *dataset,
                              parts *read)
{
    if (n_images < 1)
        return NORMA_FAIL(NORMA_CONFIG, "at least one sample of the data set must be taken");
    NORMA_TRY(find_root(name, dataset->path, read));
    dataset->images.n_images = n_images;
    switch (read->kind) {
    case FILE_CIFAR:
        dataset->images.shape =
            (norma_shape){NORMA_CIFAR_CHANNELS, NORMA_CIFAR_SIDE, NORMA_CIFAR_SIDE};
        return norma_cifar_read_root(dataset->path, n_images, &read->pixels, &read->labels);
    case FILE_HDF5:
        return norma_h5_images_read_root(dataset->path, read->inside, n_images,
                                         &dataset->images.shape, &read->pixels, &read->values,
                                         &read->labels);
    case FILE_IDX:
        break;
    }
    return read_idx_root(n_images, dataset, read);
}

/* Rank 0's images to every node: first what needs the larger alignment. */
static norma_status share(MPI_Comm comm, int rank, norma_dataset *dataset, const parts *read)
{
    int has[2] = {read->values != NULL, read->labels != NULL};
    MPI_Bcast(&dataset->images, (int)sizeof dataset->images, MPI_BYTE, 0, comm);
    MPI_Bcast(dataset->path, PATH_LENGTH, MPI_CHAR, 0, comm);
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
        if (read->labels)
            memcpy(bytes + label_start, read->labels, label_bytes);
    }
    norma_shared_broadcast(dataset->shared);
    dataset->images.pixels = has[0] ? NULL : bytes + pixel_start;
    dataset->images.values = has[0] ? (const double *)(const void *)bytes : NULL;
    dataset->images.labels = has[1] ? (const int32_t *)(const void *)(bytes + label_start) : NULL;
    return NORMA_OK;
}

norma_status norma_dataset_read(MPI_Comm comm, const char *name, int64_t n_images,
                                norma_dataset **out)
{
    int rank = 0;
    norma_dataset *dataset = NULL;
    parts read = {.pixels = NULL};
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
    NORMA_FREE(read.labels);
    norma_dataset_destroy(&dataset);
    return status;
}

const norma_images *norma_dataset_images_local(const norma_dataset *dataset)
{
    return &dataset->images;
}

const char *norma_dataset_path_local(const norma_dataset *dataset)
{
    return dataset->path;
}

void norma_dataset_destroy(norma_dataset **dataset)
{
    if (!*dataset)
        return;
    norma_shared_destroy(&(*dataset)->shared);
    NORMA_FREE(*dataset);
}
