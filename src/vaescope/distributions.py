"""Distributions that networks return: densities in nats per example, samples at given noise.

`torch.distributions` samples from a hidden generator, fails under `vmap`, refuses grey pixels in a
Bernoulli and validates its arguments at the cost of half a call. The few closed forms needed here
are shorter than the work-around; the tests compare them with `torch.distributions` in float64.

The first axis is the batch; an event is everything behind it.
"""

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F

from vaescope.errors import UsageError

__all__ = [
    "Bernoulli",
    "Categorical",
    "DiagonalGaussian",
    "Distribution",
    "FullGaussian",
    "Laplace",
    "Point",
    "Reparameterised",
    "kl",
    "kl_per_latent",
    "rate",
    "sum_event",
]

_LOG_2PI = math.log(2.0 * math.pi)


def sum_event(x: Tensor) -> Tensor:
    """Sum over everything but the batch axis.

    Args:
        x: (batch, ...) values.

    Returns:
        (batch,) sums.

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> vs.distributions.sum_event(torch.ones(2, 3, 4)).tolist()
        [12.0, 12.0]
    """
    return x.sum(tuple(range(1, x.ndim))) if x.ndim > 1 else x


class Distribution(ABC):
    """A distribution that a decoder returns: its mean is shown, its density is used in training.

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> coin = vs.distributions.Bernoulli(torch.zeros(1, 1))
        >>> isinstance(coin, vs.distributions.Distribution)
        True
    """

    @property
    @abstractmethod
    def mean(self) -> Tensor: ...

    @abstractmethod
    def log_prob(self, x: Tensor) -> Tensor:
        """Log-density of each example, nats: shape (batch,)."""


class Reparameterised(Distribution):
    """What an encoder or a prior returns: samples that are functions of standard normal noise.

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> isinstance(vs.distributions.Point(torch.ones(1, 2)), vs.distributions.Reparameterised)
        True
    """

    @property
    @abstractmethod
    def variance(self) -> Tensor:
        """Marginal variances, never standard deviations."""

    @abstractmethod
    def at(self, noise: Tensor) -> Tensor:
        """The sample that standard normal `noise` is mapped to."""


@dataclass(frozen=True, eq=False)
class DiagonalGaussian(Reparameterised):
    """N(mean, diag(exp(log_variance))); the two broadcast against each other.

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> q = vs.distributions.DiagonalGaussian(torch.zeros(1, 2), torch.zeros(1, 2))
        >>> q.variance.tolist(), q.at(torch.ones(1, 2)).tolist()
        ([[1.0, 1.0]], [[1.0, 1.0]])
    """

    loc: Tensor
    log_variance: Tensor

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return self.log_variance.exp()

    def at(self, noise: Tensor) -> Tensor:
        return self.loc + noise * (0.5 * self.log_variance).exp()

    def log_prob(self, x: Tensor) -> Tensor:
        return -0.5 * sum_event(
            (x - self.loc) ** 2 * (-self.log_variance).exp() + self.log_variance + _LOG_2PI
        )


@dataclass(frozen=True, eq=False)
class FullGaussian(Reparameterised):
    """N(mean, L L') with L lower triangular and positive on its diagonal.

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> vs.distributions.FullGaussian(torch.zeros(1, 2), torch.eye(2)[None]).covariance.shape
        torch.Size([1, 2, 2])
    """

    loc: Tensor  # (batch, latent)
    scale_tril: Tensor  # (batch, latent, latent)

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return (self.scale_tril**2).sum(-1)

    @property
    def covariance(self) -> Tensor:
        return self.scale_tril @ self.scale_tril.mT

    @property
    def log_det(self) -> Tensor:
        """log |covariance|: shape (batch,)."""
        return 2.0 * self.scale_tril.diagonal(dim1=-2, dim2=-1).log().sum(-1)

    def at(self, noise: Tensor) -> Tensor:
        return self.loc + (self.scale_tril @ noise.unsqueeze(-1)).squeeze(-1)

    def log_prob(self, x: Tensor) -> Tensor:
        residual = (x - self.loc).unsqueeze(-1)
        white: Tensor = torch.linalg.solve_triangular(self.scale_tril, residual, upper=False)
        distance = (white.squeeze(-1) ** 2).sum(-1)
        return -0.5 * (distance + self.log_det + self.loc.shape[-1] * _LOG_2PI)


@dataclass(frozen=True, eq=False)
class Point(Reparameterised):
    """A point mass at the mean: the posterior of a plain autoencoder. It has no density.

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> vs.distributions.Point(torch.ones(1, 2)).variance.tolist()
        [[0.0, 0.0]]
    """

    loc: Tensor

    @property
    def mean(self) -> Tensor:
        return self.loc

    @property
    def variance(self) -> Tensor:
        return torch.zeros_like(self.loc)

    def at(self, noise: Tensor) -> Tensor:
        del noise
        return self.loc

    def log_prob(self, x: Tensor) -> Tensor:
        raise UsageError(
            "A point posterior has no density, so it has no rate.",
            "Use posterior.name=diagonal with objectives that have a rate, or objective.name=ae.",
        )


@dataclass(frozen=True, eq=False)
class Bernoulli(Distribution):
    """Independent Bernoulli pixels, given by logits. Grey x in [0, 1] is allowed: the
    value is then a cross-entropy, as is usual in this field, not the log-density of a normalised
    model.

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> coins = vs.distributions.Bernoulli(torch.zeros(2, 3))
        >>> coins.log_prob(torch.ones(2, 3)).round(decimals=3).tolist()
        [-2.0789999961853027, -2.0789999961853027]
    """

    logits: Tensor

    @property
    def mean(self) -> Tensor:
        return self.logits.sigmoid()

    def log_prob(self, x: Tensor) -> Tensor:
        return -sum_event(F.binary_cross_entropy_with_logits(self.logits, x, reduction="none"))


@dataclass(frozen=True, eq=False)
class Categorical(Distribution):
    """Independent tokens, given by logits over a vocabulary along the last axis. x contains token
    numbers; the mean contains the probability of each token.

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> vs.distributions.Categorical(torch.zeros(2, 4, 3)).mean.shape
        torch.Size([2, 4, 3])
    """

    logits: Tensor  # (batch, *event, vocabulary)

    @property
    def mean(self) -> Tensor:
        return self.logits.softmax(-1)

    def log_prob(self, x: Tensor) -> Tensor:
        chosen = self.logits.log_softmax(-1).gather(-1, x.long().unsqueeze(-1))
        return sum_event(chosen.squeeze(-1))


@dataclass(frozen=True, eq=False)
class Laplace(Distribution):
    """Independent values exp(-|x - loc| / b) / 2b with b = exp(log_scale).

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> vs.distributions.Laplace(torch.zeros(1, 2), torch.zeros(1, 2)).mean.tolist()
        [[0.0, 0.0]]
    """

    loc: Tensor
    log_scale: Tensor

    @property
    def mean(self) -> Tensor:
        return self.loc

    def log_prob(self, x: Tensor) -> Tensor:
        return -sum_event(
            (x - self.loc).abs() * (-self.log_scale).exp() + self.log_scale + math.log(2.0)
        )


def _diagonal_diagonal(q: DiagonalGaussian, p: DiagonalGaussian) -> Tensor:
    excess = q.log_variance - p.log_variance
    shift = (q.loc - p.loc) ** 2 * (-p.log_variance).exp()
    return 0.5 * (shift + excess.exp() - 1.0 - excess)  # (batch, latent)


def kl_per_latent(q: DiagonalGaussian, p: DiagonalGaussian) -> Tensor:
    """KL(q || p) of each latent, nats: shape (batch, latent). Diagonal Gaussians only, since only
    then is the divergence a sum of one term per latent.

    Args:
        q: a distribution, e.g. a posterior.
        p: a distribution, e.g. a prior.

    Returns:
        (batch, latent) nats.

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> q = vs.distributions.DiagonalGaussian(torch.ones(1, 2), torch.zeros(1, 2))
        >>> p = vs.distributions.DiagonalGaussian(torch.zeros(1, 2), torch.zeros(1, 2))
        >>> vs.distributions.kl_per_latent(q, p).tolist()
        [[0.5, 0.5]]
    """
    return _diagonal_diagonal(q, p)


def _kl_diagonal_diagonal(q: DiagonalGaussian, p: DiagonalGaussian) -> Tensor:
    return _diagonal_diagonal(q, p).sum(-1)


def _kl_full_diagonal(q: FullGaussian, p: DiagonalGaussian) -> Tensor:
    second_moment = q.variance + (q.loc - p.loc) ** 2
    per_latent = second_moment * (-p.log_variance).exp() - 1.0 + p.log_variance
    return 0.5 * (per_latent.sum(-1) - q.log_det)


# Closed forms by the pair of families.
_KL: Mapping[tuple[type, type], Callable[[Any, Any], Tensor]] = {
    (DiagonalGaussian, DiagonalGaussian): _kl_diagonal_diagonal,
    (FullGaussian, DiagonalGaussian): _kl_full_diagonal,
}


def kl(q: Distribution, p: Distribution) -> Tensor:
    """KL(q || p) of each example in closed form, nats: shape (batch,).

    Args:
        q: a distribution, e.g. a posterior.
        p: a distribution, e.g. a prior.

    Returns:
        (batch,) nats.

    Raises:
        UsageError: a name or value is not known; the message lists those that are.

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> q = vs.distributions.DiagonalGaussian(torch.ones(1, 2), torch.zeros(1, 2))
        >>> p = vs.distributions.DiagonalGaussian(torch.zeros(1, 2), torch.zeros(1, 2))
        >>> vs.distributions.kl(q, p).tolist()
        [1.0]
    """
    form = _KL.get((type(q), type(p)))
    if form is None:
        known = ", ".join(f"{a.__name__} || {b.__name__}" for a, b in _KL)
        raise UsageError(
            f"There is no closed form of KL({type(q).__name__} || {type(p).__name__}); "
            f"there is one for {known}.",
            "Estimate it from samples: q.log_prob(z) - p.log_prob(z) at z = q.at(noise).",
        )
    return form(q, p)


def rate(q: Distribution, p: Distribution, z: Tensor) -> Tensor:
    """KL(q || p) of each example: in closed form if there is one, otherwise estimated at the sample
    z of q at which the distortion is also taken. Shape (batch,).

    Args:
        q: a distribution, e.g. a posterior.
        p: a distribution, e.g. a prior.
        z: (..., latent) points.

    Returns:
        (batch,) nats.

    Raises:
        UsageError: a name or value is not known; the message lists those that are.

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> q = vs.distributions.DiagonalGaussian(torch.ones(1, 2), torch.zeros(1, 2))
        >>> p = vs.priors.StandardNormal(2)()
        >>> vs.distributions.rate(q, p, q.at(torch.zeros(1, 2))).tolist()
        [1.0]
    """
    if (type(q), type(p)) in _KL:
        return kl(q, p)
    return q.log_prob(z) - p.log_prob(z)
