"""THESIS Fig. C.1: rate of explosion over 10 layers against the gain, and the fit c1 gain^c2."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import figures  # noqa: E402
from figures import plt  # noqa: E402

SHARES = [0.1, 0.5, 0.9]  # of the depth: the layers at which rates are drawn


def main():
    given = figures.arguments(__file__, __doc__)
    result = figures.Result(given.result)
    acts, gains = result.option("act"), np.array(result.option("gain"), dtype=float)
    layers = list(result.layers("explosion_rate"))
    picture, grid = plt.subplots(1, len(acts), figsize=(3.2 * len(acts), 3.0), squeeze=False, sharey=True)
    for axes, act in zip(grid[0], acts):
        for share, color in zip(SHARES, figures.COLORS):
            at = int(share * (len(layers) - 1))
            rates = np.array([result.get("explosion_rate", act=act, gain=g)[:, at] for g in result.option("gain")]).T
            mean, error = figures.band(axes, gains, rates, f"layer {layers[at]}", color, marker="o", markersize=3)
            print(f"{act}, layer {layers[at]}: " + "  ".join(f"{g:g}: {m:.4f} +- {e:.4f}"
                                                           for g, m, e in zip(gains, mean, error)))
        mean = np.array([float(result.get("rate_of_mean_log", act=act, gain=g)) for g in result.option("gain")])
        error = [float(result.get("rate_of_mean_log_stderr", act=act, gain=g)) for g in result.option("gain")]
        c1, c2 = (float(np.ravel(result.get(f"rate_fit_c{i}", act=act))[0]) for i in (1, 2))
        axes.plot(gains, c1 * gains ** c2, "k--", linewidth=0.8, label=f"{c1:.3f} gain^{c2:.2f}")
        print(f"{act}, all layers: " + "  ".join(f"{g:g}: {m:.5f} +- {e:.5f}" for g, m, e in zip(gains, mean, error))
              + f"   fit {c1:.4f} gain^{c2:.3f}")
        axes.set(xlabel="gain", xscale="log", yscale="symlog", title=act)
        axes.set_yscale("symlog", linthresh=1e-3)
        axes.legend()
    grid[0, 0].set_ylabel("rate of explosion a layer")
    figures.save(picture, given.output)


main()
