"""norma gradient over groups of ranks: the numbers of one rank for any group size, those of numpy with weights from a
file, stopped and resumed with another group size, less memory a rank, and what groups cannot do."""
import os
import signal
import subprocess
import sys

import h5py
import numpy as np

from program import ALL, MPIEXEC, NORMA, check, finish, folder, launch, some, wait_saved

TIMINGS = {"seconds", "configuration"}
# Widths that no group divides; above 256 the products are those of BLAS.
SHARED = ["gradient", "--width", "101,301", "--batch", 67, "--law", "pathwise", "--depth", 9, "--segment", 4,
          "--classes", 5, "--replicas", 2, "--seed", 11, "--norm", "bn-centered", "--act", "tanh", "--isometry",
          "--jacobian", 3, "--per-sample", "--quiet"]


def equal(path, other, what, tolerance=1e-10):
    """The variables of two files up to rounding; prints how many have the same bytes."""
    n_bits = n_all = 0
    with h5py.File(path) as a, h5py.File(other) as b:
        check(set(a) == set(b), f"{what}: the same variables")
        for name in set(a) & set(b) - TIMINGS:
            x, y = a[name][()], b[name][()]
            n_all += 1
            n_bits += x.tobytes() == y.tobytes()
            if x.dtype.kind == "f":
                check((np.isnan(x) == np.isnan(y)).all(), f"{what}: {name} is missing where it is")
                x, y = np.nan_to_num(x), np.nan_to_num(y)
            difference = np.abs(x - y).max(initial=0)
            check(difference <= tolerance * max(1, np.abs(x).max(initial=0)), f"{what}: {name} differs by {difference}")
    print(f"{what}: {n_bits} of {n_all} variables have equal bytes")


def run(arguments, path, ranks=1, code=0):
    done = launch(arguments + ["--force", "--output", path], ranks)
    check(done.returncode == code, f"{arguments} on {ranks}: exit {done.returncode}: {done.stderr}")


def check_numbers(base):
    one, path = f"{base}/one.h5", f"{base}/several.h5"
    run(SHARED, one)
    for ranks, size in some(((3, 3), (2, 2), (4, 2), (5, 2)), 2):
        run(SHARED + ["--group-size", size], path, ranks)
        equal(one, path, f"{ranks} ranks by {size}")


def check_layers(base):
    """Every norm, both orders, skip connections, masks; batches so small that norms go through R of H = Q R."""
    one, path = f"{base}/one.h5", f"{base}/several.h5"
    for norm, order, strength, law, batch in some((
            ("ln", "norm-act", "0.5", "er-normal", 71),
            ("none", "norm-act", "inf", "normal", 33),
            ("bn", "act-norm", "0.3", "normal", 70),
            ("rms", "act-norm", "inf", "uniform", 90)), 2):
        arguments = ["gradient", "--width", 267, "--batch", batch, "--depth", 4, "--norm", norm, "--order", order,
                     "--residual-strength", strength, "--weight-dist", law, "--law", "pathwise", "--act", "tanh", "--loss",
                     "mse", "--seed", 2, "--per-sample", "--quiet"]
        run(arguments, one)
        run(arguments + ["--group-size", 3], path, 3)
        equal(one, path, f"{norm}, {order}, {law}, batch {batch}")


def check_numpy(base):
    """Weights, batch and labels from files on 2 and 3 ranks: the gradients of H' = tanh(bn(H + g W H)) in numpy."""
    dice = np.random.default_rng(1)
    d, n, depth, strength = 133, 70, 3, 0.5
    weights, data, path = (f"{base}/{name}.h5" for name in ("w", "data", "numpy"))
    w, x, labels = dice.standard_normal((depth, d, d)) / np.sqrt(d), dice.standard_normal((n, d)), dice.integers(0, d, n)
    with h5py.File(weights, "w") as f:
        f["W"] = w
    with h5py.File(data, "w") as f:
        f["images"], f["labels"] = x, labels.astype(np.int32)
    h, kept = x.T, []
    for layer in w:
        z = h + strength * layer @ h
        size = np.sqrt((z ** 2).mean(axis=1, keepdims=True))
        kept.append((h, z / size, size))
        h = np.tanh(z / size)
    v = 2 / n * (h - np.eye(d)[labels].T)
    expected = np.zeros(depth)
    for k in reversed(range(depth)):
        before, y, size = kept[k]
        v = v * (1 - np.tanh(y) ** 2)
        v = (v - y * (v * y).mean(axis=1, keepdims=True)) / size
        expected[k] = np.log(strength * np.linalg.norm(v @ before.T))
        v = v + strength * w[k].T @ v
    for ranks in some((3, 2)):
        run(["gradient", "--weights", weights, "--input", data + ":images", "--batch", n, "--depth", depth, "--norm", "bn",
             "--act", "tanh", "--residual-strength", strength, "--loss", "mse", "--readout", "identity", "--labels",
             "dataset", "--quiet", "--group-size", ranks], path, ranks)
        with h5py.File(path) as f:
            difference = np.abs(f["log_grad_norm"][0, :depth] - expected).max()
        check(difference < 1e-11, f"numpy, {ranks} ranks: log norms differ by {difference}")


def check_resume(base):
    """SIGTERM to one rank of one group in mid-run; another group size goes on."""
    arguments = [str(a) for a in SHARED]
    arguments[arguments.index("9")] = "150"
    arguments[arguments.index("--jacobian"):arguments.index("--jacobian") + 2] = []
    straight, path = f"{base}/straight.h5", f"{base}/stopped.h5"
    run(arguments, straight, 2)
    process = subprocess.Popen(MPIEXEC + ["-n", "3", NORMA] + arguments +
                               ["--group-size", "3", "--checkpoint-every", "0.005", "--output", path],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wait_saved(process, path)
    pids = subprocess.run(["ps", "-o", "pid=", "--ppid", str(process.pid)], capture_output=True, text=True,
                          check=False).stdout.split()
    if pids:
        os.kill(int(pids[-1]), signal.SIGTERM)
    _, text = process.communicate(timeout=200)
    check(process.returncode == 75, f"after a signal: exit 75, not {process.returncode}: {text}")
    done = launch(arguments + ["--resume", "--group-size", 2, "--output", path], 4)
    check(done.returncode == 0, f"resumed by groups of 2: {done.stderr}")
    equal(straight, path, "stopped and resumed", 1e-7)


def check_memory(base):
    """A rank holds its share of H and Z, and the plan has it within 10% of the peak. So many layers leave one rank no
    place to keep W too."""
    arguments = ["gradient", "--seed", "1", "--width", "301", "--batch", "301", "--depth", "130", "--segment", "130",
                 "--classes", "10", "--group-size"]
    one = "import os, resource, subprocess, sys; subprocess.run(sys.argv[1:], check=True, stdout=2); " \
          "os.write(1, b'\\n%d\\n' % resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss)"
    peaks, plans = [], []
    for size in 1, 2:
        text = launch(["plan"] + arguments + [size, "--ranks", size]).stdout
        number, unit = text.split("memory a rank ")[1].split(",")[0].split()
        plans.append(float(number) * {"MiB": 2 ** 20, "GiB": 2 ** 30}[unit])
        done = subprocess.run(MPIEXEC + ["-n", str(size), sys.executable, "-c", one, NORMA] + arguments +
                              [str(size), "--quiet", "--force", "--output", f"{base}/memory.h5"], capture_output=True,
                              text=True, check=False, env=dict(os.environ, OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1"))
        check(done.returncode == 0, f"memory: {done.stderr}")
        peaks.append(1024 * max(int(word) for word in done.stdout.split()))
        ratio = plans[-1] / peaks[-1]
        print(f"groups of {size}: planned {plans[-1] / 2 ** 20:.1f} MiB, {ratio:.3f} of the peak")
        check(0.9 <= ratio <= 1.1, f"groups of {size}: the plan is {ratio} of the peak")
    kept = 2 * 8 * 301 * 301 * 130
    check(0.4 * kept < peaks[0] - peaks[1] < 0.5 * kept, f"{peaks} bytes at the peak of ranks; {kept} are kept")


def check_refusals(base):
    path = f"{base}/no.h5"
    for arguments, ranks, word in some((
            (["--width", 10, "--batch", 80, "--group-size", 3], 3, "at most 2 ranks"),
            (["--width", 100, "--batch", 20, "--group-size", 2], 2, "pathwise"),
            (["--width", 32, "--group-size", 2], 2, "too small"),
            (["--width", 100, "--weight-dist", "orthogonal", "--group-size", 2], 2, "reflections"),
            (["--width", 100, "--group-size", 2], 1, "groups of 2")), 2):
        done = launch(["gradient", "--depth", 2, "--seed", 1, "--output", path] + arguments, ranks)
        check(done.returncode == 2 and word in done.stderr and done.stderr.count("error") == 1,
              f"{arguments}: {done.returncode} {done.stderr}")
        check(not os.path.exists(path), "nothing is left")


def main():
    with folder() as base:
        check_numbers(base)
        check_layers(base)
        check_numpy(base)
        check_refusals(base)
        if ALL:
            check_memory(base)
            check_resume(base)
    finish()


main()
