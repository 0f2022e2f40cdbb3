"""Draws of a proposal r that covers the posterior of an example, and weights p(x, z) / r(z)."""

from collections.abc import Sequence

import numpy as np
import torch
from torch import Tensor

from vaescope.distributions import FullGaussian, Reparameterised
from vaescope.importance_weights import log_mean, tempered
from vaescope.models import OpenModel
from vaescope.seeds import derive
from vaescope.types import Integers, Matrix, Vector

__all__ = ["as_numpy", "importance_bounds", "row_noise", "row_weights"]


#: The adapted proposal is wider than the posterior that the pilot saw by this factor of variance:
#: what is too wide costs draws, what is too narrow costs the tail.
WIDER = 1.2
#: Times that the proposal is adapted, each by its part of the pilot draws.
ROUNDS = 2
#: Outputs that are decoded at once.
BATCH = 512


def importance_bounds(
    model: OpenModel, places: Integers, *, draws: int = 50, seed: int = 0
) -> Vector:
    """log 1/K sum_k p(x|z_k) p(z_k) / q(z_k|x), z_k ~ q, of some rows: a lower bound, tighter with
    K. Burda et al. 2016, https://arxiv.org/abs/1509.00519."""
    with model.evaluating():
        noise = (row_noise(model, place, draws, seed) for place in places.tolist())
        parts = zip(places.tolist(), noise, strict=True)
        return np.array([log_mean(row_weights(model, i, eps, 0, None)[0]) for i, eps in parts])


def row_noise(model: OpenModel, place: int, draws: int, seed: int) -> Tensor:
    """Standard normal, (draws, d): of a row, whichever others are looked at."""
    generator = torch.Generator().manual_seed(derive(seed, "importance", place))
    return torch.randn(draws, model.codes.d, generator=generator)


def row_weights(
    model: OpenModel, place: int, noise: Tensor, pilot: int, metric: Matrix | None
) -> tuple[Vector, float]:
    """log p(x, z) - log r(z) at draws of the proposal r, and the mean of log p(x, z) - log q(z|x)
    over draws of q. The first `pilot` rows of noise adapt r."""
    q = model.posterior(np.array([place]))
    eps = noise.float().to(model.device)
    proposals: list[Reparameterised] = [q]
    if pilot:
        prior = model.prior(model.u(model.rows[[place]]))
        if isinstance(prior, Reparameterised):  # it bounds the weights, by the best p(x|z)
            proposals.append(prior)
        if metric is not None:
            proposals.append(
                _gaussian(q.mean[0], np.asarray(np.linalg.inv(metric), dtype=np.float64))
            )
        start = q if metric is None else proposals[-1]
        fixed = tuple(proposals)
        for part in torch.tensor_split(eps[:pilot], ROUNDS):
            z, _ = _stratified(proposals, part)
            tried = _joint(model, place, z) - _log_mixture(proposals, z)
            proposals = [*fixed, _adapted(start, z, tried)]
    z, counts = _stratified(proposals, eps[pilot:])
    joint = _joint(model, place, z)
    own = slice(0, counts[0])
    elbo = float((joint[own] - as_numpy(q.log_prob(z[own]))).mean())
    return joint - _log_mixture(proposals, z), elbo


def _stratified(proposals: Sequence[Reparameterised], eps: Tensor) -> tuple[Tensor, list[int]]:
    """As many draws of each proposal, in their order, up to one; and how many."""
    parts = torch.tensor_split(eps, len(proposals))
    draws = [one.at(part) for one, part in zip(proposals, parts, strict=True)]
    return torch.cat(draws), [len(part) for part in parts]


def _log_mixture(proposals: Sequence[Reparameterised], z: Tensor) -> Vector:
    """log of the mixture that `_stratified` draws from (Veach and Guibas 1995's balance)."""
    counts = [len(part) for part in torch.tensor_split(torch.empty(len(z)), len(proposals))]
    parts = [
        np.log(count / len(z)) + as_numpy(one.log_prob(z))
        for one, count in zip(proposals, counts, strict=True)
    ]
    return np.asarray(np.logaddexp.reduce(parts))


def _adapted(start: Reparameterised, z: Tensor, log_weights: Vector) -> FullGaussian:
    """A Gaussian with mean and covariance of weighted draws; where few weights make up all, they
    are levelled, and its covariance is drawn towards that of `start`."""
    d = z.shape[1]
    weights = tempered(log_weights, min(4.0 * (d + 1), 0.5 * len(log_weights)))
    points = z.double().cpu().numpy()
    mean = weights @ points
    centred = points - mean
    share = 1.0 / (1.0 + (d + 1.0) * float(np.square(weights).sum()))
    covariance = share * (centred.T * weights) @ centred + (1.0 - share) * _covariance(start)
    return _gaussian(torch.from_numpy(mean).to(z), WIDER * covariance)


def _covariance(q: Reparameterised) -> Matrix:
    if isinstance(q, FullGaussian):
        return as_numpy(q.covariance[0])
    return np.diag(as_numpy(q.variance[0]))


def _gaussian(mean: Tensor, covariance: Matrix) -> FullGaussian:
    root = torch.from_numpy(np.linalg.cholesky(covariance)).float().to(mean.device)
    return FullGaussian(mean[None].float(), root[None])


def _joint(model: OpenModel, place: int, z: Tensor) -> Vector:
    """log p(x|z) + log p(z) of one example at many points, nats."""
    row = model.rows[[place]]
    x, u = model.x(row), model.u(row)
    parts = []
    for some in torch.split(z, BATCH):
        n = len(some)
        own = None if u is None else u.expand(n, *u.shape[1:])
        fit = model.decode_quickly(some, own).log_prob(x.expand(n, *x.shape[1:]))
        parts.append(as_numpy(fit) + as_numpy(model.prior(own).log_prob(some)))
    return np.concatenate(parts)


def as_numpy(x: Tensor) -> Vector:
    return x.detach().double().cpu().numpy()
