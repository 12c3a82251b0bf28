"""norma reconstruct --align: least squares of the target whose channels are permuted by hand, numpy's residuals, the
order that norma align finds; a network that is exact only in another order; the source network run by numpy; skips,
factored targets, sweeps, norma evaluate; plan; refusals; with the argument `all` more searches and splits of kernels,
and stopped and resumed runs."""
import os

import h5py
import numpy as np

import program
from check_numpy import composite, embed

ONE_THREAD = {"OMP_NUM_THREADS": "1"}


def launch(arguments, ranks=1):
    done = program.launch(arguments, ranks, environment=ONE_THREAD)
    program.check(done.returncode == 0, f"{arguments}: exit {done.returncode}: {done.stderr}")
    return done


def reconstruct(target, out, *arguments, ranks=1):
    return launch(["reconstruct", "--target", target, "--solver", "qr", "--seed", 5, "--output", out, "--force",
                   *arguments], ranks)


def make_layers(random):
    """Two convolutions, then two linear layers, the first on flattened channels of 4 x 4 pixels."""
    shapes = ((6, 2, 3, 3), (5, 6, 3, 3), (8, 80), (3, 8))
    return [{"weight": random.standard_normal(s) / np.sqrt(np.prod(s[1:])), "bias": random.standard_normal(s[0]),
             "type": "conv2d" if len(s) == 4 else "linear", "activation": "relu" if len(s) == 4 or s[0] == 8 else
             "identity", **({"padding": 1} if len(s) == 4 else {})} for s in shapes]


def permute(layers, orders):
    """The same network with output channel i of layer l taken from orders[l][i]."""
    changed, before = [], None
    for layer, order in zip(layers, orders):
        weight, bias = layer["weight"], layer["bias"]
        if before is not None:
            blocks = weight.reshape(len(weight), len(before), -1)
            weight = blocks[:, before].reshape(weight.shape)
        changed.append({**layer, "weight": weight[order], "bias": bias[order]})
        before = order
    return changed


def convolve(x, weight):
    windows = np.lib.stride_tricks.sliding_window_view(x, weight.shape[2:], axis=(2, 3))
    return np.einsum("nchwij,ocij->nohw", windows, weight, optimize=True)


def forward(x, layers, pairs=None):
    """Outputs of the target, or of the source pairs (W1, W2, gamma1, beta1, gamma2, beta2) in its place."""
    for l, layer in enumerate(layers):
        conv = layer["weight"].ndim == 4
        x = x if conv else x.reshape(len(x), -1, 1, 1)
        x = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1))) if conv else x
        shaped = lambda v: v[:, None, None]
        if pairs:
            w1, w2, gamma1, beta1, gamma2, beta2 = pairs[l]
            hidden = shaped(gamma1) * convolve(x, w1) + shaped(beta1)
            hidden = np.maximum(hidden, 0) if layer["activation"] == "relu" else hidden
            x = shaped(gamma2) * convolve(hidden, w2) + shaped(beta2)
        else:
            weight = layer["weight"] if conv else layer["weight"][:, :, None, None]
            x = convolve(x, weight) + shaped(layer["bias"])
        x = np.maximum(x, 0) if layer["activation"] == "relu" else x
    return x.reshape(len(x), -1)


def read_orders(f, n_layers, replica=0, root=""):
    return [f[f"{root}/layers/{l:03d}/permutation"][replica] for l in range(n_layers)]


def least_squares(f, l, target):
    """RMSE that the features of layer l leave of a target."""
    w1, w2 = f[f"layers/{l:03d}/W1"][0], f[f"layers/{l:03d}/W2"][0]
    kr = composite(w1, w2)
    m = kr.reshape(-1, kr.shape[-1])
    wide = embed(target if target.ndim == 4 else target[:, :, None, None], kr.shape[2:4]).ravel()
    left = wide - m @ np.linalg.lstsq(m, wide, rcond=None)[0]
    return np.sqrt(np.mean(left ** 2))


def check_network(folder, layers, x):
    target, images, out, permuted, other = (os.path.join(folder, n + ".h5") for n in
                                            ("target", "images", "out", "permuted", "other"))
    shape = {"input_shape": (2, 4, 4), "input_min": -1.0, "input_max": 1.0}
    program.write_target(target, layers, **shape)
    with h5py.File(images, "w") as f:
        f["images"] = x
    data = ["--dataset", images + ":/images", "--samples", len(x)]
    expected = forward(x, layers)
    cases = [("swaps", "orthogonal", 2, "first", ["--restarts", 4]), ("greedy", "he-normal", 1, "second", []),
             ("anneal", "he-normal", 2, "2x3+2x1", ["--anneal-starts", 1, "--anneal-sweeps", 3])]
    for search, law, ranks, split, budget in program.some(cases):
        drawn = ["--overparam", -0.1, "--source-dist", law, "--kernel-split", split]
        common = [*drawn, *data]
        label = f"{search} {law}"
        reconstruct(target, out, "--align", search, *budget, "--save", "gamma,weights", *common, ranks=ranks)
        with h5py.File(out) as f:
            orders = read_orders(f, 4)
            rmse, given, error, rms = (f[n][0] for n in ("rmse", "rmse_given_order", "output_max_error", "output_rmse"))
            for l, order in enumerate(orders):
                program.check(sorted(order) == list(range(len(order))), f"{label}: {order} is no permutation")
            program.check(list(orders[3]) == [0, 1, 2], f"{label}: the last layer is permuted: {orders[3]}")
            program.check(any(list(o) != sorted(o) for o in orders), f"{label}: nothing is permuted")
            changed = permute(layers, orders)
            before = permute(layers, orders[:1] + [np.arange(len(o)) for o in orders[1:]])
            for l in range(4):
                wanted = least_squares(f, l, changed[l]["weight"])
                program.check(abs(rmse[l] - wanted) < 1e-12 * wanted, f"{label} {l}: {rmse[l]}, numpy {wanted}")
            for l, weight in ((0, layers[0]["weight"]), (1, before[1]["weight"])):
                wanted = least_squares(f, l, weight)
                program.check(abs(given[l] - wanted) < 1e-12 * wanted, f"{label} {l}: given {given[l]}, numpy {wanted}")
            program.check(np.isnan(given[3]) and np.all(rmse[:3] <= given[:3] * (1 + 1e-12)), f"{label}: {rmse} {given}")
            arrays = [[f[f"layers/{l:03d}/{n}"][0] for n in ("W1", "W2", "gamma1", "beta1", "gamma2", "beta2")]
                      for l in range(4)]
        program.check(np.allclose(forward(x, changed), expected, atol=1e-12), f"{label}: not the same target")
        off = np.abs(forward(x, layers, arrays) - expected)
        program.check(abs(off.max() - error) < 1e-9 and abs(np.sqrt(np.mean(off ** 2)) - rms) < 1e-9,
                      f"{label}: outputs off by {error}, {rms}; numpy {off.max()}, {np.sqrt(np.mean(off ** 2))}")
        program.write_target(permuted, changed, **shape)
        reconstruct(permuted, other, *common, ranks=ranks)
        with h5py.File(other) as f:
            program.check(np.allclose(f["rmse"][0], rmse, rtol=1e-12, atol=0), f"{label}: {rmse}, {f['rmse'][0]}")
            program.check(np.isclose(f["output_max_error"][0], error, rtol=1e-8), f"{label}: {error}")
        if search == "greedy":
            reconstruct(target, other, *common, ranks=ranks)
            with h5py.File(other) as f:
                plain = f["rmse"][0]
                program.check("rmse_given_order" not in f and "permutation" not in f["layers/000"], f"{label}: not asked for")
                program.check(abs(plain[0] - given[0]) < 1e-12 * plain[0], f"{label}: {plain[0]}, given {given[0]}")
                print(f"{label}: RMSE {rmse}, without {plain}; outputs {rms:.3g}, without {f['output_rmse'][0]:.3g}")
        if search == "swaps":
            printed = float(launch(["evaluate", out], ranks).stdout.split("\n")[1].split()[4])
            program.check(abs(printed - error) < 1e-8 * error, f"{label}: norma evaluate finds {printed}, the run {error}")
            # The same order as norma align finds.
            launch(["align", "--target", target, "--layer", 0, *drawn, "--search", search, *budget, "--left-out", "last",
                    "--seed", 5, "--output", other, "--force"])
            with h5py.File(other) as f:
                program.check(np.array_equal(f["permutation"][0, 0], orders[0]), f"{label}: norma align differs")

    if not program.ALL:
        return target
    # Skip connections that are drawn stay at their channels.
    skips = ["--residual", "inner", "--skip", "he-normal", "--overparam", -0.1]
    reconstruct(target, out, "--align", "swaps", *skips)
    with h5py.File(out) as f:
        rmse, given = f["rmse"][0], f["rmse_given_order"][0]
        program.write_target(permuted, permute(layers, read_orders(f, 4)), **shape)
    reconstruct(permuted, other, *skips)
    with h5py.File(other) as f:
        program.check(np.allclose(f["rmse"][0], rmse, rtol=1e-12, atol=0), f"skips: {rmse}, {f['rmse'][0]}")
    reconstruct(target, other, *skips)
    with h5py.File(other) as f:
        program.check(abs(f["rmse"][0, 0] - given[0]) < 1e-12, f"skips: {f['rmse'][0]}, given {given}")
    program.check(rmse[0] < 0.9 * given[0], f"skips: {rmse} gains nothing over {given}")

    # The channels between two factors of a layer.
    reconstruct(target, out, "--construction", "low-rank", "--overparam", -0.05, "--align", "greedy", *data)
    with h5py.File(out) as f:
        error, widths = f["output_max_error"][0], [len(o) for o in read_orders(f, 8)]
    program.check(widths == [6, 6, 5, 5, 8, 8, 3, 3], f"low-rank: {widths} channels")
    printed = float(launch(["evaluate", out]).stdout.split("\n")[1].split()[4])
    program.check(abs(printed - error) < 1e-8 * error, f"low-rank: norma evaluate finds {printed}, the run {error}")

    # A sweep over searches.
    reconstruct(target, out, "--align", "none,greedy,exhaustive", "--overparam", -0.1)
    with h5py.File(out) as f:
        rmse, given = f["rmse"][..., 0].ravel(), f["rmse_given_order"][..., 0].ravel()
        program.check(f["align"].shape == (3,) and np.ptp(given) == 0, f"sweep: {given}")
        program.check(abs(rmse[0] - given[0]) < 1e-12 and rmse[2] <= rmse[1] <= rmse[0], f"sweep: {rmse}, {given}")
        program.check(list(f["cells/000000/layers/000/permutation"][0]) == list(range(6)), "sweep: none permutes")
        program.check(list(f["cells/000002/layers/003/permutation"][0]) == [0, 1, 2], "sweep: the last layer")
    return target


def unit_features(c2, c0, missing):
    """Features of a single weight each, those of the places (row, column) in `missing` left out."""
    places = [(i, c) for i in range(c2) for c in range(c0) if (i, c) not in missing]
    w1, w2 = np.zeros((len(places), c0)), np.zeros((c2, len(places)))
    for j, (i, c) in enumerate(places):
        w1[j, c] = w2[i, j] = 1
    return w1, w2


def check_exact(folder, random):
    """Row 2 of the first layer fits the missing features of channel 5; only then a row of the second layer that needs
    channel 2 alone fits the single feature of its channel 3, that of input 5."""
    target, source, images, out = (os.path.join(folder, n + ".h5") for n in ("exact", "source", "pixels", "out"))
    weights = [random.uniform(1, 2, s) for s in ((6, 5), (6, 6), (3, 6))]
    weights[0][2, 2:] = 0
    weights[1][1] = [0, 0, 3, 0, 0, 0]
    program.write_target(target, [{"weight": w, "type": "linear", "activation": "relu"} for w in weights],
                         input_shape=(5, 1, 1), input_min=-1.0, input_max=1.0)
    program.write_source(source, [unit_features(6, 5, {(5, 2), (5, 3), (5, 4)}),
                                  unit_features(6, 6, {(3, c) for c in range(5)}), unit_features(3, 6, set())])
    with h5py.File(images, "w") as f:
        f["images"] = random.uniform(-1, 1, (20, 5, 1, 1))
    for search in program.some(("swaps", "assignment", "assignment-printed")):
        arguments = ["--source", source, "--dataset", images + ":/images", "--samples", 20, "--align", search]
        reconstruct(target, out, *arguments, ranks=1 + (search == "swaps"))
        with h5py.File(out) as f:
            first, second, last = read_orders(f, 3)
            program.check(first[5] == 2 and second[3] == 1 and list(last) == [0, 1, 2], f"exact: {first}, {second}")
            program.check(np.all(f["rmse"][0] < 1e-14) and f["output_max_error"][0] < 1e-12,
                          f"exact {search}: RMSE {f['rmse'][0]}, outputs off by {f['output_max_error'][0]}")
    printed = float(launch(["evaluate", out]).stdout.split("\n")[1].split()[4])
    program.check(printed < 1e-12, f"exact: norma evaluate finds {printed}")


def check_resume(folder, target):
    straight, stopped = (os.path.join(folder, n) for n in ("straight.h5", "stopped.h5"))
    command = ["--overparam", "-0.1,-0.2", "--align", "anneal", "--anneal-starts", 1, "--replicas", 6, "--save", "gamma",
               "--group-size", 1]
    reconstruct(target, straight, *command, ranks=2)
    program.stop_and_resume(["reconstruct", "--target", target, "--solver", "qr", "--seed", 5, *command, "--output", stopped],
                            3, ONE_THREAD)
    with h5py.File(straight) as a, h5py.File(stopped) as b:
        for name in ("rmse", "rmse_given_order"):
            program.check(np.array_equal(a[name][...], b[name][...], equal_nan=True), f"resumed: {name} differs")
        for cell in range(2):
            for l in range(4):
                for name in ("permutation", "gamma1", "beta2"):
                    path = f"cells/{cell:06d}/layers/{l:03d}/{name}"
                    program.check(np.array_equal(a[path][...], b[path][...]), f"resumed: {path} differs")


def check_refusals(folder, target):
    out = os.path.join(folder, "refused.h5")
    base = ["--target", target, "--overparam", -0.1, "--align", "greedy"]
    cases = [
        (["--c-out", 3, "--c-in", 3, "--align", "greedy"], "a random target has a single layer"),
        ([*base, "--layers", "0,2"], "the input channels of layer 1 follow its order"),
        ([*base, "--layers", 3], "is the last of the target"),
        ([*base, "--width-rule", "min"], "is for --width-rule max"),
        ([*base, "--residual", "inner"], "an identity skip keeps every channel at its place"),
        ([*base, "--residual", "outer", "--skip", "identity"], "an identity skip keeps every channel at its place"),
        ([*base[:-1], "assignment-printed"], "id-cond"),
        ([*base[:-1], "assignment-printed", "--source-dist", "id-cond", "--residual", "inner", "--skip", "he-normal"],
         "counts weights of the target alone"),
        ([*base[:-1], "simulated"], "unknown"),
        ([*base, "--construction", "skip"], "not with --construction skip"),
        ([*base[:-2], "--restarts", 3], "needs --align"),
    ]
    for arguments, text in program.some(cases, 2):
        done = program.launch(["reconstruct", *arguments, "--seed", 1, "--output", out], environment=ONE_THREAD)
        program.check(done.returncode == 2 and text in done.stderr,
                      f"{arguments}: exit {done.returncode}: {done.stderr}")
        program.check(not os.path.exists(out), f"{arguments}: left a result")
    wide = os.path.join(folder, "wide.h5")
    program.write_target(wide, [{"weight": np.ones(s), "type": "linear", "activation": "relu"} for s in ((10, 4), (2, 10))],
                         input_shape=(4, 1, 1), input_min=-1.0, input_max=1.0)
    done = program.launch(["reconstruct", "--target", wide, "--overparam", -0.1, "--align", "exhaustive", "--output", out])
    program.check(done.returncode == 2 and "layer 0" in done.stderr and "at most 9" in done.stderr, done.stderr)
    # With as many features as weights there is nothing to search for.
    reconstruct(target, out, "--align", "swaps", "--overparam", 0.1, "--layers", "0,2")
    with h5py.File(out) as f:
        program.check(np.isnan(f["rmse_given_order"][0, [0, 2]]).all(), f"wide: {f['rmse_given_order'][0]}")
        program.check(list(f["layers/002/permutation"][0]) == list(range(8)), "wide: permuted")
    done = launch(["plan", "reconstruct", *base])
    program.check("orders of channels" in done.stdout, f"plan: {done.stdout}")


def main():
    random = np.random.default_rng(42)
    with program.folder() as folder:
        target = check_network(folder, make_layers(random), random.uniform(-1, 1, (15, 2, 4, 4)))
        check_exact(folder, random)
        if program.ALL:
            check_resume(folder, target)
        check_refusals(folder, target)
    program.finish()


if __name__ == "__main__":
    main()
