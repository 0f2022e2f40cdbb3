"""How losses change with a decoder's output, and likelihoods of counts."""

from collections.abc import Callable, Mapping
from typing import Any

import torch
from torch import Tensor, distributions
from torch.nn import functional

__all__ = ["DISTORTIONS", "RATES", "counts"]

_NAN = torch.tensor(torch.nan)

#: Family -> the sum over all values of what it loses, but for constants and scales.
DISTORTIONS: Mapping[str, Callable[[Tensor, Tensor], Tensor]] = {
    "squared-error": lambda y, x: (y - x).square().sum(),
    "laplace": lambda y, x: (y - x).abs().sum(),
    "bernoulli": lambda y, x: (
        functional.binary_cross_entropy(y.clamp(0, 1), x, reduction="sum")
        if _inside(y) and _inside(x)
        else _NAN
    ),
    "logits": lambda y, x: functional.binary_cross_entropy_with_logits(y, x, reduction="sum"),
    "multinomial": lambda y, x: (
        -(x * y.log_softmax(-1)).sum() if y.ndim == 2 and counts(x) else _NAN
    ),
    "poisson": lambda y, x: (y - x * y.clamp_min(1e-8).log()).sum() if _whole(x) else _NAN,
    "log-poisson": lambda y, x: (y.exp() - x * y).sum() if _whole(x) else _NAN,
}


def _whole(x: Tensor) -> bool:
    return bool((x >= 0).all()) and torch.equal(x, x.round()) and float(x.max()) > 1


def _poisson(rates: Tensor) -> distributions.Poisson:
    return distributions.Poisson(rates.clamp_min(1e-8), validate_args=False)


#: Likelihoods of counts that a decoder's values are the parameters of -> the distribution.
RATES: Mapping[str, Callable[[Any], Any]] = {
    "poisson": _poisson,
    "log-poisson": lambda y: _poisson(y.exp()),
}


def counts(x: Tensor) -> bool:
    """Whether rows are counts: whole numbers from 0."""
    return x.ndim == 2 and bool((x >= 0).all()) and torch.equal(x, x.round())


def _inside(values: Tensor) -> bool:
    return float(values.min()) >= 0 and float(values.max()) <= 1
