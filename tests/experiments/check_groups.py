"""Layers, replicas and cells over groups of ranks: at a fixed group size every variable but timings has the same bits
for any number of groups, ranks in none included, and those of a run by all ranks; failures end a run as usual."""
import os

import h5py
import numpy as np

import program
from check_repeat import differing, variables

NETWORK = ["--target", program.TRAINED, "--dataset", "fashion-mnist", "--samples", 5, "--layers", "5,0", "--replicas", 2,
           "--overparam", 0.2, "--solver", "krylov", "--bn-statistics", "dataset", "--save", "gamma"]
LAYERS = ["--c-out", "3,6", "--c-in", 5, "--kernel", "3x3", "--replicas", 3, "--solver", "lu,krylov,svd", "--overparam", 0.1,
          "--width-rule", "min", "--residual", "inner", "--skip", "he-normal", "--target-per-replica",
          "--save", "gamma,weights"]


def run(folder, label, arguments, ranks, size):
    out = os.path.join(folder, "out.h5")
    done = program.launch(["reconstruct", *arguments, "--seed", 5, "--force", "--output", out, "--group-size", size], ranks,
                          environment={"OMP_NUM_THREADS": "1"})
    program.check(done.returncode == 0, f"{label}: {done.stderr}")
    return (variables(out), done.stdout) if done.returncode == 0 else ({}, "")


def check_bits(folder):
    for what, arguments, lines in (("network", NETWORK, 4), ("layers", LAYERS, 18)):
        sizes = ((1, (2, 3, 4)), (2, (4, 5)))
        if not program.ALL:
            sizes = ((1, (2,)),) if what == "network" else ((2, (4,)),)
        for size, tried in sizes:
            expected, _ = run(folder, f"{what} by all of {size} ranks", arguments, size, size)
            program.check(not np.isnan(expected["rmse"]).all(), f"{what}: nothing written")
            for ranks in tried:
                label = f"{what}, {ranks} ranks in groups of {size}"
                found, table = run(folder, label, arguments, ranks, size)
                off = differing(expected, found)
                print(f"{label}: {len(found)} variables, {len(off)} differ from those of {size} ranks")
                program.check(len(found) > 30 and not off, f"{label}: {off} differ")
                program.check(sum(line[:1] == " " for line in table.splitlines()) == lines, f"{label}: {table}")


def check_failure(folder):
    """A cell that cannot be solved: one message, naming it, and what was finished stays."""
    out, source = os.path.join(folder, "fail.h5"), os.path.join(folder, "pair.h5")
    rng = np.random.default_rng(3)
    w1, w2 = rng.standard_normal((4, 2)), rng.standard_normal((2, 4))
    w1[3], w2[:, 3] = w1[2], w2[:, 2]
    program.write_source(source, [(w1, w2)])
    command = ["reconstruct", "--c-out", 2, "--c-in", 2, "--source", source, "--seed", "1,2", "--solver", "lu",
               "--output", out, "--quiet"]
    for ranks, size in program.some(((3, 2), (2, 1), (4, 2))):
        done = program.launch(command + ["--group-size", size], ranks)
        label = f"singular on {ranks} ranks in groups of {size}"
        errors = [line for line in done.stderr.splitlines() if line.strip()]
        program.check(done.returncode == 4 and len(errors) == 1 and "seed=" in errors[0] and "singular" in errors[0],
                      f"{label}: {done.returncode} {errors}")
        program.check(not os.path.exists(out), f"{label}: left a result")
    done = program.launch(["reconstruct", "--c-out", 2, "--c-in", 2, "--group-size", 4, "--output", out], 2)
    program.check(done.returncode == 2 and "groups of 4 ranks cannot be made from 2" in done.stderr, done.stderr)


def main():
    with program.folder() as folder:
        check_bits(folder)
        check_failure(folder)
    program.finish()


if __name__ == "__main__":
    main()
