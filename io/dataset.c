#include "io/dataset.h"

#include "io/idx.h"
#include "mpi/agree.h"
#include "mpi/shared.h"
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
    norma_shared *shared; /* pixels, then labels; owned */
};

/* What rank 0 read. */
typedef struct parts {
    uint8_t *pixels, *labels; /* owned; labels NULL when there are none */
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

/* From a name to the file of images; *folder when it was searched for in one. */
static norma_status find_root(const char *name, char path[PATH_LENGTH], bool *in_folder)
{
    *in_folder = true;
    if (strcmp(name, "fashion-mnist") == 0)
        return find_fashion_mnist(path);
    if (is_folder(name)) {
        if (find_images(name, path))
            return NORMA_OK;
        return NORMA_FAIL(
            NORMA_CONFIG,
            "%s: holds no t10k-images-idx3-ubyte (or .gz); of folders only those with "
            "IDX files are supported",
            name);
    }
    *in_folder = false;
    if (is_file(name)) {
        if (snprintf(path, PATH_LENGTH, "%s", name) < PATH_LENGTH)
            return NORMA_OK;
        return NORMA_FAIL(NORMA_CONFIG, "the data set's path is too long");
    }
    if (strncmp(name, "cifar", 5) == 0)
        return NORMA_FAIL(NORMA_CONFIG,
                          "data set %s: CIFAR files are not supported; supported: "
                          "fashion-mnist, IDX files",
                          name);
    if (strstr(name, ".h5:"))
        return NORMA_FAIL(NORMA_CONFIG,
                          "data set %s: HDF5 data sets are not supported; supported: "
                          "fashion-mnist, IDX files",
                          name);
    return NORMA_FAIL(NORMA_CONFIG,
                      "data set %s: no such file or folder, nor a known name (fashion-mnist)",
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

static norma_status read_root(const char *name, int64_t n_images, norma_dataset *dataset,
                              parts *read)
{
    char labels[PATH_LENGTH];
    int64_t extents[NORMA_IDX_MAX_AXES] = {0};
    int64_t n_labels = 0;
    bool in_folder = false;
    if (n_images < 1)
        return NORMA_FAIL(NORMA_CONFIG, "at least one sample of the data set must be taken");
    NORMA_TRY(find_root(name, dataset->path, &in_folder));
    NORMA_TRY(norma_idx_read_root(dataset->path, 3, n_images, extents, &read->pixels));
    dataset->images.n_images = n_images;
    dataset->images.shape = (norma_shape){1, extents[1], extents[2]};
    if (!find_labels(dataset->path, labels)) {
        if (!in_folder)
            return NORMA_OK;
        return NORMA_FAIL(NORMA_CONFIG,
                          "%s: there is no file of labels (t10k-labels-idx1-ubyte) "
                          "beside it",
                          dataset->path);
    }
    NORMA_TRY(norma_idx_read_root(labels, 1, n_images, &n_labels, &read->labels));
    if (n_labels != extents[0])
        return NORMA_FAIL(NORMA_CONFIG, "%s: holds %" PRId64 " labels for %" PRId64 " images",
                          labels, n_labels, extents[0]);
    return NORMA_OK;
}

/* Rank 0's images to every node. */
static norma_status share(MPI_Comm comm, int rank, norma_dataset *dataset, const parts *read)
{
    int has_labels = read->labels ? 1 : 0;
    MPI_Bcast(&dataset->images, (int)sizeof dataset->images, MPI_BYTE, 0, comm);
    MPI_Bcast(dataset->path, PATH_LENGTH, MPI_CHAR, 0, comm);
    MPI_Bcast(&has_labels, 1, MPI_INT, 0, comm);
    int64_t n = dataset->images.n_images;
    int64_t size = n * norma_shape_size(dataset->images.shape);
    NORMA_TRY(norma_shared_create(comm, size + (has_labels ? n : 0), &dataset->shared));
    uint8_t *bytes = norma_shared_data_local(dataset->shared);
    if (rank == 0) {
        memcpy(bytes, read->pixels, (size_t)size);
        if (read->labels)
            memcpy(bytes + size, read->labels, (size_t)n);
    }
    norma_shared_broadcast(dataset->shared);
    dataset->images.pixels = bytes;
    dataset->images.labels = has_labels ? bytes + size : NULL;
    return NORMA_OK;
}

norma_status norma_dataset_read(MPI_Comm comm, const char *name, int64_t n_images,
                                norma_dataset **out)
{
    int rank = 0;
    norma_dataset *dataset = NULL;
    parts read = {NULL, NULL};
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
