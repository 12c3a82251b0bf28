"""Writes a batch far from the fixed point as an input of norma chain: two clusters of nearly equal samples.

    python3 experiments/figures/thesis_fig3_2/cluster_batch.py clusters.h5
    norma chain --config experiments/figures/thesis_fig3_2/run.yaml --input clusters.h5 --output clusters_result.h5
"""
import sys

import h5py
import numpy as np

WIDTH, BATCH, NOISE = 1000, 10, 0.1

draw = np.random.default_rng(1)
centers = draw.standard_normal((WIDTH, 2))
batch = centers[:, np.arange(BATCH) % 2] + NOISE * draw.standard_normal((WIDTH, BATCH))
with h5py.File(sys.argv[1] if len(sys.argv) > 1 else "clusters.h5", "w") as f:
    f["H0"] = batch
