"""THESIS Fig. 3.3: distance of the Gram matrix from its fixed point against width."""
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
    values = np.array(sorted(result.option("width")))
    picture, axes = plt.subplots(figsize=(4.2, 3.0))
    for act, color in zip(result.option("act"), COLORS):
        last = [result.get("gram_distance", act=act, width=value)[:, -1] for value in values]
        mean, error = figures.mean_and_error(last, axis=1)
        axes.errorbar(values, mean, np.nan_to_num(1.96 * error), color=color, marker="o", markersize=3, label=act)
        print(f"{act:9} ||G - G*||_F " + "  ".join(f"{v}: {m:.4f} +- {e:.4f}" for v, m, e in zip(values, mean, error)))
        print(f"{act:9} exponent of the width: {figures.slope(np.log(values), np.log(mean)):.3f}")
    n, d = (np.array(result.option(name), dtype=float) for name in ("batch", "width"))
    bound = np.sort(n) / np.sqrt(np.sort(d))
    axes.plot(values, bound, "k--", linewidth=0.8, label=r"$n / \sqrt{d}$")
    axes.plot(values, figures.linear_distance(np.sort(n), np.sort(d)) + 0 * values, color=COLORS[0], linestyle=":",
              linewidth=0.8, label="identity, leading order in 1/d")
    axes.set(xscale="log", yscale="log", xlabel="width d", ylabel=r"$||G_l - G_*||_F$")
    axes.set_xticks(values, [str(v) for v in values])
    axes.minorticks_off()
    axes.set_yticks([0.2, 0.5, 1, 2, 5], ["0.2", "0.5", "1", "2", "5"])
    axes.legend()
    figures.save(picture, given.output)


main()
