"""The groups of an ONNX model that is no chain, for onnx_target.py: skip connections, branches, channels in groups,
hard-sigmoid and hard-swish, pools with windows.

The nodes are taken in their order, which ONNX asks to be that of the graph. Constants and shapes are folded. A batch
norm behind a convolution that nothing else reads goes into its group, and so does an activation; whatever a target
file cannot express is refused by the name of the node.
"""
import numpy as np

import onnx_forward
import target_check
import target_graph
from onnx_forward import numbers
from target_graph import Groups
from target_layers import refuse

ACTIVATIONS = {"Relu": "relu", "LeakyRelu": "leaky-relu", "Tanh": "tanh", "Sigmoid": "sigmoid", "Gelu": "gelu",
               "Swish": "silu", "Softplus": "softplus"}


def shrink(values):
    """FP32 where that holds all of the numbers."""
    with np.errstate(over="ignore"):
        single = np.asarray(values).astype(np.float32)
    return single if np.array_equal(single, values, equal_nan=True) else np.asarray(values)


def conv(attributes, x, weight, bias=None):
    out = target_check.convolve(x, weight, attributes.get("strides", (1, 1)),
                                onnx_forward.padding_of(attributes, x.shape[2:], weight.shape[2:]),
                                attributes.get("group", 1), attributes.get("dilations", (1, 1)))
    return out if bias is None else out + bias[:, None, None]


def window(attributes, extents):
    """Attributes of a group for a pool over windows."""
    kernel = numbers(attributes["kernel_shape"])
    return {"kernel": kernel, "stride": numbers(attributes.get("strides", (1, 1))),
            "padding": onnx_forward.padding_of(attributes, extents, kernel)}


def max_pool(attributes, x):
    return target_graph.windows(x, window(attributes, x.shape[2:]), -np.inf).max((4, 5))


def average_pool(attributes, x):
    pool = window(attributes, x.shape[2:])
    sums = target_graph.windows(x, pool, 0).sum((4, 5))
    if attributes.get("count_include_pad", 0):
        return sums / np.prod(pool["kernel"])
    return sums / target_graph.windows(np.ones_like(x), pool, 0).sum((4, 5))


def limits(attributes, low=None, high=None):
    """Of a Clip, whose limits were attributes before they became inputs; None where there is none."""
    ends = (attributes.get("min") if low is None else low, attributes.get("max") if high is None else high)
    return tuple(None if e is None else float(np.reshape(e, ())) for e in ends)


def hard_sigmoid(attributes, x):
    return np.clip(attributes.get("alpha", 0.2) * x + attributes.get("beta", 0.5), 0, 1)


def nearest(attributes, size, n, scale):
    """The pixels of n that a Resize or Upsample to `size` takes along an axis."""
    at = np.arange(size)
    frame = attributes.get("coordinate_transformation_mode", b"half_pixel").decode()
    places = {"asymmetric": at / scale, "align_corners": at * (n - 1) / max(size - 1, 1)}.get(frame, (at + 0.5) / scale - 0.5)
    rounded = {"floor": np.floor, "ceil": np.ceil, "round_prefer_ceil": lambda v: np.floor(v + 0.5)}.get(
        attributes.get("nearest_mode", b"round_prefer_floor").decode(), lambda v: np.ceil(v - 0.5))(places)
    return np.clip(rounded, 0, n - 1).astype(int)


def resize(attributes, x, *more):
    """Inputs behind x: scales (versions up to 10), or a region, scales and sizes, of which one is given."""
    scales, sizes = (more[0], None) if len(more) == 1 else (more[1], more[2] if len(more) > 2 else None)
    if attributes.get("mode", b"nearest") != b"nearest" or attributes.get(
            "coordinate_transformation_mode", b"half_pixel") not in (b"half_pixel", b"asymmetric", b"align_corners",
                                                                     b"pytorch_half_pixel"):
        raise ValueError("only the mode nearest, without a region, can be expressed")
    if len(more) == 1:
        attributes = {"coordinate_transformation_mode": b"asymmetric", "nearest_mode": b"floor"}
    sizes = [int(s) for s in (np.floor(np.multiply(x.shape, scales)) if sizes is None else sizes)]
    scales = scales if scales is not None and len(scales) else np.divide(sizes, x.shape)
    for axis, (size, scale) in enumerate(zip(sizes, scales)):
        x = np.take(x, nearest(attributes, size, x.shape[axis], scale), axis)
    return x


def softmax(_, x):
    powers = np.exp(x - x.max(1, keepdims=True))
    return powers / powers.sum(1, keepdims=True)


OPERATIONS = {**onnx_forward.OPERATIONS, "Conv": conv, "MaxPool": max_pool, "AveragePool": average_pool,
              "Clip": lambda a, x, *ends: np.clip(x, *limits(a, *ends)), "HardSigmoid": hard_sigmoid,
              "Resize": resize, "Upsample": resize,
              "HardSwish": lambda a, x: x * hard_sigmoid({"alpha": 1 / 6}, x), "Softmax": softmax}


class GraphReader:
    """Takes the nodes of a model one after another; groups.keys[tensor] is the name of the group that gives it."""

    def __init__(self, model, x):
        model.operations = OPERATIONS
        self.model, self.groups = model, Groups()
        self.groups.give(model.input, "input")
        model.start(x)

    def read(self):
        """The groups by name; the values of the model are then those for x."""
        model, keys = self.model, self.groups.keys
        for number, node in enumerate(model.graph.node):
            name, kind = model.title(node)
            known = kind in self.TAKES or kind in ("Constant", "Shape")
            static = all(i in model.static for i in node.input if i)
            if not known and not static:
                refuse(name, kind, "has no counterpart in a target file; replace it, or end the model in front of it")
            model.run_node(number, node)
            if node.output[0] in model.static:
                continue
            if len([o for o in node.output if o]) > 1 and kind != "Dropout":
                refuse(name, kind, "has more than one output")
            if node.output[0] in keys:
                refuse(name, kind, f"gives {node.output[0]}, which another node gives too")
            inputs = [i for i in node.input if i and i not in model.static]
            missing = [i for i in inputs if i not in keys]
            if missing:
                refuse(name, kind, f"takes {missing[0]}, which no node before it gives")
            take = self.TAKES[kind]
            self.groups.give(node.output[0], take(self, name, kind, model.attributes[number], node, inputs))
        if keys.get(model.output) not in self.groups.groups:
            refuse("model", "graph", f"its output {model.output} is not a value of a group")
        return self.groups.needed(keys[model.output])

    def sole(self, tensor):
        """Is a single tensor computed from the group that gives this one? The model's output is read from outside."""
        def readers(name):
            nodes = self.model.graph.node
            return [nodes[k].output[0] for k in self.model.consumers(name)] + [None] * (name == self.model.output)
        return self.groups.sole(self.groups.keys[tensor], readers)

    def constant(self, node, k):
        """Input k of the node, None where it has none."""
        if k >= len(node.input) or not node.input[k]:
            return None
        if node.input[k] not in self.model.static:
            refuse(*self.model.title(node), f"takes {node.input[k]}, which is not a constant")
        return self.model.values[node.input[k]]

    def of(self, node):
        """The first input: its value, its group, and whether only this node reads it."""
        tensor = node.input[0]
        if tensor in self.model.static:
            refuse(*self.model.title(node), f"takes the constant {tensor} first")
        return self.model.values[tensor], self.groups.keys[tensor], self.sole(tensor)

    def convolution(self, name, kind, attributes, node, _):
        x, key, _ = self.of(node)
        weight, bias = self.constant(node, 1), self.constant(node, 2)
        dilation = numbers(attributes.get("dilations", (1, 1)))
        if weight.ndim != 4:
            refuse(name, kind, f"has a weight with {weight.ndim} axes; only convolutions of images can be expressed")
        if dilation != (1, 1) and attributes.get("auto_pad", b"NOTSET") not in (b"NOTSET", b"VALID"):
            refuse(name, kind, "has a dilation and auto_pad; give pads")
        more = {} if bias is None else {"bias": shrink(bias)}
        if attributes.get("group", 1) > 1:
            more["groups"] = int(attributes["group"])
        if dilation != (1, 1):
            more["dilation"] = dilation
        return self.groups.add(name, kind, [key], type="conv2d", weight=shrink(weight), **more,
                               stride=numbers(attributes.get("strides", (1, 1))),
                               padding=onnx_forward.padding_of(attributes, x.shape[2:], weight.shape[2:]))

    def linear(self, name, kind, attributes, node, _):
        x, key, _ = self.of(node)
        weight, bias = self.constant(node, 1), self.constant(node, 2)
        if x.ndim != 2 or attributes.get("transA", 0):
            refuse(name, kind, f"takes a tensor with {x.ndim} axes, or transposed; [samples, inputs] is expected")
        weight = attributes.get("alpha", 1.0) * (weight if attributes.get("transB", 0) else weight.T)
        more = {}
        if bias is not None:
            more["bias"] = shrink(attributes.get("beta", 1.0) * np.broadcast_to(bias, (1, len(weight))).reshape(-1))
        return self.groups.add(name, kind, [key], type="linear", weight=shrink(weight), **more)

    def batch_norm(self, name, kind, attributes, node, _):
        _, key, sole = self.of(node)
        if attributes.get("training_mode", 0):
            refuse(name, kind, "is in training mode, so it is not a fixed map")
        values = dict(zip(("bn_gamma", "bn_beta", "bn_mean", "bn_var"),
                          (shrink(self.constant(node, k)) for k in range(1, 5))))
        return self.affine(name, kind, key, sole, bn_eps=float(attributes.get("epsilon", 1e-5)), **values)

    def affine(self, name, kind, key, sole, **values):
        """A batch norm: in the group of its convolution, or in one of its own."""
        group = self.groups.own(key, sole, "conv2d", "linear")
        if group is None or "bn_var" in group:
            return self.groups.add(name, kind, [key], type="batchnorm", **values)
        group.update(values)
        return key

    def activation(self, name, kind, attributes, node, _):
        _, key, sole = self.of(node)
        if attributes.get("approximate", b"none") != b"none" or attributes.get("alpha", 1) != 1 and kind == "Swish":
            refuse(name, kind, "only the exact form with alpha = 1 can be expressed")
        values = {"activation": ACTIVATIONS[kind]}
        if kind == "LeakyRelu":
            values["negative_slope"] = float(attributes.get("alpha", 0.01))
        return self.groups.activate(name, kind, key, sole, values)

    def scaled(self, name, kind, key, channels, scale, shift):
        """scale x + shift."""
        full = [np.broadcast_to(np.asarray(v, np.float64).reshape(-1), channels).copy() for v in (scale, shift)]
        return self.groups.add(name, kind, [key], type="batchnorm", bn_gamma=full[0], bn_beta=full[1],
                               bn_mean=np.zeros(channels), bn_var=np.ones(channels), bn_eps=0.0)

    def arithmetic(self, name, kind, _, node, inputs):
        values = [self.model.values[i] for i in node.input]
        if len(inputs) == 2:
            if kind in ("Sub", "Div") or values[0].ndim != values[1].ndim:
                refuse(name, kind, f"of two tensors, of shapes {[list(v.shape) for v in values]}, cannot be expressed")
            return self.groups.add(name, kind, [self.groups.keys[i] for i in inputs],
                                   type="add" if kind == "Add" else "multiply")
        first = node.input[0] in self.groups.keys
        x, constant = values if first else values[::-1]
        axes = (1, x.shape[1], *(1,) * (x.ndim - 2))
        if np.broadcast_shapes(constant.shape, axes) != axes:
            refuse(name, kind, f"has an operand of shape {list(constant.shape)}; a number, or one a channel, can be "
                   "expressed")
        if kind == "Div" and not first:
            refuse(name, kind, "divides a constant by a tensor, which cannot be expressed")
        constant = np.broadcast_to(constant, axes).reshape(-1)
        scale, shift = {"Add": (1, constant), "Sub": (1, -constant) if first else (-1, constant), "Mul": (constant, 0),
                        "Div": (1 / constant, 0) if kind == "Div" else None}[kind]
        key = self.groups.keys[inputs[0]]
        group = self.groups.own(key, self.sole(inputs[0]), "conv2d", "linear")
        if kind == "Add" and group is not None and "bn_var" not in group:
            group["bias"] = shrink(group.get("bias", 0) + constant)
            return key
        return self.scaled(name, kind, key, x.shape[1], scale, shift)

    def clip(self, name, kind, attributes, node, _):
        _, key, sole = self.of(node)
        ends = limits(attributes, self.constant(node, 1), self.constant(node, 2))
        if ends == (0, 6):
            return self.groups.activate(name, kind, key, sole, {"activation": "relu6"})
        return self.groups.add(name, kind, [key], type="clip",
                               **{n: e for n, e in zip(("min", "max"), ends) if e is not None and np.isfinite(e)})

    def hard(self, name, kind, attributes, node, _):
        """Hard-sigmoid and hard-swish. A hard-sigmoid that is not 1/2 at 0 becomes a line and its limits."""
        x, key, sole = self.of(node)
        slope, offset = attributes.get("alpha", 0.2), attributes.get("beta", 0.5)
        if kind == "HardSwish":
            return self.groups.activate(name, kind, key, sole, {"activation": "hard-swish"})
        if offset == 0.5 and slope > 0:
            return self.groups.activate(name, kind, key, sole, {"activation": "hard-sigmoid", "slope": float(slope)})
        scaled = self.scaled(f"{name}: line", kind, key, x.shape[1], slope, offset)
        return self.groups.add(f"{name}: limits", kind, [scaled], type="clip", min=0.0, max=1.0)

    def softmax(self, name, kind, attributes, node, _):
        x, key, _ = self.of(node)
        if attributes.get("axis", 1 if x.ndim == 2 else -1) not in (1, 1 - x.ndim):
            refuse(name, kind, f"takes axis {attributes.get('axis', -1)}; only that of the channels can be expressed")
        return self.groups.add(name, kind, [key], type="softmax")

    def pool(self, name, kind, attributes, node, _):
        x, key, _ = self.of(node)
        values = window(attributes, x.shape[2:])
        if len(values["kernel"]) != 2 or any(d != 1 for d in attributes.get("dilations", ())):
            refuse(name, kind, "only windows of images, without dilation, can be expressed")
        near, far = values["padding"][:2], values["padding"][2:]
        for n, k, s, p, q in zip(x.shape[2:], values["kernel"], values["stride"], near, far):
            rest = (n + p + q - k) % s
            if attributes.get("ceil_mode", 0) and rest and (n + p + q - k) // s * s + s < n + p:
                refuse(name, kind, "ceil_mode adds a window here; without it the pool can be expressed")
        if kind == "MaxPool":
            return self.groups.add(name, kind, [key], type="max-pool", **values)
        return self.groups.add(name, kind, [key], type="average-pool", **values,
                               count_include_pad=int(attributes.get("count_include_pad", 0)))

    def mean(self, name, kind, _, node, __):
        x, key, _ = self.of(node)
        out = self.model.values[node.output[0]]
        if x.ndim != 4 or out.size != x.shape[0] * x.shape[1] or not np.array_equal(
                out.reshape(len(x), -1), x.mean((2, 3)).reshape(len(x), -1)):
            refuse(name, kind, "only the mean of all pixels can be expressed")
        return self.groups.add(name, kind, [key], type="global-average-pool")

    def concatenate(self, name, kind, attributes, node, inputs):
        if attributes["axis"] not in (1, 1 - self.model.values[inputs[0]].ndim) or len(inputs) < len(node.input):
            refuse(name, kind, "only channels of several tensors can be joined")
        return self.groups.add(name, kind, [self.groups.keys[i] for i in inputs], type="concat")

    def shape(self, name, kind, _, node, __):
        x, key, _ = self.of(node)
        out = self.model.values[node.output[0]]
        if out.shape == x.shape or out.size == x.size and out.shape[:2] == x.shape[:2] and x.shape[1] * len(x) == x.size:
            return key
        if out.ndim == 4 and len(out) == len(x):
            return self.groups.add(name, kind, [key], type="reshape", shape=list(out.shape[1:]))
        if out.shape != (len(x), x[0].size):
            refuse(name, kind, f"makes {list(out.shape)} of {list(x.shape)}, which cannot be expressed")
        return self.groups.add(name, kind, [key], type="flatten")

    def resize(self, name, kind, _, node, __):
        x, key, _ = self.of(node)
        out = self.model.values[node.output[0]]
        rows, columns = target_graph.nearest({"size": out.shape[2:]}, x.shape[2:])
        if out.shape[:2] != x.shape[:2] or not np.array_equal(out, x[:, :, rows][:, :, :, columns]):
            refuse(name, kind, "only pixels at floor(i n / n') of images can be expressed")
        scale = np.divide(out.shape[2:], x.shape[2:])
        extents = {"scale": scale.astype(int)} if np.array_equal(scale, scale.astype(int)) else {"size": out.shape[2:]}
        return self.groups.add(name, kind, [key], type="resize", **{n: [int(v) for v in e] for n, e in extents.items()})

    TAKES = {"Conv": convolution, "Gemm": linear, "MatMul": linear, "BatchNormalization": batch_norm,
             **dict.fromkeys(ACTIVATIONS, activation), **dict.fromkeys(("Add", "Sub", "Mul", "Div"), arithmetic),
             "Clip": clip, "Resize": resize, "Upsample": resize, "HardSigmoid": hard, "HardSwish": hard, "Softmax": softmax, "MaxPool": pool,
             "AveragePool": pool, "GlobalAveragePool": mean, "ReduceMean": mean, "Concat": concatenate,
             **dict.fromkeys(("Flatten", "Reshape", "Squeeze", "Unsqueeze", "Identity", "Dropout"), shape)}


def outputs(model, x):
    """The model's outputs, in parts of the batch that its file fixes."""
    model.operations = OPERATIONS
    size = model.batch or len(x)
    results = []
    for part in (x[k:k + size] for k in range(0, len(x), size)):
        model.start(np.resize(part, (size, *x.shape[1:])))
        for number, node in enumerate(model.graph.node):
            model.run_node(number, node)
            for tensor in set(node.input) - model.static - {model.output, ""}:
                if model.consumers(tensor) and model.consumers(tensor)[-1] == number:
                    del model.values[tensor]
        results.append(model.values[model.output][:len(part)])
    return np.concatenate(results)


def write_target(path, model, input_shape, **root):
    """As write_target of onnx_target.py, for a Model that is a graph; input_shape is without the batch."""
    x = target_check.random_inputs(input_shape)
    groups = GraphReader(model, np.resize(x, (model.batch or len(x), *x.shape[1:]))).read()
    difference = target_check.write_checked(path, groups, lambda x: outputs(model, x), input_shape, **root)
    return len(groups), difference
