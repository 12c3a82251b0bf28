"""What `norma plan` announces against what runs do: the width that was asked for, and the threads of a rank."""
import os

import h5py

import program


def planned(arguments, column):
    """A column of the first layer's row in a plan."""
    lines = program.launch(["plan", "reconstruct"] + arguments).stdout.splitlines()
    headings = lines[0].lstrip("#").split()
    return lines[1].split()[headings.index(column)]


def check_width():
    """c1 = ceil((1 + EPS) minimum), of the decimal EPS and not of its binary neighbour."""
    for c2, c0, overparam, expected in ((10, 10, "0.1", 110), (10, 10, "0.07", 107), (10, 10, "0.101", 111),
                                        (25, 40, "0.001", 1001), (25, 40, "0.0001", 1001)):
        got = planned(["--c-out", c2, "--c-in", c0, "--overparam", overparam, "--seed", 1], "c1")
        program.check(int(got) == expected, f"--overparam {overparam} of {c2 * c0}: {got} features")


def check_threads():
    """OMP_NUM_THREADS is obeyed, recorded, said, and warned about when it is too much."""
    with program.folder() as folder:
        output = os.path.join(folder, "out.h5")
        cores = len(os.sched_getaffinity(0))
        for threads in (1, cores, cores + 1):
            done = program.launch(["reconstruct", "--c-out", 2, "--c-in", 2, "--output", output, "--force"],
                                  environment={"OMP_NUM_THREADS": str(threads)})
            with h5py.File(output) as f:
                program.check(f.attrs["threads"] == threads, f"{threads} threads, recorded {f.attrs['threads']}")
                program.check(f.attrs["cores_per_rank"] == cores, f"cores {f.attrs['cores_per_rank']}")
            program.check(f"1 rank on 1 node, {threads} thread" in done.stderr, f"not said: {done.stderr}")
            program.check(("warning" in done.stderr) == (threads > cores), f"warning: {done.stderr}")


def main():
    check_width()
    check_threads()
    program.finish()


main()
