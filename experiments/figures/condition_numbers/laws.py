#!/usr/bin/env python3
"""RF Fig. 2 (b) for one size: condition numbers of each law against the excess of features, beside the limit.
python3 laws.py laws.h5 [OUTPUT.png], the file of `norma spectrum --excess ... --source-dist ...` (README.md)."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import figures  # noqa: E402
from figures import plt  # noqa: E402

EDELMAN_MEDIAN = 3.67  # of the condition number over n, square Gaussian matrices


def main():
    if len(sys.argv) < 2:
        sys.exit(__doc__)
    result = figures.Result(sys.argv[1])
    excesses = np.array(result.option("excess"), dtype=float)
    n = int(np.max(result.get("n_rows")))
    root = np.sqrt(1 + excesses / n)
    with np.errstate(divide="ignore"):
        limit = np.where(excesses > 0, (root + 1) / (root - 1), EDELMAN_MEDIAN * n)
    picture, axes = plt.subplots(figsize=(4.6, 3.2))
    laws = result.option("source-dist")
    for i, law in enumerate(laws):
        values = np.array([np.ravel(result.get("condition_number", source_dist=law, excess=int(e))) for e in excesses])
        low, median, high = np.quantile(values, (0.25, 0.5, 0.75), axis=1)
        axes.errorbar(np.arange(len(excesses)) + 0.08 * (i - len(laws) / 2), median, (median - low, high - median),
                      marker="o", markersize=3, linestyle="", label=law)
        print(f"{law:12} " + "  ".join(f"+{e:g}: {m:.3g} ({a:.3g}, {b:.3g})" for e, a, m, b in
                                       zip(excesses, low, median, high)))
    axes.plot(np.arange(len(excesses)), limit, "k_", markersize=30, label="limit")
    print("limit        " + "  ".join(f"{v:.4g}" for v in limit))
    axes.set(yscale="log", xlabel="features above the exact width", ylabel=f"condition number, n = {n}")
    axes.set_xticks(np.arange(len(excesses)), [f"{e:g}" for e in excesses])
    axes.legend(fontsize=7)
    figures.save(picture, sys.argv[2] if len(sys.argv) > 2 else os.path.splitext(sys.argv[1])[0] + ".png")


if __name__ == "__main__":
    main()
