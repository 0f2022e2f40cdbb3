"""How much a pruned model differs from the one it was made of."""

import math

import numpy as np
import torch

from vaescope.models import OpenModel
from vaescope.pruning.result import Change
from vaescope.seeds import derive

__all__ = ["MEASURED", "change_of"]

#: Examples that are decoded.
MEASURED = 2_000


@torch.no_grad()
def change_of(before: OpenModel, after: OpenModel, kept: list[int], *, batch: int = 256) -> Change:
    """On at most 2,000 of the rows, spread over them. Both sides see the same noise in the latents
    that they share; in the dropped ones it comes with both signs, so that what is odd in it
    cancels."""
    latents = before.codes.d
    sign = np.full(latents, -1.0, dtype=np.float32)
    sign[kept] = 1.0
    places = np.linspace(0, before.codes.n - 1, min(MEASURED, before.codes.n)).astype(np.int64)
    generator = torch.Generator().manual_seed(derive(0, "prune"))
    noise = torch.cat(
        [torch.randn(len(some), latents, generator=generator)
         for some in np.split(places, range(batch, len(places), batch))]
    ).numpy()  # fmt: skip
    largest, squares = 0.0, []
    for some in np.split(places, range(batch, len(places), batch)):
        old, new = (_reconstruction(side, some) for side in (before, after))
        moved = (new - old).double()
        largest = max(largest, float(moved.abs().max()))
        squares += moved.square().flatten(1).mean(1).tolist()
    elbo = 0.5 * (before.elbo(places, noise) + before.elbo(places, sign * noise))
    change = after.elbo(places, np.ascontiguousarray(noise[:, kept])) - elbo
    error = float(change.std()) / math.sqrt(len(places))
    return Change(largest, math.sqrt(np.mean(squares)), float(change.mean()), error, len(places))


def _reconstruction(
    model: OpenModel, places: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> torch.Tensor:
    with model.evaluating():
        return model.decode(model.posterior(places).mean, model.u(model.rows[places])).mean
