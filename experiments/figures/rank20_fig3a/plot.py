"""RANK20 Fig. 3a: average soft rank along the chain against width."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import figures  # noqa: E402
from figures import plt  # noqa: E402

# log2 of the points of the published figure, by width.
PUBLISHED = {"1, inf": [1.50, 2.20, 2.82, 3.47, 4.08, 4.66], "0.01": [1.70, 2.28, 2.89, 3.47, 4.08, 4.67]}
WIDTHS = [8, 16, 32, 64, 128, 256]
COLORS = ["tab:blue", "tab:orange", "tab:green", "tab:red"]


def main():
    given = figures.arguments(__file__, __doc__)
    result = figures.Result(given.result)
    picture, axes = plt.subplots(figsize=(4.2, 3.2))
    widths = sorted(result.option("width"))
    tau = 0.5
    print("strength  width   soft rank   stderr  log2     tau_int (layers measured)      alpha    bound of Thm 14")
    for strength, color in zip(result.option("residual-strength"), COLORS):
        points = []
        for width in widths:
            cell = {"width": width, "residual_strength": strength, "tau": tau}
            mean, error = result.average("soft_rank", **cell)
            time = np.max(result.get("soft_rank_tau_int", **cell))
            alpha = result.average("tr_diag2", **cell)[0] / result.average("tr_m3", **cell)[0]
            bound = (1 - tau) ** 2 * 2 * np.sqrt((1 - alpha) * width)
            short = bool(np.any(result.get("soft_rank_too_short", **cell)))
            points.append((width, mean, error, bound))
            print(f"{strength:8} {width:6} {mean:11.5f} {error:8.5f} {np.log2(mean):6.3f} {time:9.1f}"
                  f"{'  too short' if short else '           '} {alpha:18.4f} {bound:10.3f}")
        width, mean, error, bound = np.array(points).T
        axes.errorbar(width, mean, np.nan_to_num(1.96 * error), color=color, marker="o", markersize=3,
                      label=f"g = {strength:g}")
        axes.plot(width, bound, color=color, linestyle=":", linewidth=1)
        print(f"{strength:8} exponent of the width: {figures.slope(np.log2(width), np.log2(mean)):.3f}")
    for (label, values), marker in zip(PUBLISHED.items(), "x+"):
        axes.plot(WIDTHS, 2 ** np.array(values), "k" + marker, markersize=6, label=f"published, g = {label}")
    axes.plot(widths, np.sqrt(widths), "k--", linewidth=0.8, label=r"$\sqrt{d}$")
    axes.set(xscale="log", yscale="log", xlabel="width d", ylabel=r"soft rank, $\tau$ = 1/2")
    axes.set_xscale("log", base=2)
    axes.set_yscale("log", base=2)
    axes.legend(title="dotted: bound of Thm 14 (corrected)", title_fontsize=7)
    figures.save(picture, given.output)


main()
