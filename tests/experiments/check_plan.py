"""The announcements of `norma plan` against runs: the width that was asked for, and the threads of a rank."""
import os
import re

import h5py

import program


def planned(arguments, column):
    """A column of the first layer's row in a plan."""
    lines = program.launch(["plan", "reconstruct"] + arguments).stdout.splitlines()
    headings = lines[0].lstrip("#").split()
    return lines[1].split()[headings.index(column)]


def check_width():
    """c1 = ceil((1 + EPS) minimum), of the decimal EPS and not of its binary neighbour."""
    for c2, c0, overparam, expected in program.some(((10, 10, "0.07", 107), (25, 40, "0.0001", 1001), (10, 10, "0.1", 110),
                                                      (10, 10, "0.101", 111), (25, 40, "0.001", 1001))):
        got = planned(["--c-out", c2, "--c-in", c0, "--overparam", overparam, "--seed", 1], "c1")
        program.check(int(got) == expected, f"--overparam {overparam} of {c2 * c0}: {got} features")


def check_threads():
    """OMP_NUM_THREADS is obeyed, recorded, said, and warned about when it is too much."""
    with program.folder() as folder:
        output = os.path.join(folder, "out.h5")
        cores = len(os.sched_getaffinity(0))
        for threads in program.some((cores + 1, 1, cores), 2):
            done = program.launch(["reconstruct", "--c-out", 2, "--c-in", 2, "--output", output, "--force"],
                                  environment={"OMP_NUM_THREADS": str(threads)})
            with h5py.File(output) as f:
                program.check(f.attrs["threads"] == threads, f"{threads} threads, recorded {f.attrs['threads']}")
                program.check(f.attrs["cores_per_rank"] == cores, f"cores {f.attrs['cores_per_rank']}")
            program.check(f"1 rank on 1 node, {threads} thread" in done.stderr, f"not said: {done.stderr}")
            program.check(("warning" in done.stderr) == (threads > cores), f"warning: {done.stderr}")


FAST = {0: ((2, 18),), 2: ((1, 12),), 6: ((1, 12),)} # ranks and channels of the fast test, by the place of the case
UNITS = {"MiB": 2 ** 20, "GiB": 2 ** 30}


def check_memory():
    """The memory that a plan announces is within 10% of the peak that the run then reports. All solvers
    and the largest sizes are measured with the argument `all`."""
    cases = [("lu", "3x3", (12, 18, 24), []), ("mixed", "3x3", (12, 18, 24), []),
             ("krylov", "3x3", (12, 24, 32), ["--overparam", 0.1]), ("qr", "3x3", (10, 18, 19), ["--overparam", 0.1]),
             ("chebyshev", "3x3", (12, 24, 32), ["--overparam", 0.3]),
             ("svd", "1x1", (16, 24, 32), []), ("lbfgs", "3x3", (12, 24, 32), ["--overparam", 0.2]),
             ("lbfgs-svd", "1x1", (16, 24, 32), []),
             ("lbfgs-solved", "1x1", (16, 24, 32), ["--solver-precision", "single"])]
    with program.folder() as folder:
        output = os.path.join(folder, "out.h5")
        for number, (solver, kernel, channels, more) in enumerate(cases):
            for ranks, c in zip((1, 2, 2), channels) if program.ALL else FAST.get(number, ()):
                arguments = ["--c-out", c, "--c-in", c, "--kernel", kernel, "--seed", 1, "--solver", solver] + more
                plan = program.launch(["plan", "reconstruct"] + arguments + ["--ranks", ranks]).stdout
                number, unit = plan.split("memory a rank ")[1].split(",")[0].split()
                done = program.launch(["reconstruct"] + arguments + ["--output", output, "--force"], ranks,
                                      environment={"OMP_NUM_THREADS": "1"})
                program.check(done.returncode == 0, f"{solver} {c}: {done.stderr}")
                with h5py.File(output) as f:
                    ratio = float(number) * UNITS[unit] / float(f["peak_memory"][0])
                print(f"{solver}, {c} channels on {ranks} ranks: planned {number} {unit}, {ratio:.3f} of the peak")
                program.check(0.9 <= ratio <= 1.1, f"{solver} {c} on {ranks} ranks: {ratio}")


def check_nodes():
    """A case too large for the nodes it is planned for: the number of nodes named is enough, and the smallest."""
    arguments = ["plan", "reconstruct", "--c-out", 200, "--c-in", 200, "--solver", "lu", "--seed", 1,
                 "--ranks-per-node", 4, "--node-memory", 2]
    done = program.launch(arguments + ["--ranks", 8])
    program.check(done.returncode == 3, f"12 GiB on two nodes of 2 GiB: {done.returncode} {done.stderr}")
    found = re.search(r"it fits on (\d+) such nodes \((\d+) ranks\)", done.stderr)
    program.check(found is not None, f"no number of nodes: {done.stderr}")
    nodes, ranks = int(found[1]), int(found[2])
    program.check(ranks == 4 * nodes, f"{nodes} nodes of 4 ranks, {ranks} ranks")
    for n, code in ((ranks, 0), (ranks - 4, 3)):
        done = program.launch(arguments + ["--ranks", n])
        program.check(done.returncode == code, f"{n} ranks: {done.returncode} {done.stderr}")


def check_time():
    """Every layer is given a time, of all of them together the sum; times are of the run's own machine, so that only
    what does not depend on it is held: 64 times the operations of an LU take longer, and so do fewer ranks."""
    seconds = {}
    for c, ranks in ((40, 1), (80, 1), (80, 16)):
        seconds[c, ranks] = float(planned(["--c-out", c, "--c-in", c, "--solver", "lu", "--seed", 1, "--ranks", ranks],
                                          "seconds"))
    program.check(0 < seconds[40, 1] < seconds[80, 1], f"not longer with size: {seconds}")
    program.check(0 < seconds[80, 16] < seconds[80, 1], f"not shorter with ranks: {seconds}")


def main():
    check_width()
    check_nodes()
    check_time()
    check_memory()
    check_threads()
    program.finish()


main()
