"""`norma bench`: every part yields figures that the table and the file hold alike, on any ranks; what cannot run is
refused before anything is measured. Rates themselves are no matter of a test."""
import os

import h5py
import numpy as np

import program

SMALL = ["--quick", "--seconds", "0.001s", "--size", 50, "--channels", 2]
PARTS = {"gemm": {"fma-double", "dgemm", "fma-single", "sgemm"}, "memory": {"memory"}, "assembly": {"assembly"}, "dense": {"lu", "mixed", "assembly-of-lu", "condition-of-lu"},
         "small": {"small-64", "small-100", "small-324", "small-1024", "svd"},
         "gradient": {"gradient-again", "gradient-kept"}, "krylov": {"krylov"}, "chain": {"chain-8", "chain-32", "chain-64", "chain-256"},
         "evaluation": {"evaluation-double", "evaluation-single"}, "hdf5": {"hdf5"},
         "random": {f"{law}-scalar" for law in ("words", "normal", "uniform", "he-normal", "orthogonal", "er-sign")}}

# These run always, the others with the argument `all`.
FAST = {1: ("memory", "dense", "random", "gradient", "hdf5"), 3: ("dense",)}


def names(variable):
    texts = variable.attrs["flag_meanings"]
    texts = (texts.decode() if isinstance(texts, bytes) else texts).split()
    return [texts[i] for i in variable[...]]


def check_file(path, printed):
    with h5py.File(path) as f:
        figures = names(f["figure"])
        rate, limit, ratio = (f[name][...] for name in ("rate", "limit_rate", "ratio"))
        program.check(figures == [row[0] for row in printed], f"{path}: {figures} are not the printed figures")
        program.check(names(f["limit"]) == [row[6] for row in printed], "limits differ from the printed ones")
        program.check((rate > 0).all() and (f["seconds"][...] > 0).all(), f"rates {rate}")
        alone = np.array([name == "none" for name in names(f["limit"])])
        program.check((np.isnan(limit) == alone).all(), f"limits {limit}")
        program.check(np.allclose(ratio[~alone], rate[~alone] / limit[~alone], rtol=1e-15), f"ratios {ratio}")
        program.check(np.allclose(rate, [float(row[2]) for row in printed], rtol=1e-3), "rates differ from the printed")


def check_runs(folder):
    for ranks in (1, 3):
        for part, expected in PARTS.items():
            if part not in FAST[ranks] and not program.ALL:
                continue
            output = os.path.join(folder, f"{part}{ranks}.h5")
            done = program.launch(["bench"] + SMALL + ["--only", part, "--output", output], ranks=ranks)
            program.check(done.returncode == 0, f"{part} on {ranks} ranks: exit {done.returncode}: {done.stderr}")
            rows = [line.split() for line in done.stdout.splitlines() if not line.startswith("#")]
            program.check(expected <= {row[0] for row in rows}, f"{part} on {ranks} ranks: {done.stdout}")
            check_file(output, rows)
    left = [name for name in os.listdir(folder) if not name.endswith(".h5")]
    program.check(not left, f"left behind: {left}")


def check_refusals(folder):
    output = os.path.join(folder, "dense1.h5")
    for arguments, code, text in ((["--size", 1000000], 3, "--size"), (["--only", "gem"], 2, "gemm"),
                                  (["--output", output], 2, "--force"), (["--seconds", "-1s"], 2, "--seconds")):
        done = program.launch(["bench"] + arguments + ([] if "--output" in arguments else
                                                       ["--output", os.path.join(folder, "no.h5")]))
        program.check(done.returncode == code and text in done.stderr and not done.stdout.strip(),
                      f"{arguments}: exit {done.returncode}, {done.stderr}")
    program.check(not os.path.exists(os.path.join(folder, "no.h5")), "a refused run left its output")
    planned = program.launch(["bench", "--dry-run", "--output", os.path.join(folder, "no.h5")])
    program.check(planned.returncode == 0 and "dense systems of" in planned.stdout, f"plan: {planned.stdout}")


def main():
    with program.folder() as folder:
        check_runs(folder)
        check_refusals(folder)
    program.finish()


main()
