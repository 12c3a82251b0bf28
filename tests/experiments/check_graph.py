#!/usr/bin/env python3
"""Targets that are graphs: reconstructed, run and compared; the target alone against numpy; broken files refused.

A target's outputs are not in a result, but labels are: with the decisions of the numpy forward pass as labels
the accuracy of Norma's target is 1. What every layer
computes is compared number by number in tests/io/test_target.c.
"""
import os
import sys

import h5py
import numpy as np

import program

sys.path.insert(0, os.path.join(program.SOURCE, "tests", "io"))
import graph_files  # noqa: E402
import target_check  # noqa: E402

IMAGES = 40


def images(path, target, channels=2, height=9, width=8):
    """Random images, whose labels are the decisions of the target's numpy forward pass."""
    rng = np.random.default_rng(5)
    middle = rng.uniform(30, 225, (IMAGES, channels, 1, 1))
    pixels = (middle + rng.uniform(-30, 30, (IMAGES, channels, height, width))).astype(np.uint8)
    with h5py.File(target) as f:
        x = f.attrs["input_scale"] * pixels.astype(float) + f.attrs["input_offset"]
    outputs = target_check.forward(target, x)
    with h5py.File(path, "w") as f:
        f["images"] = pixels
        f["labels"] = outputs.argmax(1).astype(np.int32)
    return path, outputs


def reconstruct(target, data, output, *options, ranks=1):
    done = program.launch(["reconstruct", "--target", target, "--dataset", data + ":/images", "--samples", IMAGES,
                           "--seed", 7, "--force", "--output", output, *options], ranks=ranks)
    program.check(done.returncode == 0, f"{options} on {ranks}: {done.stderr}")
    return done


def rounding(folder):
    """The source network computes the target, by both rules, with every bound, on any ranks."""
    target = graph_files.residual_network(os.path.join(folder, "residual.h5"))
    data, outputs = images(os.path.join(folder, "data.h5"), target)
    out = os.path.join(folder, "out.h5")
    program.check(len(set(outputs.argmax(1))) > 2, "the network decides the same for all images")
    for rule, bound, ranks in program.some((("max", "data", 1), ("min", "interval-deep", 3), ("max", "interval", 2)), 2):
        done = reconstruct(target, data, out, "--width-rule", rule, "--bound", bound, ranks=ranks)
        program.check("of 14 layers are reconstructed" in done.stderr and "2 add" in done.stderr, done.stderr)
        with h5py.File(out) as f:
            error, largest = float(f["output_max_error"][0]), np.abs(outputs).max()
            program.check(error < 1e-9 * largest, f"{rule} {bound}: outputs differ by {error}")
            program.check(float(f["accuracy_target"][0]) == 1, f"the target decides otherwise than numpy: "
                          f"{f['accuracy_target'][0]}")
            program.check(float(f["accuracy_source"][0]) == 1 and int(f["n_clipped"][0]) == 0, f"{rule} {bound}")
            # Seven layers with weights; the others have no answer.
            program.check(np.isfinite(f["rmse"][0]).sum() == 7, f"rmse {f['rmse'][0]}")
            print(f"{rule} {bound} on {ranks}: largest difference {error:.1e} of {largest:.2f}")
        again = program.launch(["evaluate", out], ranks=2)
        program.check(again.returncode == 0, again.stderr)


def pair(text):
    return tuple(int(v) for v in text.split("x"))


def convolve(x, weight, stride=(1, 1), near=(0, 0), far=(0, 0), dilation=(1, 1), groups=1):
    """x [n, c, h, w], weight [out, c / groups, kh, kw], by its definition."""
    x = np.pad(x, ((0, 0), (0, 0), (near[0], far[0]), (near[1], far[1])))
    reach = [(k - 1) * d + 1 for k, d in zip(weight.shape[2:], dilation)]
    windows = np.lib.stride_tricks.sliding_window_view(x, reach, axis=(2, 3))
    windows = windows[:, :, ::stride[0], ::stride[1], ::dilation[0], ::dilation[1]]
    n_in, n_out = x.shape[1] // groups, len(weight) // groups
    return np.concatenate([np.einsum("nchwij,ocij->nohw", windows[:, g * n_in:(g + 1) * n_in],
                                     weight[g * n_out:(g + 1) * n_out]) for g in range(groups)], axis=1)


def run_pair(group, x):
    """The source pair of the file on x; its activation is a rectifier or none."""
    attributes = {k: pair(v) if isinstance(v, str) and "x" in v else v for k, v in group.attrs.items()}
    gamma1, beta1, gamma2, beta2 = (group[name][0][:, None, None] for name in ("gamma1", "beta1", "gamma2", "beta2"))
    more = {"dilation": attributes["dilation"], "groups": int(attributes["groups"])}
    z = gamma1 * convolve(x, group["W1"][0], attributes["stride1"], attributes["padding1"], attributes["padding1_far"],
                          **more) + beta1
    if attributes["activation"] == "relu":
        z = np.maximum(z, 0)
    return gamma2 * convolve(z, group["W2"][0], attributes["stride2"], **more) + beta2


def pairs_in_numpy(target, result, names):
    """Each pair of the file computes the target's layer on inputs in the range of its data."""
    rng = np.random.default_rng(6)
    with h5py.File(target) as t, h5py.File(result) as f:
        for number, name in names.items():
            layer, group = t["layers"][name], f[f"layers/{number:03d}"]
            weight = layer["weight"][...]
            bias = layer["bias"][...] if "bias" in layer else np.zeros(len(weight))
            if "bn_var" in layer:
                scale = layer["bn_gamma"][...] / np.sqrt(layer["bn_var"][...] + 1e-5)
                weight, bias = (weight * scale[:, None, None, None],
                                layer["bn_beta"][...] + scale * (bias - layer["bn_mean"][...]))
            groups = int(layer.attrs.get("groups", 1))
            near = np.broadcast_to(layer.attrs.get("padding", 0), 4) if np.size(layer.attrs.get("padding", 0)) == 1 else \
                layer.attrs["padding"]
            stride, dilation = (tuple(np.broadcast_to(layer.attrs.get(k, 1), 2)) for k in ("stride", "dilation"))
            x = 1e-3 * rng.uniform(0, 1, (3, groups * weight.shape[1], 9, 8))
            expected = convolve(x, weight, stride, near[:2], near[2:], dilation, groups) + bias[:, None, None]
            got = run_pair(group, x)
            error = np.abs(got - expected).max() if got.shape == expected.shape else np.inf
            # What cancels is as large as shift_magnitude.
            allowed = 1e-14 * (10 + float(f["shift_magnitude"][0, number]))
            program.check(error < allowed, f"{name}: the pair in numpy differs by {error}, {allowed} allowed")


GROUPED = {0: "stem", 1: "depthwise", 2: "pairs", 3: "wider"}


def grouped(folder):
    """Channels in groups, dilation, padding of four numbers: every split, rule and bound, on any ranks."""
    target = graph_files.grouped_network(os.path.join(folder, "grouped.h5"))
    data, outputs = images(os.path.join(folder, "data.h5"), target)
    out = os.path.join(folder, "out.h5")
    for split, rule, bound, ranks in program.some((("2x2+2x2", "max", "data", 2), ("second", "min", "interval-deep", 3),
                                                   ("first", "max", "interval", 1), ("3x3+2x2", "min", "data", 2))):
        done = reconstruct(target, data, out, "--kernel-split", split, "--width-rule", rule, "--bound", bound,
                           "--save", "gamma,weights", ranks=ranks)
        program.check("5 of 6 layers are reconstructed" in done.stderr, done.stderr)
        with h5py.File(out) as f:
            error, largest = float(f["output_max_error"][0]), np.abs(outputs).max()
            print(f"{split} {rule} {bound} on {ranks}: largest difference {error:.1e} of {largest:.2f}")
            program.check(error < 1e-9 * largest, f"{split} {rule} {bound}: outputs differ by {error}")
            program.check(float(f["accuracy_target"][0]) == 1 and float(f["accuracy_source"][0]) == 1, "accuracy")
            program.check(int(f["n_clipped"][0]) == 0, "clipped")
            shapes = [f[f"layers/{k:03d}/W{w}"].shape[1:3] for k in (1, 2) for w in (1, 2)]
            c1 = [f["n_features"][0, k] for k in (1, 2)]
            program.check(shapes == [(c1[0], 1), (6, c1[0] / 6), (c1[1], 3), (4, c1[1] / 2)], f"{shapes} {c1}")
        if bound == "data":
            pairs_in_numpy(target, out, GROUPED)
        again = program.launch(["evaluate", out], ranks=2)
        program.check(again.returncode == 0, again.stderr)
    sources(folder, target, data, out)


def sources(folder, target, data, out):
    """The same draws give the same bits on any ranks, and again where a file gives them; laws of whole tensors and
    with zeros hold for each group."""
    files = [os.path.join(folder, name) for name in ("one.h5", "several.h5", "again.h5", "source.h5")]
    only = ["--layers", "1,2,3", "--save", "gamma,weights"]
    for path, ranks in zip(files, (1, program.SEVERAL)):
        reconstruct(target, data, path, *only, ranks=ranks)
    with h5py.File(files[0]) as one, h5py.File(files[1]) as several, h5py.File(files[3], "w") as source:
        for number in (1, 2, 3):
            for name in ("W1", "W2", "gamma1", "gamma2", "beta1", "beta2"):
                path = f"layers/{number:03d}/{name}"
                program.check(np.array_equal(one[path], several[path]), f"{path} depends on the number of ranks")
            for name in ("W1", "W2"):
                source[f"source/{number:03d}/{name}"] = one[f"layers/{number:03d}/{name}"][0]
        draws = {w.tobytes() for k in (1, 2, 3) for w in one[f"layers/{k:03d}/W1"][0].reshape(-1, 1)[:40]}
        program.check(len(draws) == 120, f"{len(draws)} of 120 first weights differ: groups share random numbers")
    reconstruct(target, data, files[2], *only, "--source", files[3])
    with h5py.File(files[0]) as one, h5py.File(files[2]) as again:
        program.check(all(np.array_equal(one[f"layers/{k:03d}/gamma1"], again[f"layers/{k:03d}/gamma1"])
                          for k in (1, 2, 3)), "weights of a file give other scales")
        program.check(np.array_equal(again["structural_rank"][0, 1:4], again["n_rows"][0, 1:4]), "structural rank")
    reconstruct(target, data, out, "--layers", "2", "--source-dist", "orthogonal", "--save", "gamma,weights")
    with h5py.File(out) as f:
        for half in np.split(f["layers/002/W1"][0][:, :, 0, 0], 2):
            program.check(np.abs(half.T @ half - np.eye(3)).max() < 1e-13, "a group's weights are not orthogonal")


def refused_options(folder):
    """What is not there for channels in groups names its option and the layer."""
    target = os.path.join(folder, "grouped.h5")
    for options, why in program.some(((("--residual", "inner", "--skip", "he-normal"), "--residual: 'inner': is not there"),
                         (("--bn-statistics", "dataset"), "--bn-statistics: 'dataset': is not there"),
                         (("--save", "gamma,spectrum"), "--save: 'spectrum': is not there"),
                         (("--source-dist", "he-normal", "--align", "greedy"), "--align: needs a target whose layers")), 2):
        done = program.launch(["reconstruct", "--target", target, "--dataset", os.path.join(folder, "data.h5:/images"),
                               "--samples", IMAGES, "--layers", "1", "--seed", 1, "--output", os.path.join(folder, "never.h5"), *options])
        program.check(done.returncode == 2 and why in done.stderr, f"{options}: {done.returncode} {done.stderr}")


def refused_layers(folder):
    """A layer for which no pair can stand is refused by every subcommand that takes one layer."""
    target = graph_files.all_operators(os.path.join(folder, "all.h5"))
    for command, option in (("reconstruct", "--layers"), ("spectrum", "--layer"), ("align", "--layer")):
        for number, why in ((0, "(conv2d, '000') cannot be reconstructed: its channels are in groups"),
                            (4, "(multiply, '004') cannot be reconstructed: it has no weights")):
            if number == 0 and command == "reconstruct":
                continue
            done = program.launch([command, "--target", target, option, number, "--seed", 1, "--output",
                                   os.path.join(folder, "never.h5")])
            program.check(done.returncode == 2 and why in done.stderr, f"{command} {number}: {done.stderr}")


def main():
    with program.folder() as folder:
        rounding(folder)
        grouped(folder)
        refused_options(folder)
        refused_layers(folder)
    program.finish()


if __name__ == "__main__":
    main()
