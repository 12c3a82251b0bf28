"""The layers of a target file of `norma reconstruct`, for the scripts that write such files.

A target is a chain of convolutions and linear layers. Each may have a batch norm, an activation and
a pool, in this order. Chain takes the operations of a model one after another and refuses, by the
name of the operation, whatever such a chain cannot express.
"""
import re

import h5py
import numpy as np

# Each name of a target file, then the names that other programs use. Capitals, '-' and '_' do not count.
TYPES = {"conv2d": ("conv", "convolution", "convolution2d"),
         "conv1d": ("convolution1d",), "linear": ("dense", "fully-connected"),
         "batchnorm": ("batch-normalization",), "add": (), "multiply": ("mul",), "concat": ("concatenate",),
         "activation": (), "clip": (), "max-pool": (), "average-pool": (), "global-average-pool": (), "flatten": (), "softmax": (),
         "reshape": (), "resize": ("upsample",)}
# Groups with a weight, for which a source pair can stand.
KERNELS = ("conv2d", "conv1d", "linear")
ACTIVATIONS = {"identity": ("linear", "none"), "relu": (), "leaky-relu": (), "tanh": (), "sigmoid": ("logistic",),
               "gelu": (), "silu": ("swish",), "softplus": (), "relu6": (), "hard-sigmoid": (), "hard-swish": (),
               "clip": ("hardtanh",)}
# The attribute of an activation's parameter, and its value where it is not given.
PARAMETERS = {"leaky-relu": ("negative_slope", 0.01), "hard-sigmoid": ("slope", 1 / 6), "clip": ("limit", 1.0)}
POOLS = {"none": (), "max2": (), "global-average": ("global-average-pooling-2d",)}

# Activations that keep the order of numbers: they give the same in front of a maximum and behind it.
MONOTONE = ("identity", "relu", "leaky-relu", "tanh", "sigmoid", "softplus", "relu6", "hard-sigmoid", "clip")


class NotExpressible(ValueError):
    """The model holds something that a target file cannot express."""


def refuse(name, kind, why):
    raise NotExpressible(f"{name} ({kind}): {why}")


def canonical(name, table):
    """The name of a target file for `name`, one of its synonyms; ValueError with the known names."""
    text = name.decode() if isinstance(name, bytes) else str(name)
    def plain(word):
        return re.sub(r"[-_ ]", "", word.strip().lower())
    for known, synonyms in table.items():
        if plain(text) in map(plain, (known, *synonyms)):
            return known
    raise ValueError(f"'{text.strip()}' is unknown; expected one of {', '.join(table)}")


def activation_of(attributes):
    """The activation of a group of a target or result file, and its parameter or None."""
    name = canonical(attributes.get("activation", "identity"), ACTIVATIONS)
    if name not in PARAMETERS:
        return name, None
    key, value = PARAMETERS[name]
    return name, float(attributes.get(key, value))


def pair(value):
    """A number for both axes, or one for each."""
    return (int(value),) * 2 if np.ndim(value) == 0 else tuple(int(v) for v in value)


def geometry(group):
    """(stride, dilation, padding, groups) of a convolution of a target file; padding is (top, left, bottom, right). A
    conv1d is a conv2d of images of one row."""
    attributes = group.attrs
    stride, dilation = (np.broadcast_to(attributes.get(n, 1), 2).tolist() for n in ("stride", "dilation"))
    padding = np.atleast_1d(attributes.get("padding", 0)).tolist()
    if canonical(attributes["type"], TYPES) == "conv1d":
        return [1, stride[0]], [1, dilation[0]], [0, padding[0], 0, padding[-1]], int(attributes.get("groups", 1))
    padding = padding if len(padding) == 4 else 2 * np.broadcast_to(padding, 2).tolist()
    return stride, dilation, padding, int(attributes.get("groups", 1))


def images_weight(weight):
    """The weight [outputs, inputs, height, width] of a convolution, also of a conv1d, or of a linear layer."""
    return weight[:, :, None] if weight.ndim == 3 else weight.reshape(*weight.shape[:2], *(weight.shape[2:] or (1, 1)))


def checked_slope(name, kind, slope):
    """The negative_slope of a leaky-relu; refused outside of (0, 1)."""
    if not 0 < slope < 1:
        refuse(name, kind, f"negative_slope = {slope}; it must lie in (0, 1)")
    return float(slope)


class Chain:
    """The layers so far: dicts of the datasets (arrays) and attributes of a target file. Every method
    takes the name and the kind of the model's operation, for messages."""

    def __init__(self):
        self.layers = []
        self.flat = False
        self.zeros = None  # of a padding that waits for its convolution: its name, kind, sides

    def convolution(self, name, kind, weight, bias, stride, padding):
        """weight is [c2, c0, height, width], stride a pair; padding is (top, left, bottom, right)."""
        if self.flat:
            refuse(name, kind, "follows Flatten")
        if self.zeros:
            padding, self.zeros = [a + b for a, b in zip(padding, self.zeros[2])], None
        if tuple(padding[:2]) != tuple(padding[2:]) or min(padding) < 0:
            refuse(name, kind, f"padding {list(padding)} (top, left, bottom, right) is not the same on both sides")
        self._add(name, kind, weight, bias, type="conv2d", stride=stride, padding=tuple(padding[:2]))

    def pad(self, name, kind, padding):
        """Zeros around the images, (top, left, bottom, right); a convolution must follow."""
        self._refuse_zeros()
        self.zeros = name, kind, padding

    def linear(self, name, kind, weight, bias):
        """weight is [outputs, inputs]."""
        if not self.flat and self.layers and self.layers[-1]["type"] == "conv2d":
            refuse(name, kind, "follows a convolution without Flatten, so it acts on columns of pixels")
        self._add(name, kind, weight, bias, type="linear")

    def bias(self, name, kind, bias):
        """One number a channel, added to the outputs of the layer before."""
        layer = self._last(name, kind)
        self._refuse_order(name, kind, self._behind_norm(layer))
        self._finite(name, kind, bias)
        into = "bn_beta" if "bn_var" in layer else "bias"
        layer[into] = layer.get(into, 0) + bias

    def batch_norm(self, name, kind, gamma, beta, mean, variance, eps):
        """The statistics and the affine map, one number a channel."""
        layer = self._last(name, kind)
        self._refuse_order(name, kind, [("bn_var" in layer, "another batch norm"), *self._behind_norm(layer)])
        values = {"bn_gamma": gamma, "bn_beta": beta, "bn_mean": mean, "bn_var": variance}
        for value in values.values():
            self._finite(name, kind, value)
        layer.update(values, bn_eps=float(eps))

    def activation(self, name, kind, activation, negative_slope=None, **parameter):
        """`activation` is a name of a target file, `parameter` its attribute."""
        layer = self._last(name, kind)
        # A maximum commutes with it, and so does flattening.
        pool = layer["pool"] != "none" and not (layer["pool"] == "max2" and activation in MONOTONE)
        self._refuse_order(name, kind, [(layer["activation"] != "identity", "the activation"), (pool, "the pool")])
        layer["activation"] = activation
        if activation == "leaky-relu":
            layer["negative_slope"] = checked_slope(name, kind, negative_slope)
        layer.update(parameter)

    def pool(self, name, kind, pool):
        """`pool` is max2 or global-average."""
        layer = self._last(name, kind)
        if layer["type"] == "linear":
            refuse(name, kind, "pools the outputs of a linear layer")
        self._refuse_order(name, kind, [(layer["pool"] != "none", "the pool"), (self.flat, "Flatten")])
        layer["pool"] = pool

    def flatten(self):
        self.flat = True

    def finish(self):
        """The layers; the model is at its end."""
        self._refuse_zeros()
        if not self.layers:
            raise NotExpressible("the model holds no convolution and no linear layer")
        return self.layers

    def _add(self, name, kind, weight, bias, **attributes):
        self._refuse_zeros()
        for value in (weight, bias):
            if value is not None:
                self._finite(name, kind, value)
        self.layers.append({"weight": weight, "activation": "identity", "pool": "none", **attributes})
        if bias is not None:
            self.layers[-1]["bias"] = bias

    def _refuse_zeros(self):
        if self.zeros:
            refuse(*self.zeros[:2], "pads images that no convolution takes")

    def _last(self, name, kind):
        self._refuse_zeros()
        if not self.layers:
            refuse(name, kind, "stands in front of the first convolution or linear layer")
        return self.layers[-1]

    def _behind_norm(self, layer):
        return [(layer["activation"] != "identity", "the activation"), (layer["pool"] != "none", "the pool"),
                (self.flat and layer["type"] == "conv2d", "Flatten")]

    def _refuse_order(self, name, kind, before):
        for is_there, part in before:
            if is_there:
                refuse(name, kind, f"follows {part}; the order of a target file is convolution, batch norm, "
                       "activation, pool")

    def _finite(self, name, kind, value):
        if not np.issubdtype(np.asarray(value).dtype, np.floating):
            refuse(name, kind, f"holds numbers of type {np.asarray(value).dtype}; floating-point ones are expected")
        if not np.isfinite(value).all():
            refuse(name, kind, "holds a number that is not finite")


def write_layers(path, layers, input_shape, input_scale=1.0, input_offset=0.0, input_range=None, dataset=None,
                 **attributes):
    """Writes the layers of a Chain, or groups by name, as a target file for inputs x = input_scale * pixel +
    input_offset of input_shape; further attributes are stored with the root of the file."""
    with h5py.File(path, "w") as f:
        f.attrs["input_shape"] = np.array(input_shape)
        f.attrs["input_scale"] = input_scale
        f.attrs["input_offset"] = input_offset
        if input_range is not None:
            f.attrs["input_min"], f.attrs["input_max"] = (float(x) for x in input_range)
        if dataset is not None:
            f.attrs["dataset"] = dataset
        f.attrs.update(attributes)
        if not isinstance(layers, dict):
            layers = {f"{number:03d}": layer for number, layer in enumerate(layers)}
        for title, layer in layers.items():
            group = f.create_group(f"layers/{title}")
            for name, value in layer.items():
                if isinstance(value, np.ndarray):
                    group[name] = value
                else:
                    group.attrs[name] = value
