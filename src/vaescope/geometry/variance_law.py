"""Posterior variance against the length of the decoder's column. bhowal2024 Theorem 1(c).

The theorem's sigma_j^2 ~ 1 / ||c_j||^2 is the limit of what a diagonal Gaussian posterior has at
its optimum (zietlow2022 chapter 3; grzes2023 eq. 11 for the diagonal family): with G the decoder's
Fisher metric sigma_j^2 = 1 / (1 / s_j + G_jj / weight), s_j the variance of a latent that ignores x
and weight that of the rate (`vaescope.objectives.Pull` derives it). Under the ELBO s_j is the
prior's variance; under mathieu2019's entropy objective both s_j and weight have the factor beta.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from torch import Tensor

from vaescope.errors import ShapeError
from vaescope.estimates import Interval
from vaescope.geometry.jacobian import Grams, grams
from vaescope.geometry.reader import variances_of
from vaescope.geometry.result import GeometryMeasure
from vaescope.geometry.space import Decode, LikelihoodOf, Space
from vaescope.seeds import rng
from vaescope.types import Array, Floats, Matrix

__all__ = ["VarianceLaw", "predicted_variance", "variance_law", "variance_law_of"]


@dataclass(frozen=True, eq=False)
class VarianceLaw(GeometryMeasure):
    """The value is the slope of log variance on log G_jj over points and latents: -1 by the
    theorem, flatter where latents are near the prior. NaN if there is no slope."""

    ratio: float | None  # geometric mean of variance over the law's prediction: 1 if it holds
    law_slope: float | None  # of log variance on log prediction: 1 if it holds
    variance: Matrix  # (columns,) geometric means of posterior variances
    metric: Matrix  # (columns,) geometric means of G_jj
    predicted: Matrix | None  # (columns,)
    columns: tuple[int, ...]
    reason: str = ""  # why the law was not tested

    def summary(self) -> str:
        law = f"; the law is not tested: {self.reason}" if self.reason else ""
        if self.ratio is not None:
            law = f"; variance is {self.ratio:.2f} of the law's"
        between = "" if self.interval is None else " ({:.2f} to {:.2f})".format(*self.interval)
        return (
            f"slope of log variance on log G_jj {self.value:.2f}{between} over {self.n} points and "
            f"{len(self.columns)} latents in {self.space} space{law}"
        )


def predicted_variance(
    metric: Floats, *, weight: float, prior_variance: float | Floats = 1.0
) -> Matrix:
    """1 / (1 / s + G_jj / weight).

    >>> float(predicted_variance(np.array(9.0), weight=1.0))
    0.1

    Args:
        metric: (n, d) diagonal of the decoder's Fisher metric.
        weight: weight of the rate in the objective; None if it is not known.
        prior_variance: variance of the prior, one number or one per latent.

    Returns:
        (n, d) variances.
    """
    return np.asarray(1.0 / (1.0 / np.asarray(prior_variance) + np.asarray(metric) / weight))


def _slopes(x: Matrix, y: Matrix, weights: Matrix) -> Matrix:
    """Least-squares slopes of y on x, shape (points, columns), for each row of point weights."""
    total = weights.sum(axis=1) * x.shape[1]
    mean_x, mean_y = weights @ x.sum(axis=1) / total, weights @ y.sum(axis=1) / total
    covariance = weights @ (x * y).sum(axis=1) / total - mean_x * mean_y
    variance = weights @ (x * x).sum(axis=1) / total - mean_x**2
    known = variance > 1e-12
    slopes = np.full(len(weights), np.nan)
    return np.asarray(np.divide(covariance, variance, out=slopes, where=known))


def _slope(x: Matrix, y: Matrix) -> tuple[float, Interval | None]:
    n = len(x)
    if not n:
        return math.nan, None
    x, y = x - x.mean(), y - y.mean()
    value = float(_slopes(x, y, np.ones((1, n)))[0])
    if n < 2 or not np.isfinite(value):
        return value, None
    counts = rng(0, "variance-law", n).multinomial(n, np.full(n, 1.0 / n), size=1000)
    low, high = np.nanquantile(_slopes(x, y, counts.astype(np.float64)), (0.025, 0.975))
    return value, (min(float(low), value), max(float(high), value))


def _typical(logs: Matrix) -> Matrix:
    """Geometric means of the columns; NaN where there are no rows."""
    means = logs.mean(axis=0) if len(logs) else np.full(logs.shape[1], np.nan)
    return np.asarray(np.exp(means))


def variance_law_of(
    grams: Grams,
    variance: Floats,
    *,
    weight: float | None = None,
    reason: str = "the weight of the rate is not known",
    prior_variance: float | Floats = 1.0,
) -> VarianceLaw:
    """`variance_law` of known Gram matrices; `variance` (n, columns) belongs to the same points.

    The law itself is tested only in the likelihood's own space and if `weight` is known; otherwise
    `reason` says why it is not. `prior_variance`, that of a latent that ignores x, is a number
    or of shape (columns,) or (n, columns); if it is NaN, the law is not tested.

    Args:
        grams: Gram matrices of Jacobians, from `grams` or `grams_of`.
        variance: (n, latent) posterior variances.
        weight: weight of the rate in the objective; None if it is not known.
        reason: why the weight is not known.
        prior_variance: variance of the prior, one number or one per latent.

    Returns:
        `VarianceLaw`: the value is the slope of log variance on log G_jj over points and latents:
        -1 by the theorem, flatter where latents are near the prior.

    Raises:
        ShapeError: an array is missing, or has the wrong shape or type.

    Example:
        >>> import numpy as np
        >>> import vaescope as vs
        >>> grams = vs.geometry.grams_of(np.array([[[2.0, 0.5], [0.0, 1.0]]]))
        >>> vs.geometry.variance_law_of(grams, np.full((1, 2), 0.1), weight=1.0).n
        1
    """
    metric = np.diagonal(grams.values, axis1=1, axis2=2)
    measured = np.asarray(variance, dtype=np.float64)
    if measured.shape != metric.shape:
        raise ShapeError(
            f"variance has shape {measured.shape}; wanted {metric.shape}, points and columns.",
            "Give the variances of the same points and latents.",
        )
    if np.any(measured <= 0):
        raise ShapeError(
            "A posterior variance is 0, so the posterior is a point without noise.",
            "The law is about stochastic encoders; leave it out for autoencoders.",
        )
    usable = np.all(metric > 0, axis=1)
    metric, measured = metric[usable], measured[usable]
    x, y = np.log(metric), np.log(measured)
    value, interval = _slope(x, y)
    ratio, law_slope, predicted = None, None, None
    prior = np.asarray(prior_variance, dtype=np.float64)
    prior = np.broadcast_to(prior, (*usable.shape, len(grams.columns)))[usable]
    if weight is not None and weight <= 0.0:
        weight, reason = None, f"the weight of the rate is {weight:g}"
    if weight is not None and not np.isfinite(prior).all():
        weight, reason = None, "what a latent that ignores x becomes is not known"
    if grams.space != "likelihood":
        weight, reason = None, f"it is a law of likelihood space, not of {grams.space} space"
    if weight is not None and len(x):
        reason = ""
        expected = predicted_variance(metric, weight=weight, prior_variance=prior)
        ratio = float(np.exp((y - np.log(expected)).mean()))
        law_slope = _slope(np.log(expected), y)[0]
        predicted = _typical(np.log(expected))
    return VarianceLaw(
        value, interval, len(x), grams.space, ratio, law_slope, _typical(y), _typical(x), predicted,
        grams.columns, reason,
    )  # fmt: skip


def variance_law(
    decode: Decode,
    mean: Floats | Tensor,
    variance: Floats,
    *,
    weight: float | None = None,
    reason: str = "the weight of the rate is not known",
    prior_variance: float | Floats = 1.0,
    space: Space | None = None,
    likelihood: LikelihoodOf | None = None,
    columns: Sequence[int] | Array | None = None,
) -> VarianceLaw:
    """Does the encoder's variance follow the decoder's columns?

    Args:
        decode: the decoder: a function of a tensor (n, latent).
        mean: (n, latent) posterior means.
        variance: (n, latent) posterior variances.
        weight: weight of the rate in training (`Objective.rate_weight`); None if it is not known.
        reason: why the weight is not known.
        prior_variance: variance of the prior: a number, (latent,) or (n, latent).
        space: `output`, `logit` or `likelihood`; None chooses by the likelihood.
        likelihood: turns what `decode` returns into a distribution.
        columns: latents to measure; None takes all.

    Returns:
        `VarianceLaw`: the value is the slope of log variance on log G_jj over points and latents:
        -1 by the theorem, flatter where latents are near the prior.

    Raises:
        RangeError: a value is out of range.
        ShapeError: an array is missing, or has the wrong shape or type.

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> x = vs.known.signals()
        >>> model = vs.known.linear_vae(x, latent=3)
        >>> codes = vs.encode(model, x)
        >>> noise = torch.full((8,), 0.09).log()
        >>> decode = lambda z: vs.distributions.DiagonalGaussian(model.decode(z).mean, noise)
        >>> rest = {"weight": 1.0, "space": "likelihood"}
        >>> law = vs.geometry.variance_law(decode, codes.mean, codes.variance, **rest)
        >>> round(law.ratio, 3)
        1.0
    """
    found = grams(decode, mean, space=space, likelihood=likelihood, columns=columns)
    chosen = list(found.columns)
    noise = variances_of(variance, mean, chosen)
    prior = np.asarray(prior_variance)
    return variance_law_of(
        found,
        noise,
        weight=weight,
        reason=reason,
        prior_variance=prior[..., chosen] if prior.ndim else float(prior),
    )
