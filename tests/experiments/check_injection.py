"""Walks every agreement of a small run: the k-th one is made to fail on one rank, for k = 0, 1, … until the
run succeeds. Each run must end in time, say so once, exit with 4, and leave no result behind."""
import os

import h5py

import program

RUN = ["reconstruct", "--target-dist", "he-normal", "--c-out", "2", "--c-in", "2", "--kernel", "1x1",
       "--source-dist", "orthogonal", "--seed", "1", "--quiet"]


def result_is_complete(path):
    with h5py.File(path) as f:
        return f.attrs["status"] == "complete"


def walk(ranks, failing, solver, step):
    """Every `step`-th agreement, from the first to beyond the last."""
    with program.folder() as folder:
        output = os.path.join(folder, "out.h5")
        k = 0
        n_late = 0
        while True:
            done = program.launch(RUN + ["--solver", solver, "--output", output], ranks, timeout=20,
                                  environment={"NORMA_TEST_FAIL": f"{k}@{failing}"})
            label = f"agreement {k} on rank {failing} of {ranks} ({solver})"
            if done.returncode == 0:
                program.check("injected" not in done.stderr, f"{label}: reported but not failed")
                program.check(result_is_complete(output), f"{label}: no complete output")
                break
            program.check(done.returncode == 4, f"{label}: exit {done.returncode}: {done.stderr}")
            errors = [line for line in done.stderr.splitlines() if line.strip()]
            program.check(len(errors) == 1 and "injected failure" in errors[0],
                          f"{label}: messages {errors}")
            # Once the finished file has its name, it stays; before, nothing may be left.
            if os.path.exists(output):
                program.check(result_is_complete(output), f"{label}: left an incomplete file")
                os.remove(output)
                n_late += 1
            program.check(not os.listdir(folder), f"{label}: left {os.listdir(folder)}")
            k += step
        print(f"agreements 0 to {k} walked in steps of {step} on {ranks} ranks, failing rank {failing}, "
              f"solver {solver}; {n_late} behind the last rename")
        program.check(k > 50, f"only {k} agreements seen")
        program.check(n_late <= 4, f"{n_late} failures behind the last rename")


def main():
    walk(2, 1, "lu", 1)
    walk(1, 0, "lu", 7)
    walk(3, 1, "krylov", 7)
    program.finish()


main()
