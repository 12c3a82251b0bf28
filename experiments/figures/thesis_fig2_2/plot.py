"""THESIS Fig. 2.2: orthogonality gap against depth, and its average against width."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import figures  # noqa: E402
from figures import plt  # noqa: E402



def main():
    given = figures.arguments(__file__, __doc__)
    result = figures.Result(given.result)
    n = result.option("batch")[0]
    widths = np.array(sorted(result.option("width")))
    layers = result.layers("orthogonality_gap")
    first = layers <= 50
    picture, (left, right) = plt.subplots(1, 2, figsize=(6.6, 2.8))
    for width, color in zip(sorted({int(widths[min(1, len(widths) - 1)]), int(widths[-1])}),
                            ["tab:blue", "tab:orange"]):
        gap = np.log(result.get("orthogonality_gap", width=width))
        mean, error = figures.band(left, layers[first], gap[:, first], f"d = {width}", color)
        print(f"d {width:4} log V " + "  ".join(f"layer {layers[i]}: {mean[i]:.3f} +- {error[i]:.3f}"
                                              for i in (0, 5, 10, 15, 20, 50) if i < len(layers)))
    left.set(xlabel="layer", ylabel="log V")
    left.legend()
    mean, error = np.array([result.average("orthogonality_gap", width=w) for w in widths]).T
    theory = np.sqrt(figures.gap_square(n, widths))
    right.errorbar(widths, mean, np.nan_to_num(1.96 * error), marker="o", markersize=3, label="average of V")
    right.plot(widths, theory, "k:", linewidth=1, label=r"$\sqrt{E V^2}$, leading order in 1/d")
    right.plot(widths, mean[-1] * np.sqrt(widths[-1] / widths), "--", color="gray", linewidth=0.8,
               label=r"$d^{-1/2}$")
    right.set_xscale("log", base=2)
    right.set_yscale("log", base=2)
    right.set(xlabel="width d", ylabel="V after burn-in")
    right.legend()
    for values in zip(widths, mean, error, mean / theory):
        print("d {:4} average of V {:.5f} +- {:.5f}   over root of closed form of E V^2: {:.4f}".format(*values))
    print(f"slope of log V in log d: {figures.slope(np.log(widths), np.log(mean)):.4f}")
    figures.save(picture, given.output)


main()
