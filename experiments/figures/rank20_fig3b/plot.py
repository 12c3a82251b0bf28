"""RANK20 Fig. 3b: the ten largest eigenvalues of M = H H^T / N against depth."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import figures  # noqa: E402
from figures import plt  # noqa: E402



def main():
    given = figures.arguments(__file__, __doc__)
    result = figures.Result(given.result)
    batch = result.option("batch")[0] or result.option("width")[0]
    layers = result.layers("singular_value")
    with np.errstate(divide="ignore"):
        logs = 2 * np.log(result.get("singular_value")) - np.log(batch)
    picture, axes = plt.subplots(figsize=(4.2, 3.0))
    colors = plt.get_cmap("viridis")(np.linspace(0, 0.9, logs.shape[1]))
    after = layers > 0
    for k, color in enumerate(colors):
        mean, error = figures.mean_and_error(logs[:, k])
        axes.plot(layers[after], np.exp(mean[after]), color=color, label=f"{k + 1}")
        axes.plot(layers[after], np.exp(logs[0, k, after]), color=color, linewidth=0.5, alpha=0.6)
        print(f"eigenvalue {k + 1:2}: " + "  ".join(
            f"layer {layers[i]}: {np.exp(mean[i]):.3e} (x/ {np.exp(error[i]):.2f})"
            for i in sorted({min(j, len(layers) - 1) for j in (1, 5, 10, 40, 100)})))
    axes.set(yscale="log", xlabel="layer", ylabel="eigenvalue of M")
    axes.legend(ncol=2, loc="lower right", title="thick: geometric mean; thin: one chain", title_fontsize=7)
    figures.save(picture, given.output)


main()
