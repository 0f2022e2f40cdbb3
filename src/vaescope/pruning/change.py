"""How much a pruned model differs from the one it was made of."""

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from vaescope.data import Dataset
from vaescope.data.auxiliary import Auxiliary
from vaescope.distributions import Distribution, Reparameterised, rate
from vaescope.pruning.result import Change
from vaescope.types import Integers
from vaescope.vae import as_input

__all__ = ["MEASURED", "ROWS", "Side", "change_of"]

#: Examples that decide the types, as many as `inspect` takes; and those that are decoded.
ROWS, MEASURED = 10_000, 2_000


@dataclass(frozen=True, eq=False)
class Side:
    """A model before or after."""

    encode: Callable[[Tensor, Tensor | None], Reparameterised]  # x in [0, 1] where it is an image
    decode: Callable[[Tensor], Distribution]
    prior: Callable[[Tensor | None], Reparameterised]

    def at(self, x: Tensor, u: Tensor | None, noises: list[Tensor]) -> tuple[Tensor, Tensor]:
        """Reconstructions at z = mean, and the mean ELBO of each example over z = q.at(noise)."""
        q = self.encode(x, u)
        elbos = []
        for noise in noises:
            z = q.at(noise)
            elbos.append(self.decode(z).log_prob(x).double() - rate(q, self.prior(u), z).double())
        return self.decode(q.mean).mean, torch.stack(elbos).mean(0)


@torch.no_grad()
def change_of(
    before: Side,
    after: Side,
    kept: list[int],
    latents: int,
    data: Dataset,
    rows: Integers,
    *,
    device: torch.device,
    generator: torch.Generator,
    auxiliary: Auxiliary | None = None,
    batch: int = 256,
) -> Change:
    """On at most 2,000 of the rows, spread over them. Both sides see the same noise in the latents
    that they share; in the dropped ones it comes with both signs, so that what is odd in it
    cancels."""
    sign = torch.full((latents,), -1.0)
    sign[kept] = 1.0
    places = np.linspace(0, len(rows) - 1, min(MEASURED, len(rows))).astype(np.int64)
    largest, changes = 0.0, []
    for start in range(0, len(places), batch):
        some = rows[places[start : start + batch]]
        x = as_input(data.rows(some), device)
        u = None if auxiliary is None else torch.from_numpy(auxiliary(some)).to(device)
        noise = torch.randn(len(some), latents, generator=generator)
        old, elbo = before.at(x, u, [noise.to(device), (sign * noise).to(device)])
        new, pruned_elbo = after.at(x, u, [noise[:, kept].to(device)])
        largest = max(largest, float((new - old).abs().max()))
        changes.append((pruned_elbo - elbo).cpu())
    change = torch.cat(changes)
    error = float(change.std(correction=0)) / math.sqrt(len(places))
    return Change(largest, float(change.mean()), error, len(places))
