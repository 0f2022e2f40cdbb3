"""How well a model fits: distortion, rate, and its log-likelihood by importance weights."""

import math

import numpy as np
import torch

from vaescope.inspection.effort import Effort
from vaescope.inspection.results import Fit
from vaescope.models import OpenModel
from vaescope.seeds import derive
from vaescope.types import Integers

__all__ = ["fit_of"]


def fit_of(model: OpenModel, effort: Effort) -> Fit | None:
    """Distortion at one sample of the posterior each and at its mean; the rate in closed form, or
    at the same sample where there is none. None for points and maps."""
    codes = model.codes
    if not codes.stochastic or codes.spatial:
        return None
    few = _spaced(np.arange(codes.n), effort.decoded)
    noise = model.noise(few)
    distortion, rate = model.distortion(few, noise), model.rate(few, noise)
    at_means = model.distortion(few, np.zeros_like(noise))
    weighted = _spaced(few, effort.weighted)
    bounds = [_log_likelihood(model, int(place), effort.draws) for place in weighted]
    return Fit(
        float(distortion.mean()), float(distortion.std()), float(rate.mean()), float(rate.std()),
        len(few), float(np.mean(bounds)), len(weighted), effort.draws, float(at_means.mean()),
    )  # fmt: skip


def _spaced(places: Integers, most: int) -> Integers:
    chosen = np.linspace(0, len(places) - 1, min(most, len(places))).astype(np.int64)
    return np.asarray(places[chosen])


@torch.no_grad()
def _log_likelihood(model: OpenModel, place: int, draws: int) -> float:
    """log 1/K sum_k p(x|z_k) p(z_k) / q(z_k|x), z_k ~ q: a lower bound, tighter with K.
    Burda et al. 2016, https://arxiv.org/abs/1509.00519."""
    generator = torch.Generator().manual_seed(derive(0, "importance", place))
    noise = torch.randn(draws, model.codes.d, generator=generator).to(model.device)
    places = np.full(draws, place)
    q = model.posterior(places)
    z = q.at(noise)
    rows = model.rows[places]
    x = model.x(rows[:1]).expand(draws, *model.data.shape)
    u = model.u(rows)
    log_prior = model.prior(u).log_prob(z)
    weights = model.decode_quickly(z, u).log_prob(x) + log_prior - q.log_prob(z)
    return float(weights.double().logsumexp(0)) - math.log(draws)
