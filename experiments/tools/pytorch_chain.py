"""The layers of a PyTorch model, for pytorch_target.py.

The forward pass is traced (torch.fx), so the order of calls counts and not the order in which modules
were made: a module may be called twice, functions such as F.relu count as their modules. Whatever a
target file cannot express is refused by the name of the module.
"""
import copy
import inspect
from collections import OrderedDict

import numpy as np
import torch
import torch.fx
from torch import nn
from torch.nn.utils import parametrize
from torch.nn.utils.prune import BasePruningMethod
from torch.nn.utils.spectral_norm import SpectralNorm
from torch.nn.utils.weight_norm import WeightNorm

from target_layers import Chain, NotExpressible, checked_slope, pair, refuse

ACTIVATIONS = {nn.ReLU: "relu", nn.LeakyReLU: "leaky-relu", nn.Tanh: "tanh", nn.Sigmoid: "sigmoid",
               nn.GELU: "gelu", nn.SiLU: "silu", nn.Softplus: "softplus", nn.ReLU6: "relu6",
               nn.Hardsigmoid: "hard-sigmoid", nn.Hardswish: "hard-swish"}
# They do nothing in evaluation mode.
TRANSPARENT = (nn.Identity, nn.Dropout, nn.Dropout1d, nn.Dropout2d, nn.Dropout3d, nn.AlphaDropout,
               nn.FeatureAlphaDropout)
# From here on PyTorch's softplus is the identity, which differs from softplus by 2e-9 at most.
SOFTPLUS_THRESHOLD = 20


def array(tensor):
    """A tensor as an array: FP32 where that holds all of its numbers, as it does for bfloat16, else FP64."""
    if tensor is None:
        return None
    values = tensor.detach().cpu()
    if values.is_floating_point():
        values = values.double()
    values = values.numpy()
    if values.dtype != np.float64:
        return values
    with np.errstate(over="ignore"):
        single = values.astype(np.float32)
    return single if np.array_equal(single, values, equal_nan=True) else values


def padding_of(name, conv):
    if conv.padding == "valid":
        return 0, 0
    if conv.padding != "same":
        return pair(conv.padding)
    if any(k % 2 == 0 for k in conv.kernel_size):
        refuse(name, type(conv).__name__, "padding 'same' of an even kernel is not the same on both sides")
    return tuple(k // 2 for k in conv.kernel_size)


def convolution(chain, name, kind, module, _):
    if module.groups != 1:
        refuse(name, kind, f"groups = {module.groups}; only 1 can be expressed")
    if pair(module.dilation) != (1, 1):
        refuse(name, kind, f"dilation = {module.dilation}; only 1 can be expressed")
    if module.padding_mode != "zeros":
        refuse(name, kind, f"padding_mode = '{module.padding_mode}'; only zeros can be expressed")
    chain.convolution(name, kind, array(module.weight), array(module.bias), pair(module.stride),
                      2 * padding_of(name, module))


def zero_pad(chain, name, kind, module, _):
    left, right, top, bottom = module.padding
    chain.pad(name, kind, (top, left, bottom, right))


def linear(chain, name, kind, module, _):
    chain.linear(name, kind, array(module.weight), array(module.bias))


def batch_norm(chain, name, kind, module, _):
    """The statistics and the affine map in evaluation mode."""
    if module.running_mean is None:
        refuse(name, kind, "keeps no running statistics, so it is not a fixed map")
    mean = array(module.running_mean)
    chain.batch_norm(name, kind, array(module.weight) if module.affine else np.ones_like(mean),
                     array(module.bias) if module.affine else np.zeros_like(mean), mean,
                     array(module.running_var), module.eps)


def activation_of(name, kind, module):
    """The attributes of a module's activation."""
    if isinstance(module, nn.GELU) and module.approximate != "none":
        refuse(name, kind, f"approximate='{module.approximate}'; only the exact form can be expressed")
    if isinstance(module, nn.Softplus):
        if module.beta != 1:
            refuse(name, kind, f"beta = {module.beta}; only 1 can be expressed")
        if module.threshold < SOFTPLUS_THRESHOLD:
            refuse(name, kind, f"threshold = {module.threshold}; it must be {SOFTPLUS_THRESHOLD} or more, where "
                   "softplus equals the identity to 2e-9")
    if known_class(module) is nn.Hardtanh:
        return {"activation": "clip", "limit": float(module.max_val)}
    values = {"activation": ACTIVATIONS[known_class(module)]}
    if values["activation"] == "leaky-relu":
        values["negative_slope"] = checked_slope(name, kind, module.negative_slope)
    return values


def activation(chain, name, kind, module, _):
    chain.activation(name, kind, **activation_of(name, kind, module))


def max_pool(chain, name, kind, module, _):
    plain = (pair(module.kernel_size) == (2, 2) and pair(module.stride) == (2, 2) and
             pair(module.padding) == (0, 0) and pair(module.dilation) == (1, 1) and not module.ceil_mode and
             not module.return_indices)
    if not plain:
        refuse(name, kind, "only MaxPool2d(2), without padding, dilation or ceil_mode, can be expressed")
    chain.pool(name, kind, "max2")


def average_pool(chain, name, kind, module, extents):
    """`extents` are those of the images that arrive, or None where they are unknown."""
    if isinstance(module, nn.AdaptiveAvgPool2d):
        size = tuple(e if s is None else s for s, e in zip(np.broadcast_to(module.output_size, 2), extents or (0, 0)))
        if size == extents and size != (1, 1):
            return
        if size != (1, 1):
            refuse(name, kind, f"output_size = {module.output_size}; only 1, or all pixels, can be expressed")
    else:
        kernel = pair(module.kernel_size)
        if kernel == (1, 1) and pair(module.stride) == (1, 1) and not module.divisor_override:
            return
        if kernel != extents or pair(module.padding) != (0, 0) or module.divisor_override:
            refuse(name, kind, "only an average of all pixels can be expressed")
    chain.pool(name, kind, "global-average")


def flatten(chain, name, kind, module, _):
    if module.start_dim != 1 or module.end_dim != -1:
        refuse(name, kind, "only Flatten() of everything but the batch can be expressed")
    chain.flatten()


def limits(chain, name, kind, module, _):
    if module.max_val != -module.min_val:
        refuse(name, kind, "has limits that are not alike; as a graph a target file can express it")
    chain.activation(name, kind, **activation_of(name, kind, module))


def only_in_graphs(_, name, kind, *__):
    refuse(name, kind, "cannot be part of a chain; as a graph a target file can express it")


def nothing(*_):
    pass


MODULES = {nn.Conv2d: convolution, nn.Linear: linear, nn.BatchNorm1d: batch_norm, nn.BatchNorm2d: batch_norm,
           nn.MaxPool2d: max_pool, nn.AvgPool2d: average_pool, nn.AdaptiveAvgPool2d: average_pool,
           nn.Flatten: flatten, nn.ZeroPad2d: zero_pad, **dict.fromkeys(ACTIVATIONS, activation),
           nn.Hardtanh: limits, nn.Unflatten: only_in_graphs, nn.Upsample: only_in_graphs, **dict.fromkeys(TRANSPARENT, nothing)}


def known_class(module):
    """The class of MODULES whose forward pass the module has, or None."""
    for known in MODULES:
        own = ("forward", "_conv_forward", "__call__")
        if isinstance(module, known) and all(getattr(type(module), n, None) is getattr(known, n, None) and
                                             n not in vars(module) for n in own):
            return known
    return None


def view(*sizes):
    sizes = sizes[0] if len(sizes) == 1 and isinstance(sizes[0], (tuple, list)) else sizes
    if len(sizes) == 4 and all(isinstance(size, int) for size in sizes[1:]):
        return nn.Unflatten(1, sizes[1:])
    return nn.Flatten() if len(sizes) == 2 else None


def mean(dim=None, keepdim=False):
    if dim is None or np.ndim(dim) == 0 or sorted(d % 4 for d in dim) != [2, 3]:
        return None
    return nn.Sequential(nn.AdaptiveAvgPool2d(1), nn.Identity() if keepdim else nn.Flatten())


def dropout(p=0.5, training=True, inplace=False):
    return None if training and p > 0 else nn.Identity()


# Functions and methods of tensors, as the modules they stand for; None where they stand for none. Their
# parameters are those of PyTorch, behind the tensor.
FUNCTIONS = {
    "relu": lambda inplace=False: nn.ReLU(), "relu_": nn.ReLU,
    "leaky_relu": lambda negative_slope=0.01, inplace=False: nn.LeakyReLU(negative_slope),
    "tanh": nn.Tanh, "sigmoid": nn.Sigmoid, "silu": lambda inplace=False: nn.SiLU(),
    "gelu": lambda approximate="none": nn.GELU(approximate),
    "softplus": lambda beta=1, threshold=20: nn.Softplus(beta, threshold),
    "relu6": lambda inplace=False: nn.ReLU6(), "hardtanh": lambda min_val=-1.0, max_val=1.0, inplace=False:
    nn.Hardtanh(min_val, max_val), "hardsigmoid": lambda inplace=False: nn.Hardsigmoid(),
    "hardswish": lambda inplace=False: nn.Hardswish(), "max_pool2d": nn.MaxPool2d, "avg_pool2d": nn.AvgPool2d, "adaptive_avg_pool2d": nn.AdaptiveAvgPool2d,
    "dropout": dropout, "dropout2d": dropout, "flatten": lambda start_dim=0, end_dim=-1: nn.Flatten(start_dim, end_dim),
    "interpolate": lambda size=None, scale_factor=None, mode="nearest", align_corners=None, recompute_scale_factor=None,
    antialias=False: nn.Upsample(size, scale_factor, mode, align_corners), "view": view, "reshape": view, "mean": mean, "contiguous": nn.Identity, "clone": nn.Identity}


class Tracer(torch.fx.Tracer):
    """Traces down to the modules of MODULES, and those of PyTorch; nodes keep the name of the module
    around them."""

    def __init__(self):
        super().__init__()
        self.around = []

    def is_leaf_module(self, m, module_qualified_name):
        return known_class(m) is not None or super().is_leaf_module(m, module_qualified_name)

    def call_module(self, m, forward, args, kwargs):
        self.around.append(self.path_of_module(m))
        try:
            return super().call_module(m, forward, args, kwargs)
        finally:
            self.around.pop()

    def create_node(self, *args, **kwargs):
        node = super().create_node(*args, **kwargs)
        node.meta["around"] = self.around[-1] if self.around else "model"
        return node


class ShapeRecorder(torch.fx.Interpreter):
    """Runs a graph; its nodes then carry the shapes of their values."""

    def run_node(self, n):
        value = super().run_node(n)
        n.meta["shape"] = tuple(getattr(value, "shape", ()))
        return value


def own_weights(model):
    """A copy of the model in evaluation mode and FP64, on the CPU."""
    # Weights that hooks compute cannot be copied while they belong to a graph of derivatives.
    memo = {id(value): value.detach().clone() for module in model.modules() for value in vars(module).values()
            if isinstance(value, torch.Tensor) and not value.is_leaf}
    return copy.deepcopy(model, memo).cpu().double().eval()


def settle(model):
    """Replaces the weights that weight_norm, spectral_norm, pruning and parametrizations compute by their
    values; refuses any other hook."""
    computing = (WeightNorm, SpectralNorm, BasePruningMethod)
    for module in list(model.modules()):
        if parametrize.is_parametrized(module):
            # remove_parametrizations would change the class, which the copy shares with the model.
            values = {weight: getattr(module, weight).detach() for weight in module.parametrizations}
            module.__class__ = type(module).__bases__[0]
            del module.parametrizations
            for weight, value in values.items():
                setattr(module, weight, value)
    for name, module in model.named_modules():
        for key, hook in list(module._forward_pre_hooks.items()):
            if isinstance(hook, computing):
                hook(module, None)
                del module._forward_pre_hooks[key]
        for hook in (*module._forward_pre_hooks.values(), *module._forward_hooks.values()):
            refuse(name or "model", type(module).__name__,
                   f"carries the hook {getattr(hook, '__name__', type(hook).__name__)}, which may change its outputs; "
                   "remove it")


def trace(model, input_shape):
    """The graph of the forward pass. Where the model takes input_shape, nodes carry the shapes."""
    parameters = list(inspect.signature(model.forward).parameters.values())[1:]
    defaults = {p.name: p.default for p in parameters if p.default is not p.empty}
    tracer = Tracer()
    try:
        graph = tracer.trace(model, defaults)
    except Exception as error:  # whatever the forward pass raises on a stand-in for a tensor
        raise NotExpressible(f"model ({type(model).__name__}): its forward pass cannot be traced: {error}; rewrite it "
                             "as nn.Sequential") from error
    if input_shape:
        x = torch.zeros(2, *((1,) * (len(input_shape) == 2)), *input_shape, dtype=torch.float64)
        try:
            with torch.no_grad():
                ShapeRecorder(torch.fx.GraphModule(model, graph), garbage_collect_values=False).run(x)
        except Exception:  # the refusal below, or the comparison at the end, says more
            pass
    return graph


def is_shape(node):
    """Is the value a shape, a part of one, or an argument with a default: no tensor of the chain?"""
    if node.op == "placeholder":
        return node.prev.op != "root"
    if (node.op, node.target) in (("call_method", "size"), ("call_method", "dim")):
        return True
    if node.op == "call_function" and node.target is getattr:
        return node.args[1] in ("shape", "ndim")
    return node.op == "call_function" and bool(node.all_input_nodes) and all(map(is_shape, node.all_input_nodes))


def title(node, modules):
    """Name and kind of an operation, for messages."""
    if node.op == "call_module":
        return node.target, type(modules[node.target]).__name__
    if node.op in ("placeholder", "get_attr"):
        return str(node.target), node.op
    return node.meta["around"], getattr(node.target, "__name__", str(node.target))


def modules_of(node, modules):
    """The modules that the node stands for."""
    name, kind = title(node, modules)
    if node.op == "call_module":
        module = modules[node.target]
    else:
        make = FUNCTIONS.get(kind)
        try:
            module = make(*node.args[1:], **node.kwargs) if make else None
        except TypeError:  # parameters that no module has
            module = None
    if isinstance(module, nn.Sequential):
        return list(module)
    if module is None or known_class(module) is None:
        ends = "; a model that ends with its logits is expected" if "softmax" in kind.lower() else ""
        refuse(name, kind, f"has no counterpart in a target file{ends}")
    return [module]


def source_of(node, current, modules):
    """Refuses a node that does not take the output of `current` alone."""
    name, kind = title(node, modules)
    tensors = [n for n in node.all_input_nodes if not is_shape(n)]
    for tensor in tensors:
        if tensor.op == "get_attr":
            refuse(name, kind, f"takes the tensor {tensor.target} of the model; only modules can hold weights")
    titles = ["the input" if t.op == "placeholder" else "{} ({})".format(*title(t, modules)) for t in tensors]
    if len(tensors) != 1:
        refuse(name, kind, f"takes {' and '.join(titles) or 'no tensor'}; a target file has no skip connections and no "
               "branches")
    if tensors[0] is not current:
        refuse(name, kind, f"takes {titles[0]}, which another operation takes too; a target file has no skip "
               "connections and no branches")


def prepared(model):
    """A copy of the model whose weights are settled, in FP64, and its modules by name."""
    if isinstance(model, torch.jit.ScriptModule):
        raise NotExpressible("model: is TorchScript, which keeps no modules; save the model it was made from, or "
                             "export to ONNX and take onnx_target.py")
    if isinstance(model, (nn.DataParallel, nn.parallel.DistributedDataParallel)):
        model = model.module
    model = own_weights(model)
    with torch.no_grad():
        settle(model)
    if known_class(model):
        model = nn.Sequential(OrderedDict(model=model))
    return model, dict(model.named_modules())


def describe(model, input_shape=None):
    """The layers of the model, as Chain has them. input_shape (without the batch) is needed only for
    pools that turn out to cover all pixels."""
    model, modules = prepared(model)
    chain, current = Chain(), None
    for node in trace(model, input_shape).nodes:
        if node.op == "placeholder":
            current = current or node
            continue
        if node.op == "output":
            if node.args[0] is not current:
                refuse("model", type(modules[""]).__name__, "returns more than the output of its last module")
        elif node.op != "get_attr" and not is_shape(node):
            source_of(node, current, modules)
            shape = current.meta.get("shape", ())
            for module in modules_of(node, modules):
                MODULES[known_class(module)](chain, *title(node, modules), module,
                                             shape[2:] if len(shape) == 4 else None)
            current = node
    return chain.finish()
