"""The way from PyTorch and back: a model written as a target file, reconstructed, its source network rebuilt with
nothing but Conv2d and BatchNorm, outputs equal."""
import contextlib
import io
import os
import sys
import types

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
import pytorch_source  # noqa: E402
import pytorch_target  # noqa: E402

SHAPE = (2, 9, 8)
SCALE, OFFSET = [1 / 127.5, 1 / 100], [-1.0, -0.5]


def script(module, *arguments):
    """Runs `python3 MODULE.py ARGUMENTS` in this process, which saves the seconds of importing PyTorch."""
    out, err, code = io.StringIO(), io.StringIO(), 0
    before, sys.argv = sys.argv, [module.__name__, *map(str, arguments)]
    try:
        with contextlib.redirect_stdout(out), contextlib.redirect_stderr(err):
            module.main()
    except SystemExit as left:
        code = left.code if isinstance(left.code, int) else int(left.code is not None)
        if isinstance(left.code, str):
            err.write(left.code)
    finally:
        sys.argv = before
    return types.SimpleNamespace(returncode=code, stdout=out.getvalue(), stderr=err.getvalue())


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


def single_tolerance(out, model, images):
    """Of FP32, relative to the largest output. Each term of a layer's sum is rounded four times: both factors, product,
    sum. Without cancelling these add up to 4 u times the sum of |terms|, and the file states u times that sum as
    shift_error_single. The layers of these models do not enlarge the errors of the layers before them beyond that."""
    scale, offset = (np.reshape(v, (2, 1, 1)) for v in (SCALE, OFFSET))
    with torch.no_grad():
        largest = float(model(torch.from_numpy((scale * images + offset).astype(np.float32))).abs().max())
    with h5py.File(out) as f:
        allowed = 4 * float(f["shift_error_single"][0].sum())
    print(f"allowed in FP32: {allowed:.1e} of {largest:.2g}")
    return allowed / largest


def round_trip(folder, label, options, model, images):
    """Model, target file, source network, PyTorch: the same outputs."""
    target, out, model_file = (os.path.join(folder, n) for n in ("target.h5", "result.h5", "model.pt"))
    torch.save(model, model_file)
    made = script(pytorch_target, model_file, "--input-shape", ",".join(map(str, SHAPE)), "--input-scale",
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
    single = single_tolerance(out, model, images) if label != "mixed" else 1e-3
    rebuilt = script(pytorch_source, out, "--tolerance", 1e-9 if label != "mixed" else 1e-6,
                     "--tolerance-single", single)
    print(label + "\n" + rebuilt.stdout)
    program.check(rebuilt.returncode == 0, f"{label}: pytorch_source: {rebuilt.stdout}{rebuilt.stderr}")
    return out


def stacks(folder):
    """Stacks of frozen layers for linear layers: on random inputs, and on a data set; and two pairs for factors."""
    target, out = os.path.join(folder, "stack_target.h5"), os.path.join(folder, "stack.h5")
    model = settle(nn.Sequential(nn.Flatten(), nn.Linear(8, 6), nn.ReLU(), nn.Linear(6, 4), nn.BatchNorm1d(4), nn.LeakyReLU(0.1),
                                 nn.Linear(4, 3))).double()
    pytorch_target.write_target(target, model, (1, 2, 4), input_range=(-1, 1))
    with h5py.File(os.path.join(folder, "flat.h5"), "w") as f:
        f["images"] = np.random.default_rng(3).uniform(-1, 1, (10, 1, 2, 4))
    data = ["--dataset", os.path.join(folder, "flat.h5:/images"), "--samples", 10]
    for construction, options in program.some((("skip", ["--block", 2, "--overparam", 1]), ("deep", ["--depth", 3, *data]),
                                               ("low-rank", ["--rank-tolerance", 0, *data]))):
        done = program.launch(["reconstruct", "--target", target, "--construction", construction, "--seed", 3, "--replicas",
                               2, "--save", "gamma,weights", "--force", "--output", out, *options], ranks=2)
        program.check(done.returncode == 0, f"{construction}: {done.stderr}")
        rebuilt = script(pytorch_source, out, "--replica", 1, "--tolerance", 1e-9)
        print(construction + "\n" + rebuilt.stdout)
        program.check(rebuilt.returncode == 0, f"{construction}: pytorch_source: {rebuilt.stdout}{rebuilt.stderr}")
        with h5py.File(out, "a") as f:
            name = "gamma" if construction != "low-rank" else "bn1_weight"
            f["layers/001/" + name][1, 1] += 1e-2
        changed = script(pytorch_source, out, "--replica", 1, "--tolerance", 1e-9)
        program.check(changed.returncode == 1 and "outputs differ" in changed.stderr, f"{construction}: a changed scale")


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    with program.folder() as folder:
        rng = np.random.default_rng(2)
        with h5py.File(os.path.join(folder, "set.h5"), "w") as f:
            images = f["images"] = rng.integers(0, 256, (20, *SHAPE)).astype(np.uint8)
            f["labels"] = rng.integers(0, 3, 20).astype(np.uint8)
        for k, (label, options, model) in enumerate(models()):
            if k % 4 and not program.ALL:
                continue
            if label.startswith("split"):  # a convolution alone has no classes
                with h5py.File(os.path.join(folder, "set.h5"), "a") as f:
                    if "labels" in f:
                        del f["labels"]
            out = round_trip(folder, label, options, model, images)
        with h5py.File(out, "a") as f:
            f["layers/000/bn2_bias"][0] += 1e-3
        changed = script(pytorch_source, out)
        program.check(changed.returncode == 1 and "outputs differ" in changed.stderr, f"a changed bias: {changed.stderr}")
        stacks(folder)
        with h5py.File(out, "a") as f:
            del f["layers/000/W1"]
        bare = script(pytorch_source, out)
        program.check(bare.returncode == 1 and "--save gamma,weights" in bare.stderr, f"no weights: {bare.stderr}")
    program.finish()


main()
