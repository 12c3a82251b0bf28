"""Data sets for the Python scripts beside this file, by the names that `norma --dataset` takes.

    images, labels = datasets.load("fashion-mnist", 1000)     # uint8 or float64 [n, c, h, w], int64 [n] or None

The first n test images: fashion-mnist, a folder or file of IDX, CIFAR binary, or file.h5:/images.
"""
import gzip
import os

import numpy as np

FASHION_MNIST = "/usr/share/datasets/fashion-mnist"
CIFAR_PIXELS = 3 * 32 * 32


def read_bytes(path):
    """The content of a file, .gz or not."""
    with open(path, "rb") as f:
        data = f.read()
    return gzip.decompress(data) if data[:2] == b"\x1f\x8b" else data


def read_idx(path):
    """An IDX file of unsigned bytes as an array."""
    data = read_bytes(path)
    if data[:3] != b"\x00\x00\x08":
        raise ValueError(f"{path}: no IDX file of unsigned bytes")
    n_axes = data[3]
    extents = np.frombuffer(data, ">i4", n_axes, 4)
    return np.frombuffer(data, np.uint8, offset=4 + 4 * n_axes).reshape(extents).copy()


def find(folder, names):
    for name in names:
        for ending in ("", ".gz"):
            path = os.path.join(folder, name + ending)
            if os.path.exists(path):
                return path
    return None


def read_idx_pair(folder, part):
    """Images [n, 1, h, w] and labels; part is train or t10k."""
    images = find(folder, [part + "-images-idx3-ubyte"])
    labels = find(folder, [part + "-labels-idx1-ubyte"])
    if not images or not labels:
        raise FileNotFoundError(f"{folder}: holds no {part}-images-idx3-ubyte with its labels")
    return read_idx(images)[:, None], read_idx(labels).astype(np.int64)


def fashion_mnist(part="t10k"):
    """Fashion-MNIST from NORMA_DATA or Debian's package dataset-fashion-mnist."""
    data = os.environ.get("NORMA_DATA")
    for folder in ([os.path.join(data, "fashion-mnist"), data] if data else []) + [FASHION_MNIST]:
        if find(folder, [part + "-images-idx3-ubyte"]):
            return read_idx_pair(folder, part)
    raise FileNotFoundError("fashion-mnist: install dataset-fashion-mnist, or set NORMA_DATA")


def read_cifar(path):
    """CIFAR-10 (a label byte an image) or CIFAR-100 (two, the second is the class), told by size."""
    data = np.frombuffer(read_bytes(path), np.uint8)
    n_labels = 1 if len(data) % (CIFAR_PIXELS + 1) == 0 else 2
    records = data.reshape(-1, CIFAR_PIXELS + n_labels)
    return records[:, n_labels:].reshape(-1, 3, 32, 32), records[:, n_labels - 1].astype(np.int64)


def read_hdf5(path, inside):
    """Images [n, c, h, w], [n, h, w] or [n, inputs], with labels [n] beside them where there are any."""
    import h5py
    with h5py.File(path, "r") as f:
        images = f[inside][...]
        name = os.path.join(os.path.dirname(inside), "labels")
        labels = f[name][...].astype(np.int64) if name in f else None
    if images.ndim == 3:
        images = images[:, None]
    if images.ndim == 2:
        images = images[:, :, None, None]
    return (images if images.dtype == np.uint8 else images.astype(np.float64)), labels


def load(name, n):
    """The first n images and labels of the data set that `norma --dataset name` reads."""
    if name == "fashion-mnist":
        images, labels = fashion_mnist()
    elif os.path.isdir(name):
        cifar = find(name, ["test_batch.bin", "test.bin"])
        images, labels = read_cifar(cifar) if cifar else read_idx_pair(name, "t10k")
    elif os.path.isfile(name):
        beside = name.replace("images-idx3", "labels-idx1")
        if name.endswith((".bin", ".bin.gz")):
            images, labels = read_cifar(name)
        elif beside != name and os.path.exists(beside):
            images, labels = read_idx(name)[:, None], read_idx(beside).astype(np.int64)
        else:
            images, labels = read_idx(name)[:, None], None
    elif ":" in name:
        images, labels = read_hdf5(*name.rsplit(":", 1))
    else:
        raise FileNotFoundError(f"data set {name}: no such file or folder")
    if len(images) < n:
        raise ValueError(f"data set {name}: holds {len(images)} images, {n} are asked for")
    return images[:n], None if labels is None else labels[:n]
