"""A model as two modules from tensors to tensors, which exporters can trace, and data for both."""

from collections.abc import Callable
from contextlib import AbstractContextManager
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor, nn

from vaescope.adapters import Model
from vaescope.build import build_auxiliary, data_of
from vaescope.data import Dataset
from vaescope.distributions import FullGaussian
from vaescope.encoding import load_vae
from vaescope.runs import Run
from vaescope.seeds import derive
from vaescope.specs import resolve
from vaescope.types import Integers
from vaescope.vae import as_input

__all__ = ["BATCHES", "Half", "Halves", "halves_of_model", "halves_of_run"]

#: Sizes of batches that are compared, beside all rows at once.
BATCHES = (1, 2, 65)
#: Rows to compare on, and the most values that these may have together.
ROWS, VALUES = 256, 2**22

Function = Callable[[Tensor, Tensor | None], tuple[Tensor, ...]]


class Half(nn.Module):
    """A function of tensors, with the module whose weights it uses."""

    def __init__(self, function: Function, module: nn.Module | None) -> None:
        super().__init__()
        self.function, self.module = function, module
        self.training = False  # the module itself is put into that mode by `Halves.evaluating`

    def forward(self, x: Tensor, u: Tensor | None = None) -> tuple[Tensor, ...]:
        return self.function(x, u)


@dataclass(frozen=True, eq=False)
class Halves:
    """Encoder (x, or x and u, to mean, variance and maybe covariance) and decoder (z to mean)."""

    name: str
    encoder: Half
    decoder: Half
    x: Tensor  # (n, *event), images in [0, 1]
    u: Tensor | None  # (n, width) where the encoder sees it
    evaluating: Callable[[], AbstractContextManager[None]]  # no gradients, no dropout
    prior: Callable[[Tensor], Tensor]  # standard normal noise like codes -> draws

    def draws(self, codes: Tensor) -> Tensor:
        """As many draws from the prior as there are codes."""
        generator = torch.Generator().manual_seed(derive(0, "export"))
        return self.prior(torch.randn(codes.shape, generator=generator).to(codes))


def _rows(data: Dataset) -> Integers:
    """Fewer where they are large; repeated where there are too few for the largest batch."""
    most = min(ROWS, max(3, VALUES // int(np.prod(data.shape))))
    rows = data.sample(most, seed=0)
    return np.resize(rows, max(len(rows), min(most, BATCHES[-1])))


def halves_of_run(run: Run, data: Dataset | None = None) -> Halves:
    """Of a finished run; `data` only where it was trained on the user's own arrays."""
    spec = resolve(run.open())
    data = data_of(spec, data)
    auxiliary = build_auxiliary(spec, data)
    vae = load_vae(run)
    rows = _rows(data)
    u = None if auxiliary is None else torch.from_numpy(auxiliary(rows))

    def encode(x: Tensor, u: Tensor | None) -> tuple[Tensor, ...]:
        q = vae.encoder(x, u)
        full = (q.covariance,) if isinstance(q, FullGaussian) else ()
        return q.mean, q.variance, *full

    def decode(z: Tensor, _: Tensor | None) -> tuple[Tensor, ...]:
        return (vae.decoder(z).mean,)

    return Halves(
        run.path.name, Half(encode, vae.encoder), Half(decode, vae.decoder),
        as_input(data.rows(rows), torch.device("cpu")), u, torch.no_grad,
        lambda noise: vae.prior(u).at(noise),
    )  # fmt: skip


def halves_of_model(read: Model, data: Dataset) -> Halves:
    """Of somebody else's model, as it was read; its prior is taken to be standard normal."""

    def encode(x: Tensor, _: Tensor | None) -> tuple[Tensor, ...]:
        q = read.encode(x)
        return (q.mean, q.variance, *(() if q.covariance is None else (q.covariance,)))

    def decode(z: Tensor, _: Tensor | None) -> tuple[Tensor, ...]:
        return (read.decode(z).mean,)

    def unchanged(noise: Tensor) -> Tensor:
        return noise

    return Halves(
        read.name, Half(encode, read.module), Half(decode, read.module),
        as_input(data.rows(_rows(data)), read.device), None, read.evaluating, unchanged,
    )  # fmt: skip
