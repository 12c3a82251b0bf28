"""Mean square and lag-1 autocorrelations of the orthogonality gap against their closed forms."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import figures  # noqa: E402
from figures import plt  # noqa: E402



def moments(gap, gram):
    """Per replica: mean of V^2, lag-1 autocorrelations of V^2 and of G_12."""
    def correlation(x):
        x = x - x.mean(axis=-1, keepdims=True)
        return np.mean(x[:, 1:] * x[:, :-1], axis=-1) / np.mean(x * x, axis=-1)
    return np.mean(gap ** 2, axis=-1), correlation(gap ** 2), correlation(gram)


def main():
    given = figures.arguments(__file__, __doc__)
    result = figures.Result(given.result)
    picture, panels = plt.subplots(1, 2, figsize=(6.6, 2.8), sharey=True)
    print("norm           d    n   E V^2 / closed form    lag-1 of V^2 (theory)        lag-1 of G_12 (theory)")
    for axes, norm in zip(panels, result.option("norm")):
        for batch, color in zip(sorted(result.option("batch")), ["tab:blue", "tab:orange", "tab:green"]):
            m = batch - (norm == "bn-centered")
            points = []
            for width in sorted(result.option("width")):
                cell = {"norm": norm, "width": width, "batch": batch}
                start = min(200, result.file["layer"].size // 2)
                gap = result.get("orthogonality_gap", **cell)[:, start:]
                gram = result.get("gram_12", **cell)[:, start:]
                square, lag_gap, lag_gram = map(figures.mean_and_error, moments(gap, gram))
                theory = figures.gap_square(m, width)
                lag = m / (m + 2)
                points.append((width, square[0] / theory, square[1] / theory))
                print(f"{norm:11} {width:5} {batch:4}   {points[-1][1]:.4f} +- {points[-1][2]:.4f}       "
                      f"{lag_gap[0]:.4f} +- {lag_gap[1]:.4f} ({lag ** 2:.4f})   "
                      f"{lag_gram[0]:.4f} +- {lag_gram[1]:.4f} ({lag:.4f})")
            width, ratio, error = np.array(points).T
            axes.errorbar(width, ratio, np.nan_to_num(1.96 * error), color=color, marker="o", markersize=3,
                          label=f"n = {batch}")
        axes.axhline(1, color="k", linewidth=0.8, linestyle=":")
        axes.set_xscale("log", base=2)
        axes.set(title=norm, xlabel="width d")
    panels[0].set_ylabel(r"$E V^2$ / leading order")
    panels[0].legend()
    figures.save(picture, given.output)


main()
