"""A target file against the model it was written from.

forward(path, x) computes the outputs of the file, in FP64 with numpy alone; write_checked compares it with
the model on random inputs, before the file takes its name.
"""
import argparse
import math
import os

import h5py
import numpy as np

import target_graph
from target_layers import (KERNELS, POOLS, TYPES, NotExpressible, activation_of, canonical, geometry, images_weight,
                           write_layers)

SAMPLES = 4
# Of the largest output. Sums in another order differ by 1e-13 at most in any network of use.
TOLERANCE = 1e-9

FUNCTIONS = {"identity": lambda x: x, "relu": lambda x: np.maximum(x, 0), "tanh": np.tanh,
             "sigmoid": lambda x: 0.5 * (1 + np.tanh(0.5 * x)),
             "gelu": lambda x: 0.5 * x * (1 + np.vectorize(math.erf, otypes=[float])(x / math.sqrt(2))),
             "silu": lambda x: 0.5 * x * (1 + np.tanh(0.5 * x)), "softplus": lambda x: np.logaddexp(0, x),
             "relu6": lambda x: np.clip(x, 0, 6), "hard-swish": lambda x: x * np.clip(x / 6 + 0.5, 0, 1)}
WITH_PARAMETER = {"leaky-relu": lambda x, slope: np.where(x < 0, slope * x, x),
                  "hard-sigmoid": lambda x, slope: np.clip(slope * x + 0.5, 0, 1),
                  "clip": lambda x, limit: np.clip(x, -limit, limit)}


class Mismatch(ValueError):
    """The file and the model give different outputs."""


def convolve(x, weight, stride, padding, groups=1, dilation=(1, 1)):
    """Cross-correlation of x [n, c0, h, w] with weight [c2, c0 / groups, kh, kw]; padding is (top, left, bottom,
    right). Zeros are outside."""
    if groups > 1 and x.shape[1] % groups == 0 == len(weight) % groups:
        parts = zip(np.split(x, groups, 1), np.split(weight, groups))
        return np.concatenate([convolve(a, w, stride, padding, 1, dilation) for a, w in parts], 1)
    top, left, bottom, right = padding
    x = np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))
    extents = [(length - d * (k - 1) - 1) // s + 1
               for length, k, s, d in zip(x.shape[2:], weight.shape[2:], stride, dilation)]
    if x.shape[1] != weight.shape[1] or min(extents) < 1:
        raise NotExpressible(f"a convolution with weight {weight.shape} does not fit its input, {x.shape[1:]} with "
                             "padding (channels, height, width)")
    out = np.zeros((len(x), len(weight), *extents))
    for i, j in np.ndindex(*weight.shape[2:]):
        rows, columns = (slice(d * at, d * at + s * (n - 1) + 1, s)
                         for at, s, n, d in zip((i, j), stride, extents, dilation))
        out += np.einsum("oc,nchw->nohw", weight[:, :, i, j], x[:, :, rows, columns], optimize=True)
    return out


def pool_max2(x):
    """Maxima of 2 x 2 blocks; an odd last row or column is dropped."""
    n, c, height, width = x.shape
    height, width = height // 2, width // 2
    return x[:, :, :2 * height, :2 * width].reshape(n, c, height, 2, width, 2).max((3, 5))


def apply_kernel(group, kind, x):
    """A convolution or linear layer, batch norm in evaluation mode, before its activation."""
    numbers = {name: dataset[...].astype(np.float64) for name, dataset in group.items()}
    weight, attributes = numbers["weight"], group.attrs
    if kind == "linear":
        x = x.reshape(len(x), -1)
        if x.shape[1] != weight.shape[1]:
            raise NotExpressible(f"{group.name}: the linear layer takes {weight.shape[1]} inputs, but {x.shape[1]} "
                                 "arrive")
        x = (x @ weight.T)[:, :, None, None]
    else:
        stride, dilation, padding, groups = geometry(group)
        x = convolve(x, images_weight(weight), stride, padding, groups, dilation)
    def of_channels(values):
        return values[:, None, None]
    if "bias" in numbers:
        x = x + of_channels(numbers["bias"])
    if "bn_var" in numbers:
        scale = numbers["bn_gamma"] / np.sqrt(numbers["bn_var"] + attributes.get("bn_eps", 1e-5))
        x = (x - of_channels(numbers["bn_mean"])) * of_channels(scale) + of_channels(numbers["bn_beta"])
    return x


def apply_layer(group, values):
    """One group of a target file, for the values of the groups that it reads."""
    attributes = group.attrs
    kind = canonical(attributes["type"], TYPES)
    x = (apply_kernel(group, kind, values[0]) if kind in KERNELS
         else target_graph.apply_node(group, kind, values))
    name, parameter = activation_of(attributes)
    x = FUNCTIONS[name](x) if parameter is None else WITH_PARAMETER[name](x, parameter)
    pool = canonical(attributes.get("pool", "none"), POOLS)
    return pool_max2(x) if pool == "max2" else x.mean((2, 3), keepdims=True) if pool == "global-average" else x


def forward(path, x):
    """The outputs [n, outputs] of the target file for inputs x of its input_shape, in FP64."""
    with h5py.File(path, "r") as f:
        shape = tuple(np.atleast_1d(f.attrs["input_shape"]).tolist())
        shape = (1, *shape) if len(shape) == 2 else shape if len(shape) == 3 else (*shape, 1, 1)
        x = np.asarray(x, np.float64).reshape(len(x), *shape)
        order = target_graph.ordered(f["layers"])
        values = {target_graph.INPUT: x}
        last = {name: at for at, (_, inputs) in enumerate(order) for name in inputs}
        for at, (name, inputs) in enumerate(order):
            values[name] = x = apply_layer(f["layers"][name], [values[n] for n in inputs])
            for n in set(inputs):
                if last[n] == at:
                    del values[n]
    return x.reshape(len(x), -1)


def random_inputs(input_shape, input_range=None):
    """Inputs [n, channels, height, width] or [n, inputs] of fixed seed: uniform in the range, or normal
    where there is none."""
    rng = np.random.default_rng(20)
    extents = (SAMPLES, 1, *input_shape) if len(input_shape) == 2 else (SAMPLES, *input_shape)
    return rng.standard_normal(extents) if input_range is None else rng.uniform(*input_range, extents)


def compare(path, expected, x):
    """The largest difference of the file's outputs from `expected`, over the largest of these."""
    outputs = forward(path, x)
    expected = np.asarray(expected, np.float64).reshape(len(expected), -1)
    if outputs.shape != expected.shape:
        raise Mismatch(f"the target has {outputs.shape[1]} outputs, the model has {expected.shape[1]}")
    largest = np.abs(expected).max()
    difference = np.abs(outputs - expected).max()
    if not difference <= TOLERANCE * largest:
        raise Mismatch(f"on {len(x)} random inputs the outputs of the target differ from those of the model by "
                       f"{difference:.3g}; the largest is {largest:.3g}. The model computes something that the target "
                       "does not express")
    return difference / largest if largest > 0 else 0.0


def write_checked(path, layers, model, input_shape, *, input_range=None, **root):
    """Writes a target file (arguments as those of write_layers) and returns compare() of it with
    `model`, a function of an FP64 array of inputs. The file takes its name only if they agree."""
    x = random_inputs(input_shape, input_range)
    expected = model(x)
    partial = f"{path}.partial"
    try:
        write_layers(partial, layers, input_shape, input_range=input_range, **root)
        difference = compare(partial, expected, x)
        os.replace(partial, path)
    finally:
        if os.path.exists(partial):
            os.remove(partial)
    return difference


def numbers(text):
    """A number, or a list of them between commas."""
    try:
        values = [float(v) for v in text.split(",")]
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"'{text}': numbers between commas are expected") from error
    return values[0] if len(values) == 1 else values


def shape(text):
    """Whole numbers from 1 on, between commas: (channels, height, width), (height, width) or (inputs,)."""
    values = tuple(int(v) if v.strip().isdecimal() else 0 for v in text.split(","))
    if not 1 <= len(values) <= 3 or min(values) < 1:
        raise argparse.ArgumentTypeError(f"'{text}': channels,height,width (or the number of inputs) is expected")
    return values


def value_range(text):
    values = numbers(text)
    if not isinstance(values, list) or len(values) != 2 or not values[0] <= values[1]:
        raise argparse.ArgumentTypeError(f"'{text}': the least and the greatest x are expected, as in -1,1")
    return values


def add_input_options(parser, shape_required=True):
    """Options of the scripts that write target files: how pixels become the inputs of the model."""
    parser.add_argument("--input-shape", type=shape, required=shape_required, help="channels,height,width (or inputs)")
    parser.add_argument("--input-scale", type=numbers, default=1.0,
                        help="x = scale * pixel + offset, a number or one a channel")
    parser.add_argument("--input-offset", type=numbers, default=0.0)
    parser.add_argument("--input-range", type=value_range, help="least and greatest x, for bounds without data")
    parser.add_argument("--dataset", help="the data set it was trained on")
    parser.add_argument("--output", required=True)


def input_options(args):
    """The arguments of write_checked that add_input_options has read; refuses a wrong number of channels."""
    channels = args.input_shape[0] if len(args.input_shape) != 2 else 1
    for name in ("input_scale", "input_offset"):
        n = np.size(getattr(args, name))
        if n not in (1, channels):
            raise NotExpressible(f"--{name.replace('_', '-')} holds {n} numbers; 1 or {channels} (one a channel of "
                                 "--input-shape) are expected")
    return {"input_shape": args.input_shape, "input_scale": args.input_scale, "input_offset": args.input_offset,
            "input_range": args.input_range, "dataset": args.dataset}
