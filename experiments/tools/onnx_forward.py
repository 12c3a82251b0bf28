"""The operations of an ONNX model that onnx_target.py takes, in FP64 with numpy.

OPERATIONS[op_type](attributes, *inputs) is one output array. Floating-point inputs are FP64; missing
inputs are None. Attributes are those of the operator's newest version, or older where that differs.
"""
import math

import numpy as np
import onnx.numpy_helper

from target_check import FUNCTIONS, convolve


def numbers(values):
    return tuple(int(v) for v in values)


def padding_of(attributes, extents, kernel):
    """(top, left, bottom, right) of a convolution or pool on images of the given extents."""
    automatic = attributes.get("auto_pad", b"NOTSET")
    if automatic == b"NOTSET":
        return numbers(attributes.get("pads", (0, 0, 0, 0)))
    if automatic == b"VALID":
        return (0, 0, 0, 0)
    total = [max((math.ceil(n / s) - 1) * s + k - n, 0)
             for n, s, k in zip(extents, attributes.get("strides", (1, 1)), kernel)]
    less, more = [t // 2 for t in total], [t - t // 2 for t in total]
    return (*less, *more) if automatic == b"SAME_UPPER" else (*more, *less)


def conv(attributes, x, weight, bias=None):
    out = convolve(x, weight, attributes.get("strides", (1, 1)), padding_of(attributes, x.shape[2:], weight.shape[2:]))
    return out if bias is None else out + bias[:, None, None]


def gemm(attributes, a, b, c=None):
    a, b = (m.T if attributes.get(f"trans{n}") else m for m, n in ((a, "A"), (b, "B")))
    out = attributes.get("alpha", 1.0) * (a @ b)
    return out if c is None else out + attributes.get("beta", 1.0) * c


def batch_normalization(attributes, x, gamma, beta, mean, variance):
    of_channels = (-1,) + (1,) * (x.ndim - 2)
    scale = gamma / np.sqrt(variance + attributes.get("epsilon", 1e-5))
    return x * scale.reshape(of_channels) + (beta - mean * scale).reshape(of_channels)


def pooled(reduce):
    """A pool with the whole image, or with 2 x 2 blocks side by side; others are refused before."""
    def pool(attributes, x):
        kernel = numbers(attributes["kernel_shape"])
        if kernel == x.shape[2:]:
            return reduce(x, axis=(2, 3), keepdims=True)
        height, width = (n // k for n, k in zip(x.shape[2:], kernel))
        blocks = x[:, :, :height * kernel[0], :width * kernel[1]]
        return reduce(blocks.reshape(*x.shape[:2], height, kernel[0], width, kernel[1]), axis=(3, 5))
    return pool


def axes_of(attributes, axes):
    """Axes were an attribute before they became an input."""
    axes = attributes.get("axes") if axes is None else axes
    return None if axes is None else numbers(np.atleast_1d(axes))


def reduce_mean(attributes, x, axes=None):
    return x.mean(axes_of(attributes, axes), keepdims=bool(attributes.get("keepdims", 1)))


def unsqueeze(attributes, x, axes=None):
    return np.expand_dims(x, axes_of(attributes, axes))


def reshape(attributes, x, shape):
    extents = [x.shape[i] if n == 0 and not attributes.get("allowzero") else int(n) for i, n in enumerate(shape)]
    return x.reshape(extents)


def flatten(attributes, x):
    axis = attributes.get("axis", 1)
    return x.reshape(math.prod(x.shape[:axis]), -1)


def cut(attributes, x, starts=None, ends=None, axes=None, steps=None):
    starts, ends = (attributes[n] if v is None else v for n, v in (("starts", starts), ("ends", ends)))
    axes = attributes.get("axes", range(len(starts))) if axes is None else axes
    out = [slice(None)] * x.ndim
    for k, axis in enumerate(axes):
        out[axis] = slice(int(starts[k]), int(ends[k]), None if steps is None else int(steps[k]))
    return x[tuple(out)]


def zeros_around(attributes, x, pads=None):
    """(top, left, bottom, right) of a Pad of images, or None where it pads anything else."""
    pads = numbers(attributes["pads"] if pads is None else pads)
    if x.ndim != 4 or len(pads) != 8 or any(pads[k] for k in (0, 1, 4, 5)):
        return None
    return pads[2:4] + pads[6:8]


def pad(attributes, x, pads=None, value=None, axes=None):
    top, left, bottom, right = zeros_around(attributes, x, pads)
    return np.pad(x, ((0, 0), (0, 0), (top, bottom), (left, right)))


# Whatever acts on each number by itself; parts of activations that have no operator of their own.
ELEMENTWISE = {"Add": lambda a, x, y: x + y, "Sub": lambda a, x, y: x - y, "Mul": lambda a, x, y: x * y,
               "Div": lambda a, x, y: x / y, "Pow": lambda a, x, y: x ** y, "Exp": lambda a, x: np.exp(x),
               "Log": lambda a, x: np.log(x), "Neg": lambda a, x: -x, "Sqrt": lambda a, x: np.sqrt(x),
               "Erf": lambda a, x: np.vectorize(math.erf, otypes=[float])(x),
               "Relu": lambda a, x: FUNCTIONS["relu"](x), "Tanh": lambda a, x: FUNCTIONS["tanh"](x),
               "Sigmoid": lambda a, x: FUNCTIONS["sigmoid"](x), "Softplus": lambda a, x: FUNCTIONS["softplus"](x),
               "Gelu": lambda a, x: FUNCTIONS["gelu"](x), "Swish": lambda a, x: FUNCTIONS["silu"](x),
               "LeakyRelu": lambda a, x: np.where(x < 0, a.get("alpha", 0.01) * x, x)}

OPERATIONS = {
    **ELEMENTWISE, "Conv": conv, "Gemm": gemm, "MatMul": lambda a, x, y: x @ y,
    "BatchNormalization": batch_normalization, "MaxPool": pooled(np.max), "AveragePool": pooled(np.mean),
    "GlobalAveragePool": lambda a, x: x.mean((2, 3), keepdims=True), "ReduceMean": reduce_mean, "Pad": pad,
    "Flatten": flatten, "Reshape": reshape, "Squeeze": lambda a, x, axes=None: np.squeeze(x, axes_of(a, axes)),
    "Unsqueeze": unsqueeze, "Transpose": lambda a, x: np.transpose(x, a.get("perm")),
    "Identity": lambda a, x: x, "Dropout": lambda a, x, *_: x,
    "Cast": lambda a, x: x if a["to"] in (1, 10, 11, 16) else x.astype(np.int64),
    "Shape": lambda a, x: np.array(x.shape[a.get("start", 0):a.get("end")]),
    "ConstantOfShape": lambda a, shape: np.full(numbers(shape), onnx.numpy_helper.to_array(a["value"]).item()
                                                if "value" in a else 0.0),
    "Gather": lambda a, x, indices: np.take(x, indices, a.get("axis", 0)),
    "Concat": lambda a, *x: np.concatenate(x, a["axis"]), "Slice": cut}
