"""Shared by the tests that run the program: launching, expecting, small input files."""
import glob
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import time

import h5py
import numpy as np

NORMA = os.environ["NORMA"]
MPIEXEC = shlex.split(os.environ["NORMA_MPIEXEC"])
SOURCE = os.environ["NORMA_SOURCE"]
OWN_FOLDER = ["sh", os.path.join(SOURCE, "tests", "own_folder.sh"), "--stay"]
TRAINED = os.path.join(SOURCE, "experiments", "data", "fashion_cnn_w32.h5")

# With the argument `all` a test takes every step of a long walk, without it some of them.
ALL = "all" in sys.argv[1:]
# Ranks of runs where the fast test is content with two.
SEVERAL = 3 if ALL else 2

failures = []


def some(items, count=1):
    """With the argument `all` every item of a long walk, else the first ones."""
    return list(items) if ALL else list(items)[:count]


def launch(arguments, ranks=1, timeout=300, environment=None, peak=False, cwd=None):
    """Runs `norma ARGUMENTS` in the folder `cwd` and returns the finished process with .seconds added, with
    `peak` also its peak resident bytes; fails on a hang."""
    command = [NORMA] + [str(a) for a in arguments]
    if ranks > 1:
        command = MPIEXEC + ["-n", str(ranks)] + command
    # A rank that ends with an error leaves behind ranks that end too: mpirun need not wait for them.
    env = dict(os.environ, OMPI_MCA_odls_base_sigkill_timeout="0", **(environment or {}))
    if ranks == 1:
        # Runs of several threads of a test would share a folder of sessions, see own_folder.sh.
        command = [*OWN_FOLDER, *command]
    started = time.monotonic()
    if peak:
        command = [sys.executable, "-c", "import resource, subprocess, sys\n"
                   "code = subprocess.run(sys.argv[1:], check=False).returncode\n"
                   "print(resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)\n"
                   "sys.exit(code)"] + command
    try:
        done = subprocess.run(command, capture_output=True, text=True, timeout=timeout, env=env, cwd=cwd)
    except subprocess.TimeoutExpired:
        sys.exit(f"HANG after {timeout} s: {' '.join(command)}")
    done.seconds = time.monotonic() - started
    if peak:
        done.peak = 1024 * int(done.stdout.split()[-1])
    return done


def wait_for(process, condition, what, limit=200):
    """Waits until the condition holds or the process has ended."""
    end = time.monotonic() + limit
    while process.poll() is None and not condition():
        if time.monotonic() > end:
            process.kill()
            sys.exit(f"HANG: {what} within {limit} s")
        time.sleep(0.02)


def wait_begun(process, output):
    """Waits until all ranks of the run have begun its checkpoint, so that they handle signals."""
    wait_for(process, lambda: os.path.exists(output + ".ckpt/configuration"), f"{output} was not begun")


def wait_saved(process, output):
    """Asks a chain for its state until a task has saved one, so that there is something to resume."""
    wait_begun(process, output)

    def saved():
        if glob.glob(glob.escape(output) + ".ckpt/task-*"):
            return True
        process.send_signal(signal.SIGUSR2)
        return False

    wait_for(process, saved, f"{output} saved no state")


def stop_and_resume(arguments, ranks, environment):
    """Runs a command with its --output on one rank, stops it with SIGUSR1 once it has begun, and resumes it on `ranks`
    if it was not done by then."""
    words = [str(a) for a in arguments]
    process = subprocess.Popen([NORMA, *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=dict(os.environ, **environment))
    wait_begun(process, words[words.index("--output") + 1])
    if process.poll() is None:
        process.send_signal(signal.SIGUSR1)
    process.communicate(timeout=100)
    check(process.returncode in (0, 75), f"stopped: exit {process.returncode}")
    if process.returncode == 75:
        done = launch([*words, "--resume"], ranks, environment=environment)
        check(done.returncode == 0, f"resumed: {done.stderr}")


def check(condition, what):
    """Records a failed check; the test goes on and fails at its end."""
    if not condition:
        failures.append(what)
        print("FAILED:", what)


def finish():
    if failures:
        sys.exit(f"{len(failures)} checks failed")
    print("all checks passed")


def folder():
    """A temporary folder that goes away with the object."""
    return tempfile.TemporaryDirectory(prefix="norma_test_")


def write_target(path, layers, **root):
    """layers: list of dicts with weight, optional bias and bn_*, and group attributes."""
    with h5py.File(path, "w") as f:
        for name, value in root.items():
            f.attrs[name] = value
        for i, layer in enumerate(layers):
            g = f.create_group(f"layers/{i:03d}")
            for name, value in layer.items():
                if isinstance(value, np.ndarray):
                    g[name] = value
                else:
                    g.attrs[name] = value


def write_source(path, pairs):
    """pairs: list of (W1, W2)."""
    with h5py.File(path, "w") as f:
        for i, (w1, w2) in enumerate(pairs):
            f[f"source/{i:03d}/W1"] = w1
            f[f"source/{i:03d}/W2"] = w2
