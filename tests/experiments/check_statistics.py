"""Running statistics of the source's batch norms: those that --bn-statistics dataset stores are what a numpy run of
the source network measures behind its convolutions, those of a file come back with its biases, and with each the
batch norms compute the affine maps. The same bits on any number of ranks."""
import os

import h5py
import numpy as np

import program

EPS = 1e-5
SHAPE = (3, 7, 8)
N_IMAGES = 12


def convolve(x, weight, stride=(1, 1), near=(0, 0), far=(0, 0)):
    """x [n, c, h, w], weight [out, c, kh, kw]."""
    x = np.pad(x, ((0, 0), (0, 0), (near[0], far[0]), (near[1], far[1])))
    windows = np.lib.stride_tricks.sliding_window_view(x, weight.shape[2:], axis=(2, 3))
    return np.einsum("nchwij,ocij->nohw", windows[:, :, ::stride[0], ::stride[1]], weight, optimize=True)


def pair(text):
    return tuple(int(v) for v in (text.decode() if isinstance(text, bytes) else text).split("x"))


def softplus(z):
    return np.logaddexp(0, z)


def activation(name, z):
    return {"leaky-relu": lambda: np.where(z < 0, 0.25 * z, z), "softplus": lambda: softplus(z)}[name]()


def measured(values):
    return values.mean(axis=(0, 2, 3)), values.var(axis=(0, 2, 3))


def inputs_of_pair(group, x, kt, pad):
    """Both convolutions of a source pair on x, in front of their batch norms."""
    k1, k2 = pair(group.attrs["kernel1"]), pair(group.attrs["kernel2"])
    near = pair(group.attrs["padding1"])
    far = tuple(p + (a + b - 1 - t) - (a + b - 1 - t) // 2 for p, a, b, t in zip(pad, k1, k2, kt))
    u = convolve(x, group["W1"][0], pair(group.attrs["stride1"]), near, far)
    maps = [group[name][0][:, None, None] for name in ("gamma1", "beta1")]
    name = group.attrs["activation"]
    hidden = activation(name.decode() if isinstance(name, bytes) else name, maps[0] * u + maps[1])
    return u, convolve(hidden, group["W2"][0], pair(group.attrs["stride2"]))


def check_map(label, group, number, u, tolerance):
    """The batch norm is the affine map."""
    weight, bias, mean, var = (group[f"bn{number}_{name}"][0][:, None, None]
                               for name in ("weight", "bias", "running_mean", "running_var"))
    gamma, beta = (group[f"{name}{number}"][0][:, None, None] for name in ("gamma", "beta"))
    got, expected = weight * (u - mean) / np.sqrt(var + EPS) + bias, gamma * u + beta
    error = np.abs(got - expected).max() / np.abs(gamma * u).max()
    program.check(error < tolerance, f"{label}: batch norm {number} is off its map by {error}")


def targets(folder, rng):
    images, target = os.path.join(folder, "images.h5"), os.path.join(folder, "target.h5")
    x = rng.uniform(0, 1, (N_IMAGES, *SHAPE))
    with h5py.File(images, "w") as f:
        f["images"] = x
    layers = [{"weight": rng.standard_normal((3, 3, 3, 3)) / 5, "bias": rng.standard_normal(3) / 5, "type": "conv2d",
               "activation": act, "stride": s, "padding": 1, "pool": "none", **more}
              for act, s, more in (("leaky-relu", 1, {"negative_slope": 0.25}), ("softplus", 2, {}))]
    program.write_target(target, layers, input_shape=np.array(SHAPE), input_min=0.0, input_max=1.0)
    return x, images, target, layers


def check_dataset(folder, rng):
    x, images, target, layers = targets(folder, rng)
    out = os.path.join(folder, "out.h5")
    first = activation("leaky-relu", convolve(x, layers[0]["weight"], (1, 1), (1, 1), (1, 1))
                       + layers[0]["bias"][:, None, None])
    for residual, rule, split, epsilon in program.some((("none", "max", "second", None), ("none", "min", "2x3+3x2", None),
                                           ("inner", "max", "first", None), ("none", "max", "first", "few"),
                                           ("outer", "min", "2x2+2x2", None))):
        label = f"{residual} {rule} {split} {epsilon}"
        wanted = ["--layers", 0] if residual == "outer" else []  # softplus cannot
        width = ["--features", 30] if epsilon else ["--overparam", 0.1]  # least squares: not the target's own statistics
        stored = []
        for ranks in (1, program.SEVERAL):
            done = program.launch(["reconstruct", "--target", target, "--dataset", images + ":/images", "--samples",
                                   N_IMAGES, "--seed", 8, "--kernel-split", split, "--residual", residual,
                                   "--width-rule", rule, "--solver", "lu" if not epsilon else "krylov",
                                   "--bn-statistics", "dataset", "--save", "gamma,weights", "--output", out, "--force",
                                   *wanted, *width], ranks)
            program.check(done.returncode == 0, f"{label}: {done.stderr}")
            if done.returncode != 0:
                return
            with h5py.File(out) as f:
                stored.append({(i, k): f[f"layers/{i:03d}/bn1_running_{k}"][...]
                               for i in range(2 - len(wanted) // 2) for k in ("mean", "var")})
        program.check(all(np.array_equal(stored[0][k], stored[1][k]) for k in stored[0]),
                      f"{label}: statistics of layer 1 depend on the number of ranks")
        with h5py.File(out) as f:
            for i, given in enumerate((x, first)[:1 if wanted else 2]):
                group = f[f"layers/{i:03d}"]
                program.check(group.attrs["bn_statistics"] in ("dataset", b"dataset"), label)
                u, v = inputs_of_pair(group, given, (3, 3), (1, 1))
                if residual == "outer":
                    skip = group["Ws"][0]
                    v = v + convolve(given, skip, (1, 1), (1, 1), (1, 1))
                for number, values in ((1, u), (2, v)):
                    mean, var = measured(values)
                    scale = np.sqrt(var + mean ** 2)
                    got_mean, got_var = group[f"bn{number}_running_mean"][0], group[f"bn{number}_running_var"][0]
                    off = max(np.abs((got_mean - mean) / scale).max(), np.abs((got_var - var) / scale ** 2).max())
                    # Layer 2's are those of a linear pair; softplus is one to its epsilon. Its input is the target's.
                    limit = 1e-12 if number == 1 else 1e-9 if i == 0 else 1e-5
                    print(f"{label} layer {i} batch norm {number}: statistics off by {off:.1e}")
                    program.check(off < limit, f"{label} layer {i}: statistics {number} off by {off}")
                    check_map(f"{label} layer {i}", group, number, values, 1e-11)


def check_file(folder, rng):
    """Statistics and biases of a file come back, and gamma, beta are those without."""
    source, goal, out = (os.path.join(folder, name) for name in ("source.h5", "goal.h5", "file.h5"))
    c1, c2, c0 = 60, 4, 3
    w1, w2 = rng.standard_normal((c1, c0, 2, 2)), rng.standard_normal((c2, c1, 1, 1))
    program.write_source(source, [(w1, w2)])
    with h5py.File(goal, "w") as f:
        f["w"] = rng.standard_normal((c2, c0, 2, 2))
    given = {"mu1": rng.standard_normal(c1), "var1": rng.uniform(0.1, 4, c1), "b1": rng.standard_normal(c1),
             "mu2": rng.standard_normal(c2), "var2": rng.uniform(0.1, 4, c2)}
    command = ["reconstruct", "--target", goal + ":/w", "--source", source, "--output", out, "--force"]

    def run(text, *more):
        done = program.launch(command + list(more), 1 if text and not program.ALL else 2)
        program.check(done.returncode == (2 if text else 0), f"'{text}': exit {done.returncode}: {done.stderr}")
        program.check(not text or text in done.stderr, f"'{text}' is not in: {done.stderr}")

    run("mu1", "--bn-statistics", "file")
    with h5py.File(source, "a") as f:
        for name, value in given.items():
            f[f"source/000/{name}"] = value
    run(None)
    with h5py.File(out) as f:
        plain = {name: f["layers/000"][name][0] for name in ("gamma1", "beta1", "gamma2", "beta2")}
        program.check("conv1_bias" not in f["layers/000"], "biases without statistics")
    run(None, "--bn-statistics", "file")
    with h5py.File(out) as f:
        group = f["layers/000"]
        program.check(all(np.array_equal(group[name][0], value) for name, value in plain.items()),
                      "statistics change the affine maps")
        for mine, theirs in (("bn1_running_mean", "mu1"), ("bn1_running_var", "var1"), ("conv1_bias", "b1"),
                             ("bn2_running_mean", "mu2"), ("bn2_running_var", "var2")):
            program.check(np.array_equal(group[mine][0], given[theirs]), f"{mine} is not {theirs}")
        program.check(not group["conv2_bias"][...].any(), "a bias that the file lacks")
        for number in (1, 2):
            bias, gamma, beta = (group[name][0] for name in (f"conv{number}_bias", f"gamma{number}", f"beta{number}"))
            z = rng.standard_normal(len(gamma))
            got = group[f"bn{number}_weight"][0] * (z + bias - given[f"mu{number}"]) / np.sqrt(
                given[f"var{number}"] + EPS) + group[f"bn{number}_bias"][0]
            off = np.abs(got - (gamma * z + beta)).max() / np.abs(gamma * z).max()
            program.check(off < 1e-13, f"file: batch norm {number} is off its map by {off}")
    for name, value, text in program.some((("var1", np.full(c1, -1.0), "cannot be negative"), ("mu2", np.zeros(3), "mu2"),
                              ("b1", np.full(c1, np.nan), "b1"), ("var2", None, "var2")), 2):
        with h5py.File(source, "a") as f:
            del f[f"source/000/{name}"]
            if value is not None:
                f[f"source/000/{name}"] = value
        run(text, "--bn-statistics", "file")
        with h5py.File(source, "a") as f:
            if value is not None:
                del f[f"source/000/{name}"]
            f[f"source/000/{name}"] = given[name]
    with h5py.File(source, "a") as f:
        f["source/000/var2"][1] = 0
    run("variance + bn-eps > 0", "--bn-statistics", "file", "--bn-eps", "0")


def check_refusals(folder):
    out = os.path.join(folder, "no.h5")
    random = ["reconstruct", "--c-out", 2, "--c-in", 2, "--output", out]
    trained = ["reconstruct", "--target", program.TRAINED, "--dataset", "fashion-mnist", "--samples", 2, "--output", out]
    for command, text in program.some((
            (random + ["--bn-statistics", "dataset"], "needs --dataset"), (random + ["--bn-statistics", "file"], "needs --source"),
            (random + ["--bn-statistics", "datset"], "dataset"),
            (trained + ["--bn-statistics", "dataset", "--save", "weights"], "--save gamma"),
            (trained + ["--bn-statistics", "dataset", "--seed", "1,2"], "--save gamma")), 2):
        done = program.launch(command, 2)
        program.check(done.returncode == 2 and text in done.stderr, f"'{text}': {done.returncode} {done.stderr}")
        program.check(len(done.stderr.strip().splitlines()) == 1 and not os.path.exists(out), f"'{text}': {done.stderr}")


def main():
    rng = np.random.default_rng(31)
    with program.folder() as folder:
        check_dataset(folder, rng)
        check_file(folder, rng)
        check_refusals(folder)
    program.finish()


main()
