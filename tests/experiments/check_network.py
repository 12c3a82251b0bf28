"""A trained network, reconstructed, run, stored, evaluated again: agreement with the target and, through the
target, with the logits of the framework that trained it; a changed shift changes the outputs; the file can be
run again from the configuration it holds."""
import os
import shutil
import sys

import h5py
import numpy as np

import program

sys.path.insert(0, os.path.join(program.SOURCE, "experiments", "tools"))
import target_check  # noqa: E402


def evaluate(path, ranks=1):
    done = program.launch(["evaluate", path], ranks)
    program.check(done.returncode == 0, f"evaluate: {done.stderr}")
    rows = [line.split() for line in done.stdout.splitlines() if not line.startswith("#")]
    return {"differing": int(rows[0][3]), "max_error": float(rows[0][4]), "clipped": int(rows[0][8])}


def small_network(folder, activation="relu", **slope):
    """Two convolutions with batch norm and pools, one linear layer; images in an IDX file."""
    rng = np.random.default_rng(5)

    def bn(c):
        return {"bn_gamma": rng.uniform(0.5, 1.5, c), "bn_beta": rng.standard_normal(c),
                "bn_mean": rng.standard_normal(c), "bn_var": rng.uniform(0.5, 2, c), "bn_eps": 1e-5}

    path = os.path.join(folder, f"net_{activation}.h5")
    program.write_target(path, [
        dict(weight=rng.standard_normal((3, 1, 3, 3)), bias=rng.standard_normal(3), type="conv2d",
             activation=activation, stride=1,
             padding=1, pool="max2", **bn(3), **slope),
        dict(weight=rng.standard_normal((4, 3, 3, 3)), type="conv2d", activation=activation, stride=1,
             padding=1, pool="global-average", **bn(4), **slope),
        dict(weight=rng.standard_normal((5, 4)), bias=rng.standard_normal(5), type="linear",
             activation="identity", pool="none"),
    ], input_shape=np.array([1, 8, 8]), input_scale=1 / 127.5, input_offset=-1.0, input_min=-1.0,
        input_max=1.0)
    images = os.path.join(folder, "t10k-images-idx3-ubyte")
    with open(images, "wb") as f:
        f.write(b"\x00\x00\x08\x03" + np.array([20, 8, 8], ">i4").tobytes())
        f.write(rng.integers(0, 256, (20, 8, 8), dtype=np.uint8).tobytes())
    with open(os.path.join(folder, "t10k-labels-idx1-ubyte"), "wb") as f:
        f.write(b"\x00\x00\x08\x01" + np.array([20], ">i4").tobytes())
        f.write(rng.integers(0, 5, 20, dtype=np.uint8).tobytes())
    return path


def other_activations(folder):
    """leaky-relu is exact, tanh keeps the epsilon it was given, for the target's own activation and for another;
    clipping is counted, exactness claimed, only where it is due; an epsilon below the floor is refused with it."""
    out = os.path.join(folder, "activation.h5")
    leaky = small_network(folder, "leaky-relu", negative_slope=0.2)
    tanh = small_network(folder, "tanh")
    common = ["--dataset", folder, "--samples", "20", "--seed", "12", "--force", "--output", out]
    for label, target, options, limit, exact in program.some((
            ("leaky-relu", leaky, [], 1e-8, True),
            ("tanh", tanh, ["--epsilon", "1e-6"], 1e-4, False),
            ("tanh, no epsilon", tanh, [], 1e-6, False),
            ("sigmoid for leaky-relu", leaky, ["--activation", "sigmoid", "--epsilon", "1e-4"], 1e-2, False),
            ("softplus for tanh", tanh, ["--activation", "softplus", "--epsilon", "1e-7"], 1e-5, False),
            ("relu6 for leaky-relu", leaky, ["--activation", "relu6"], 1e-7, True),
            ("hard-sigmoid for tanh", tanh, ["--activation", "hard-sigmoid"], 1e-7, True),
            ("clip for tanh", tanh, ["--activation", "clip"], 1e-7, True),
            ("hard-swish for tanh", tanh, ["--activation", "hard-swish"], 1e-7, True)), 2):
        done = program.launch(["reconstruct", "--target", target] + options + common, ranks=2)
        program.check(done.returncode == 0, f"{label}: {done.stderr}")
        if done.returncode != 0:
            continue
        with h5py.File(out) as f:
            largest = float(f["output_max_error"][0])
            clipped = int(f["n_clipped"][0])
            epsilon = f["activation_epsilon"][0]
            floor = f["activation_epsilon_floor"][0]
            slope = f["layers/000"].attrs.get("negative_slope")
            stored = f["layers/000/linear_region"][0]
        print(f"{label}: largest difference {largest:.1e}, epsilon {epsilon}, floor {floor}")
        program.check(largest < limit and clipped == 0, f"{label}: {largest} {clipped}")
        program.check(("exact" in done.stdout) == exact, f"{label}: says exact or not: {done.stdout}")
        if label == "leaky-relu":
            program.check(slope == 0.2 and stored[0] == 0 and not epsilon.any(), f"{label}: {slope} {stored}")
        if "--epsilon" in options and "tanh" not in options:
            wanted = float(options[options.index("--epsilon") + 1])
            program.check(epsilon[0] == wanted, f"{label}: {epsilon}")
        again = evaluate(out, ranks=3 if program.ALL else 1)
        program.check(again["max_error"] == float(f"{largest:.8e}") and again["clipped"] == 0,
                      f"{label}: evaluate finds {again}")
    with h5py.File(out, "a") as f:
        f["layers/001/linear_region"][0, 0] += 3.0
    program.check(evaluate(out)["clipped"] > 0, "a narrower linear region clips nothing")

    done = program.launch(["reconstruct", "--target", tanh, "--epsilon", "1e-30"] + common)
    program.check(done.returncode == 2 and "epsilon 1e-30 is not attainable" in done.stderr, done.stderr)
    floor = float(done.stderr.split("rounding leaves ")[1].split()[0])
    program.check(1e-18 < floor < 1e-6, f"floor {floor}")
    done = program.launch(["reconstruct", "--target", leaky, "--epsilon", "1e-6"] + common)
    program.check(done.returncode == 2 and "epsilon" in done.stderr, done.stderr)


def some_layers(folder):
    """--layers: the others stay the target's own, in the run, in the file and when it is evaluated again."""
    out = os.path.join(folder, "some.h5")
    target = small_network(folder)
    common = ["reconstruct", "--target", target, "--dataset", folder, "--samples", 20, "--seed", 3, "--force", "--output",
              out, "--layers"]
    ranks = 2 if program.ALL else 1
    whole = program.launch(common[:-1], ranks)
    with h5py.File(out) as f:
        rmse = f["rmse"][0]
        gamma = f["layers/001/gamma1"][0]
    for layers in program.some(([1], [0, 2])):
        done = program.launch(common + [",".join(map(str, layers))], ranks)
        program.check(whole.returncode == 0 and done.returncode == 0, f"layers {layers}: {done.stderr}")
        with h5py.File(out) as f:
            given = np.isfinite(f["rmse"][0])
            program.check(list(np.flatnonzero(given)) == layers, f"layers {layers}: rmse of {np.flatnonzero(given)}")
            program.check(np.array_equal(f["rmse"][0][given], rmse[given]), f"layers {layers}: another answer")
            program.check(sorted(f["layers"]) == [f"{i:03d}" for i in layers], f"layers {layers}: {list(f['layers'])}")
            if layers == [1]:
                program.check(np.array_equal(f["layers/001/gamma1"][0], gamma), "gamma1 of layer 1 alone")
            largest = float(f["output_max_error"][0])
        program.check(largest < 1e-10, f"layers {layers}: {largest}")
        program.check(evaluate(out)["max_error"] == float(f"{largest:.8e}"), f"layers {layers}: evaluate")
        plan = program.launch(["plan"] + common + [",".join(map(str, layers))])
        rows = [line.split()[0] for line in plan.stdout.splitlines() if not line.startswith("#")]
        program.check(rows == [str(i) for i in layers], f"layers {layers}: plan of {rows}")
    done = program.launch(common + ["3"])
    program.check(done.returncode == 2 and "there is no layer 3" in done.stderr, done.stderr)


def outputs(folder):
    """evaluate --output: outputs whose difference is the largest error, with the same bits on any ranks; the target's
    equal numpy's. Refused for sweeps and for a file that is there."""
    target = small_network(folder)
    out, written = os.path.join(folder, "of_outputs.h5"), os.path.join(folder, "outputs.h5")
    done = program.launch(["reconstruct", "--target", target, "--dataset", folder, "--samples", 20, "--seed", 3,
                           "--replicas", 2, "--output", out])
    program.check(done.returncode == 0, done.stderr)
    before = None
    for ranks in (1, program.SEVERAL):
        done = program.launch(["evaluate", out, "--samples", 7, "--output", written, "--force"], ranks)
        program.check(done.returncode == 0, f"evaluate --output: {done.stderr}")
        printed = [float(line.split()[4]) for line in done.stdout.splitlines() if not line.startswith("#")]
        with h5py.File(written) as f:
            values = f["outputs_target"][...], f["outputs_source"][...]
            program.check(f.attrs["seed"] == 3, "the seed in the file")
        found = [float(f"{e:.8e}") for e in np.abs(values[1] - values[0]).max((1, 2))]
        program.check(found == printed, f"differences {found}, printed {printed}")
        program.check(before is None or all(map(np.array_equal, before, values)), f"{ranks} ranks: other bits")
        before = values
    program.check(before[0].shape == (7, 5) and before[1].shape == (2, 7, 5), f"{before[1].shape}")
    images = np.fromfile(os.path.join(folder, "t10k-images-idx3-ubyte"), np.uint8, offset=16).reshape(20, 1, 8, 8)[:7]
    difference = np.abs(target_check.forward(target, images / 127.5 - 1.0) - before[0]).max()
    program.check(difference < 1e-13, f"the target's outputs differ from numpy's by {difference}")
    done = program.launch(["evaluate", out, "--output", written])
    program.check(done.returncode == 2 and "exists" in done.stderr, f"a file that is there: {done.stderr}")
    sweep = os.path.join(folder, "of_a_sweep.h5")
    done = program.launch(["reconstruct", "--target", target, "--dataset", folder, "--samples", 20, "--seed", "3,4",
                           "--output", sweep])
    program.check(done.returncode == 0, done.stderr)
    done = program.launch(["evaluate", sweep, "--output", written, "--force"], 2)
    program.check(done.returncode == 2 and "holds the cells of a sweep" in done.stderr, f"a sweep: {done.stderr}")


def changed_target(folder):
    """evaluate refuses a target file that is no longer the one that was reconstructed."""
    out = os.path.join(folder, "of_a_target.h5")
    target = small_network(folder)
    done = program.launch(["reconstruct", "--target", target, "--dataset", folder, "--samples", 20, "--seed", 3,
                           "--output", out])
    program.check(done.returncode == 0, done.stderr)
    with h5py.File(target, "a") as f:
        f["layers/002/weight"][1, 2] *= 1.5
    done = program.launch(["evaluate", out], 2)
    program.check(done.returncode == 2 and "has changed since" in done.stderr, f"changed target: {done.stderr}")
    small_network(folder)
    program.check(evaluate(out)["max_error"] < 1e-10, "the target as it was")


def targets_per_replica(folder):
    """--target-per-replica: replica 0 has the usual target, the others their own, on any ranks alike."""
    gammas = {}
    for label, more, ranks in (("same", [], 1), ("own", ["--target-per-replica"], 1), ("ranks", ["--target-per-replica"], program.SEVERAL)):
        out = os.path.join(folder, label + ".h5")
        done = program.launch(["reconstruct", "--c-out", 3, "--c-in", 2, "--kernel", "3x3", "--replicas", 3, "--seed", 8,
                               "--width-rule", "min", "--output", out] + more, ranks)
        program.check(done.returncode == 0, f"{label}: {done.stderr}")
        with h5py.File(out) as f:
            gammas[label] = f["layers/000/gamma1"][...]
            program.check((f["rmse"][...] <= f["rmse_floor"][...]).all(), f"{label}: {f['rmse'][...]}")
    program.check(np.array_equal(gammas["same"][0], gammas["own"][0]), "replica 0 has another target")
    program.check(not np.allclose(gammas["same"][1:], gammas["own"][1:]), "the targets of replicas are the same")
    program.check(np.allclose(gammas["own"], gammas["ranks"], rtol=1e-9, atol=0), "targets depend on ranks")


def single_precision(folder):
    """The source network in FP32: near the target as far as the reported cost of the shift allows, no nearer than
    FP32 can be; the same from a stored result, on any ranks."""
    out = os.path.join(folder, "single.h5")
    for label, activation, slope in program.some((("sigmoid", "sigmoid", {}), ("relu", "relu", {}))):
        target = small_network(folder, activation, **slope)
        errors = {}
        for precision in ("double", "single"):
            done = program.launch(["reconstruct", "--target", target, "--dataset", folder, "--samples", "20",
                                   "--seed", "13", "--force", "--output", out, "--precision", precision], program.SEVERAL)
            program.check(done.returncode == 0, f"{label} {precision}: {done.stderr}")
            with h5py.File(out) as f:
                errors[precision] = float(f["output_max_error"][0])
                allowed = 100 * (f["shift_error_" + precision][0] + f["activation_epsilon"][0]).max()
                ratio = f["shift_error_single"][0] / f["shift_error_double"][0]
                clipped = int(f["n_clipped"][0])
                digits = f["digits_lost"][0]
            print(f"{label} {precision}: largest difference {errors[precision]:.1e}, digits lost {digits}")
            program.check(errors[precision] < allowed and clipped == 0,
                          f"{label} {precision}: {errors[precision]}, allowed {allowed}, clipped {clipped}")
            program.check((ratio == 2.0 ** 29).all(), f"{label} {precision}: {ratio}")
            again = evaluate(out)
            program.check(again["max_error"] == float(f"{errors[precision]:.8e}"),
                          f"{label} {precision}: evaluate finds {again}")
        program.check(errors["single"] > 1e-8 and errors["single"] > 1e4 * errors["double"],
                      f"{label}: single is no single precision: {errors}")


def main():
    with program.folder() as folder:
        net = small_network(folder)
        out = os.path.join(folder, "out.h5")
        for rule, bound in program.some((("max", "data"), ("min", "interval-deep"), ("max", "interval"),
                                         ("max", "interval-deep"), ("min", "data"), ("min", "interval")), 2):
            done = program.launch(
                ["reconstruct", "--target", net, "--dataset", folder, "--samples", "20", "--seed",
                 "11", "--width-rule", rule, "--overparam", "0.1", "--bound", bound, "--force",
                 "--output", out], program.SEVERAL)
            label = f"{rule} {bound}"
            program.check(done.returncode == 0, f"{label}: {done.stderr}")
            if done.returncode != 0:
                continue
            with h5py.File(out) as f:
                largest = float(f["output_max_error"][0])
                differing = int(f["n_decisions_differing"][0])
                clipped = int(f["n_clipped"][0])
                ratio = (f["rmse"][0] / f["rmse_floor"][0]).max()
                same = float(f["accuracy_source"][0]) == float(f["accuracy_target"][0])
            print(f"{label}: largest difference {largest:.1e}, rmse/floor {ratio:.2f}")
            program.check(largest < 1e-8 and differing == 0 and clipped == 0 and same,
                          f"{label}: {largest} {differing} {clipped}")
            program.check(ratio <= 1, f"{label}: rmse {ratio} times the floor")

        before = evaluate(out)
        again = evaluate(out, ranks=2)
        with h5py.File(out) as f:
            program.check(before["max_error"] == float(f"{f['output_max_error'][0]:.8e}"),
                          "evaluate does not repeat what the file says")
            configuration = f["configuration"][()].decode()
        program.check(before == again, "evaluate depends on the number of ranks")

        changed = os.path.join(folder, "changed.h5")
        shutil.copy(out, changed)
        with h5py.File(changed, "a") as f:
            f["layers/001/beta1"][0, 3] += 1.0
        after = evaluate(changed)
        print(f"one beta1 + 1: largest difference {before['max_error']:.1e} -> {after['max_error']:.1e}")
        program.check(after["max_error"] > 1e-3, "a changed beta1 does not change the outputs")

        config = os.path.join(folder, "again.yaml")
        with open(config, "w") as f:
            f.write(configuration)
        second = os.path.join(folder, "second.h5")
        done = program.launch(["reconstruct", "--config", config, "--output", second], program.SEVERAL)
        program.check(done.returncode == 0, f"configuration: {done.stderr}")
        with h5py.File(out) as a, h5py.File(second) as b:
            program.check(np.array_equal(a["layers/000/gamma1"][...], b["layers/000/gamma1"][...]),
                          "the stored configuration gives another gamma1")
        other_activations(folder)
        single_precision(folder)
        some_layers(folder)
        targets_per_replica(folder)
        changed_target(folder)
        outputs(folder)
    program.finish()


if __name__ == "__main__":
    main()
