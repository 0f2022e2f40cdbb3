"""Precision budget: how noise is best spread over latents. zietlow2022 section 3.2.4.

Minimise sum_j sigma_j^2 ||c_j||^2 at a fixed sum_j -log sigma_j^2 = C. Every latent then costs the
same, sigma_j^2 ||c_j||^2 = (prod ||c||^2)^(1/d) exp(-C/d), and the bound is d times that. (The
thesis prints exp(-C) for d = 2; it is exp(-C/2).) Over rotations of the latents the product of
column norms is least where columns are orthogonal: det(J'J), by Hadamard.
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from vaescope.errors import ShapeError
from vaescope.estimates import interval_of_mean
from vaescope.geometry.jacobian import Grams, grams
from vaescope.geometry.reader import variances_of
from vaescope.geometry.result import GeometryMeasure, measure_of
from vaescope.geometry.space import Decode, LikelihoodOf, Space
from vaescope.types import Array, Floats, Matrix

__all__ = [
    "Budget",
    "budget_bound",
    "budget_bound_over_rotations",
    "optimal_variance",
    "precision_budget",
    "precision_budget_of",
]


def budget_bound(squared_norms: Floats, budget: float | Floats = 0.0) -> Matrix:
    """Least E||M eps||^2 at the budget, for squared column norms along the last axis.

    >>> round(float(budget_bound(np.array([50.0, 3.0]))), 2)  # the thesis's M_1
    24.49

    Args:
        squared_norms: (..., d) squared lengths of a Jacobian's columns.
        budget: sum of -log variance over latents, which is kept fixed.

    Returns:
        The least loss.
    """
    squares = np.asarray(squared_norms, dtype=np.float64)
    d = squares.shape[-1]
    with np.errstate(divide="ignore"):
        return np.asarray(d * np.exp((np.log(squares).sum(axis=-1) - budget) / d))


def optimal_variance(squared_norms: Floats, budget: float | Floats = 0.0) -> Matrix:
    """The sigma_j^2 that reach the bound: inversely proportional to the squared norms.

    Args:
        squared_norms: (..., d) squared lengths of a Jacobian's columns.
        budget: sum of -log variance over latents, which is kept fixed.

    Returns:
        (..., d) variances.

    Example:
        >>> import numpy as np
        >>> import vaescope as vs
        >>> vs.geometry.optimal_variance(np.array([4.0, 1.0])).round(2).tolist()
        [0.5, 2.0]
    """
    squares = np.asarray(squared_norms, dtype=np.float64)
    share = budget_bound(squares, budget) / squares.shape[-1]
    return np.asarray(share[..., None] / squares)


def budget_bound_over_rotations(gram: Floats, budget: float | Floats = 0.0) -> Matrix:
    """Least E||M V eps||^2 over rotations V too: d det(M'M)^(1/d) exp(-C/d).

    >>> m = np.array([[4.0, 1.0], [-3.0, 1.0], [5.0, -1.0]])
    >>> round(float(budget_bound_over_rotations(m.T @ m)), 2)
    23.15

    Args:
        gram: (d, d) J'J of a decoder.
        budget: sum of -log variance over latents, which is kept fixed.

    Returns:
        The least loss.
    """
    g = np.asarray(gram, dtype=np.float64)
    d = g.shape[-1]
    return np.asarray(d * np.exp((np.linalg.slogdet(g)[1] - budget) / d))


@dataclass(frozen=True, eq=False)
class Budget(GeometryMeasure):
    """The value is the noise's cost over the least cost at the same budget: 1 at the optimum."""

    rotation: GeometryMeasure  # least cost over the least cost of any rotation: 1 if orthogonal
    budget_nats: GeometryMeasure  # sum_j -log sigma_j^2
    columns: tuple[int, ...]

    def summary(self) -> str:
        return (
            f"noise costs {self.value:.2f} times the optimum of its budget, and that "
            f"{self.rotation.value:.2f} times the optimum over rotations ({self.n} points, "
            f"{self.space} space)"
        )


def precision_budget_of(grams: Grams, variance: Floats) -> Budget:
    """`precision_budget` of known Gram matrices; `variance` (n, columns) is of the same points.

    Args:
        grams: Gram matrices of Jacobians, from `grams` or `grams_of`.
        variance: (n, latent) posterior variances.

    Returns:
        `Budget`: the value is the noise's cost over the least cost at the same budget: 1 at the
        optimum.

    Raises:
        ShapeError: an array is missing, or has the wrong shape or type.

    Example:
        >>> import numpy as np
        >>> import vaescope as vs
        >>> grams = vs.geometry.grams_of(np.array([[[2.0, 0.5], [0.0, 1.0]]]))
        >>> vs.geometry.precision_budget_of(grams, np.full((1, 2), 0.1)).n
        1
    """
    noise = np.asarray(variance, dtype=np.float64)
    squares = np.diagonal(grams.values, axis1=1, axis2=2)
    if noise.shape != squares.shape or np.any(noise <= 0):
        raise ShapeError(
            f"variance has shape {noise.shape} and least value {noise.min(initial=np.inf):g}; "
            f"wanted positive numbers of shape {squares.shape}.",
            "Give the posterior variances of the same points and latents.",
        )
    full = grams.full_rank
    noise, squares, metric = noise[full], squares[full], grams.values[full]
    spent = -np.log(noise).sum(axis=1)
    best = budget_bound(squares, spent)
    ratio = (noise * squares).sum(axis=1) / best
    rotation = best / budget_bound_over_rotations(metric, spent)
    value = float(ratio.mean()) if len(ratio) else float("nan")
    return Budget(
        value, interval_of_mean(ratio), len(ratio), grams.space, measure_of(rotation, grams.space),
        measure_of(spent, grams.space), grams.columns,
    )  # fmt: skip


def precision_budget(
    decode: Decode,
    mean: Floats | Tensor,
    variance: Floats,
    *,
    space: Space | None = None,
    likelihood: LikelihoodOf | None = None,
    columns: Sequence[int] | Array | None = None,
) -> Budget:
    """Does the encoder spend its precision where the decoder needs it? Use it for active latents:
    if the variance is near the prior's, the simplified rate of the thesis does not hold.

    Args:
        decode: the decoder: a function of a tensor (n, latent).
        mean: (n, latent) posterior means.
        variance: (n, latent) posterior variances.
        space: `output`, `logit` or `likelihood`; None chooses by the likelihood.
        likelihood: turns what `decode` returns into a distribution.
        columns: latents to measure; None takes all.

    Returns:
        `Budget`: the value is the noise's cost over the least cost at the same budget: 1 at the
        optimum.

    Raises:
        RangeError: a value is out of range.
        ShapeError: an array is missing, or has the wrong shape or type.

    Example:
        >>> import numpy as np
        >>> import torch
        >>> import vaescope as vs
        >>> decode = lambda z: torch.tanh(z @ torch.tensor([[2.0, 0.0], [0.0, 1.0], [1.0, 1.0]]).T)
        >>> mean, variance = np.zeros((4, 2), "f4"), np.full((4, 2), 0.1)
        >>> vs.geometry.precision_budget(decode, mean, variance).n
        4
    """
    found = grams(decode, mean, space=space, likelihood=likelihood, columns=columns)
    return precision_budget_of(found, variances_of(variance, mean, found.columns))
