#!/usr/bin/env python3
"""Result files open at once in what people use: h5py, xarray (both engines), netCDF4, ncdump, h5dump.

    check_netcdf.py WRITER RANKS LAUNCHER...     (WRITER: the program built from write_result.c)
"""

import os
import re
import subprocess
import sys

import h5py
import netCDF4
import numpy
import xarray

ORDER = ["rmse", "seconds", "iterations", "n_steps", "solver", "done", "accuracy", "soft_rank",
         "large"]
COORDINATES = ["source_dist", "replica", "layer", "tau"]
TEXTS = ["status", "norma_version", "title", "Conventions", "history", "source", "git_commit",
         "command_line", "started", "hosts", "process_grid", "cpu_model", "compiler", "mpi_library",
         "hdf5_version", "openblas_config", "scalapack_library", "signal", "finished"]
failures = []


def check(condition, what):
    if not condition:
        failures.append(what)


def run(*command):
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                          timeout=120, check=False)
    check(done.returncode == 0 and not done.stderr, f"{command}: {done.returncode} {done.stderr}")
    return done.stdout


def check_h5py(path):
    """Types, scales on every axis, attributes as str, creation order."""
    with h5py.File(path) as file:
        check(all(isinstance(file.attrs[name], str) for name in TEXTS), "h5py: texts are str")
        check(file.attrs["seed"] == 2**64 - 1, "h5py: seed")
        check(file.attrs["status"] == "complete", "h5py: status")
        check(1 <= file.attrs["cores_per_rank"] <= file.attrs["cores_per_node"], "h5py: cores")
        check(re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ", file.attrs["finished"]), "h5py: time")
        check(file["configuration"].asstr()[()] == "reconstruct:\n  seed: 1\n", "h5py: configuration")
        check(list(file.attrs["axes"]) == ["replica", "layer"], "h5py: axes")
        for group in (file, file["layers/000"]):
            for name, dataset in group.items():
                if not isinstance(dataset, h5py.Dataset):
                    continue
                check(isinstance(dataset.attrs["units"], str), f"h5py: units of {name}")
                check(isinstance(dataset.attrs["long_name"], str), f"h5py: long_name of {name}")
                if dataset.attrs.get("CLASS") != b"DIMENSION_SCALE":
                    check(all(len(d) == 1 for d in dataset.dims), f"h5py: scales of {name}")
        check(file["rmse"][1, 2] == 3e-16 and numpy.isnan(file["rmse"][0, 0]), "h5py: values")
        check((file["large"][()] == numpy.arange(file["large"].size)).all(), "h5py: large")
        check(file["soft_rank"].shape == (2, 3, 2, 4), "h5py: shape")
        for what in (file["/"], file["layers"], file["layers/000"], file["rmse"], file["replica"]):
            order = what.id.get_create_plist().get_attr_creation_order()
            check(order == h5py.h5p.CRT_ORDER_TRACKED | h5py.h5p.CRT_ORDER_INDEXED,
                  f"h5py: order of attributes of {what.name}")
        return sum(isinstance(d, h5py.Dataset) for d in file.values())


def check_netcdf4(path, n_datasets):
    """Without arguments; every dataset of h5py's but the axis without values."""
    with netCDF4.Dataset(path) as file:
        check(len(file.variables) == n_datasets - 1, "netCDF4: number of variables")
        names = list(file.variables)
        check([n for n in names if n in ORDER] == ORDER, f"netCDF4: order {names}")
        check(not any("phony" in d for d in file.dimensions), "netCDF4: phony_dim")
        check(list(file.dimensions) == COORDINATES + ["index"], f"netCDF4: {list(file.dimensions)}")
        check(all(isinstance(file.getncattr(name), str) for name in TEXTS), "netCDF4: texts")
        rmse = file["rmse"]
        check(rmse.dimensions == ("replica", "layer") and rmse.units == "1", "netCDF4: rmse")
        check(rmse[1, 2] == 3e-16 and rmse[:].mask.sum() == 8, "netCDF4: missing values")
        check(file["iterations"][:].count() == 1 and file["iterations"][1, 2] == 12,
              "netCDF4: missing counts")
        check(file["solver"].flag_meanings == "lu krylov", "netCDF4: flag_meanings")
        check(list(file["solver"].flag_values) == [0, 1], "netCDF4: flag_values")
        check(file["layers/000/gamma1"].dimensions == ("feature",), "netCDF4: group")
        check(str(file["configuration"][...]).startswith("reconstruct"), "netCDF4: configuration")


def check_xarray(path, engine, n_datasets):
    with xarray.open_dataset(path, engine=engine) as file:
        n = len(file.variables)
        check(n == n_datasets - 1, f"{engine}: {n} variables of {n_datasets}")
        check(set(file.coords) == set(COORDINATES), f"{engine}: coordinates {list(file.coords)}")
        check(not any("phony" in str(d) for d in file.dims), f"{engine}: phony_dim")
        check(all(isinstance(file.attrs[name], str) for name in TEXTS), f"{engine}: texts are str")
        check(file.seconds.attrs["units"] == "s", f"{engine}: units")
        check(float(file.rmse.sel(replica=1, layer=2)) == 3e-16, f"{engine}: value")
        check(numpy.isnan(file.rmse.sel(replica=0)).all(), f"{engine}: missing")
        check(file.soft_rank.dims == ("source_dist", "replica", "tau", "layer"), f"{engine}: dims")
        check([v for v in file.data_vars if v in ORDER] == ORDER, f"{engine}: order")
        text = file.configuration.values[()]
        text = text.decode() if isinstance(text, bytes) else str(text)
        check(text == "reconstruct:\n  seed: 1\n", f"{engine}: configuration {text!r}")
    with xarray.open_dataset(path, engine=engine, group="layers/000") as file:
        check(list(file.gamma1.values) == list(range(1, 8)), f"{engine}: group")


def main():
    writer, ranks = sys.argv[1:3]
    path = f"check_netcdf_{ranks}.h5"
    if os.path.exists(path):
        os.remove(path)
    run(*sys.argv[3:], writer, path)
    n_datasets = check_h5py(path)
    check_netcdf4(path, n_datasets)
    for engine in ("netcdf4", "h5netcdf"):
        check_xarray(path, engine, n_datasets)
    header = run("ncdump", "-h", path)
    check("rmse(replica, layer)" in header and "phony" not in header, "ncdump: dimensions")
    check('rmse:units = "1"' in header, "ncdump: units")
    run("h5dump", "-H", path)
    for failure in failures:
        print(failure)
    if not failures:
        os.remove(path)
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
