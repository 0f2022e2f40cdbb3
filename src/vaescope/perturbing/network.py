"""m(w): factors -> one number -> an image of changes. zietlow2022 section 4.3.1."""

import math

import numpy as np
import torch
from torch import Tensor, nn

from vaescope.data import Dataset
from vaescope.errors import UsageError
from vaescope.nets.conv import LAYOUTS, deconvolutions
from vaescope.perturbing.settings import PerturbSettings
from vaescope.seeds import derive, rng
from vaescope.types import Single

__all__ = ["PerturbationNetwork", "inputs_of", "make_network", "moved", "reflected"]


class PerturbationNetwork(nn.Module):
    """w -> one neuron -> 256 -> 1024 -> deconvolutions, as the study's decoder with one latent; for
    other sizes than 32 and 64 pixels w -> one neuron -> 256 -> pixels. Values in [-1, 1] by tanh.

    Before the neuron there is nothing, so that its number is affine in w, or a hidden layer.
    """

    def __init__(self, inputs: int, event: tuple[int, ...], hidden: int) -> None:
        super().__init__()
        before = [nn.Linear(inputs, hidden), nn.Tanh()] if hidden else []
        self.neuron = nn.Sequential(*before, nn.Linear(hidden or inputs, 1))
        layouts = LAYOUTS["locatello"]
        if event[1] == event[2] and event[1] in layouts:
            self.body = deconvolutions(1, event[0], layouts[event[1]])
        else:
            self.body = nn.Sequential(
                nn.Linear(1, 256), nn.ReLU(), nn.Linear(256, math.prod(event)),
                nn.Unflatten(-1, event),
            )  # fmt: skip

    def forward(self, w: Tensor) -> Tensor:
        made: Tensor = self.body(self.neuron(w)).tanh()
        return made


def inputs_of(data: Dataset, settings: PerturbSettings) -> Single:
    """w of all rows: classes scaled to [-1, 1], one column each; of factors whose values are words
    one column for each word. With the control `one-factor` only that factor's columns; with
    `relabelled` the classes of each factor in another order."""
    factors = data.require_factors("perturb")
    if settings.factor is not None and settings.factor not in factors.names:
        raise UsageError(
            f"There is no factor {settings.factor} in {data.name}.",
            f"The factors are {', '.join(factors.names)}.",
        )
    classes = factors.classes(np.arange(len(data)))
    columns = []
    for k, (name, values) in enumerate(zip(factors.names, factors.values, strict=True)):
        if settings.factor not in (None, name):
            continue
        own = classes[:, k]
        if settings.kind == "relabelled":
            own = rng(settings.seed, f"relabelled {name}").permutation(len(values))[own]
        if values.dtype.kind in "US":
            columns.append(np.eye(len(values))[own])
        else:
            columns.append((2.0 * own / max(len(values) - 1, 1) - 1.0)[:, None])
    return np.concatenate(columns, axis=1).astype(np.float32)


def make_network(
    inputs: int, event: tuple[int, ...], settings: PerturbSettings
) -> PerturbationNetwork:
    """A fresh network, a function of the seed."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(derive(settings.seed, "perturbation"))
        return PerturbationNetwork(inputs, event, settings.hidden)


def reflected(y: Tensor) -> Tensor:
    """y - 2 relu(y - 1) + 2 relu(-y): what leaves [0, 1] comes back."""
    return y - 2.0 * torch.relu(y - 1.0) + 2.0 * torch.relu(-y)


def moved(x: Tensor, change: Tensor, epsilon: float) -> Tensor:
    """x + epsilon change, reflected. As much as float32 rounds is kept back, so that no pixel moves
    further than epsilon."""
    return reflected(x + max(epsilon - 2.5e-7, 0.0) * change)
