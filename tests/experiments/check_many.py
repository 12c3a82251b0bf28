"""Hundreds of replicas on two ranks, of which one writes: the file must still close at the end. HDF5's
metadata caches of the ranks must not drift apart."""
import os

import h5py
import numpy as np

import program


def main():
    with program.folder() as folder:
        output = os.path.join(folder, "out.h5")
        done = program.launch(["reconstruct", "--c-out", "2", "--c-in", "2", "--replicas", "400", "--seed",
                               "1", "--solver", "lu", "--group-size", "2", "--quiet", "--output", output], 2, timeout=280)
        program.check(done.returncode == 0, f"exit {done.returncode}: {done.stderr}")
        with h5py.File(output) as f:
            program.check(f.attrs["status"] == "complete" and np.isfinite(f["rmse"][...]).all(),
                          "the file is not complete")
    program.finish()


main()
