"""ONNX models written as target files: every operation that is accepted, from models made by hand and, where PyTorch is
installed, from its exporter; whatever a target cannot express, refused by the name of the node."""
import os
import subprocess
import sys

import numpy as np

import program

try:
    from onnx import TensorProto, helper, numpy_helper
except ImportError:
    print("skipped: ONNX (python3-onnx) is not installed")
    sys.exit(77)
try:
    import torch
    from torch import nn
except ImportError:
    torch = None

TOOLS = os.path.join(program.SOURCE, "experiments", "tools")
sys.path.insert(0, TOOLS)
import onnx_target  # noqa: E402
import target_check  # noqa: E402

SHAPE = (2, 9, 8)
RNG = np.random.default_rng(5)


def normal(*shape):
    return RNG.standard_normal(shape).astype(np.float32)


def node(kind, inputs, output):
    return helper.make_node(kind, inputs, [output], output)


def make(nodes, constants=(), shape=("n", *SHAPE), opset=13):
    """A model of nodes: those of node(), or (op_type, names of further inputs, attributes), which take the
    output of the node before."""
    made, current = [], "x"
    for number, entry in enumerate(nodes):
        if isinstance(entry, tuple):
            kind, further, attributes = entry
            entry = helper.make_node(kind, [current, *further], [f"t{number}"], f"/{number}/{kind}", **attributes)
        made.append(entry)
        current = entry.output[0]
    value = helper.make_tensor_value_info
    graph = helper.make_graph(made, "graph", [value("x", TensorProto.FLOAT, shape)],
                              [value(current, TensorProto.FLOAT, None)],
                              [numpy_helper.from_array(np.asarray(v), k) for k, v in dict(constants).items()])
    return onnx_target.Model(helper.make_model(graph, opset_imports=[helper.make_opsetid("", opset)]))


def accepted(folder, label, model, shape=SHAPE):
    """Writes the target; returns its groups as dicts of datasets and attributes."""
    path = os.path.join(folder, "target.h5")
    try:
        onnx_target.write_target(path, model, shape)
    except (onnx_target.NotExpressible, target_check.Mismatch) as error:
        program.check(False, f"{label}: {error}")
        return None
    with program.h5py.File(path, "r") as f:
        return [{**dict(g.attrs), **{k: v[...] for k, v in g.items()}} for g in f["layers"].values()]


def expect(label, layer, **expected):
    for name, value in expected.items():
        found = layer.get(name)
        program.check(found is not None and np.array_equal(found, value), f"{label}: {name} is {found}, not {value}")


def refused(expected, *model, **options):
    try:
        onnx_target.write_target("never.h5", make(*model, **options), SHAPE)
        program.check(False, f"not refused: {expected}")
    except onnx_target.NotExpressible as error:
        program.check(expected in str(error), f"'{error}' lacks '{expected}'")


CONV = ("Conv", ["w"], {})
W = {"w": normal(3, 2, 3, 3)}


def known_answers(folder):
    """Datasets and attributes of the targets of models made by hand."""
    norm = {k: np.abs(normal(3)) for k in ("gamma", "beta", "mean", "var")}
    more = {"a": normal(30, 4), "b": normal(1, 4), "c": normal(4, 5), "d": normal(5), "bias": normal(3)}
    layers = accepted(folder, "a network", make(
        [("Conv", ["w", "bias"], {"strides": [2, 1], "pads": [1, 2, 1, 2]}),
         ("BatchNormalization", list(norm), {"epsilon": 1e-3}), ("LeakyRelu", [], {"alpha": 0.2}),
         ("MaxPool", [], {"kernel_shape": [2, 2], "strides": [2, 2]}), ("Dropout", [], {}), ("Flatten", [], {}),
         ("Gemm", ["a", "b"], {"alpha": 2.0, "beta": 0.5}), ("Tanh", [], {}), ("MatMul", ["c"], {}),
         ("Add", ["d"], {})], {**W, **norm, **more}))
    if layers:
        expect("convolution", layers[0], type="conv2d", weight=W["w"], bias=more["bias"], stride=(2, 1), padding=(1, 2),
               bn_gamma=norm["gamma"], bn_var=norm["var"], bn_eps=np.float64(np.float32(1e-3)), activation="leaky-relu",
               negative_slope=np.float64(np.float32(0.2)), pool="max2")
        expect("Gemm", layers[1], type="linear", weight=2 * more["a"].T, bias=more["b"][0] / 2, activation="tanh",
               pool="none")
        expect("MatMul", layers[2], weight=more["c"].T, bias=more["d"], activation="identity")

    layers = accepted(folder, "scale and shift", make([CONV, ("Mul", ["s"], {}), ("Sub", ["t"], {}), ("Relu", [], {})],
                                                      {**W, "s": normal(1, 3, 1, 1), "t": normal(3, 1, 1)}))
    if layers:
        expect("scale and shift", layers[0], bn_var=np.ones(3), bn_eps=0.0, activation="relu")
    for label, pads in (("SAME_UPPER", {"auto_pad": "SAME_UPPER"}), ("SAME_LOWER", {"auto_pad": "SAME_LOWER"})):
        layers = accepted(folder, label, make([("Conv", ["w"], pads)], W))
        if layers:
            expect(label, layers[0], padding=(1, 1))
    zeros = {"zeros": np.array([0, 0, 2, 1, 0, 0, 2, 1])}
    layers = accepted(folder, "Pad", make([("Pad", ["zeros"], {}), CONV], {**W, **zeros}))
    if layers:
        expect("Pad", layers[0], padding=(2, 1))
    for label, nodes in (("GlobalAveragePool", [("GlobalAveragePool", [], {})]),
                         ("ReduceMean", [("ReduceMean", [], {"axes": [-2, -1], "keepdims": 0})]),
                         ("AveragePool", [("AveragePool", [], {"kernel_shape": [7, 6]}), ("Squeeze", ["axes"], {})])):
        layers = accepted(folder, label, make([CONV, *nodes], {**W, "axes": np.array([2, 3])}))
        if layers:
            expect(label, layers[0], pool="global-average")
    for kind, name in (("Relu", "relu"), ("Sigmoid", "sigmoid"), ("Softplus", "softplus"), ("Gelu", "gelu"),
                       ("Swish", "silu")):
        layers = accepted(folder, kind, make([CONV, (kind, [], {})], W, opset=24))
        if layers:
            expect(kind, layers[0], activation=name)


def written_out(folder):
    """Activations in several nodes, by a network of any order; near ones are refused."""
    half, one, root = np.float32(0.5), np.float32(1), np.float32(2 ** 0.5)
    constants = {**W, "half": half, "one": one, "root": root, "three": np.float32(3)}
    conv = node("Conv", ["x", "w"], "c")
    gelu = [node("Mul", ["half", "c"], "h"), node("Div", ["c", "root"], "d"), node("Erf", ["d"], "e"),
            node("Add", ["one", "e"], "a"), node("Mul", ["h", "a"], "y")]
    silu = [node("Neg", ["c"], "m"), node("Exp", ["m"], "e"), node("Add", ["e", "one"], "a"),
            node("Div", ["c", "a"], "y")]
    short = [node("Sigmoid", ["c"], "s"), node("Mul", ["c", "s"], "y")]
    for name, nodes in (("gelu", gelu), ("silu", silu), ("silu", short)):
        layers = accepted(folder, name, make([conv, *nodes], constants))
        if layers:
            expect(name, layers[0], activation=name)
    wrong = [n if n.name != "a" else node("Add", ["three", "e"], "a") for n in gelu]
    refused("h (Mul): ", [conv, *wrong], constants)


def refusals():
    """By the name of the node."""
    pool = {"kernel_shape": [2, 2], "strides": [2, 2]}
    nan = np.full((3, 2, 3, 3), np.nan, np.float32)
    skip = [node("Conv", ["x", "w"], "c"), node("Relu", ["c"], "r"), node("Add", ["r", "c"], "sum")]
    for expected, nodes, further in (
            ("sum (Add): takes r and c; a target file has no skip connections", skip, {}),
            ("/0/Conv (Conv): group = 2", [("Conv", ["w"], {"group": 2})], {"w": normal(4, 1, 3, 3)}),
            ("/0/Conv (Conv): dilations = [2, 2]", [("Conv", ["w"], {"dilations": [2, 2]})], {}),
            ("/0/Conv (Conv): padding [1, 0, 1, 1]", [("Conv", ["w"], {"pads": [1, 0, 1, 1]})], {}),
            ("/0/Relu (Relu): stands in front", [("Relu", [], {}), CONV], {}),
            ("/1/Elu (Elu): has no counterpart", [CONV, ("Elu", [], {})], {}),
            ("/1/Softmax (Softmax): has no counterpart in a target file; a model", [CONV, ("Softmax", [], {})], {}),
            ("/1/MaxPool (MaxPool): only a maximum", [CONV, ("MaxPool", [], {**pool, "ceil_mode": 1})], {}),
            ("/1/MaxPool (MaxPool): only a maximum", [CONV, ("MaxPool", [], {"kernel_shape": [3, 3]})], {}),
            ("/1/AveragePool (AveragePool): only an average", [CONV, ("AveragePool", [], pool)], {}),
            ("/2/GlobalAveragePool (GlobalAveragePool): follows the pool",
             [CONV, ("MaxPool", [], pool), ("GlobalAveragePool", [], {})], {}),
            ("/2/Mul (Mul): follows the activation", [CONV, ("Relu", [], {}), ("Mul", ["s"], {})],
             {"s": normal(3, 1, 1)}),
            ("/1/Add (Add): has an operand of shape [6]", [CONV, ("Add", ["s"], {})], {"s": normal(6)}),
            ("/1/MatMul (MatMul): takes a tensor with 4 axes", [CONV, ("MatMul", ["s"], {})], {"s": normal(6, 2)}),
            ("/1/Gelu (Gelu): only the exact form", [CONV, ("Gelu", [], {"approximate": "tanh"})], {}),
            ("/1/Transpose (Transpose): makes", [CONV, ("Transpose", [], {"perm": [0, 2, 3, 1]})], {}),
            ("/0/Conv (Conv): cannot be computed from inputs of shapes", [CONV], {"w": normal(3, 4, 3, 3)}),
            ("/0/Conv (Conv): holds a number that is not finite", [CONV], {"w": nan})):
        refused(expected, nodes, {**W, **further})
    refused("--input-shape 2,9,8 does not fit the input x, [2, 9, 7]", [CONV], W, shape=("n", 2, 9, 7))


def exported(folder):
    """Models of PyTorch through its exporter, with and without folded constants; fixed batches."""
    torch.manual_seed(6)
    torch.set_num_threads(1)
    model = nn.Sequential(
        nn.Conv2d(2, 3, 3, padding=1), nn.BatchNorm2d(3), nn.Tanh(), nn.MaxPool2d(2), nn.Conv2d(3, 3, 2), nn.GELU(),
        nn.Conv2d(3, 3, 1), nn.SiLU(), nn.Flatten(), nn.Linear(27, 6), nn.BatchNorm1d(6), nn.LeakyReLU(0.2),
        nn.Linear(6, 5, bias=False), nn.Softplus()).eval()
    model[1].running_mean.normal_()
    model[1].running_var.uniform_(0.5, 2)
    path, target = (os.path.join(folder, n) for n in ("model.onnx", "exported.h5"))
    x = RNG.standard_normal((5, *SHAPE))
    for opset, batch, fold in ((9, 1, True), (13, 3, False), (16, None, False)):
        options = {} if fold else {"do_constant_folding": False, "training": torch.onnx.TrainingMode.PRESERVE}
        torch.onnx.export(model.float(), torch.randn(batch or 2, *SHAPE), path, opset_version=opset, input_names=["x"],
                          dynamic_axes=None if batch else {"x": {0: "n"}}, **options)
        done = subprocess.run([sys.executable, os.path.join(TOOLS, "onnx_target.py"), path, "--output", target,
                               "--input-range=-1,1"], capture_output=True, text=True, timeout=120, check=False)
        program.check(done.returncode == 0 and "5 layers" in done.stdout, f"opset {opset}: {done.stderr}")
        with torch.no_grad():
            expected = model.double()(torch.from_numpy(x)).numpy()
        difference = np.abs(target_check.forward(target, x) - expected).max() / np.abs(expected).max()
        # The exporter folds batch norm in FP32. Constants of GELU and epsilons are FP32 in any case.
        program.check(difference < 2e-6, f"opset {opset}: differs by {difference}")
        program.check(fold or difference < 1e-8, f"opset {opset}, not folded: differs by {difference}")


def reconstruction(folder):
    """Norma takes the file."""
    target = os.path.join(folder, "target.h5")
    onnx_target.write_target(target, make([CONV, ("Relu", [], {})], W), SHAPE, input_range=(-1, 1))
    done = program.launch(["reconstruct", "--target", target, "--seed", 1,
                           "--output", os.path.join(folder, "result.h5")])
    program.check(done.returncode == 0, f"reconstruct: {done.stderr}")


def files(folder):
    """Files that are no ONNX models."""
    path = os.path.join(folder, "wrong.onnx")
    with open(path, "w", encoding="utf-8") as f:
        f.write("a text")
    for name in (path, os.path.join(folder, "nothere.onnx")):
        try:
            onnx_target.load(name)
            program.check(False, f"{name} is read")
        except onnx_target.NotExpressible as error:
            program.check(f"{name}: cannot be read as an ONNX model" in str(error), str(error))


def main():
    with program.folder() as folder:
        known_answers(folder)
        written_out(folder)
        refusals()
        files(folder)
        reconstruction(folder)
        if torch:
            exported(folder)
    program.finish()


main()
