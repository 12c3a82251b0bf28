"""Decimal digits that each block of a deep source with skip connections lost, against the number of blocks between it and
the outputs, itself included: medians over draws. NAME_short.h5 and NAME_long.h5 beside NAME.h5 add blocks of one input."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import figures  # noqa: E402
from figures import plt  # noqa: E402

COLORS = {0: "tab:blue", 0.5: "tab:orange", 1: "tab:green", 2: "tab:red"}
MARKERS = {1: "o", 2: "s", 4: "^"}
DIGITS = np.log10(2.0 ** 53)


def draw(axes, result, law):
    for block in result.option("block"):
        for overparam in result.option("overparam"):
            for nearest in result.option("nearest"):
                where = {"block": block, "overparam": overparam, "nearest": nearest, "source_dist": law}
                lost = result.get("block_digits_lost", **where)[:, 0]
                predicted = result.get("block_digits_predicted", **where)[:, 0]
                outputs = result.get("output_max_error", **where) / result.get("output_max", **where)
                lost, predicted = (np.median(v[:, ~np.isnan(v[0])], axis=0)[::-1] for v in (lost, predicted))
                print(f"{law}, k = {block}, D = {1 + overparam:g} d k, nearest to {nearest}: digits lost at the first block "
                      f"{lost[0]:.1f}, at block {lost.size} {lost[-1]:.1f}, predicted at most {np.max(predicted):.1f}; "
                      f"outputs off by {np.median(outputs):.1e}")
                if nearest != "gain":
                    continue
                axes.plot(np.arange(1, lost.size + 1), lost, color=COLORS[overparam], marker=MARKERS[block], markersize=3,
                          linewidth=0.9, label=f"k = {block}, {1 + overparam:g} d k")


def main():
    given = figures.arguments(__file__, __doc__)
    picture, axes = plt.subplots(1, 2, figsize=(7.4, 3.2), sharey=True)
    for path in filter(None, (figures.beside(given.result, "short"), figures.beside(given.result, "long"), given.result)):
        result = figures.Result(path)
        for one, law in zip(axes, result.option("source-dist")):
            draw(one, result, law)
            one.set(title=f"{law} weights", xlabel="block, from the outputs", ylim=(0, 17))
            one.axhline(DIGITS, color="gray", linewidth=0.6, linestyle=":")
    axes[0].set(ylabel="decimal digits lost")
    axes[1].legend(fontsize=6, ncol=2, loc="upper right")
    figures.save(picture, given.output)


main()
