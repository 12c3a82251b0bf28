#!/usr/bin/env python3
"""Draws a variable of a result file: python3 plot.py RESULT.h5 [--variable NAME] [--output PICTURE.png]

Without --variable it draws the file's own default (the attribute `signal`). The last dimension with
more than one value is the horizontal axis; every combination of the others is a line, of which at
most 12 are drawn. Replicas are drawn as their mean in a band from the smallest to the largest
(--each-replica: one line each). Axes are logarithmic where positive values span more than two decades.
"""
import argparse
import itertools
import sys

import h5py
import numpy as np

MOST_LINES = 12


def text(value):
    return value.decode() if isinstance(value, bytes) else str(value)


def coordinate(variable, axis):
    """Name and values of a dimension: its coordinate where it has one, else 0, 1, 2, …"""
    name, values = f"dimension {axis}", np.arange(variable.shape[axis])
    scales = variable.dims[axis]
    if len(scales) > 0:
        scale = scales[0]
        name = scale.name.rsplit("/", 1)[-1]
        bare = text(scale.attrs.get("NAME", b"")).startswith("This is a netCDF dimension but not")
        if not bare and scale.shape == values.shape and "flag_meanings" in scale.attrs:
            values = np.array(text(scale.attrs["flag_meanings"]).split())[scale[...]]
        elif not bare and scale.shape == values.shape:
            values = scale[...]
    return name, values


def lines(variable, each_replica):
    """(horizontal axis name, its values, [(label, mean, low, high)]) of a variable."""
    data = variable[...].astype(float)
    if "_FillValue" in variable.attrs:
        data[data == float(np.ravel(variable.attrs["_FillValue"])[0])] = np.nan
    axes = [coordinate(variable, axis) for axis in range(data.ndim)]
    low = high = data
    names = [name for name, _ in axes]
    if "replica" in names[:-1] and not each_replica:
        axis = names.index("replica")
        with np.errstate(all="ignore"):
            data, low, high = (f(data, axis=axis) for f in (np.mean, np.min, np.max))
        del axes[axis]
    long = [axis for axis in range(data.ndim) if data.shape[axis] > 1]
    if not long:
        return "", np.zeros(1), [("", *(values.reshape(1) for values in (data, low, high)))]
    x = long[-1]
    others = [axis for axis in range(data.ndim) if axis != x]
    found = []
    for index in itertools.product(*(range(data.shape[axis]) for axis in others)):
        place = [slice(None)] * data.ndim
        for axis, i in zip(others, index):
            place[axis] = i
        label = ", ".join(f"{axes[axis][0]} {axes[axis][1][i]}" for axis, i in zip(others, index)
                          if data.shape[axis] > 1)
        found.append((label, *(values[tuple(place)] for values in (data, low, high))))
    return axes[x][0], axes[x][1], found


def spans_decades(values):
    values = np.asarray(values)
    if values.dtype.kind not in "fiu":
        return False
    good = values[np.isfinite(values) & (values != 0)]
    return good.size > 2 and good.min() > 0 and good.max() > 100 * good.min()


def draw(variable, title, output, each_replica):
    import matplotlib
    matplotlib.use("Agg")
    import matplotlib.pyplot as plt
    name, x, found = lines(variable, each_replica)
    figure, axes = plt.subplots(figsize=(6, 4))
    place = x if x.dtype.kind in "fiu" else np.arange(len(x))
    for label, y, low, high in found[:MOST_LINES]:
        line, = axes.plot(place, y, marker="o" if len(y) < 40 else None, markersize=3, linewidth=1,
                          label=label or None)
        if low is not y:
            axes.fill_between(place, low, high, color=line.get_color(), alpha=0.15, linewidth=0)
    if x.dtype.kind not in "fiu":
        axes.set_xticks(np.arange(len(x)), x)
    if spans_decades(np.concatenate([y for _, y, _, _ in found])):
        axes.set_yscale("log")
    if spans_decades(x):
        axes.set_xscale("log")
    axes.set_xlabel(name)
    units = text(variable.attrs.get("units", "1"))
    axes.set_ylabel(variable.name.lstrip("/") + ("" if units == "1" else f" ({units})"))
    axes.set_title(title, fontsize=9)
    if len(found) > 1:
        axes.legend(fontsize=7)
    figure.tight_layout()
    figure.savefig(output, dpi=100)
    return min(len(found), MOST_LINES), len(found)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("result")
    parser.add_argument("--variable", help="default: the file's own signal")
    parser.add_argument("--each-replica", action="store_true", help="one line each, without a mean")
    parser.add_argument("--output", help="default: the result's name with .png")
    options = parser.parse_args()
    output = options.output or options.result.removesuffix(".h5") + ".png"
    try:
        file = h5py.File(options.result, "r")
    except OSError as error:
        sys.exit(f"{options.result}: {error}")
    with file:
        name = options.variable or text(file.attrs.get("signal", ""))
        if not name or name not in file or not isinstance(file[name], h5py.Dataset):
            sys.exit(f"{options.result}: there is no variable '{name}'; choose one of `norma info "
                     f"{options.result}` with --variable")
        variable = file[name]
        if variable.dtype.kind not in "fiu":
            sys.exit(f"{options.result}: {name} is not numeric")
        title = text(variable.attrs.get("long_name", file.attrs.get("title", "")))
        drawn, n = draw(variable, title, output, options.each_replica)
    print(f"{output}: {name}, {drawn} of {n} lines")


if __name__ == "__main__":
    main()
