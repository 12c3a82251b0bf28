"""Targets that are graphs, for tests/io/input_files.py and tests/experiments/check_graph.py."""
import os
import sys

import h5py
import numpy as np

sys.path.insert(0, os.path.join(os.path.dirname(__file__), "..", "..", "experiments", "tools"))
import target_check  # noqa: E402


def put(file, title, inputs, kind, arrays=(), **attributes):
    """A group of a target file; inputs None: the attribute is left out."""
    group = file.create_group(f"layers/{title}")
    group.attrs["type"] = kind
    if inputs is not None:
        group.attrs["inputs"] = inputs
    for key, value in attributes.items():
        group.attrs[key] = value
    for key, value in dict(arrays).items():
        group[key] = value
    return group


def kernel(rng, *shape):
    return rng.standard_normal(shape) * np.sqrt(2 / np.prod(shape[1:]))


def batch_norm(rng, channels):
    return {"bn_gamma": rng.uniform(0.5, 1.5, channels), "bn_beta": 0.1 * rng.standard_normal(channels),
            "bn_mean": 0.1 * rng.standard_normal(channels), "bn_var": rng.uniform(0.5, 1.5, channels)}


def residual_network(path, seed=1):
    """Two residual blocks, the second with a convolution beside it, and a head; a batch norm that cannot be
    folded, pools with padding. The names of the groups are not in the order of the graph."""
    rng = np.random.default_rng(seed)
    with h5py.File(path, "w") as f:
        f.attrs.update(input_shape=[2, 9, 8], input_scale=2.0 / 255, input_offset=-1.0, input_min=-1.0, input_max=1.0)
        put(f, "stem", "input", "conv2d", {"weight": kernel(rng, 4, 2, 3, 3), "bias": 0.1 * rng.standard_normal(4)},
            activation="relu", padding=1)
        put(f, "z pool", ["stem"], "max-pool", kernel=3, stride=[1, 2], padding=1)
        put(f, "block one a", ["z pool"], "conv2d", {"weight": kernel(rng, 4, 4, 3, 3), **batch_norm(rng, 4)},
            activation="relu", padding=1)
        put(f, "block one b", ["block one a"], "conv2d", {"weight": kernel(rng, 4, 4, 3, 3)}, activation="identity",
            padding=[1, 1])
        put(f, "add one", ["z pool", "block one b"], "add")
        put(f, "before", ["add one"], "batchnorm", batch_norm(rng, 4), activation="relu", bn_eps=1e-3)
        put(f, "a shortcut", ["before"], "conv2d", {"weight": kernel(rng, 6, 4, 1, 1)}, activation="identity",
            stride=2)
        put(f, "block two a", ["before"], "conv2d", {"weight": kernel(rng, 6, 4, 3, 3)}, activation="relu",
            padding=1, stride=2)
        put(f, "block two b", ["block two a"], "conv2d", {"weight": kernel(rng, 6, 6, 3, 3)}, activation="identity",
            padding=1)
        put(f, "add two", ["block two b", "a shortcut"], "add", activation="relu")
        put(f, "means", ["add two"], "average-pool", kernel=[3, 2], stride=1, padding=1, count_include_pad=0)
        put(f, "all", ["means"], "global-average-pool")
        put(f, "flat", ["all"], "flatten")
        weight = kernel(rng, 5, 6)
        put(f, "head", ["flat"], "linear", {"weight": weight - weight.mean(0)}, activation="identity")
    return path


def grouped_network(path, seed=3):
    """Convolutions with channels in groups (one a channel, and more, one group without weights), dilation, padding that
    differs from side to side, strides; a head."""
    rng = np.random.default_rng(seed)
    depthwise = kernel(rng, 6, 1, 3, 3)
    depthwise[2] = 0
    with h5py.File(path, "w") as f:
        f.attrs.update(input_shape=[2, 9, 8], input_scale=2.0 / 255, input_offset=-1.0, input_min=-1.0, input_max=1.0)
        put(f, "stem", "input", "conv2d", {"weight": kernel(rng, 6, 2, 3, 3), "bias": 0.1 * rng.standard_normal(6)},
            activation="relu", padding=[0, 1, 2, 1])
        put(f, "depthwise", ["stem"], "conv2d", {"weight": depthwise, **batch_norm(rng, 6)}, activation="relu",
            groups=6, padding=1)
        put(f, "pairs", ["depthwise"], "conv2d", {"weight": kernel(rng, 4, 3, 3, 2)}, activation="identity", groups=2,
            dilation=[2, 3], padding=[2, 1, 2, 2], stride=[2, 1])
        put(f, "wider", ["pairs"], "conv2d", {"weight": kernel(rng, 8, 1, 3, 3), "bias": 0.1 * rng.standard_normal(8)},
            activation="relu", groups=4, dilation=2, padding=[1, 1, 0, 2], stride=[1, 2])
        put(f, "all", ["wider"], "global-average-pool")
        weight = kernel(rng, 5, 8)
        put(f, "head", ["all"], "linear", {"weight": weight - weight.mean(0)}, activation="identity")
    return path


def all_operators(path, seed=2):
    """Every type of group, with the attributes that a chain does not have: groups of channels, dilation, padding of
    four numbers, an input that is read twice, numbered groups that read the one before."""
    rng = np.random.default_rng(seed)
    with h5py.File(path, "w") as f:
        f.attrs.update(input_shape=[3, 10, 7], input_min=-1.0, input_max=1.5)
        put(f, "000", None, "conv2d", {"weight": kernel(rng, 6, 1, 3, 3), "bias": rng.standard_normal(6)},
            activation="tanh", groups=3, padding=[2, 1, 0, 3])
        put(f, "001", None, "conv2d", {"weight": kernel(rng, 4, 3, 3, 2), **batch_norm(rng, 4)}, groups=2,
            activation="leaky-relu", negative_slope=0.2, dilation=[1, 2], padding=1)
        put(f, "002", ["001"], "average-pool", kernel=[2, 3], stride=2, padding=[1, 1, 0, 1], comment="free")
        put(f, "003", ["002"], "global-average-pool", activation="sigmoid")
        put(f, "004", ["002", "003"], "multiply", name="squeeze and excite")
        put(f, "005", None, "add", {"constant": rng.standard_normal(4)}, activation="silu")
        put(f, "006", None, "multiply", {"constant": rng.standard_normal(4)}, activation="Hard_Sigmoid", slope=0.3)
        put(f, "007", ["006", "002", "006"], "concat")
        put(f, "008", None, "batchnorm", batch_norm(rng, 12), activation="HardSwish")
        put(f, "009", None, "activation", activation="gelu")
        put(f, "010", ["009", "009"], "add", activation="clip", limit=1.25)
        put(f, "011", ["010"], "max-pool", kernel=2, stride=[2, 1], activation="relu6")
        put(f, "0115", ["011"], "clip", min=-1.5)
        put(f, "0116", ["0115"], "clip", min=-0.5, max=2.0)
        put(f, "0117", ["0116"], "softmax")
        put(f, "0118", ["0117"], "resize", scale=[2, 1])
        put(f, "01181", ["0118"], "Upsample", size=[3, 5])
        put(f, "0119", ["01181"], "reshape", shape=[4, 1, -1])
        put(f, "01195", ["0119"], "Conv1D", {"weight": kernel(rng, 6, 2, 3), "bias": rng.standard_normal(6)}, groups=2,
            activation="tanh", stride=2, padding=[2, 1], dilation=2)
        put(f, "01196", ["01195"], "conv1d", {"weight": kernel(rng, 4, 6, 3)}, activation="relu", padding=1)
        put(f, "012", ["01196"], "flatten", activation="softplus")
        with h5py.File(path + ".sizes", "w") as g:  # its extents are those of the rest
            f.copy("layers", g)
            g.attrs["input_shape"] = f.attrs["input_shape"]
            del g["layers/012"]
        size = target_check.forward(path + ".sizes", np.zeros((1, 3, 10, 7))).shape[1]
        os.remove(path + ".sizes")
        put(f, "013", ["012"], "linear", {"weight": kernel(rng, 5, size)}, activation="identity")
        x = rng.uniform(-1, 1.5, (4, 3, 10, 7))
        f["expected/x"] = x
    outputs = target_check.forward(path, x)
    with h5py.File(path, "a") as f:
        f["expected/outputs"] = outputs
    return path


def spoil(of, change):
    """A writer of the network `of` with a change."""
    def write(path):
        of(path)
        with h5py.File(path, "a") as f:
            change(f)
    return write


def attribute(group, name, value):
    def change(f):
        f[f"layers/{group}"].attrs[name] = value
    return change


def dataset(group, name, value):
    def change(f):
        f[f"layers/{group}"].pop(name, None)
        f[f"layers/{group}/{name}"] = value
    return change


def without(group, name):
    def change(f):
        del f[f"layers/{group}"].attrs[name]
    return change


def unread(f):
    f.copy("layers/block two b", "layers/dead end")


def large(width):
    def change(f):
        f.attrs["input_shape"] = [2, 1000000, width]
    return change


def no_shape(f):
    del f.attrs["input_shape"]
    f["layers/stem"].attrs.update(type="add", inputs=["input", "input"])
    del f["layers/stem/weight"], f["layers/stem/bias"], f["layers/stem"].attrs["padding"]


# A part of the message, and the writer of the file that it refuses.
BAD = [
    ("reads its own values", spoil(residual_network, attribute("stem", "inputs", ["add two"]))),
    ("/layers/before: reads its own values", spoil(residual_network, attribute("before", "inputs", ["before"]))),
    ("inputs names 'sten', but there is no group /layers/sten",
     spoil(residual_network, attribute("z pool", "inputs", ["sten"]))),
    ("unexpected member 'stem'; groups 000", spoil(residual_network, without("stem", "inputs"))),
    ("attribute inputs is not a text", spoil(residual_network, attribute("stem", "inputs", 3))),
    ("layer add two (add): 'stem' gives it 4 x 9 x 8 values, which do not fit the 6 x 5 x 2 of 'block two b'",
     spoil(residual_network, attribute("add two", "inputs", ["block two b", "stem"]))),
    ("'001' gives it 4 x 10 x 9 values, which do not fit the 8 x 5 x 5 of the inputs before it",
     spoil(all_operators, attribute("007", "inputs", ["006", "002", "001"]))),
    ("input_shape gives 2e+12 values of one image, the limit is 1e+12", spoil(residual_network, large(1000000))),
    ("layer stem gives 1.6e+12 values of one image", spoil(residual_network, large(400000))),
    ("layer 007 (concat): '001' gives it", spoil(all_operators, attribute("007", "inputs", ["006", "001"]))),
    ("layer 008 (batchnorm) has 12 channels but gets 4 x ", spoil(all_operators, attribute("008", "inputs", "002"))),
    ("layer block one a expects 4 input channels but gets 6",
     spoil(residual_network, lambda f: dataset("stem", "weight", np.ones((6, 2, 3, 3)))(f) or dataset(
         "stem", "bias", np.ones(6))(f))),
    ("unknown layer type 'ad'; did you mean 'add'?", spoil(residual_network, attribute("add one", "type", "ad"))),
    ("attribute 'axis' is not known for the type concat; it has type, inputs",
     spoil(all_operators, attribute("007", "axis", 1))),
    ("attribute ceil_mode is not supported",
     spoil(all_operators, attribute("011", "ceil_mode", 1))),
    ("member 'weight' is not known for the type add; it has constant",
     spoil(all_operators, dataset("010", "weight", np.ones(3)))),
    ("has 2 inputs; conv2d takes one", spoil(all_operators, attribute("001", "inputs", ["000", "000"]))),
    ("has 2 inputs; activation takes one", spoil(all_operators, attribute("009", "inputs", ["008", "008"]))),
    ("add takes two inputs or more", spoil(all_operators, attribute("010", "inputs", ["009"]))),
    ("has a constant and 2 inputs", spoil(all_operators, attribute("005", "inputs", ["004", "004"]))),
    ("layer 005 (batchnorm) has 3 channels", spoil(all_operators, dataset("005", "constant", np.ones(3)))),
    ("'input' is the name of the network's own input",
     spoil(residual_network, lambda f: f.move("layers/stem", "layers/input"))),
    ("its name ends with a blank", spoil(residual_network, lambda f: f.move("layers/stem", "layers/stem "))),
    ("layers dead end and head are both read by no other layer", spoil(residual_network, unread)),
    ("attribute kernel is missing", spoil(all_operators, without("011", "kernel"))),
    ("layer 002: its padding is as large as its window of 2 x 3",
     spoil(all_operators, attribute("002", "padding", 2))),
    ("layer 011: its kernel is 40 pixels high", spoil(all_operators, attribute("011", "kernel", [40, 1]))),
    ("attribute count_include_pad is 2", spoil(all_operators, attribute("002", "count_include_pad", 2))),
    ("groups is 4, which does not divide the 6 output", spoil(all_operators, attribute("000", "groups", 4))),
    ("layer 0119 (reshape) makes 7 x 1 x -1 values of 12 x 3 x 5", spoil(all_operators, attribute("0119", "shape", [7, 1, -1]))),
    ("attribute shape is -1, 1, -1; channels, height and width",
     spoil(all_operators, attribute("0119", "shape", [-1, 1, -1]))),
    ("has both size and scale; one of", spoil(all_operators, attribute("0118", "size", 3))),
    ("has neither size nor scale", spoil(all_operators, without("0118", "scale"))),
    ("has 2 axes, [outputs, inputs, width] are expected", spoil(all_operators, dataset("01196", "weight", np.ones((4, 6))))),
    ("has 3 axes, [outputs, inputs, height, width] are", spoil(all_operators, attribute("01196", "type", "conv2d"))),
    ("attribute slope is -0.3; a number above 0 is expected", spoil(all_operators, attribute("006", "slope", -0.3))),
    ("attribute limit is 0; a number above 0 is expected", spoil(all_operators, attribute("010", "limit", 0.0))),
    ("min, 3, is larger than max, 2", spoil(all_operators, attribute("0116", "min", 3.0))),
    ("min and max are both missing", spoil(all_operators, without("0115", "min"))),
    ("attribute input_shape is missing", spoil(residual_network, no_shape)),
]
