"""What an example costs, in nats, under the likelihood of a model that decodes it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import Tensor

from vaescope.adapters.likelihoods import InUnits
from vaescope.distributions import Bernoulli, DiagonalGaussian, Distribution, Laplace
from vaescope.models import OpenModel
from vaescope.types import Integers, Vector

__all__ = ["cost_of", "cost_of_constant"]


BATCH = 256


def cost_of(b: OpenModel, places: Integers, z: Any) -> Vector:
    """-log p_B(x|z) of each image."""
    return _priced(b, places, lambda some, u: b.decode(torch.from_numpy(np.ascontiguousarray(
        z[some])).to(b.device, torch.float32), u))  # fmt: skip


def _priced(
    b: OpenModel, places: Integers, density: Callable[[slice, Tensor | None], Distribution]
) -> Vector:
    parts = []
    with b.evaluating():
        for start in range(0, len(places), BATCH):
            some = slice(start, start + BATCH)
            rows = b.rows[places[some]]
            parts.append(-density(some, b.u(rows)).log_prob(b.x(rows)).double().cpu())
    return torch.cat(parts).numpy()


def cost_of_constant(b: OpenModel, fitted: Integers, priced: Integers) -> tuple[str, Vector]:
    """What images cost that are all decoded as the mean image, under B's likelihood."""
    with b.evaluating():
        rows = b.rows[fitted[:2]]
        z = torch.from_numpy(np.asarray(b.latents(fitted[:2]))).to(b.device, torch.float32)
        like = b.decode(z, b.u(rows))
        x = b.x(b.rows[fitted])
    image = x.mean(0, keepdim=True)
    if _with_mean(like, image) is not None:

        def constant(some: slice, u: Tensor | None) -> Distribution:
            n = len(priced[some])
            found = _with_mean(like, image.expand(n, *image.shape[1:]))
            assert found is not None
            return found

        return "mean image", _priced(b, priced, constant)
    mean = np.asarray(b.latents(fitted), dtype=np.float64).mean(0, keepdims=True)
    return "mean code", cost_of(b, priced, np.repeat(mean, len(priced), 0))


def _with_mean(like: Distribution, mean: Tensor) -> Distribution | None:
    """The same likelihood with another mean; None where it has no such form."""
    if isinstance(like, InUnits):
        low, high = like.units
        inner = _with_mean(like.inner, low + (high - low) * mean)
        return None if inner is None else InUnits(inner, like.units)
    if mean.shape[1:] != like.mean.shape[1:]:
        return None
    if isinstance(like, Bernoulli):
        return Bernoulli(torch.logit(mean, eps=1e-6))
    if isinstance(like, DiagonalGaussian) and _same(like.log_variance):
        return DiagonalGaussian(mean, like.log_variance.flatten()[0])
    if isinstance(like, Laplace) and _same(like.log_scale):
        return Laplace(mean, like.log_scale.flatten()[0])
    return None


def _same(spread: Tensor) -> bool:
    """Whether a likelihood has one spread for all pixels and images."""
    return bool((spread == spread.flatten()[0]).all())
