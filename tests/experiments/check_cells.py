"""--cells I/N: the shares of a sweep hold every cell once and with the values of one run, under the cell's number;
an array task of slurm/sweep.sbatch computes its share; refusals."""
import h5py
import numpy as np

import program

SWEEPS = {
    "chain": ["chain", "--width", 8, "--depth", "6,20", "--batch", "4,8", "--observables", "soft_rank", "--replicas", 2,
              "--cell-streams", "independent"],
    "spectrum": ["spectrum", "--c-out", 2, "--c-in", 3, "--excess", "0,2,4", "--source-dist", "normal,uniform",
                 "--values", "all", "--cell-streams", "independent"],
    "reconstruct": ["reconstruct", "--c-out", 2, "--c-in", 2, "--excess", "0..3", "--save", "gamma"],
    "align": ["align", "--c-out", 3, "--c-in", 2, "--features", "2..5"],
    "gradient": ["gradient", "--width", 6, "--depth", "5,9", "--batch", "4,6"],
    "meanfield": ["meanfield", "--act", "relu,tanh,identity"],
}
# Subcommands whose second share is computed on two ranks: not reconstruct, whose last bits depend on the ranks of a group.
TOGETHER = program.some(("gradient", "chain", "spectrum", "align", "meanfield"))
TIMES = ("s", "1e9 s-1", "byte")


def run(command, output, *more, ranks=1):
    done = program.launch([*command, *([] if command[0] == "meanfield" else ["--seed", 7]), *more, "--output", output], ranks=ranks)
    program.check(done.returncode == 0, f"{command[0]} {more}: {done.stderr}")


def text(value):
    return value.decode() if isinstance(value, bytes) else value


def compare(name, whole, share, number, n_shares):
    with h5py.File(whole) as a, h5py.File(share) as b:
        n_cells = int(b.attrs["whole_sweep_cells"])
        expected = np.arange(number - 1, n_cells, n_shares)
        program.check(np.array_equal(b["cell"][...], expected), f"{name}: cells {b['cell'][...]}, expected {expected}")
        program.check(text(b.attrs["cells"]) == f"{number}/{n_shares}", f"{name}: {b.attrs['cells']}")
        compared = 0
        for key, value in b.items():
            if isinstance(value, h5py.Group) or value.shape[:1] != expected.shape or key == "cell":
                continue
            if "DIMENSION_LIST" not in value.attrs or text(value.attrs["units"]) in TIMES:
                continue
            if b[value.attrs["DIMENSION_LIST"][0][0]].name != "/cell":
                continue
            straight = a[key][...].reshape((n_cells,) + value.shape[1:])[expected]
            program.check(np.array_equal(straight, value[...], equal_nan=value.dtype.kind == "f"), f"{name}: {key} differs")
            compared += 1
        program.check(compared > 3, f"{name}: only {compared} variables by cell")
        if "cells" not in b:
            program.check("cells" not in a, f"{name}: no group of cells")
            return
        program.check(sorted(b["cells"]) == [f"{i:06d}" for i in expected], f"{name}: groups {list(b['cells'])}")

        def same(path, value):
            if isinstance(value, h5py.Dataset):
                program.check(np.array_equal(a["cells"][path][...], value[...], equal_nan=value.dtype.kind == "f"), f"{name}: /cells/{path} differs")

        b["cells"].visititems(same)


def main(folder):
    for name, command in SWEEPS.items():  # solutions depend on the ranks of a group in their last bits
        whole = f"{folder}/{name}.h5"
        run(command, whole)
        for number in program.some((2, 1, 3), 3 if name == "chain" else 1):
            share = f"{folder}/{name}-{number}.h5"
            run(command, share, "--cells", f"{number}/3", ranks=2 if number == 2 and name in TOGETHER else 1)
            compare(name, whole, share, number, 3)
    one = [*SWEEPS["chain"], "--seed", 7, "--output", f"{folder}/refused.h5"]
    for arguments, wanted in program.some((
            ([*one, "--cells", "0/3"], "such as 2/5"), ([*one, "--cells", "1/5"], "the sweep has 4 cells"),
            ([*one, "--cells", "4/3"], "such as 2/5"), ([*one, "--cells", "2"], "such as 2/5"),
            ([*one, "--cells=-1/3"], "such as 2/5"), (["chain", "--cells", "1/2"], "there is no sweep"), (["bench", "--cells", "1/2"], "there is no sweep"),
            (["gradient", "--width", 4, "--gain", "1,2", "--cells", "1/2"], "fitted along --gain")), 2):
        done = program.launch(arguments)
        program.check(done.returncode == 2 and wanted in done.stderr, f"{arguments}: {done.returncode} {done.stderr}")
    done = program.launch(["evaluate", f"{folder}/reconstruct-2.h5"])
    program.check(done.returncode == 2, f"evaluate of a random target: {done.returncode} {done.stderr}")


with program.folder() as scratch:
    main(scratch)
program.finish()
