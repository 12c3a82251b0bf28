"""THESIS Fig. C.9: gradient norm of the second layer and isometry gap of the last one against depth."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import figures  # noqa: E402
from figures import plt  # noqa: E402

LAYER = 1


def main():
    given = figures.arguments(__file__, __doc__)
    results = figures.by_depth(given.result)
    some = next(iter(results.values()))
    picture, (left, right) = plt.subplots(1, 2, figsize=(6.8, 3.0))
    for act, color in zip(some.option("act"), figures.COLORS):
        norms = [r.at_layer("log_grad_norm", LAYER, act=act) for r in results.values()]
        gaps = [r.get("isometry_gap", act=act)[:, -1] for r in results.values()]
        for axes, values, name in ((left, norms, "log norm"), (right, gaps, "gap")):
            mean, error = figures.depth_band(axes, results, values, act, color, least=0.1 if axes is right else -np.inf)
            print(f"{act}, {name}: " + "  ".join(f"{d}: {m:.4g} +- {e:.2g}" for d, m, e in zip(results, mean, error)))
    left.set(xlabel="layers of the network", ylabel=f"log norm of the gradient, layer {LAYER}", xscale="log")
    right.set(xlabel="layers of the network", ylabel="isometry gap of the last layer", xscale="log", yscale="log")
    left.legend()
    figures.save(picture, given.output)


main()
