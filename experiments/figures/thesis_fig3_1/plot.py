"""THESIS Fig. 3.1: distance of the Gram matrix from the mean-field one, linear networks."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import figures  # noqa: E402
from figures import plt  # noqa: E402

LABELS = {"none": "without normalization", "bn-centered": "batch normalization"}
COLORS = {"none": "tab:orange", "bn-centered": "tab:blue"}


def free_distance(n, d, depth):
    """Root of E ||G_l - G_0||_F^2 without normalization, Gaussian H_0: given G_l the next one is Wishart of d
    degrees of freedom and mean G_l, so E ||G||_F^2 and E (tr G)^2 obey a linear recursion and G is a martingale."""
    square, trace = n + n * (n + 1) / d, n * n + 2 * n / d
    squares = [square]
    for _ in range(depth):
        square, trace = square + (square + trace) / d, trace + 2 * square / d
        squares.append(square)
    return np.sqrt(np.array(squares) - squares[0])


def main():
    given = figures.arguments(__file__, __doc__)
    result = figures.Result(given.result)
    n, d = result.option("batch")[0], result.option("width")[0]
    layers = result.layers("gram_distance")
    picture, axes = plt.subplots(figsize=(4.6, 3.3))
    for norm in result.option("norm"):
        distance = result.get("gram_distance", norm=norm)
        mean, error = figures.mean_and_error(distance)
        figures.band(axes, layers[1:], distance[:, 1:], LABELS[norm], COLORS[norm], z=1.645)
        print(f"{norm:12} root mean square at layer {layers[-1]}: {np.sqrt(np.mean(distance[:, -1] ** 2)):.4f}")
        print(f"{norm:12} ||G - G*||_F " + "  ".join(
            f"layer {layers[i]}: {mean[i]:.4f} +- {error[i]:.4f}"
            for i in sorted({min(j, len(layers) - 1) for j in (0, 1, 5, 20, 50, 100)})))
    level = figures.linear_distance(n, d)
    axes.axhline(level, color="k", linestyle=":", linewidth=0.8, label="stationary, to 1/d")
    axes.plot(layers[1:], free_distance(n, d, layers[-1])[layers[1:]], color="gray", linestyle="--", linewidth=0.8,
              label="root mean square without, exact")
    print(f"root mean square without normalization at layer {layers[-1]}, exact: "
          f"{free_distance(n, d, layers[-1])[-1]:.4f}")
    print(f"stationary level with batch normalization, leading order in 1/d: {level:.4f}")
    axes.set(yscale="log", xlabel="layer", ylabel=r"$||G_l - G_*||_F$")
    axes.legend(loc="lower center", bbox_to_anchor=(0.5, 1), ncol=2, fontsize=7)
    figures.save(picture, given.output)


main()
