"""RF Fig. 3: histograms of the singular values of the feature matrix beside their limit law."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import figures  # noqa: E402
from figures import plt  # noqa: E402


def main():
    given = figures.arguments(__file__, __doc__)
    result = figures.Result(given.result)
    counts = result.coordinate("features")
    picture, panels = plt.subplots(1, len(counts), figsize=(3.4 * len(counts), 2.7), sharey=True, squeeze=False)
    for i, (axes, count) in enumerate(zip(panels[0], counts)):
        values = np.ravel(result.file[f"cells/{i:06}/singular_value"][()])
        grid = np.ravel(result.get("s_grid", features=count))
        axes.hist(values, bins=60, density=True, color="tab:blue", alpha=0.5, label="singular values")
        axes.plot(grid, np.ravel(result.get("limit_density", features=count)), color="k", linewidth=1, label="limit law")
        axes.set(title=f"{count} features", xlabel="singular value")
        print(f"{count} features: " + ", ".join(f"{name} {float(np.ravel(result.get(name, features=count))[0]):.5g}" for name in
              ("sigma_max", "edge_high_predicted", "sigma_min", "edge_low_predicted", "condition_number", "ks_distance")))
    panels[0][0].set_ylabel("density")
    panels[0][0].legend()
    figures.save(picture, given.output)


main()
