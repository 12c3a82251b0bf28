#!/usr/bin/env python3
"""Source networks as ONNX models: computed node by node they give the outputs of Norma's own run; chains, graphs, skip
connections, factored layers, several splits of kernels; refusals."""
import contextlib
import io
import os
import sys
import types

import h5py
import numpy as np

import program

try:
    import onnx
    import onnx.checker
    import onnx.shape_inference
except ImportError:
    print("skipped: ONNX (python3-onnx) is not installed")
    sys.exit(77)

sys.path[:0] = [os.path.join(program.SOURCE, "experiments", "tools"), os.path.join(program.SOURCE, "tests", "io")]
import graph_files  # noqa: E402
import source_onnx  # noqa: E402
import target_check  # noqa: E402

IMAGES = 5


def script(*arguments):
    """Runs `python3 source_onnx.py ARGUMENTS` in this process."""
    out, code = io.StringIO(), ""
    before, sys.argv = sys.argv, ["source_onnx.py", *map(str, arguments)]
    try:
        with contextlib.redirect_stdout(out):
            source_onnx.main()
    except SystemExit as left:
        code = left.code
    finally:
        sys.argv = before
    return types.SimpleNamespace(message=code, stdout=out.getvalue())


def chain(path, activation="relu"):
    """Convolutions with stride and padding, batch norm, both pools, a linear layer on all pixels and one behind it."""
    rng = np.random.default_rng(3)
    program.write_target(path, [
        dict(weight=graph_files.kernel(rng, 3, 2, 3, 3), bias=rng.standard_normal(3), type="conv2d",
             activation=activation, negative_slope=0.2, stride=1, padding=1, pool="max2", **graph_files.batch_norm(rng, 3)),
        dict(weight=graph_files.kernel(rng, 4, 3, 2, 3), type="conv2d", activation="leaky-relu", stride=[1, 2],
             padding=[0, 1], pool="none"),
        dict(weight=graph_files.kernel(rng, 6, 24), bias=rng.standard_normal(6), type="linear", activation=activation,
             **graph_files.batch_norm(rng, 6)),
        dict(weight=graph_files.kernel(rng, 5, 6), type="linear", activation="identity")],
        input_shape=np.array([2, 9, 8]), input_scale=[2 / 255, 1 / 100], input_offset=[-1.0, -0.5], input_min=-1.0,
        input_max=2.05)
    return path


def images(folder, target):
    """A file of a few images for the target, and the name by which Norma takes them."""
    with h5py.File(target) as f:
        shape = f.attrs["input_shape"]
    path = os.path.join(folder, f"images_{shape[0]}.h5")
    if not os.path.exists(path):
        with h5py.File(path, "w") as f:
            f["images"] = np.random.default_rng(4).integers(0, 256, (IMAGES, *shape), dtype=np.uint8)
    return path + ":/images"


def reconstruct(folder, label, target, options, save="gamma,weights"):
    out = os.path.join(folder, f"{label}.h5")
    done = program.launch(["reconstruct", "--target", target, "--dataset", images(folder, target), "--samples", IMAGES, "--seed", 7,
                           "--replicas", 2, "--save", save, "--output", out, *options])
    program.check(done.returncode == 0, f"{label}: {done.stderr}")
    return out


def equal(folder, label, target, options=(), digits=1e-7):
    """The model passes the checks of ONNX and gives Norma's outputs of the second replica, in FP64 and FP32."""
    out = reconstruct(folder, label, target, options)
    outputs, model = os.path.join(folder, f"{label}.outputs.h5"), os.path.join(folder, f"{label}.onnx")
    done = program.launch(["evaluate", out, "--output", outputs])
    program.check(done.returncode == 0, f"{label}: {done.stderr}")
    common = [out, "--output", model, "--replica", 1, "--samples", IMAGES, "--outputs", outputs, "--tolerance", digits,
              "--tolerance-outputs", digits]
    for more, kind in ((["--precision", "double"], onnx.TensorProto.DOUBLE),
                       (["--tolerance-single", 1e-2], onnx.TensorProto.FLOAT)):
        done = script(*common, *more)
        program.check(not done.message and "agrees with its target" in done.stdout, f"{label}: {done.message}")
        proto = onnx.load(model)
        onnx.checker.check_model(proto, full_check=True)
        inferred = onnx.shape_inference.infer_shapes(proto, strict_mode=True)
        program.check(inferred.graph.input[0].type.tensor_type.elem_type == kind, f"{label}: type of the input")
    print(f"{label}:\n{done.stdout}", end="")
    with h5py.File(target) as f, h5py.File(outputs) as g:
        x = source_onnx.inputs_of(h5py.File(images(folder, target).split(":")[0])["images"][...], f.attrs)
        expected = target_check.forward(target, x)
        program.check(np.abs(g["outputs_target"][...] - expected).max() < 1e-12, f"{label}: the target's outputs")
    return out


def refusals(folder, target, out):
    model = os.path.join(folder, "never.onnx")

    def refused(expected, path, *more):
        done = script(path, "--output", model, *more)
        program.check(expected in str(done.message), f"'{done.message}' lacks '{expected}'")
        program.check(not os.path.exists(model), f"{expected}: a file was written")

    bare = reconstruct(folder, "bare", target, (), "gamma")
    refused("holds no weights or no gamma", bare)
    refused("is not a result of norma reconstruct with a target file", target)
    refused("--samples is 9", out, "--samples", 9, "--outputs", os.path.join(folder, "chain.outputs.h5"),
            "--dataset", os.path.join(folder, "more.h5") + ":/images")
    refused("holds no outputs", out, "--outputs", out)
    refused("nothing.h5", out, "--target", "nothing.h5")
    with h5py.File(out, "a") as f:
        f["layers/001/bn2_bias"][:, 2] += 0.25
        refused("FP64, source against target: outputs differ by", out)
        text = f["configuration"].asstr()[()]
        del f["configuration"]
        f["configuration"] = text.replace('construction: "pair"', 'construction: "skip"')
    refused("does not rebuild --construction skip", out)


def main():
    with program.folder() as folder:
        target = chain(os.path.join(folder, "target.h5"))
        with h5py.File(os.path.join(folder, "more.h5"), "w") as f:
            f["images"] = np.zeros((9, 2, 9, 8), np.uint8)
        out = equal(folder, "chain", target)
        graph = graph_files.residual_network(os.path.join(folder, "target_graph.h5"))
        equal(folder, "graph", graph, ["--kernel-split", "first", "--layers", "0,2,7,13"])
        # Layers without a pair, with every other type of group and activation.
        equal(folder, "operators", graph_files.all_operators(os.path.join(folder, "target_operators.h5")), ["--layers", "19,21"], 1e-6)
        equal(folder, "groups", graph_files.grouped_network(os.path.join(folder, "grouped.h5")),
              ["--kernel-split", "2x2+2x2"])
        for label, options in program.some((
                ("outer", ["--residual", "outer", "--skip", "he-normal", "--bn-statistics", "dataset"]),
                ("inner", ["--residual", "inner", "--skip", "he-normal", "--width-rule", "max"]),
                ("low-rank", ["--construction", "low-rank", "--rank-tolerance", 1e-14]),
                ("activation", ["--activation", "tanh"]))):
            equal(folder, label, target, options, 1e-3 if label == "activation" else 1e-7)
        if program.ALL:
            for activation in ("gelu", "silu", "softplus", "sigmoid", "tanh", "relu6", "hard-sigmoid", "hard-swish", "clip"):
                hard = activation[0] in "rhc"
                equal(folder, activation, chain(os.path.join(folder, f"target_{activation}.h5"), activation),
                      [] if hard else ["--activation", "relu"], 1e-6)
            equal(folder, "graph whole", graph)
        refusals(folder, target, out)
    program.finish()


if __name__ == "__main__":
    main()
