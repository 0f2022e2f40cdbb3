"""Self-consistency: does the encoder invert the decoder? zietlow2022 section 7.6;
Reizinger et al. 2022, https://arxiv.org/abs/2206.02416."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
import torch
from torch import Tensor

from vaescope.distributions import Distribution
from vaescope.errors import ShapeError
from vaescope.geometry.reader import as_points, columns_of
from vaescope.geometry.result import GeometryMeasure, interval_of_ratio, measure_of
from vaescope.geometry.space import Decode
from vaescope.types import Array, Double, Floats

__all__ = ["SelfConsistency", "self_consistency"]


@dataclass(frozen=True, eq=False)
class SelfConsistency(GeometryMeasure):
    """The value is E||mu(Dec(z)) - z||^2 over the variance of z: 0 if the encoder inverts the
    decoder, 1 if it always returns the mean code.
    """

    distance: GeometryMeasure  # ||mu(Dec(z)) - z||
    per_latent: Double  # the value of each latent; near 1 for passive ones
    columns: tuple[int, ...]

    def summary(self) -> str:
        return (
            f"encoding what was decoded misses the code by {self.value:.3f} of its variance "
            f"(distance {self.distance.value:.3g}, {self.n} points)"
        )


@torch.no_grad()
def self_consistency(
    encode: Callable[[Tensor], Tensor | Distribution],
    decode: Decode,
    points: Floats | Tensor,
    *,
    columns: Sequence[int] | Array | None = None,
    batch: int = 256,
) -> SelfConsistency:
    """How far mu(Dec(z)) is from z, for codes z such as samples of the posterior.

    `encode` returns posterior means, or a distribution that has them. Leave passive latents out by
    `columns`: they do not affect the output.

    Args:
        encode: a function of a batch of outputs.
        decode: the decoder: a function of a tensor (n, latent).
        points: (n, latent) codes at which the decoder is measured.
        columns: latents to measure; None takes all.
        batch: rows at a time.

    Returns:
        `SelfConsistency`: the value is E||mu(Dec(z)) - z||^2 over the variance of z: 0 if the
            encoder inverts the decoder, 1 if it always returns the mean code.

    Raises:
        RangeError: a value is out of range.
        ShapeError: an array is missing, or has the wrong shape or type.

    Example:
        >>> import vaescope as vs
        >>> x = vs.known.signals()
        >>> model = vs.known.linear_vae(x, latent=3)
        >>> decode = lambda z: model.decode(z).mean
        >>> encode = lambda x: model.encode(x)[0]
        >>> consistency = vs.geometry.self_consistency(encode, decode, vs.encode(model, x).mean)
        >>> consistency.n
        600
    """
    z = as_points(points, decode)
    answers = []
    for start in range(0, len(z), batch):
        output = decode(z[start : start + batch])
        code = encode(output.mean if isinstance(output, Distribution) else output)
        answers.append(code.mean if isinstance(code, Distribution) else code)
    back = torch.cat(answers).to(z)
    if back.shape != z.shape:
        raise ShapeError(
            f"The encoder returned shape {tuple(back.shape)}; wanted {tuple(z.shape)}.",
            "encode must return posterior means of shape (n, d).",
        )
    chosen = list(columns_of(columns, z.shape[1]))
    codes, error = (t[:, chosen].double().cpu().numpy() for t in (z, back - z))
    spread = (codes - codes.mean(axis=0)) ** 2
    missed, variance = (error**2).sum(axis=1), spread.sum(axis=1)
    total = spread.mean(axis=0)
    per_latent = np.divide(
        (error**2).mean(axis=0), total, out=np.full(len(chosen), np.nan), where=total > 0
    )
    value = float(missed.mean() / variance.mean()) if variance.mean() > 0 else float("nan")
    return SelfConsistency(
        value, interval_of_ratio(missed, variance), len(z), "latent",
        measure_of(np.sqrt(missed), "latent"), per_latent, tuple(chosen),
    )  # fmt: skip
