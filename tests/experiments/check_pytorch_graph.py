#!/usr/bin/env python3
"""Networks of PyTorch that are graphs: a ResNet-18 as a target file equals the model, is reconstructed, and the source
network rebuilt in PyTorch equals it again; other joins, pools and convolutions; refusals by the name of the module."""
import os
import subprocess
import sys

import h5py
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
import pytorch_graph  # noqa: E402
import pytorch_target  # noqa: E402
import target_check  # noqa: E402

IMAGES = 12
INPUTS = {"input_scale": 2.0 / 255, "input_offset": -1.0, "input_range": (-1, 1)}


class Block(nn.Module):
    """Two convolutions beside the input, which a third one brings to their shape where that differs."""

    def __init__(self, c0, c2, stride):
        super().__init__()
        self.conv1, self.bn1 = nn.Conv2d(c0, c2, 3, stride, 1, bias=False), nn.BatchNorm2d(c2)
        self.conv2, self.bn2 = nn.Conv2d(c2, c2, 3, 1, 1, bias=False), nn.BatchNorm2d(c2)
        self.relu = nn.ReLU(inplace=True)
        self.down = None
        if stride > 1 or c0 != c2:
            self.down = nn.Sequential(nn.Conv2d(c0, c2, 1, stride, bias=False), nn.BatchNorm2d(c2))

    def forward(self, x):
        y = self.relu(self.bn1(self.conv1(x)))
        y = self.bn2(self.conv2(y))
        y += x if self.down is None else self.down(x)
        return self.relu(y)


def resnet18(width):
    """ResNet-18 whose first stage has `width` channels (64 in the paper), with statistics as after training."""
    torch.manual_seed(4)
    modules = [nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(3, 2, 1)]
    channels = width
    for stage in range(4):
        modules += [Block(channels, width << stage, 1 if stage == 0 else 2), Block(width << stage, width << stage, 1)]
        channels = width << stage
    return settled(nn.Sequential(*modules, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(channels, 10)))


def settled(model):
    for module in model.modules():
        if isinstance(module, nn.BatchNorm2d):
            nn.init.normal_(module.running_mean, 0, 0.1)
            nn.init.uniform_(module.running_var, 0.5, 1.5)
            nn.init.uniform_(module.weight, 0.5, 1.5)
    return model.eval()


class Mixed(nn.Module):
    """Sums, products, concatenations and constants of all forms, squeeze and excite, channels in groups."""

    def __init__(self):
        super().__init__()
        self.stem = nn.Conv2d(3, 6, 3, padding="same")
        self.depth = nn.Conv2d(6, 12, 3, padding=2, dilation=2, groups=6)
        self.norm = nn.BatchNorm2d(6)
        self.squeeze, self.excite = nn.Conv2d(12, 4, 1), nn.Conv2d(4, 12, 1)
        self.scale = nn.Parameter(torch.rand(1, 18, 1, 1))
        self.head = nn.Linear(18 * 3, 5)

    def forward(self, x):
        x = self.norm(torch.relu(self.stem(x)))
        y = self.depth(x)
        weights = torch.sigmoid(self.excite(nn.functional.hardtanh(self.squeeze(y.mean((2, 3), keepdim=True)))))
        y = torch.cat([y * weights, nn.functional.hardtanh(0.5 * x + 1, -0.5, 1.5)], dim=1) * self.scale
        y = nn.functional.relu6(nn.functional.hardswish(y) + nn.functional.hardsigmoid(y))
        y = nn.functional.avg_pool2d(y, 3, stride=2, padding=1, count_include_pad=False)
        y = nn.functional.interpolate(nn.functional.interpolate(y, scale_factor=2), size=(6, 6)).view(-1, 18, 6, 6)
        y = nn.functional.max_pool2d(y, (2, 3), ceil_mode=True)
        return self.head(nn.functional.adaptive_avg_pool2d(y, (3, 1)).flatten(1))


class Renamed(nn.Module):
    """The convolution's output has two names, by one of which it is read without its activation."""

    def __init__(self):
        super().__init__()
        self.conv, self.drop, self.relu = nn.Conv2d(2, 3, 3), nn.Dropout(), nn.ReLU()

    def forward(self, x):
        y = self.conv(x)
        return self.relu(self.drop(y)) + y


class Join(nn.Module):
    def __init__(self, function):
        super().__init__()
        self.conv, self.function = nn.Conv2d(2, 2, 3), function

    def forward(self, x):
        return self.function(x, self.conv(x))


def double(model, x):
    with torch.no_grad():
        return pytorch_target.own_weights(model)(torch.from_numpy(x)).numpy().reshape(len(x), -1)


def equal(folder, label, model, shape):
    """The target file and the module rebuilt from it give the model's outputs."""
    path = os.path.join(folder, "equal.h5")
    pytorch_target.write_target(path, model, shape)
    x = np.random.default_rng(8).uniform(-1, 1, (3, *shape))
    expected = double(model, x)
    rebuilt, _ = pytorch_target.read_target(path)
    with torch.no_grad():
        again = rebuilt(torch.from_numpy(x)).numpy()
    for what, outputs in (("the file", target_check.forward(path, x)), ("the rebuilt module", again)):
        difference = np.abs(outputs - expected).max() / np.abs(expected).max()
        print(f"{label}: {what} differs from the model by {difference:.1e}")
        program.check(difference < 1e-12, f"{label}: {what} differs by {difference}")


def reconstructed(folder, width):
    """Source and target agree on images, and so does the source network in PyTorch; the target decides as the model."""
    model = resnet18(width)
    target, data, out = (os.path.join(folder, name) for name in ("resnet.h5", "images.h5", "out.h5"))
    pytorch_target.write_target(target, model, (3, 32, 32), **INPUTS)
    rng = np.random.default_rng(2)
    images = np.clip(rng.normal(rng.uniform(50, 200, (IMAGES, 3, 1, 1)), 30, (IMAGES, 3, 32, 32)), 0, 255)
    with h5py.File(data, "w") as f:
        f["images"] = images.astype(np.uint8)
        f["labels"] = double(model, 2 / 255 * f["images"][...].astype(float) - 1).argmax(1).astype(np.int32)
    done = program.launch(["reconstruct", "--target", target, "--dataset", data + ":/images", "--samples", IMAGES,
                           "--seed", 5, "--save", "gamma,weights", "--output", out], ranks=2)
    program.check(done.returncode == 0, done.stderr)
    with h5py.File(out) as f:
        error, rmse = float(f["output_max_error"][0]), f["rmse"][0]
        accuracy = float(f["accuracy_target"][0]), float(f["accuracy_source"][0])
    print(f"resnet18({width}): {np.isfinite(rmse).sum()} layers reconstructed, largest difference {error:.1e}")
    program.check(np.isfinite(rmse).sum() == 21 and error < 1e-9, f"{rmse} {error}")
    program.check(accuracy == (1, 1), f"accuracy of target and source against PyTorch {accuracy}")
    done = subprocess.run([sys.executable, os.path.join(TOOLS, "pytorch_source.py"), out, "--dataset", data + ":/images"],
                          capture_output=True, text=True, check=False)
    print(done.stdout)
    program.check(done.returncode == 0 and "agrees with its target" in done.stdout, done.stderr)


def refused(expected, model, shape=(2, 9, 8)):
    try:
        pytorch_graph.describe(model, shape)
        program.check(False, f"not refused: {expected}")
    except pytorch_target.NotExpressible as error:
        program.check(expected in str(error), f"'{error}' lacks '{expected}'")


def refusals():
    for expected, function in (
            ("model (sub): has no counterpart", lambda x, y: y - 2),
            ("joins another axis", lambda x, y: torch.cat([y, y], 2)),
            ("has further arguments", lambda x, y: torch.add(y, y, alpha=2)),
            ("takes a constant of shape [6]", lambda x, y: y + torch.arange(6.0)),
            ("ceil_mode adds a window", lambda x, y: nn.functional.max_pool2d(y, 2, ceil_mode=True)),
            ("mode = 'bilinear'", lambda x, y: nn.functional.interpolate(y, scale_factor=2, mode="bilinear")),
            ("scale_factor = 1.5", lambda x, y: nn.functional.interpolate(y, scale_factor=1.5)),
            ("divisor_override", lambda x, y: nn.functional.avg_pool2d(y, 2, divisor_override=3)),
            ("does not divide the 7 x 6 pixels", lambda x, y: nn.functional.adaptive_avg_pool2d(y, 3)),
            ("returns more", lambda x, y: (y, y + y)),
            ("inputs of unknown shape", lambda x, y: y.flatten(1) @ torch.ones(3, 3) + x)):
        refused(expected, Join(function))
    refused("padding_mode = 'reflect'", nn.Sequential(nn.Conv2d(2, 2, 3, padding=1, padding_mode="reflect")))
    refused("acts on the last axis", nn.Sequential(nn.Conv2d(2, 2, 3), nn.Linear(6, 2)))


def main():
    with program.folder() as folder:
        equal(folder, "ResNet-18, a quarter of its width", resnet18(16), (3, 32, 32))
        equal(folder, "mixed", settled(Mixed()), (3, 12, 11))
        equal(folder, "two names of a value", Renamed().eval(), (2, 5, 4))
        if program.ALL:
            reconstructed(folder, 2)
        refusals()
    program.finish()


if __name__ == "__main__":
    main()
