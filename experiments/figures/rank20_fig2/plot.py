"""RANK20 Fig. 2: numerical rank of the last representation against depth."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import figures  # noqa: E402
from figures import plt  # noqa: E402

COLORS = {"rank20": "tab:blue", "vanilla": "tab:orange", "thesis5": "tab:orange"}
LABELS = {"rank20": "batch normalization", "vanilla": "none", "thesis5": "none"}


def main():
    given = figures.arguments(__file__, __doc__)
    result = figures.Result(given.result)
    acts = result.option("act")
    picture, panels = plt.subplots(1, len(acts), figsize=(3.4 * len(acts), 2.7), sharey=True, squeeze=False)
    for axes, act in zip(panels[0], acts):
        for preset in result.option("preset"):
            ranks = result.get("numerical_rank", act=act, preset=preset)
            mean, error = figures.band(axes, result.layers("numerical_rank"), ranks, LABELS[preset],
                                       COLORS[preset])
            tau = {"tau": 0.5} if 0.5 in result.coordinate("tau") else {}
            soft, soft_error = result.average("soft_rank", act=act, preset=preset, **tau)
            print(f"{act:9} {preset:8} numerical rank at the end {mean[-1]:.2f} +- {error[-1]:.2f}   "
                  f"soft rank {soft:.3f} +- {soft_error:.3f}")
        axes.set(title=act, xlabel="layer",
                 xticks=np.linspace(0, result.layers("numerical_rank")[-1], 3), yscale="log", yticks=[1, 2, 4, 8, 16, 32])
        axes.set_yticklabels([1, 2, 4, 8, 16, 32])
        axes.minorticks_off()
    panels[0][0].set_ylabel("numerical rank (FP64)")
    panels[0][0].legend()
    figures.save(picture, given.output)


main()
