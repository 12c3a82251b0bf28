"""Share of sparse draws of full structural rank against the probability that an entry is kept, with Wilson intervals of
95% and the law; where NAME_rank.h5 stands beside NAME.h5, its numerical ranks are compared with the structural ones."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import figures  # noqa: E402
from figures import plt  # noqa: E402

COLORS = [*figures.COLORS, "tab:red"]


def main():
    given = figures.arguments(__file__, __doc__)
    result = figures.Result(given.result)
    p = np.array(result.coordinate("keep_probability"))
    fine = np.linspace(p[0], p[-1], 200)
    picture, axes = plt.subplots(figsize=(4.4, 3))
    for d, color in zip(result.coordinate("width"), COLORS):
        full = result.get("structural_deficiency", width=d)[..., 0] == 0
        share, n = full.mean(1), full.shape[1]
        low, high = figures.shares(axes, p, share, n, color, fmt="o", label=f"d = {d}")
        axes.plot(fine, figures.no_dead_feature(fine, d), color=color, linewidth=0.8)
        expected = figures.no_dead_feature(p, d)
        inside = (low <= expected + 1e-12) & (expected <= high + 1e-12)
        print(f"d = {d}: " + "  ".join(f"{a:g}: {s:.3f} ({e:.3f})" for a, s, e in zip(p, share, expected)))
        print(f"d = {d}: the law is within the interval at {np.sum(inside)} of {p.size} points, largest difference "
              f"{np.max(np.abs(share - expected)):.3f}; 2 ln d / d = {2 * np.log(d) / d:.3f}, sqrt(ln d / d) = {np.sqrt(np.log(d) / d):.3f}")
    axes.set(xlabel="probability p that an entry is kept", ylabel="share of full structural rank", ylim=(-0.02, 1.03))
    axes.legend(title="lines: law", loc="lower right")
    beside = figures.beside(given.result, "rank")
    if beside:
        ranks = figures.Result(beside)
        structural, numerical = (ranks.get(name)[..., 0] for name in ("structural_rank", "numerical_rank"))
        print(f"numerical rank equals structural rank in {np.sum(structural == numerical)} of {structural.size} draws")
    figures.save(picture, given.output)


main()
