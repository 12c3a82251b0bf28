"""Targets solved by deep linear sources against the scales beyond n + L, with Wilson intervals of 95%, for each depth."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import figures  # noqa: E402
from figures import plt  # noqa: E402


def wilson(found, n, z=1.96):
    share = found / n
    middle = (share + z ** 2 / (2 * n)) / (1 + z ** 2 / n)
    half = z / (1 + z ** 2 / n) * np.sqrt(share * (1 - share) / n + z ** 2 / (4 * n ** 2))
    return middle - half, middle + half


def main():
    given = figures.arguments(__file__, __doc__)
    result = figures.Result(given.result)
    slacks = np.array(result.coordinate("excess"), dtype=int)
    picture, axes = plt.subplots(figsize=(4, 3))
    for depth, color in zip(result.coordinate("depth"), figures.COLORS):
        solved = [np.ravel(result.get("solved", depth=depth, excess=s)) for s in slacks]
        found, n = np.array([s.sum() for s in solved]), np.array([s.size for s in solved])
        low, high = wilson(found, n)
        share = found / n
        axes.errorbar(slacks + 0.05 * (int(depth) - 3), share, (np.maximum(share - low, 0), np.maximum(high - share, 0)), color=color,
                      marker="o", markersize=3, linewidth=0.8, label=f"L = {depth}")
        print(f"L = {depth}: " + "  ".join(f"{s}: {f} of {m} ({a:.3f}, {b:.3f})"
                                          for s, f, m, a, b in zip(slacks, found, n, low, high)))
    axes.set(xlabel=r"scales beyond $n + L$", ylabel="share of targets solved", xticks=slacks, ylim=(-0.02, 1.05))
    axes.legend()
    figures.save(picture, given.output)


main()
