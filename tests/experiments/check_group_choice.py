"""norma reconstruct --group-size auto: what it takes for small and large layers on few and many ranks; the numbers of a
group of that size, on any number of ranks; recorded, and kept by a resumed run; refused values."""
import os
import re

import h5py

import program
from check_repeat import differing, variables

SMALL = ["--c-out", 30, "--c-in", 10, "--seed", "1..40", "--solver", "lu"]
LARGE = ["--c-out", 64, "--c-in", 64, "--kernel", "3x3", "--width-rule", "min", "--excess", 0, "--seed", 1]
NETWORK = ["--target", program.TRAINED, "--overparam", 0.1, "--seed", 1]
IMAGES = ["--dataset", "fashion-mnist", "--samples", 100]
ALONE = {"OMP_NUM_THREADS": "1"}


def planned(arguments, ranks, memory=4096):
    done = program.launch(["plan", "reconstruct", *arguments, "--ranks", ranks, "--ranks-per-node", 32,
                           "--node-memory", memory])
    program.check(done.returncode == 0, f"plan on {ranks} ranks: {done.stderr}")
    return [int(size) for size in re.findall(r"^# group size (\d+)", done.stdout, re.M)]


def check_choice():
    """Systems that one rank solves at once are shared out; a single large one is solved by all; in between, groups."""
    for label, arguments, ranks, low, high in program.some((
            ("small systems", SMALL, 16, 1, 1), ("a large system", LARGE, 16, 16, 16), ("a network", NETWORK, 256, 2, 128),
            ("small systems", SMALL, 2, 1, 1), ("small systems", SMALL, 256, 1, 8), ("a large system", LARGE, 2, 2, 2),
            ("a large system", LARGE, 256, 256, 256), ("a network", NETWORK, 1, 1, 1),
            ("a network with images", NETWORK + IMAGES, 256, 2, 256)), 3):
        sizes = planned(arguments, ranks)
        print(f"{label} on {ranks} ranks: groups of {set(sizes)}")
        program.check(sizes and len(set(sizes)) == 1 and low <= sizes[0] <= high, f"{label} on {ranks} ranks: {sizes}")
    program.check(planned([*SMALL, "--group-size", 4], 16)[0] == 4, "a fixed size is not taken")
    # n = 8000, 0.5 GiB each: ranks that solve one each need 8 GiB.
    many = ["--c-out", 100, "--c-in", 80, "--solver", "lu", "--replicas", 64, "--seed", 1]
    roomy, tight = planned(many, 16)[0], planned(many, 16, 5)[0]
    print(f"64 systems of 8000 equations on 16 ranks: groups of {roomy} with memory, {tight} without")
    program.check(roomy == 1 and 2 <= tight <= 16, f"memory: {roomy}, {tight}")


def run(folder, name, arguments, ranks, *more, environment=ALONE):
    out = os.path.join(folder, name)
    done = program.launch(["reconstruct", *arguments, "--output", out, *more], ranks, environment=environment)
    return out, done


def size_of(path):
    with h5py.File(path) as f:
        return int(f.attrs["group_size"])


def check_run(folder):
    """A run has the numbers of --group-size with the size that it took."""
    fixed, done = run(folder, "fixed.h5", SMALL, 1, "--group-size", 1)
    program.check(done.returncode == 0, f"fixed: {done.stderr}")
    for ranks in program.some((2, 3)):
        out, done = run(folder, f"auto{ranks}.h5", SMALL, ranks, "--verbose")
        program.check(done.returncode == 0 and "group size 1 (auto)" in done.stderr, f"auto: {done.stderr}")
        program.check(size_of(out) == 1 and not differing(variables(fixed), variables(out)), f"{ranks} ranks differ")
    out, done = run(folder, "one.h5", ["--c-out", 8, "--c-in", 8, "--seed", 1], 2, "--verbose")
    program.check("all ranks solve each layer together" in done.stderr, f"one small layer: {done.stderr}")
    program.check(size_of(out) == 2, f"one small layer: groups of {size_of(out)}")
    alone, done = run(folder, "alone.h5", SMALL, 1, "--verbose")
    program.check(size_of(alone) == 1 and "group size" not in done.stderr, f"one rank: {done.stderr}")


def check_resume(folder):
    """The layers of a resumed run are solved by groups of the recorded size where there are so many ranks."""
    expected, done = run(folder, "straight.h5", SMALL, 2, "--group-size", 2)
    program.check(done.returncode == 0, f"straight: {done.stderr}")
    for ranks, size in program.some(((4, 2), (1, 1))):
        out = os.path.join(folder, f"resumed{ranks}.h5")
        journal = os.path.join(out + ".ckpt", "done-000000")
        for k in (500, 1000, 2000):  # fails behind the first layers
            _, done = run(folder, f"resumed{ranks}.h5", SMALL, 2, "--group-size", 2, "--force",
                          environment={**ALONE, "NORMA_TEST_FAIL": f"{k}@1"})
            if os.path.exists(journal):
                break
        program.check(done.returncode == 4 and os.path.exists(journal), f"no results to resume: {done.stderr}")
        _, done = run(folder, f"resumed{ranks}.h5", SMALL, ranks, "--resume", "--verbose")
        program.check(done.returncode == 0 and "resumes:" in done.stderr, f"resume on {ranks}: {done.stderr}")
        program.check(size_of(out) == size, f"resumed on {ranks} ranks: groups of {size_of(out)}")
        if ranks >= 2:
            program.check("that of the layers that are done" in done.stderr, done.stderr)
            off = differing(variables(expected), variables(out))
            program.check(not off, f"resumed on {ranks} ranks: {off} differ from the straight run")


def check_refused(folder):
    for value in program.some(("0", "1.5", "two", "1000001")):
        _, done = run(folder, "refused.h5", SMALL, 1, "--group-size", value)
        program.check(done.returncode == 2 and "auto, or a whole number of ranks" in done.stderr, done.stderr)


def main():
    with program.folder() as folder:
        check_choice()
        check_run(folder)
        check_resume(folder)
        check_refused(folder)
    program.finish()


main()
