"""The groups of a PyTorch model that is no chain, for pytorch_target.py: skip connections, branches, pools with
windows, groups of channels, dilation.

The traced graph of the forward pass is followed node by node. A batch norm behind a convolution that nothing else
reads goes into its group, and so does an activation; whatever a target file cannot express is refused by the name
of the module.
"""
import numpy as np
import torch
from torch import nn

from pytorch_chain import (ACTIVATIONS, MODULES, TRANSPARENT, activation_of, array, is_shape, known_class,
                           modules_of, padding_of, prepared, title, trace)
from target_graph import Groups
from target_layers import pair, refuse

# Functions, operators and methods of several tensors, as types of groups.
JOINS = {"add": "add", "iadd": "add", "add_": "add", "mul": "multiply", "imul": "multiply", "mul_": "multiply",
         "cat": "concat", "concat": "concat"}


def convolution(groups, name, kind, module, key, *_):
    if module.padding_mode != "zeros":
        refuse(name, kind, f"padding_mode = '{module.padding_mode}'; only zeros can be expressed")
    if module.padding == "same":
        total = [d * (k - 1) for d, k in zip(module.dilation, module.kernel_size)]
        padding = tuple(t // 2 for t in total) + tuple(t - t // 2 for t in total)
    else:
        padding = padding_of(name, module)
    more = {"groups": module.groups} if module.groups > 1 else {}
    if pair(module.dilation) != (1, 1):
        more["dilation"] = pair(module.dilation)
    if module.bias is not None:
        more["bias"] = array(module.bias)
    return groups.add(name, kind, [key], type="conv2d", weight=array(module.weight), stride=pair(module.stride),
                      padding=padding, **more)


def linear(groups, name, kind, module, key, _, shape):
    if len(shape) != 2:
        refuse(name, kind, f"acts on the last axis of {list(shape[1:])}; Flatten is expected in front of it")
    more = {} if module.bias is None else {"bias": array(module.bias)}
    return groups.add(name, kind, [key], type="linear", weight=array(module.weight), **more)


def batch_norm(groups, name, kind, module, key, sole, _):
    if module.running_mean is None:
        refuse(name, kind, "keeps no running statistics, so it is not a fixed map")
    mean = array(module.running_mean)
    values = {"bn_gamma": array(module.weight) if module.affine else np.ones_like(mean),
              "bn_beta": array(module.bias) if module.affine else np.zeros_like(mean), "bn_mean": mean,
              "bn_var": array(module.running_var), "bn_eps": float(module.eps)}
    group = groups.own(key, sole, "conv2d", "linear")
    if group is None or "bn_var" in group:
        return groups.add(name, kind, [key], type="batchnorm", **values)
    group.update(values)
    return key


def activation(groups, name, kind, module, key, sole, _):
    return groups.activate(name, kind, key, sole, activation_of(name, kind, module))


def limits(groups, name, kind, module, key, sole, _):
    """A Hardtanh: the activation clip where its limits are alike, else a group of its own."""
    if module.max_val == -module.min_val:
        return groups.activate(name, kind, key, sole, activation_of(name, kind, module))
    return groups.add(name, kind, [key], type="clip", min=float(module.min_val), max=float(module.max_val))


def windows(name, kind, module, shape):
    """Attributes of a pool over windows."""
    kernel, stride, padding = pair(module.kernel_size), pair(module.stride), pair(module.padding)
    for extent, k, s, p in zip(shape[2:], kernel, stride, padding):
        rest = (extent + 2 * p - k) % s
        # Rounding up adds a window only where it begins inside of the image or its left padding.
        if module.ceil_mode and rest and (extent + 2 * p - k) // s * s + s < extent + p:
            refuse(name, kind, "ceil_mode adds a window here; without it the pool can be expressed")
    return {"kernel": kernel, "stride": stride, "padding": padding}


def max_pool(groups, name, kind, module, key, _, shape):
    if pair(module.dilation) != (1, 1) or module.return_indices:
        refuse(name, kind, "has a dilation or returns indices, which cannot be expressed")
    return groups.add(name, kind, [key], type="max-pool", **windows(name, kind, module, shape))


def average_pool(groups, name, kind, module, key, _, shape):
    if module.divisor_override:
        refuse(name, kind, "has a divisor_override, which cannot be expressed")
    return groups.add(name, kind, [key], type="average-pool", count_include_pad=int(module.count_include_pad),
                      **windows(name, kind, module, shape))


def adaptive_pool(groups, name, kind, module, key, _, shape):
    size = tuple(e if s is None else s for s, e in zip(np.broadcast_to(module.output_size, 2), shape[2:]))
    if size == (1, 1):
        return groups.add(name, kind, [key], type="global-average-pool")
    if any(e % s for s, e in zip(size, shape[2:])):
        refuse(name, kind, f"output_size = {size} does not divide the {shape[2]} x {shape[3]} pixels")
    kernel = tuple(int(e // s) for s, e in zip(size, shape[2:]))
    return key if kernel == (1, 1) else groups.add(name, kind, [key], type="average-pool", kernel=kernel)


def flatten(groups, name, kind, module, key, _, shape):
    if module.start_dim != 1 or module.end_dim not in (-1, len(shape) - 1):
        refuse(name, kind, "only Flatten() of everything but the batch can be expressed")
    return key if all(extent == 1 for extent in shape[2:]) else groups.add(name, kind, [key], type="flatten")


def reshape(groups, name, kind, module, key, *_):
    if module.dim != 1 or len(module.unflattened_size) != 3:
        refuse(name, kind, "only [samples, channels, height, width] can be expressed")
    return groups.add(name, kind, [key], type="reshape", shape=[int(n) for n in module.unflattened_size])


def resize(groups, name, kind, module, key, _, shape):
    """Nearest pixels; PyTorch takes pixel floor(i n / n'), or floor(i / scale)."""
    scale = module.scale_factor
    if module.mode != "nearest" or len(shape) != 4:
        refuse(name, kind, f"mode = '{module.mode}'; only 'nearest', of images, can be expressed")
    if scale is None:
        return groups.add(name, kind, [key], type="resize", size=pair(module.size))
    if any(s != int(s) or s < 1 for s in np.atleast_1d(scale)):
        refuse(name, kind, f"scale_factor = {scale}; whole numbers, or a size, can be expressed")
    return groups.add(name, kind, [key], type="resize", scale=pair(scale))


HANDLERS = {nn.Conv2d: convolution, nn.Linear: linear, nn.BatchNorm1d: batch_norm, nn.BatchNorm2d: batch_norm,
            nn.MaxPool2d: max_pool, nn.AvgPool2d: average_pool, nn.AdaptiveAvgPool2d: adaptive_pool,
            nn.Flatten: flatten, nn.Hardtanh: limits, nn.Unflatten: reshape, nn.Upsample: resize, **dict.fromkeys(ACTIVATIONS, activation),
            **dict.fromkeys(TRANSPARENT, lambda groups, name, kind, module, key, *_: key)}
assert set(HANDLERS) <= set(MODULES)


def constant(name, kind, value, channels):
    """A number, or one a channel, as an array [channels]."""
    values = value.detach().double().numpy() if isinstance(value, torch.Tensor) else np.array(value, np.float64)
    if values.size not in (1, channels) or values.size > 1 and (values.ndim < 3 or values.shape[-3] != channels):
        refuse(name, kind, f"takes a constant of shape {list(values.shape)}; a number, or one a channel, can be expressed")
    return np.broadcast_to(values.reshape(-1), channels).astype(np.float64)


def join(groups, node, modules):
    """The group of a sum, product or concatenation."""
    name, kind = title(node, modules)
    form, keys = JOINS[kind], groups.keys
    operands = list(node.args[0]) if form == "concat" else list(node.args[:2])
    shape = node.meta["shape"]
    if form == "concat" and (node.args[1:] + tuple(node.kwargs.values()) or (0,))[0] not in (1, 1 - len(shape)):
        refuse(name, kind, "joins another axis than the channels")
    if form != "concat" and (len(operands) != 2 or node.kwargs):
        refuse(name, kind, "has further arguments (alpha, out), which cannot be expressed")
    tensors = [o for o in operands if isinstance(o, torch.fx.Node) and o in keys]
    if len(tensors) == len(operands):
        if form != "concat" and any(len(o.meta["shape"]) != len(shape) for o in tensors):
            refuse(name, kind, "repeats a tensor of fewer axes")
        return groups.add(name, kind, [keys[o] for o in tensors], type=form)
    if len(tensors) != 1 or len(operands) != 2 or tensors[0].meta["shape"] != shape:
        refuse(name, kind, "takes tensors that no module gives")
    other = operands[1] if operands[0] is tensors[0] else operands[0]
    if isinstance(other, torch.fx.Node):
        if other.op != "get_attr":
            refuse(name, kind, f"takes {other.name}, which is not a constant")
        other = tensor_of(modules[""], other.target)
    return groups.add(name, kind, [keys[tensors[0]]], type=form, constant=constant(name, kind, other, shape[1]))


def tensor_of(model, path):
    """The parameter or buffer of this name."""
    for part in path.split("."):
        model = getattr(model, part)
    return model


def describe(model, input_shape):
    """The groups of the model: dicts of datasets and attributes, by name. The last one gives the outputs."""
    model, modules = prepared(model)
    groups, result = Groups(), None
    for node in trace(model, input_shape).nodes:
        if node.op == "placeholder":
            if not groups.keys:
                groups.give(node, "input")
            continue
        if node.op == "output":
            result = groups.keys.get(node.args[0]) if isinstance(node.args[0], torch.fx.Node) else None
            if result not in groups.groups:
                refuse("model", type(model).__name__, "returns more, or something else, than the output of a module")
        elif node.op != "get_attr" and not is_shape(node):
            groups.give(node, operation(groups, node, modules))
    return groups.needed(result)


def operation(groups, node, modules):
    """The name of the group that gives the value of the node."""
    name, kind = title(node, modules)
    if "shape" not in node.meta:
        refuse(name, kind, "is reached with inputs of unknown shape; the model does not take the input shape given")
    if node.op != "call_module" and kind in JOINS:
        return join(groups, node, modules)
    tensors = [n for n in node.all_input_nodes if not is_shape(n)]
    if len(tensors) != 1 or tensors[0] not in groups.keys:
        refuse(name, kind, f"takes {' and '.join(str(t) for t in tensors) or 'no tensor'}; one tensor is expected")
    key, shape = groups.keys[tensors[0]], tensors[0].meta["shape"]
    sole = groups.sole(key, lambda value: [user for user in value.users if not is_shape(user)])
    for module in modules_of(node, modules):
        handler = HANDLERS.get(known_class(module))
        if handler is None:
            refuse(name, kind, "has no counterpart in a target file that is a graph")
        key = handler(groups, name, kind, module, key, sole, shape)
        shape = node.meta["shape"] if isinstance(module, nn.Flatten) else (*shape[:2], 1, 1) if isinstance(
            module, nn.AdaptiveAvgPool2d) else shape
    return key
