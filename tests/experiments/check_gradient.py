"""`norma gradient` against numpy, with any number of ranks, after stops, beside its plan, and with wrong input.

The gradients of three layers in numpy: batch normalization differentiated by central differences of the loss. All
else that a layer can be is compared in tests/src/test_gradient.c.
"""
import os
import signal
import subprocess

import h5py
import numpy as np

import program

TIMINGS = {"seconds", "configuration"}


def same(path, other, what):
    """Every variable but the timings has the same bytes, and both files have the same variables."""
    with h5py.File(path) as a, h5py.File(other) as b:
        program.check(set(a) == set(b), f"{what}: the same variables")
        for name in set(a) & set(b) - TIMINGS:
            program.check(a[name][()].tobytes() == b[name][()].tobytes(), f"{what}: {name} has the same bytes")


def run(arguments, path, ranks=1, code=0, environment=None):
    done = program.launch(["gradient"] + arguments + ["--output", path], ranks, environment=environment)
    program.check(done.returncode == code, f"{arguments}: exit {done.returncode}: {done.stderr}")
    return done


def check_numpy(folder):
    """Weights, batch and labels from files, centred batch normalization, tanh, cross-entropy of H itself."""
    dice = np.random.default_rng(1)
    d, n, depth = 5, 6, 3
    w, x, labels = dice.standard_normal((depth, d, d)), dice.standard_normal((n, d)), dice.integers(0, d, n)
    weights, data, path = (os.path.join(folder, name) for name in ("w.h5", "data.h5", "numpy.h5"))
    with h5py.File(weights, "w") as f:
        f["W"] = w
    with h5py.File(data, "w") as f:
        f["images"], f["labels"] = x, labels.astype(np.int32)
    run(["--weights", weights, "--input", data + ":images", "--batch", n, "--depth", depth, "--norm", "bn-centered",
         "--act", "tanh", "--loss", "cross-entropy", "--readout", "identity", "--labels", "dataset", "--per-sample",
         "--isometry"], path)

    def loss(weight):
        h = x.T
        for layer in weight:
            z = layer @ h
            z = z - z.mean(axis=1, keepdims=True)
            h = np.tanh(z / np.sqrt((z ** 2).mean(axis=1, keepdims=True)))
        return (np.log(np.exp(h).sum(axis=0)) - h[labels, np.arange(n)]).mean()

    gradient = np.zeros_like(w)
    for place in np.ndindex(w.shape):
        moved = w.copy()
        moved[place] += 1e-5
        above = loss(moved)
        moved[place] -= 2e-5
        gradient[place] = (above - loss(moved)) / 2e-5
    with h5py.File(path) as f:
        expected = np.log(np.sqrt((gradient ** 2).sum(axis=(1, 2))))
        found = f["log_grad_norm"][0, :depth]
        program.check(np.abs(found - expected).max() < 1e-8, f"numpy: {found}, by differences {expected}")
        program.check(abs(f["loss"][0] - loss(w)) < 1e-13, f"numpy: loss {f['loss'][0]}, not {loss(w)}")
        program.check(np.isnan(f["log_grad_norm"][0, depth]), "numpy: no W behind the last layer")
        program.check(not np.isnan(f["isometry_gap"][0]).any(), "numpy: isometry gaps")
        program.check(np.abs(f["sample_cosine"][0]).max() <= 1 + 1e-12, "numpy: cosines")


SMALL = ["--width", "12,20", "--batch", 10, "--depth", "1,40", "--norm", "bn-centered", "--replicas", 5, "--seed", 3,
         "--per-sample", "--segment", 7, "--record", "log"]


def check_scale(folder):
    """Normalization forgets the scale of its input: gradients of weights do not change with it, and the Jacobian of the
    first window changes by its inverse."""
    dice = np.random.default_rng(2)
    data = os.path.join(folder, "scale.h5")
    shifts = {"one": 0, "large": 40, "small": -40}
    x = dice.standard_normal((4, 6))
    with h5py.File(data, "w") as f:
        for name, shift in shifts.items():
            f[name] = x * 2.0 ** shift
    for norm in program.some(("bn", "bn-centered", "rms")):
        found = {}
        for name, shift in shifts.items():
            path = os.path.join(folder, f"{norm}_{name}.h5")
            run(["--batch", 4, "--depth", 5, "--norm", norm, "--jacobian", 2, "--seed", 4, "--input", f"{data}:{name}"], path)
            with h5py.File(path) as f:
                found[name] = f["log_grad_norm"][0, :5], f["log_jacobian_norm"][0] + np.array([shift, 0]) * np.log(2)
        for name in "large", "small":
            for what, a, b in zip(("gradients", "Jacobians"), found["one"], found[name]):
                program.check(np.abs(a - b).max() < 1e-12, f"{norm}, {name} input: {what} {b}, not {a}")


def check_ranks(folder):
    """1 to 4 ranks, more ranks than replicas, segments of other lengths: the same bytes."""
    path, other = (os.path.join(folder, name) for name in ("ranks.h5", "other.h5"))
    run(SMALL, path)
    for ranks in program.some((2, 3, 4)):
        run(SMALL + ["--force"], other, ranks)
        same(path, other, f"{ranks} ranks")
    if program.ALL:
        run([a if a != 5 else 1 for a in SMALL] + ["--force"], path)
        run([a if a != 5 else 1 for a in SMALL] + ["--force"], other, 4)
        same(path, other, "4 ranks for 4 replicas of two cells")
    run([a if a != 7 else 40 for a in SMALL] + ["--force"], path)
    run(SMALL + ["--force"], other, 2)
    same(path, other, "segments of 40 layers and of 7")


LONG = ["--width", 30, "--batch", 30, "--depth", 12000, "--replicas", 4, "--seed", 5, "--norm", "bn", "--segment", 70,
        "--isometry", "--record", "every:500"]


def check_stops(folder):
    """Stopped by signals at any time, resumed on other numbers of ranks: the same bytes."""
    reference, path = (os.path.join(folder, name) for name in ("straight.h5", "stopped.h5"))
    arguments = [str(a) for a in LONG]
    run(arguments, reference, 2)
    command = [program.NORMA, "gradient"] + arguments + ["--output", path]
    codes = []
    for more in ([], ["--resume"], ["--resume"]):
        process = subprocess.Popen(command + more, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True)
        program.wait_begun(process, path)
        process.send_signal(signal.SIGTERM)
        try:
            _, text = process.communicate(timeout=100)
        except subprocess.TimeoutExpired:
            process.kill()
            raise SystemExit("HANG: a stopped gradient") from None
        codes.append(process.returncode) # -15: the signal came before the run handles it
        program.check(codes[-1] in (0, 75, -signal.SIGTERM), f"stopped: exit {codes[-1]}: {text}")
        if codes[-1] == 0:
            break
    if codes[-1] != 0:
        run(arguments + ["--resume"], path, 3)
    same(reference, path, f"after stops with {codes}")


def check_memory(folder):
    """The memory that a plan announces is within 10% of the peak."""
    units = {"MiB": 2 ** 20, "GiB": 2 ** 30}
    for arguments in program.some((["--width", 200, "--depth", 300, "--segment", 17],
                                   ["--width", 300, "--batch", 300, "--depth", 60],
                                   ["--width", 1000, "--batch", 100, "--depth", 20])):
        path = os.path.join(folder, "memory.h5")
        plan = program.launch(["plan", "gradient", "--seed", 1] + arguments).stdout
        number, unit = plan.split("memory a rank ")[1].split(",")[0].split()
        done = program.launch(["gradient", "--seed", 1, "--quiet", "--force", "--output", path] + arguments, peak=True,
                              environment={"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"})
        program.check(done.returncode == 0, f"memory: {done.stderr}")
        ratio = float(number) * units[unit] / done.peak
        print(f"{arguments}: planned {number} {unit}, {ratio:.3f} of the peak")
        program.check(0.9 <= ratio <= 1.1, f"{arguments}: {ratio} of the peak")


def check_corners(folder):
    """Depth 0 and 1, a batch of 1, dead columns: what has no gradient is missing and counted."""
    path = os.path.join(folder, "corner.h5")
    run(["--depth", "0,1", "--width", 6, "--replicas", 2, "--seed", 1], path)
    with h5py.File(path) as f:
        program.check(np.isfinite(f["loss"][...]).all(), "depth 0 and 1: losses")
        program.check(np.isnan(f["log_grad_norm"][0]).all(), "depth 0: no gradients")
        program.check(np.isfinite(f["log_grad_norm"][1, :, 0]).all(), "depth 1: one gradient")
        program.check(np.isnan(f["explosion_rate"][...]).all(), "depth 1: no rate")
    run(["--batch", 1, "--norm", "rms", "--depth", 3, "--width", 6, "--seed", 1, "--force"], path)
    with h5py.File(path) as f:
        program.check(np.isfinite(f["log_grad_norm"][0, :3]).all(), "a batch of 1")
    weights = os.path.join(folder, "dead.h5")
    with h5py.File(weights, "w") as f:
        f["W"] = np.stack([np.ones((4, 4)), -np.ones((4, 4)), np.ones((4, 4))])
    run(["--weights", weights, "--batch", 3, "--norm", "none", "--act", "relu", "--depth", 3, "--seed", 2, "--force",
         "--per-sample"], path)
    with h5py.File(path) as f:
        program.check(np.isnan(f["log_grad_norm"][0]).all(), f"dead units: {f['log_grad_norm'][0]}")
        program.check(f["n_zero_gradients"][0] == 3, f"dead units: {f['n_zero_gradients'][0]} gradients of 0, not 3")
        program.check(np.isnan(f["sample_cosine"][0]).all(), "dead units: no cosine")


def check_refusals(folder):
    output = os.path.join(folder, "refused.h5")
    for arguments, text in program.some((
            (["--jacobian", 5, "--law", "exact", "--batch", 4, "--width", 8], "single cotangent"),
            (["--jacobian", 50, "--depth", 20], "does not fit"),
            (["--per-sample", "--batch", 1, "--norm", "none"], "2 samples"),
            (["--loss", "cross-entropy", "--classes", 1], "single class"),
            (["--readout", "identity", "--classes", 3], "identity"),
            (["--loss", "mse", "--labels", "dataset"], "data set"),
            (["--labels", "dataset"], "no labels"),
            (["--loss", "mes"], "did you mean"),
            (["--batch", 1, "--norm", "bn-centered"], "batch of 1"),
            (["--input", "degenerate", "--input-distinct", 1, "--norm", "bn-centered"], "no variance"),
            (["--gain", 0], "gain"),
            (["--width", 100, "--batch", 100, "--depth", 1000000, "--segment", 1000000], "are available")), 3):
        done = program.launch(["gradient", "--seed", 1] + arguments + ["--output", output])
        program.check(done.returncode not in (0, 134, 139), f"{arguments}: exit {done.returncode}")
        program.check(text in done.stderr, f"{arguments}: '{text}' is not in '{done.stderr}'")
        program.check(not os.path.exists(output), f"{arguments}: a refused run left its output")


def check_gains(folder):
    """Gains of the identity without normalization: gradients of all layers carry the product of all gains."""
    path = os.path.join(folder, "gains.h5")
    run(["--preset", "vanilla", "--weight-dist", "orthogonal", "--width", 6, "--depth", 40, "--gain", "0.5,0.8,2",
         "--input", "rank-one", "--input-epsilon", 0, "--seed", 1], path)
    with h5py.File(path) as f:
        found, gains = f["log_grad_norm"][:, 0, :40], f["gain"][...]
        program.check(np.abs(found - 40 * np.log(gains)[:, None]).max() < 1e-10, f"gains: {found[:, 0]}")
    run(["--width", 20, "--batch", 5, "--depth", 30, "--act", "tanh", "--gain", "0.5,1,2", "--replicas", 4, "--seed", 1,
         "--force"], path, 2)
    with h5py.File(path) as f:
        rate, gains = f["rate_of_mean_log"][...], f["gain"][...]
        c2, c1 = np.polyfit(np.log(gains), np.log(rate), 1)
        program.check(abs(f["rate_fit_c2"][()] - c2) < 1e-9 and abs(np.log(f["rate_fit_c1"][()]) - c1) < 1e-9,
                      f"gains: fit {f['rate_fit_c1'][()]}, {f['rate_fit_c2'][()]}, by numpy {np.exp(c1)}, {c2}")
        mean = f["log_grad_norm"][...].mean(axis=1)
        program.check(np.nanmax(np.abs(mean - f["log_grad_norm_mean"][...])) < 1e-12, "gains: means")
        layers = f["layer"][3:27]
        program.check(np.abs(rate + np.polyfit(layers, mean[:, 3:27].T, 1)[0]).max() < 1e-12, "gains: rates")


def main():
    with program.folder() as folder:
        check_numpy(folder)
        check_scale(folder)
        check_ranks(folder)
        check_corners(folder)
        check_gains(folder)
        check_refusals(folder)
        check_memory(folder)
        if program.ALL:
            check_stops(folder)
    program.finish()


main()
