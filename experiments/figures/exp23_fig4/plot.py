"""Loss of the constructed source: against the width d of the drawn network with D = d^2 features, and, where
NAME_right.h5 stands beside NAME.h5, against D. Every draw is a dot; the line is their mean without the extremes."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import figures  # noqa: E402
from figures import plt  # noqa: E402


def middle(values):
    """Mean over the last axis without its least and largest value, as in the paper; all where there are few."""
    values = np.sort(values, axis=-1)
    return np.mean(values[..., 1:-1] if values.shape[-1] > 2 else values, axis=-1)


def draw(axes, path, option, label):
    result = figures.Result(path)
    x, loss = np.array(result.coordinate(option)), result.get("loss")
    axes.plot(np.repeat(x, loss.shape[-1]), np.ravel(loss), ".", color="gray", markersize=3)
    axes.plot(x, middle(loss), color=figures.COLORS[2], marker="o", markersize=3, label="constructed ($f_2$)")
    axes.set(yscale="log", xlabel=label)
    for value, line in zip(x, loss):
        print(f"{option} {value}: loss {middle(line):.3g}, least {np.min(line):.3g}, largest {np.max(line):.3g}")
    return x


def main():
    given = figures.arguments(__file__, __doc__)
    picture, axes = plt.subplots(1, 2, figsize=(6.6, 2.8))
    draw(axes[0], given.result, "width", r"width $d$, $D = d^2$")
    axes[0].set(ylabel="loss", ylim=(1e-30, 1e3))
    right = figures.beside(given.result, "right")
    if right:
        draw(axes[1], right, "features", r"features $D$, $d = 25$")
        axes[1].axvline(625, color="gray", linewidth=0.6, linestyle=":")
        axes[1].set(ylim=(1e-30, 1e3))
    axes[0].legend()
    figures.save(picture, given.output)


main()
