"""norma chain --precision single: against numpy in float32, equal bits on any ranks, groups and after a
stop, the comparison with double in the file and on the terminal, refusals, memory."""
import signal
import subprocess

import h5py
import numpy as np

from program import ALL, MPIEXEC, NORMA, check, finish, folder, launch, some, wait_saved

RUN = ["chain", "--precision", "single", "--width", "100,130", "--batch", "90", "--law", "pathwise",
       "--depth", 40, "--replicas", 3, "--seed", 7, "--observables",
       "soft_rank,stable_rank,tr_m3,singular_value,cosine", "--top", 2]


def changed(arguments, **values):
    """The arguments with other values of some flags."""
    arguments = [str(a) for a in arguments]
    for name, value in values.items():
        arguments[arguments.index("--" + name) + 1] = str(value)
    return arguments


def same(path, other, what):
    with h5py.File(path) as a, h5py.File(other) as b:
        check(set(a) == set(b), f"{what}: the same variables")
        for name in a:
            if isinstance(a[name], h5py.Dataset) and name not in ("seconds", "configuration"):
                check(a[name][()].tobytes() == b[name][()].tobytes(), f"{what}: {name}")


def test_numpy(base):
    """Given weights and input: the recursion in float32 as numpy does it."""
    rng = np.random.default_rng(3)
    d, n, layers = 24, 16, 20
    w, h = rng.standard_normal((layers, d, d)), rng.standard_normal((d, n))
    with h5py.File(f"{base}/given.h5", "w") as f:
        f["W"], f["H0"] = w, h
    done = launch(["chain", "--precision", "single", "--width", d, "--batch", n, "--depth", layers, "--weights",
                   f"{base}/given.h5", "--input", f"{base}/given.h5", "--record", "all", "--observables",
                   "fro2,singular_value", "--top", 4, "--output", f"{base}/numpy.h5", "--quiet"])
    check(done.returncode == 0, f"given weights: {done.stderr}")
    single, values, fro = h.astype(np.float32), [], []
    for layer in range(layers + 1):
        s = np.linalg.svd(single.astype(np.float64), compute_uv=False)
        values.append(s[:4])
        fro.append(np.sum(s ** 4) / n ** 2)
        if layer < layers:
            z = (w[layer].astype(np.float32) @ single).astype(np.float64)
            single = (z * np.sqrt(n / np.sum(z ** 2, axis=1, keepdims=True))).astype(np.float32)
    with h5py.File(f"{base}/numpy.h5") as f:
        found = f["singular_value"][0].T
        check(np.allclose(found, values, rtol=3e-6), "singular values as numpy's")
        check(np.allclose(f["fro2"][0], fro, rtol=3e-6), "||M||_F^2 as numpy's")
        check(0 < np.abs(found / values - 1).max(), "not the same product")


def test_bits(base, reference):
    for ranks, size in some(((2, 1), (2, 2), (3, 1), (3, 2)), 2):
        path = f"{base}/r{ranks}g{size}.h5"
        done = launch(RUN + ["--quiet", "--group-size", size, "--output", path], ranks)
        check(done.returncode == 0, f"{ranks} ranks by {size}: {done.stderr}")
        same(reference, path, f"{ranks} ranks by {size}")


def test_resume(base):
    long = changed(RUN, depth=600) + ["--quiet"]
    check(launch(long + ["--output", f"{base}/straight.h5"], 2).returncode == 0, "a long run")
    path = f"{base}/stopped.h5"
    process = subprocess.Popen(MPIEXEC + ["-n", "1", NORMA] + long + ["--output", path],
                               stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
    wait_saved(process, path)
    process.send_signal(signal.SIGUSR1)
    _, text = process.communicate(timeout=200)
    check(process.returncode == 75, f"after a signal: exit 75, not {process.returncode}: {text}")
    other = launch(changed(long, precision="double") + ["--resume", "--output", path])
    check(other.returncode == 2 and "precision" in other.stderr, f"another precision: {other.stderr}")
    done = launch(long + ["--resume", "--output", path], 3)
    check(done.returncode == 0, f"resumed: {done.stderr}")
    same(f"{base}/straight.h5", path, "stopped and resumed")


def test_comparison(base, reference):
    """The reported differences are those of two whole runs."""
    done = launch(changed(RUN, precision="double,single", depth=8) +
                  ["--record", "all", "--output", f"{base}/both.h5"])
    check(done.returncode == 0, f"both precisions: {done.stderr}")
    check(done.stdout.count("the same 8 layers of replica 0 in double") == 2, "printed on the terminal")
    with h5py.File(f"{base}/both.h5") as f:
        check("single_precision" in f.attrs, "the file says what single precision means")
        for name in "soft_rank", "stable_rank", "tr_m3", "singular_value", "cosine":
            values = f[name][()][:, :, 0].astype(float)
            reported = f[name + "_single_difference"][()]
            apart = np.abs(values[:, 1] - values[:, 0]).max(axis=-1)
            check(np.array_equal(reported[:, 1], apart), f"{name}: {reported[:, 1]} reported, {apart} found")
            check(np.isnan(reported[:, 0]).all(), f"{name}: nothing reported for double")
        check(list(f["single_layers"][:, 1]) == [8, 8], "layers compared")
    with h5py.File(reference) as f:
        largest = f["singular_value_single_relative"][()]
        check((largest > 0).all() and (largest < 1e-5).all(), f"singular values: {largest}")


def test_refusals(base):
    for arguments, word in some(((["--width", 64], "vector registers"),
                            (["--width", 100, "--batch", 20], "law pathwise"),
                            (["--width", 100, "--weight-dist", "orthogonal"], "reflections"),
                            (["--width", 100, "--observables", "lyapunov"], "Lyapunov"),
                            (["--width", 100, "--observables", "log_sigma_min"], "log_sigma_min"),
                            (["--width", 100, "--observables", "numerical_rank", "--rank-precision",
                              "double"], "rounding")), 2):
        done = launch(["chain", "--precision", "single", "--depth", 2, "--output", f"{base}/no.h5"] + arguments)
        check(done.returncode == 2 and word in done.stderr, f"{arguments}: {done.returncode} {done.stderr}")
    done = launch(["chain", "--precision", "single", "--width", 100, "--depth", 3, "--preset", "vanilla",
                   "--observables", "all", "--output", f"{base}/all.h5", "--quiet"])
    check(done.returncode == 0, f"all: {done.stderr}")
    with h5py.File(f"{base}/all.h5") as f:
        check("numerical_rank" in f and "log_sigma_min" not in f and "lyapunov" not in f, "all: what there is")


def test_memory(base):
    arguments = ["chain", "--precision", "single", "--width", 3000 if ALL else 1500, "--depth", 1, "--record", "none",
                 "--observables", "log_norm", "--seed", 1]
    done = launch(arguments + ["--output", f"{base}/wide.h5", "--quiet"], peak=True)
    check(done.returncode == 0, f"wide: {done.stderr}")
    words = launch(["plan"] + arguments).stdout.split("memory a rank ")[1].split()
    planned = float(words[0]) * {"KiB": 2 ** 10, "MiB": 2 ** 20, "GiB": 2 ** 30}[words[1].rstrip(",")]
    check(abs(planned / done.peak - 1) < 0.1, f"plan: {planned:.4g} bytes, {done.peak:.4g} measured")


with folder() as base:
    reference = f"{base}/reference.h5"
    check(launch(RUN + ["--quiet", "--output", reference]).returncode == 0, "the run itself")
    test_numpy(base)
    test_bits(base, reference)
    if ALL:
        test_resume(base)
    test_comparison(base, reference)
    test_refusals(base)
    test_memory(base)
finish()
