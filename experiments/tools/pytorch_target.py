#!/usr/bin/env python3
"""Writes a PyTorch model as a target file of `norma reconstruct`.

    python3 pytorch_target.py MODEL.pt --input-shape 1,28,28 --input-scale 0.00784313725490196 \\
        --input-offset -1 --input-range -1,1 --dataset fashion-mnist --output target.h5

MODEL.pt holds a whole model, as torch.save(model, ...) writes it (unpickling runs code: open only
files you trust). From Python: write_target(path, model, input_shape=(1, 28, 28), ...).

The model is a chain: nn.Sequential, nested at will, of Conv2d or Linear, each followed by an
optional batch norm, an optional activation and an optional pool, in this order; Flatten, Dropout
and Identity where they change nothing. Whatever a target file cannot express is refused by name.
"""
import argparse
import sys

import h5py
import numpy as np
import torch
from torch import nn

ACTIVATIONS = {nn.ReLU: "relu", nn.LeakyReLU: "leaky-relu", nn.Tanh: "tanh", nn.Sigmoid: "sigmoid",
               nn.GELU: "gelu", nn.SiLU: "silu", nn.Softplus: "softplus"}
BATCH_NORMS = (nn.BatchNorm1d, nn.BatchNorm2d)
POOLS = (nn.MaxPool2d, nn.AdaptiveAvgPool2d)
TRANSPARENT = (nn.Dropout, nn.Dropout2d, nn.Identity)


class NotExpressible(ValueError):
    """The model holds something that a target file cannot say."""


def flatten(module, name=""):
    """(name, module) of all modules of a nested Sequential, in order."""
    if isinstance(module, nn.Sequential):
        for key, child in module.named_children():
            yield from flatten(child, f"{name}.{key}" if name else key)
    else:
        yield name or "model", module


def pair(value):
    return (value, value) if isinstance(value, int) else tuple(value)


def refuse(name, module, why):
    raise NotExpressible(f"{name} ({type(module).__name__}): {why}")


def padding_of(name, conv):
    if conv.padding == "valid":
        return 0, 0
    if conv.padding != "same":
        return pair(conv.padding)
    if any(k % 2 == 0 for k in conv.kernel_size):
        refuse(name, conv, "padding 'same' of an even kernel is not the same on both sides")
    return tuple(k // 2 for k in conv.kernel_size)


def convolution(name, module):
    if module.groups != 1:
        refuse(name, module, f"groups = {module.groups}; only 1 can be expressed")
    if pair(module.dilation) != (1, 1):
        refuse(name, module, f"dilation = {module.dilation}; only 1 can be expressed")
    if module.padding_mode != "zeros":
        refuse(name, module, f"padding_mode = '{module.padding_mode}'; only zeros can be expressed")
    return {"type": "conv2d", "stride": pair(module.stride), "padding": padding_of(name, module)}


def batch_norm(name, module):
    """The statistics and affine map of a batch norm in evaluation mode."""
    if module.running_mean is None:
        refuse(name, module, "keeps no running statistics, so it is no fixed map")
    ones = torch.ones_like(module.running_mean)
    return {"bn_gamma": module.weight if module.affine else ones,
            "bn_beta": module.bias if module.affine else 0 * ones,
            "bn_mean": module.running_mean, "bn_var": module.running_var, "bn_eps": module.eps}


def activation(name, module):
    if isinstance(module, nn.GELU) and getattr(module, "approximate", "none") != "none":
        refuse(name, module, "approximate='tanh'; only the exact form can be expressed")
    if isinstance(module, nn.Softplus) and module.beta != 1:
        refuse(name, module, f"beta = {module.beta}; only 1 can be expressed")
    if not isinstance(module, nn.LeakyReLU):
        return {"activation": ACTIVATIONS[type(module)]}
    if not 0 < module.negative_slope < 1:
        refuse(name, module, f"negative_slope = {module.negative_slope}; it must lie in (0, 1)")
    return {"activation": "leaky-relu", "negative_slope": module.negative_slope}


def pool(name, module):
    if isinstance(module, nn.AdaptiveAvgPool2d):
        if pair(module.output_size) != (1, 1):
            refuse(name, module, f"output_size = {module.output_size}; only 1 can be expressed")
        return {"pool": "global-average"}
    plain = (pair(module.kernel_size) == (2, 2) and pair(module.stride) == (2, 2) and
             pair(module.padding) == (0, 0) and pair(module.dilation) == (1, 1) and not module.ceil_mode)
    if not plain:
        refuse(name, module, "only MaxPool2d(2), without padding, dilation or ceil_mode, can be expressed")
    return {"pool": "max2"}


def describe(model):
    """The model as a list of layers: dicts with weight, bias, bn_* and the attributes of a target file."""
    layers = []
    flat = False
    for name, module in flatten(model):
        layer = layers[-1] if layers else None
        if isinstance(module, TRANSPARENT):
            continue
        if isinstance(module, nn.Flatten):
            if module.start_dim != 1 or module.end_dim != -1:
                refuse(name, module, "only Flatten() of everything but the batch can be expressed")
            flat = True
        elif type(module) in (nn.Conv2d, nn.Linear):
            linear = type(module) is nn.Linear
            if linear and not flat and layer and layer["type"] == "conv2d":
                refuse(name, module, "follows a convolution without Flatten, so it acts on columns of pixels")
            if flat and not linear:
                refuse(name, module, "follows Flatten")
            layers.append({"weight": module.weight, "activation": "identity", "pool": "none",
                           **({"type": "linear"} if linear else convolution(name, module))})
            if module.bias is not None:
                layers[-1]["bias"] = module.bias
        elif isinstance(module, BATCH_NORMS + POOLS) or type(module) in ACTIVATIONS:
            if layer is None:
                refuse(name, module, "stands in front of the first Conv2d or Linear")
            part = (batch_norm if isinstance(module, BATCH_NORMS) else
                    pool if isinstance(module, POOLS) else activation)(name, module)
            before = ["the activation" if layer["activation"] != "identity" else "",
                      "the pool" if layer["pool"] != "none" else "",
                      "Flatten" if flat and layer["type"] == "conv2d" else ""]
            if isinstance(module, BATCH_NORMS):
                before.insert(0, "another batch norm" if "bn_var" in layer else "")
            elif isinstance(module, POOLS):
                before = before[1:]
                if layer["type"] == "linear":
                    refuse(name, module, "pools the outputs of a linear layer")
            if any(before):
                refuse(name, module, f"follows {next(b for b in before if b)}; the order of a target file is "
                       "convolution, batch norm, activation, pool")
            layer.update(part)
        else:
            refuse(name, module, "has no counterpart in a target file")
    if not layers:
        raise NotExpressible("the model holds no Conv2d or Linear")
    return layers


def write_target(path, model, input_shape, input_scale=1.0, input_offset=0.0, input_range=None,
                 dataset=None, **attributes):
    """Writes the model (in evaluation mode) for inputs x = input_scale * pixel + input_offset of
    input_shape (channels, height, width); further attributes go to the root of the file. Raises
    NotExpressible before anything is written."""
    layers = describe(model)
    with h5py.File(path, "w") as f:
        f.attrs["input_shape"] = np.array(input_shape)
        f.attrs["input_scale"] = input_scale
        f.attrs["input_offset"] = input_offset
        if input_range is not None:
            f.attrs["input_min"], f.attrs["input_max"] = (float(x) for x in input_range)
        if dataset is not None:
            f.attrs["dataset"] = dataset
        f.attrs.update(attributes)
        for number, layer in enumerate(layers):
            group = f.create_group(f"layers/{number:03d}")
            for name, value in layer.items():
                if isinstance(value, torch.Tensor):
                    group[name] = value.detach().cpu().numpy()
                else:
                    group.attrs[name] = value


def read_target(path, dtype=torch.float64):
    """The model of a target file, in evaluation mode, and its root attributes."""
    modules = []
    with h5py.File(path, "r") as f:
        for number in sorted(f["layers"]):
            modules += read_layer(f["layers"][number])
        attributes = dict(f.attrs)
    return nn.Sequential(*modules).to(dtype).eval(), attributes


def read_layer(group):
    """The modules of one layer of a target file."""
    attributes = group.attrs
    weight = torch.from_numpy(group["weight"][...].astype(np.float64))
    c2, c0 = weight.shape[:2]
    bias = "bias" in group
    if attributes["type"] == "linear":
        modules = [nn.Flatten(), nn.Linear(c0, c2, bias)]
    else:
        stride, padding = (tuple(int(v) for v in np.broadcast_to(attributes.get(name, default), 2))
                           for name, default in (("stride", 1), ("padding", 0)))
        modules = [nn.Conv2d(c0, c2, weight.shape[2:], stride, padding, bias=bias)]
    modules[-1].double()
    modules[-1].weight.data.copy_(weight)
    if bias:
        modules[-1].bias.data.copy_(torch.from_numpy(group["bias"][...].astype(np.float64)))
    if "bn_var" in group:
        norm = nn.BatchNorm1d if attributes["type"] == "linear" else nn.BatchNorm2d
        modules.append(norm(c2, eps=float(attributes.get("bn_eps", 1e-5))).double())
        for own, name in (("weight", "gamma"), ("bias", "beta"), ("running_mean", "mean"), ("running_var", "var")):
            getattr(modules[-1], own).data.copy_(torch.from_numpy(group["bn_" + name][...].astype(np.float64)))
    name = attributes["activation"].replace("_", "-")
    if name != "identity":
        kind = next(k for k, v in ACTIVATIONS.items() if v == name)
        modules.append(kind(float(attributes.get("negative_slope", 0.01))) if name == "leaky-relu" else kind())
    pool_name = attributes.get("pool", "none")
    if pool_name == "max2":
        modules.append(nn.MaxPool2d(2))
    elif pool_name == "global-average":
        modules.append(nn.AdaptiveAvgPool2d(1))
    return modules


def numbers(text):
    values = [float(v) for v in text.split(",")]
    return values[0] if len(values) == 1 else values


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("model", help="file written by torch.save(model, ...)")
    parser.add_argument("--input-shape", required=True, help="channels,height,width (or inputs)")
    parser.add_argument("--input-scale", type=numbers, default=1.0, help="x = scale * pixel + offset, a number or one a channel")
    parser.add_argument("--input-offset", type=numbers, default=0.0)
    parser.add_argument("--input-range", type=numbers, help="least and greatest x, for bounds without data")
    parser.add_argument("--dataset", help="the data set it was trained on")
    parser.add_argument("--output", required=True)
    args = parser.parse_args()
    try:
        model = torch.load(args.model, map_location="cpu")
    except Exception as error:  # whatever unpickling raises: a class that is not importable, no such file
        sys.exit(f"pytorch_target: {args.model}: cannot be loaded as a model: {error}; a class of your own must be "
                 "importable (PYTHONPATH), or be rewritten as nn.Sequential")
    if not isinstance(model, nn.Module):
        sys.exit(f"pytorch_target: {args.model}: holds a {type(model).__name__}, not a model (torch.save(model, ...))")
    try:
        write_target(args.output, model, [int(v) for v in args.input_shape.split(",")], args.input_scale,
                     args.input_offset, args.input_range, args.dataset)
    except NotExpressible as error:
        sys.exit(f"pytorch_target: {error}")
    print(f"{args.output}: {len(describe(model))} layers")


if __name__ == "__main__":
    main()
