"""Slow BLAS kernels: a program under which OpenBLAS takes those of the oldest processors starts itself again with better
ones, alone and under mpirun; what the file, the log and a resume make of the kernels."""
import os

import h5py
import numpy as np

import program

SHIM = os.environ["NORMA_TEST_UNKNOWN_PROCESSOR"]
RUN = ["reconstruct", "--c-out", 3, "--c-in", 3, "--seed", 1, "--force"]
FREE = {"LD_PRELOAD": SHIM, "OPENBLAS_CORETYPE": "", "NORMA_NO_REEXEC": "",
        "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0"}
KEPT = dict(FREE, NORMA_NO_REEXEC="1")
OLD = "Prescott"


def kernel_of(path):
    with h5py.File(path) as f:
        return f.attrs["blas_kernel"]


def run(folder, name, environment, ranks=1, flags=("--verbose",), code=0):
    path = os.path.join(folder, name + ".h5")
    done = program.launch(RUN + list(flags) + ["--output", path], ranks=ranks, environment=environment)
    program.check(done.returncode == code, f"{name}: exit {done.returncode}: {done.stderr}")
    return done.stderr, path


def check_restart(folder, better):
    for ranks in (1, 2):
        said, path = run(folder, f"again{ranks}", FREE, ranks)
        lines = [line for line in said.splitlines() if "started itself again" in line]
        program.check(len(lines) == 1 and OLD in lines[0] and f"OPENBLAS_CORETYPE={better}" in lines[0],
                      f"{ranks} ranks: {said}")
        program.check(kernel_of(path) == better, f"{ranks} ranks: kernels {kernel_of(path)}")
    said, _ = run(folder, "silent", FREE, flags=())
    program.check("OpenBLAS" not in said, f"without --verbose: {said}")


def check_no_restart(folder, better):
    said, path = run(folder, "kept", KEPT, flags=())
    lines = [line for line in said.splitlines() if "warning" in line]
    program.check(len(lines) == 1 and f"OPENBLAS_CORETYPE={better}" in lines[0], f"NORMA_NO_REEXEC: {said}")
    program.check(kernel_of(path) == OLD, f"NORMA_NO_REEXEC: kernels {kernel_of(path)}")
    said, path = run(folder, "asked", dict(FREE, OPENBLAS_CORETYPE=OLD), flags=())
    program.check("OpenBLAS" not in said and kernel_of(path) == OLD, f"OPENBLAS_CORETYPE={OLD}: {said}")


def check_resume(folder):
    """A run that stops at once is resumed under other kernels, with a warning and without."""
    deep = ["chain", "--width", 8, "--seed", 1, "--depth", 1000000, "--record", "none", "--time-limit", "1s",
            "--replicas", 50, "--output", os.path.join(folder, "resumed.h5")]
    done = program.launch(deep, environment=KEPT)
    program.check(done.returncode == 75, f"time limit: exit {done.returncode}: {done.stderr}")
    for environment, warned in ((FREE, True), (KEPT, False)):
        done = program.launch(deep + ["--resume"], environment=environment)
        program.check(done.returncode == 75, f"resume: exit {done.returncode}: {done.stderr}")
        program.check((f"begun with BLAS kernels {OLD}" in done.stderr) == warned, f"resume: {done.stderr}")


def check_input(folder):
    """Sources and results that other kernels made."""
    rng = np.random.default_rng(1)
    source = os.path.join(folder, "source.h5")
    program.write_source(source, [(rng.standard_normal((9, 3, 1, 1)), rng.standard_normal((3, 9, 1, 1)))])
    with h5py.File(source, "r+") as f:
        f.attrs["blas_kernel"] = OLD
    made = os.path.join(folder, "made.h5")
    network = ["reconstruct", "--target", program.TRAINED, "--dataset", "fashion-mnist", "--samples", 4, "--layers", 0,
               "--save", "gamma", "--seed", 1, "--output", made]
    done = program.launch(network, environment=KEPT)
    program.check(done.returncode == 0, f"network: {done.returncode} {done.stderr}")
    for environment, warned in ((FREE, True), (KEPT, False)):
        said, _ = run(folder, "user", environment, flags=("--source", source))
        program.check(said.count(f"was made with BLAS kernels {OLD}") == warned, f"source: {said}")
        done = program.launch(["evaluate", made], environment=environment)
        program.check(done.returncode == 0, f"evaluate: {done.returncode} {done.stderr}")
        program.check(done.stderr.count(f"was made with BLAS kernels {OLD}") == warned, f"evaluate: {done.stderr}")


def main():
    with program.folder() as folder:
        said, _ = run(folder, "first", FREE)
        lines = [line for line in said.splitlines() if "started itself again" in line]
        if not lines:
            print("this processor has no better kernels than the oldest, or OpenBLAS has none")
            raise SystemExit(77)
        better = lines[0].rsplit("=", 1)[1]
        check_restart(folder, better)
        check_no_restart(folder, better)
        check_resume(folder)
        check_input(folder)
    program.finish()


main()
