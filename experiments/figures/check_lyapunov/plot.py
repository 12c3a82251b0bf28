"""A million layers without normalization: norm, Lyapunov exponents, alignment."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import figures  # noqa: E402
from figures import plt  # noqa: E402



def main():
    given = figures.arguments(__file__, __doc__)
    result = figures.Result(given.result)
    d = result.option("width")[0]
    picture, (left, right) = plt.subplots(1, 2, figsize=(6.6, 2.8))
    mean, error = figures.mean_and_error(result.get("lyapunov"))
    k = np.arange(1, len(mean) + 1)
    exact = np.array([0.5 * (np.log(2) + figures.digamma((d - i + 1) / 2)) - 0.5 * np.log(d) for i in k])
    for values in zip(k, mean, error, exact, (mean - exact) / error):
        print("exponent {}: {:.6f} +- {:.6f}, exact {:.6f}, off by {:.1f} standard errors".format(*values))
    left.errorbar(k, mean, np.nan_to_num(1.96 * error), fmt="o", markersize=3, label="measured")
    left.plot(k, exact, "k+", markersize=8, label="exact")
    left.set(xlabel="k", ylabel="Lyapunov exponent")
    left.legend()
    layers = result.layers("cosine")
    norm = result.get("log_norm")
    distance = np.abs(1 - np.abs(result.get("cosine")))
    print(f"layer {layers[-1]}: log ||H||_F {norm[:, -1].mean():.2f}, all finite: {bool(np.all(np.isfinite(norm)))}; "
          f"largest 1 - |cosine| there {distance[:, -1].max():.1e}")
    right.plot(layers[1:], np.abs(norm[:, 1:]).mean(axis=0), label=r"$|\log ||H||_F|$")
    right.plot(layers[1:], np.maximum(distance[:, 1:].mean(axis=0), 1e-17), label="1 - |cosine|")
    right.plot(layers[1:], np.abs(exact[0]) * layers[1:], "k:", linewidth=1, label=r"$|\lambda_1|$ layer")
    right.set(xscale="log", yscale="log", xlabel="layer")
    right.legend()
    figures.save(picture, given.output)


main()
