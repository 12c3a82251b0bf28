"""RANK20 Fig. 8: regularity constant of the invariant distribution against width."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import figures  # noqa: E402
from figures import plt  # noqa: E402

COLORS = ["tab:blue", "tab:orange", "tab:green", "tab:red"]


def main():
    given = figures.arguments(__file__, __doc__)
    result = figures.Result(given.result)
    picture, axes = plt.subplots(figsize=(4.2, 3.0))
    widths = sorted(result.option("width"))
    print("strength  width     alpha    stderr")
    for strength, color in zip(result.option("residual-strength"), COLORS):
        points = []
        for width in widths:
            cell = {"width": width, "residual_strength": strength}
            alpha = result.get("regularity_alpha", **cell)
            error = result.get("regularity_alpha_stderr", **cell)
            points.append((np.mean(alpha), np.sqrt(np.sum(error ** 2)) / error.size))
            short = bool(np.any(result.get("tr_m3_too_short", **cell)))
            print(f"{strength:8} {width:6} {points[-1][0]:9.4f} {points[-1][1]:9.5f}{'  too short' if short else ''}")
        mean, error = np.array(points).T
        axes.errorbar(widths, mean, np.nan_to_num(1.96 * error), color=color, marker="o", markersize=3,
                      label=f"g = {strength:g}")
    axes.axhline(0.9, color="k", linestyle="--", linewidth=0.8, label="0.9")
    axes.set_xscale("log", base=2)
    axes.set(xlabel="width d", ylabel=r"regularity constant $\alpha$", ylim=(0, 1))
    axes.legend()
    figures.save(picture, given.output)


main()
