"""norma spectrum against numpy: singular values of given source weights for both width rules and kernel splits,
features below, at and above the rows; features that are orthonormal; sums of powers; singular draws; quadrature
inside its own bounds; stopped and resumed runs; refusals."""
import os
import signal
import subprocess
import time

import h5py
import numpy as np

import program
from check_numpy import composite, embed

ONE_THREAD = {"OMP_NUM_THREADS": "1"}


def run(label, arguments, out, ranks=1):
    done = program.launch(["spectrum", *arguments, "--output", out, "--force"], ranks, environment=ONE_THREAD)
    program.check(done.returncode == 0, f"{label}: exit {done.returncode}: {done.stderr}")
    return done


def matrix(w1, w2, target, rule):
    """M: all rows of the feature matrix, or those beside the pivots of the target."""
    kr = composite(w1, w2)
    c2 = kr.shape[0]
    per = int(np.prod(kr.shape[1:4]))
    rows = kr.reshape(c2, per, -1)
    if rule == "max":
        return rows.reshape(c2 * per, -1)
    wanted = embed(target, kr.shape[2:4]).reshape(c2, per)
    kept = []
    for block, goal in zip(rows, wanted):
        pivot = np.argmax(np.abs(goal))
        kept.append(np.delete(block - (goal / goal[pivot])[:, None] * block[pivot], pivot, axis=0))
    return np.vstack(kept)


CASES = [  # c2, c0, Kt, K1, K2, features over rows, ranks
    (6, 5, (1, 1), (1, 1), (1, 1), 1, 1),
    (4, 3, (3, 3), (1, 1), (3, 3), 0.7, 2),
    (3, 4, (3, 3), (3, 3), (1, 1), 1.3, 3),
    (3, 4, (3, 2), (2, 2), (3, 3), 1, 4),
    (2, 3, (3, 3), (3, 3), (3, 3), 1.2, 2),
    (5, 1, (1, 3), (1, 2), (1, 2), 0.4, 1),
    (1, 1, (1, 1), (1, 1), (1, 1), 1, 2),
    (24, 24, (1, 1), (1, 1), (1, 1), 1.05, 2),
]


def check_given(folder):
    """Every value to 1e-12 of the largest, both sums to 1e-12, by two stages and by the library."""
    rng = np.random.default_rng(20240918)
    for number, (c2, c0, kt, k1, k2, part, ranks) in enumerate(CASES):
        if number not in (0, 2) and not program.ALL:
            continue
        n = c2 * c0 * (k1[0] + k2[0] - 1) * (k1[1] + k2[1] - 1)
        c1 = max(1, round(part * n))
        w1 = rng.standard_normal((c1, c0) + k1)
        w2 = rng.standard_normal((c2, c1) + k2)
        target = rng.standard_normal((c2, c0) + kt)
        source, goal, out = (os.path.join(folder, name) for name in ("source.h5", "target.h5", "out.h5"))
        program.write_source(source, [(w1, w2)])
        with h5py.File(goal, "w") as f:
            f["w"] = target
        for rule in ("max", "min"):
            if rule == "min" and n == c2:
                continue
            m = matrix(w1, w2, target, rule)
            expected = np.linalg.svd(m, compute_uv=False)
            reduction = ("two-stage", "library")[(number + (rule == "min")) % 2]
            label = f"case {number} {rule} {reduction}: {m.shape[0]} x {m.shape[1]} on {ranks} ranks"
            if run(label, ["--target", goal + ":/w", "--source", source, "--width-rule", rule, "--method", "svd",
                           "--reduction", reduction], out, ranks).returncode:
                continue
            with h5py.File(out) as f:
                got = f["singular_value"][0]
                trace2, trace4 = f["trace2"][0], f["trace4"][0]
                condition = f["condition_number"][0]
            error = np.max(np.abs(got - expected)) / expected[0]
            sums = trace2 / np.sum(m * m) - 1, trace4 / np.sum((m.T @ m) ** 2) - 1
            print(f"{label}: values {error:.1e}, sums {sums[0]:.1e} {sums[1]:.1e}")
            program.check(error < 1e-12, f"{label}: values differ by {error}")
            program.check(max(abs(s) for s in sums) < 1e-12, f"{label}: sums differ by {sums}")
            program.check(abs(condition * expected[-1] / expected[0] - 1) < 1e-9, f"{label}: condition {condition}")


def check_saved(folder):
    """reconstruct --save spectrum: numpy's values of M for both rules, and its own extreme ones; replicas."""
    rng = np.random.default_rng(20241130)
    source, goal, out = (os.path.join(folder, name) for name in ("source.h5", "target.h5", "out.h5"))
    w1, w2 = rng.standard_normal((40, 3, 1, 1)), rng.standard_normal((4, 40, 3, 1))
    target = rng.standard_normal((4, 3, 3, 1))
    program.write_source(source, [(w1, w2)])
    with h5py.File(goal, "w") as f:
        f["w"] = target
    for rule, ranks in program.some((("min", 2), ("max", 1))):
        done = program.launch(["reconstruct", "--target", goal + ":/w", "--source", source, "--width-rule", rule,
                               "--save", "gamma,spectrum", "--condition", "full", "--seed", 1, "--output", out,
                               "--force"], ranks, environment=ONE_THREAD)
        program.check(done.returncode == 0, f"saved {rule}: {done.stderr}")
        expected = np.linalg.svd(matrix(w1, w2, target, rule), compute_uv=False)
        with h5py.File(out) as f:
            got = f["layers/000/singular_value"][0]
            largest, smallest = np.ravel(f["sigma_max"])[0], np.ravel(f["sigma_min"])[0]
        error = np.max(np.abs(got - expected)) / expected[0] if got.shape == expected.shape else np.inf
        program.check(error < 1e-12, f"saved {rule}: {got.shape} values, off by {error}")
        program.check(abs(largest / got[0] - 1) < 0.01 and abs(smallest / got[-1] - 1) < 0.01,
                      f"saved {rule}: {largest} {smallest}, values end at {got[0]} {got[-1]}")
    command = ["reconstruct", "--c-out", 6, "--c-in", 6, "--replicas", 3, "--seed", 2, "--save", "spectrum",
               "--output", out]
    done = program.launch([*command, "--force"], environment=ONE_THREAD)
    program.check(done.returncode == 0, f"saved: {done.stderr}")
    with h5py.File(out) as f:
        values = f["layers/000/singular_value"][()]
    program.check(np.all(np.isfinite(values)) and np.all(np.diff(values) <= 0) and len(np.unique(values)) == values.size,
                  f"saved: {values}")
    done = program.launch(["reconstruct", "--c-out", 4, "--c-in", 4, "--residual", "outer", "--save", "spectrum",
                           "--seed", 1, "--output", os.path.join(folder, "no.h5")], environment=ONE_THREAD)
    program.check(done.returncode == 2 and "skip connection" in done.stderr, f"saved: residual: {done.stderr}")


def check_orthonormal(folder):
    out = os.path.join(folder, "out.h5")
    for law in program.some(("ortho-cond", "id-cond")):
        for split in program.some(("second", "first")):
            run(law, ["--c-out", 5, "--c-in", 7, "--kernel", "2x2", "--kernel-split", split, "--source-dist", law,
                      "--seed", 1], out, 2)
            with h5py.File(out) as f:
                worst = np.max(np.abs(f["singular_value"][:] - 1))
                program.check(f["ks_limit"][0] == 0, f"{law}: has a limit law")
            program.check(worst < 1e-12, f"{law} {split}: a value is off by {worst}")


def check_singular(folder):
    """Of 40 small er-sign draws some are exactly singular: their condition is infinite, and counted so."""
    out = os.path.join(folder, "out.h5")
    run("er-sign", ["--channels", 4, "--source-dist", "er-sign", "--replicas", 40, "--seed", 3], out)
    with h5py.File(out) as f:
        condition, zero, values = f["condition_number"][:], f["n_zero"][:], f["singular_value"][:]
        expected = np.sum(values <= 16 * 2.0 ** -52 * values[:, :1], axis=1)
        median = f["condition_median"][()]
    program.check(np.array_equal(zero, expected), f"er-sign: zeros {zero}, expected {expected}")
    program.check(np.any(zero > 0) and np.any(zero == 0), f"er-sign: zeros {zero}")
    program.check(np.array_equal(np.isinf(condition), zero > 0), "er-sign: infinite conditions")
    program.check(median == np.median(condition) or abs(median / np.median(condition) - 1) < 1e-14, f"median {median}")


# Mean and standard deviation of the distance to the plain law at 16 x 16 channels and 308 features, of 60 draws of
# KR in numpy: the norms of its columns vary, the more the larger the fourth moment of an entry.
DISTANCES = {"normal": (0.0450, 0.0057), "uniform": (0.0246, 0.0036), "er-normal": (0.0915, 0.0106),
             "er-sign": (0.0292, 0.0046)}
ALIKE = {"he-normal": "normal", "xavier": "normal", "he-uniform": "uniform", "sparse-he-normal": "er-normal"}


def check_scale_and_laws(folder):
    """Entries of n M'M have mean 1 by every law with one; the plain law is as near as in numpy, within 4.5 standard
    deviations (one of 10^5 draws is farther), its moments as its own."""
    out = os.path.join(folder, "out.h5")
    laws = ",".join(program.some(("normal", "orthogonal", "er-sign", "uniform", "he-normal", "he-uniform", "xavier",
                                  "sparse-he-normal", "er-normal"), 3))
    run("laws", ["--channels", 16, "--overparam", 0.2, "--source-dist", laws, "--replicas", 4, "--seed", 5], out, 2)
    with h5py.File(out) as f:
        mean = f["trace2"][:] / f["n_features"][:]
        ks = f["ks_distance"][:]
        low, high = f["edge_low_predicted"][0, 0], f["edge_high_predicted"][0, 0]
    program.check(np.all(np.abs(mean - 1) < 0.25), f"mean squares {mean}")
    for law, found in zip(laws.split(","), ks):
        if law == "orthogonal":  # columns of nearly equal norms: nearer than the normal law
            program.check(np.all(found < DISTANCES["normal"][0]), f"{law}: distances {found}")
            continue
        expected, deviation = DISTANCES[ALIKE.get(law, law)]
        program.check(np.all(np.abs(found - expected) < 4.5 * deviation), f"{law}: distances {found}, expected {expected}")
    ratio = np.sqrt(308 / 256)
    program.check(abs(low - (ratio - 1)) < 1e-12 and abs(high - ratio - 1) < 1e-12, f"edges {low} {high}")
    run("population", ["--channels", 7, "--kernel", "5x1", "--kernel-split", "3x1+3x1", "--overparam", 0.3,
                       "--replicas", 4, "--seed", 6], out)
    with h5py.File(out) as f:
        program.check(np.all(f["ks_distance"][:] < 0.07), f"population: {f['ks_distance'][:]}")
        program.check(np.all(f["ks_limit"][:] == 2), "population: another law")


def check_quadrature(folder):
    """The distribution of all values lies inside the bounds, and any number of ranks finds the same."""
    out = [os.path.join(folder, f"out{k}.h5") for k in range(3)]
    shape = ["--channels", 12, "--kernel", "2x1", "--overparam", 0.1, "--seed", 8, "--bins", 60]
    run("svd", [*shape, "--method", "svd", "--values", "all"], out[0])
    probes = ["--method", "quadrature", "--probes", 8, "--steps", 30]
    run("quadrature", [*shape, *probes], out[1])
    run("quadrature", [*shape, *probes], out[2], program.SEVERAL)
    with h5py.File(out[0]) as f, h5py.File(out[1]) as g, h5py.File(out[2]) as h:
        values, grid = f["singular_value"][0], g["s_grid"][0]
        exact = np.mean(values[None, :] <= grid[:, None], axis=1)
        low, high = g["spectral_cdf_low"][0], g["spectral_cdf_high"][0]
        outside = np.sum((exact < low - 1e-12) | (exact > high + 1e-12))
        program.check(outside <= 2, f"quadrature: {outside} of {len(grid)} points outside")
        program.check(np.max(np.abs(g["spectral_cdf"][0] - h["spectral_cdf"][0])) < 1e-9, "quadrature: ranks differ")
        for power in ("trace2", "trace4"):
            error = abs(g[power + "_measured"][0] - g[power][0])
            program.check(error < 5 * g[power + "_stderr"][0], f"quadrature: {power} off by {error}")
            program.check(abs(g[power][0] / f[power][0] - 1) < 1e-13, f"{power}: methods differ")


def check_resume(folder):
    """A run that is stopped between probes goes on with the others and ends with the same numbers."""
    straight, stopped = (os.path.join(folder, name) for name in ("straight.h5", "stopped.h5"))
    command = ["--channels", 40, "--overparam", 0.1, "--method", "quadrature", "--probes", 60, "--steps", 40,
               "--replicas", 2, "--seed", 9]
    run("straight", command, straight)
    words = [str(a) for a in [program.NORMA, "spectrum", *command, "--output", stopped]]
    process = subprocess.Popen(words, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True,
                               env=dict(os.environ, **ONE_THREAD))
    deadline = time.monotonic() + 60
    while not os.path.exists(stopped + ".part") and time.monotonic() < deadline:
        time.sleep(0.02)
    time.sleep(0.3)
    process.send_signal(signal.SIGUSR1)
    process.communicate(timeout=200)
    program.check(process.returncode in (0, 75), f"stopped: exit {process.returncode}")
    if process.returncode == 75:
        done = program.launch(["spectrum", *command, "--output", stopped, "--resume"], environment=ONE_THREAD)
        program.check(done.returncode == 0, f"resumed: {done.stderr}")
    with h5py.File(straight) as f, h5py.File(stopped) as g:
        for name in ("spectral_cdf", "sigma_max", "trace4_measured", "spectral_density"):
            program.check(np.array_equal(f[name][:], g[name][:]), f"resumed: {name} differs")


def check_refusals(folder):
    source = os.path.join(folder, "bad.h5")
    w1, w2 = np.ones((3, 2)), np.ones((2, 3))
    w1[1, 1] = np.nan
    program.write_source(source, [(w1, w2)])
    given = ["--c-out", 2, "--c-in", 2]
    cases = [
        ([], 2, "no shape"),
        (["--c-out", 2], 2, "no shape"),
        (["--channels", 2, "--c-in", 2], 2, "stands for both"),
        ([*given, "--source", source], 2, "nan"),
        ([*given, "--source", source, "--features", 3], 2, "decides this"),
        ([*given, "--layer", 1], 2, "needs --target or --source"),
        ([*given, "--values", "some"], 2, "neither 'all' nor a number"),
        ([*given, "--excess", -4], 2, "at least one"),
        (["--c-out", 3, "--c-in", 1, "--width-rule", "min"], 2, "no row of M"),
        (["--channels", 4, "--source-dist", "id-cond", "--features", 17], 2, "features"),
        (["--channels", 300, "--method", "svd", "--source-dist", "normal"], 3, "quadrature"),
    ]
    for arguments, code, text in program.some(reversed(cases), 2):
        out = os.path.join(folder, "refused.h5")
        done = program.launch(["spectrum", *arguments, "--seed", 1, "--output", out], environment=ONE_THREAD)
        program.check(done.returncode == code and text in done.stderr.lower() + done.stderr,
                      f"{arguments}: exit {done.returncode}: {done.stderr}")
        program.check(not os.path.exists(out), f"{arguments}: left a result")


def check_plan(folder):
    """The memory that a plan announces is within 10% of the peak."""
    out = os.path.join(folder, "out.h5")
    for arguments in program.some((["--channels", 20, "--kernel", "3x3", "--overparam", 0.2, "--method", "quadrature"],
                                   ["--channels", 40], ["--channels", 40, "--reduction", "library"])):
        line = program.launch(["plan", "spectrum", *arguments], environment=ONE_THREAD).stdout.splitlines()[-1].split()
        number = float(line[7]) * {"MiB": 2 ** 20, "GiB": 2 ** 30}[line[8]]
        done = program.launch(["spectrum", *arguments, "--seed", 1, "--output", out, "--force"], peak=True,
                              environment=ONE_THREAD)
        print(f"{arguments}: planned {number / 2 ** 20:.1f} MiB, peak {done.peak / 2 ** 20:.1f}")
        program.check(abs(number / done.peak - 1) < 0.1, f"{arguments}: planned {number}, peak {done.peak}")


def main():
    for check in (check_given, check_saved, check_orthonormal, check_singular, check_scale_and_laws, check_quadrature, check_resume,
                  check_refusals, check_plan):
        if check is check_resume and not program.ALL:
            continue
        with program.folder() as folder:
            check(folder)
    program.finish()


if __name__ == "__main__":
    main()
