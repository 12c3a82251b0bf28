"""Threads that are not there: limits of OpenMP below the number that is asked for change no result beyond rounding, and
numbers of threads that make no sense are refused or clamped."""
import os

import h5py
import numpy as np

import program

RUNS = {"lu": ["reconstruct", "--c-out", 9, "--c-in", 9, "--solver", "lu"],
        "mixed": ["reconstruct", "--c-out", 9, "--c-in", 9, "--solver", "mixed"],
        "krylov": ["reconstruct", "--c-out", 4, "--c-in", 4, "--kernel", "3x3", "--solver", "krylov"],
        "network": ["reconstruct", "--target", program.TRAINED, "--dataset", "fashion-mnist", "--samples", 8, "--layers", "0",
                    "--bn-statistics", "dataset"],
        "chain": ["chain", "--width", 8, "--depth", 20]}
LIMITS = ({"OMP_NUM_THREADS": "2", "OMP_THREAD_LIMIT": "1"}, {"OMP_NUM_THREADS": "", "OMP_THREAD_LIMIT": "1"},
          {"OMP_NUM_THREADS": "3", "OMP_DYNAMIC": "true"}, {"OMP_NUM_THREADS": "3", "OMP_MAX_ACTIVE_LEVELS": "0"},
          {"OMP_NUM_THREADS": "2,2", "OMP_DYNAMIC": "true", "OMP_THREAD_LIMIT": "2"})


def attribute(path, name):
    with h5py.File(path) as f:
        return int(np.asarray(f.attrs[name]).item())


def check_limits(folder):
    for name, arguments in RUNS.items():
        for number, environment in enumerate(program.some(LIMITS, 2 if name == "lu" else 1) if name in ("lu", "mixed") else LIMITS[:1]):
            path = os.path.join(folder, f"{name}{number}.h5")
            done = program.launch(arguments + ["--seed", 1, "--output", path], environment=environment)
            program.check(done.returncode == 0, f"{name} with {environment}: exit {done.returncode}: {done.stderr}")
            if environment.get("OMP_THREAD_LIMIT") == "1" and done.returncode == 0:
                program.check(attribute(path, "threads") == 1, f"{name}: {attribute(path, 'threads')} threads")


def check_numbers(folder):
    for number, code, threads in program.some((("1e3", 2, None), ("99999999999", 0, None), ("3,1", 0, 3), ("", 0, None),
                                               ("zero", 2, None), ("0", 2, None), ("-2", 2, None), ("2 x", 2, None),
                                               ("100000", 0, None), ("99999999999999999999999", 0, None), ("2", 0, 2),
                                               (" 2 ", 0, 2)), 4):
        path = os.path.join(folder, "number.h5")
        done = program.launch(["reconstruct", "--c-out", 3, "--c-in", 3, "--seed", 1, "--force", "--output", path],
                              environment={"OMP_NUM_THREADS": number})
        program.check(done.returncode == code, f"OMP_NUM_THREADS='{number}': exit {done.returncode}: {done.stderr}")
        if code == 2:
            program.check(f"OMP_NUM_THREADS={number}" in done.stderr, f"'{number}': {done.stderr}")
            continue
        used = attribute(path, "threads")
        program.check(threads is None or used == threads, f"'{number}': {used} threads")
        if len(number) > 5:
            program.check(used <= (os.cpu_count() or 1) and "warning: OMP_NUM_THREADS=" in done.stderr,
                          f"'{number}': {used} threads: {done.stderr}")


def main():
    with program.folder() as folder:
        check_limits(folder)
        check_numbers(folder)
    program.finish()


main()
