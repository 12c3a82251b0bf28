#include "io/hdf5/foreign.h"

#include <stdio.h>
#include <string.h>

typedef struct kind {
    size_t offset, length;
    const char *bytes;
    const char *text;
} kind;

#define PICKLE                                                                                     \
    "a Python pickle, as in CIFAR's python version: take the binary version (data_batch_1.bin), "  \
    "or store its arrays with h5py"
#define NETCDF "a classic netCDF file: nccopy -k netCDF-4 makes an HDF5 file of it"

static const kind kinds[] = {
    {0, 4, "PK\003\004",
     "a ZIP archive, as PyTorch's .pt and numpy's .npz files are: export a model with "
     "experiments/tools/pytorch_target.py, store arrays with h5py"},
    {257, 5, "ustar", "a tar archive: unpack it"},
    {0, 2, "\037\213", "compressed by gzip: unpack it"},
    {0, 3, "BZh", "compressed by bzip2: unpack it"},
    {0, 5, "\3757zXZ", "compressed by xz: unpack it"},
    {0, 4, "\050\265\057\375", "compressed by zstd: unpack it"},
    {0, 6, "\223NUMPY", "a numpy .npy file: store its array with h5py"},
    {0, 2, "\200\002", PICKLE},
    {0, 2, "\200\003", PICKLE},
    {0, 2, "\200\004", PICKLE},
    {0, 2, "\200\005", PICKLE},
    {0, 4, "CDF\001", NETCDF},
    {0, 4, "CDF\002", NETCDF},
    {0, 4, "CDF\005", NETCDF},
    {0, 10, "MATLAB 5.0", "a MATLAB file of version 5 to 7: save it with -v7.3, which is HDF5"},
    {0, 4, "\016\003\023\001", "an HDF4 file: h4toh5 makes an HDF5 file of it"},
    {0, 8, "\211PNG\r\n\032\n", "a PNG picture: store an array of pictures with h5py"},
    {0, 3, "\377\330\377", "a JPEG picture: store an array of pictures with h5py"},
};

const char *norma_foreign_describe_local(const unsigned char *head, size_t n)
{
    for (size_t k = 0; k < sizeof kinds / sizeof kinds[0]; k++)
        if (kinds[k].offset + kinds[k].length <= n &&
            memcmp(head + kinds[k].offset, kinds[k].bytes, kinds[k].length) == 0)
            return kinds[k].text;
    return NULL;
}

const char *norma_foreign_describe_file_local(const char *path)
{
    unsigned char head[NORMA_FOREIGN_HEAD];
    FILE *stream = fopen(path, "rb");
    if (!stream)
        return NULL;
    size_t n = fread(head, 1, sizeof head, stream);
    fclose(stream);
    return norma_foreign_describe_local(head, n);
}
