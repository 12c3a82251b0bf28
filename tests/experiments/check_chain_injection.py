"""Walks the agreements of a small chain run: the k-th one fails on one rank. Each run must end in time, say
so once and exit with 4; what it leaves must be resumable to the bits of a run without failure."""
import os

import h5py

import program

RUN = ["chain", "--width", "4", "--depth", "30", "--replicas", "20", "--seed", "1", "--observables",
       "stable_rank", "--quiet"]


def values(path):
    with h5py.File(path) as f:
        program.check(f.attrs["status"] == "complete", f"{path} is complete")
        return {n: f[n][()].tobytes() for n in f if n not in ("seconds", "configuration")}


def walk(ranks, failing, step, reference):
    k = 0
    n_resumed = 0
    while True:
        with program.folder() as folder:
            output = os.path.join(folder, "out.h5")
            done = program.launch(RUN + ["--output", output], ranks,
                                  environment={"NORMA_TEST_FAIL": f"{k}@{failing}"})
            label = f"agreement {k} on rank {failing} of {ranks}"
            if done.returncode == 0:
                break
            program.check(done.returncode == 4, f"{label}: exit {done.returncode}: {done.stderr}")
            errors = [line for line in done.stderr.splitlines() if line.strip()]
            program.check(len(errors) == 1 and "injected failure" in errors[0],
                          f"{label}: messages {errors}")
            left = set(os.listdir(folder))
            if "out.h5" not in left:
                program.check(left <= {"out.h5.ckpt", "out.h5.part"}, f"{label}: left {left}")
                resumed = "out.h5.ckpt" in left
                n_resumed += resumed
                again = program.launch(RUN + ["--output", output] + ["--resume"] * resumed, 1)
                program.check(again.returncode == 0, f"{label}: then {again.stderr}")
            program.check(values(output) == reference, f"{label}: other values")
            k += step
    print(f"agreements 0 to {k} walked in steps of {step} on {ranks} ranks, {n_resumed} resumed")
    program.check(k > 50, f"only {k} agreements seen")
    return n_resumed


def main():
    with program.folder() as folder:
        path = os.path.join(folder, "reference.h5")
        program.check(program.launch(RUN + ["--output", path]).returncode == 0, "reference")
        reference = values(path)
    n_resumed = walk(2, 1, 7 if program.ALL else 37, reference)
    if program.ALL:
        n_resumed += walk(3, 0, 31, reference)
    program.check(n_resumed > 0, "nothing was ever resumed")
    program.finish()


main()
