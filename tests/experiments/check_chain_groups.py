"""norma chain over groups of ranks: equal bits for any group size and number of ranks, stopped and resumed
with another, and what groups cannot do."""
import os
import signal
import subprocess

import h5py

from program import ALL, MPIEXEC, NORMA, check, finish, folder, launch, some, wait_saved

SHARED = ["chain", "--width", "200,330", "--batch", "80,100", "--law", "pathwise", "--depth", 30,
          "--replicas", 2, "--seed", 11, "--observables",
          "soft_rank,stable_rank,tr_m3,tr_diag2,orthogonality_gap,sigma_min,singular_value,cosine,row_bias",
          "--stride", "1,sigma_min:7", "--quiet"]


def same(path, other, what):
    with h5py.File(path) as a, h5py.File(other) as b:
        check(set(a) == set(b), f"{what}: the same variables")
        for name in a:
            if isinstance(a[name], h5py.Dataset) and name not in ("seconds", "configuration"):
                check(a[name][()].tobytes() == b[name][()].tobytes(), f"{what}: {name}")


def test_bits(base, reference):
    for ranks, size in some(((2, 2), (3, 1), (3, 3), (4, 2), (5, 2)), 2):
        path = f"{base}/r{ranks}g{size}.h5"
        done = launch(SHARED + ["--group-size", size, "--output", path], ranks)
        check(done.returncode == 0, f"{ranks} ranks by {size}: {done.returncode} {done.stderr}")
        if done.returncode == 0:
            same(reference, path, f"{ranks} ranks by {size}")


def test_presets(base):
    """Other norms and distributions: the sum over rows is whole on every member."""
    for preset in some(("thesis3", "thesis5-post-ln", "vanilla-residual")):
        arguments = ["chain", "--preset", preset, "--width", 200, "--batch", 70, "--law", "pathwise", "--depth", 6, "--seed", 2,
                     "--weight-dist", "er-normal", "--record", "all", "--observables",
                     "fro2,log_norm,gram_12,numerical_rank", "--quiet"]
        for ranks in 1, 3:
            done = launch(arguments + ["--group-size", ranks, "--output", f"{base}/{preset}{ranks}.h5"],
                          ranks)
            check(done.returncode == 0, f"{preset} by {ranks}: {done.stderr}")
        same(f"{base}/{preset}1.h5", f"{base}/{preset}3.h5", preset)


def test_resume(base):
    """SIGTERM to one rank of one group in mid-run; another group size goes on with the same bits."""
    long = [str(a) for a in SHARED]
    long[long.index("30")] = "400"
    straight = f"{base}/straight.h5"
    check(launch(long + ["--output", straight], 2).returncode == 0, "a long run")
    path = f"{base}/stopped.h5"
    process = subprocess.Popen(MPIEXEC + ["-n", "3", NORMA] + long +
                               ["--group-size", "3", "--checkpoint-every", "0.005", "--output", path],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wait_saved(process, path)
    pids = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True,
                          text=True, check=False).stdout.split()
    if pids:
        os.kill(int(pids[-1]), signal.SIGTERM)
    _, text = process.communicate(timeout=200)
    check(process.returncode == 75, f"after a signal: exit 75, not {process.returncode}: {text}")
    done = launch(long + ["--resume", "--group-size", 2, "--output", path], 4)
    check(done.returncode == 0, f"resumed by groups of 2: {done.stderr}")
    same(straight, path, "stopped and resumed")


def test_refusals(base):
    for arguments, ranks, word in some(((["--width", 32], 2, "too small"),
                                   (["--width", 100, "--batch", 20], 2, "pathwise"),
                                   (["--width", 100, "--weight-dist", "orthogonal"], 2, "reflections"),
                                   (["--width", 100, "--observables", "log_sigma_min"], 2, "one rank"),
                                   (["--width", 100], 1, "groups of 2")), 2):
        done = launch(["chain", "--depth", 2, "--seed", 1, "--group-size", 2, "--output",
                       f"{base}/no.h5"] + arguments, ranks)
        check(done.returncode == 2 and word in done.stderr and done.stderr.count("error") == 1,
              f"{arguments}: {done.returncode} {done.stderr}")
        check(not os.path.exists(f"{base}/no.h5"), "nothing is left")


def main():
    with folder() as base:
        reference = f"{base}/reference.h5"
        check(launch(SHARED + ["--output", reference]).returncode == 0, "the reference")
        test_bits(base, reference)
        test_presets(base)
        if ALL:
            test_resume(base)
        test_refusals(base)
    finish()


main()
