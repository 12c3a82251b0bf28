"""Walks every agreement of a small run: the k-th one is made to fail on one rank, for k = 0, 1, … until the
run succeeds. Each run must end in time, say so once, exit with 4, and leave no result behind. Some of them are
walked, with the argument `all` every one."""
import concurrent.futures
import os
import shutil

import h5py
import numpy as np

import program

RUN = ["reconstruct", "--target-dist", "he-normal", "--c-out", "2", "--c-in", "2", "--kernel", "1x1",
       "--source-dist", "orthogonal", "--seed", "1", "--quiet"]


def result_is_complete(path):
    with h5py.File(path) as f:
        return f.attrs["status"] == "complete"


def attempt(ranks, failing, solver, k, more=()):
    """One run whose k-th agreement fails. Returns "failed", "late" (behind the last rename) or "done"."""
    with program.folder() as folder:
        output = os.path.join(folder, "out.h5")
        done = program.launch(RUN + ["--solver", solver, "--output", output, *more], ranks,
                              environment={"NORMA_TEST_FAIL": f"{k}@{failing}"})
        label = f"agreement {k} on rank {failing} of {ranks} ({solver})"
        if done.returncode == 0:
            program.check("injected" not in done.stderr, f"{label}: reported but not failed")
            program.check(result_is_complete(output), f"{label}: no complete output")
            return "done"
        program.check(done.returncode == 4, f"{label}: exit {done.returncode}: {done.stderr}")
        errors = [line for line in done.stderr.splitlines() if line.strip()]
        program.check(len(errors) == 1 and "injected failure" in errors[0],
                      f"{label}: messages {errors}")
        # Once the finished file has its name, it stays; before, nothing may be left but results that
        # were finished, in a .part that opens.
        late = os.path.exists(output)
        if late:
            program.check(result_is_complete(output), f"{label}: left an incomplete file")
            os.remove(output)
        if os.path.exists(output + ".part"):
            with h5py.File(output + ".part") as f:
                program.check(np.isfinite(f["rmse"][...]).all(),
                              f"{label}: left a .part without results")
            os.remove(output + ".part")
        kept = output + ".ckpt"
        if os.path.exists(kept):
            journals = [os.path.join(kept, n) for n in os.listdir(kept) if n.startswith("done")]
            program.check(any(os.path.getsize(n) for n in journals), f"{label}: left a checkpoint without results")
            shutil.rmtree(kept)
        program.check(not os.listdir(folder), f"{label}: left {os.listdir(folder)}")
        return "late" if late else "failed"


def walk(ranks, failing, solver, step, more=()):
    """Every `step`-th agreement, from the first to beyond the last, several runs at a time."""
    batch = 32 if step == 1 else 4 if program.ALL else 2
    outcomes = []
    with concurrent.futures.ThreadPoolExecutor(2) as pool:
        while set(outcomes[-min(batch, 4):]) != {"done"}:
            numbers = [step * (len(outcomes) + i) for i in range(batch)]
            outcomes += pool.map(lambda k: attempt(ranks, failing, solver, k, more), numbers)
    n = outcomes.index("done")
    n_late = outcomes.count("late")
    print(f"{n} agreements walked in steps of {step} on {ranks} ranks, failing rank {failing}, "
          f"solver {solver}; {n_late} behind the last rename")
    # Several groups take layers as they come, so that a rank's number of agreements differs from run to run.
    program.check(more or set(outcomes[n:]) == {"done"}, "an agreement fails behind the last one")
    program.check(n * step > 50, f"only {n} agreements seen")
    program.check(n_late <= 4, f"{n_late} failures behind the last rename")


def main():
    if not program.ALL:
        walk(2, 1, "lu", 101)
        walk(1, 0, "lu", 149)
        walk(3, 2, "krylov", 251, ["--replicas", "3", "--group-size", "1"])
    else:
        walk(2, 1, "lu", 1)
        walk(1, 0, "lu", 23)
        walk(3, 1, "krylov", 23)
        walk(3, 2, "lu", 23, ["--replicas", "3", "--group-size", "1"])
        walk(4, 1, "lu", 37, ["--replicas", "3", "--group-size", "2"])
    program.finish()


main()
