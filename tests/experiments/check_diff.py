"""norma diff: equal files, files changed by h5py in one value, one shape, one text, one variable, and
files that are none: what is printed and the exit code, on one and two ranks."""
import os
import shutil

import h5py
import numpy as np

import program


def diff(a, b, *options, ranks=1):
    return program.launch(["diff", a, b, *options], ranks=ranks)


def changed(folder, original, name, change):
    """A copy of the file after change(file)."""
    path = os.path.join(folder, name)
    shutil.copy(original, path)
    with h5py.File(path, "r+") as f:
        change(f)
    return path


def differs(made, *words):
    text = made.stdout + made.stderr
    program.check(made.returncode == 1, f"exit code {made.returncode}, expected 1: {text}")
    for word in words:
        program.check(word in text, f"'{word}' is not in: {text}")


def main(folder):
    a, b = (os.path.join(folder, name) for name in ("a.h5", "b.h5"))
    run = ["chain", "--preset", "rank20", "--width", 8, "--depth", 20, "--replicas", 2, "--seed", 3, "--record", "all", "--output"]
    for out in (a, b):
        made = program.launch([*run, out])
        program.check(made.returncode == 0, made.stderr)
    for ranks in (1, 2):
        made = diff(a, b, ranks=ranks)
        program.check(made.returncode == 0, f"equal files: {made.stdout}{made.stderr}")
    with h5py.File(a) as f:
        values = f["stable_rank"][...]

    def scale(factor):
        def change(f):
            value = f["stable_rank"][...]
            value[1, 5] = value[1, 5] + factor * np.max(np.abs(value))
            f["stable_rank"][...] = value
        return change

    small = changed(folder, a, "small.h5", scale(1e-6))
    for ranks in (1, 3):
        differs(diff(a, small, ranks=ranks), "/stable_rank", f"1 of {values.size} values", "[1, 5]", "1e-06")
    program.check(diff(a, small, "--tolerance", 2e-6).returncode == 0, "a difference within the tolerance")
    differs(diff(a, small, "--tolerance", 5e-7), "/stable_rank")

    def to_missing(f):
        f["stable_rank"][0, 0] = np.nan

    missing = changed(folder, a, "missing.h5", to_missing)
    differs(diff(a, missing, "--tolerance", 1), "/stable_rank", "missing or infinite")
    program.check(diff(missing, missing).returncode == 0, "a missing value equals a missing value")

    def drop(f):
        del f["stable_rank"]

    lacking = changed(folder, a, "lacking.h5", drop)
    differs(diff(a, lacking), "/stable_rank", "is not in " + lacking)
    differs(diff(lacking, a), "/stable_rank", "is not in " + lacking)

    def shorten(f):
        short = f["stable_rank"][:, :-1]
        del f["stable_rank"]
        f["stable_rank"] = short

    differs(diff(a, changed(folder, a, "short.h5", shorten)), "/stable_rank", "shapes differ")
    for bad in ("nothere.h5", __file__):
        made = diff(a, bad)
        program.check(made.returncode == 2, f"{bad}: exit code {made.returncode}, expected 2")


with program.folder() as scratch:
    main(scratch)
program.finish()
