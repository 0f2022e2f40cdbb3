"""The weight of the rate that a finished model obeys, read from its checkpoint alone.

At a minimum of distortion + beta * rate the derivative in log sigma_j vanishes for every latent j:

    E_q[(z_j - m_j) d/dz_j (-log p(x|z))] = beta * (1 + E_q[(z_j - m_j) d/dz_j log p(z)]),

summed over the rows; exact for any prior and likelihood, if the head of log sigma has a bias. For
a Gaussian prior of variance s the bracket is 1 - v/s. Beta and the variance of the pixels cannot
be told apart: a model of pixel variance c and weight 1 is one of variance 1 and weight c.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vaescope.distributions import DiagonalGaussian, Distribution
from vaescope.estimates import percentiles
from vaescope.latents.types import types
from vaescope.models import OpenModel
from vaescope.notebook_card import card_of
from vaescope.opening import open_model
from vaescope.seeds import rng
from vaescope.types import Integers

__all__ = ["EffectiveBeta", "effective_beta", "effective_beta_of", "unreadable"]

Vector = NDArray[np.float64]
Matrix = NDArray[np.float64]

#: Spread over latents (standard deviation over mean, without noise) up to which one weight explains
#: a model. First measurements on models of others: 0.05 to 0.08 where it is so, 0.16 to 0.37 under
#: a penalty on total correlation.
ONE_WEIGHT = 0.12
#: A latent whose bracket is below this share obeys the law only through noise.
LEAST_BRACKET = 0.05
RESAMPLES = 1000
#: Ratios of the weight found to the one written that a reduction of the loss would explain.
NEAR = 1.25


@dataclass(frozen=True)
class EffectiveBeta:
    """The weight, its 95% interval over rows and latents, and the same for each latent."""

    value: float | None  # None where it is not readable, with the reason
    interval: tuple[float, float] | None
    per_latent: dict[int, float]  # of the latents that were read
    spread: float | None  # standard deviation over mean of these, without their noise
    single_weight: bool | None  # None where fewer than two latents can tell
    reason: str  # what this means, or why there is no value
    pixel_variance_ratio: float | None = None  # implied pixel variance over the mean squared error
    nominal: str = ""  # how it compares with the beta that the user wrote
    n: int = 0

    def summary(self) -> str:
        if self.value is None or self.interval is None:
            return f"The effective beta cannot be measured: {self.reason}."
        low, high = self.interval
        lines = [
            f"The model acts with beta {self.value:.3g} ({low:.3g} to {high:.3g}). {self.reason}"
        ]
        if self.pixel_variance_ratio is not None:
            lines.append(
                "The variance of a value that this implies is "
                f"{self.pixel_variance_ratio:.2g} times the mean squared error (1: sigma-VAE)."
            )
        return " ".join([*lines, self.nominal]).strip()

    def _repr_html_(self) -> str:
        return card_of(self)

    def to_dict(self) -> dict[str, Any]:
        return {
            "value": self.value,
            "interval": None if self.interval is None else list(self.interval),
            "per_latent": {str(j): value for j, value in self.per_latent.items()},
            "spread": self.spread,
            "single_weight": self.single_weight,
            "reason": self.reason,
            "pixel_variance_ratio": self.pixel_variance_ratio,
            "n": self.n,
        }


def effective_beta(
    model: Any, data: Any = None, *, nominal: float | None = None, rows: int = 500, draws: int = 8,
    **reading: Any,
) -> EffectiveBeta:  # fmt: skip
    """The weight of the rate that `model` obeys on `data`; arguments as for `vs.open_model`.

    `nominal` is the beta in the training code: the result names the reductions (means instead of
    sums over pixels or latents) that would explain a difference. Believe it for models at rest,
    on the data that they were trained on.
    """
    return effective_beta_of(
        open_model(model, data, **reading), nominal=nominal, rows=rows, draws=draws
    )


def effective_beta_of(
    model: OpenModel, *, nominal: float | None = None, rows: int = 500, draws: int = 8
) -> EffectiveBeta:
    """The same of an open model, at `rows` rows and `draws` antithetic pairs of noise."""
    codes = model.codes
    if codes.covariance is not None or not codes.stochastic:
        return unreadable("it needs a diagonal posterior with noise")
    if model.maps is not None:
        return unreadable("its latents are maps")
    kinds = types(codes)
    used = sorted({*kinds.active.tolist(), *kinds.mixed.tolist()})
    if not used:
        return unreadable("no latent is used, and a collapsed model agrees with any larger beta")
    places = np.unique(np.linspace(0, codes.n - 1, min(rows, codes.n)).astype(np.int64))
    pull, bracket, squared, pixels = _sums(model, places, draws)
    read = [j for j in used if bracket[:, j].mean() > LEAST_BRACKET]
    if not read:
        return unreadable("every used latent is nearly as wide as the prior")
    pull, bracket = pull[:, read], bracket[:, read]
    each = pull.sum(0) / bracket.sum(0)
    if not np.all(np.isfinite(each)) or float(pull.sum()) <= 0:
        return unreadable("noise costs this model no distortion, so training has not settled")
    value = float(pull.sum() / bracket.sum())
    interval, noise = _resampled(pull, bracket)
    spread = single = None
    if len(read) > 1:
        variance_of_noise = float((noise**2).mean())
        between = max(float(each.var(ddof=1)) - variance_of_noise, 0.0)
        spread = float(np.sqrt(between) / each.mean())
        blurred = np.sqrt(variance_of_noise) > ONE_WEIGHT * each.mean()
        single = False if spread > ONE_WEIGHT else None if blurred else True
    ratio = None if pixels is None or squared <= 0 else value * pixels / squared
    return EffectiveBeta(
        value, interval, dict(zip(read, map(float, each), strict=True)), spread, single,
        _meaning(single, spread, each), ratio, _against(nominal, value, model), len(places),
    )  # fmt: skip


def unreadable(reason: str) -> EffectiveBeta:
    """What is said where no weight can be read."""
    return EffectiveBeta(None, None, {}, None, None, reason)


def _sums(
    model: OpenModel, places: Integers, draws: int, *, batch: int = 128
) -> tuple[Matrix, Matrix, float, float | None]:
    """Of each row and latent the pull of the distortion on log sigma and the bracket; then the
    squared error per number, and the variance of a Gaussian likelihood with one."""
    pulls, brackets, squared = [], [], []
    variance: float | None = None
    noise = rng(0, "effective-beta").standard_normal((draws, len(places), model.codes.d))
    with model.evaluating(gradients=True):
        for start in range(0, len(places), batch):
            some = places[start : start + batch]
            rows = model.rows[some]
            x, u = model.x(rows), model.u(rows)
            q = model.posterior(some)
            pull, bracket = torch.zeros_like(q.mean), torch.ones_like(q.mean)
            for eps in noise[:, start : start + batch]:
                for sign in (1.0, -1.0):
                    at = torch.from_numpy(sign * eps).to(q.mean)
                    z = q.at(at).detach().requires_grad_(True)
                    moved = z.detach() - q.mean
                    decoded = model.decode(z, u)
                    pull += moved * _slope(-decoded.log_prob(x), z) / (2 * draws)
                    bracket += moved * _slope(model.prior(u).log_prob(z), z) / (2 * draws)
            with torch.no_grad():
                centre = model.decode(q.mean, u)
                variance = _variance(centre)
                if variance is not None:
                    squared.append(float((centre.mean - x).square().mean()) * len(some))
            pulls.append(pull.detach())
            brackets.append(bracket.detach())
    return (
        torch.cat(pulls).double().cpu().numpy(), torch.cat(brackets).double().cpu().numpy(),
        sum(squared) / len(places), variance,
    )  # fmt: skip


def _slope(value: Tensor, z: Tensor) -> Tensor:
    return torch.autograd.grad(value.sum(), z)[0]


def _variance(decoded: Distribution) -> float | None:
    """That of a Gaussian likelihood that has one for all pixels."""
    if not isinstance(decoded, DiagonalGaussian):
        return None
    variance = decoded.variance
    if float(variance.max() - variance.min()) > 1e-6 * float(variance.max()):
        return None
    return float(variance.flatten()[0])


def _resampled(pull: Matrix, bracket: Matrix) -> tuple[tuple[float, float], Vector]:
    """The 95% interval over rows and latents, and each latent's standard error over rows."""
    n, d = pull.shape
    generator = rng(0, "effective-beta-interval")
    values, singles = np.empty(RESAMPLES), np.empty((RESAMPLES, d))
    for i in range(RESAMPLES):
        rows = generator.integers(n, size=n)
        above, below = pull[rows].sum(0), bracket[rows].sum(0)
        singles[i] = above / below
        latents = generator.integers(d, size=d)
        values[i] = above[latents].sum() / below[latents].sum()
    return percentiles(values), singles.std(axis=0)


def _meaning(single: bool | None, spread: float | None, each: Vector) -> str:
    if spread is None:
        return "Only one latent was read, so this does not show whether one weight explains all."
    if single is None:
        return "The noise is too large to tell whether one weight explains all latents."
    if single:
        return f"One weight explains the model: beyond noise, latents differ by {spread:.0%}."
    return (
        f"No single weight explains the model: latents act with {each.min():.3g} to "
        f"{each.max():.3g}. That is usual for penalties on total correlation or capacity, and "
        "before training has settled."
    )


def _against(nominal: float | None, value: float, model: OpenModel) -> str:
    if nominal is None:
        return ""
    if nominal <= 0:
        return f"The nominal beta is {nominal:g}, so there is no ratio to it."
    pixels, latents = float(np.prod(model.data.shape)), float(model.codes.d)
    reductions = {
        "sums over pixels and latents": 1.0,
        f"a mean over the {pixels:.0f} pixels and a sum over latents": pixels,
        f"a sum over pixels and a mean over the {latents:.0f} latents": 1.0 / latents,
        "means over pixels and latents": pixels / latents,
    }
    ratio = value / nominal
    fits = [name for name, r in reductions.items() if 1 / NEAR < ratio / r < NEAR]
    if fits:
        return f"That is {ratio:.3g} times the nominal beta of {nominal:g}: {' or '.join(fits)}."
    return (
        f"That is {ratio:.3g} times the nominal beta of {nominal:g}, which no usual reduction "
        "(means or sums over pixels and latents) explains."
    )
