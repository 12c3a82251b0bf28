"""norma chain as a job: equal bits on any number of ranks, after kills, signals and time limits."""
import os
import random
import resource
import signal
import subprocess
import sys
import time

import h5py
import numpy as np

from program import ALL, MPIEXEC, NORMA, check, finish, folder, launch, some, wait_begun, wait_for, wait_saved

TIMINGS = {"seconds"}
# Six blocks of eight replicas: some seconds on one rank.
LONG = ["chain", "--width", "16,24", "--depth", "24000", "--replicas", "24", "--seed", "5",
        "--observables", "soft_rank,stable_rank,tr_m3,tr_diag2,sigma_min", "--stride",
        "1,sigma_min:50", "--record", "log:10", "--quiet"]


def same(path, other, what):
    """Every variable but the timings has the same bytes, and both have the same variables."""
    with h5py.File(path) as a, h5py.File(other) as b:
        names = []
        a.visititems(lambda n, o: names.append(n) if isinstance(o, h5py.Dataset) else None)
        check(set(names) == set(b), f"{what}: the same variables")
        for name in names:
            if name in TIMINGS or name == "configuration":
                continue
            x, y = a[name][()], b[name][()]
            check(x.tobytes() == y.tobytes(), f"{what}: {name} has the same bytes")


def status(path):
    with h5py.File(path) as f:
        return f.attrs["status"]


def processor_seconds():
    """Of all processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def start(arguments, ranks):
    command = [NORMA] + arguments
    if ranks > 1:
        command = MPIEXEC + ["-n", str(ranks)] + command
    return subprocess.Popen(command, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True,
                            start_new_session=True)


def wait(process, what, limit=200):
    try:
        _, text = process.communicate(timeout=limit)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        sys.exit(f"HANG: {what}")
    return process.returncode, text


def children(pid):
    """Processes started by `pid`: the ranks of an mpirun."""
    out = subprocess.run(["ps", "-o", "pid=", "--ppid", str(pid)], capture_output=True, text=True,
                         check=False).stdout
    return [int(p) for p in out.split()]


def resume_until_done(arguments, path, ranks, what):
    done = launch(arguments + ["--resume", "--output", path], ranks)
    check(done.returncode == 0, f"{what}: the resumed run ends with 0, not {done.returncode}: "
                                f"{done.stderr}")
    check(status(path) == "complete", f"{what}: complete")
    check(not os.path.exists(path + ".ckpt"), f"{what}: the checkpoint is gone")


def test_ranks(base, reference):
    for ranks in some((2, 3, 4)):
        path = f"{base}/ranks{ranks}.h5"
        done = launch(LONG + ["--output", path], ranks)
        check(done.returncode == 0, f"{ranks} ranks: exit 0: {done.stderr}")
        same(reference, path, f"{ranks} ranks")


def test_kills(base, reference):
    """kill -9 of all ranks, or of one, at random moments."""
    dice = random.Random(7)
    path = f"{base}/kill.h5"
    arguments = LONG + ["--checkpoint-every", "0.002", "--output", path]
    resume = []
    for k in range(4):
        ranks = 1 + k % 3
        process = start(arguments + resume, ranks)
        time.sleep(0.25 + 0.7 * dice.random())
        ranks_of = children(process.pid) if ranks > 1 else []
        victims = ranks_of[-1:] if k % 2 else ranks_of + [process.pid]
        for pid in victims or [process.pid]:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        code, _ = wait(process, f"kill {k}")
        for pid in ranks_of:
            try:
                os.kill(pid, signal.SIGKILL)
            except ProcessLookupError:
                pass
        check(not os.path.exists(path) or code == 0, f"kill {k}: no file that looks finished")
        if os.path.exists(path):
            break
        resume = ["--resume"] if os.path.exists(path + ".ckpt") else []
    if not os.path.exists(path):
        resume_until_done(LONG, path, 2, "after kills")
    same(reference, path, "after kills")


def stop(arguments, path, ranks, what):
    """A run that a signal ends after it has saved something."""
    process = start(arguments + ["--output", path], ranks)
    wait_saved(process, path)
    process.send_signal(signal.SIGUSR1)
    code, text = wait(process, what)
    check(code == 75, f"{what}: stopped, exit 75, not {code}: {text}")
    check(status(path) == "stopped", f"{what}: the file says stopped")


def test_damage(base, reference):
    """A torn journal and a damaged newest state cost time, no bits."""
    path = f"{base}/damage.h5"
    stop(LONG + ["--checkpoint-every", "0.002"], path, 1, "damage")
    states = 0
    for name in os.listdir(path + ".ckpt"):
        full = f"{path}.ckpt/{name}"
        if name.startswith("done-"):
            with open(full, "ab") as f:
                f.write(b"torn" * 100)
        if name.endswith(".1"):
            states += 1
            with open(full, "r+b") as f:
                f.seek(200)
                f.write(b"\xff" * 8)
    resume_until_done(LONG, path, 2, "damage")
    same(reference, path, "damage")


def test_lost_records(base, reference):
    """Journals lose their second half, with records that saved states go on from: those blocks begin anew."""
    path = f"{base}/lost.h5"
    stop(LONG, path, 1, "lost records")
    journals = [f"{path}.ckpt/{name}" for name in os.listdir(path + ".ckpt") if name.startswith("done-")]
    check(any(os.path.getsize(name) for name in journals), "lost records: nothing was recorded")
    for name in journals:
        os.truncate(name, os.path.getsize(name) // 2)
    resume_until_done(LONG, path, 2, "lost records")
    same(reference, path, "lost records")


def test_all_damaged(base):
    """Every saved state of a task is damaged: the run says so and begins that task anew."""
    path = f"{base}/all_damaged.h5"
    arguments = [a for a in LONG if a != "--quiet"]
    stop(arguments, path, 1, "all damaged")
    states = [name for name in os.listdir(path + ".ckpt") if name.startswith("task-")]
    for name in states:
        with open(f"{path}.ckpt/{name}", "r+b") as f:
            f.seek(200)
            f.write(b"\xff" * 8)
    done = launch(arguments + ["--output", path, "--resume"])
    check(not states or "damaged" in done.stderr, f"all states damaged: a word about it: {done.stderr}")


def test_second_run(base, reference):
    """A second run with the output of a live one is refused and touches nothing of it."""
    path = f"{base}/taken.h5"
    process = start(LONG + ["--output", path], 1)
    wait_begun(process, path)
    process.send_signal(signal.SIGSTOP)  # it shall not end meanwhile
    for more in ([], ["--resume"], ["--force"], ["--force", "--resume"]):
        done = launch(LONG + ["--output", path] + more, 2)
        check(done.returncode == 2 and "another run" in done.stderr,
              f"second run {more}: {done.returncode} {done.stderr}")
        check(os.path.exists(path + ".ckpt/configuration"), f"second run {more}: the checkpoint stays")
    process.send_signal(signal.SIGUSR1)
    process.send_signal(signal.SIGCONT)
    code, text = wait(process, "second run")
    check(code == 75, f"second run: the first one stops with its state saved, not {code}: {text}")
    resume_until_done(LONG, path, 2, "second run")
    same(reference, path, "second run")


def test_signals(base, reference):
    for name, number, ranks in some((("TERM", signal.SIGTERM, 2), ("TERM", signal.SIGTERM, 1),
                                     ("USR1", signal.SIGUSR1, 3))):
        path = f"{base}/{name}{ranks}.h5"
        process = start(LONG + ["--output", path], ranks)
        wait_saved(process, path)
        if ranks == 2:  # one rank gets the signal, all stop
            os.kill(children(process.pid)[-1], number)
        else:
            process.send_signal(number)
        code, text = wait(process, name)
        check(code == 75, f"{name} on {ranks} ranks: exit 75, not {code}: {text}")
        if code == 75:
            check(status(path) == "stopped", f"{name}: the file says stopped")
            resume_until_done(LONG, path, 4 - ranks, name)
        same(reference, path, f"{name} on {ranks} ranks")


def used_by(process):
    """Seconds of processor time of a running process."""
    with open(f"/proc/{process.pid}/stat", encoding="utf-8") as f:
        user, system = f.read().rsplit(")", 1)[1].split()[11:13]
    return (int(user) + int(system)) / os.sysconf("SC_CLK_TCK")


def test_second_signal(base):
    """The echo of a signal is the same signal; another one later ends the run in mid-step."""
    path = f"{base}/second.h5"
    process = start(LONG + ["--output", path], 1)
    wait_begun(process, path)
    os.kill(process.pid, signal.SIGSTOP)  # both arrive together
    os.kill(process.pid, signal.SIGUSR1)
    os.kill(process.pid, signal.SIGTERM)
    os.kill(process.pid, signal.SIGCONT)
    code, text = wait(process, "echo of a signal")
    check(code == 75, f"echo of a signal: exit 75, not {code}: {text}")
    path = f"{base}/later.h5"
    process = start(["chain", "--width", "2500", "--observables", "sigma_min", "--depth", "100",
                     "--seed", "1", "--quiet", "--output", path], 1)
    wait_begun(process, path)
    begun = used_by(process)  # a signal in front of the first step would end the run there
    wait_for(process, lambda: used_by(process) > begun + 0.5, "second signal: no step is computed")
    os.kill(process.pid, signal.SIGUSR1)
    time.sleep(1.1)
    check(process.poll() is None, "second signal: a step takes longer than the wait")
    process.send_signal(signal.SIGTERM)
    code, text = wait(process, "second signal")
    check(code == 128 + signal.SIGTERM, f"second signal: exit {code}: {text}")
    check(not os.path.exists(path), "second signal: nothing that looks finished")


def test_time_limit(base, reference, seconds):
    """`seconds`: of one processor that the whole run takes; two cannot do it within a quarter."""
    path = f"{base}/limit.h5"
    done = launch(LONG + ["--time-limit", f"{seconds / 4:.2f}s", "--output", path], 2)
    check(done.returncode == 75, f"time limit: exit 75, not {done.returncode}: {done.stderr}")
    check(status(path) == "stopped", "time limit: the file says stopped")
    again = launch(LONG + ["--output", path])
    check(again.returncode == 2, "a stopped run is not begun anew without --force")
    resume_until_done(LONG, path, 1, "time limit")
    same(reference, path, "time limit")


def test_refusals(base):
    path = f"{base}/refuse.h5"
    stop(LONG, path, 1, "refusals")
    other = list(LONG)
    other[other.index("24000")] = "23999"  # a larger depth would extend the run
    done = launch(other + ["--resume", "--output", path], 2)
    check(done.returncode == 2 and "depth" in done.stderr and "23999" in done.stderr and
          done.stderr.count("error") == 1, f"another configuration is refused: {done.stderr}")
    done = launch(LONG + ["--force", "--output", path])
    check(done.returncode == 0, f"--force starts over: {done.stderr}")
    done = launch(LONG + ["--resume", "--output", path])
    check(done.returncode == 2 and "complete" in done.stderr, "a complete file is not resumed")
    # identical samples: a row without variance
    done = launch(["chain", "--preset", "thesis3", "--input", "degenerate", "--input-distinct", "1",
                   "--output", f"{base}/zero.h5", "--replicas", "20"], 3)
    check(done.returncode == 4 and "row" in done.stderr and done.stderr.count("error") == 1,
          f"no variance: exit 4 and one message, not {done.returncode}: {done.stderr}")
    check(not [n for n in os.listdir(base) if n.startswith("zero")], "no variance: nothing left")


def test_drawn_seed(base):
    """The seed that was drawn is the checkpoint's, not drawn again."""
    path = f"{base}/seed.h5"
    arguments = [a for a in LONG if a not in ("--seed", "5")]
    stop(arguments, path, 1, "drawn seed")
    resume_until_done(arguments, path, 2, "drawn seed")
    with h5py.File(path) as f:
        seed = int(f.attrs["seed"])
    straight = f"{base}/seed_straight.h5"
    check(launch(arguments + ["--seed", seed, "--output", straight], 2).returncode == 0, "seed: 0")
    same(path, straight, "drawn seed")


def main():
    started = time.monotonic()
    with folder() as base:
        reference = f"{base}/reference.h5"
        before = processor_seconds()
        straight = launch(LONG + ["--output", reference])
        seconds = processor_seconds() - before
        check(straight.returncode == 0, f"straight run: {straight.stderr}")
        with h5py.File(reference) as f:
            check(f["soft_rank"].dtype == np.int32, "counts are int32")
            check(f["soft_rank"].shape[:3] == (2, 24, 1), "dimensions of soft_rank")
            check(np.isfinite(f["stable_rank_mean"][()]).all(), "averages are finite")
            check((f["layer_sigma_min"][()] % 50 == 0).all(), "an observable's own layers")
        test_ranks(base, reference)
        test_signals(base, reference)
        if ALL:
            test_damage(base, reference)
            test_second_run(base, reference)
            test_refusals(base)
            test_kills(base, reference)
            test_lost_records(base, reference)
            test_all_damaged(base)
            test_second_signal(base)
            test_time_limit(base, reference, seconds)
            test_drawn_seed(base)
    print(f"{time.monotonic() - started:.0f} s, straight run {seconds:.1f} s of one processor")
    finish()


main()
