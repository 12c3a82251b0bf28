"""A trained network, reconstructed, run, stored, evaluated again: agreement with the target and, through the
target, with the logits of the framework that trained it; a changed shift changes the outputs; the file can be
run again from the configuration it holds."""
import os
import shutil

import h5py
import numpy as np

import program


def evaluate(path, ranks=1):
    done = program.launch(["evaluate", path], ranks)
    program.check(done.returncode == 0, f"evaluate: {done.stderr}")
    rows = [line.split() for line in done.stdout.splitlines() if not line.startswith("#")]
    return {"differing": int(rows[0][3]), "max_error": float(rows[0][4]), "clipped": int(rows[0][8])}


def small_network(folder):
    """Two convolutions with batch norm and pools, one linear layer; images in an IDX file."""
    rng = np.random.default_rng(5)

    def bn(c):
        return {"bn_gamma": rng.uniform(0.5, 1.5, c), "bn_beta": rng.standard_normal(c),
                "bn_mean": rng.standard_normal(c), "bn_var": rng.uniform(0.5, 2, c), "bn_eps": 1e-5}

    path = os.path.join(folder, "net.h5")
    program.write_target(path, [
        dict(weight=rng.standard_normal((3, 1, 3, 3)), bias=rng.standard_normal(3), type="conv2d",
             activation="relu", stride=1, padding=1, pool="max2", **bn(3)),
        dict(weight=rng.standard_normal((4, 3, 3, 3)), type="conv2d", activation="relu", stride=1,
             padding=1, pool="global-average", **bn(4)),
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


def main():
    with program.folder() as folder:
        net = small_network(folder)
        out = os.path.join(folder, "out.h5")
        for rule in ("max", "min"):
            for bound in ("data", "interval", "interval-deep"):
                done = program.launch(
                    ["reconstruct", "--target", net, "--dataset", folder, "--samples", "20", "--seed",
                     "11", "--width-rule", rule, "--overparam", "0.1", "--bound", bound, "--force",
                     "--output", out], ranks=3)
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
        done = program.launch(["reconstruct", "--config", config, "--output", second], ranks=3)
        program.check(done.returncode == 0, f"configuration: {done.stderr}")
        with h5py.File(out) as a, h5py.File(second) as b:
            program.check(np.array_equal(a["layers/000/gamma1"][...], b["layers/000/gamma1"][...]),
                          "the stored configuration gives another gamma1")
    program.finish()


main()
