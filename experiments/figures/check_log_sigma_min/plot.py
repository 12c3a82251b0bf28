"""log of the smallest singular value of square linear batch-normalized chains."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import figures  # noqa: E402
from figures import plt  # noqa: E402



def main():
    given = figures.arguments(__file__, __doc__)
    result = figures.Result(given.result)
    layers = result.layers("log_sigma_min")
    picture, axes = plt.subplots(figsize=(4.2, 3.0))
    for width, color, marker in zip(sorted(result.option("width")), ["tab:blue", "tab:orange", "tab:green"], "+x."):
        logs = result.get("log_sigma_min", width=width)
        with np.errstate(divide="ignore"):
            direct = np.log(result.get("sigma_min", width=width))
        mean, _ = figures.band(axes, layers, logs, f"d = n = {width}", color)
        axes.plot(layers, direct.mean(axis=0), marker, color=color, markersize=3)
        half = layers >= layers[-1] // 2
        early, late = ([figures.slope(layers[part], chain[part]) for chain in logs] for part in (~half, half))
        early, late = figures.mean_and_error(early), figures.mean_and_error(late)
        print(f"d {width}: log sigma_min at layer {layers[-1]}: {mean[-1]:.1f} (from the matrix itself "
              f"{direct[:, -1].mean():.1f}); slope {early[0]:.5f} +- {early[1]:.5f} in the first half, "
              f"{late[0]:.5f} +- {late[1]:.5f} in the second")
        if "lyapunov" in result:
            exponents = result.get("lyapunov", width=width)
            exponents = exponents[:, np.all(np.isfinite(exponents), axis=0)]
            least, error = figures.mean_and_error(exponents[:, -1])
            print(f"d {width}: smallest Lyapunov exponent {least:.5f} +- {error:.5f}")
    axes.set(xlabel="layer", ylabel=r"$\log \sigma_{min}$")
    axes.legend(loc="lower left", title="points: from the matrix itself", title_fontsize=7)
    figures.save(picture, given.output)


main()
