"""THESIS Fig. 2.3: where the smallest singular value stays above a tenth of the input's."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import figures  # noqa: E402
from figures import plt  # noqa: E402



def main():
    given = figures.arguments(__file__, __doc__)
    result = figures.Result(given.result)
    widths, batches = sorted(result.option("width")), sorted(result.option("batch"))
    share = np.full((len(widths), len(batches)), np.nan)
    for i, width in enumerate(widths):
        for j, batch in enumerate(batches):
            if batch <= width:
                sigma = result.get("sigma_min", width=width, batch=batch)
                share[i, j] = np.mean(np.nanmin(sigma, axis=-1) >= 0.1 * sigma[:, 0])
    picture, axes = plt.subplots(figsize=(4.2, 3.2))
    axes.set_facecolor("lightsteelblue")  # more samples than channels: not asked
    mesh = axes.pcolormesh(batches, widths, share, cmap="gray", vmin=0, vmax=1, shading="nearest")
    picture.colorbar(mesh, label="share of chains that hold")
    curve = np.linspace(28, max(max(batches), 29), 100)
    axes.plot(curve, (curve - 28) ** 1.8, color="tab:blue", label=r"$(n - 28)^{1.8}$")
    axes.set(xlabel="batch n", ylabel="width d", ylim=(min(widths) - 1, max(widths) + 1),
             xlim=(min(batches) - 1, max(batches) + 1))
    axes.legend(loc="upper right", labelcolor="w")
    print("width: largest batch at which all chains hold | smallest at which one fails | curve's batch")
    for i, width in enumerate(widths):
        holds = [b for b, s in zip(batches, share[i]) if s == 1]
        fails = [b for b, s in zip(batches, share[i]) if s < 1]
        print(f"{width:5}: {max(holds, default=0):3} | {min(fails, default=0) or '-':>3} | "
              f"{28 + width ** (1 / 1.8):.1f}")
    figures.save(picture, given.output)


main()
