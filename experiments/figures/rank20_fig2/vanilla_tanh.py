#!/usr/bin/env python3
"""The unnormalized chain of the right panel as the paper's code has it, in numpy: H <- W tanh(H) / ||W tanh(H)||_F with
uniform W of variance 1, d = N = 32. python3 vanilla_tanh.py [CHAINS [LAYERS]] prints the numerical rank at the end in
FP64 and FP32, the tolerance being that of each precision."""
import sys

import numpy as np


def final_rank(seed, n_layers, precision, d=32):
    generator = np.random.default_rng(seed)
    h = generator.standard_normal((d, d)).astype(precision)
    for _ in range(n_layers):
        w = generator.uniform(-np.sqrt(3), np.sqrt(3), (d, d)).astype(precision)
        h = w @ np.tanh(h)
        h /= np.linalg.norm(h)
    return np.linalg.matrix_rank(h)


def main():
    n_chains = int(sys.argv[1]) if len(sys.argv) > 1 else 10
    n_layers = int(sys.argv[2]) if len(sys.argv) > 2 else 50000
    for precision in (np.float64, np.float32):
        ranks = [final_rank(seed, n_layers, precision) for seed in range(n_chains)]
        error = np.std(ranks, ddof=1) / np.sqrt(n_chains) if n_chains > 1 else float("nan")
        print(f"{np.dtype(precision).name}: numerical rank {np.mean(ranks):.2f} +- {error:.2f}: {ranks}")


main()
