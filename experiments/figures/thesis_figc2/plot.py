"""THESIS Fig. C.2: rate of explosion at layer 10 against the exponent K of the gain (l + 1)^-K."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import figures  # noqa: E402
from figures import plt  # noqa: E402

LAYER = 10
COLORS = [*figures.COLORS, "tab:red"]


def main():
    given = figures.arguments(__file__, __doc__)
    results = figures.by_depth(given.result)
    some = next(iter(results.values()))
    acts, exponents = some.option("act"), some.option("gain-exponent")
    picture, grid = plt.subplots(1, len(acts), figsize=(3.2 * len(acts), 3.0), squeeze=False, sharey=True)
    for axes, act in zip(grid[0], acts):
        for (depth, result), color in zip(results.items(), COLORS):
            rates = np.array([result.at_layer("explosion_rate", LAYER, act=act, gain_exponent=k) for k in exponents]).T
            mean, error = figures.band(axes, exponents, rates, f"{depth} layers", color, marker="o", markersize=3)
            print(f"{act}, {depth} layers: " + "  ".join(f"{k:g}: {m:.4f} +- {e:.4f}"
                                                       for k, m, e in zip(exponents, mean, error)))
        axes.set(xlabel="exponent of the gain", title=act)
        axes.legend()
    grid[0, 0].set_ylabel(f"rate of explosion at layer {LAYER}")
    figures.save(picture, given.output)


main()
