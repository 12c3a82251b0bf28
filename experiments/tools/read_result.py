#!/usr/bin/env python3
"""Reads a result file of `norma reconstruct` with xarray and prints a table: an example to start from.

    python3 read_result.py result.h5

Result files are netCDF-4: every variable has named dimensions (those of a sweep, then replica and
layer) with coordinates, and units and a long_name among its attributes.
"""
import sys

import xarray


def main():
    if len(sys.argv) != 2:
        sys.exit("usage: read_result.py RESULT.h5")
    result = xarray.open_dataset(sys.argv[1], engine="h5netcdf")
    print(result.attrs["title"])
    print(f"{result.attrs['status']}, seed {result.attrs['seed']}, {result.attrs['ranks']} ranks, "
          f"from {result.attrs['started']} to {result.attrs['finished']}")
    print("dimensions:", dict(result.sizes))

    # One row a layer (and a cell of the sweep): worst and middle case over the replicas.
    columns = {"n_features": result.n_features.max("replica"),
               "rmse": result.rmse.max("replica"),
               "condition_number": result.condition_number.median("replica"),
               "max_abs_gamma": result.max_abs_gamma.max("replica")}
    print(xarray.Dataset(columns).to_dataframe().to_string())

    # Networks that were run on data: mean over the replicas with its 95% confidence interval.
    for name in ("accuracy_target", "accuracy_source", "output_max_error", "n_decisions_differing"):
        if name + "_mean" in result:
            table = result[[name + "_mean", name + "_ci95"]]
            print(f"\n{name}: {result[name].attrs['long_name']}")
            print(table.to_dataframe().to_string() if table.dims else
                  f"{float(table[name + '_mean']):.6g} +- {float(table[name + '_ci95']):.2g}")

    # The affine maps of a layer stand in a group of their own (a single cell saves them).
    try:
        layer = xarray.open_dataset(sys.argv[1], engine="h5netcdf", group="layers/000")
    except OSError:
        return
    print("\nlayers/000:", ", ".join(f"{name} {tuple(v.sizes.items())}" for name, v in layer.items()))


if __name__ == "__main__":
    main()
