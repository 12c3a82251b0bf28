"""Stacks of frozen layers that stand for a linear layer (norma reconstruct --construction skip, deep) as PyTorch modules,
from a layer's group in a result file that holds gamma and weights."""
import numpy as np
import torch
from torch import nn

from pytorch_target import activation


class Stack(nn.Module):
    """Arrays of a group as buffers, which follow .to(dtype), and the activation between the layers."""

    def __init__(self, group, replica, **arrays):
        super().__init__()
        for name, values in arrays.items():
            self.register_buffer(name, torch.from_numpy(np.asarray(values, dtype=np.float64)))
        self.act = nn.Sequential(*activation(group.attrs))


class Blocks(Stack):
    """z := act(gamma_i o W_i (z + A_i x_i) + beta_i) for each block x_i of inputs, then R z + beta (EXP23 Thm 2)."""

    def __init__(self, group, replica):
        inner, entry, readout = (group[name][replica] for name in ("W", "A", "R"))
        shape = inner.shape[:2]
        gamma, beta = group["gamma"][replica], group["beta"][replica]
        super().__init__(group, replica, inner=inner, entry=entry, readout=readout, gamma=gamma.reshape(shape),
                         beta=beta[:gamma.size].reshape(shape), beta_out=beta[gamma.size:])

    def forward(self, x):
        blocks = x.flatten(1).split(self.entry.shape[2], dim=1)
        z = 0
        for i, block in enumerate(blocks):
            z = self.act((z + block @ self.entry[i].T) @ self.inner[i].T * self.gamma[i] + self.beta[i])
        return z @ self.readout.T + self.beta_out


class Deep(Stack):
    """x := gamma_l o W_l x + beta_l, with the activation between the layers (CNN24 Thm 2.5)."""

    def __init__(self, group, replica):
        self.depth = sum(name[0] == "W" for name in group)
        weights = {f"w{i}": group[f"W{i + 1}"][replica, :, :, 0, 0] for i in range(self.depth)}
        ends = np.cumsum([len(w) for w in weights.values()])[:-1]
        super().__init__(group, replica, **weights,
                         **{f"gamma{i}": g for i, g in enumerate(np.split(group["gamma"][replica], ends))},
                         **{f"beta{i}": b for i, b in enumerate(np.split(group["beta"][replica], ends))})

    def forward(self, x):
        x = x.flatten(1)
        for i in range(self.depth):
            x = x @ getattr(self, f"w{i}").T * getattr(self, f"gamma{i}") + getattr(self, f"beta{i}")
            x = self.act(x) if i + 1 < self.depth else x
        return x


KINDS = {"skip": (Blocks, ("W", "A", "R")), "deep": (Deep, ("W1",))}
