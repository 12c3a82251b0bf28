"""Targets solved by deep linear sources against the scales beyond n + L, with Wilson intervals of 95%, for each depth."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import figures  # noqa: E402
from figures import plt  # noqa: E402


def main():
    given = figures.arguments(__file__, __doc__)
    result = figures.Result(given.result)
    slacks = np.array(result.coordinate("excess"), dtype=int)
    picture, axes = plt.subplots(figsize=(4, 3))
    for depth, color in zip(result.coordinate("depth"), figures.COLORS):
        solved = [np.ravel(result.get("solved", depth=depth, excess=s)) for s in slacks]
        found, n = np.array([s.sum() for s in solved]), np.array([s.size for s in solved])
        low, high = figures.shares(axes, slacks + 0.05 * (int(depth) - 3), found / n, n, color, marker="o",
                                   label=f"L = {depth}")
        print(f"L = {depth}: " + "  ".join(f"{s}: {f} of {m} ({a:.3f}, {b:.3f})"
                                          for s, f, m, a, b in zip(slacks, found, n, low, high)))
    axes.set(xlabel=r"scales beyond $n + L$", ylabel="share of targets solved", xticks=slacks, ylim=(-0.02, 1.05))
    axes.legend()
    figures.save(picture, given.output)


main()
