"""Wrong inputs: each must end with the right exit code and one message from one rank that names the culprit,
and leave no file behind. Every third runs on 1 rank, some of them also on 4 ranks (those of residuals, activations,
splits and data sets: on 3); with the argument `all` each does."""
import concurrent.futures
import os

import h5py
import numpy as np

import program

SMALL = ["--c-out", "2", "--c-in", "2", "--seed", "1"]


def damaged_targets(folder):
    """Target files that are wrong in one way each; returns {name: path}."""
    rng = np.random.default_rng(3)
    good = {"weight": rng.standard_normal((3, 2, 3, 3)), "bias": np.zeros(3), "type": "conv2d",
            "activation": "relu", "stride": 1, "padding": 1, "pool": "none"}
    root = {"input_shape": np.array([2, 6, 6]), "input_min": -1.0, "input_max": 1.0}
    paths = {name: os.path.join(folder, name + ".h5") for name in
             ("nan", "inf", "channels", "activation", "gap", "variance", "empty", "text", "truncated",
              "complex", "huge")}

    def variant(name, changes, second=None):
        layer = dict(good, **changes)
        program.write_target(paths[name], [layer] + ([second] if second else []), **root)

    bad = good["weight"].copy()
    bad[1, 0, 2, 1] = np.nan
    variant("nan", {"weight": bad})
    bad = bad.copy()
    bad[1, 0, 2, 1] = np.inf
    variant("inf", {"weight": bad})
    variant("channels", {}, dict(good, weight=rng.standard_normal((2, 5, 3, 3)), bias=np.zeros(2)))
    variant("activation", {"activation": "rellu"})
    variant("variance", {"bn_gamma": np.ones(3), "bn_beta": np.zeros(3), "bn_mean": np.zeros(3),
                         "bn_var": np.array([1.0, -2.0, 1.0])})
    variant("complex", {"weight": good["weight"] + 1j})
    variant("huge", {"weight": 1e308 * np.ones((3, 2, 3, 3)),
                     "bn_gamma": 100 * np.ones(3), "bn_beta": np.zeros(3), "bn_mean": np.zeros(3),
                     "bn_var": np.ones(3)})
    program.write_target(paths["gap"], [good, good], **root)
    paths["range"] = os.path.join(folder, "range.h5")
    program.write_target(paths["range"], [good], input_shape=root["input_shape"])
    with h5py.File(paths["gap"], "a") as f:
        f.move("layers/001", "layers/002")
    open(paths["empty"], "w").close()
    with open(paths["text"], "w") as f:
        f.write("this is no HDF5 file\n" * 100)
    with open(program.TRAINED, "rb") as f:
        whole = f.read()
    with open(paths["truncated"], "wb") as f:
        f.write(whole[:len(whole) // 2])
    return paths


def cases(folder):
    """(name, arguments, exit code, text that the message must contain)"""
    targets = damaged_targets(folder)
    config = os.path.join(folder, "run.yaml")
    with open(config, "w") as f:
        f.write("reconstruct:\n  c-out: 2\n  c-in: 2\n  widht-rule: max\n")
    malformed = os.path.join(folder, "malformed.yaml")
    with open(malformed, "w") as f:
        f.write("reconstruct:\n  c-out: [2, 3\n  c-in: 2\n")
    existing = os.path.join(folder, "existing.h5")
    with h5py.File(existing, "w") as f:
        f["x"] = 1
    zero = os.path.join(folder, "zero.h5")
    rng = np.random.default_rng(1)
    w1 = rng.standard_normal((4, 2))
    w1[3] = w1[2]
    w2 = rng.standard_normal((2, 4))
    w2[:, 3] = w2[:, 2]
    program.write_source(zero, [(w1, w2)])
    short = os.path.join(folder, "short.h5")
    program.write_source(short, [(rng.standard_normal((4, 3)), rng.standard_normal((2, 4)))])

    yield "no target", ["--seed", "1"], 2, "--target"
    yield "unknown flag", SMALL + ["--exces", "3"], 2, "--excess"
    yield "unknown solver", SMALL + ["--solver", "lux"], 2, "lu"
    yield "bad number", SMALL + ["--features", "1.5"], 2, "--features"
    yield "out of range", SMALL + ["--keep-probability", "1.5"], 2, "keep-probability"
    yield "keep of dense laws", SMALL + ["--source-dist", "he-normal,orthogonal", "--keep-probability", "0.3"], 2, "keep-probability"
    yield "exclusive", SMALL + ["--features", "4", "--excess", "1"], 2, "--features"
    yield "seed too large", ["--c-out", "2", "--c-in", "2", "--seed", "18446744073709551616"], 2, "seed"
    yield "single of a solver without", SMALL + ["--solver", "lu", "--solver-precision", "single"], 2, "only lbfgs"
    yield "single in one cell of two", SMALL + ["--solver", "lbfgs,qr", "--solver-precision", "single"], 2, "qr does not"
    yield "history of a solver without", SMALL + ["--solver", "svd", "--lbfgs-history", "3"], 2, "--lbfgs-history"
    yield "iterations of a solver without", SMALL + ["--solver", "qr", "--max-iterations", "3"], 2, "--max-iterations"
    yield "lu below minimum", SMALL + ["--solver", "lu", "--features", "3"], 2, "krylov"
    yield "unknown key", ["--config", config], 2, "run.yaml:4"
    yield "malformed yaml", ["--config", malformed], 2, "malformed.yaml"
    yield "missing config", ["--config", config + ".not"], 2, "run.yaml.not"
    yield "missing target", ["--target", "nowhere.h5"], 2, "nowhere.h5"
    yield "no range of inputs", ["--target", targets["range"]], 2, "range.h5: declares no input_min"
    yield "missing dataset", ["--target", program.TRAINED, "--dataset", "nowhere"], 2, "nowhere"
    yield "missing path", ["--target", program.TRAINED + ":/layers/000/wieght"], 2, "weight"
    yield "nan", ["--target", targets["nan"]], 2, "[1, 0, 2, 1]"
    yield "inf", ["--target", targets["inf"]], 2, "[1, 0, 2, 1]"
    yield "overflow", ["--target", targets["huge"]], 2, "overflows"
    yield "channels", ["--target", targets["channels"]], 2, "layer"
    yield "activation name", ["--target", targets["activation"]], 2, "relu"
    yield "missing layer", ["--target", targets["gap"]], 2, "001"
    yield "negative variance", ["--target", targets["variance"]], 2, "channel"
    yield "complex", ["--target", targets["complex"]], 2, "complex"
    yield "empty file", ["--target", targets["empty"]], 2, "empty.h5"
    yield "no hdf5", ["--target", targets["text"]], 2, "text.h5"
    yield "truncated", ["--target", targets["truncated"]], 2, "truncated.h5"
    yield "source shapes", SMALL + ["--source", short], 2, "short.h5"
    yield ("source of another cell", ["--seed", "1", "--c-in", "2", "--c-out", "2,50", "--source", zero], 2,
           "the target 50 and 2")
    yield "repeated feature", SMALL + ["--source", zero, "--solver", "lu"], 4, "singular"
    yield "too much memory", ["--c-out", "400", "--c-in", "400", "--solver", "lu"], 3, "ranks"
    yield "existing output", SMALL + ["--output", existing], 2, "--force"
    yield "missing folder", SMALL + ["--output", os.path.join(folder, "no", "out.h5")], 5, "no"


def damaged_sets(folder):
    """Data sets that are wrong in one way each; returns {name: what --dataset is given}."""
    rng = np.random.default_rng(9)
    sets = {}
    with h5py.File(os.path.join(folder, "sets.h5"), "w") as f:
        for name, images in (("nan", np.full((4, 28, 28), np.nan)), ("shape", rng.random((4, 3, 5, 5))),
                             ("bool", np.ones((4, 28, 28), bool)), ("axes", np.ones(28))):
            f[f"{name}/images"] = images
            sets[name] = f"{f.filename}:/{name}/images"
        f["counts/images"] = np.ones((4, 28, 28))
        f["counts/labels"] = np.arange(3)
        sets["counts"] = f"{f.filename}:/counts/images"
        sets["path"] = f"{f.filename}:/imges"
    header = (2051).to_bytes(4, "big") + b"".join(n.to_bytes(4, "big") for n in (5, 28, 28))
    for name, content in (("short-idx3-ubyte", header + bytes(3000)), ("magic-idx3-ubyte", b"\xff" * 20 + bytes(3920)),
                          ("cifar.bin", bytes(3073 + 100))):
        sets[name] = os.path.join(folder, name)
        with open(sets[name], "wb") as f:
            f.write(content)
    return sets


def feature_cases(folder):
    """The same for residuals, activations, splits, data sets, statistics."""
    sets = damaged_sets(folder)
    layer = {"weight": np.ones((2, 2, 3, 3)), "type": "conv2d", "activation": "relu", "stride": 1, "padding": 1}
    root = {"input_shape": np.array([2, 6, 6]), "input_min": 0.0, "input_max": 1.0}
    targets = {}
    for name, changes in (("stride", {"stride": 0}), ("padding", {"padding": -1}), ("pool", {"pool": "max3"}),
                          ("slope", {"activation": "leaky-relu", "negative_slope": -1.0}), ("tanh", {"activation": "tanh"})):
        targets[name] = os.path.join(folder, f"goal_{name}.h5")
        program.write_target(targets[name], [dict(layer, **changes)], **root)
    source = os.path.join(folder, "pair.h5")
    program.write_source(source, [(np.eye(4, 2), np.ones((2, 4)))])
    trained = ["--target", program.TRAINED, "--seed", "1", "--samples", "3"]
    fashion = trained + ["--dataset", "fashion-mnist"]
    conv = SMALL + ["--kernel", "3x3"]

    yield "skip without residual", SMALL + ["--skip", "he-normal"], 2, "give --residual"
    yield "skip's law", SMALL + ["--residual", "inner", "--skip", "he-norml"], 2, "he-normal"
    yield "skip's file", SMALL + ["--residual", "inner", "--skip", "./missing.h5"], 2, "missing.h5"
    yield "kernel of an identity", SMALL + ["--residual", "inner", "--skip-kernel", "target"], 2, "--skip a law"
    yield "outer skip and tanh", ["--target", targets["tanh"], "--residual", "outer"], 2, "an outer skip works with identity"
    yield "identity of 2 x 3", ["--c-out", "2", "--c-in", "3", "--residual", "outer"], 2, "an identity skip needs as many"
    yield ("no equation", ["--c-out", "3", "--c-in", "1", "--residual", "outer", "--skip", "normal", "--width-rule", "min"],
           2, "no equation is left")
    yield "layer 6 of 6", fashion + ["--layers", "6"], 2, "there is no layer 6"
    yield "epsilon of relu", fashion + ["--epsilon", "1e-3"], 2, "epsilon"
    yield "epsilon below its floor", ["--target", targets["tanh"], "--epsilon", "1e-18"], 2, "epsilon"
    yield "activation's name", SMALL + ["--activation", "geluu"], 2, "gelu"
    yield "bound without images", SMALL + ["--bound", "data"], 2, "--dataset"
    yield "samples without images", SMALL + ["--samples", "5"], 2, "--dataset"
    yield "split that does not cover", conv + ["--kernel-split", "2x2+1x1"], 2, "does not cover the target's 3x3"
    yield "split that is none", conv + ["--kernel-split", "3x+1x1"], 2, "HxW+HxW"
    yield "width and a source file", SMALL + ["--source", source, "--excess", "1"], 2, "--source decides"
    yield "replicas behind the last", SMALL + ["--replicas", "2", "--replica-offset", "16777215"], 2, "a seed has 16777216"
    yield "replicas of a source file", SMALL + ["--source", source, "--replicas", "2"], 2, "leave it out"
    yield "replica of a source file", SMALL + ["--source", source, "--replica-offset", "2"], 2, "leave it out"
    yield "statistics of no images", SMALL + ["--bn-statistics", "dataset"], 2, "needs --dataset"
    yield "statistics of no file", SMALL + ["--bn-statistics", "file"], 2, "needs --source"
    yield "bn-eps", SMALL + ["--bn-eps", "1"], 2, "bn-eps"
    yield "random target and file", fashion + ["--target-per-replica"], 2, "describes a random target"
    yield "precision", SMALL + ["--precision", "quad"], 2, "double"
    yield "orthogonal drawn again", SMALL + ["--source-dist", "orthogonal", "--store-weights", "no"], 2, "stored"
    yield "saved", SMALL + ["--save", "gama"], 2, "gamma"
    yield "stride 0", ["--target", targets["stride"]], 2, "stride"
    yield "padding -1", ["--target", targets["padding"]], 2, "padding"
    yield "pool", ["--target", targets["pool"]], 2, "max2"
    yield "negative slope", ["--target", targets["slope"]], 2, "negative_slope"
    yield "images: nan", trained + ["--dataset", sets["nan"]], 2, "nan at [0, 0, 0]"
    yield "images: shape", trained + ["--dataset", sets["shape"]], 2, "3 x 5 x 5"
    yield "images: bool", trained + ["--dataset", sets["bool"]], 2, "bool"
    yield "images: axes", trained + ["--dataset", sets["axes"]], 2, "axes"
    yield "images: labels", trained + ["--dataset", sets["counts"]], 2, "labels"
    yield "images: path", trained + ["--dataset", sets["path"]], 2, "imges"
    yield "images: short", trained + ["--dataset", sets["short-idx3-ubyte"]], 2, "short-idx3-ubyte"
    yield "images: no IDX", trained + ["--dataset", sets["magic-idx3-ubyte"]], 2, "magic-idx3-ubyte"
    yield "images: CIFAR", trained + ["--dataset", sets["cifar.bin"]], 2, "cifar.bin"


def refuse(folder, name, arguments, code, text, ranks):
    """One case; its output has a folder of its own, so that several run at a time."""
    with program.folder() as own:
        given = arguments if "--output" in arguments else arguments + ["--output", os.path.join(own, "result.h5")]
        done = program.launch(["reconstruct"] + given, ranks)
        left = os.listdir(own)
    label = f"{name} on {ranks} ranks"
    errors = [line for line in done.stderr.splitlines() if line.strip()]
    print(f"{done.returncode} {label}: {errors[-1].replace(folder, '...') if errors else '-'}")
    program.check(done.returncode == code, f"{label}: exit {done.returncode}, not {code}")
    program.check(sum("error" in line for line in errors) == 1, f"{label}: {errors}")
    program.check(any("error" in line and text in line for line in errors), f"{label}: '{text}' not in {errors}")
    program.check(not left, f"{label}: left {left}")


def main():
    with program.folder() as folder:
        several = [(case, 4) for case in cases(folder)] + [(case, 3) for case in feature_cases(folder)]
        before = set(os.listdir(folder))
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            list(pool.map(lambda case: refuse(folder, *case[0], 1), several[::1 if program.ALL else 5]))
        for case, ranks in several[::1 if program.ALL else 25]:
            refuse(folder, *case, ranks)
        left = set(os.listdir(folder)) - before
        program.check(not left, f"the refused runs left {left}")
    program.finish()


main()
