#!/usr/bin/env python3
"""ONNX models that are graphs, as MobileNets are: the target file equals the model computed node by node, and Norma's
own runs of target and source; refusals by the name of the node."""
import os
import subprocess
import sys

import h5py
import numpy as np

import program

try:
    import onnx
    from onnx import TensorProto, helper, numpy_helper
except ImportError:
    print("skipped: ONNX (python3-onnx) is not installed")
    sys.exit(77)

TOOLS = os.path.join(program.SOURCE, "experiments", "tools")
sys.path.insert(0, TOOLS)
import onnx_graph  # noqa: E402
import onnx_target  # noqa: E402
import target_check  # noqa: E402

SHAPE = (3, 12, 10)
IMAGES = 10
RNG = np.random.default_rng(11)


def normal(*shape):
    return (RNG.standard_normal(shape) * np.sqrt(2 / np.prod(shape[1:]))).astype(np.float32)


def proto(nodes, constants, output, shape=("n", *SHAPE), opset=14):
    """A model of (op_type, names of inputs, name of the output, attributes)."""
    value = helper.make_tensor_value_info
    made = [helper.make_node(kind, inputs, [out], out, **attributes) for kind, inputs, out, attributes in nodes]
    graph = helper.make_graph(made, "graph", [value("x", TensorProto.FLOAT, shape)],
                              [value(output, TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(np.asarray(v), k) for k, v in constants.items()])
    return helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)])


def mobile():
    """A MobileNetV3 in small: hard-swish in one node and in four, depthwise convolutions, squeeze and excite, a sum
    beside them, pools with windows, softmax: its nodes and constants."""
    norm = {f"{n}{k}": (np.abs(RNG.standard_normal(8)) + 0.5).astype(np.float32) for n in "gbmv" for k in (1, 2)}
    constants = {"w1": normal(8, 3, 3, 3), "wd": normal(8, 1, 3, 3), "ws": normal(4, 8, 1, 1), "bs": normal(4),
                 "we": normal(8, 4, 1, 1), "w2": normal(8, 8, 1, 1), "w3": normal(6, 16, 3, 2), "fc": normal(30, 5), "four": np.array([-1, 2, 1, 3]),
                 "twice": np.array([1, 1, 1, 2], np.float32), "other": np.array([1, 1, 5, 0.5], np.float32),
                 "fb": normal(5), "three": np.float32(3), "six": np.float32(6), "zero": np.float32(0),
                 "high": np.float32(2.5), "sc": normal(1, 8, 1, 1), **norm}
    nodes = [
        ("Conv", ["x", "w1"], "c1", {"pads": [1, 1, 1, 1], "strides": [2, 1]}),
        ("BatchNormalization", ["c1", "g1", "b1", "m1", "v1"], "n1", {}),
        ("Add", ["n1", "three"], "a1", {}), ("Clip", ["a1", "zero", "six"], "p1", {}), ("Mul", ["n1", "p1"], "q1", {}),
        ("Div", ["q1", "six"], "h1", {}),
        ("Conv", ["h1", "wd"], "d", {"pads": [2, 1, 1, 2], "group": 8}),
        ("BatchNormalization", ["d", "g2", "b2", "m2", "v2"], "n2", {}), ("HardSwish", ["n2"], "h2", {}),
        ("GlobalAveragePool", ["h2"], "g", {}), ("Conv", ["g", "ws", "bs"], "s", {}), ("Relu", ["s"], "r", {}),
        ("Conv", ["r", "we"], "e", {}), ("HardSigmoid", ["e"], "hs", {"alpha": 0.2, "beta": 0.5}),
        ("Mul", ["h2", "hs"], "m", {}), ("Conv", ["m", "w2"], "c2", {"pads": [0, 0, 0, 0]}),
        ("MaxPool", ["h1"], "mp", {"kernel_shape": [2, 2], "strides": [1, 1], "pads": [1, 1, 1, 1]}),
        ("Add", ["mp", "m"], "sum", {}), ("Mul", ["sc", "sum"], "scaled", {}),
        ("Concat", ["c2", "scaled"], "cat", {"axis": 1}),
        ("AveragePool", ["cat"], "ap", {"kernel_shape": [3, 3], "strides": [2, 2], "pads": [1, 1, 1, 1]}),
        ("Conv", ["ap", "w3"], "c3", {"dilations": [1, 2]}), ("Clip", ["c3", "", "high"], "top", {}),
        ("HardSigmoid", ["top"], "low", {"alpha": 0.3, "beta": 0.4}), ("Add", ["top", "low"], "both", {}),
        ("LeakyRelu", ["both"], "lr", {"alpha": 0.1}), ("ReduceMean", ["lr"], "mean", {"axes": [2, 3], "keepdims": 0}),
        ("Reshape", ["mean", "four"], "square", {}),
        ("Resize", ["square", "", "twice"], "wide", {"mode": "nearest"}),
        ("Resize", ["wide", "", "other"], "tall", {"mode": "nearest", "nearest_mode": "floor",
                                                   "coordinate_transformation_mode": "asymmetric"}),
        ("Flatten", ["tall"], "flat", {}), ("MatMul", ["flat", "fc"], "f", {}), ("Add", ["f", "fb"], "logits", {}),
        ("Softmax", ["logits"], "out", {"axis": 1})]
    return nodes, constants


def written(folder):
    """The script writes the file; Norma's target decides as the model, and its source network equals the target."""
    model, target, data, out = (os.path.join(folder, n) for n in ("m.onnx", "m.h5", "data.h5", "out.h5"))
    pixels = (RNG.uniform(30, 225, (IMAGES, 3, 1, 1)) + RNG.uniform(-30, 30, (IMAGES, *SHAPE))).astype(np.uint8)
    x = 0.01 * pixels.astype(float) - 1
    nodes, constants = mobile()
    # Logits around 0, so that the decisions differ.
    logits = onnx_graph.outputs(onnx_target.Model(proto(nodes[:-1], constants, "logits")), x)
    onnx.save(proto(nodes, {**constants, "fb": constants["fb"] - logits.mean(0).astype(np.float32)}, "out"), model)
    done = subprocess.run([sys.executable, os.path.join(TOOLS, "onnx_target.py"), model, "--input-shape", "3,12,10",
                           "--input-scale", "0.01", "--input-offset=-1", "--input-range=-1,1.55", "--output", target],
                          capture_output=True, text=True, check=False)
    print(done.stdout, end="")
    program.check(done.returncode == 0, done.stderr)
    expected = onnx_graph.outputs(onnx_target.load(model), x)
    difference = np.abs(target_check.forward(target, x) - expected).max()
    program.check(difference < 1e-13, f"the target differs from the model by {difference}")
    with h5py.File(data, "w") as f:
        f["images"], f["labels"] = pixels, expected.argmax(1).astype(np.int32)
    done = program.launch(["reconstruct", "--target", target, "--dataset", data + ":/images", "--samples", IMAGES,
                           "--seed", 3, "--output", out], ranks=2)
    program.check(done.returncode == 0, done.stderr)
    program.check("7 of 27 layers" in done.stderr and "conv2d" not in done.stderr and "1 softmax" in done.stderr,
                  f"what is kept: {done.stderr}")
    with h5py.File(out) as f:
        error, accuracy = float(f["output_max_error"][0]), float(f["accuracy_target"][0])
        n = int(np.isfinite(f["rmse"][0]).sum())
    print(f"{n} layers reconstructed, largest difference {error:.1e}, decisions {len(set(expected.argmax(1)))}")
    program.check(len(set(expected.argmax(1))) > 1, "the model decides the same for all images")
    program.check(n == 7 and error < 1e-9 and accuracy == 1, f"{n} {error} {accuracy}")


CONV = ("Conv", ["x", "w"], "c", {})


def refused(expected, nodes, constants=()):
    model = onnx_target.Model(proto([CONV, *nodes], {"w": normal(4, 3, 3, 3), **dict(constants)}, nodes[-1][2]))
    try:
        onnx_graph.write_target("never.h5", model, SHAPE)
        program.check(False, f"not refused: {expected}")
    except onnx_target.NotExpressible as error:
        program.check(expected in str(error), f"'{error}' lacks '{expected}'")


def renamed(folder):
    """A value with two names, by one of which it is read without its activation; write_target compares."""
    nodes = [CONV, ("Identity", ["c"], "i", {}), ("Relu", ["i"], "r", {}), ("Add", ["r", "c"], "a", {}),
             ("Identity", ["a"], "b", {}), ("Relu", ["b"], "out", {})]
    model = onnx_target.Model(proto(nodes, {"w": normal(4, 3, 3, 3)}, "out"))
    n, difference = onnx_graph.write_target(os.path.join(folder, "renamed.h5"), model, SHAPE)
    print(f"two names of a value: {n} groups, the file differs from the model by {difference:.1e}")
    program.check(n == 3 and difference < 1e-13, f"{n} groups, the file differs by {difference}")


def refusals():
    """By the name and operator of the node."""
    pool = {"kernel_shape": [3, 3], "strides": [2, 2]}
    for expected, nodes, constants in (
            ("e (Elu): has no counterpart", [("Elu", ["c"], "e", {})], {}),
            ("d (Div): divides a constant", [("Div", ["one", "c"], "d", {})], {"one": np.float32(1)}),
            ("d (Div): of two tensors", [("Relu", ["c"], "r", {}), ("Div", ["r", "c"], "d", {})], {}),
            ("a (Add): has an operand of shape [8]", [("Add", ["c", "s"], "a", {})], {"s": normal(8)}),
            ("p (MaxPool): ceil_mode adds", [("MaxPool", ["c"], "p", {**pool, "ceil_mode": 1})], {}),
            ("p (MaxPool): only windows", [("MaxPool", ["c"], "p", {**pool, "dilations": [2, 2]})], {}),
            ("z (Resize): only pixels at floor", [("Resize", ["c", "", "s"], "z", {"nearest_mode": "ceil"})],
             {"s": np.array([1, 1, 2, 2], np.float32)}),
            ("s (Softmax): takes axis", [("Softmax", ["c"], "s", {"axis": 3})], {}),
            ("j (Concat): only channels", [("Concat", ["c", "c"], "j", {"axis": 2})], {}),
            ("m (MatMul): takes a tensor with 4 axes", [("MatMul", ["c", "s"], "m", {})], {"s": normal(8, 2)}),
            ("t (Reshape): makes", [("Reshape", ["c", "s"], "t", {})], {"s": np.array([0, 2, -1])}),
            ("y (Conv): has a dilation and auto_pad",
             [("Conv", ["c", "v"], "y", {"dilations": [2, 2], "auto_pad": "SAME_UPPER"})], {"v": normal(2, 4, 3, 3)})):
        refused(expected, nodes, constants)


def main():
    with program.folder() as folder:
        written(folder)
        renamed(folder)
        refusals()
    program.finish()


if __name__ == "__main__":
    main()
