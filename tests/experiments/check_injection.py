"""Walks every agreement of a small run: the k-th one is made to fail on one rank, for k = 0, 1, … until the
run succeeds. Each run must end in time, say so once, exit with 4, and leave no result behind."""
import os

import program

RUN = ["reconstruct", "--target-dist", "he-normal", "--c-out", "2", "--c-in", "2", "--kernel", "1x1",
       "--source-dist", "orthogonal", "--seed", "1", "--quiet"]


def walk(ranks, failing, solver):
    with program.folder() as folder:
        output = os.path.join(folder, "out.h5")
        k = 0
        while True:
            done = program.launch(RUN + ["--solver", solver, "--output", output], ranks, timeout=20,
                                  environment={"NORMA_TEST_FAIL": f"{k}@{failing}"})
            label = f"agreement {k} on rank {failing} of {ranks} ({solver})"
            if done.returncode == 0:
                program.check("injected" not in done.stderr, f"{label}: reported but not failed")
                program.check(os.path.exists(output), f"{label}: no output")
                break
            program.check(done.returncode == 4, f"{label}: exit {done.returncode}: {done.stderr}")
            errors = [line for line in done.stderr.splitlines() if line.strip()]
            program.check(len(errors) == 1 and "injected failure" in errors[0],
                          f"{label}: messages {errors}")
            program.check(not os.path.exists(output), f"{label}: left {output}")
            k += 1
        print(f"{k} agreements walked on {ranks} ranks, failing rank {failing}, solver {solver}")
        program.check(k > 10, f"only {k} agreements seen")


def main():
    walk(1, 0, "lu")
    walk(2, 1, "lu")
    walk(3, 1, "krylov")
    program.finish()


main()
