#!/usr/bin/env python3
"""Rebuilds the source network of a result file in PyTorch and compares it with its target.

    norma reconstruct --target net.h5 --dataset fashion-mnist --save gamma,weights --output result.h5
    python3 pytorch_source.py result.h5

Nothing of Norma is used: each target layer becomes Conv2d (frozen W1), BatchNorm2d in evaluation
mode, the activation, Conv2d (frozen W2), BatchNorm2d in evaluation mode, then the activation and
pool of the target; a skip connection is one Conv2d more. Layer 1 carries all padding; where K - Kt
is odd, one row or column of zeros more goes to the far side. Both networks run on the data set in
FP64, and the source in FP32 too; the outputs must agree to --tolerance and --tolerance-single,
relative to the largest, and the FP64 run with the numbers in the file. Exit code 1 if not.

With --construction low-rank two such pairs stand for a layer, with skip and deep a stack of frozen layers.
Target, data set and number of samples are those of the file's configuration unless given. Stacks without a data set run
on random inputs in the range that the target declares.
"""
import argparse
import sys

import h5py
import numpy as np
import torch
from torch import nn

import datasets
from pytorch_run import TargetGraph
from pytorch_stack import KINDS as STACKS
from pytorch_target import activation, read_layer, read_target
from source_pair import configured, dilation_and_groups, inputs_of, pair, paddings, shape_of
from target_graph import is_graph


def convolution(weight, stride, bias=None, dilation=1, groups=1):
    """A frozen Conv2d without padding."""
    weight = torch.from_numpy(weight)
    c_out, c_in = weight.shape[0], groups * weight.shape[1]
    conv = nn.Conv2d(c_in, c_out, tuple(weight.shape[2:]), stride, 0, dilation, groups, bias is not None).double()
    conv.weight.data.copy_(weight)
    if bias is not None:
        conv.bias.data.copy_(torch.from_numpy(bias))
    return conv


def padded(conv, near, far):
    """The convolution behind zeros on all sides (rows and columns), in a list."""
    if tuple(near) == tuple(far):
        conv.padding = tuple(near)
        return [conv]
    return [nn.ZeroPad2d((near[1], far[1], near[0], far[0])), conv]


def batch_norm(group, prefix, replica, eps):
    """A BatchNorm2d with the statistics and affine map of the file."""
    names = ("weight", "bias", "running_mean", "running_var")
    values = {name: torch.from_numpy(group[f"{prefix}_{name}"][replica]) for name in names}
    norm = nn.BatchNorm2d(len(values["weight"]), eps=eps).double()
    norm.load_state_dict({**values, "num_batches_tracked": torch.tensor(0)})
    return norm


class WithSkip(nn.Module):
    """A frozen convolution beside the pair: behind its second batch norm (inner) or in front of it (outer)."""

    def __init__(self, pair_modules, norm, skip, residual):
        super().__init__()
        self.pair, self.norm, self.skip, self.outer = pair_modules, norm, skip, residual == "outer"

    def forward(self, x):
        if self.outer:
            return self.norm(self.pair(x) + self.skip(x))
        return self.norm(self.pair(x)) + self.skip(x)


def source_pair(group, replica, conv):
    """Conv2d, BatchNorm2d, activation, Conv2d, BatchNorm2d in place of one target layer; conv is
    the target's Conv2d, or None where it is linear."""
    attributes = group.attrs
    kt, pad = (conv.kernel_size, conv.padding) if conv else ((1, 1), (0, 0))
    near, far = paddings(group, kt, pad)
    dilation, groups = dilation_and_groups(group)
    biases = [group[name][replica] if name in group else None for name in ("conv1_bias", "conv2_bias")]
    first = convolution(group["W1"][replica], pair(attributes["stride1"]), biases[0], dilation, groups)
    second = convolution(group["W2"][replica], pair(attributes["stride2"]), biases[1], dilation, groups)
    modules = padded(first, near, far)[:-1]
    eps = float(attributes["bn_eps"])
    modules += [first, batch_norm(group, "bn1", replica, eps),
                *activation(attributes), second]
    norm = batch_norm(group, "bn2", replica, eps)
    if attributes.get("residual", "none") == "none":
        return modules + [norm]
    skip = convolution(group["Ws"][replica], conv.stride if conv else 1, dilation=dilation)
    k1, k2 = pair(attributes["kernel1"]), pair(attributes["kernel2"])
    excess = [a + b - 1 - t for a, b, t in zip(k1, k2, kt)]
    skip = nn.Sequential(*padded(skip, [n - e // 2 * d for n, e, d in zip(near, excess, dilation)],
                                 [f - (e - e // 2) * d for f, e, d in zip(far, excess, dilation)]))
    return [WithSkip(nn.Sequential(*modules), norm, skip, attributes["residual"])]


def layer_group(layers, number, arrays):
    """The group of a layer, which must hold these arrays."""
    if f"{number:03d}" not in layers:
        sys.exit(f"pytorch_source: {layers.file.filename}: layer {number:03d} was not reconstructed (--layers); "
                 "this script rebuilds whole networks")
    group = layers[f"{number:03d}"]
    if any(name not in group for name in arrays):
        sys.exit(f"pytorch_source: {group.file.filename}: {group.name} holds no weights or no gamma; run "
                 "norma reconstruct with --save gamma,weights")
    return group


def pairs_of(layers, number, replica, conv, construction):
    """The pair of target layer `number`, or the two of its factors, the second of which has a kernel of 1x1."""
    arrays = ("W1", "bn1_weight")
    if construction == "pair":
        return source_pair(layer_group(layers, number, arrays), replica, conv)
    return (source_pair(layer_group(layers, 2 * number, arrays), replica, conv)
            + source_pair(layer_group(layers, 2 * number + 1, arrays), replica, None))


def rebuild(layers, replica, target, construction):
    """The source network: the target's chain with a source for each Conv2d or Linear (and the batch norm after it, which
    the source contains)."""
    modules = []
    number = 0
    for module in target:
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d)):
            continue
        if not isinstance(module, (nn.Conv2d, nn.Linear)):
            modules.append(module)
            continue
        if construction in STACKS and isinstance(module, nn.Conv2d):
            sys.exit(f"pytorch_source: {layers.file.filename}: this script rebuilds --construction {construction} for "
                     "linear layers only")
        if construction in STACKS:
            kind, arrays = STACKS[construction]
            modules.append(kind(layer_group(layers, number, (*arrays, "gamma")), replica))
        elif isinstance(module, nn.Conv2d):
            modules += pairs_of(layers, number, replica, module, construction)
        else:  # channels of a single pixel
            modules += [nn.Unflatten(1, (module.in_features, 1, 1)),
                        *pairs_of(layers, number, replica, None, construction), nn.Flatten()]
        number += 1
    return nn.Sequential(*modules).eval()


def rebuild_graph(layers, replica, path):
    """The source network of a target that is a graph: a source pair for each layer that was reconstructed."""
    def layer(number, group):
        modules = read_layer(group)
        if f"{number:03d}" not in layers:
            return modules
        pair_group = layers[f"{number:03d}"]
        if "W1" not in pair_group or "bn1_weight" not in pair_group:
            sys.exit(f"pytorch_source: {layers.file.filename}: {pair_group.name} holds no weights or no gamma; run "
                     "norma reconstruct with --save gamma,weights")
        own = (nn.Flatten, nn.ZeroPad2d, nn.Conv2d, nn.Linear, nn.BatchNorm1d, nn.BatchNorm2d)
        rest = [m for m in modules if not isinstance(m, own)]
        conv = next((m for m in modules if isinstance(m, nn.Conv2d)), None)
        return source_pair(pair_group, replica, conv) + rest

    return TargetGraph(path, layer, activation)


def run(model, x, batch=10):
    with torch.no_grad():
        return torch.cat([model(part) for part in torch.split(x, batch)]).double().flatten(1)


def random_inputs(samples, attributes):
    """Uniform in the declared range."""
    low, high = (float(attributes[name]) for name in ("input_min", "input_max"))
    generator = torch.Generator().manual_seed(1)
    return low + (high - low) * torch.rand(samples, *shape_of(attributes), generator=generator, dtype=torch.float64)


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("result", help="a result file with gamma and weights")
    parser.add_argument("--target", help="the target file")
    parser.add_argument("--dataset", help="as norma --dataset")
    parser.add_argument("--samples", type=int)
    parser.add_argument("--cell", type=int, default=0, help="cell of a sweep")
    parser.add_argument("--replica", type=int, default=0)
    parser.add_argument("--tolerance", type=float, default=1e-6, help="of FP64, relative to the largest output")
    parser.add_argument("--tolerance-single", type=float, default=float("inf"),
                        help="of FP32; not checked if not given")
    args = parser.parse_args()
    torch.set_num_threads(1)
    try:
        opened = h5py.File(args.result, "r")
    except OSError as error:
        sys.exit(f"pytorch_source: {args.result}: {error}")
    with opened as file:
        if "configuration" not in file or not (args.target or configured(file, "target")):
            sys.exit(f"pytorch_source: {args.result}: is not a result of norma reconstruct with a target file")
        construction = configured(file, "construction") or "pair"
        data = args.dataset or configured(file, "dataset")
        if not data and construction not in STACKS:
            sys.exit(f"pytorch_source: {args.result}: was made without a data set; give --dataset")
        if construction not in ("pair", "low-rank", *STACKS):
            sys.exit(f"pytorch_source: {args.result}: this script does not rebuild --construction {construction}")
        target, attributes = read_target(args.target or configured(file, "target"))
        cell = f"cells/{args.cell:06d}/layers"
        layers = file[cell] if cell in file else file.get("layers")
        if layers is None:
            sys.exit(f"pytorch_source: {args.result}: holds no layers; run norma reconstruct with --save gamma,weights")
        path = args.target or configured(file, "target")
        if is_graph(path) and construction != "pair":
            sys.exit(f"pytorch_source: {args.result}: of graphs this script rebuilds --construction pair alone")
        source = (rebuild_graph(layers, args.replica, path) if is_graph(path) else
                  rebuild(layers, args.replica, target, construction))
        stored = {name: file[name][...].reshape(-1, file["replica"].size)[args.cell, args.replica]
                  for name in ("output_max_error", "output_rmse", "accuracy_source", "n_decisions_differing")
                  if name in file}
        precisions = np.atleast_1d(configured(file, "precision").strip("[]").replace('"', "").split(", "))
        single = "single" in precisions and (len(precisions) == 1)
        samples = args.samples or int(configured(file, "samples") or 1000)
        if str(samples) != configured(file, "samples") or not data:
            stored = {}
    images, labels = datasets.load(data, samples) if data else (None, None)
    x = torch.from_numpy(inputs_of(images, attributes)) if data else random_inputs(samples, attributes)
    expected = run(target, x)
    largest = float(expected.abs().max())
    print("precision  output_max_error  output_rmse   decisions differing  accuracy source, target")
    failures = []
    for dtype, name, tolerance in ((torch.float64, "double", args.tolerance),
                                   (torch.float32, "single", args.tolerance_single)):
        outputs = run(source.to(dtype), x.to(dtype))
        error = float((outputs - expected).abs().max())
        rmse = float((outputs - expected).square().mean().sqrt())
        differing = int((outputs.argmax(1) != expected.argmax(1)).sum())
        accuracy = ["-" if labels is None else f"{float((o.argmax(1).numpy() == labels).mean()):.4f}"
                    for o in (outputs, expected)]
        print(f"{name:9}  {error:16.3e}  {rmse:11.3e}   {differing:19}  {', '.join(accuracy)}")
        if not error <= tolerance * largest:
            failures.append(f"{name}: outputs differ by {error:.3e}, {tolerance * largest:.3e} allowed")
        if stored and (name == "single") == single:
            print(f"in the file  {stored['output_max_error']:14.3e}  {stored['output_rmse']:11.3e}   "
                  f"{int(stored['n_decisions_differing']):19}  {stored.get('accuracy_source', np.nan):.4f}")
            # Both errors are rounding, of different orders of summation: equal in size only.
            if name == "double" and not error <= 100 * stored["output_max_error"] + 1e-13 * largest:
                failures.append(f"outputs differ by {error:.3e}, the file says {stored['output_max_error']:.3e}")
            accuracies = labels is not None and name == "double" and "accuracy_source" in stored
            if accuracies and accuracy[0] != f"{stored['accuracy_source']:.4f}":
                failures.append(f"accuracy {accuracy[0]}, the file says {stored['accuracy_source']:.4f}")
    for failure in failures:
        print("pytorch_source:", failure, file=sys.stderr)
    if not failures:
        print(f"{args.result}: the source network in PyTorch agrees with its target")
    sys.exit(1 if failures else 0)


if __name__ == "__main__":
    main()
