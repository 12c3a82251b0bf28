"""`norma info FILE --csv VARIABLE` against the values that h5py reads from the file."""
import csv
import io
import os

import h5py
import numpy as np

import program


def rows_of(path, names, ranks=1):
    done = program.launch(["info", path, "--csv", names], ranks)
    program.check(done.returncode == 0 and not done.stderr, f"{names}: exit {done.returncode}: {done.stderr}")
    header, *rows = csv.reader(io.StringIO(done.stdout))
    return header, rows


def texts_of(dataset):
    """A function from a value of the dataset to what the table shows: a name, or a number."""
    missing = dataset.attrs.get("_FillValue")
    if "flag_meanings" in dataset.attrs:
        meanings = dataset.attrs["flag_meanings"].split()
        return lambda value: meanings[value] if 0 <= value < len(meanings) else "nan"
    return lambda value: float("nan") if missing is not None and value == missing else float(value)


def same(text, expected):
    if isinstance(expected, str):
        return text == expected
    return float(text) == expected or (np.isnan(float(text)) and np.isnan(expected))


def check(path, names, ranks=1):
    """Every line of the table: coordinates and values, in the order of the file."""
    header, rows = rows_of(path, ",".join(names), ranks)
    with h5py.File(path) as f:
        datasets = [f[n] for n in names]
        scales = [axis[0] for axis in datasets[0].dims]
        expected = [s.name.split("/")[-1] for s in scales] + names
        program.check(header == expected, f"{names}: the header is {header}, not {expected}")
        program.check(len(rows) == datasets[0].size, f"{names}: {len(rows)} lines for {datasets[0].size} values")
        columns = []
        for axis, scale in enumerate(scales):
            bare = scale.attrs["NAME"].startswith(b"This is a netCDF dimension but not")
            shown = range(len(scale)) if bare else list(map(texts_of(scale), scale[...]))
            columns.append([shown[index[axis]] for index in np.ndindex(datasets[0].shape)])
        columns += [list(map(texts_of(d), d[...].ravel())) for d in datasets]
        off = sum(not all(map(same, row, wanted)) for row, wanted in zip(rows, zip(*columns)))
        program.check(off == 0, f"{names}: {off} of {len(rows)} lines differ from the file")
        print(f"{','.join(names)}: {len(rows)} lines as in the file")


def main():
    with program.folder() as folder:
        chain, layers = (os.path.join(folder, n) for n in ("chain.h5", "layers.h5"))
        long = os.path.join(folder, "long.h5")  # more values than are held at a time
        for arguments in (["chain", "--width", "2,3", "--depth", 40000, "--record", "all", "--observables", "stable_rank",
                           "--seed", 1, "--output", long],
                          ["chain", "--width", "3,5", "--preset", "rank20,thesis2", "--depth", 30, "--replicas", 2, "--seed", 1,
                           "--output", chain],
                          ["reconstruct", "--c-out", 3, "--c-in", 3, "--overparam", "0,0.5", "--replicas", 2, "--seed", 1,
                           "--save", "gamma", "--output", layers]):
            done = program.launch(arguments + ["--quiet"])
            program.check(done.returncode == 0, f"{arguments}: {done.stderr}")
        check(chain, ["stable_rank_mean"], 2)
        check(long, ["stable_rank"])
        with h5py.File(chain, "r+") as f:  # as in the result of a stopped run
            for name in ("soft_rank", "soft_rank_mean", "soft_rank_too_short"):
                index = tuple(n - 1 for n in f[name].shape)
                f[name][index] = f[name].attrs.get("_FillValue", np.nan)
        check(chain, ["soft_rank_mean", "soft_rank_too_short"])
        check(chain, ["soft_rank"])
        with h5py.File(layers) as f:
            plain = [n for n, d in f.items() if isinstance(d, h5py.Dataset) and d.shape == f["rmse"].shape]
        check(layers, plain)
        for names, text in (("soft_rank_maen", "did you mean 'soft_rank_mean'"), ("configuration", "no numbers"),
                            ("soft_rank,soft_rank_mean", "different dimensions"), (",", "not a list of variables")):
            done = program.launch(["info", chain, "--csv", names], 2)
            program.check(done.returncode == 2 and text in done.stderr and done.stderr.count("\n") == 1,
                          f"{names}: {done.returncode} {done.stderr}")
    program.finish()


main()
