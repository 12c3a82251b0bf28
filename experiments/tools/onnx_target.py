#!/usr/bin/env python3
"""Writes an ONNX model as a target file of `norma reconstruct`.

    python3 onnx_target.py MODEL.onnx --input-scale 0.00784313725490196 --input-offset -1 \\
        --input-range -1,1 --dataset fashion-mnist --output target.h5

The model is a chain of Conv, Gemm or MatMul, each followed by an optional BatchNormalization (or its
scale and shift as Mul and Add), an optional activation and an optional pool: MaxPool of 2 x 2,
GlobalAveragePool or their like. GELU and SiLU may be written out in elementwise nodes. Otherwise the
model is taken as a graph (onnx_graph.py): residual networks, MobileNets. Whatever a
target file cannot express is refused by the name of the node. At the end the file is compared on
random inputs with the model, node by node in FP64 with numpy; it is written only if they agree.
"""
import argparse
import sys
from collections import defaultdict

import numpy as np
import onnx
import onnx.checker
import onnx.helper
import onnx.numpy_helper
from google.protobuf.message import DecodeError

import onnx_forward
import onnx_graph
import target_check
from onnx_forward import ELEMENTWISE, OPERATIONS
from target_layers import Chain, NotExpressible, refuse

# Named activations, and those that are recognized by their values where they are written out.
ACTIVATIONS = {"Relu": "relu", "LeakyRelu": "leaky-relu", "Tanh": "tanh", "Sigmoid": "sigmoid", "Gelu": "gelu",
               "Swish": "silu", "Softplus": "softplus"}
WRITTEN_OUT = ("gelu", "silu", "softplus", "sigmoid")
# Constants of activations are stored in FP32, such as the square root of 2.
CONSTANT_TOLERANCE = 1e-6
# They leave every number as it is.
TRANSPARENT = ("Identity", "Dropout", "Cast")


def shrink(values):
    """FP32 where that holds all of the numbers."""
    with np.errstate(over="ignore"):
        single = values.astype(np.float32)
    return single if np.array_equal(single, values, equal_nan=True) else values


def to_array(tensor):
    """Floating-point numbers in FP64."""
    array = onnx.numpy_helper.to_array(tensor)
    return array.astype(np.float64) if np.issubdtype(array.dtype, np.floating) else array


class Model:
    """The graph of an ONNX file, run on inputs x: values[tensor] of all tensors so far, static the names
    of those that depend on nothing but shapes."""

    def __init__(self, proto):
        self.graph = proto.graph
        self.constants = {t.name: to_array(t) for t in self.graph.initializer}
        inputs = [i for i in self.graph.input if i.name not in self.constants]
        if len(inputs) != 1 or len(self.graph.output) != 1:
            raise NotExpressible(f"the model has {len(inputs)} inputs and {len(self.graph.output)} outputs; one of "
                                 "each is expected")
        self.input, self.output = inputs[0].name, self.graph.output[0].name
        self.dimensions = [d.dim_value for d in inputs[0].type.tensor_type.shape.dim]
        self.attributes = [{a.name: onnx.helper.get_attribute_value(a) for a in n.attribute} for n in self.graph.node]
        self.batch = self.dimensions[0] if self.dimensions else 0
        self.readers = defaultdict(list)
        for number, node in enumerate(self.graph.node):
            for tensor in set(node.input):
                self.readers[tensor].append(number)
        self.operations = OPERATIONS
        self.start(np.zeros((1, 1)))

    def start(self, x):
        self.values = {**self.constants, self.input: x}
        self.static = set(self.constants)

    def title(self, node):
        kind = node.op_type if node.domain in ("", "ai.onnx") else f"{node.domain}.{node.op_type}"
        return node.name or f"the node of {node.output[0]}", kind

    def run_node(self, number, node):
        """Adds the output of a node whose inputs are there."""
        name, kind = self.title(node)
        attributes = self.attributes[number]
        if kind == "Constant":
            if "value" not in attributes and not any(k.startswith(("value_float", "value_int")) for k in attributes):
                refuse(name, kind, "holds no dense tensor of numbers")
            value = attributes.get("value")
            value = np.array(next(iter(attributes.values()))) if value is None else to_array(value)
        elif kind not in self.operations:
            ends = "; a model that ends with its logits is expected" if "softmax" in kind.lower() else ""
            refuse(name, kind, f"has no counterpart in a target file{ends}")
        else:
            inputs = [self.values[i] if i else None for i in node.input]
            try:
                value = self.operations[kind](attributes, *inputs)
            except (ValueError, TypeError, IndexError, KeyError) as error:
                shapes = [None if i is None else list(i.shape) for i in inputs]
                refuse(name, kind, f"cannot be computed from inputs of shapes {shapes}: {error}")
        self.values[node.output[0]] = value
        if kind in ("Constant", "Shape") or all(i in self.static for i in node.input if i):
            self.static.add(node.output[0])

    def consumers(self, tensor):
        """Numbers of the nodes that read the tensor."""
        return self.readers[tensor]


def check_convolution(name, kind, attributes, weight):
    if attributes.get("group", 1) != 1:
        refuse(name, kind, f"group = {attributes['group']}; only 1 can be expressed")
    if any(d != 1 for d in attributes.get("dilations", ())):
        refuse(name, kind, f"dilations = {list(attributes['dilations'])}; only 1 can be expressed")
    if weight.ndim != 4:
        refuse(name, kind, f"has a weight with {weight.ndim} axes; only convolutions of images can be expressed")


def check_pool(name, kind, attributes, extents):
    """max2 or global-average; other pools are refused."""
    kernel = onnx_forward.numbers(attributes["kernel_shape"])
    plain = (len(kernel) == 2 and len(extents) == 2 and not attributes.get("ceil_mode", 0) and
             not any(onnx_forward.padding_of(attributes, extents, kernel)) and
             all(d == 1 for d in attributes.get("dilations", ())))
    if kind == "AveragePool":
        if not plain or kernel != extents:
            refuse(name, kind, "only an average of all pixels can be expressed")
        return "global-average"
    if not plain or kernel != (2, 2) or onnx_forward.numbers(attributes.get("strides", (1, 1))) != (2, 2):
        refuse(name, kind, "only a maximum of 2 x 2 pixels with stride 2, without padding, dilation or ceil_mode, can "
               "be expressed")
    return "max2"


class Reader:
    """Takes the nodes of a model one after another into a Chain; `current` is the tensor at its end."""

    def __init__(self, model, x):
        self.model, self.chain, self.current = model, Chain(), model.input
        model.start(x)
        self.written_out = {}  # the last tensor of activations made of several nodes, and their names
        self.skip = set()

    def read(self):
        """The layers; the values of the model are then those for x."""
        for number, node in enumerate(self.model.graph.node):
            if number in self.skip:
                continue
            constant = node.op_type in ("Constant", "Shape") or all(i in self.model.static for i in node.input if i)
            if not constant and self.take_written_out(number):
                continue
            self.before_run(number, node, constant)
            self.model.run_node(number, node)
            if not constant:
                self.take(number, node)
                self.current = node.output[0]
        if self.model.output != self.current:
            raise NotExpressible(f"the output {self.model.output} is not that of the last node, {self.current}")
        return self.chain.finish()

    def before_run(self, number, node, constant):
        """Refuses branches, and what could not be computed."""
        name, kind = self.model.title(node)
        if constant or kind not in OPERATIONS:
            return
        tensors = [i for i in node.input if i and i not in self.model.static]
        if tensors != [self.current]:
            taken = (f"{self.current} twice" if set(tensors) == {self.current} else
                     " and ".join(tensors) if len(tensors) > 1 else f"{tensors[0]}, not the output of the last node")
            refuse(name, kind, f"takes {taken}; a target file has no skip connections and no branches")
        if any(self.model.output == t for t in tensors):
            refuse(name, kind, f"takes {self.current}, which is an output of the model too")
        attributes = self.model.attributes[number]
        x, weight = self.model.values[node.input[0]], self.constant(node, 1)
        if kind == "Conv" and weight is not None:
            check_convolution(name, kind, attributes, weight)
        elif kind in ("MaxPool", "AveragePool"):
            check_pool(name, kind, attributes, x.shape[2:])

    def constant(self, node, k):
        """Input k of the node, None where it has none."""
        if k >= len(node.input) or not node.input[k]:
            return None
        if node.input[k] not in self.model.static:
            refuse(*self.model.title(node), f"takes {node.input[k]}, which is not a constant")
        return self.model.values[node.input[k]]

    def take(self, number, node):
        """Adds a node with a single input that is not a constant to the chain."""
        name, kind = self.model.title(node)
        attributes = self.model.attributes[number]
        x, out = (self.model.values[t] for t in (self.current, node.output[0]))
        if self.current != node.input[0] and kind not in ("Add", "Mul"):
            refuse(name, kind, f"takes {self.current} as another input than its first")
        if len([o for o in node.output if o]) > 1 and kind != "Dropout":
            refuse(name, kind, "has more than one output")
        if kind == "Conv":
            weight = self.constant(node, 1)
            bias = self.constant(node, 2)
            self.chain.convolution(name, kind, shrink(weight), None if bias is None else shrink(bias),
                                   onnx_forward.numbers(attributes.get("strides", (1, 1))),
                                   onnx_forward.padding_of(attributes, x.shape[2:], weight.shape[2:]))
        elif kind in ("Gemm", "MatMul"):
            self.take_linear(name, kind, attributes, node, x)
        elif kind == "BatchNormalization":
            if attributes.get("training_mode", 0):
                refuse(name, kind, "is in training mode, so it is not a fixed map")
            self.chain.batch_norm(name, kind, *(shrink(self.constant(node, k)) for k in range(1, 5)),
                                  attributes.get("epsilon", 1e-5))
        elif kind in ACTIVATIONS:
            if attributes.get("approximate", b"none") != b"none" or attributes.get("alpha", 1) != 1 and kind == "Swish":
                refuse(name, kind, "only the exact form with alpha = 1 can be expressed")
            self.chain.activation(name, kind, ACTIVATIONS[kind], attributes.get("alpha", 0.01))
        elif kind in ("Add", "Sub", "Mul", "Div"):
            self.take_per_channel(name, kind, node, x)
        elif kind in ("MaxPool", "AveragePool"):
            self.chain.pool(name, kind, check_pool(name, kind, attributes, x.shape[2:]))
        elif kind == "Pad":
            zeros = onnx_forward.zeros_around(attributes, x, self.constant(node, 1))
            value = self.constant(node, 2)
            if attributes.get("mode", b"constant") != b"constant" or value is not None and value.any() or \
                    attributes.get("value", 0) or zeros is None or len(node.input) > 3:
                refuse(name, kind, "only zeros around images can be expressed")
            if any(zeros):
                self.chain.pad(name, kind, zeros)
        else:
            self.take_shape(name, kind, attributes, x, out)

    def take_linear(self, name, kind, attributes, node, x):
        if x.ndim != 2:
            refuse(name, kind, f"takes a tensor with {x.ndim} axes; [samples, inputs] is expected")
        weight, bias = self.constant(node, 1), self.constant(node, 2)
        if attributes.get("transA", 0):
            refuse(name, kind, "transA = 1; only 0 can be expressed")
        weight = attributes.get("alpha", 1.0) * (weight if attributes.get("transB", 0) else weight.T)
        if bias is not None:
            bias = attributes.get("beta", 1.0) * np.broadcast_to(bias, (1, len(weight))).reshape(-1)
        self.chain.linear(name, kind, shrink(weight), None if bias is None else shrink(bias))

    def take_per_channel(self, name, kind, node, x):
        """A sum or product with one number a channel: a bias, or a batch norm without statistics."""
        other = 1 - list(node.input).index(self.current)
        value = self.constant(node, other)
        n = x.shape[1]
        axes = (1, n, *(1,) * (x.ndim - 2))
        if np.broadcast_shapes(value.shape, axes) != axes:
            refuse(name, kind, f"has an operand of shape {list(value.shape)}; one number a channel can be expressed")
        value = np.broadcast_to(value, axes).reshape(-1)
        if kind in ("Add", "Sub"):
            self.chain.bias(name, kind, shrink(value if kind == "Add" else -value))
        else:
            scale = shrink(value if kind == "Mul" else 1 / value)
            self.chain.batch_norm(name, kind, scale, np.zeros_like(scale), np.zeros_like(scale), np.ones_like(scale), 0)

    def take_shape(self, name, kind, attributes, x, out):
        """Nodes that leave the numbers in place, and averages over all pixels."""
        if kind == "GlobalAveragePool" or kind == "ReduceMean" and x.ndim == 4 and \
                np.allclose(out.reshape(len(x), -1), x.mean((2, 3)).reshape(len(x), -1), 0, 0):
            self.chain.pool(name, kind, "global-average")
            if out.ndim == 2:
                self.chain.flatten()
        elif kind in ("Flatten", "Reshape", "Squeeze") and out.shape == (len(x), x[0].size):
            self.chain.flatten()
        elif kind not in TRANSPARENT and not (kind in ("Flatten", "Reshape", "Squeeze") and out.shape == x.shape):
            refuse(name, kind, f"makes {list(out.shape)} of {list(x.shape)}, which cannot be expressed")
        elif kind == "Cast" and attributes["to"] not in (1, 10, 11, 16):
            refuse(name, kind, "casts to a type that holds no fractions")

    def take_written_out(self, first):
        """Recognizes an activation made of several elementwise nodes, from node `first` on."""
        model, nodes = self.model, self.model.graph.node
        if model.title(nodes[first])[1] in ACTIVATIONS and len(model.consumers(self.current)) == 1:
            return False
        grid = {self.current: np.linspace(-12, 12, 481)}
        taken = []
        for number in range(first, len(nodes)):
            node, kind = nodes[number], model.title(nodes[number])[1]
            if kind == "Constant":
                model.run_node(number, node)
            own = [i for i in node.input if i in grid]
            scalars = [i for i in node.input if i in model.static and np.size(model.values[i]) == 1]
            if kind not in ELEMENTWISE or not own or len(own) + len(scalars) != len(node.input):
                continue
            with np.errstate(all="ignore"):
                values = ELEMENTWISE[kind](model.attributes[number],
                                           *(grid[i] if i in grid else model.values[i].reshape(()) for i in node.input))
            inside = [t for t in grid if t != node.output[0]]
            grid[node.output[0]] = values
            taken.append(number)
            closed = all(set(model.consumers(t)) <= set(taken) for t in inside)
            for name in WRITTEN_OUT if closed and len(taken) > 1 else ():
                exact = target_check.FUNCTIONS[name](grid[self.current])
                if np.allclose(values, exact, CONSTANT_TOLERANCE, CONSTANT_TOLERANCE):
                    self.finish_written_out(name, taken, node.output[0])
                    return True
        return False

    def finish_written_out(self, name, taken, tensor):
        """The exact activation takes the place of its nodes, whose constants may be rounded."""
        node = self.model.graph.node[taken[0]]
        self.chain.activation(*self.model.title(node), name)
        self.model.values[tensor] = target_check.FUNCTIONS[name](self.model.values[self.current])
        self.skip |= set(taken)
        self.current = tensor


def outputs(model, x):
    """The model's outputs, in parts of the batch that its file fixes."""
    size = model.batch or len(x)
    results = []
    for part in (x[k:k + size] for k in range(0, len(x), size)):
        Reader(model, np.resize(part, (size, *x.shape[1:]))).read()
        results.append(model.values[model.output][:len(part)])
    return np.concatenate(results)


def load(path):
    try:
        return Model(onnx.load(path))
    except (OSError, DecodeError, onnx.checker.ValidationError) as error:
        raise NotExpressible(f"{path}: cannot be read as an ONNX model: {error}") from error


def shape_of(model, given):
    """The input shape without the batch: that of the file where it is fixed, which --input-shape may not
    contradict."""
    fixed = model.dimensions[1:]
    extents = (1, *given) if given and len(given) == 2 and len(fixed) == 3 else given
    if extents is None and (not fixed or not all(fixed)):
        raise NotExpressible(f"the input {model.input} leaves extents open, {fixed}; give --input-shape")
    if extents and (len(extents) != len(fixed) or any(f and f != e for f, e in zip(fixed, extents))):
        raise NotExpressible(f"--input-shape {','.join(map(str, given))} does not fit the input {model.input}, {fixed} "
                             "(0: any)")
    return tuple(extents or fixed)


def write_target(path, model, input_shape=None, **root):
    """Writes the Model as a target file; further arguments are those of target_check.write_checked.
    Returns the number of layers, and the largest difference from the model's outputs over the largest
    of these. Raises NotExpressible or target_check.Mismatch; the file is then left as it was."""
    input_shape = shape_of(model, input_shape)
    x = target_check.random_inputs(input_shape)
    layers = Reader(model, np.resize(x, (model.batch or len(x), *x.shape[1:]))).read()
    difference = target_check.write_checked(path, layers, lambda x: outputs(model, x), input_shape, **root)
    return len(layers), difference


def write_any(path, model, input_shape, **root):
    """The Model as a chain, or as a graph where it is none; arguments and results are those of write_target."""
    try:
        return write_target(path, model, input_shape, **root)
    except NotExpressible:
        return onnx_graph.write_target(path, model, shape_of(model, input_shape), **root)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", metavar="MODEL.onnx")
    target_check.add_input_options(parser, shape_required=False)
    args = parser.parse_args()
    try:
        model = load(args.file)
        args.input_shape = shape_of(model, args.input_shape)
        n_layers, difference = write_any(args.output, model, **target_check.input_options(args))
    except (NotExpressible, target_check.Mismatch) as error:
        sys.exit(f"onnx_target: {error}")
    print(f"{args.output}: {n_layers} layers; outputs for {target_check.SAMPLES} random inputs equal the model's to "
          f"{difference:.1e}")


if __name__ == "__main__":
    main()
