#!/usr/bin/env python3
"""Writes the source network of a result file as an ONNX model, which any runtime can run.

    norma reconstruct --target net.h5 --dataset fashion-mnist --save gamma,weights --output result.h5
    python3 source_onnx.py result.h5 --output source.onnx

Each target layer that was reconstructed becomes Conv (frozen W1), BatchNormalization, the activation, Conv (frozen
W2), BatchNormalization, then the activation and pool of the target; all else is the target's own, chain or graph. The
model takes x = scale * pixel + offset in FP32, or FP64 with --precision double. Some runtimes convolve in FP32 alone.

At the end the model is run node by node in FP64 with numpy, before its numbers are rounded to FP32 and after it, and
compared with the target file on images of the data set, or on random inputs in the range that the target declares where
the result was made without a data set. The first run must agree to --tolerance, else nothing is written; the second to
--tolerance-single. With --outputs FILE (norma evaluate --output) it must agree with Norma's own run of the source, too.
"""
import argparse
import os
import sys

import h5py
import numpy as np
import onnx

import datasets
import onnx_graph
import target_check
from onnx_target import Model
from onnx_writer import write_network
from source_pair import NotRebuilt, check_arrays, configured, inputs_of, layers_of, open_result, shape_of
from target_layers import NotExpressible

# Source layers that stand for a target layer, by construction.
PER_LAYER = {"pair": 1, "low-rank": 2}


def images_of(args, file, attributes):
    """Inputs x, and the first number of the data set's images or of random ones."""
    data = args.dataset or configured(file, "dataset")
    if data:
        return inputs_of(datasets.load(data, args.samples)[0], attributes)
    if "input_min" not in attributes:
        raise NotRebuilt(f"{args.result}: was made without a data set; give --dataset")
    rng = np.random.default_rng(1)
    low, high = (float(attributes[n]) for n in ("input_min", "input_max"))
    return rng.uniform(low, high, (args.samples, *shape_of(attributes)))


def run(proto, x):
    """The outputs of the model in FP64, one image after another."""
    model = Model(proto)
    return np.concatenate([onnx_graph.outputs(model, part[None]) for part in x])


def compare(what, outputs, expected, tolerance):
    """Prints the largest difference over the largest expected output, and refuses one above the tolerance."""
    if outputs.shape != expected.shape:
        raise NotRebuilt(f"{what}: {outputs.shape[1]} outputs, {expected.shape[1]} are expected")
    largest = np.abs(expected).max() or 1.0
    difference = np.abs(outputs - expected).max() / largest
    print(f"{what}: largest difference {difference:.1e} of the largest output, {largest:.3g}")
    if not difference <= tolerance:
        raise NotRebuilt(f"{what}: outputs differ by {difference:.3e} of the largest, {tolerance:.3g} allowed")


def stored_outputs(path, args):
    """Norma's outputs of the source network in a file of norma evaluate."""
    with h5py.File(path, "r") as file:
        if "outputs_source" not in file:
            raise NotRebuilt(f"{path}: holds no outputs; norma evaluate --output writes them")
        outputs = file["outputs_source"][args.replica]
    if len(outputs) < args.samples:
        raise NotRebuilt(f"{path}: holds the outputs of {len(outputs)} images, --samples is {args.samples}")
    return outputs[:args.samples]


def write(args, file, path):
    """Checks and writes the model; returns it."""
    construction = configured(file, "construction") or "pair"
    if construction not in PER_LAYER:
        raise NotRebuilt(f"{args.result}: this script does not rebuild --construction {construction}")
    layers = layers_of(file, args.cell)
    for name in layers:
        check_arrays(layers[name])
    with h5py.File(path, "r") as target:
        attributes = dict(target.attrs)
        writer, output = write_network(layers, args.replica, target, PER_LAYER[construction])
    note = (f"Source network of {os.path.basename(args.result)}, cell {args.cell}, replica {args.replica}; "
            "the input is x = scale * pixel + offset of the target file")
    stored = stored_outputs(args.outputs, args) if args.outputs else None
    x = images_of(args, file, attributes)
    expected = target_check.forward(path, x)
    shape = shape_of(attributes)
    double = writer.model("input", shape, output, np.float64, note)
    outputs = run(double, x)
    compare(f"{len(x)} images, FP64, source against target", outputs, expected, args.tolerance)
    if args.outputs:
        compare("FP64, source against Norma's", outputs, stored, args.tolerance_outputs)
    if args.precision == "double":
        return double
    single = writer.model("input", shape, output, np.float32, note)
    compare("numbers in FP32, source against target", run(single, x.astype(np.float32)), expected,
            args.tolerance_single)
    return single


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("result", help="a result file with gamma and weights")
    parser.add_argument("--output", required=True, metavar="SOURCE.onnx")
    parser.add_argument("--target", help="the target file, where it has moved")
    parser.add_argument("--dataset", help="as norma --dataset")
    parser.add_argument("--samples", type=int, default=4, help="images of the comparison (default %(default)s)")
    parser.add_argument("--cell", type=int, default=0, help="cell of a sweep")
    parser.add_argument("--replica", type=int, default=0)
    parser.add_argument("--precision", choices=("single", "double"), default="single")
    parser.add_argument("--outputs", help="a file of norma evaluate --output")
    parser.add_argument("--tolerance", type=float, default=1e-6, help="of FP64, relative to the largest output")
    parser.add_argument("--tolerance-outputs", type=float, default=1e-6,
                        help="the same, against --outputs (default %(default)s)")
    parser.add_argument("--tolerance-single", type=float, default=float("inf"),
                        help="the same for numbers in FP32; not checked if not given")
    args = parser.parse_args()
    try:
        file, path = open_result(args.result, args.target)
        with file:
            model = write(args, file, path)
    except (NotRebuilt, NotExpressible, OSError, ValueError) as error:
        sys.exit(f"source_onnx: {error}")
    partial = f"{args.output}.partial"
    onnx.save(model, partial)
    os.replace(partial, args.output)
    print(f"{args.output}: {len(model.graph.node)} nodes, {sum(len(t.raw_data) for t in model.graph.initializer)} bytes "
          "of numbers; the source network in ONNX agrees with its target")


if __name__ == "__main__":
    main()
