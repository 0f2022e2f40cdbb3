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
    SampledDensity,
    SparseDensity,
    StudentTDensity,
    standard_normal,
)
from vaescope.priors.fixed import FixedPrior
from vaescope.priors.stated import part_of_the_line, stated_prior
from vaescope.types import Floats
from vaescope.vae import Prior

__all__ = ["NAMES", "as_prior"]


def _unit_normal(latent: int, number: float | None) -> PriorDensity:
    if number is not None:
        raise UsageError(
            f"The prior normal is N(0, I) and takes no number; got {number:g}, which could be a "
            "variance or a standard deviation.",
            "Give prior=torch.distributions.Normal(0.0, S), S the standard deviation of each "
            "latent, in Python.",
        )
    return standard_normal(latent)


#: Name -> (latents, the number behind the colon or None) -> density.
NAMES: Mapping[str, Callable[[int, float | None], PriorDensity]] = {
    "normal": _unit_normal,
    "student-t": lambda d, df: StudentTDensity(_needed("student-t:5", df), np.zeros(d), np.ones(d)),
    "sparse": lambda d, gamma: SparseDensity(_needed("sparse:0.8", gamma), 0.05, np.zeros(d)),
    "laplace": lambda d, b: LaplaceDensity(np.zeros(d), np.full(d, 1.0 if b is None else b)),
}

_WANTED = (
    f"Give a name ({', '.join(NAMES)}; e.g. student-t:5, sparse:0.8), one of vaescope.priors or "
    "vaescope.prior_density, a torch.distributions object (flows are too), an object with log_prob "
    "and sample, or a pair of a log-density and draws "
    "(points, or a function of their number)."
)


def as_prior(value: Any, latent: int) -> Prior:
    """The prior over `latent` latents that `value` is, names or describes.

    Args:
        value: a name, a `Prior`, a `PriorDensity`, an object of `torch.distributions` or another
            one with `log_prob` and `sample`, such as a flow, or a pair of a function that returns
            log p(z) of points and draws from p (points, or a function of their number), with a name
            as an optional third item. Numbers of one-dimensional distributions hold for all
            latents. Quantities without a closed form are estimated by Monte Carlo.
        latent: number of latents of the model.

    Raises:
        UsageError: the value is none of these.
        ShapeError: the value is a prior over another number of latents.

    Returns:
        `Prior`: the prior as a module.

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
    elif isinstance(value, td.Distribution) and (known := _described(value, latent)) is not None:
        density = known
    elif isinstance(value, tuple | list) and len(value) in (2, 3) and callable(value[0]):
        log_density, draws, *name = value
        return stated_prior(log_density, draws, latent, str(name[0]) if name else "the given one")
    elif callable(log_prob := getattr(value, "log_prob", None)) and hasattr(value, "sample"):
        if isinstance(value, td.Distribution):
            _refuse_part_of_the_line(value)
        return stated_prior(log_prob, _drawing(value, latent), latent, f"a {type(value).__name__}")
    else:
        raise UsageError(f"prior is {type(value).__name__}, which is not a prior.", _WANTED)
    if isinstance(density, SampledDensity):
        raise UsageError(
            f"{density.says} is known by a function of NumPy.",
            "Give prior=(log_density, draws) of torch, of which it was made.",
        )
    if density.d != latent:
        raise ShapeError(
            f"The prior has {density.d} latents; the model has {latent}.",
            "Give a prior over as many latents as the model has.",
        )
    return FixedPrior(density)


def _refuse_part_of_the_line(value: td.Distribution) -> None:
    """By the support that it states: torch checks points only where nobody switched that off."""
    try:
        support: Any = value.support
    except NotImplementedError:
        return
    if support is None:
        return
    points = value.sample(torch.Size((256,))).double()
    noise = torch.randn(points.shape, generator=torch.Generator().manual_seed(0)).to(points)
    if not support.check(points.mean(0) + 4.0 * points.std(0) * noise).all():
        raise part_of_the_line()


def _drawing(value: Any, latent: int) -> Callable[[int], Tensor]:
    """Draws of an object with `sample`, which takes a shape or a number, and may give more than
    points."""

    def draw(n: int) -> Tensor:
        for size in ((n,), n):
            points = _drawn(value, size)
            if points is not None and points.ndim == 1 and len(points) == n:
                each = [points, *(_drawn(value, size) for _ in range(latent - 1))]
                points = torch.stack([one for one in each if one is not None], 1)
            if points is not None and len(points) == n:
                return points
        raise UsageError(
            f"sample of {type(value).__name__} takes neither a shape nor a number of draws.",
            "Give prior=(log_density, draws).",
        )

    return draw


def _drawn(value: Any, size: Any) -> Tensor | None:
    try:
        found = value.sample(size)
    except Exception:  # anybody's code: it takes another size
        return None
    points = found[0] if isinstance(found, tuple | list) and found else found
    return points if isinstance(points, Tensor) and points.ndim else None


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


def _described(value: td.Distribution, latent: int) -> PriorDensity | None:
    """The density of a family that is known in closed form; None of another."""
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
    return None


def _mixture(value: td.MixtureSameFamily) -> MixtureDensity | None:
    parts = value.component_distribution
    if isinstance(parts, td.Independent):
        parts = parts.base_dist
    if isinstance(parts, td.Normal):
        means, variances = _array(parts.loc), _array(parts.scale) ** 2
    elif isinstance(parts, td.MultivariateNormal) and _is_diagonal(parts.covariance_matrix):
        means = _array(parts.loc)
        variances = _array(torch.diagonal(parts.covariance_matrix, dim1=-2, dim2=-1))
    else:
        return None
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
