"""The way from PyTorch and back: a model written as a target file, reconstructed, its source network rebuilt with
nothing but Conv2d and BatchNorm, outputs equal; what a target file cannot express, refused by name."""
import os
import subprocess
import sys

import numpy as np

import program

try:
    import torch
    from torch import nn
except ImportError:
    print("skipped: PyTorch (python3-torch) is not installed")
    sys.exit(77)

TOOLS = os.path.join(program.SOURCE, "experiments", "tools")
sys.path.insert(0, TOOLS)
import pytorch_target  # noqa: E402

SHAPE = (2, 9, 8)
SCALE, OFFSET = [1 / 127.5, 1 / 100], [-1.0, -0.5]


def script(name, *arguments):
    return subprocess.run([sys.executable, os.path.join(TOOLS, name), *map(str, arguments)],
                          capture_output=True, text=True, timeout=120, check=False)


def settle(model):
    """Statistics and affine maps of the batch norms that are not the initial ones; evaluation mode."""
    for module in model.modules():
        if isinstance(module, (nn.BatchNorm1d, nn.BatchNorm2d)):
            module.running_mean.normal_()
            module.running_var.uniform_(0.5, 2)
            if module.affine:
                nn.init.uniform_(module.weight, 0.5, 1.5)
                nn.init.normal_(module.bias)
    return model.eval()


def models():
    """Between them every kind of module that can be expressed."""
    yield "relu", ["--bn-statistics", "dataset"], settle(nn.Sequential(
        nn.Sequential(nn.Conv2d(2, 3, 3, padding=1), nn.BatchNorm2d(3), nn.ReLU(), nn.MaxPool2d(2)),
        nn.Conv2d(3, 4, (2, 3), stride=(1, 2), padding=(0, 1), bias=False), nn.BatchNorm2d(4, affine=False, eps=1e-3),
        nn.ReLU(), nn.Dropout(), nn.Flatten(), nn.Linear(24, 6), nn.BatchNorm1d(6), nn.LeakyReLU(0.2), nn.Linear(6, 5)))
    yield "mixed", [], settle(nn.Sequential(
        nn.Conv2d(2, 3, 3, padding="same"), nn.BatchNorm2d(3), nn.Tanh(),
        nn.Conv2d(3, 3, 1, padding="valid"), nn.Sigmoid(), nn.Conv2d(3, 3, 3), nn.GELU(), nn.Conv2d(3, 3, 2), nn.SiLU(),
        nn.Conv2d(3, 3, 2, padding=1), nn.Softplus(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(3, 5)))
    for residual, skip in (("inner", "he-normal"), ("outer", "identity"), ("outer", "he-normal")):
        c = 2 if skip == "identity" else 3
        yield f"{residual} {skip}", ["--residual", residual, "--skip", skip, "--width-rule", "min", "--bn-statistics",
                                           "unit" if residual == "inner" else "dataset"], settle(nn.Sequential(
            nn.Conv2d(2, c, 3, padding=1, stride=c - 1), nn.BatchNorm2d(c), nn.LeakyReLU(0.3)))
    for split in ("first", "2x3+3x2", "3x3+1x2", "3x2+3x4"):  # with K - Kt even and odd
        yield "split " + split, ["--kernel-split", split], settle(nn.Sequential(
            nn.Conv2d(2, 3, (3, 2), stride=(2, 1), padding=(2, 1)), nn.BatchNorm2d(3), nn.ReLU()))


def round_trip(folder, label, options, model):
    """Model, target file, source network, PyTorch: the same outputs."""
    target, out, model_file = (os.path.join(folder, n) for n in ("target.h5", "result.h5", "model.pt"))
    torch.save(model, model_file)
    made = script("pytorch_target.py", model_file, "--input-shape", ",".join(map(str, SHAPE)), "--input-scale",
                  ",".join(map(str, SCALE)), "--input-offset=" + ",".join(map(str, OFFSET)), "--input-range=-1,2.05",
                  "--output", target)
    program.check(made.returncode == 0, f"{label}: pytorch_target: {made.stderr}")
    again, _ = pytorch_target.read_target(target, torch.float32)
    x = torch.randn(4, *SHAPE)
    difference = float((again(x) - model(x)).abs().max())
    program.check(difference < 1e-5, f"{label}: the target file read back differs by {difference}")

    done = program.launch(["reconstruct", "--target", target, "--dataset", os.path.join(folder, "set.h5:/images"),
                           "--samples", 20, "--seed", 3, "--overparam", 1, "--save", "gamma,weights", "--force",
                           "--output", out, *options], ranks=2)
    program.check(done.returncode == 0, f"{label}: {done.stderr}")
    # In FP32 what the linear region of a tanh or sigmoid costs shows.
    single = 1e-5 if label != "mixed" else 1e-3
    rebuilt = script("pytorch_source.py", out, "--tolerance", 1e-9 if label != "mixed" else 1e-6,
                     "--tolerance-single", single)
    print(label + "\n" + rebuilt.stdout)
    program.check(rebuilt.returncode == 0, f"{label}: pytorch_source: {rebuilt.stdout}{rebuilt.stderr}")
    return out


def refusals():
    """What a target file cannot express."""
    conv = nn.Conv2d(2, 2, 3)
    for expected, modules in (
            ("0 (ReLU): stands in front of the first Conv2d", [nn.ReLU(), conv]),
            ("groups = 2", [nn.Conv2d(2, 2, 3, groups=2)]),
            ("dilation = (2, 2)", [nn.Conv2d(2, 2, 3, dilation=2)]),
            ("padding_mode = 'reflect'", [nn.Conv2d(2, 2, 3, padding=1, padding_mode="reflect")]),
            ("padding 'same' of an even kernel", [nn.Conv2d(2, 2, 2, padding="same")]),
            ("2 (BatchNorm2d): follows the activation", [conv, nn.ReLU(), nn.BatchNorm2d(2)]),
            ("follows another batch norm", [conv, nn.BatchNorm2d(2), nn.BatchNorm2d(2)]),
            ("keeps no running statistics", [conv, nn.BatchNorm2d(2, track_running_stats=False)]),
            ("2 (Tanh): follows the activation", [conv, nn.ReLU(), nn.Tanh()]),
            ("2 (ReLU): follows the pool", [conv, nn.MaxPool2d(2), nn.ReLU()]),
            ("only MaxPool2d(2)", [conv, nn.MaxPool2d(3)]),
            ("only MaxPool2d(2)", [conv, nn.MaxPool2d(2, ceil_mode=True)]),
            ("output_size = 2", [conv, nn.AdaptiveAvgPool2d(2)]),
            ("(AvgPool2d): has no counterpart", [conv, nn.AvgPool2d(2)]),
            ("(Softmax): has no counterpart", [conv, nn.Softmax(1)]),
            ("(LayerNorm): has no counterpart", [conv, nn.LayerNorm(2)]),
            ("without Flatten", [conv, nn.Linear(6, 2)]),
            ("2 (Conv2d): follows Flatten", [conv, nn.Flatten(), nn.Conv2d(2, 2, 1)]),
            ("approximate='tanh'", [conv, nn.GELU(approximate="tanh")]),
            ("beta = 2", [conv, nn.Softplus(beta=2)]),
            ("negative_slope = -1", [conv, nn.LeakyReLU(-1)]),
            ("(PReLU): has no counterpart", [conv, nn.PReLU()]),
            ("inner.0 (ConvTranspose2d): has no", [nn.Sequential(*[nn.ConvTranspose2d(2, 2, 3)])]),
            ("holds no Conv2d or Linear", [nn.Dropout()])):
        model = nn.Sequential(*modules)
        if "inner" in expected:
            model = nn.Sequential()
            model.add_module("inner", modules[0])
        try:
            pytorch_target.describe(model)
            program.check(False, f"not refused: {expected}")
        except pytorch_target.NotExpressible as error:
            program.check(expected in str(error), f"'{error}' lacks '{expected}'")


def main():
    import h5py
    torch.manual_seed(1)
    refusals()
    with program.folder() as folder:
        rng = np.random.default_rng(2)
        with h5py.File(os.path.join(folder, "set.h5"), "w") as f:
            f["images"] = rng.integers(0, 256, (20, *SHAPE)).astype(np.uint8)
            f["labels"] = rng.integers(0, 3, 20).astype(np.uint8)
        for label, options, model in models():
            if label.startswith("split"):  # a convolution alone has no classes
                with h5py.File(os.path.join(folder, "set.h5"), "a") as f:
                    if "labels" in f:
                        del f["labels"]
            out = round_trip(folder, label, options, model)
        with h5py.File(out, "a") as f:
            f["layers/000/bn2_bias"][0, 1] += 1e-3
        changed = script("pytorch_source.py", out)
        program.check(changed.returncode == 1 and "outputs differ" in changed.stderr, f"a changed bias: {changed.stderr}")
        with h5py.File(out, "a") as f:
            del f["layers/000/W1"]
        bare = script("pytorch_source.py", out)
        program.check(bare.returncode == 1 and "--save gamma,weights" in bare.stderr, f"no weights: {bare.stderr}")
    program.finish()


main()
