"""Above which beta a linear model keeps nothing: the order of magnitude at which to look.

A linear VAE with Gaussian noise of variance v keeps a latent where the data's eigenvalue is above
beta v (zietlow2022; Lucas et al. 2019, https://arxiv.org/abs/1911.02469): with summed squared
error, v = 1/2, where lambda > beta / 2. For other likelihoods v is the inverse of their information
at the mean of the data.
"""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from vaescope.data import Dataset
from vaescope.errors import DataError, UsageError
from vaescope.leading_axes import leading_axes
from vaescope.own_parts.specs import is_own
from vaescope.specs import Experiment, resolve
from vaescope.types import Double

__all__ = ["collapse_scale", "require_variation"]

ROWS = 1_000

#: (settings, mean and variance of each value of x) -> information about its location.
INFORMATION: Mapping[str, Callable[[Any, Double, Double], Double]] = {
    "squared-error": lambda spec, mean, variance: np.full_like(mean, 2.0),
    "gaussian": lambda spec, mean, variance: np.full_like(mean, spec.scale**-2),
    "laplace": lambda spec, mean, variance: np.full_like(mean, spec.scale**-2),
    # Pixels that are nearly constant say little of the scale and would have it all.
    "bernoulli": lambda spec, mean, variance: 1.0 / np.maximum(mean * (1.0 - mean), 0.01),
    # The scale is learnt: at first it is that of the data.
    "local-gaussian": lambda spec, mean, variance: np.full_like(mean, 1.0 / variance.mean()),
}


def require_variation(data: Dataset) -> Double:
    """Rows of the data, flat, which are not all the same."""
    x = data.rows(data.sample(ROWS, seed=0)).reshape(min(ROWS, len(data)), -1).astype(np.float64)
    if not np.ptp(x, axis=0).any():
        raise DataError(
            f"All rows of {data.name} are the same: there is nothing to encode.",
            "Give data that vary.",
        )
    return x


def collapse_scale(experiment: Experiment, data: Dataset) -> float:
    """The greatest eigenvalue of the data's covariance in the metric of the likelihood."""
    x = require_variation(data)
    mean, variance = x.mean(axis=0), x.var(axis=0)
    likelihood = resolve(experiment).likelihood
    if is_own(likelihood):
        raise UsageError(
            f"The information of likelihood.name={likelihood.name} about x is not known.",
            "Use one of vaescope's likelihoods to tune beta.",
        )
    information = INFORMATION[likelihood.name](likelihood, mean, variance)
    return float(leading_axes((x - mean) * np.sqrt(information), 1)[0][0])
