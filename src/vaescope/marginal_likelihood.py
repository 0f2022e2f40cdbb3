"""The marginal log-likelihood log p(x) of a model, by importance weights.

log p(x) = log E_r[p(x|z) p(z) / r(z)] for any density r that covers the posterior. With r = q(z|x)
and few draws that is the bound of Burda et al. 2016, https://arxiv.org/abs/1509.00519; but q may be
a poor r (a beta other than 1, correlated posteriors), so r is a mixture in equal parts of q, of the
prior, of the Gaussian around q's mean whose precision is the prior's plus J'J, and of a Gaussian
with mean and covariance of the posterior as pilot draws see it. The draws of the estimate are
others, so that the mean of their weights is unbiased; its logarithm is low by about half the
squared error. What is left above the ELBO is KL(q(z|x) || p(z|x)), split after zietlow2022 section
7.6 (Reizinger et al. 2022, https://arxiv.org/abs/2206.02416).
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from vaescope.distributions import Bernoulli, Distribution
from vaescope.errors import RangeError, UsageError, VaescopeError
from vaescope.estimates import interval_of_mean
from vaescope.geometry.jacobian import grams
from vaescope.importance_sampling import as_numpy, row_noise, row_weights
from vaescope.importance_weights import LEAST, effective_size, log_mean, tail_limit, tail_shape
from vaescope.models import OpenModel
from vaescope.notebook_card import card_of
from vaescope.opening import open_model
from vaescope.prior_density import GaussianDensity, PriorDensity
from vaescope.priors.mixture import GaussianMixture
from vaescope.types import Floats, Integers, Matrix, Vector

__all__ = [
    "LogLikelihood",
    "log_likelihood",
    "log_likelihood_of",
    "posterior_contrast",
]


#: Share of examples with weights too heavy-tailed from which on the mean is not believed.
DOUBTED = 0.05


@dataclass(frozen=True, eq=False)
class LogLikelihood:
    """Mean over examples of log p(x) in nats, its reliability, and the gap to the ELBO."""

    value: float
    interval: tuple[float, float] | None
    error: float  # standard error due to the draws, by the delta method
    shortfall: float  # expected downward bias of the logarithm of the mean weight
    elbo: float  # ELBO of the same examples
    contrast: float | None  # part of the gap: nats that a diagonal posterior cannot avoid
    undivided: str  # why the gap is not split
    effective: float  # median over examples of the effective number of draws
    heaviest: float  # largest shape of the weights' tail; above 0.7 no mean is reliable
    doubtful: int  # examples with a heavier tail than their number of draws allows
    n: int
    draws: int
    pilot: int  # draws that adapt the proposal
    notes: tuple[str, ...]  # caveats of the estimate
    per_example: Vector  # log p(x) of each example
    gaps: Vector  # log p(x) of each example - ELBO of each
    contrasts: Vector | None = None  # contrast of each example, if the gap is split

    @property
    def gap(self) -> float:
        """log p(x) - ELBO = KL(q(z|x) || p(z|x)), mean."""
        return self.value - self.elbo

    @property
    def rest(self) -> float | None:
        """The gap without the contrast."""
        return None if self.contrast is None else self.gap - self.contrast

    @property
    def believable(self) -> bool:
        """Whether few enough examples have weights with a heavy tail."""
        return self.doubtful <= DOUBTED * self.n

    def summary(self) -> str:
        lines = [
            f"log p(x) is {self.value:.2f} nats per example (Monte Carlo error {self.error:.2g}, "
            f"ELBO {self.elbo:.2f}), over {self.n:,} examples with {self.draws:,} draws each "
            f"(effective sample size {self.effective:.0f})."
        ]
        if not self.believable:
            lines.append(
                f"Do not trust this estimate: for {self.doubtful} of {self.n} examples the "
                f"weights have too heavy a tail (shape up to {self.heaviest:.2f}). Treat it as a "
                "lower bound, and take more draws."
            )
        if self.contrast is not None and self.rest is not None:
            lines.append(
                f"Of the gap of {self.gap:.2f} nats to the ELBO, {self.contrast:.2f} are the "
                "price of a diagonal posterior for a decoder whose axes are not orthogonal (the "
                f"IMA contrast) and {self.rest:.2f} are due to the encoder: its errors, a beta "
                "other than 1, and a true posterior that is not Gaussian."
            )
        else:
            lines.append(
                f"The gap to the ELBO is {self.gap:.2f} nats; it is not split: {self.undivided}."
            )
        return " ".join([*lines, *self.notes])

    def to_dict(self) -> dict[str, Any]:
        return {
            "value": self.value,
            "interval": None if self.interval is None else list(self.interval),
            "error": self.error,
            "shortfall": self.shortfall,
            "elbo": self.elbo,
            "gap": self.gap,
            "contrast": self.contrast,
            "rest": self.rest,
            "undivided": self.undivided,
            "effective": self.effective,
            "heaviest": self.heaviest if np.isfinite(self.heaviest) else None,
            "doubtful": self.doubtful,
            "believable": self.believable,
            "n": self.n,
            "draws": self.draws,
            "pilot": self.pilot,
            "notes": list(self.notes),
            "says": self.summary(),
        }

    _repr_html_ = card_of


def log_likelihood(
    model: Any = None, data: Any = None, *, examples: int = 200, draws: int = 1000,
    pilot: int = 500, seed: int = 0, **reading: Any,
) -> LogLikelihood:  # fmt: skip
    """log p(x) = log E[p(x|z) p(z) / r(z)] of a model on data, and which part of its gap to the
    ELBO is the price of a diagonal posterior.

    This is the likelihood of the generative model p(x|z) p(z), whatever the training objective was.
    The likelihood p(x|z) is the model's own, so numbers of models with different likelihoods cannot
    be compared. Do not trust the value if `believable` is False: a few draws then dominate the
    mean.

    Args:
        model: a run, its folder, or any model that `vs.open_model` opens.
        data: a dataset, its name or path, or an array; None takes the run's own.
        examples: largest number of rows, spread over the data.
        draws: samples of the proposal for each row.
        pilot: further draws that adapt the proposal to the posterior of each row; 0: q(z|x) itself,
            which gives the bound of Burda et al. 2016.
        seed: seed of all random draws.
        reading: further arguments of `vs.open_model`.

    Returns:
        `LogLikelihood`: mean over examples of log p(x) in nats, its reliability, and the gap to
        the ELBO.

    Raises:
        BusyError: another process works on the same run.
        DiskError: a folder cannot be written.
        RangeError: a value is out of range.
        RunError: a folder is not a run, or the run does not fit.
        ShapeError: an array is missing, or has the wrong shape or type.
        UsageError: the model has no density: it cannot decode, its latents are points or maps.

    Example:
        >>> import vaescope as vs
        >>> x = vs.known.signals()
        >>> likelihood = vs.log_likelihood(vs.known.linear_vae(x), x, examples=50)
        >>> likelihood.believable, round(likelihood.gap, 1)  # its posterior is exact
        (True, 0.0)
    """
    opened = open_model(model, data, **reading)
    return log_likelihood_of(opened, examples=examples, draws=draws, pilot=pilot, seed=seed)


def log_likelihood_of(
    model: OpenModel, *, examples: int = 200, draws: int = 1000, pilot: int = 500, seed: int = 0
) -> LogLikelihood:
    """The same of an open model.

    Args:
        model: from `vs.open_model`.
        examples: largest number of rows, spread over the data.
        draws: samples of the proposal for each row.
        pilot: further draws that adapt the proposal; 0: q(z|x) itself.
        seed: seed of all random draws.

    Returns:
        `LogLikelihood`: mean over examples of log p(x) in nats, its reliability, and the gap to
        the ELBO.

    Raises:
        RangeError: fewer than 25 draws, or fewer pilot draws (but 0 is allowed).
        UsageError: the model has no density: it cannot decode, its latents are points or maps.
    """
    codes = model.codes
    if model.undecoded:
        raise UsageError(f"There is no p(x|z): {model.undecoded}.", "Use a model that decodes.")
    if not codes.stochastic or codes.spatial:
        what = "maps" if codes.spatial else "points"
        raise UsageError(
            f"Latents are {what}: q(z|x) has no density to weigh draws with.",
            "Use a model whose posterior is a Gaussian over vectors.",
        )
    prior = model.prior(model.u(model.rows[:1]))
    if isinstance(prior, GaussianMixture) and prior.counted != 1:
        raise UsageError(
            "The prior counts its log-density once per latent (legacy), so it is not a density.",
            "Use a model with prior.legacy=false.",
        )
    if examples < 1 or draws < LEAST or (pilot != 0 and pilot < LEAST):
        raise RangeError(
            f"Got {examples} examples, {draws} draws and {pilot} pilot draws.",
            f"Give at least 1 example and {LEAST} draws; pilot is 0 or at least {LEAST}.",
        )
    places = np.unique(np.linspace(0, codes.n - 1, min(examples, codes.n)).astype(np.int64))
    metrics, unknown = _metrics(model, places)
    precision = _precision(codes.prior, codes.mean.shape)[places]
    whole: Matrix | None = None
    if metrics is not None:  # the Gaussian of least error near the mean (Gauss and Newton's)
        whole = metrics + np.eye(codes.d) * np.maximum(precision, 1e-3)[:, :, None]
    values, elbos, sizes, shapes = (np.empty(len(places)) for _ in range(4))
    with model.evaluating():
        for i, place in enumerate(places.tolist()):
            noise = row_noise(model, place, pilot + draws, seed)
            weights, elbos[i] = row_weights(
                model, place, noise, pilot, None if whole is None else whole[i]
            )
            values[i], sizes[i] = log_mean(weights), effective_size(weights)
            shapes[i] = tail_shape(weights)
    if not np.isfinite(values).all():
        raise UsageError(
            f"log p(x|z) p(z) is not finite at {int((~np.isfinite(values)).sum())} examples.",
            "Check that likelihood and prior cover the data and the codes.",
        )
    squares = np.maximum(1.0 / sizes - 1.0 / draws, 0.0)  # variance of each log of a mean
    undivided = unknown or _undivided(model, places)
    contrasts = None
    if metrics is not None and not undivided:
        contrasts = posterior_contrast(metrics, precision)
    return LogLikelihood(
        float(values.mean()), interval_of_mean(values), float(np.sqrt(squares.sum())) / len(places),
        float(0.5 * squares.mean()), float(elbos.mean()),
        None if contrasts is None else float(contrasts.mean()), undivided, float(np.median(sizes)),
        float(shapes.max()), int((shapes > tail_limit(draws)).sum()), len(places), draws, pilot,
        _notes(model, places), values, values - elbos, contrasts,
    )  # fmt: skip


def posterior_contrast(metric: Floats, precision: Floats) -> Vector:
    """KL from the best diagonal Gaussian to N(., L^-1), L = diag(precision) + metric:
    (sum_j log L_jj - log det L) / 2. Where the metric outweighs the prior's precision it is the IMA
    contrast of the decoder, which zietlow2022 section 7.6 names as the limit of the gap.

    Args:
        metric: (n, d, d) J'J in the likelihood's own space.
        precision: (d,) or (n, d) of the prior.

    Returns:
        (n,) nats.

    Example:
        >>> import numpy as np
        >>> posterior_contrast(np.array([[[1.0, 0.0], [0.0, 3.0]]]), np.ones(2)).round(3)
        array([0.])
    """
    whole = np.asarray(metric, dtype=np.float64).copy()
    d = whole.shape[-1]
    whole[:, np.arange(d), np.arange(d)] += np.asarray(precision, dtype=np.float64)
    diagonal = np.diagonal(whole, axis1=1, axis2=2)
    gap = 0.5 * (np.log(diagonal).sum(axis=1) - np.linalg.slogdet(whole)[1])
    return np.asarray(np.maximum(gap, 0.0))  # Hadamard; rounding may fall just below


def _metrics(model: OpenModel, places: Integers) -> tuple[Matrix | None, str]:
    """J'J of the decoder at posterior means, in the likelihood's own space: (n, d, d); or why it is
    not known."""
    if model.density is not None and model.auxiliary is not None:
        return None, "the decoder takes more than z"
    try:
        with model.evaluating(gradients=True):
            found = grams(model.decoder, model.codes.mean[places], likelihood=model.likelihood)
    except (VaescopeError, RuntimeError, NotImplementedError) as error:
        # Anybody's decoder: what cannot be differentiated is left out, with the reason.
        return None, (str(error) or type(error).__name__).splitlines()[0].rstrip(".")
    if found.space != "likelihood":
        return None, "the likelihood is not known"
    return found.values, ""


def _precision(prior: PriorDensity, shape: tuple[int, ...]) -> Vector:
    """Of the prior, (n, d); 0 where it has no variance."""
    variance = np.broadcast_to(np.asarray(prior.variance, dtype=np.float64), shape)
    return np.where(np.isfinite(variance) & (variance > 0), 1.0 / variance, 0.0)


def _undivided(model: OpenModel, places: Integers) -> str:
    """Why the contrast is not a part of the gap; empty where it is."""
    codes = model.codes
    if codes.covariance is not None:
        return "the posterior is not diagonal"
    if not isinstance(codes.prior, GaussianDensity):
        return f"the prior is {codes.prior.says}, not a Gaussian"
    if model.density is not None and not _same_likelihood(model, places):
        return "the metric of its likelihood is not known"
    return ""


def _same_likelihood(model: OpenModel, places: Integers) -> bool:
    """Whether the likelihood that Jacobians are measured by is that of the model, up to a constant
    of each example: at means of other examples they differ by as much."""
    few = places[:: max(1, len(places) // 8)][:8]
    if len(few) < 2 or model.likelihood is None:
        return False
    z = torch.from_numpy(model.latents(few)).float().to(model.device)
    x = model.x(model.rows[few])[:1].expand(len(z), *model.data.shape)
    ours = as_numpy(model.likelihood(model.decoder(z)).log_prob(x))
    own = as_numpy(model.decode(z, None).log_prob(x))
    return bool(np.ptp(ours - own) <= 0.01 * np.ptp(own) + 1e-3)


def _notes(model: OpenModel, places: Integers) -> tuple[str, ...]:
    """What the number is not."""
    notes = []
    few = places[:4]
    output: Distribution = model.decode(
        torch.from_numpy(model.latents(few)).float().to(model.device), model.u(model.rows[few])
    )
    x = model.x(model.rows[few])
    if isinstance(output, Bernoulli) and bool(((x > 0) & (x < 1)).any()):
        notes.append(
            "Pixels are grey: the Bernoulli likelihood of grey values is a cross-entropy, not a "
            "density, so compare it with models of the same kind only."
        )
    guessed = [one.what for one in model.inferred if one.what == "likelihood" and not one.told]
    if guessed:
        notes.append("The likelihood was inferred: pass likelihood= to be sure of its variance.")
    if model.prior_assumed:
        notes.append("The prior was assumed to be N(0, I).")
    return tuple(notes)
