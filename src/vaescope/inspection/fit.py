"""How well a model fits: distortion, rate, and its log-likelihood by importance weights."""

import math
from collections.abc import Callable

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from vaescope.codes import Codes
from vaescope.data import Dataset
from vaescope.distributions import DiagonalGaussian, Distribution
from vaescope.inspection.effort import Effort
from vaescope.inspection.results import Fit
from vaescope.latents.kl import kl_of_rows
from vaescope.seeds import derive
from vaescope.types import Integers
from vaescope.vae import as_input

__all__ = ["LogPrior", "fit_of"]

#: (latents, places in the codes) -> log p(z) of each.
LogPrior = Callable[[Tensor, Integers], Tensor]


@torch.no_grad()
def fit_of(
    decode: Callable[[Tensor], Distribution],
    data: Dataset,
    codes: Codes,
    rows: Integers,
    effort: Effort,
    device: torch.device,
    log_prior: LogPrior,
    *,
    closed: bool = True,
) -> Fit | None:
    """Distortion at one sample of the posterior each; the rate in closed form, or at the same
    sample where the prior is not Gaussian (`closed=False`). None for points, full covariances and
    maps."""
    if not codes.stochastic or codes.covariance is not None or codes.spatial:
        return None
    few = np.linspace(0, len(rows) - 1, min(effort.decoded, len(rows))).astype(np.int64)
    parts = []
    for start in range(0, len(few), 256):
        chosen = few[start : start + 256]
        p = decode(torch.from_numpy(codes.sample[chosen]).float().to(device))
        x = as_input(data.rows(rows[chosen]), device)
        parts.append(-p.log_prob(x).double().cpu().numpy())
    distortion = np.concatenate(parts)
    rate = kl_of_rows(codes).sum(axis=1)[few] if closed else _rates(codes, few, device, log_prior)
    weighted = few[np.linspace(0, len(few) - 1, min(effort.weighted, len(few))).astype(np.int64)]
    bounds = [
        _log_likelihood(decode, data, codes, rows, place, effort.draws, device, log_prior)
        for place in weighted
    ]
    return Fit(
        float(distortion.mean()), float(distortion.std()), float(rate.mean()), float(rate.std()),
        len(few), float(np.mean(bounds)), len(weighted), effort.draws,
    )  # fmt: skip


def _posterior(codes: Codes, places: Integers, device: torch.device) -> DiagonalGaussian:
    mean = torch.from_numpy(codes.mean[places]).float().to(device)
    return DiagonalGaussian(mean, torch.from_numpy(codes.variance[places]).float().to(device).log())


def _rates(
    codes: Codes, places: Integers, device: torch.device, log_prior: LogPrior
) -> NDArray[np.float64]:
    """log q(z|x) - log p(z) at the sample of each."""
    z = torch.from_numpy(codes.sample[places]).float().to(device)
    rate = _posterior(codes, places, device).log_prob(z) - log_prior(z, places)
    return np.asarray(rate.double().cpu().numpy())


def _log_likelihood(
    decode: Callable[[Tensor], Distribution],
    data: Dataset,
    codes: Codes,
    rows: Integers,
    place: int,
    draws: int,
    device: torch.device,
    log_prior: LogPrior,
) -> float:
    """log 1/K sum_k p(x|z_k) p(z_k) / q(z_k|x), z_k ~ q: a lower bound, tighter with K.
    Burda et al. 2016, https://arxiv.org/abs/1509.00519."""
    generator = torch.Generator().manual_seed(derive(0, "importance", int(place)))
    noise = torch.randn(draws, codes.d, generator=generator).to(device)
    places = np.full(draws, place)
    q = _posterior(codes, places, device)
    z = q.at(noise)
    x = as_input(data.rows(rows[place : place + 1]), device).expand(draws, *data.shape)
    weights = decode(z).log_prob(x) + log_prior(z, places) - q.log_prob(z)
    return float(weights.double().logsumexp(0)) - math.log(draws)
