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


def refused_layers(folder):
    """A layer for which no pair can stand is refused by every subcommand that takes one layer."""
    target = graph_files.all_operators(os.path.join(folder, "all.h5"))
    for command, option in (("reconstruct", "--layers"), ("spectrum", "--layer"), ("align", "--layer")):
        for number, why in ((0, "(conv2d, '000') cannot be reconstructed: its channels are in groups"),
                            (4, "(multiply, '004') cannot be reconstructed: it has no weights")):
            done = program.launch([command, "--target", target, option, number, "--seed", 1, "--output",
                                   os.path.join(folder, "never.h5")])
            program.check(done.returncode == 2 and why in done.stderr, f"{command} {number}: {done.stderr}")


def main():
    with program.folder() as folder:
        rounding(folder)
        refused_layers(folder)
    program.finish()


if __name__ == "__main__":
    main()
