"""THESIS Fig. 3.2: distance of the Gram matrix from its fixed point against depth."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import figures  # noqa: E402
from figures import plt  # noqa: E402

COLORS = ["tab:blue", "tab:orange", "tab:green"]


def main():
    given = figures.arguments(__file__, __doc__)
    result = figures.Result(given.result)
    n, d = result.option("batch")[0], result.option("width")[0]
    layers = result.layers("gram_distance")
    picture, axes = plt.subplots(figsize=(4.6, 3.3))
    for act, color in zip(result.option("act"), COLORS):
        mean, error = figures.band(axes, layers, result.get("gram_distance", act=act), act, color)
        print(f"{act:9} ||G - G*||_F " + "  ".join(
            f"layer {layers[i]}: {mean[i]:.4f} +- {error[i]:.4f}"
            for i in sorted({min(j, len(layers) - 1) for j in (0, 1, 2, 5, 10, 20)})))
    axes.axhline(n / np.sqrt(d), color="k", linestyle="--", linewidth=0.8, label=r"$n / \sqrt{d}$")
    level = figures.linear_distance(n, d)
    predict = figures.mean_field(given.result)
    if predict:
        ends = layers[[0, -1]]
        for act, color in zip(result.option("act"), COLORS):
            figures.draw_mean_field(axes, predict, act, color, [n, n], [d, d], ends)
    else:
        axes.axhline(level, color=COLORS[0], linestyle=":", linewidth=0.8)
    print(f"identity  stationary root mean square, leading order in 1/d: {level:.4f}")
    print(f"n / sqrt(d) = {n / np.sqrt(d):.4f}")
    axes.set(yscale="log", xlabel="layer", ylabel=r"$||G_l - G_*||_F$")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncol=2, fontsize=7, title_fontsize=7,
                title="dotted: predicted level; dash-dotted: bound of Thm 3.2, constants 1" if predict else
                "dotted: identity, predicted level")
    figures.save(picture, given.output)


main()
