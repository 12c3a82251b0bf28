#!/usr/bin/env python3
"""Prints the table and draws it: python3 plot.py [FOLDER OF THE RESULTS [OUTPUT.png]]

Reads condition_numbers_C.h5 and condition_numbers_excess_C.h5 for the widths C that are there, and nothing else."""
import glob
import os
import re
import sys

import h5py
import numpy as np


def read(path):
    """{(law, excess): condition numbers of the replicas} and n."""
    with h5py.File(path) as f:
        if f.attrs["status"] != "complete":
            sys.exit(f"{path}: is not complete")
        names = [d[0].name.split("/")[-1] for d in f["condition_number"].dims]
        values = f["condition_number"][...]
        meanings = f["source_dist"].attrs["flag_meanings"]
        known = (meanings.decode() if isinstance(meanings, bytes) else meanings).split()
        laws = [known[k] for k in f["source_dist"][...]]
        if "overparam" in names:
            excesses = list(f["overparam"][...])
        else:
            excesses, values, names = [0.0], values[None], ["overparam", *names]
        values = np.moveaxis(values, (names.index("source_dist"), names.index("overparam")), (0, 1))
        found = {(law, excess): values[i, j].ravel() for i, law in enumerate(laws) for j, excess in enumerate(excesses)}
        return int(f["n_rows"][...].max()), found


def main():
    folder = sys.argv[1] if len(sys.argv) > 1 else "build/figures"
    sizes = {}
    for path in glob.glob(f"{folder}/condition_numbers_*.h5"):
        if re.search(r"condition_numbers_(excess_)?\d+\.h5$", path):
            n, found = read(path)
            sizes.setdefault(n, {}).update(found)
    if not sizes:
        sys.exit(f"{folder}: holds no condition_numbers_C.h5")
    sizes = dict(sorted(sizes.items()))
    keys = list(dict.fromkeys(key for found in sizes.values() for key in found))
    keys.sort(key=lambda k: (k[0], k[1]))
    counts = [len(next(iter(found.values()))) for found in sizes.values()]
    print("| law | excess | " + " | ".join(f"n = {n} ({c})" for n, c in zip(sizes, counts)) + " |")
    print("| --- " * (len(sizes) + 2) + "|")
    for law, excess in keys:
        cells = [np.percentile(found[law, excess], (50, 25, 75)) if (law, excess) in found else None
                 for found in sizes.values()]
        print(f"| {law} | {100 * excess:g}% | " +
              " | ".join(f"{c[0]:.3g} ({c[1]:.3g}, {c[2]:.3g})" if c is not None else "-" for c in cells) + " |")
    draw(sizes, keys, sys.argv[2] if len(sys.argv) > 2 else os.path.join(folder, "condition_numbers.png"))


def draw(sizes, keys, path):
    import matplotlib
    matplotlib.use("Agg")
    from matplotlib import pyplot
    laws = list(dict.fromkeys(law for law, _ in keys))
    figure, axes = pyplot.subplots(1, len(laws), figsize=(4 * len(laws), 4), sharey=True, squeeze=False)
    for k, (law, excess) in enumerate(keys):
        at = axes[0, laws.index(law)]
        n = [n for n, found in sizes.items() if (law, excess) in found]
        low, middle, high = (np.array([np.percentile(sizes[m][law, excess], q) for m in n]) for q in (25, 50, 75))
        at.errorbar(n, middle, (middle - low, high - middle), fmt="o-", label=f"{100 * excess:g}%")
        ratio = np.sqrt(1 + excess)
        if excess > 0:
            at.axhline((ratio + 1) / (ratio - 1), color="0.7", lw=0.8, zorder=0)
        at.set(xscale="log", yscale="log", title=law, xlabel="n = c2 c0")
    axes[0, 0].set_ylabel("condition number: median and quartiles")
    axes[0, 0].legend(title="excess", fontsize="small")
    figure.tight_layout()
    figure.savefig(path, dpi=120)


main()
