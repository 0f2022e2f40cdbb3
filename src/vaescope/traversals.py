"""What a decoder shows: one latent moved at a time, and examples beside their reconstructions.

Takes a decoder as a function from codes to outputs, so that it may be anybody's.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from vaescope.types import Array, Double, Floats, Integers

__all__ = ["Decode", "Reconstructions", "Traversals", "decoded", "reconstruct", "traverse"]

Decode = Callable[[Tensor], Tensor]


@dataclass(frozen=True, eq=False)
class Traversals:
    """Every latent moved along `values`, the others held at `base`. Rows are latents by number."""

    base: Floats  # (latent,)
    values: Double  # (steps,) in `units`: z = centre + scale * value
    share: Double  # (latent,) of all variation along the rows: sums to one, or all 0
    outputs: Floats | None  # (latent, steps, *event); None where pictures are left out
    centre: Floats | float = 0.0  # mean of the prior
    scale: Floats | float = 1.0  # its standard deviation

    @property
    def units(self) -> str:
        """What `values` are if not those of the codes."""
        own = not np.any(self.centre) and bool(np.all(np.asarray(self.scale) == 1.0))
        return "" if own else "standard deviations of the prior"


@dataclass(frozen=True, eq=False)
class Reconstructions:
    """Some rows of the data and what the decoder makes of their posterior means."""

    index: Integers  # (n,) rows in the dataset
    originals: Floats  # (n, *event)
    outputs: Floats  # (n, *event)
    labels: tuple[str, ...]  # what each row shows, in words, for those who cannot see it


@torch.inference_mode()
def traverse(
    decode: Decode,
    base: Floats,
    *,
    centre: Floats | float = 0.0,
    scale: Floats | float = 1.0,
    span: float = 2.5,
    steps: int = 11,
    batch: int = 256,
) -> Traversals:
    """Outputs along each latent from -span to span in equal steps, in units of the prior: `centre`
    and `scale` are its mean and standard deviation. The scale of a latent whose prior is learnt is
    free, and shares must not depend on it.

    A latent's share is the variance along its row, summed over the outputs, over the same sum of
    all rows: what the decoder makes of it, whatever the encoder does.
    2.5 prior standard deviations hold 98.8% of N(0, 1): beyond, the decoder was hardly trained.
    """
    values = np.linspace(-span, span, steps)
    codes = np.tile(base.astype(np.float32), (len(base), steps, 1))  # (latent, steps, latent)
    places = np.asarray(centre)[..., None] + np.asarray(scale)[..., None] * values
    for latent, row in enumerate(np.broadcast_to(places, (len(base), steps))):
        codes[latent, :, latent] = row
    flat = decoded(decode, codes, batch)
    outputs = flat.reshape(len(base), steps, *flat.shape[1:])
    moved: Array = outputs.astype(np.float64).var(axis=1).reshape(len(base), -1).sum(axis=1)
    # A decoder that ignores all latents has no variation to share.
    return Traversals(base, values, moved / (moved.sum() or 1.0), outputs, centre, scale)


@torch.inference_mode()
def reconstruct(
    decode: Decode, mean: Floats, originals: Floats, index: Integers, labels: tuple[str, ...]
) -> Reconstructions:
    """Each row beside its reconstruction from the posterior mean, not from a sample of it."""
    outputs = decode(torch.from_numpy(mean)).float().cpu().numpy()
    return Reconstructions(index, originals, outputs, labels)


@torch.inference_mode()
def decoded(decode: Decode, codes: Array, batch: int = 256) -> Floats:
    """Outputs of codes (..., latent), one after the other: (n, *event)."""
    flat = np.asarray(codes, dtype=np.float32).reshape(-1, codes.shape[-1])
    parts = [
        decode(torch.from_numpy(flat[start : start + batch])).float().cpu().numpy()
        for start in range(0, len(flat), batch)
    ]
    return np.concatenate(parts)
