"""THESIS Fig. 6.1: isometry gap against depth; also the largest increase by a layer (Lemma 6.2)."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import figures  # noqa: E402
from figures import plt  # noqa: E402

COLORS = ["tab:blue", "tab:orange", "tab:green", "tab:red"]
CONSTANT = 0.015  # C of Thm 6.1 as the thesis's figure takes it; the theorem names none


def main():
    given = figures.arguments(__file__, __doc__)
    result = figures.Result(given.result)
    layers = result.layers("isometry_gap")
    picture, axes = plt.subplots(figsize=(4.2, 3.0))
    for width, color in zip(sorted(result.option("width")), COLORS):
        gap = result.get("isometry_gap", width=width)
        with np.errstate(invalid="ignore"):
            rise = np.nanmax(np.where(np.isfinite(gap[:, 1:]), np.diff(gap, axis=-1), -np.inf))
        print(f"d {width}: {gap.shape[0]} chains, largest increase by a layer {rise:.2e}")
        if not np.all(np.isfinite(gap)):
            infinite = np.all(np.isposinf(gap), axis=0)
            print(f"d {width}: +inf in all chains at {np.sum(infinite)} of {layers.size} layers, NaN nowhere: "
                  f"{not np.any(np.isnan(gap))}; layer {layers[0]}: {np.mean(gap[:, 0]):.3f}")
            continue
        mean, error = figures.band(axes, layers, gap, f"d = {width}", color, least=0.1)
        k = CONSTANT * width ** 2 * (1 + width * mean[0])
        axes.plot(layers[1:], mean[0] * np.exp(-(layers[1:] - 1) / k), color=color, linestyle="--", linewidth=0.8)
        exact = (1 - 2 / (width + 2)) ** layers
        axes.plot(layers, mean[0] * exact, color=color, linestyle=":", linewidth=1)
        middle, last = len(layers) // 2, len(layers) - 1
        print(f"d {width}: factor from layer {layers[middle]} on {mean[last] / mean[middle]:.4f}, exact near isometry "
              f"{exact[last] / exact[middle]:.4f}; length of the proof {max(2 * width ** 2, 32 * width ** 3 * mean[0]):.0f}")
        print(f"d {width}: gap " + "  ".join(f"layer {layers[i]}: {mean[i]:.3e} +- {error[i]:.1e}"
                                            for i in sorted({0, 1, len(layers) // 2, len(layers) - 1}))
              + f"   bound at the end {mean[0] * np.exp(-(layers[-1] - 1) / k):.3e}")
        print(f"d {width}: layers a factor e, fitted: {-1 / figures.slope(layers, np.log(mean)):.1f}, "
              f"of the bound: {k:.1f}")
    axes.set(yscale="log", xlabel="layer", ylabel="isometry gap")
    if axes.lines:
        axes.legend(title=f"dotted: exact near isometry\ndashed: Thm 6.1 with C = {CONSTANT}", title_fontsize=7)
    figures.save(picture, given.output)


main()
