"""Loss of sparse constructed sources beside what the zeros leave of their rank: against the width d with D = d^2
features, and, where NAME_right.h5 stands beside NAME.h5, against D. Full dots: draws of full structural rank."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import figures  # noqa: E402
from figures import plt  # noqa: E402


def draw(axes, path, option, label):
    result = figures.Result(path)
    x = np.array(result.coordinate(option))
    for p, color in zip(result.coordinate("keep_probability"), figures.COLORS):
        loss = result.get("loss", keep_probability=p)
        rank = result.get("structural_rank", keep_probability=p)[..., 0]
        least = result.get("structural_least_width", keep_probability=p)[..., 0]
        n_rows = result.get("n_rows", keep_probability=p)[..., 0]
        full = rank == n_rows
        at = np.repeat(x[:, None], loss.shape[1], axis=1)
        axes.plot(at[~full], loss[~full], "o", color=color, markersize=3, fillstyle="none")
        axes.plot(at[full], loss[full], "o", color=color, markersize=3)
        axes.plot(x, np.median(loss, axis=1), color=color, linewidth=0.8, label=f"p = {p:g}")
        for i, value in enumerate(x):
            print(f"p {p:g}, {option} {value}: loss median {np.median(loss[i]):.3g}, structural rank "
                  f"{np.min(rank[i]):.0f} to {np.max(rank[i]):.0f} of {n_rows[i, 0]:.0f}, full in {np.sum(full[i])} of "
                  f"{full.shape[1]}; least widths {np.min(least[i]):.0f} to {np.max(least[i]):.0f}"
                  + (f"; law {figures.no_dead_feature(p, value):.2g}" if option == "width" else ""))
        print(f"p {p:g}: draws of full structural rank with a loss below 1e-15: {np.sum(loss[full] < 1e-15)} of "
              f"{np.sum(full)}; deficient ones with a loss above: {np.sum(loss[~full] > 1e-15)} of {np.sum(~full)}")
    axes.set(yscale="log", xlabel=label, ylim=(1e-30, 1e3))


def main():
    given = figures.arguments(__file__, __doc__)
    picture, axes = plt.subplots(1, 2, figsize=(6.6, 2.8))
    draw(axes[0], given.result, "width", r"width $d$, $D = d^2$")
    axes[0].set(ylabel="loss")
    right = figures.beside(given.result, "right")
    if right:
        draw(axes[1], right, "features", r"features $D$, $d = 25$")
    axes[0].legend(loc="lower left")
    figures.save(picture, given.output)


main()
