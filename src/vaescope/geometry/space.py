"""Spaces in which a decoder's output can be read, and the metric that each has.

The theory of zietlow2022 and bhowal2024 is about squared error. Its counterpart for any likelihood
is the Fisher metric: KL(p(x|z) || p(x|z + dz)) = dz' G dz / 2 with G = J' I J, where J is the
Jacobian of the likelihood's parameters and I their information: p (1 - p) for logits, 1 / variance
for the mean of a Gaussian, 1 / scale^2 for that of a Laplace, p for the log-probability of a token.
A number about a Jacobian means nothing without the name of its space.
"""

import math
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

import torch
from torch import Tensor

from vaescope.distributions import Bernoulli, Categorical, DiagonalGaussian, Distribution, Laplace
from vaescope.errors import UsageError

__all__ = [
    "Decode",
    "LikelihoodOf",
    "Space",
    "bernoulli_of_means",
    "choose",
    "read",
]

Space = Literal["output", "logit", "likelihood"]
Decode = Callable[[Tensor], Tensor | Distribution]
LikelihoodOf = Callable[[Tensor], Distribution]  # e.g. vaescope.nets.BernoulliLikelihood()


def bernoulli_of_means(means: Tensor) -> Bernoulli:
    """The likelihood of a decoder that ends in a sigmoid.

    Means are kept 1e-6 away from 0 and 1, because float32 cannot represent the logit there; such
    pixels have derivative 0 here, while their true p (1 - p) is nearly 0.

    Args:
        means: probabilities.

    Returns:
        `Bernoulli`: independent Bernoulli pixels, given by logits.

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> vs.geometry.bernoulli_of_means(torch.full((1, 2), 0.5)).mean.tolist()
        [[0.5, 0.5]]
    """
    return Bernoulli(torch.logit(means, eps=1e-6))


def choose(output: Tensor | Distribution, space: Space | None) -> Space:
    """The space asked for, or the default: the likelihood's own where it is known."""
    if space is None:
        return "likelihood" if isinstance(output, Distribution) else "output"
    if space not in get_args(Space):
        raise UsageError(
            f"There is no space {space!r}.", f"Spaces are {', '.join(get_args(Space))}."
        )
    return space


def _rows(output: Tensor) -> Tensor:
    """One row per code, also for decoders to a single number."""
    return output.flatten(1) if output.ndim > 1 else output.unsqueeze(1)


def _bernoulli(p: Bernoulli) -> tuple[Tensor, Tensor | None]:
    mean = p.logits.sigmoid()
    return _rows(p.logits), _rows((mean * (1.0 - mean)).sqrt())


def _located(
    loc: Tensor, precision: Tensor, log_scale: Tensor, root_information: float
) -> tuple[Tensor, Tensor]:
    """A family with a location, and a scale that is a coordinate too where it moves with z."""
    weights = _rows(precision.expand_as(loc))
    if log_scale.shape != loc.shape:  # one scale for all of x: a constant
        return _rows(loc), weights
    spread = _rows(log_scale)
    rest = torch.full_like(spread, root_information)
    return torch.cat([_rows(loc), spread], 1), torch.cat([weights, rest], 1)


def _gaussian(p: DiagonalGaussian) -> tuple[Tensor, Tensor | None]:
    # The information of a log variance is 1/2.
    return _located(p.loc, (-0.5 * p.log_variance).exp(), p.log_variance, math.sqrt(0.5))


def _laplace(p: Laplace) -> tuple[Tensor, Tensor | None]:
    return _located(p.loc, (-p.log_scale).exp(), p.log_scale, 1.0)


def _categorical(p: Categorical) -> tuple[Tensor, Tensor | None]:
    log_p = p.logits.log_softmax(-1)
    return _rows(log_p), _rows((0.5 * log_p).exp())


# Parameters of each likelihood and the square roots of their information.
_LIKELIHOODS: Mapping[type, Callable[[Any], tuple[Tensor, Tensor | None]]] = {
    Bernoulli: _bernoulli,
    Categorical: _categorical,
    DiagonalGaussian: _gaussian,
    Laplace: _laplace,
}


def read(output: Tensor | Distribution, space: Space) -> tuple[Tensor, Tensor | None]:
    """Coordinates of the output in a space, shape (n, k), and the weight that each one's
    differences get there; no weights where all are one."""
    if space == "output":
        mean = output.mean if isinstance(output, Distribution) else output
        assert isinstance(mean, Tensor)
        return _rows(mean), None
    if not isinstance(output, Distribution):
        raise UsageError(
            f"The {space} space needs a likelihood, and this decoder is a plain function.",
            "Pass likelihood=vaescope.nets.BernoulliLikelihood() for logits, "
            "likelihood=vaescope.geometry.bernoulli_of_means after a sigmoid, "
            "likelihood=vaescope.nets.SquaredErrorLikelihood(), or space='output'.",
        )
    if space == "logit":
        if not isinstance(output, Bernoulli):
            raise UsageError(
                f"{type(output).__name__} has no logits.", "Use space='output' or 'likelihood'."
            )
        return _rows(output.logits), None
    if type(output) not in _LIKELIHOODS:
        known = ", ".join(family.__name__ for family in _LIKELIHOODS)
        raise UsageError(
            f"The information of {type(output).__name__} is not known here; that of {known} is.",
            "Use space='output'.",
        )
    return _LIKELIHOODS[type(output)](output)
