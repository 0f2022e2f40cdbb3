"""Contrast of independent mechanism analysis. Gresele et al. 2021,
https://arxiv.org/abs/2106.05200; for VAEs Reizinger et al. 2022, https://arxiv.org/abs/2206.02416.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from vaescope.estimates import interval_of_mean
from vaescope.geometry.jacobian import Grams, grams
from vaescope.geometry.result import GeometryMeasure
from vaescope.geometry.space import Decode, LikelihoodOf, Space
from vaescope.types import Array, Double, Floats

__all__ = ["Mechanism", "ima_contrast", "ima_contrast_of"]


@dataclass(frozen=True, eq=False)
class Mechanism(GeometryMeasure):
    """The contrast in nats; n counts points of full rank, since it is infinite elsewhere."""

    per_point: Double
    deficient: int  # number of points left out because J is rank-deficient there
    columns: tuple[int, ...]

    def summary(self) -> str:
        left_out = f", {self.deficient} points without full rank left out" if self.deficient else ""
        return (
            f"IMA contrast {self.value:.3f} nats over {self.n} points in {self.space} space"
            f"{left_out}"
        )


def ima_contrast_of(grams: Grams) -> Mechanism:
    """`ima_contrast` of known Gram matrices; the value is NaN where no point has full rank.

    Args:
        grams: Gram matrices of Jacobians, from `grams` or `grams_of`.

    Returns:
        `Mechanism`: the contrast in nats; n counts points of full rank, since it is infinite
        elsewhere.

    Example:
        >>> import numpy as np
        >>> import vaescope as vs
        >>> grams = vs.geometry.grams_of(np.array([[[2.0, 0.5], [0.0, 1.0]]]))
        >>> round(vs.geometry.ima_contrast_of(grams).value, 2)
        0.11
    """
    full = grams.full_rank
    log_columns = np.log(grams.norms[full]).sum(axis=1)
    per_point = log_columns - 0.5 * np.linalg.slogdet(grams.values[full])[1]
    per_point = np.clip(per_point, 0.0, None)  # Hadamard; rounding may fall just below
    value = float(per_point.mean()) if len(per_point) else float("nan")
    return Mechanism(
        value, interval_of_mean(per_point), len(per_point), grams.space, per_point,
        int((~full).sum()), grams.columns,
    )  # fmt: skip


def ima_contrast(
    decode: Decode,
    points: Floats | Tensor,
    *,
    space: Space | None = None,
    likelihood: LikelihoodOf | None = None,
    columns: Sequence[int] | Array | None = None,
) -> Mechanism:
    """Mean over points of sum_j log ||J_j|| - log det(J'J) / 2; 0 where columns are orthogonal.

    The contrast is averaged, never the Jacobians: a decoder may be orthogonal at every point
    while its mean Jacobian is not.

    >>> import torch
    >>> shear = torch.tensor([[1.0, 1.0], [0.0, 1.0]])
    >>> round(ima_contrast(lambda z: z @ shear.T, torch.zeros(2, 2)).value, 4)  # log sqrt 2
    0.3466

    Args:
        decode: the decoder: a function of a tensor (n, latent).
        points: (n, latent) codes at which the decoder is measured.
        space: `output`, `logit` or `likelihood`; None chooses by the likelihood.
        likelihood: turns what `decode` returns into a distribution.
        columns: latents to measure; None takes all.

    Returns:
        `Mechanism`: the contrast in nats; n counts points of full rank, since it is infinite
        elsewhere.

    Raises:
        RangeError: a value is out of range.
        ShapeError: an array is missing, or has the wrong shape or type.
    """
    return ima_contrast_of(
        grams(decode, points, space=space, likelihood=likelihood, columns=columns)
    )
