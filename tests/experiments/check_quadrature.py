"""norma spectrum --method quadrature: the distribution of all singular values lies inside the error bars of the
quadrature at every point, seed by seed, and both exact sums within five standard errors. Small matrices; with the
argument `all` n = 1024 and ten seeds; check_quadrature.py all 64 takes n = 64^2."""
import os
import sys

import h5py
import numpy as np

import program

ONE_THREAD = {"OMP_NUM_THREADS": "1"}
N_STEPS = 60


def run(folder, channels, seed, method, more=()):
    out = os.path.join(folder, method + ".h5")
    done = program.launch(["spectrum", "--channels", channels, "--overparam", 0.1, "--seed", seed, "--method", method,
                           "--bins", 60, *more, "--output", out, "--force"], timeout=3000, environment=ONE_THREAD)
    program.check(done.returncode == 0, f"{method}: exit {done.returncode}: {done.stderr}")
    return out


def compare(folder, channels, seed):
    """Points of the grid that lie outside, and the largest distance of the two distribution functions."""
    exact = run(folder, channels, seed, "svd", ["--values", "all"])
    found = run(folder, channels, seed, "quadrature", ["--probes", 10, "--steps", N_STEPS])
    with h5py.File(exact) as f, h5py.File(found) as g:
        values, grid = f["singular_value"][0], g["s_grid"][0]
        share = np.mean(values[None, :] <= grid[:, None], axis=1)
        low, high = g["spectral_cdf_low"][0], g["spectral_cdf_high"][0]
        outside = int(np.sum((share < low - 1e-12) | (share > high + 1e-12)))
        distance = float(np.max(np.abs(share - g["spectral_cdf"][0])))
        width = float(np.max(high - low))
        # Nearly three standard deviations of ten random vectors, and the largest weight of a node.
        most = 0.6 / channels + 1 / N_STEPS
        program.check(distance < most, f"seed {seed}: the distributions lie {distance} apart, at most {most}")
        for power in ("trace2", "trace4"):
            error = abs(g[power + "_measured"][0] - g[power][0])
            program.check(error < 5 * g[power + "_stderr"][0], f"seed {seed}: {power} off by {error}")
    print(f"n = {channels ** 2}, seed {seed}: {outside} of {len(grid)} points outside, distance {distance:.5f}, "
          f"widest bar {width:.5f}", flush=True)
    return outside, len(grid)


def main():
    numbers = [int(a) for a in sys.argv[1:] if a.isdigit()]
    channels = numbers[0] if numbers else 32 if program.ALL else 12
    seeds = range(1, 11) if program.ALL else range(1, 4)
    with program.folder() as folder:
        counts = [compare(folder, channels, seed) for seed in seeds]
    outside, points = (sum(c[i] for c in counts) for i in range(2))
    print(f"{outside} of {points} points outside")
    program.check(outside == 0, f"{outside} of {points} points lie outside of their bars")
    program.finish()


if __name__ == "__main__":
    main()
