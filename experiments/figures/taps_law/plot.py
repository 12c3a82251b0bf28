"""Beyond RF Fig. 3: distances of the singular values from the generalized law of several taps and from the plain law,
against the number of channels; the density at the largest of these."""
import os
import sys

import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), ".."))
import figures  # noqa: E402
from figures import plt  # noqa: E402


def tap_pairs(result):
    """Mean number of tap pairs (p, q), p + q = k, over the rows k of the composite kernel, all taps along one axis."""
    text = result.option("kernel-split")[0]
    first, second = (int(part.split("x")[0]) for part in text.split("+"))
    return first * second / (first + second - 1)


def plain_law(ratio, n_points=20001):
    """Points, density and distribution function of RF Theorem 2.2 for c1 = ratio n, ratio >= 1."""
    low, high = np.sqrt(ratio) - 1, np.sqrt(ratio) + 1
    angle = np.linspace(0, np.pi, n_points)  # a substitution without singular ends
    s = np.sqrt((low ** 2 + high ** 2) / 2 - (high ** 2 - low ** 2) / 2 * np.cos(angle))
    density = np.sqrt(np.maximum((s ** 2 - low ** 2) * (high ** 2 - s ** 2), 0)) / (np.pi * s)
    steps = np.diff(s) * (density[1:] + density[:-1]) / 2
    return s, density, np.append(0, np.cumsum(steps))


def distance(values, s, cdf):
    """Kolmogorov-Smirnov distance of values from a law."""
    values = np.sort(values)
    law, n = np.interp(values, s, cdf, 0, cdf[-1]), len(values)
    return max(np.max(np.arange(1, n + 1) / n - law), np.max(law - np.arange(n) / n))


def main():
    given = figures.arguments(__file__, __doc__)
    result = figures.Result(given.result)
    channels = result.coordinate("channels")
    pairs, ratio = tap_pairs(result), 1 + float(result.option("overparam")[0])
    s, density, cdf = plain_law(ratio)
    found = {"generalized law": [], "plain law of the same mean square": []}
    for i, c in enumerate(channels):
        values = result.file[f"cells/{i:06}/singular_value"][()] / np.sqrt(pairs)
        general = np.ravel(result.get("ks_distance", channels=c))
        plain = np.array([distance(v, s, cdf) for v in values])
        for name, ks in zip(found, (general, plain)):
            found[name].append(ks)
        print(f"c = {c}, n = {values.shape[1]}: generalized {general.mean():.4f} ({general.min():.4f} to {general.max():.4f}), "
              f"plain {plain.mean():.4f} ({plain.min():.4f} to {plain.max():.4f})")
    picture, (left, right) = plt.subplots(1, 2, figsize=(7, 2.8))
    left.hist(np.ravel(values) * np.sqrt(pairs), bins=60, density=True, color="tab:blue", alpha=0.5,
              label=f"c = {channels[-1]}, {len(values)} draws")
    left.plot(*(result.get(name, channels=channels[-1])[0] for name in ("s_grid", "limit_density")), color="k", linewidth=1,
              label="generalized law")
    left.plot(s * np.sqrt(pairs), density / np.sqrt(pairs), color="tab:red", linewidth=1, linestyle="--", label="plain law")
    left.set(xlabel="singular value", ylabel="density")
    left.legend()
    for (name, ks), color in zip(found.items(), ("k", "tab:red")):
        mean = np.array([np.mean(k) for k in ks])
        right.errorbar(channels, mean, [mean - [k.min() for k in ks], [k.max() for k in ks] - mean], color=color, marker="o",
                       markersize=3, capsize=2, label=name)
        print(f"{name}: exponent of c {figures.slope(np.log(channels), np.log(mean)):.2f}")
    first = np.mean(found["generalized law"][0])
    right.plot(channels, first * channels[0] / np.array(channels), color="gray", linewidth=0.8, linestyle=":", label="1 / c")
    right.set(xscale="log", yscale="log", xlabel="channels c", ylabel="distance (KS)")
    right.set_xticks(channels, [str(c) for c in channels])
    right.minorticks_off()
    right.legend()
    figures.save(picture, given.output)


main()
