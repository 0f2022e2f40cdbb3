"""What a user gives as `prior=`, as a prior."""

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch import distributions as td

from vaescope.errors import ShapeError, UsageError
from vaescope.prior_density import (
    GaussianDensity,
    LaplaceDensity,
    MixtureDensity,
    PriorDensity,
    SparseDensity,
    StudentTDensity,
    standard_normal,
)
from vaescope.priors.fixed import FixedPrior
from vaescope.types import Floats
from vaescope.vae import Prior

__all__ = ["NAMES", "as_prior"]

#: Name -> (latents, the number behind the colon or None) -> density.
NAMES: Mapping[str, Callable[[int, float | None], PriorDensity]] = {
    "normal": lambda d, _: standard_normal(d),
    "student-t": lambda d, df: StudentTDensity(_needed("student-t:5", df), np.zeros(d), np.ones(d)),
    "sparse": lambda d, gamma: SparseDensity(_needed("sparse:0.8", gamma), 0.05, np.zeros(d)),
    "laplace": lambda d, b: LaplaceDensity(np.zeros(d), np.full(d, 1.0 if b is None else b)),
}

_WANTED = (
    f"Give a name ({', '.join(NAMES)}; e.g. student-t:5, sparse:0.8), one of vaescope.priors or "
    "vaescope.prior_density, or a torch.distributions object: Normal, Laplace, StudentT, "
    "Independent of these, MultivariateNormal with diagonal covariance, MixtureSameFamily of "
    "diagonal Normals."
)


def as_prior(value: Any, latent: int) -> Prior:
    """The prior that `value` names, is or describes, over `latent` latents.

    Args:
        value: a name, a `Prior`, a `PriorDensity` or an object of `torch.distributions`. Numbers of
            one-dimensional distributions hold for all latents.
        latent: how many latents the model has.

    Raises:
        UsageError: it is none of these.
        ShapeError: it is over another number of latents.

    Returns:
        `Prior`: u or nothing -> p(z|u).

    Example:
        >>> import vaescope as vs
        >>> type(vs.priors.as_prior("student-t:5", 2)).__name__
        'FixedPrior'
    """
    if isinstance(value, Prior):
        return value
    if isinstance(value, str):
        density = _named(value, latent)
    elif isinstance(value, PriorDensity):
        density = value
    elif isinstance(value, td.Distribution):
        density = _described(value, latent)
    else:
        raise UsageError(f"prior is {type(value).__name__}, which is not a prior.", _WANTED)
    if density.d != latent:
        raise ShapeError(
            f"The prior has {density.d} latents; the model has {latent}.",
            "Give a prior over as many latents as the model has.",
        )
    return FixedPrior(density)


def _needed(example: str, number: float | None) -> float:
    if number is None:
        raise UsageError(
            f"The prior {example.partition(':')[0]} needs a number.", f"Give e.g. {example}."
        )
    return number


def _named(text: str, latent: int) -> PriorDensity:
    name, colon, number = text.partition(":")
    if name not in NAMES:
        raise UsageError(f"There is no prior {name!r}.", _WANTED)
    try:
        value = float(number) if colon else None
    except ValueError as error:
        raise UsageError(f"{number!r} in prior={text!r} is not a number.", _WANTED) from error
    return NAMES[name](latent, value)


def _described(value: td.Distribution, latent: int) -> PriorDensity:
    if isinstance(value, td.Independent):
        return _described(value.base_dist, latent)
    if isinstance(value, td.Normal):
        return GaussianDensity(_each(value.loc, latent), _each(value.scale, latent) ** 2)
    if isinstance(value, td.Laplace):
        return LaplaceDensity(_each(value.loc, latent), _each(value.scale, latent))
    if isinstance(value, td.StudentT):
        df = np.unique(_array(value.df))
        if len(df) != 1:
            raise UsageError(f"The prior has {len(df)} different degrees of freedom.", _WANTED)
        return StudentTDensity(float(df[0]), _each(value.loc, latent), _each(value.scale, latent))
    if isinstance(value, td.MultivariateNormal) and _is_diagonal(value.covariance_matrix):
        variance = torch.diagonal(value.covariance_matrix, dim1=-2, dim2=-1)
        return GaussianDensity(_each(value.loc, latent), _each(variance, latent))
    if isinstance(value, td.MixtureSameFamily):
        return _mixture(value)
    raise UsageError(f"prior is {type(value).__name__}, whose density is not known.", _WANTED)


def _mixture(value: td.MixtureSameFamily) -> MixtureDensity:
    parts = value.component_distribution
    if isinstance(parts, td.Independent):
        parts = parts.base_dist
    if isinstance(parts, td.Normal):
        means, variances = _array(parts.loc), _array(parts.scale) ** 2
    elif isinstance(parts, td.MultivariateNormal) and _is_diagonal(parts.covariance_matrix):
        means = _array(parts.loc)
        variances = _array(torch.diagonal(parts.covariance_matrix, dim1=-2, dim2=-1))
    else:
        raise UsageError("prior is a mixture, but not of diagonal Normals.", _WANTED)
    weights = _array(value.mixture_distribution.probs)
    if means.ndim == 1:  # of one latent
        means, variances = means[:, None], variances[:, None]
    return MixtureDensity(weights, *np.broadcast_arrays(means, variances))


def _array(values: Tensor) -> Floats:
    return values.detach().double().cpu().numpy()


def _each(values: Tensor, latent: int) -> Floats:
    """One number for each latent; a single number is that of all, a batch of one its row."""
    array = _array(values)
    if array.ndim > 1 and array.size == array.shape[-1]:
        array = array.reshape(-1)
    if array.size == 1:
        return np.full(latent, float(array.reshape(())))
    if array.ndim != 1:
        raise ShapeError(
            f"The prior has parameters of shape {array.shape}; wanted ({latent},).",
            "Give a prior that is the same for all examples.",
        )
    return array


def _is_diagonal(covariance: Tensor) -> bool:
    diagonal = torch.diag_embed(torch.diagonal(covariance, dim1=-2, dim2=-1))
    return bool(torch.equal(covariance, diagonal))
