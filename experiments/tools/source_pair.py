"""A result file of `norma reconstruct`, for the scripts that rebuild its source network."""
import re

import h5py
import numpy as np


class NotRebuilt(ValueError):
    """The result holds something that a script does not rebuild."""


def configured(file, key):
    """A value of the configuration in the result file, or None."""
    text = file["configuration"].asstr()[()]
    found = re.search(rf'^  {key}: *"?([^"#\n]*?)"?(?: *#.*)?$', text, re.M)
    return found.group(1) if found else None


def pair(text):
    """(height, width) of a text such as 3x3."""
    return tuple(int(v) for v in text.split("x"))


def paddings(group, kernel, padding):
    """Zeros before and behind (height, width) of the images that the first convolution of a pair takes. Results of
    versions that knew neither dilation nor unequal padding lack the second: one more than the target's padding, whose
    kernel this is, where the composite kernel is larger by an odd number."""
    if "padding1_far" in group.attrs:
        return list(pair(group.attrs["padding1"])), list(pair(group.attrs["padding1_far"]))
    k1, k2 = pair(group.attrs["kernel1"]), pair(group.attrs["kernel2"])
    excess = [a + b - 1 - t for a, b, t in zip(k1, k2, kernel)]
    return list(pair(group.attrs["padding1"])), [p + e - e // 2 for p, e in zip(padding, excess)]


def dilation_and_groups(group):
    """The dilation (height, width) and the number of groups of channels of both convolutions of a pair."""
    return pair(group.attrs.get("dilation", "1x1")), int(group.attrs.get("groups", 1))


def open_result(path, target=None):
    """The open result file, and the target file that it names or `target`."""
    try:
        file = h5py.File(path, "r")
    except OSError as error:
        raise NotRebuilt(f"{path}: {error}") from error
    named = target or ("configuration" in file and configured(file, "target"))
    if not named:
        raise NotRebuilt(f"{path}: is not a result of norma reconstruct with a target file")
    return file, named


def layers_of(file, cell):
    """The group of the layers of a cell of the sweep."""
    inside = f"cells/{cell:06d}/layers"
    layers = file[inside] if inside in file else file.get("layers")
    if layers is None:
        raise NotRebuilt(f"{file.filename}: holds no layers; run norma reconstruct with --save gamma,weights")
    return layers


def check_arrays(group):
    """Refuses the group of a layer that was written without its weights or maps."""
    if "W1" not in group or "bn1_weight" not in group:
        raise NotRebuilt(f"{group.file.filename}: {group.name} holds no weights or no gamma; run norma reconstruct with "
                         "--save gamma,weights")


def shape_of(attributes):
    """(channels, height, width) of the inputs of a target file; (inputs,) where they are no images."""
    shape = tuple(int(n) for n in np.atleast_1d(attributes["input_shape"]))
    return (1,) + shape if len(shape) == 2 else shape


def inputs_of(images, attributes):
    """x = scale * pixel + offset in FP64, numbers or one a channel."""
    shape = shape_of(attributes)
    x = np.asarray(images, np.float64).reshape(len(images), *shape)
    scale, offset = (np.atleast_1d(attributes.get(name, default)).astype(float).reshape((-1,) + (1,) * (len(shape) - 1))
                     for name, default in (("input_scale", 1.0), ("input_offset", 0.0)))
    return scale * x + offset
