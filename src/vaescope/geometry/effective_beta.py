"""The weight of the rate that a finished model obeys, read from its checkpoint alone.

At a minimum of distortion + beta * rate the derivative in log sigma_j vanishes for every latent j:

    E_q[(z_j - m_j) d/dz_j (-log p(x|z))] = beta * (1 + E_q[(z_j - m_j) d/dz_j log p(z)]),

summed over the rows; exact for any prior and likelihood, if the head of log sigma has a bias. For
a Gaussian prior of variance s the bracket is 1 - v/s. Beta and the variance of the pixels cannot
be told apart: a model of pixel variance c and weight 1 is one of variance 1 and weight c. Two
further laws of `stationarity` check it: that of posterior means, and the Fisher form.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from vaescope.codes import own_widths
from vaescope.errors import RangeError
from vaescope.estimates import percentiles
from vaescope.geometry.latent_margins import LatentMargins, margins_of
from vaescope.geometry.stationarity import Slopes, slopes_of
from vaescope.latents.types import types
from vaescope.models import OpenModel
from vaescope.notebook_card import card_of
from vaescope.objectives.terms import Pull
from vaescope.opening import open_model
from vaescope.seeds import rng
from vaescope.types import Matrix, Vector
from vaescope.wording import listed

__all__ = [
    "EffectiveBeta",
    "NominalBeta",
    "check_nominal",
    "effective_beta",
    "effective_beta_of",
    "unreadable",
]


#: Spread over latents (standard deviation over mean, without noise) up to which one weight explains
#: a model. First measurements on models of others: 0.05 to 0.08 where it is so, 0.16 to 0.37 under
#: a penalty on total correlation.
ONE_WEIGHT = 0.12
#: A latent whose bracket is below this share obeys the law only through noise.
LEAST_BRACKET = 0.05
#: A latent whose bracket is below this is wider than the prior, which no weight of a rate makes.
WIDER = -0.1
#: Widths that differ by no more than rounding, over rows and latents, were never trained.
SAME_WIDTH = 1e-5
#: Rows below which the noise of a latent's weight is not known either.
LEAST_ROWS = 50
RESAMPLES = 1000
#: Ratios of the weight found to the one written that a reduction of the loss would explain.
NEAR = 1.25
#: Posterior means obey the same weight as widths within this factor, or training has not converged.
#: They follow the data's last steps, so that at a constant step size they move by tens of percent.
SETTLED = 2.0
#: The Fisher form leaves out residuals times curvature: 11% at most in the first measurements.
SAME_FORM = 1.5


@dataclass(frozen=True)
class NominalBeta:
    """The beta that the user wrote, beside the effective one."""

    beta: float
    ratio: float  # effective over nominal
    reductions: tuple[str, ...]  # of the loss that would explain it

    def summary(self) -> str:
        times = f"That is {self.ratio:.3g} times the nominal beta of {self.beta:g}"
        if self.reductions:
            return f"{times}: {' or '.join(self.reductions)}."
        return (
            f"{times}, which no usual reduction (means or sums over pixels and latents) explains."
        )

    def to_dict(self) -> dict[str, Any]:
        return {
            "beta": self.beta, "ratio": self.ratio, "reductions": list(self.reductions),
            "says": self.summary(),
        }  # fmt: skip


@dataclass(frozen=True)
class EffectiveBeta:
    """The weight, its 95% interval over rows and latents, and the same for each latent."""

    value: float | None  # None if it cannot be estimated; `reason` says why
    interval: tuple[float, float] | None
    per_latent: dict[int, float]  # estimate from each latent that allows one
    spread: float | None  # coefficient of variation over latents, corrected for noise
    single_weight: bool | None  # None if undecided, e.g. with fewer than two latents
    reason: str  # interpretation, or why there is no value
    pixel_variance_ratio: float | None = None  # implied pixel variance over the mean squared error
    nominal: NominalBeta | None = None  # what explains its ratio to the beta of the code
    fisher: float | None = None  # the weight estimated by the decoder's Fisher metric
    of_means: tuple[float, float] | None = None  # 95% interval of the weight by posterior means
    margins: LatentMargins | None = None  # how the used latents would change at other weights
    n: int = 0
    values: int = 0  # number of values of an example
    latents: int = 0

    def against(self, nominal: float | None) -> "EffectiveBeta":
        """The same beside the beta in the training code; None leaves it as it is."""
        check_nominal(nominal)
        if nominal is None or self.value is None:
            return self
        ratio = self.value / nominal
        reductions = {
            "sums over pixels and latents": 1.0,
            f"a mean over the {self.values} pixels and a sum over latents": self.values,
            f"a sum over pixels and a mean over the {self.latents} latents": 1.0 / self.latents,
            "means over pixels and latents": self.values / self.latents,
        }
        fits = tuple(name for name, r in reductions.items() if 1 / NEAR < ratio / r < NEAR)
        return replace(self, nominal=NominalBeta(nominal, ratio, fits))

    def summary(self) -> str:
        if self.value is None or self.interval is None:
            return f"The effective beta cannot be measured: {self.reason}."
        low, high = self.interval
        lines = [f"The effective beta is {self.value:.3g} ({low:.3g} to {high:.3g}). {self.reason}"]
        if self.pixel_variance_ratio is not None:
            lines.append(
                "The variance of a value that this implies is "
                f"{self.pixel_variance_ratio:.2g} times the mean squared error (1: sigma-VAE)."
            )
        if self.margins is not None and self.margins.collapse:
            lines.append(self.margins.summary())
        if self.nominal is not None:
            lines.append(self.nominal.summary())
        return " ".join(lines)

    _repr_html_ = card_of

    def to_dict(self) -> dict[str, Any]:
        return {
            "value": self.value,
            "interval": None if self.interval is None else list(self.interval),
            "per_latent": {str(j): value for j, value in self.per_latent.items()},
            "spread": self.spread,
            "single_weight": self.single_weight,
            "reason": self.reason,
            "pixel_variance_ratio": self.pixel_variance_ratio,
            "nominal": None if self.nominal is None else self.nominal.to_dict(),
            "fisher": self.fisher,
            "of_means": None if self.of_means is None else list(self.of_means),
            "margins": None if self.margins is None else self.margins.to_dict(),
            "n": self.n,
        }


def check_nominal(nominal: float | None) -> None:
    """Raises where it is no weight that a rate could have."""
    if nominal is not None and not 0 < nominal < float("inf"):
        raise RangeError(
            f"The nominal beta is {nominal:g}; wanted a positive number.",
            "Give the weight of the rate as the training code has it.",
        )


def effective_beta(
    model: Any, data: Any = None, *, nominal: float | None = None, rows: int = 500, draws: int = 8,
    **reading: Any,
) -> EffectiveBeta:  # fmt: skip
    """The weight of the rate with which `model` was trained, estimated on `data`.

    `nominal` is the beta in the training code: the result names the reductions (means instead of
    sums over pixels or latents) that would explain a difference. Trust it for converged models,
    on the data that they were trained on.

    Args:
        model: a run, its folder, or any model that `vs.open_model` opens.
        data: a dataset, its name or path, or an array; None takes the run's own.
        nominal: the beta in the training code, to compare with.
        rows: largest number of rows.
        draws: number of samples for each row.
        reading: further arguments of `vs.open_model`.

    Returns:
        `EffectiveBeta`: the weight, its 95% interval over rows and latents, and the same for each
        latent.

    Raises:
        BusyError: another process works on the same run.
        DiskError: a folder cannot be written.
        RangeError: a value is out of range.
        RunError: a folder is not a run, or the run does not fit.
        ShapeError: an array is missing, or has the wrong shape or type.
        UsageError: a name or value is not known; the message lists those that are.

    Example:
        >>> import vaescope as vs
        >>> x = vs.known.signals()
        >>> model = vs.known.linear_vae(x)
        >>> round(vs.effective_beta(model, x).value, 1)
        1.0
    """
    check_nominal(nominal)
    found = effective_beta_of(open_model(model, data, **reading), rows=rows, draws=draws)
    return found.against(nominal)


def effective_beta_of(model: OpenModel, *, rows: int = 500, draws: int = 8) -> EffectiveBeta:
    """The same of an open model, at `rows` rows and `draws` antithetic pairs of noise."""
    codes = model.codes
    if codes.covariance is not None or not codes.stochastic:
        return unreadable("it needs a diagonal posterior with noise")
    if model.maps is not None:
        return unreadable("its latents are maps")
    if codes.n < LEAST_ROWS:
        return unreadable(f"it needs at least {LEAST_ROWS} rows; there are {codes.n}")
    kinds = types(codes)
    used = sorted({*kinds.active.tolist(), *kinds.mixed.tolist()})
    if not used:
        return unreadable(
            "no latent is used: an untrained model has no effective weight yet, and a collapsed "
            "model is consistent with any larger beta"
        )
    if codes.d > 1 and np.ptp(codes.variance) <= SAME_WIDTH * float(np.max(codes.variance)):
        return unreadable(
            "all posteriors of all latents have the same width, so the width was fixed and not "
            "trained"
        )
    if not own_widths(codes):
        return unreadable(
            "all latents of an example have the same width, so the law for single latents does "
            "not hold"
        )
    places = np.unique(np.linspace(0, codes.n - 1, min(rows, codes.n)).astype(np.int64))
    slopes = slopes_of(model, places, draws)
    law = None if model.objective is None else model.objective.pull(model.experiment.steps)
    if law is not None and law.weight is not None and law.factor is not None:
        # The prior weighs weight / factor: an entropy-regularised VAE is the beta-VAE of the same
        # weight with its latents scaled up (mathieu2019 Corollary 2).
        slopes = slopes.with_prior(1.0 / law.factor)
    brackets = slopes.bracket.mean(0)
    wider = np.flatnonzero(brackets < WIDER).tolist()
    if wider:
        return unreadable(
            f"latent{'' if len(wider) == 1 else 's'} {listed(wider)} "
            f"{'is' if len(wider) == 1 else 'are'} wider than the prior, which no weight of the "
            "rate explains; an entropy bonus, another prior or a training that has only just "
            "begun would"
        )
    read = [j for j in used if brackets[j] > LEAST_BRACKET]
    if not read:
        return unreadable("every used latent is nearly as wide as the prior")
    slopes = slopes.of(read)
    pull, bracket, each = slopes.pull, slopes.bracket, slopes.by_widths()
    if not np.all(np.isfinite(each)) or float(pull.sum()) <= 0:
        return unreadable("noise costs this model no distortion, so training has not converged")
    value = float(pull.sum() / bracket.sum())
    interval, noise = _resampled(pull, bracket)
    spread = single = None
    if len(read) > 1:
        variance_of_noise = float((noise**2).mean())
        between = max(float(each.var(ddof=1)) - variance_of_noise, 0.0)
        spread = float(np.sqrt(between) / each.mean())
        blurred = np.sqrt(variance_of_noise) > ONE_WEIGHT * each.mean()
        unsure = blurred or _at_most(spread, len(read) - 1) > ONE_WEIGHT
        single = False if spread > ONE_WEIGHT else None if unsure else True
    of_means = _of_means(slopes)
    if (
        single is not False
        and of_means is not None
        and not (of_means[0] < SETTLED * value and of_means[1] > value / SETTLED)
    ):
        return unreadable(
            f"widths of posteriors follow from a weight of {value:.3g}, their means from one of "
            f"{of_means[0]:.3g} to {of_means[1]:.3g}: training has not converged, another term of "
            "the loss acts on one of them, or these are not the data of the training"
        )
    variance, squared = slopes.variance, slopes.squared
    ratio = None if variance is None or squared <= 0 else value * variance / squared
    meaning = _meaning(single, spread, each)
    fisher = None if slopes.metric is None else float(slopes.metric.sum() / bracket.sum())
    if fisher is not None and not 1 / SAME_FORM < fisher / value < SAME_FORM:
        single = False if single is False else None
        meaning += (
            f" The Fisher form gives {fisher:.3g}: residuals contribute as much curvature to "
            "the loss as the decoder does, which happens before training has converged or on "
            "other data, so do not rely on either number."
        )
    if law is not None:
        single, meaning = _under_objective(law, value, single, meaning)
    margins = None
    if single is not False:
        margins = margins_of(model, value, {j: float(brackets[j]) for j in read}, used)
    return EffectiveBeta(
        value, interval, dict(zip(read, map(float, each), strict=True)), spread, single, meaning,
        ratio, fisher=fisher, of_means=of_means, margins=margins, n=len(places),
        values=int(np.prod(model.data.shape)), latents=codes.d,
    )  # fmt: skip


def _under_objective(
    law: Pull, value: float, single: bool | None, meaning: str
) -> tuple[bool | None, str]:
    """Whether one weight explains the model and what the value means, where the objective is known:
    its own words go before what the widths show."""
    if law.weight is None and law.factor is not None:
        return False, f"The objective has no single weight: {law.no_weight}."
    if law.weight is None:
        return None, (
            f"The objective has no weight of the rate ({law.no_weight}); this is the weight of "
            "the beta-VAE that would have these posteriors."
        )
    if not 1 / NEAR < value / law.weight < NEAR:
        return False, (
            f"The objective weighs the rate with {law.weight:g}: its other terms act on the "
            "widths of posteriors too, or training has not converged."
        )
    return single, meaning


def unreadable(reason: str) -> EffectiveBeta:
    """What is said where no weight can be read."""
    return EffectiveBeta(None, None, {}, None, None, reason)


def _of_means(slopes: Slopes) -> tuple[float, float] | None:
    """The 95% interval over rows of the weight that posterior means obey, all latents together.

    Each counts by its posterior variance, since noise of its slopes goes with the inverse.
    """
    centred = slopes.mean - slopes.mean.mean(0)
    wide = np.maximum(1.0 - slopes.bracket.mean(0), 0.0)
    above, below = (centred * slopes.drive) @ wide, (centred * slopes.slope) @ wide
    if not below.sum() < 0:
        return None
    rows = rng(0, "effective-beta-means").integers(len(above), size=(RESAMPLES, len(above)))
    return percentiles(above[rows].sum(1) / below[rows].sum(1))


def _at_most(spread: float, freedom: int) -> float:
    """The 90% upper bound of a standard deviation that was found with so many degrees of freedom:
    two latents that agree by chance are no evidence of one weight."""
    from scipy.special import chdtri  # here: it is slow to import

    return spread * float(np.sqrt(freedom / chdtri(freedom, 0.9)))


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
        return (
            "Only one latent could be used, so this does not show whether one weight explains all."
        )
    if single is None:
        return (
            "Because of noise or too few latents, it remains open whether one weight explains "
            "the model."
        )
    if single:
        return f"One weight explains the model: beyond noise, latents differ by {spread:.0%}."
    return (
        "No single weight explains the model: estimates from single latents range from "
        f"{each.min():.3g} to "
        f"{each.max():.3g}. That is usual for penalties on total correlation or capacity, before "
        "training has converged, and on data other than the training data."
    )
