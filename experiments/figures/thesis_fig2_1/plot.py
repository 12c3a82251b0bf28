"""THESIS Fig. 2.1: cosine of two samples against depth."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import figures  # noqa: E402
from figures import plt  # noqa: E402

COLORS = {"thesis2": "tab:blue", "vanilla": "tab:orange"}
LABELS = {"thesis2": "batch normalization", "vanilla": "none"}
STYLES = ["-", "--"]


def main():
    given = figures.arguments(__file__, __doc__)
    result = figures.Result(given.result)
    width = result.option("width")[0]
    picture, axes = plt.subplots(figsize=(4.6, 3.3))
    layers = result.layers("cosine")
    for epsilon, style in zip(result.option("input-epsilon"), STYLES):
        for preset in result.option("preset"):
            cosine = np.abs(result.get("cosine", preset=preset, input_epsilon=epsilon))
            start = "orthogonal" if epsilon == 1 else f"epsilon = {epsilon:g}"
            mean, error = figures.band(axes, layers, cosine, f"{LABELS[preset]}, {start}", COLORS[preset],
                                       linestyle=style)
            print(f"{preset:8} epsilon {epsilon:<6g} |cosine| " + "  ".join(
                f"layer {layers[i]}: {mean[i]:.4f} +- {error[i]:.4f}"
                for i in sorted({min(j, len(layers) - 1) for j in (0, 10, 20, 50)})))
    # At n = 2 half of the stationary E V^2 is 2 G_12^2 (tr G = 1), and the cosine is 2 G_12, nearly Gaussian.
    level = np.sqrt(2 / np.pi) * np.sqrt(figures.gap_square(2, width))
    axes.axhline(level, color="k", linestyle=":", linewidth=0.8, label="stationary, to 1/d")
    print(f"stationary |cosine| with batch normalization, leading order in 1/d: {level:.4f}")
    axes.set(xlabel="layer", ylabel="|cosine| of the two samples", ylim=(0, 1.02))
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncol=2, fontsize=7)
    figures.save(picture, given.output)


main()
