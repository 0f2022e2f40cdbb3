"""Reconstruction loss in its deterministic and stochastic parts. bhowal2024 Proposition 1.

E||Dec(mu + eps) - x||^2 = ||Dec(mu) - x||^2 + E||Dec(mu + eps) - Dec(mu)||^2 + cross term, with
the cross term 2 <E Dec(mu + eps) - Dec(mu), Dec(mu) - x>. The paper drops it by assuming that
decoding noise is unbiased (and prints a product of norms); for a curved decoder it is not 0.
"""

from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from vaescope.errors import ShapeError
from vaescope.geometry.reader import as_points, read_at
from vaescope.geometry.result import GeometryMeasure, interval_of_ratio, measure_of
from vaescope.geometry.space import Decode
from vaescope.seeds import derive
from vaescope.types import Double, Floats

__all__ = ["ReconstructionParts", "reconstruction_parts"]


@dataclass(frozen=True, eq=False)
class ReconstructionParts(GeometryMeasure):
    """Squared errors per example, summed over outputs. The value is the share of the cross term in
    the total: 0 if decoding noise is unbiased."""

    deterministic: GeometryMeasure  # error at the posterior mean
    stochastic: GeometryMeasure  # error from the posterior's noise
    cross: GeometryMeasure  # cross term of both
    total: GeometryMeasure  # total squared error
    draws: int

    def summary(self) -> str:
        return (
            f"squared error {self.total.value:.4g} = deterministic {self.deterministic.value:.4g} "
            f"+ stochastic {self.stochastic.value:.4g} + cross {self.cross.value:.4g} "
            f"({self.value:+.1%}), {self.n} points, {self.draws} draws each"
        )


@torch.no_grad()
def reconstruction_parts(
    decode: Decode,
    x: Floats | Tensor,
    mean: Floats | Tensor,
    variance: Floats | Tensor,
    *,
    draws: int = 64,
    seed: int = 0,
) -> ReconstructionParts:
    """The three parts for examples x with posteriors N(mean, diag(variance)), in output space.

    The three add up to the total by construction, at any number of draws.

    Args:
        decode: the decoder: a function of a tensor (n, latent).
        x: rows of the data that were encoded.
        mean: (n, latent) posterior means.
        variance: (n, latent) posterior variances.
        draws: number of samples for each row.
        seed: seed of all random draws.

    Returns:
        `ReconstructionParts`: squared errors per example, summed over outputs.

    Raises:
        RangeError: a value is out of range.
        ShapeError: an array is missing, or has the wrong shape or type.
        UsageError: a name or value is not known; the message lists those that are.

    Example:
        >>> import vaescope as vs
        >>> x = vs.known.signals()
        >>> model = vs.known.linear_vae(x, latent=3)
        >>> codes = vs.encode(model, x)
        >>> decode = lambda z: model.decode(z).mean
        >>> parts = vs.geometry.reconstruction_parts(decode, x, codes.mean, codes.variance)
        >>> parts.deterministic.value < parts.total.value
        True
    """
    z = as_points(mean, decode)
    std = as_points(variance).to(z).sqrt()
    target = (x if isinstance(x, Tensor) else torch.as_tensor(x)).to(z).flatten(1)
    if len(target) != len(z) or std.shape != z.shape:
        raise ShapeError(
            f"There are {len(target)} examples, {len(z)} means and variances of shape "
            f"{tuple(std.shape)}; wanted one of each per example.",
            "Encode the same rows.",
        )
    reader = read_at(decode, z, space="output")
    generator = torch.Generator().manual_seed(derive(seed, "reconstruction"))
    parts = np.empty((3, len(z)), dtype=np.float64)
    for i in range(len(z)):
        noise = torch.randn((draws, z.shape[1]), generator=generator).to(z)
        centre = reader.coordinates(z[i : i + 1]).double()
        moved = reader.coordinates(z[i] + std[i] * noise).double() - centre
        off = centre[0] - target[i].double()
        parts[:, i] = (
            float((off**2).sum()),
            float((moved**2).sum(1).mean()),
            2.0 * float(moved.mean(0) @ off),
        )
    total: Double = parts.sum(axis=0)
    deterministic, stochastic, cross = (measure_of(part, "output") for part in parts)
    value = cross.value / float(total.mean()) if total.mean() > 0 else 0.0
    return ReconstructionParts(
        value, interval_of_ratio(parts[2], total), len(z), "output", deterministic, stochastic,
        cross, measure_of(total, "output"), draws,
    )  # fmt: skip
