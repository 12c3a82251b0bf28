"""Features of the two source pairs of a layer's factors against its rank, the one pair's for comparison, and the error of
the truncation: from all files that begin as the given one up to its last two digits."""
import glob
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import figures  # noqa: E402
from figures import plt  # noqa: E402


def main():
    given = figures.arguments(__file__, __doc__)
    rows = []
    for path in glob.glob(glob.escape(given.result[:-5]) + "[0-9][0-9].h5"):
        result = figures.Result(path)
        rank, even, cut, features, rmse = (np.ravel(result.get(name)) for name in (
            "target_rank", "break_even_rank", "truncation_error", "n_features", "relative_residual"))
        one = np.prod(np.ravel(result.get("n_rows"))) / rank[0] ** 2  # c2 r and r c0 |K| equations of the factors
        rows.append((rank[0], features.sum(), cut[0], even[0], rmse.max(), one))
    if not rows:
        sys.exit(f"{given.result}: no file of that name, with other digits before .h5")
    rank, features, cut, even, _, one = np.array(sorted(rows)).T
    for row in sorted(rows):
        print(f"rank {row[0]:.0f}: {row[1]:.0f} features of two pairs, truncation {row[2]:.3g}, largest relative residual "
              f"of a factor {row[4]:.1e}")
    print(f"two pairs pay up to rank {even[0]:.0f}: one pair has {one[0]:.0f} features")
    picture, axes = plt.subplots(figsize=(4.4, 3))
    axes.plot(rank, features, color=figures.COLORS[0], marker="o", markersize=3, label="features of two pairs")
    axes.axhline(one[0], color="black", linewidth=0.8, linestyle="--", label="features of one pair")
    axes.axvline(even[0] + 0.5, color="gray", linewidth=0.8, linestyle=":", label="break-even")
    axes.set(xlabel="rank r", ylabel="features", ylim=(0, 3600))
    right = axes.twinx()
    right.spines["right"].set_visible(True)
    right.plot(rank, cut, color=figures.COLORS[1], marker="s", markersize=3, label="truncation")
    right.set(ylabel="relative truncation", ylim=(0, 1.4), yticks=np.linspace(0, 1, 6))
    handles = [h for one_axes in (axes, right) for h in one_axes.get_legend_handles_labels()[0]]
    axes.legend(handles, [h.get_label() for h in handles], loc="upper center", fontsize=7)
    figures.save(picture, given.output)


main()
