"""A target file that is a graph, as a PyTorch module."""
import h5py
import numpy as np
import torch
from torch import nn
from torch.nn import functional

import target_graph
from target_layers import KERNELS, TYPES, canonical, pair


class Affine(nn.Module):
    """scale x + shift, one of each a channel."""

    def __init__(self, scale, shift):
        super().__init__()
        self.register_buffer("scale", torch.from_numpy(scale)[:, None, None])
        self.register_buffer("shift", torch.from_numpy(shift)[:, None, None])

    def forward(self, x):
        return self.scale * x + self.shift


class Join(nn.Module):
    """The sum, product or concatenation of several tensors."""

    def __init__(self, kind):
        super().__init__()
        self.kind = kind

    def forward(self, *values):
        if self.kind == "concat":
            return torch.cat(values, 1)
        result = values[0]
        for value in values[1:]:
            result = result + value if self.kind == "add" else result * value
        return result


class Clip(nn.Module):
    """Values between two limits, of which one may be None."""

    def __init__(self, attributes):
        super().__init__()
        self.limits = [None if attributes.get(name) is None else float(attributes[name]) for name in ("min", "max")]

    def forward(self, x):
        return x.clamp(*self.limits)


class Pool(nn.Module):
    """The largest value or the mean of windows, with padding of two or four numbers."""

    def __init__(self, kind, attributes):
        super().__init__()
        self.kernel = pair(attributes["kernel"])
        self.stride = tuple(int(s) for s in np.broadcast_to(attributes.get("stride", self.kernel), 2))
        padding = [int(p) for p in np.atleast_1d(attributes.get("padding", 0))]
        top, left, bottom, right = padding if len(padding) == 4 else 2 * (padding * 2)[:2]
        self.padding = (left, right, top, bottom)
        self.largest = kind == "max-pool"
        self.counts = bool(attributes.get("count_include_pad", 1))

    def forward(self, x):
        if self.largest:
            return functional.max_pool2d(functional.pad(x, self.padding, value=-torch.inf), self.kernel, self.stride)
        means = functional.avg_pool2d(functional.pad(x, self.padding), self.kernel, self.stride)
        if self.counts:
            return means
        return means / functional.avg_pool2d(functional.pad(torch.ones_like(x), self.padding), self.kernel, self.stride)


class Nearest(nn.Module):
    """Images of another size; each pixel is the nearest one below."""

    def __init__(self, attributes):
        super().__init__()
        self.attributes = {k: attributes[k] for k in ("size", "scale") if k in attributes}

    def forward(self, x):
        rows, columns = (torch.from_numpy(n) for n in target_graph.nearest(self.attributes, x.shape[2:]))
        return x[:, :, rows][:, :, :, columns]


class Pixel(nn.Module):
    """Everything as channels of a single pixel, which linear layers and flattened values are here."""

    def forward(self, x):
        return x.flatten(1)[:, :, None, None]


def node_modules(group, kind):
    """The modules of a group without weights, before its activation; Join takes several tensors."""
    attributes = group.attrs
    numbers = {name: dataset[...].astype(np.float64) for name, dataset in group.items()}
    if kind == "batchnorm" or "constant" in numbers:
        return [Affine(*map(np.ascontiguousarray, target_graph.affine(numbers, attributes)))]
    if kind in ("add", "multiply", "concat"):
        return [Join(kind)]
    if kind == "clip":
        return [Clip(attributes)]
    if kind in ("max-pool", "average-pool"):
        return [Pool(kind, attributes)]
    if kind == "reshape":
        return [nn.Flatten(), nn.Unflatten(1, [int(n) for n in attributes["shape"]])]
    if kind == "resize":
        return [Nearest(attributes)]
    return {"global-average-pool": [nn.AdaptiveAvgPool2d(1)], "flatten": [Pixel()], "activation": [nn.Identity()],
            "softmax": [nn.Softmax(1)]}[kind]


class TargetGraph(nn.Module):
    """The groups of the file at `path`. `layer(number, group)` gives the modules of a convolution or linear layer
    with all that is in its group; `number` counts the groups in the order in which they are computed. Linear layers
    take and give single pixels."""

    def __init__(self, path, layer, activation):
        super().__init__()
        self.steps, self.groups = [], nn.ModuleList()
        with h5py.File(path, "r") as f:
            for number, (name, inputs) in enumerate(target_graph.ordered(f["layers"])):
                group = f["layers"][name]
                kind = canonical(group.attrs["type"], TYPES)
                if kind in KERNELS:
                    modules = [Pixel()] * (kind == "linear") + list(layer(number, group)) + [Pixel()] * (
                        kind == "linear")
                else:
                    modules = node_modules(group, kind) + activation(group.attrs)
                self.groups.append(nn.ModuleList(modules))
                self.steps.append((name, inputs))
        self.double().eval()

    def forward(self, x):
        values = {target_graph.INPUT: x if x.ndim == 4 else x[:, :, None, None]}
        last = {name: at for at, (_, inputs) in enumerate(self.steps) for name in inputs}
        for at, ((name, inputs), modules) in enumerate(zip(self.steps, self.groups)):
            result = modules[0](*[values[n] for n in inputs])
            for module in modules[1:]:
                result = module(result)
            values[name] = result
            for n in set(inputs):
                if last[n] == at:
                    del values[n]
        return values[self.steps[-1][0]].flatten(1)
