"""Runs that grow: --resume with more replicas, a longer sweep or a larger depth gives the file of one straight run, and
computes what is new only; the file that is extended stays until the new one is complete."""
import glob
import os
import shutil
import signal
import struct
import subprocess
import time

import h5py

import program
from check_repeat import differing, variables

ENVIRONMENT = {"OMP_NUM_THREADS": "1"}
DEEP = ["reconstruct", "--c-out", 3, "--c-in", 4, "--construction", "deep", "--depth", 3]
NETWORK = ["reconstruct", "--target", program.TRAINED, "--dataset", "fashion-mnist", "--samples", 4, "--layers", "0,5",
           "--overparam", 0.2, "--group-size", 1]
CHAIN = ["chain", "--width", 8, "--batch", 6, "--depth", 40]

# A command, its options in the smaller run and in the larger one.
GROWN = [
    (CHAIN[:-2], ["--depth", 40, "--replicas", 3], ["--depth", 90, "--replicas", 5]),
    (NETWORK, ["--replicas", 1], ["--replicas", 2]),
    (["gradient", "--width", 6], ["--depth", "5,9", "--replicas", 2], ["--depth", "5,9,12", "--replicas", 3]),
    (["chain", "--width", 8, "--record", "every:4", "--stride", "1,singular_value:7", "--observables", "stable_rank,singular_value",
      "--batch", "4,8"], ["--depth", 30], ["--depth", 47]),
    (["reconstruct", "--c-out", 2, "--c-in", 2, "--save", "gamma,state"], ["--excess", "0,1"],
     ["--excess", "2,0,1", "--source-dist", "he-normal,uniform", "--replicas", 2]),
    (["spectrum", "--c-out", 2, "--c-in", 3], ["--excess", "0,2", "--replicas", 2], ["--excess", "0,1,2", "--replicas", 3]),
    (["align", "--c-out", 3, "--c-in", 2], ["--features", 3, "--replicas", 2], ["--features", "2,3,4", "--replicas", 3]),
    (DEEP, ["--replicas", 1], ["--replicas", 2]),
    (CHAIN, ["--replicas", 3], ["--replicas", 5]),
    (["chain", "--width", 8, "--observables", "all"], ["--depth", 30, "--batch", "4,8"],
     ["--depth", "30,50", "--batch", "2,4,8", "--replicas", 2]),
    (["chain", "--width", 70, "--batch", 70, "--precision", "single", "--observables", "log_norm"], ["--depth", 9],
     ["--depth", 20, "--replicas", 2]),
    (["chain", "--width", 8, "--observables", "lyapunov", "--burn-in", 5, "--record", "none"], ["--depth", 9], ["--depth", 30]),
]


def run(command, out, *more, ranks=1, expect=0, seed=7):
    save = [] if "--save" in command else ["--save", "state"]
    words = [*command, *save, *more, *(["--seed", seed] if seed is not None else []), "--output", out]
    done = program.launch(words, ranks, environment=ENVIRONMENT)
    program.check(done.returncode == expect, f"{command} {more}: {done.returncode} {done.stderr}")
    return done


def expect_equal(straight, grown, what):
    done = program.launch(["diff", straight, grown])
    program.check(done.returncode == 0, f"{what}: {done.stdout}{done.stderr}")


def leftovers(out):
    return sorted(name[len(out):] for name in glob.glob(glob.escape(out) + ".*"))


def lose_result(out):
    """As if the run had been killed before it was complete."""
    os.remove(out)


def lose_half(out):
    """As if it had been killed half-way, while it wrote."""
    os.remove(out)
    for journal in glob.glob(glob.escape(out) + ".ckpt/done-*"):
        os.truncate(journal, os.path.getsize(journal) // 2)


def lose_states(out):
    """As if it had not kept its states: replicas begin anew."""
    for state in glob.glob(glob.escape(out) + ".ckpt/task-*"):
        os.remove(state)


def half_exchanged(out):
    """As if a run that extends it had been killed while both checkpoints change places."""
    os.rename(out + ".ckpt", out + ".ckpt.old")
    shutil.copytree(out + ".ckpt.old", out + ".ckpt.grown")


def check_grown(folder):
    for i, (command, before, after) in enumerate(program.some(GROWN, 4)):
        straight = os.path.join(folder, f"straight{i}.h5")
        run(command, straight, *after)
        damages = [half_exchanged, lose_result, lose_half, lose_states, None]
        for damage in damages if program.ALL else [damages[i % len(damages)]]:
            what = f"{command} {before} -> {after} {damage.__name__ if damage else ''}"
            out = os.path.join(folder, "grown.h5")
            run(command, out, *before)
            if damage:
                damage(out)
            run(command, out, *after, "--resume", ranks=2 if i % 4 == 0 else 1, seed=None)
            expect_equal(straight, out, what)
            program.check(leftovers(out) == [".ckpt"], f"{what}: left {leftovers(out)}")
            shutil.rmtree(out + ".ckpt")
            os.remove(out)
        print(f"{command[0]} {before} -> {after}")


def pieces(out):
    """(replica, after, upto) of all records in the journals."""
    found = []
    for path in glob.glob(glob.escape(out) + ".ckpt/done-*"):
        with open(path, "rb") as f:
            data = f.read()
        at = 0
        while at < len(data):
            _, task, sequence, size, _ = struct.unpack_from("<5q", data, at)
            if sequence == 1:
                _, count, _, after, upto = struct.unpack_from("<5q", data, at + 40)
                found += [(task + r, after, upto) for r in range(count)]
            at += 40 + size
    return sorted(found)


def check_only_new(folder):
    """Of replicas that are done nothing is computed again, and deeper ones go on from their last layer."""
    out = os.path.join(folder, "new.h5")
    run(CHAIN, out, "--replicas", 2)
    before = pieces(out)
    with h5py.File(out) as f:
        seconds = f["seconds"][...]
    run(CHAIN, out, "--replicas", 4, "--resume")
    with h5py.File(out) as f:
        program.check((f["seconds"][:2] == seconds).all(), "replicas that were done were computed again")
    program.check([p for p in pieces(out) if p[0] < 2] == before, f"{before} became {pieces(out)}")
    run([*CHAIN[:-2], "--depth", 100], out, "--replicas", 4, "--resume")
    again = [p for p in pieces(out) if p[1] < 40 < p[2]]
    program.check(not again and len(pieces(out)) == 8, f"not gone on from layer 40: {pieces(out)}")
    done = run([*CHAIN[:-2], "--depth", 100], out, "--replicas", 6, "--resume")
    program.check("4 -> 6" in done.stderr, f"no message: {done.stderr}")


def check_refused(folder):
    out = os.path.join(folder, "kept.h5")
    run(CHAIN, out, "--replicas", 3)
    expected = variables(out)
    other = os.path.join(folder, "other.h5")
    shallow = CHAIN[:-2]
    wrong = [
        (CHAIN, ["--replicas", 3], "not larger"),
        (CHAIN, ["--replicas", 2], "replicas"),
        (CHAIN, ["--replicas", 4, "--tau", 0.25, "--gain-exponent", 1], "differs in --"),
        (shallow, ["--replicas", 3, "--depth", 39], "depth"),
        (shallow, ["--replicas", 3, "--depth", "39,40"], "above 40"),
        (shallow, ["--replicas", 4, "--depth", "50,60"], "depth"),
        (CHAIN, ["--replicas", 4, "--replica-offset", 3], "replica-offset"),
    ]
    for command, more, text in wrong:
        done = run(command, out, *more, "--resume", expect=2)
        program.check(text in done.stderr, f"{more}: {done.stderr}")
    program.check(not differing(expected, variables(out)), "a refusal changed the file")
    os.rename(out, other)  # the checkpoint alone: a run that was killed
    done = run(CHAIN, out, "--replicas", 4, "--tau", 0.25, "--resume", "--gain-exponent", 1, expect=2)
    program.check("tau was" in done.stderr and "gain-exponent was" in done.stderr and "replicas" not in done.stderr,
                  f"not all is listed: {done.stderr}")
    shutil.rmtree(out + ".ckpt")
    done = run(CHAIN, other, "--replicas", 4, "--resume", expect=2)
    program.check("--save state" in done.stderr and "norma merge" in done.stderr, f"without a state: {done.stderr}")
    for command, before, after, text in [
            (["chain", "--width", 4, "--observables", "lyapunov"], ["--depth", 9], ["--depth", 20], "--burn-in"),
            (["chain", "--depth", 5, "--cell-streams", "independent"], ["--width", "4,8", "--batch", "2,3"],
             ["--width", "4,8", "--batch", "2,3,4"], "random numbers depend"),
            (["chain", "--depth", 5, "--cells", "1/2", "--width", "4,8"], ["--batch", "2,3"], ["--batch", "2,3,4"], "has other cells"),
            (["spectrum", "--c-out", 2, "--c-in", 3], ["--features", 8], ["--features", "8,9"], "cannot be extended")]:
        out = os.path.join(folder, f"{command[1]}{len(text)}.h5")
        run(command, out, *before)
        done = run(command, out, *after, "--resume", expect=2)
        program.check(text in done.stderr, f"{command} {after}: {done.stderr}")
        program.check(leftovers(out) == [".ckpt"], f"{command}: left {leftovers(out)}")
    out = os.path.join(folder, "share.h5")
    run(["chain", "--depth", 5, "--cells", "1/2", "--width", "4,8"], out)
    run(["chain", "--depth", 5, "--cells", "1/2", "--width", "4,8"], out, "--replicas", 2, "--resume")


def check_stopped(folder):
    """An extension that stops, or is killed at any moment, leaves what was complete."""
    out, straight = os.path.join(folder, "stopped.h5"), os.path.join(folder, "long.h5")
    short = ["chain", "--width", 16, "--batch", 8, "--depth", 2000]
    long = [*short[:-1], 20000]
    run(short, out, "--replicas", 2)
    run(long, straight, "--replicas", 3)
    before = variables(out)
    done = run(long, out, "--replicas", 3, "--resume", "--time-limit", "0.05s", expect=75)
    program.check("complete before" in done.stderr, f"stopped: {done.stderr}")
    program.check(not differing(before, variables(out)), "a stop changed the complete file")
    for k in range(12 if program.ALL else 2):
        words = [program.NORMA, *long, "--replicas", 3, "--seed", 7, "--resume", "--save", "state", "--output", out]
        if os.path.exists(out + ".part"):  # the last one's
            os.remove(out + ".part")
        process = subprocess.Popen([str(w) for w in words], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                                   env=dict(os.environ, **ENVIRONMENT))
        program.wait_for(process, lambda: os.path.exists(out + ".part"), "the extension did not begin")
        time.sleep(0.03 * k)
        process.send_signal(signal.SIGKILL)
        process.wait()
        with h5py.File(out) as f:
            program.check(f.attrs["status"] == "complete", f"kill {k}: status {f.attrs['status']}")
            n = len(f["replica"])
        if n == 3:
            break
        program.check(not differing(before, variables(out)), f"kill {k} changed the complete file")
    else:
        run(long, out, "--replicas", 3, "--resume")
    expect_equal(straight, out, "after kills")


def check_injected(folder):
    """Each agreement of an extension fails once, in steps: the complete file stays, and the run can be resumed."""
    kept, straight, out = (os.path.join(folder, n) for n in ("small.h5", "large.h5", "out.h5"))
    larger = [*CHAIN[:-1], 60, "--replicas", 4]
    run(CHAIN, kept, "--replicas", 2)
    run(larger, straight)
    before = variables(kept)
    words = [*larger, "--seed", 7, "--save", "state", "--output", out, "--resume"]
    step = 5 if program.ALL else 101
    k = 3
    while True:
        shutil.copy(kept, out)
        shutil.copytree(kept + ".ckpt", out + ".ckpt")
        done = program.launch([*words, "--quiet"], 2, environment={**ENVIRONMENT, "NORMA_TEST_FAIL": f"{k}@1"})
        if done.returncode != 0:
            errors = [line for line in done.stderr.splitlines() if line.strip()]
            program.check(done.returncode == 4 and len(errors) == 1 and "injected failure" in errors[0],
                          f"agreement {k}: {done.returncode} {errors}")
            with h5py.File(out) as f:
                larger_now = len(f["replica"]) == 4  # it failed behind the last step
            program.check(larger_now or not differing(before, variables(out)), f"agreement {k}: the complete file changed")
            program.check(set(leftovers(out)) <= {".ckpt", ".part"}, f"agreement {k}: left {leftovers(out)}")
            if not larger_now:
                again = program.launch(words, environment=ENVIRONMENT)
                program.check(again.returncode == 0, f"agreement {k}: then {again.stderr}")
        expect_equal(straight, out, f"agreement {k}")
        for end in leftovers(out):
            shutil.rmtree(out + end) if end == ".ckpt" else os.remove(out + end)
        if done.returncode == 0:
            break
        k += step
    print(f"agreements 3 to {k} of an extension, in steps of {step}")
    program.check(k > 40, f"only {k} agreements")


def main():
    with program.folder() as folder:
        check_grown(folder)
        check_only_new(folder)
        check_refused(folder)
        check_stopped(folder)
        check_injected(folder)
    program.finish()


main()
