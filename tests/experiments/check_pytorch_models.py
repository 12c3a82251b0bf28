"""Models of PyTorch as people have them, written as target files: modules used twice, weights that hooks compute,
forward passes of their own, state_dicts. The file must give the model's outputs, or be refused by the name of the
module. Synonyms in target files are accepted, other names are refused."""
import os
import subprocess
import sys
from collections import OrderedDict

import numpy as np

import program

try:
    import torch
    from torch import nn
    from torch.nn import functional, utils
except ImportError:
    print("skipped: PyTorch (python3-torch) is not installed")
    sys.exit(77)

TOOLS = os.path.join(program.SOURCE, "experiments", "tools")
sys.path.insert(0, TOOLS)
import pytorch_target  # noqa: E402
import target_check  # noqa: E402
import target_layers  # noqa: E402

SHAPE = (2, 9, 8)
# The file that state_dicts are for.
MODEL_FILE = """
import torch
from torch import nn
from torch.nn import functional


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv = nn.Conv2d(2, 3, 3)
        self.fc = nn.Linear(3 * 3 * 3, 4)

    def forward(self, x, mask=None):
        x = functional.relu(functional.max_pool2d(self.conv(x), 2))
        x = functional.dropout(x, training=self.training)
        if mask is not None:
            x = x * mask
        return self.fc(x.view(x.size(0), -1))


def other():
    return nn.Linear(3, 4)


def wrong(n):
    return None
"""
# torch.load as PyTorch 2.6 has it.
NEW_DEFAULT = """
import os, runpy, sys, torch
load = torch.load
def new_load(f, map_location=None, pickle_module=None, *, weights_only=True, **further):
    return load(f, map_location, pickle_module, weights_only=weights_only, **further)
torch.load = new_load
sys.argv = sys.argv[1:]
sys.path.insert(0, os.path.dirname(sys.argv[0]))
runpy.run_path(sys.argv[0], run_name="__main__")
"""


def outputs(model, x):
    """Of the model in FP64; the model keeps its precision."""
    states = pytorch_target.own_weights(model)
    with torch.no_grad():
        return states(torch.from_numpy(x)).numpy().reshape(len(x), -1)


def accepted(folder, label, model, shape=SHAPE):
    """The target file gives the model's outputs, which other random inputs show."""
    path = os.path.join(folder, "target.h5")
    before = [p.detach().clone() for p in model.parameters()]
    try:
        n_layers, _ = pytorch_target.write_target(path, model, shape)
    except (pytorch_target.NotExpressible, target_check.Mismatch) as error:
        program.check(False, f"{label}: {error}")
        return 0
    x = np.random.default_rng(3).standard_normal((3, *shape))
    expected = outputs(model, x)
    difference = np.abs(target_check.forward(path, x) - expected).max()
    program.check(difference < 1e-12 * max(1, np.abs(expected).max()), f"{label}: differs by {difference}")
    program.check(all(torch.equal(a, b) for a, b in zip(before, model.parameters())), f"{label}: the model changed")
    return n_layers


def refused(expected, model, shape=None):
    try:
        pytorch_target.describe(model, shape)
        program.check(False, f"not refused: {expected}")
    except pytorch_target.NotExpressible as error:
        program.check(expected in str(error), f"'{error}' lacks '{expected}'")


def refusals():
    """Modules that a target file cannot express."""
    conv = nn.Conv2d(2, 2, 3)
    for expected, modules in (
            ("0 (ReLU): stands in front of the first convolution", [nn.ReLU(), conv]),
            ("groups = 2", [nn.Conv2d(2, 2, 3, groups=2)]),
            ("dilation = (2, 2)", [nn.Conv2d(2, 2, 3, dilation=2)]),
            ("padding_mode = 'reflect'", [nn.Conv2d(2, 2, 3, padding=1, padding_mode="reflect")]),
            ("padding 'same' of an even kernel", [nn.Conv2d(2, 2, 2, padding="same")]),
            ("2 (BatchNorm2d): follows the activation", [conv, nn.ReLU(), nn.BatchNorm2d(2)]),
            ("follows another batch norm", [conv, nn.BatchNorm2d(2), nn.BatchNorm2d(2)]),
            ("keeps no running statistics", [conv, nn.BatchNorm2d(2, track_running_stats=False)]),
            ("2 (Tanh): follows the activation", [conv, nn.ReLU(), nn.Tanh()]),
            ("2 (GELU): follows the pool", [conv, nn.MaxPool2d(2), nn.GELU()]),
            ("2 (ReLU): follows the pool", [conv, nn.AdaptiveAvgPool2d(1), nn.ReLU()]),
            ("only MaxPool2d(2)", [conv, nn.MaxPool2d(3)]),
            ("only MaxPool2d(2)", [conv, nn.MaxPool2d(2, ceil_mode=True)]),
            ("output_size = 2", [conv, nn.AdaptiveAvgPool2d(2)]),
            ("2 (ZeroPad2d): pads images that no", [conv, nn.ReLU(), nn.ZeroPad2d(1), nn.Flatten()]),
            ("1 (Conv2d): padding [1, 1, 1, 2]", [nn.ZeroPad2d((1, 2, 1, 1)), conv]),
            ("1 (AvgPool2d): only an average of all", [conv, nn.AvgPool2d(2)]),
            ("(Softmax): has no counterpart in a target file; a model that ends", [conv, nn.Softmax(1)]),
            ("(LayerNorm): has no counterpart", [conv, nn.LayerNorm(2)]),
            ("without Flatten", [conv, nn.Linear(6, 2)]),
            ("2 (Conv2d): follows Flatten", [conv, nn.Flatten(), nn.Conv2d(2, 2, 1)]),
            ("approximate='tanh'", [conv, nn.GELU(approximate="tanh")]),
            ("beta = 2", [conv, nn.Softplus(beta=2)]),
            ("1 (Softplus): threshold = 2", [conv, nn.Softplus(threshold=2)]),
            ("negative_slope = -1", [conv, nn.LeakyReLU(-1)]),
            ("(PReLU): has no counterpart", [conv, nn.PReLU()]),
            ("inner.0 (ConvTranspose2d): has no", [nn.Sequential(*[nn.ConvTranspose2d(2, 2, 3)])]),
            ("holds no convolution and no linear layer", [nn.Dropout()])):
        model = nn.Sequential(*modules)
        if "inner" in expected:
            model = nn.Sequential()
            model.add_module("inner", modules[0])
        refused(expected, model)


def computed_weights(folder):
    """Weights that hooks compute are those of the last change, not those of the last forward pass."""
    def pruned(conv):
        utils.prune.random_unstructured(conv, "weight", 0.5)
        return utils.prune.random_unstructured(conv, "weight", 0.5)
    for label, change, parameter in (
            ("weight_norm", utils.weight_norm, "weight_g"),
            ("spectral_norm", utils.spectral_norm, "weight_orig"),
            ("pruning", pruned, "weight_orig"),
            ("parametrization", utils.parametrizations.spectral_norm, "parametrizations.weight.original")):
        model = nn.Sequential(change(nn.Conv2d(2, 3, 3)), nn.ReLU(), change(nn.Conv2d(3, 2, 3)), nn.Tanh())
        model[0].get_parameter(parameter).data.add_(0.5)
        program.check(accepted(folder, label, model) == 2, f"{label}: number of layers")
        program.check(accepted(folder, label + " again", model) == 2, f"{label}: the model lost its weights")


class Block(nn.Module):
    """A residual block."""

    def __init__(self):
        super().__init__()
        self.conv, self.norm = nn.Conv2d(3, 3, 3, padding=1), nn.BatchNorm2d(3)

    def forward(self, x):
        return functional.relu(self.norm(self.conv(x)) + x)


class Skipped(nn.Sequential):
    """A Sequential with a forward pass of its own."""

    def forward(self, x):
        return x + super().forward(x)


class Kept(nn.Conv2d):
    """A class of one's own with the forward pass of Conv2d."""


class Doubled(nn.Conv2d):
    """The same with another."""

    def _conv_forward(self, *arguments):
        return 2 * super()._conv_forward(*arguments)


class Net(nn.Module):
    """Convolution and linear layer with `between` as functions."""

    def __init__(self, between):
        super().__init__()
        self.conv, self.fc, self.between = nn.Conv2d(2, 3, 3), nn.Linear(3, 2), between

    def forward(self, x):
        return self.fc(self.between(self.conv(x)))


def forward_passes(folder):
    """The order of calls counts."""
    relu = nn.ReLU()
    conv = nn.Conv2d(3, 3, 3, padding=1)
    program.check(accepted(folder, "shared", nn.Sequential(nn.Conv2d(2, 3, 3), relu, conv, relu, conv, relu)) == 3,
                  "shared modules: number of layers")
    accepted(folder, "pool, then ReLU", nn.Sequential(nn.Conv2d(2, 3, 3), nn.MaxPool2d(2), relu, nn.Flatten(),
                                                      nn.Linear(27, 2)))
    accepted(folder, "pools of all pixels", nn.Sequential(nn.Conv2d(2, 3, 3), nn.AdaptiveAvgPool2d((7, 6)),
                                                          nn.AvgPool2d((7, 6))))
    accepted(folder, "zeros", nn.Sequential(nn.ZeroPad2d((1, 1, 2, 2)), Kept(2, 3, 3)))
    accepted(folder, "a single layer", nn.Linear(7, 3), (7,))
    for dtype in (torch.bfloat16, torch.float16, torch.float64):
        accepted(folder, str(dtype), nn.Sequential(nn.Conv2d(2, 3, 3), nn.BatchNorm2d(3), nn.GELU()).to(dtype))
    accepted(folder, "DataParallel", nn.DataParallel(nn.Sequential(nn.Conv2d(2, 3, 3))))
    f = functional
    accepted(folder, "functions", Net(lambda x: f.silu(x).mean((-2, -1))))
    accepted(folder, "more functions", Net(lambda x: torch.flatten(f.adaptive_avg_pool2d(f.leaky_relu(x, 0.3), 1), 1)))

    residual = nn.Sequential(OrderedDict(layer=nn.Sequential(nn.Conv2d(2, 3, 3), Block())))
    refused("layer.1 (add): takes layer.1.norm (BatchNorm2d) and layer.0 (Conv2d); a target file has no skip", residual)
    refused("1 (add): takes 0 (Conv2d) and 1.0 (Conv2d)", nn.Sequential(nn.Conv2d(2, 2, 3), Skipped(conv)))
    refused("0 (conv2d): takes the tensor 0.weight", nn.Sequential(Doubled(2, 2, 3)))
    refused("which another operation takes too", Net(lambda x: [f.relu_(x), x.mean((2, 3))][1]))
    refused("cannot be traced", Net(lambda x: x if x.mean() > 0 else 2 * x))
    refused("model (dropout): has no counterpart", Net(f.dropout))
    refused("model (log_softmax): has no counterpart in a target file; a model that ends",
            Net(lambda x: f.log_softmax(x, 1)))
    refused("TorchScript", torch.jit.script(nn.Linear(2, 2)))
    hooked = nn.Sequential(nn.Conv2d(2, 3, 3), nn.ReLU())
    hooked[1].register_forward_hook(lambda module, inputs, output: 2 * output)
    refused("1 (ReLU): carries the hook <lambda>", hooked)
    replaced = nn.Sequential(nn.Conv2d(2, 3, 3), nn.ReLU())
    replaced[1].forward = torch.abs
    refused("1 (ReLU): has no counterpart", replaced)
    broken = nn.Conv2d(2, 3, 3)
    broken.weight.data[0, 0, 0, 0] = float("nan")
    refused("holds a number that is not finite", broken)


def comparison(folder):
    """A file with other outputs than the model's is not written."""
    model = nn.Sequential(nn.Conv2d(2, 3, 3), nn.ReLU(), nn.Conv2d(3, 3, 3), nn.ReLU())
    path = os.path.join(folder, "compared.h5")
    right = pytorch_target.describe
    for label, change in (
            ("a lost ReLU", lambda layers: layers[1].update(activation="identity")),
            ("a changed bias", lambda layers: layers[0].update(bias=layers[0]["bias"] + np.float32(1e-7)))):
        def wrong(*arguments, change=change):
            layers = right(*arguments)
            change(layers)
            return layers
        pytorch_target.describe = wrong
        try:
            pytorch_target.write_target(path, model, SHAPE)
            program.check(False, f"{label} was not found")
        except target_check.Mismatch as error:
            program.check("differ from those of the model by" in str(error), f"{label}: {error}")
        finally:
            pytorch_target.describe = right
        program.check(not any("compared" in n for n in os.listdir(folder)), f"{label}: a file is left")


def run_script(folder, *arguments, code=None):
    """pytorch_target.py, where `code` is given through that code."""
    command = [sys.executable, *(["-c", code] if code else []), os.path.join(TOOLS, "pytorch_target.py"), *arguments,
               "--input-shape", "2,9,8", "--output", "made.h5"]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=False, cwd=folder)


def files(folder):
    """Whole models with the new default of torch.load, and state_dicts."""
    with open(os.path.join(folder, "net.py"), "w", encoding="utf-8") as f:
        f.write(MODEL_FILE)
    torch.save(nn.Sequential(nn.Conv2d(2, 3, 3), nn.ReLU()), os.path.join(folder, "whole.pt"))
    done = run_script(folder, "whole.pt", code=NEW_DEFAULT)
    program.check(done.returncode == 0 and "made.h5: 1 layers" in done.stdout, f"weights_only=True: {done.stderr}")
    model, _ = pytorch_target.import_model(os.path.join(folder, "net.py") + ":Net")
    states = model().state_dict()
    torch.save({"epoch": 3, "state_dict": {"module." + k: v for k, v in states.items()}},
               os.path.join(folder, "states.pt"))
    done = run_script(folder, "states.pt", "--model", "net.py:Net", code=NEW_DEFAULT)
    program.check(done.returncode == 0 and "made.h5: 2 layers" in done.stdout, f"state_dict: {done.stderr}")
    for where, expected in ((None, "holds a state_dict, weights without a model; name its class with --model"),
                            ("net.py:other", "does not fit --model"), ("net.py:wrong", "wrong() failed"),
                            ("net.py:Nte", "defines no Nte; models in it: Net"), ("nothere.py:Net", "there is no file"),
                            ("net.py", "FILE.py:NAME is expected")):
        try:
            pytorch_target.load(os.path.join(folder, "states.pt"), where and os.path.join(folder, where))
            program.check(False, f"--model {where} is not refused")
        except pytorch_target.NotLoaded as error:
            program.check(expected in str(error), f"--model {where}: {error}")


def synonyms(folder):
    """Names of other programs mean the same; wrong ones are refused."""
    types, activations = target_layers.TYPES, target_layers.ACTIVATIONS
    for name, table, expected in (("Conv2d", types, "conv2d"), ("Linear", types, "linear"), ("Dense ", types, "linear"),
                                  (b"RELU", activations, "relu"), ("LeakyReLU", activations, "leaky-relu"),
                                  ("leaky_relu", activations, "leaky-relu"), ("swish", activations, "silu"),
                                  ("linear", activations, "identity")):
        program.check(target_layers.canonical(name, table) == expected, f"{name} is not {expected}")
    for name, table in (("conv3d", types), ("lin", types), ("", types), ("relu7", activations), ("elu", activations)):
        try:
            program.check(False, f"'{name}' is taken for {target_layers.canonical(name, table)}")
        except ValueError as error:
            program.check("is unknown; expected one of" in str(error), str(error))
    path = os.path.join(folder, "synonyms.h5")
    rng = np.random.default_rng(4)
    program.write_target(path, [
        {"weight": rng.standard_normal((3, 2, 3, 3)), "type": "Conv2d   ", "activation": "Swish"},
        {"weight": rng.standard_normal((2, 126)), "type": "Dense", "activation": "LeakyReLU"}], input_shape=SHAPE)
    x = rng.standard_normal((3, *SHAPE))
    model, _ = pytorch_target.read_target(path)
    difference = np.abs(outputs(model, x) - target_check.forward(path, x)).max()
    program.check(difference < 1e-12, f"synonyms: differs by {difference}")


def main():
    torch.manual_seed(1)
    torch.set_num_threads(1)
    refusals()
    with program.folder() as folder:
        computed_weights(folder)
        forward_passes(folder)
        comparison(folder)
        files(folder)
        synonyms(folder)
    program.finish()


main()
