"""Shared by the plot.py of every figure: reads a result file of norma by names, draws bands of replicas, saves."""
import argparse
import glob
import math
import os
import re

import h5py
import matplotlib
import numpy as np

matplotlib.use("Agg")
import matplotlib.pyplot as plt  # noqa: E402  (the backend comes first)

TEXT = {"font.size": 9, "axes.titlesize": 9, "legend.fontsize": 8, "legend.frameon": False, "figure.dpi": 100,
        "lines.linewidth": 1.3, "axes.spines.top": False, "axes.spines.right": False}


class Result:
    """A result file. Dimensions of a sweep are chosen by value: get("rmse", width=32)."""

    def __init__(self, path):
        self.file = h5py.File(path, "r")
        text = self.file["configuration"][()] if "configuration" in self.file else ""  # a script's file has none
        self.configuration = text.decode() if isinstance(text, bytes) else text
        if self.file.attrs.get("status", "complete") not in ("complete", b"complete"):
            print(f"{path} is not complete: what is missing is left out")

    def __contains__(self, name):
        return name in self.file

    def coordinate(self, name):
        """Values of a dimension or option: numbers, or the names that the file's flags stand for."""
        data = self.file[name]
        if "flag_meanings" not in data.attrs:
            return list(data[()])
        names = data.attrs["flag_meanings"].split()
        names = dict(zip(data.attrs["flag_values"], names))
        return [names[v] for v in data[()]]

    def option(self, name):
        """Values that an option had: those of its dimension where it was swept, else the one of the configuration
        (None where it was not set)."""
        name = name.replace("-", "_")
        if name in self.file:
            return self.coordinate(name)
        line = re.search(rf"^  {name.replace('_', '-')}: *(.*?)(?: +#.*)?$", self.configuration, re.M)
        if not line:
            return [None]
        values = [v.strip().strip('"') for v in line.group(1).strip("[]").split(",")]
        return [number(v) for v in values]

    def get(self, name, **where):
        """The variable with the given dimensions chosen by value and so gone, the others as in the file; missing
        values are NaN. A choice among options that were not swept selects nothing."""
        data = self.file[name]
        dimensions = [d[0].name.lstrip("/") for d in data.dims]
        index = [slice(None)] * len(dimensions)
        for key, value in where.items():
            if key in dimensions:
                index[dimensions.index(key)] = self.coordinate(key).index(value)
        values = np.asarray(data[tuple(index)], dtype=float)
        fill = data.attrs.get("_FillValue")
        if fill is not None and np.issubdtype(data.dtype, np.integer):
            values[values == float(np.ravel(fill)[0])] = np.nan
        return values

    def average(self, name, **where):
        """Average of an observable along the chains and over replicas, and its standard error."""
        mean = np.ravel(self.get(name + "_mean", **where))
        error = np.ravel(self.get(name + "_stderr", **where))
        return float(np.mean(mean)), float(np.sqrt(np.sum(error ** 2)) / error.size)

    def at_layer(self, name, layer, **where):
        """As get, of a recorded variable [replica, layer] at one layer."""
        return self.get(name, **where)[:, list(self.layers(name)).index(layer)]

    def layers(self, name):
        """Layer numbers of a recorded variable (its last dimension)."""
        return list(self.file[name].dims)[-1][0][()]


def number(text):
    """A number where the text is one."""
    try:
        value = float(text)
    except ValueError:
        return text
    return int(value) if value == int(value or 0) and re.fullmatch(r"-?\d+", text) else value


def arguments(script, description):
    """RESULT.h5 and -o PICTURE.png of a plot.py; by default NAME.h5 here and NAME.png beside it, NAME the folder's."""
    name = os.path.basename(os.path.dirname(os.path.abspath(script)))
    parser = argparse.ArgumentParser(description=description)
    parser.add_argument("result", nargs="?", default=f"{name}.h5", help="result file (default: %(default)s)")
    parser.add_argument("-o", "--output", help="picture (default: the result's name with .png)")
    given = parser.parse_args()
    given.output = given.output or os.path.splitext(given.result)[0] + ".png"
    plt.rcParams.update(TEXT)
    return given


def beside(result, suffix):
    """The path of NAME_suffix.h5 beside NAME.h5, None where there is no such file."""
    path = f"{os.path.splitext(result)[0]}_{suffix}.h5"
    return path if os.path.exists(path) else None


def mean_and_error(values, axis=0):
    """Mean over replicas and its standard error (NaN for a single one)."""
    values = np.asarray(values, dtype=float)
    n = np.sum(~np.isnan(values), axis=axis)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = np.nansum(values, axis=axis) / np.where(n > 0, n, np.nan)
        square = np.nansum((values - np.expand_dims(mean, axis)) ** 2, axis=axis)
        return mean, np.sqrt(square / np.where(n > 1, n * (n - 1.0), np.nan))


def band(axes, x, values, label, color, z=1.96, least=-math.inf, **style):
    """Mean over replicas (axis 0) with its confidence band, z standard errors to both sides, not below `least` times
    the mean (for logarithmic axes)."""
    mean, error = mean_and_error(values)
    axes.plot(x, mean, label=label, color=color, **style)
    width = z * np.nan_to_num(error)
    low = np.maximum(mean - width, least * mean) if least > -math.inf else mean - width
    axes.fill_between(x, low, mean + width, color=color, alpha=0.25, linewidth=0)
    return mean, error


def wilson(share, n, z=1.96):
    """Wilson's interval of a share of n draws."""
    middle = (share + z ** 2 / (2 * n)) / (1 + z ** 2 / n)
    half = z / (1 + z ** 2 / n) * np.sqrt(share * (1 - share) / n + z ** 2 / (4 * n ** 2))
    return middle - half, middle + half


def shares(axes, x, share, n, color, **style):
    """Points at shares of n draws with Wilson intervals of 95%, which are returned."""
    low, high = wilson(share, n)
    axes.errorbar(x, share, (np.maximum(share - low, 0), np.maximum(high - share, 0)), color=color, markersize=3,
                  linewidth=0.8, **style)
    return low, high


def slope(x, y):
    """Least-squares slope of y on x; NaN for fewer than two points."""
    x, y = np.asarray(x, dtype=float), np.asarray(y, dtype=float)
    x, y = x[np.isfinite(y)], y[np.isfinite(y)]
    return np.polyfit(x, y, 1)[0] if len(x) > 1 else math.nan


def gap_square(m, d):
    """Stationary E V^2 of linear batch-normalized chains, to leading order in 1 / d: m samples, or m + 1 centred
    ones (src/theory/chain_laws.h)."""
    return (m - 1) * (m + 2) ** 2 / (4 * m * (m + 1) * d)


def linear_distance(n, d):
    """Root mean square of ||G - G*||_F = n V, n centred samples, identity activation, to leading order in 1 / d."""
    return n * np.sqrt(gap_square(n - 1, d))


def no_dead_feature(p, d):
    """The probability that none of d^2 features is without a weight in one of its layers, d weights each of which is
    kept with probability p; that of full rank is at most this (EXP23 Thm 3)."""
    return (1 - (1 - p) ** d) ** (2 * d * d)


def digamma(x):
    """psi(x), x > 0: recurrence to x > 10, then the asymptotic series (1e-14)."""
    value = 0.0
    while x < 10:
        value -= 1 / x
        x += 1
    y = 1 / (x * x)
    return value + math.log(x) - 0.5 / x - y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y / 132))))


def save(figure, path):
    figure.tight_layout()
    figure.savefig(path)
    print(f"picture: {path}")


COLORS = ["tab:blue", "tab:orange", "tab:green"]


def mean_field(result):
    """Of THESIS Fig. 3.2 to 3.4: a function of activation, batch and width that gives the predicted stationary root mean
    square of ||G - G*||_F and the second term of the bound of Theorem 3.2 with its unknown constants set to 1, from the
    file of `norma meanfield` NAME_meanfield.h5 beside NAME.h5; None without it."""
    path = beside(result, "meanfield")
    if not path:
        return None
    theory = Result(path)

    def predict(act, batch, width):
        where = {"act": act, "batch": batch, "width": width}
        diagonal, other = np.ravel(theory.get("gram_fixed_point", **where))
        eigenvalues = diagonal - other, diagonal + (batch - 1) * other
        condition = max(eigenvalues) / min(eigenvalues) if min(eigenvalues) > 1e-12 else math.inf
        level = float(np.ravel(theory.get("gram_distance_stationary", **where))[0])
        return level, condition * batch * math.sqrt(math.log(width / batch) / width)

    return predict


def draw_mean_field(axes, predict, act, color, batches, widths, x):
    """Predicted levels (dotted) and bounds (dash-dotted, where finite) of an activation at the points x."""
    levels, bounds = np.array([predict(act, n, d) for n, d in zip(batches, widths)]).T
    axes.plot(x, levels, color=color, linestyle=":", linewidth=0.8)
    if np.all(np.isfinite(bounds)):
        axes.plot(x, bounds, color=color, linestyle="-.", linewidth=0.8)
    print(f"{act:9} predicted levels " + " ".join(f"{v:.4f}" for v in levels) + "   bounds " +
          " ".join(f"{v:.3g}" for v in bounds))


def gram_distance(script, description, option, symbol):
    """The plot.py of THESIS Fig. 3.3 and 3.4: ||G - G*||_F at the last layer against an option, `width` or `batch`."""
    given = arguments(script, description)
    result = Result(given.result)
    values = np.array(sorted(result.option(option)))
    picture, axes = plt.subplots(figsize=(4.2, 3.0))
    for act, color in zip(result.option("act"), COLORS):
        last = [result.get("gram_distance", act=act, **{option: value})[:, -1] for value in values]
        mean, error = mean_and_error(last, axis=1)
        axes.errorbar(values, mean, np.nan_to_num(1.96 * error), color=color, marker="o", markersize=3, label=act)
        print(f"{act:9} ||G - G*||_F " + "  ".join(f"{v}: {m:.4f} +- {e:.4f}" for v, m, e in zip(values, mean, error)))
        print(f"{act:9} exponent of the {option}: {slope(np.log(values), np.log(mean)):.3f}")
    n, d = (np.sort(np.array(result.option(name), dtype=float)) for name in ("batch", "width"))
    axes.plot(values, n / np.sqrt(d), "k--", linewidth=0.8, label=r"$n / \sqrt{d}$")
    predict = mean_field(given.result)
    if predict:
        title = "dotted: predicted level\ndash-dotted: bound, constants 1"
        for act, color in zip(result.option("act"), COLORS):
            draw_mean_field(axes, predict, act, color, n + 0 * values, d + 0 * values, values)
    else:
        title = "dotted: identity, predicted level"
        axes.plot(values, linear_distance(n, d) + 0 * values, color=COLORS[0], linestyle=":", linewidth=0.8)
    axes.set(xscale="log", yscale="log", xlabel=f"{option} {symbol}", ylabel=r"$||G_l - G_*||_F$")
    axes.set_xticks(values, [str(v) for v in values])
    axes.minorticks_off()
    ticks = [0.2, 0.5, 1, 2, 5, 10, 20, 50] if predict else [0.2, 0.5, 1, 2, 5]
    axes.set_yticks(ticks, [f"{t:g}" for t in ticks])
    axes.legend(title=title, title_fontsize=7, fontsize=7)
    save(picture, given.output)


def by_depth(path):
    """Of a figure against depth: the result files NAME.h5 and NAME_<depth>.h5 beside it, by their depth, ascending."""
    stem, found = os.path.splitext(path)[0], {}
    for name in [path] + glob.glob(glob.escape(stem) + "_*.h5"):
        if name == path or re.fullmatch(r"\d+", name[len(stem) + 1:-3]):
            result = Result(name)
            found[int(result.option("depth")[0])] = result
    return dict(sorted(found.items()))


def depth_band(axes, results, values, label, color, **style):
    """A band over the depths of `results`, values[depth][replica], of as many replicas as all depths have."""
    n_least = min(len(v) for v in values)
    return band(axes, list(results), np.array([v[:n_least] for v in values]).T, label, color, marker="o", markersize=3,
                **style)


def gradients_by_depth(script, description, panels, curves, layer):
    """The plot.py of THESIS Fig. 6.2, 6.3, 6.5, C.10: log ||dL / dW|| of one layer against the depth of the network, a
    panel for each value of the option `panels` and a curve for each one of `curves`."""
    given = arguments(script, description)
    results = by_depth(given.result)
    some = next(iter(results.values()))
    columns = some.option(panels)
    picture, grid = plt.subplots(1, len(columns), figsize=(3.3 * len(columns) + 0.9, 3.0), squeeze=False)
    for axes, column in zip(grid[0], columns):
        for curve, color in zip(some.option(curves), COLORS):
            where = {panels.replace("-", "_"): column, curves.replace("-", "_"): curve}
            values = [r.at_layer("log_grad_norm", layer, **where) for r in results.values()]
            means, errors = depth_band(axes, results, values, str(curve), color)
            print(f"{panels} {column}, {curves} {curve}: " + "  ".join(
                f"{d}: {m:.3f} +- {e:.3f}" for d, m, e in zip(results, means, errors)))
            depths = np.array(list(results), dtype=float)
            print(f"    growth a layer from {depths[len(depths) // 2]:.0f} layers on: "
                  f"{slope(depths[len(depths) // 2:], means[len(depths) // 2:]):.5f}")
        axes.set(xlabel="layers of the network", xscale="log", title=f"{panels} {column}" if len(columns) > 1 else "")
    grid[0, 0].set_ylabel(f"log norm of the gradient, layer {layer}")
    grid[0, 0].legend(title=curves, title_fontsize=7)
    save(picture, given.output)


def kernel_sequences(script, description, starts, n_shown):
    """The plot.py of THESIS Fig. 5.1 and 5.2: for each activation the kernel map with the sequence from its own start,
    and the distance from the fixed point with the theorem's bound, printed and corrected."""
    given = arguments(script, description)
    result = Result(given.result)
    acts, swept = result.coordinate("act"), result.coordinate("rho0")
    picture, grid = plt.subplots(2, len(acts), figsize=(2.4 * len(acts), 4.4))
    for i, (act, start) in enumerate(zip(acts, starts)):
        def get(name, act=act, j=swept.index(start) if start in swept else 0):
            return result.get(name, act=act, rho0=swept[j])
        case, rho = int(get("case")), get("rho")[:n_shown + 1]
        grid[0, i].plot(result.coordinate("rho_grid"), get("kappa"), color=COLORS[0])
        grid[0, i].plot([-1, 1], [-1, 1], color="gray", linewidth=0.6)
        grid[0, i].step(rho, np.append(rho[1:], rho[-1]), where="post", color=COLORS[1], linewidth=0.8)
        grid[0, i].set(title=f"{act[:24]}\ncase {case}", xlabel=r"$\rho$", ylabel=r"$\kappa$" if i == 0 else None)
        for name, style in (("distance", "-"), ("bound_printed", ":"), ("bound_corrected", "--")):
            grid[1, i].plot(get(name)[:n_shown + 1], style, label=name.replace("_", " "))
        grid[1, i].set(yscale="log", xlabel="layer", ylabel=r"$|\rho_l - \rho^*|$" if i == 0 else None)
        distance, printed, corrected = get("distance"), get("bound_printed"), get("bound_corrected")
        broken = np.flatnonzero(distance > printed * (1 + 1e-9))
        print(f"{act}: case {case}, rho* {get('fixed_point'):.12g}, kappa(0) {get('kappa_0'):.6f}, "
              f"kappa'(1) {get('kappa_prime_1'):.6f}; rates printed {get('rate_printed'):.6f}, corrected "
              f"{get('rate_corrected'):.6f}, asymptotic {get('rate_asymptotic'):.6f}, power {get('decay_power'):.0f}; "
              f"last factor {get('rate_measured'):.9f}, predicted {get('rate_predicted'):.9f}, "
              f"distance {distance[-1]:.4g}; printed bound broken at {broken.size} of {distance.size} layers, "
              f"corrected at {np.sum(distance > corrected * (1 + 1e-9))}")
    grid[1, -1].legend(fontsize=6)
    save(picture, given.output)
