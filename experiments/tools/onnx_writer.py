"""ONNX nodes of the groups of a target file, and of source pairs in their places, for source_onnx.py.

Values are [samples, channels, height, width] throughout; linear layers take and give single pixels. Every affine map
of a batch norm is written as its scale and shift, rounded once.
"""
import numpy as np
from onnx import TensorProto, helper, numpy_helper

import target_check
import target_graph
from source_pair import NotRebuilt, dilation_and_groups, pair, paddings, shape_of
from target_layers import KERNELS, POOLS, TYPES, activation_of, canonical, geometry, images_weight

OPSET = 14
# An ONNX file is one message of protobuf.
LARGEST = 2**31 - 2**20
# Activations that are one operator.
OPERATORS = {"relu": "Relu", "tanh": "Tanh", "sigmoid": "Sigmoid", "softplus": "Softplus", "hard-swish": "HardSwish"}


class Writer:
    """Nodes and constants so far; every method returns the name of the value that it adds."""

    def __init__(self):
        self.nodes, self.constants = [], {}
        self.exact = set()  # constants that are FP32 in every model

    def constant(self, name, values):
        self.constants[name] = np.asarray(values)
        return name

    def node(self, kind, inputs, name, **attributes):
        self.nodes.append(helper.make_node(kind, inputs, [name], name, **attributes))
        return name

    def pixel(self, x, name):
        """Everything as channels of a single pixel."""
        return self.node("Reshape", [x, self.constant(f"{name}/shape", np.array([0, -1, 1, 1]))], name)

    def affine(self, x, name, scale, shift):
        """scale x + shift, one of each a channel."""
        numbers = {"scale": scale, "shift": shift, "mean": np.zeros_like(scale), "variance": np.ones_like(scale)}
        return self.node("BatchNormalization", [x, *(self.constant(f"{name}/{n}", v) for n, v in numbers.items())], name,
                         epsilon=0.0)

    def convolution(self, x, name, weight, stride, padding, bias=None, groups=1, dilation=(1, 1)):
        """padding is (top, left, bottom, right)."""
        inputs = [x, self.constant(f"{name}/weight", weight)]
        if bias is not None:
            inputs.append(self.constant(f"{name}/bias", bias))
        return self.node("Conv", inputs, name, kernel_shape=list(weight.shape[2:]), strides=list(stride),
                         pads=list(padding), group=groups, dilations=list(dilation))

    def activation(self, x, name, attributes):
        """The activation of a group of a target or result file."""
        kind, parameter = activation_of(attributes)
        if kind == "identity":
            return x
        if kind in OPERATORS:
            return self.node(OPERATORS[kind], [x], name)
        if kind == "leaky-relu":
            return self.node("LeakyRelu", [x], name, alpha=parameter)
        if kind == "hard-sigmoid":
            return self.node("HardSigmoid", [x], name, alpha=parameter, beta=0.5)
        if kind in ("relu6", "clip"):
            return self.limits(x, name, *((0.0, 6.0) if kind == "relu6" else (-parameter, parameter)))
        if kind == "silu":
            return self.node("Mul", [x, self.node("Sigmoid", [x], f"{name}/sigmoid")], name)
        if kind != "gelu":
            raise NotRebuilt(f"{name}: the activation {kind} has no counterpart here")
        scaled = self.node("Mul", [x, self.constant(f"{name}/scale", np.sqrt(0.5))], f"{name}/scaled")
        erf = self.node("Erf", [scaled], f"{name}/erf")
        shifted = self.node("Add", [erf, self.constant(f"{name}/one", np.array(1.0))], f"{name}/shifted")
        half = self.node("Mul", [x, self.constant(f"{name}/half", np.array(0.5))], f"{name}/halved")
        return self.node("Mul", [half, shifted], name)

    def limits(self, x, name, low=None, high=None):
        """min(max(x, low), high); one of the limits may be None."""
        ends = ["" if e is None else self.constant(f"{name}/{n}", np.array(float(e))) for n, e in (("min", low),
                                                                                                   ("max", high))]
        return self.node("Clip", [x, *(ends if ends[1] else ends[:1])], name)

    def pool(self, x, name, kind):
        """`kind` is that of a convolution's group."""
        kind = canonical(kind, POOLS)
        if kind == "max2":
            return self.node("MaxPool", [x], name, kernel_shape=[2, 2], strides=[2, 2])
        return x if kind == "none" else self.node("GlobalAveragePool", [x], name)

    def model(self, x, shape, output, dtype, note):
        """The model of all nodes: x and constants are of `dtype`, x has this shape without the batch."""
        kind = TensorProto.DOUBLE if dtype == np.float64 else TensorProto.FLOAT
        constants = {n: v if np.issubdtype(v.dtype, np.integer) or n in self.exact else v.astype(dtype)
                     for n, v in self.constants.items()}
        size = sum(v.nbytes for v in constants.values())
        if size > LARGEST:
            raise NotRebuilt(f"the weights take {size / 1e9:.3g} GB; an ONNX file holds 2 GB")
        for name, values in constants.items():
            if not np.isfinite(values).all():
                raise NotRebuilt(f"{name}: a number does not fit into FP32; --precision double holds it")
        graph = helper.make_graph(self.nodes, "source network", [helper.make_tensor_value_info(x, kind, ["n", *shape])],
                                  [helper.make_tensor_value_info(output, kind, ["n", "outputs"])],
                                  [numpy_helper.from_array(v, n) for n, v in constants.items()])
        return helper.make_model(graph, producer_name="norma", doc_string=note, ir_version=8,
                                 opset_imports=[helper.make_opsetid("", OPSET)])


def numbers_of(group):
    return {name: dataset[...].astype(np.float64) for name, dataset in group.items() if hasattr(dataset, "shape")}


def own_layer(writer, x, group, title):
    """A convolution or linear layer of the target as it is, before its activation."""
    numbers = numbers_of(group)
    weight = images_weight(numbers["weight"])
    stride, dilation, padding, groups = geometry(group)
    if canonical(group.attrs["type"], TYPES) == "linear":
        stride, dilation, padding, groups = (1, 1), (1, 1), (0, 0, 0, 0), 1
    x = writer.convolution(x, f"{title}/conv", weight, stride, padding, numbers.get("bias"), groups, dilation)
    if "bn_var" not in numbers:
        return x
    return writer.affine(x, f"{title}/norm", *target_graph.affine(numbers, group.attrs))


def source_map(group, prefix, replica, bias):
    """scale and shift of a batch norm of a pair; the bias of the convolution before it is taken in."""
    weight, shift, mean, variance = (group[f"{prefix}_{n}"][replica]
                                     for n in ("weight", "bias", "running_mean", "running_var"))
    scale = weight / np.sqrt(variance + float(group.attrs["bn_eps"]))
    before = group[bias][replica] if bias in group else 0
    return scale, shift + (before - mean) * scale


def source_layer(writer, x, group, replica, target, title):
    """Convolution, affine map, activation, convolution, affine map in place of a target layer; `target` is the group
    of a convolution, None where the pair acts on single pixels."""
    stride, _, padding, _ = geometry(target) if target else ((1, 1), (1, 1), (0, 0, 0, 0), 1)
    dilation, groups = dilation_and_groups(group)
    near, far = paddings(group, images_weight(target["weight"][...]).shape[2:], padding[:2]) if target else (
        paddings(group, (1, 1), (0, 0)))
    attributes = group.attrs
    hidden = writer.convolution(x, f"{title}/conv1", group["W1"][replica], pair(attributes["stride1"]), near + far,
                                groups=groups, dilation=dilation)
    hidden = writer.affine(hidden, f"{title}/norm1", *source_map(group, "bn1", replica, "conv1_bias"))
    hidden = writer.activation(hidden, f"{title}/hidden", attributes)
    y = writer.convolution(hidden, f"{title}/conv2", group["W2"][replica], pair(attributes["stride2"]), (0, 0, 0, 0),
                           groups=groups, dilation=dilation)
    residual = attributes.get("residual", "none")
    skip = None
    if residual != "none":
        skip = writer.convolution(x, f"{title}/skip", group["Ws"][replica], stride, padding, dilation=dilation)
    if residual == "outer":
        y = writer.node("Add", [y, skip], f"{title}/sum")
    y = writer.affine(y, f"{title}/norm2", *source_map(group, "bn2", replica, "conv2_bias"))
    return writer.node("Add", [y, skip], f"{title}/sum") if residual == "inner" else y


def window(group, kind):
    """Attributes of the node of a pool over windows."""
    kernel = pair_of(group.attrs["kernel"])
    padding = np.atleast_1d(group.attrs.get("padding", 0)).tolist()
    values = {"kernel_shape": kernel, "strides": np.broadcast_to(group.attrs.get("stride", kernel), 2).tolist(),
              "pads": padding if len(padding) == 4 else 2 * np.broadcast_to(padding, 2).tolist()}
    if kind == "average-pool":
        values["count_include_pad"] = int(group.attrs.get("count_include_pad", 1))
    return values


def pair_of(value):
    return np.broadcast_to(value, 2).astype(int).tolist()


def joined(writer, operator, values, title):
    """The sum or product of several values."""
    result = values[0]
    for number, value in enumerate(values[1:]):
        result = writer.node(operator, [result, value], f"{title}/{number}" if number + 2 < len(values) else title)
    return result


def extents(group):
    """(height, width) of the images that a group takes."""
    x = np.zeros((1, *shape_of(group.file.attrs)))
    values = {target_graph.INPUT: x.reshape(*x.shape[:2], *(x.shape[2:] or (1, 1)))}
    for name, inputs in target_graph.ordered(group.parent):
        if group.parent[name] == group:
            return values[inputs[0]].shape[2:]
        values[name] = target_check.apply_layer(group.parent[name], [values[n] for n in inputs])
    raise NotRebuilt(f"{group.name}: is not in the network")


def group_nodes(writer, group, kind, values, title):
    """The nodes of a group without weights, before its activation."""
    numbers, attributes = numbers_of(group), group.attrs
    if kind == "batchnorm" or "constant" in numbers:
        return writer.affine(values[0], title, *target_graph.affine(numbers, attributes))
    if kind in ("add", "multiply"):
        return joined(writer, "Add" if kind == "add" else "Mul", values, title)
    if kind == "concat":
        return writer.node("Concat", values, title, axis=1)
    if kind == "clip":
        return writer.limits(values[0], title, attributes.get("min"), attributes.get("max"))
    if kind in ("max-pool", "average-pool"):
        return writer.node("MaxPool" if kind == "max-pool" else "AveragePool", values, title, **window(group, kind))
    if kind == "flatten":
        return writer.pixel(values[0], title)
    if kind == "softmax":
        return writer.node("Softmax", values, title, axis=1)
    if kind == "activation":
        return values[0]
    if kind == "reshape":
        shape = np.array([0, *attributes["shape"]], np.int64)
        return writer.node("Reshape", [values[0], writer.constant(f"{title}/shape", shape)], title)
    if kind == "resize":
        if "scale" not in attributes:  # an exact choice of rows and columns, whatever the extents
            rows, columns = (writer.constant(f"{title}/{n}", v) for n, v in zip(
                ("rows", "columns"), target_graph.nearest(attributes, extents(group))))
            taken = writer.node("Gather", [values[0], rows], f"{title}/of_rows", axis=2)
            return writer.node("Gather", [taken, columns], title, axis=3)
        scale = np.broadcast_to(attributes["scale"], 2)
        scales = writer.constant(f"{title}/scales", np.array([1, 1, *scale], np.float32))
        writer.exact.add(scales)
        return writer.node("Resize", [values[0], "", scales], title, mode="nearest", nearest_mode="floor",
                           coordinate_transformation_mode="asymmetric")
    if kind == "global-average-pool":
        return writer.node("GlobalAveragePool", values, title)
    raise NotRebuilt(f"{group.name}: type {kind} has no counterpart here")


def write_network(layers, replica, target, per_layer):
    """The Writer of the source network of the open target file, and the name of its outputs. per_layer source layers
    stand for each of its layers; a layer that `layers` does not hold is the target's own."""
    writer = Writer()
    values = {target_graph.INPUT: "input"}
    shape = np.atleast_1d(target.attrs["input_shape"])
    if len(shape) == 1:
        values[target_graph.INPUT] = writer.pixel("input", "input/pixel")
    result = None
    for number, (name, inputs) in enumerate(target_graph.ordered(target["layers"])):
        group = target["layers"][name]
        kind, attributes = canonical(group.attrs["type"], TYPES), group.attrs
        given = [values[n] for n in inputs]
        sources = [layers[f"{k:03d}"] for k in range(per_layer * number, per_layer * (number + 1))
                   if f"{k:03d}" in layers]
        if kind == "linear":
            given = [writer.pixel(given[0], f"{name}/pixel")]
        if len(sources) == per_layer:
            result = source_layer(writer, given[0], sources[0], replica, None if kind == "linear" else group,
                                  f"{name}/source")
            for factor in sources[1:]:
                result = source_layer(writer, result, factor, replica, None, f"{name}/source2")
        elif kind in KERNELS:
            result = own_layer(writer, given[0], group, name)
        else:
            result = group_nodes(writer, group, kind, given, f"{name}/{kind}")
        result = writer.activation(result, f"{name}/activation", attributes)
        values[name] = result = writer.pool(result, f"{name}/pool", attributes.get("pool", "none"))
    return writer, writer.node("Flatten", [result], "outputs", axis=1)
