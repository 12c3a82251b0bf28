"""`norma gradient` against PyTorch's automatic differentiation in FP64, with weights, batch and labels from files: every
norm, order, with and without a skip connection, several activations, mse and cross-entropy."""
import itertools
import os
import sys

import h5py
import numpy as np

import program

try:
    import torch
    from torch.nn import functional
except ImportError:
    print("skipped: PyTorch (python3-torch) is not installed")
    sys.exit(77)

ACTIVATIONS = {"identity": lambda x: x, "tanh": torch.tanh, "gelu": functional.gelu, "selu": functional.selu,
               "silu": functional.silu, "leaky-relu:0.2": lambda x: functional.leaky_relu(x, 0.2), "sin": torch.sin}
D, N, DEPTH = 9, 6, 12


def normalize(z, norm):
    if norm == "none":
        return z
    axis = 1 if norm.startswith("bn") else 0
    if norm in ("bn-centered", "ln"):
        z = z - z.mean(axis, keepdim=True)
    return z / (z ** 2).mean(axis, keepdim=True).sqrt()


def log_norms(weight, batch, labels, case):
    norm, order, strength, activation, loss, gain = case
    w = torch.tensor(weight, requires_grad=True)
    h = torch.tensor(batch.T.copy())
    for layer in w:
        z = layer @ h if strength == "inf" else h + float(strength) * (layer @ h)
        phi = ACTIVATIONS[activation]
        h = phi(gain * normalize(z, norm)) if order == "norm-act" else normalize(phi(gain * z), norm)
    o, y = h.T, torch.tensor(labels)
    if loss == "mse":
        value = ((o - functional.one_hot(y, D)) ** 2).sum() / N
    else:
        value = functional.cross_entropy(o, y)
    value.backward()
    return value.item(), 0.5 * (w.grad ** 2).sum((1, 2)).log().numpy()


def main():
    dice = np.random.default_rng(4)
    weight = dice.standard_normal((DEPTH, D, D)) / np.sqrt(D)
    batch, labels = dice.standard_normal((N, D)), dice.integers(0, D, N)
    norms, names = ("none", "bn", "bn-centered", "ln", "rms"), itertools.cycle(ACTIVATIONS)
    with program.folder() as folder:
        weights, data, path = (os.path.join(folder, name) for name in ("w.h5", "data.h5", "out.h5"))
        with h5py.File(weights, "w") as f:
            f["W"] = weight
        with h5py.File(data, "w") as f:
            f["images"], f["labels"] = batch, labels.astype(np.int32)
        for k, (norm, order, strength) in enumerate(itertools.product(norms, ("norm-act", "act-norm"), ("inf", "0.5"))):
            if k % 3 and not program.ALL:
                continue
            case = (norm, order, strength, next(names), ("mse", "cross-entropy")[k % 2], 1 + 0.1 * (k % 3))
            done = program.launch(["gradient", "--weights", weights, "--input", data + ":images", "--batch", N, "--depth",
                                   DEPTH, "--norm", norm, "--order", order, "--residual-strength", strength, "--act",
                                   case[3], "--loss", case[4], "--gain", case[5], "--readout", "identity", "--labels",
                                   "dataset", "--quiet", "--force", "--output", path])
            program.check(done.returncode == 0, f"{case}: {done.stderr}")
            value, expected = log_norms(weight, batch, labels, case)
            with h5py.File(path) as f:
                difference = np.abs(f["log_grad_norm"][0, :DEPTH] - expected).max()
                program.check(difference < 1e-10, f"{case}: log norms differ by {difference}")
                program.check(abs(f["loss"][0] - value) < 1e-10 * max(1, abs(value)), f"{case}: {f['loss'][0]}, {value}")
            print(f"{case}: {difference:.1e}")
    program.finish()


main()
