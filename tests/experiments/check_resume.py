"""norma reconstruct stopped and resumed: killed at any moment, ended by signals and by its time limit; the
result is that of a straight run, and what was done is not done again."""
import os
import signal
import subprocess
import time

import h5py
import numpy as np

import program
from check_repeat import differing, variables

LAYERS = ["reconstruct", "--c-out", "10,12", "--c-in", 11, "--kernel", "3x3", "--replicas", 6, "--solver", "lu", "--width-rule",
          "min", "--residual", "inner", "--skip", "he-normal", "--save", "gamma,weights", "--seed", 3]
NETWORK = ["reconstruct", "--target", program.TRAINED, "--dataset", "fashion-mnist", "--samples", 12, "--layers", "0,5",
           "--overparam", "0.2,0.4", "--solver", "krylov", "--replicas", 4, "--bn-statistics", "dataset", "--save", "gamma",
           "--seed", 3]
ENVIRONMENT = {"OMP_NUM_THREADS": "1"}


def start(command, ranks, out, *more):
    words = [str(a) for a in [program.NORMA, *command, "--output", out, *more]]
    launcher = program.MPIEXEC + ["-n", str(ranks)] if ranks > 1 else []
    return subprocess.Popen(launcher + words, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                            env=dict(os.environ, **ENVIRONMENT))


def ranks_of(process):
    """Processes of norma under a launcher, or the process itself."""
    found = subprocess.run(["ps", "-o", "pid=,comm=", "--ppid", str(process.pid)], capture_output=True, text=True,
                           check=False).stdout.split("\n")
    children = [int(line.split()[0]) for line in found if line.split()[1:2] == ["norma"]]
    return children or [process.pid]


def straight(folder, name, command, ranks, size):
    out = os.path.join(folder, name)
    done = program.launch(command + ["--group-size", size, "--output", out], ranks, environment=ENVIRONMENT)
    program.check(done.returncode == 0, f"{name}: {done.stderr}")
    program.check(not os.path.exists(out + ".ckpt"), f"{name}: left a checkpoint")
    return variables(out), done.seconds


def finish(label, command, ranks, out, expected, size):
    """Resumes until it is done and compares; returns the goes it took."""
    done = program.launch(command + ["--group-size", size, "--output", out, "--resume"], ranks, environment=ENVIRONMENT)
    program.check(done.returncode == 0, f"{label}: {done.returncode} {done.stderr}")
    if done.returncode != 0:
        return
    off = differing(expected, variables(out))
    program.check(not off, f"{label}: {off} differ from the straight run's")
    program.check(not any(os.path.exists(out + end) for end in (".ckpt", ".part")), f"{label}: left a checkpoint or .part")
    print(f"{label}: {len(expected)} variables as in the straight run")


def journal_bytes(out):
    """Of the layers that are done."""
    folder = out + ".ckpt"
    names = [n for n in os.listdir(folder) if n.startswith("done")] if os.path.isdir(folder) else []
    return sum(os.path.getsize(os.path.join(folder, n)) for n in names)


def check_kills(folder, name, command, ranks, size, expected, seconds):
    rng = np.random.default_rng(len(name))
    for k in program.some(range(3)):
        out = os.path.join(folder, f"{name}_kill{k}.h5")
        goes = 0
        for _ in program.some(range(2)):
            before = journal_bytes(out)
            process = start(command, ranks, out, "--group-size", size, *(["--resume"] if goes else []))
            time.sleep(rng.uniform(0.3, 0.9) * seconds)
            # A killed mpirun would leave ranks that it is about to start.
            program.wait_for(process, lambda: ranks == 1 or ranks_of(process)[-1] != process.pid, "no ranks started")
            if process.poll() is None:
                os.kill(ranks_of(process)[-1], signal.SIGKILL)
            process.communicate(timeout=200)
            if os.path.exists(out):  # it was finished, or all but its last breath
                break
            goes += 1
            if journal_bytes(out) > before:  # layers of this run: it has laid out its file
                with h5py.File(out + ".part") as f:  # complete: killed between the last write and the rename
                    program.check(f.attrs["status"] in ("running", "complete"),
                                  f"{name} kill {k}: status {f.attrs['status']}")
        if not os.path.exists(out):
            finish(f"{name} killed {goes} times", command, ranks, out, expected, size)
        else:
            program.check(not differing(expected, variables(out)), f"{name} kill {k}: differs")


def check_signals(folder, name, command, size, expected, seconds):
    for how, ranks in program.some((("TERM", 2), ("USR1", 3), ("limit", 2))):
        out = os.path.join(folder, f"{name}_{how}.h5")
        limit = ["--time-limit", f"{max(0.55 * seconds, 1.5):.1f}s"] if how == "limit" else []
        process = start(command, ranks, out, "--group-size", size, *limit)
        if not limit:
            for _ in range(600):  # some layers are done
                time.sleep(0.05)
                journals = [n for n in os.listdir(out + ".ckpt")] if os.path.isdir(out + ".ckpt") else []
                if any(n.startswith("done") for n in journals) or process.poll() is not None:
                    break
            if process.poll() is None:
                os.kill(ranks_of(process)[-1], getattr(signal, "SIG" + how))
        _, errors = process.communicate(timeout=200)
        label = f"{name} stopped by {how}"
        if process.returncode == 0:
            print(f"{label}: was done before")
            continue
        program.check(process.returncode == 75 and errors.count("stopped by") == 1, f"{label}: {process.returncode} {errors}")
        with h5py.File(out) as f:
            done = int(np.isfinite(f["rmse"][...]).sum())
            program.check(f.attrs["status"] == "stopped", f"{label}: status {f.attrs['status']}")
            times = f["seconds"][...]
        print(f"{label} after {done} layers")
        if how == "TERM":
            refusing = 2 if program.ALL else 1
            other = program.launch(command + ["--group-size", size, "--output", out, "--resume", "--bn-eps", "1e-4"], refusing)
            program.check(other.returncode == 2 and "bn-eps" in other.stderr, f"{label}: another configuration: {other.stderr}")
            plain = program.launch(command + ["--group-size", size, "--output", out], refusing)
            program.check(plain.returncode == 2 and "status stopped" in plain.stderr and "--resume" in plain.stderr,
                          f"{label}: started anew: {plain.returncode} {plain.stderr}")
        finish(label, command, ranks, out, expected, size)
        with h5py.File(out) as f:
            again = f["seconds"][...]
        kept = np.isfinite(times)
        program.check(np.array_equal(times[kept], again[kept]), f"{label}: layers that were done were solved again")


def check_second(folder):
    """A second run with the output of a live one is refused and touches nothing of it."""
    out = os.path.join(folder, "taken.h5")
    process = start(NETWORK, 1, out)
    while not os.path.exists(out + ".part") and process.poll() is None:
        time.sleep(0.02)
    process.send_signal(signal.SIGSTOP)  # it shall not end meanwhile
    for more in program.some(([], ["--resume"], ["--force"])):
        other = program.launch(NETWORK + ["--output", out, *more], 2)
        program.check(other.returncode == 2 and "another run" in other.stderr,
                      f"second run {more}: {other.returncode} {other.stderr}")
    process.send_signal(signal.SIGCONT)
    _, text = process.communicate(timeout=200)
    program.check(process.returncode == 0, f"second run: the first goes on: {process.returncode} {text}")


def main():
    with program.folder() as folder:
        check_second(folder)
        for name, command, ranks, size in program.some((("layers", LAYERS, 2, 1), ("network", NETWORK, 2, 1),
                                                         ("wide", NETWORK, 2, 2))):
            expected, seconds = straight(folder, f"{name}.h5", command, ranks, size)
            check_kills(folder, name, command, ranks, size, expected, seconds)
            if size == 1:
                check_signals(folder, name, command, size, expected, seconds)
    program.finish()


main()
