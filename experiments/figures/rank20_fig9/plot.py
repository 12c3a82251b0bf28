"""RANK20 Fig. 9: average of ||M||_F^2 along the chain against width."""
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
    picture, axes = plt.subplots(figsize=(4.2, 3.2))
    widths = np.array(sorted(result.option("width")))
    print("strength  width   ||M||_F^2    stderr  relative   log2   / d^1.5   bound")
    for strength, color in zip(result.option("residual-strength"), COLORS):
        points = []
        for width in widths:
            cell = {"width": width, "residual_strength": strength}
            mean, error = result.average("fro2", **cell)
            alpha = result.average("tr_diag2", **cell)[0] / result.average("tr_m3", **cell)[0]
            bound = width ** 1.5 / (2 * np.sqrt(1 - alpha))
            points.append((mean, error, bound))
            short = bool(np.any(result.get("fro2_too_short", **cell)))
            print(f"{strength:8} {width:6} {mean:11.4f} {error:9.4f} {error / mean:9.2%} {np.log2(mean):6.3f} "
                  f"{mean / width ** 1.5:9.4f} {bound:7.1f}{'  too short' if short else ''}")
        mean, error, bound = np.array(points).T
        axes.errorbar(widths, mean, np.nan_to_num(1.96 * error), color=color, marker="o", markersize=3,
                      label=f"g = {strength:g}")
        axes.plot(widths, bound, color=color, linestyle=":", linewidth=1)
        print(f"{strength:8} exponent of the width: {figures.slope(np.log2(widths), np.log2(mean)):.3f}")
    axes.plot(widths, widths ** 1.5, color="green", linestyle="--", linewidth=0.8, label=r"$d^{1.5}$")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.set(xlabel="width d", ylabel=r"average of $||M||_F^2$")
    axes.legend(title=r"dotted: $d^{1.5} / (2 \sqrt{1 - \alpha})$", title_fontsize=7)
    figures.save(picture, given.output)


main()
