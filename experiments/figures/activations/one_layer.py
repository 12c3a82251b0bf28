#!/usr/bin/env python3
"""The first convolution of the trained tanh network as a target of its own, and the papers' scale on it.

    python3 one_layer.py target layer.h5            # the target: batch norm kept, no activation, no pool
    python3 one_layer.py paper RESULT LAYER OUT.h5  # OUT: measured errors

RESULT is a file of run_epsilon.yaml. `paper` runs its source pairs in numpy on the images of the run,
with gamma1 scaled as CNN24 Theorem 2.4 prints it, g = min(sqrt(3 eps/Q2), 1/Q1) for tanh and with 12 for sigmoid, and with the
corrected g = min(sqrt(3 eps/(Q2 Q1^3)), 1/Q1), which repeats the errors that Norma measured.
"""
import os
import sys

import h5py
import numpy as np

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "..", "tools"))
import datasets  # noqa: E402

TRAINED = os.path.join(HERE, "..", "..", "data", "fashion_cnn_w16_tanh.h5")
FACTORS = {"tanh": (3.0, 1.0, 0.0), "sigmoid": (12.0, 0.25, 0.5)}  # of epsilon; slope m, constant c


def write_target(path):
    with h5py.File(TRAINED) as trained, h5py.File(path, "w") as f:
        trained.copy("layers/000", f, "layers/000")
        f["layers/000"].attrs["activation"] = "identity"
        f["layers/000"].attrs["pool"] = "none"
        for name in ("input_shape", "input_scale", "input_offset", "input_min", "input_max", "dataset"):
            f.attrs[name] = trained.attrs[name]


def convolve(images, weight):
    """images [n, c, h, w] with weight [o, c, a, b], no padding."""
    a, b = weight.shape[2:]
    windows = np.lib.stride_tricks.sliding_window_view(images, (a, b), (2, 3))
    return np.einsum("nchwab,ocab->nohw", windows, weight, optimize=True)


def folded(layer):
    gamma, beta, mean, var, weight = (layer[name][...].astype(float)
                                      for name in ("bn_gamma", "bn_beta", "bn_mean", "bn_var", "weight"))
    scale = gamma / np.sqrt(var + layer.attrs["bn_eps"])
    return weight * scale[:, None, None, None], beta - scale * mean


def errors_of(cell, epsilon, scale_used, x, y, shift):
    """Measured errors of a saved pair with the printed and the corrected scale; and Q1."""
    name = cell.attrs["activation"]
    factor, slope, constant = FACTORS[name]
    phi = np.tanh if name == "tanh" else lambda t: 1 / (1 + np.exp(-t))
    w1, w2 = cell["W1"][0], cell["W2"][0]
    gamma1 = cell["gamma1"][0] / scale_used
    gamma2 = cell["gamma2"][0] * scale_used * slope
    z = convolve(x, w1) * gamma1[:, None, None]
    q1 = np.abs(z).max()
    q2 = (np.abs(gamma2) * np.abs(w2).sum((1, 2, 3))).max()
    errors = []
    for g in (min(np.sqrt(factor * epsilon / q2), 1 / q1), min(np.sqrt(factor * epsilon / (q2 * q1**3)), 1 / q1)):
        out = convolve((phi(g * z) - constant) / (slope * g), w2) * gamma2[:, None, None]
        errors.append(np.abs(out + shift[:, None, None] - y).max())
    return errors, q1


def measure(result, layer, out):
    with h5py.File(result) as f, h5py.File(layer) as target, h5py.File(out, "w") as o:
        epsilons = f["epsilon"][...]
        scales = f["activation_scale"][...].reshape(len(epsilons))
        images, _ = datasets.load("fashion-mnist", 100)
        x = target.attrs["input_scale"] * images.astype(float) + target.attrs["input_offset"]
        x = np.pad(x, ((0, 0), (0, 0), (1, 1), (1, 1)))
        weight, bias = folded(target["layers/000"])
        y = convolve(x, weight) + bias[:, None, None]
        printed, corrected = np.zeros((2, len(epsilons)))
        for e, epsilon in enumerate(epsilons):
            cell = f[f"cells/{e:06d}/layers/000"]
            (printed[e], corrected[e]), reach = errors_of(cell, epsilon, scales[e], x, y, bias)
        o["printed"], o["corrected"], o["q1"], o["epsilon"] = printed, corrected, reach, epsilons


if __name__ == "__main__":
    if sys.argv[1:2] == ["target"] and len(sys.argv) == 3:
        write_target(sys.argv[2])
    elif sys.argv[1:2] == ["paper"] and len(sys.argv) == 5:
        measure(*sys.argv[2:])
    else:
        sys.exit(__doc__)
