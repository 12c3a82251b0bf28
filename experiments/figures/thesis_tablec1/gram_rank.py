#!/usr/bin/env python3
"""Rank of the Gram matrices of random batches of images, in FP32 and FP64: python3 gram_rank.py OUTPUT.h5 [BATCHES [FOLDER]]

Reads Fashion-MNIST's training images from the folder of Debian's dataset-fashion-mnist or another one. The rank counts
singular values above N eps times the largest, as PyTorch does, eps being that of the precision in which the Gram matrix
X X' is computed; the rank of X itself in FP64 stands beside it."""
import gzip
import os
import sys

import h5py
import numpy as np

SIZES = (16, 32, 64, 128, 256, 512)
FILE = "train-images-idx3-ubyte.gz"


def images(folder):
    with gzip.open(os.path.join(folder, FILE)) as f:
        return np.frombuffer(f.read(), np.uint8, offset=16).reshape(-1, 784)


def cosine(x):
    """Mean cosine of two different samples."""
    unit = x / np.linalg.norm(x, axis=1, keepdims=True)
    n = len(x)
    return (np.sum(np.sum(unit, axis=0) ** 2) - n) / (n * (n - 1))


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    n_batches = int(sys.argv[2]) if len(sys.argv) > 2 else 100
    data = images(sys.argv[3] if len(sys.argv) > 3 else "/usr/share/datasets/fashion-mnist")
    with h5py.File(sys.argv[1], "w") as f:
        f["batch"], f["replica"] = np.array(SIZES), np.arange(n_batches)
        rank = {name: np.zeros((len(SIZES), n_batches), np.int32)
                for name in ("rank_gram_single", "rank_gram_single_standardized", "rank_gram_double", "rank_samples")}
        cosines = np.zeros((len(SIZES), n_batches))
        for i, n in enumerate(SIZES):
            for j in range(n_batches):
                chosen = np.random.default_rng((1, n, j)).choice(len(data), n, replace=False)
                x = data[chosen] / 255.0
                single, standard = x.astype(np.float32), ((x - 0.2860) / 0.3530).astype(np.float32)
                rank["rank_gram_single"][i, j] = np.linalg.matrix_rank(single @ single.T)
                rank["rank_gram_single_standardized"][i, j] = np.linalg.matrix_rank(standard @ standard.T)
                rank["rank_gram_double"][i, j] = np.linalg.matrix_rank(x @ x.T)
                rank["rank_samples"][i, j] = np.linalg.matrix_rank(x)
                cosines[i, j] = cosine(x)
            print(n, *(f"{name} {r[i].mean():.2f} +- {r[i].std(ddof=1):.2f}" for name, r in rank.items()),
                  f"cosine {cosines[i].mean():.2f}", flush=True)
        for name, values in {**rank, "cosine": cosines}.items():
            f[name] = values


if __name__ == "__main__":
    main()
