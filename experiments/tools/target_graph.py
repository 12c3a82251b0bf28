"""The groups of a target file as a graph: their order, and the values of groups without weights."""
from collections import defaultdict

import h5py
import numpy as np

from target_layers import TYPES, NotExpressible, canonical, pair, refuse

INPUT = "input"


class Groups:
    """The groups so far: dicts of the datasets (arrays) and attributes, by name; keys[value] is the name of the group
    that gives a value of the model, and values[name] are all values of that group."""

    def __init__(self):
        self.groups, self.keys, self.values = {}, {}, defaultdict(set)

    def give(self, value, key):
        """The group `key` gives the value."""
        self.keys[value] = key
        self.values[key].add(value)

    def sole(self, key, readers):
        """Is a single value computed from those of the group? readers(value) are the values computed from it."""
        own = self.values[key]
        return len({reader for value in own for reader in readers(value)} - own) == 1

    def add(self, name, kind, inputs, **group):
        for value in group.values():
            if isinstance(value, np.ndarray) and not np.isfinite(value).all():
                refuse(name, kind, "holds a number that is not finite")
        key = f"{len(self.groups):03d}" if len(self.groups) < 1000 else f"1{len(self.groups):06d}"
        self.groups[key] = {"inputs": list(inputs), "name": name, "activation": "identity", **group}
        return key

    def own(self, key, sole, *types):
        """The group whose value nothing else reads, so that it can take the next operation in; else None."""
        group = self.groups.get(key)
        fits = group and sole and group["activation"] == "identity" and (not types or group["type"] in types)
        return group if fits else None

    def activate(self, name, kind, key, sole, values):
        """The activation `values` of a group's value: in that group, or in one of its own."""
        group = self.own(key, sole)
        if group is None:
            return self.add(name, kind, [key], **{"type": "activation", **values})
        group.update(values)
        return key

    def needed(self, key):
        """The groups that `key` reads, directly or through others."""
        kept, todo = set(), [key]
        while todo:
            at = todo.pop()
            if at in self.groups and at not in kept:
                kept.add(at)
                todo += self.groups[at]["inputs"]
        return {key: group for key, group in self.groups.items() if key in kept}


def is_graph(path):
    """Is the target file more than a chain of convolutions and linear layers?"""
    with h5py.File(path, "r") as f:
        return any("inputs" in group.attrs or canonical(group.attrs["type"], TYPES) not in ("conv2d", "linear") or
                   "groups" in group.attrs or "dilation" in group.attrs or np.size(group.attrs.get("padding", 0)) == 4
                   for group in f["layers"].values())


def inputs_of(group, before):
    """Names of the groups that a group reads; without `inputs` it reads the one before it."""
    names = group.attrs.get("inputs", before)
    if isinstance(names, (str, bytes)):
        names = [names]
    return [n.decode() if isinstance(n, bytes) else str(n) for n in names]


def ordered(layers):
    """(name, names it reads) of all groups of `layers`, each behind what it reads; groups whose order in the
    file is such a one keep it."""
    names = sorted(layers)
    inputs = {name: inputs_of(layers[name], before) for name, before in zip(names, [INPUT, *names])}
    listed, order, under_way = {INPUT}, [], set()
    for root in names:
        stack = [root]
        while stack:
            name = stack[-1]
            if name in listed:
                stack.pop()
                continue
            if name not in inputs:
                raise NotExpressible(f"{layers.name}: there is no group {name}")
            missing = [n for n in inputs[name] if n not in listed]
            if missing and name in under_way:
                raise NotExpressible(f"{layers.name}/{name}: reads its own values, through the groups that it reads")
            if missing:
                under_way.add(name)
                stack += reversed(missing)
            else:
                listed.add(name)
                order.append((name, inputs[name]))
                under_way.discard(name)
                stack.pop()
    return order


def windows(x, attributes, fill):
    """The windows of a pool, [n, channels, height, width, kernel height, kernel width]."""
    kernel = pair(attributes["kernel"])
    stride = np.broadcast_to(attributes.get("stride", kernel), 2)
    padding = np.atleast_1d(attributes.get("padding", 0))
    near, far = (padding[:2], padding[2:]) if len(padding) == 4 else (np.broadcast_to(padding, 2),) * 2
    x = np.pad(x, ((0, 0), (0, 0), *zip(near, far)), constant_values=fill)
    parts = np.lib.stride_tricks.sliding_window_view(x, kernel, axis=(2, 3))
    return parts[:, :, ::stride[0], ::stride[1]]


def nearest(attributes, extents):
    """The rows and the columns that a resize takes of images of these extents."""
    scale = np.broadcast_to(attributes.get("scale", 1), 2)
    sizes = np.broadcast_to(attributes["size"], 2) if "size" in attributes else np.multiply(extents, scale)
    return [np.arange(size) * n // size for size, n in zip(sizes, extents)]


def affine(numbers, attributes):
    """scale and shift of a batch norm, or of a sum or product with a constant."""
    if "constant" in numbers:
        constant = numbers["constant"]
        return (np.ones_like(constant), constant) if canonical(attributes["type"], TYPES) == "add" else (
            constant, np.zeros_like(constant))
    scale = numbers["bn_gamma"] / np.sqrt(numbers["bn_var"] + attributes.get("bn_eps", 1e-5))
    return scale, numbers["bn_beta"] - numbers["bn_mean"] * scale


def apply_node(group, kind, values):
    """The values of a group without weights, from its inputs and before its activation."""
    x, attributes = values[0], group.attrs
    numbers = {name: dataset[...].astype(np.float64) for name, dataset in group.items()}
    if kind == "batchnorm" or "constant" in numbers:
        scale, shift = affine(numbers, attributes)
        return x * scale[:, None, None] + shift[:, None, None]
    if kind == "add":
        return sum(values[1:], x)
    if kind == "multiply":
        for value in values[1:]:
            x = x * value
        return x
    if kind == "concat":
        return np.concatenate(values, 1)
    if kind == "clip":
        return np.clip(x, attributes.get("min"), attributes.get("max"))
    if kind == "max-pool":
        return windows(x, attributes, -np.inf).max((4, 5))
    if kind == "average-pool":
        sums = windows(x, attributes, 0).sum((4, 5))
        if attributes.get("count_include_pad", 1):
            return sums / np.prod(pair(attributes["kernel"]))
        return sums / windows(np.ones_like(x[:1, :1]), attributes, 0).sum((4, 5))
    if kind == "global-average-pool":
        return x.mean((2, 3), keepdims=True)
    if kind == "flatten":
        return x.reshape(len(x), -1, 1, 1)
    if kind == "softmax":
        powers = np.exp(x - x.max(1, keepdims=True))
        return powers / powers.sum(1, keepdims=True)
    if kind == "reshape":
        return x.reshape(len(x), *(int(n) for n in attributes["shape"]))
    if kind == "resize":
        rows, columns = nearest(attributes, x.shape[2:])
        return x[:, :, rows][:, :, :, columns]
    if kind == "activation":
        return x
    raise NotExpressible(f"{group.name}: type {kind}")
