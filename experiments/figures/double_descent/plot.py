"""Double descent: condition numbers of the feature matrix against the ratio of features to rows, medians and quartiles
of the draws, beside the ratio of the edges of the limit law."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import figures  # noqa: E402
from figures import plt  # noqa: E402


def edges(ratio):
    """Largest over smallest nonzero value of RF Theorem 2.2; infinite for as many features as rows."""
    root = np.sqrt(ratio)
    with np.errstate(divide="ignore"):
        return (1 + root) / np.abs(1 - root)


def main():
    given = figures.arguments(__file__, __doc__)
    result = figures.Result(given.result)
    laws, sizes = result.option("source-dist"), result.option("channels")
    excess = np.array(result.coordinate("overparam"), dtype=float)
    grid = np.linspace(1 + excess.min(), 1 + excess.max(), 601)
    picture, panels = plt.subplots(1, len(laws), figsize=(3.5 * len(laws), 3), sharey=True, squeeze=False)
    for law, axes in zip(laws, panels[0]):
        axes.plot(grid, edges(grid), color="k", linewidth=0.8, label="limit law")
        for c, color in zip(sizes, figures.COLORS):
            where = {"source_dist": law, "channels": c}
            ratio = np.array([np.ravel(result.get("n_features", overparam=e, **where))[0] for e in excess]) / c ** 2
            draws = np.array([np.ravel(result.get("condition_number", overparam=e, **where)) for e in excess])
            low, middle, high = np.percentile(draws, (25, 50, 75), axis=1)
            axes.errorbar(ratio, middle, (middle - low, high - middle), color=color, marker="o", markersize=2.5, linewidth=0.8,
                          label=f"n = {c ** 2}")
            print(f"{law} n = {c ** 2}: " + "  ".join(f"{r:.3f}: {m:.3g} ({a:.3g}, {b:.3g})"
                                                     for r, m, a, b in zip(ratio, middle, low, high)))
        axes.set(yscale="log", title=law, xlabel=r"features per row, $c_1 / n$")
    print("limit law: " + "  ".join(f"{1 + e:.2f}: {edges(1 + e):.3g}" for e in excess))
    panels[0][0].set_ylabel("condition number")
    panels[0][0].set_ylim(3, None)
    panels[0][0].legend()
    figures.save(picture, given.output)


main()
