#!/usr/bin/env python3
"""Writes a PyTorch model as a target file of `norma reconstruct`.

    python3 pytorch_target.py MODEL.pt --input-shape 1,28,28 --input-scale 0.00784313725490196 \\
        --input-offset -1 --input-range -1,1 --dataset fashion-mnist --output target.h5

MODEL.pt holds a whole model, as torch.save(model, ...) writes it, or its state_dict, for which
`--model FILE.py:NAME` names the class or a function that makes the model. Loading a whole model runs
code from the file: open only files you trust. From Python: write_target(path, model,
input_shape=(1, 28, 28), ...).

The model is a chain of Conv2d or Linear, each followed by an optional batch norm, an optional
activation and an optional pool; or a graph of these with sums, products, concatenations of channels and pools
over windows, such as a ResNet. Flatten, Dropout and Identity may stand where they change nothing. The forward
pass is traced, so functions (F.relu) and modules of your own may be part of it. weight_norm,
spectral_norm and pruning are applied. Whatever a target file cannot express is refused by name. At
the end the file is compared with the model on random inputs in FP64; it is written only if they agree.
"""
import argparse
import importlib.util
import inspect
import os
import sys

import h5py
import numpy as np
import torch
from torch import nn

import pytorch_graph
import pytorch_run
import target_check
import target_graph
from pytorch_chain import ACTIVATIONS, describe, own_weights
from target_layers import POOLS, TYPES, NotExpressible, activation_of, canonical, geometry, images_weight

# Where training scripts keep the state_dict inside of what they save.
STATES = ("state_dict", "model_state_dict", "model")
# DataParallel and torch.compile put these in front of the names.
PREFIXES = ("module.", "_orig_mod.")


class NotLoaded(ValueError):
    """The file gives no model."""


def describe_any(model, input_shape):
    """The layers of a chain, or the groups of a graph by name."""
    try:
        return describe(model, input_shape)
    except NotExpressible:
        pass
    return pytorch_graph.describe(model, input_shape)


def write_target(path, model, input_shape, input_scale=1.0, input_offset=0.0, input_range=None, dataset=None,
                 **attributes):
    """Writes the model (in evaluation mode) for inputs x = input_scale * pixel + input_offset of
    input_shape (channels, height, width); further attributes go to the root of the file. Returns the
    number of layers, and the largest difference from the model's outputs over the largest of these.
    Raises NotExpressible, or target_check.Mismatch where the file gives other outputs; the file is
    then left as it was."""
    layers = describe_any(model, input_shape)
    double = own_weights(model)

    def run(x):
        try:
            with torch.no_grad():
                return double(torch.from_numpy(x)).numpy()
        except RuntimeError as error:
            raise NotExpressible(f"the model takes no inputs of shape {list(x.shape[1:])}: {error}") from error

    difference = target_check.write_checked(path, layers, run, input_shape, input_range=input_range,
                                            input_scale=input_scale, input_offset=input_offset, dataset=dataset,
                                            **attributes)
    return len(layers), difference


class HardSigmoid(nn.Module):
    """slope x + 1/2 between 0 and 1."""

    def __init__(self, slope):
        super().__init__()
        self.slope = slope

    def forward(self, x):
        return (self.slope * x + 0.5).clamp(0, 1)


def activation(attributes):
    """The module of the activation of a group of a target or result file, in a list; none for identity."""
    name, parameter = activation_of(attributes)
    if name == "identity":
        return []
    kind = {"leaky-relu": nn.LeakyReLU, "hard-sigmoid": HardSigmoid, "relu6": nn.ReLU6, "hard-swish": nn.Hardswish,
            "clip": lambda limit: nn.Hardtanh(-limit, limit)}.get(name)
    kind = kind or next(k for k, v in ACTIVATIONS.items() if v == name)
    return [kind() if parameter is None else kind(parameter)]


def read_target(path, dtype=torch.float64):
    """The model of a target file, in evaluation mode, and its root attributes."""
    modules = []
    if target_graph.is_graph(path):
        with h5py.File(path, "r") as f:
            attributes = dict(f.attrs)
        return pytorch_run.TargetGraph(path, lambda _, group: read_layer(group), activation).to(dtype), attributes
    with h5py.File(path, "r") as f:
        for number in sorted(f["layers"]):
            modules += read_layer(f["layers"][number])
        attributes = dict(f.attrs)
    return nn.Sequential(*modules).to(dtype).eval(), attributes


def read_layer(group):
    """The modules of one layer of a target file."""
    attributes = group.attrs
    kind = canonical(attributes["type"], TYPES)
    weight = torch.from_numpy(group["weight"][...].astype(np.float64))
    c2, c0 = weight.shape[:2]
    bias = "bias" in group
    if kind == "linear":
        modules = [nn.Flatten(), nn.Linear(c0, c2, bias)]
    else:
        weight = images_weight(weight)
        stride, dilation, padding, groups = geometry(group)
        near, far = padding[:2], padding[2:]
        modules = [] if near == far else [nn.ZeroPad2d((near[1], far[1], near[0], far[0]))]
        modules += [nn.Conv2d(groups * c0, c2, weight.shape[2:], tuple(stride), tuple(near) if near == far else 0,
                              tuple(dilation), groups, bias)]
    modules[-1].double()
    modules[-1].weight.data.copy_(weight)
    if bias:
        modules[-1].bias.data.copy_(torch.from_numpy(group["bias"][...].astype(np.float64)))
    if "bn_var" in group:
        norm = nn.BatchNorm1d if kind == "linear" else nn.BatchNorm2d
        modules.append(norm(c2, eps=float(attributes.get("bn_eps", 1e-5))).double())
        for own, name in (("weight", "gamma"), ("bias", "beta"), ("running_mean", "mean"), ("running_var", "var")):
            getattr(modules[-1], own).data.copy_(torch.from_numpy(group["bn_" + name][...].astype(np.float64)))
    modules += activation(attributes)
    pool_name = canonical(attributes.get("pool", "none"), POOLS)
    if pool_name == "max2":
        modules.append(nn.MaxPool2d(2))
    elif pool_name == "global-average":
        modules.append(nn.AdaptiveAvgPool2d(1))
    return modules


def import_model(where):
    """The class, function or model that FILE.py:NAME names, and its name."""
    path, _, name = where.rpartition(":")
    if not path or not name.isidentifier():
        raise NotLoaded(f"--model {where}: FILE.py:NAME is expected, with the name of a class or function")
    if not os.path.isfile(path):
        raise NotLoaded(f"--model {where}: there is no file {path}")
    sys.path.insert(0, os.path.dirname(os.path.abspath(path)))
    spec = importlib.util.spec_from_file_location(os.path.basename(path).rpartition(".")[0] or "model", path)
    if spec is None:
        raise NotLoaded(f"--model {where}: {path} is no Python file (.py)")
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    try:
        spec.loader.exec_module(module)
    except Exception as error:  # whatever the file raises
        raise NotLoaded(f"--model {where}: running {path} failed: {error}") from error
    if not hasattr(module, name):
        known = [n for n, v in vars(module).items() if inspect.isclass(v) and issubclass(v, nn.Module)
                 and v.__module__ == spec.name]
        raise NotLoaded(f"--model {where}: {path} defines no {name}; models in it: {', '.join(known) or 'none'}")
    return getattr(module, name), name


def make_model(where):
    """The model of FILE.py:NAME, with its initial weights."""
    made, name = import_model(where)
    if not isinstance(made, nn.Module):
        try:
            made = made()
        except Exception as error:  # whatever the constructor raises
            raise NotLoaded(f"--model {where}: {name}() failed: {error}; name a function without arguments that "
                            "returns the model") from error
    if not isinstance(made, nn.Module):
        raise NotLoaded(f"--model {where}: {name} gives a {type(made).__name__}, not a model")
    return made


def load_file(path, weights_only):
    """torch.load on the CPU. PyTorch 2.6 changed the default of weights_only; before 1.13 there is none."""
    known = "weights_only" in inspect.signature(torch.load).parameters
    return torch.load(path, map_location="cpu", **({"weights_only": weights_only} if known else {}))


def states_of(content):
    """The state_dict in what torch.load returned, without prefixes, or None."""
    if not isinstance(content, dict):
        return None
    for key in STATES:
        if isinstance(content.get(key), dict):
            content = content[key]
            break
    if not content or not all(isinstance(v, torch.Tensor) for v in content.values()):
        return None
    for prefix in PREFIXES:
        if all(key.startswith(prefix) for key in content):
            content = {key[len(prefix):]: value for key, value in content.items()}
    return content


def load_whole(path, where=None):
    """Unpickles a file. Classes of the training script are taken from the file of --model."""
    if where:
        made, name = import_model(where)
        setattr(sys.modules["__main__"], name, made)
    try:
        return load_file(path, weights_only=False)
    except Exception as error:  # whatever unpickling raises: a class that is not importable, no such file
        raise NotLoaded(f"{path}: cannot be loaded as a model: {error}; a class of your own must be importable "
                        "(PYTHONPATH, or --model FILE.py:NAME)") from error


def load(path, where=None):
    """The model of a file: a whole one, or a state_dict for the model of FILE.py:NAME."""
    content = None
    if where:
        try:
            content = load_file(path, weights_only=True)
        except Exception:  # it may still be a whole model
            pass
    if content is None:
        content = load_whole(path, where)
    if isinstance(content, nn.Module):
        return content
    states = states_of(content)
    if states is None:
        raise NotLoaded(f"{path}: holds a {type(content).__name__}, neither a model (torch.save(model, ...)) nor a "
                        "state_dict")
    if not where:
        raise NotLoaded(f"{path}: holds a state_dict, weights without a model; name its class with --model "
                        "FILE.py:NAME")
    model = make_model(where)
    try:
        model.load_state_dict(states)
    except RuntimeError as error:
        raise NotLoaded(f"{path}: does not fit --model {where}: {error}") from error
    return model


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("file", metavar="MODEL.pt", help="file of torch.save(model, ...), or of its state_dict")
    parser.add_argument("--model", metavar="FILE.py:NAME", help="class, or function without arguments, of the model")
    target_check.add_input_options(parser)
    args = parser.parse_args()
    try:
        inputs = target_check.input_options(args)
        n_layers, difference = write_target(args.output, load(args.file, args.model), **inputs)
    except (NotExpressible, NotLoaded, target_check.Mismatch) as error:
        sys.exit(f"pytorch_target: {error}")
    print(f"{args.output}: {n_layers} layers; outputs for {target_check.SAMPLES} random inputs equal the model's to "
          f"{difference:.1e}")


if __name__ == "__main__":
    main()
