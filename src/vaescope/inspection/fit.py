"""How well a model fits: distortion, rate, and its log-likelihood by importance weights."""

import numpy as np

from vaescope.importance_sampling import importance_bounds
from vaescope.inspection.effort import Effort
from vaescope.inspection.results import Fit
from vaescope.marginal_likelihood import LogLikelihood
from vaescope.models import OpenModel
from vaescope.types import Integers

__all__ = ["fit_of"]


def fit_of(model: OpenModel, effort: Effort, likelihood: LogLikelihood | None) -> Fit | None:
    """Distortion at one sample of the posterior each and at its mean; the rate in closed form, or
    at the same sample where there is none; `likelihood` where it is known, else its bound. None for
    points and maps."""
    codes = model.codes
    if not codes.stochastic or codes.spatial:
        return None
    few = _spaced(np.arange(codes.n), effort.decoded)
    noise = model.noise(few)
    distortion, rate = model.distortion(few, noise), model.rate(few, noise)
    at_means = model.distortion(few, np.zeros_like(noise))
    if likelihood is None:
        weighted = _spaced(few, min(effort.weighted, 100))
        bounds, draws = importance_bounds(model, weighted, draws=effort.draws), effort.draws
    else:
        bounds, draws = likelihood.per_example, likelihood.draws
    return Fit(
        float(distortion.mean()), float(distortion.std()), float(rate.mean()), float(rate.std()),
        len(few), float(np.mean(bounds)), len(bounds), draws, float(at_means.mean()),
    )  # fmt: skip


def _spaced(places: Integers, most: int) -> Integers:
    chosen = np.linspace(0, len(places) - 1, min(most, len(places))).astype(np.int64)
    return np.asarray(places[chosen])
