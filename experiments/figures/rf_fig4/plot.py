"""RF Fig. 4: errors after a permutation of the target's channels, law by law. Draws the given result and those of the
other two configurations where they lie beside rf_fig4.h5."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import figures  # noqa: E402
from figures import plt  # noqa: E402

OTHERS = ("_hidden_100", "_hidden_300")
MARKERS = {"none": "x", "greedy": "o", "greedy-printed": "s", "assignment": "D", "swaps": "v", "anneal": "^"}


def title(result):
    hidden = result.option("target_hidden")[0]
    what = f"{hidden} hidden channels" if hidden is not None else f"density {result.option('target_density')[0]}"
    missing = int(np.ravel(result.get("n_rows"))[0] - np.ravel(result.get("n_features"))[0])
    return f"{what}, {missing} missing"


def draw(axes, result):
    laws = result.option("source_dist")
    print(title(result))
    for search in result.coordinate("search"):
        errors = result.get("relative_error", search=search).reshape(len(laws), -1)
        mean, error = figures.mean_and_error(errors, axis=1)
        axes.errorbar(range(len(laws)), mean, np.nan_to_num(error), marker=MARKERS.get(search, "."), linestyle="none",
                      markersize=4, label=search)
        print(f"  {search:15} " + "  ".join(f"{law} {m:.4f} +- {e:.4f}" for law, m, e in zip(laws, mean, error)))
    axes.set(title=title(result), ylim=(0, None))
    axes.set_xticks(range(len(laws)), laws, rotation=40, ha="right")


def main():
    given = figures.arguments(__file__, __doc__)
    paths = [given.result]
    stem, tail = os.path.splitext(given.result)
    if os.path.basename(stem) == "rf_fig4":
        paths += [stem + other + tail for other in OTHERS if os.path.exists(stem + other + tail)]
    picture, panels = plt.subplots(1, len(paths), figsize=(3.4 * len(paths), 3.2), squeeze=False)
    for axes, path in zip(panels[0], paths):
        draw(axes, figures.Result(path))
    panels[0][0].set_ylabel("error relative to the target")
    panels[0][-1].legend(loc="center left", bbox_to_anchor=(1, 0.5))
    picture.tight_layout()
    figures.save(picture, given.output)


main()
