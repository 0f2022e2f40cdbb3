"""A model whose latent axes are rotated: the same model, seen from other axes.

mathieu2019, Theorem 2: under a prior that a rotation leaves as it is, encoder and decoder may be
rotated together and no likelihood changes; only the posteriors stop being diagonal.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from vaescope.distributions import Distribution, FullGaussian, Point, Reparameterised
from vaescope.errors import ShapeError, UsageError
from vaescope.models import OpenModel
from vaescope.opening import open_model
from vaescope.prior_density import GaussianDensity, PriorDensity
from vaescope.types import Double

__all__ = ["rotate"]

#: By so much a rotation may miss orthogonality, and a prior its image, which may be of float32.
_ROUNDING = 1e-5


def rotate(model: Any, rotation: Any, data: Any = None) -> OpenModel:
    """The model with latents R z: `vs.rotate(model, vs.latents.groups(codes).rotation)` gives each
    factor its axis. Reconstructions and rates stay as they are; posteriors have full covariances.

    Args:
        model: whatever `vs.open_model` opens.
        rotation: orthogonal, (latent, latent): row i is the new axis i in the old latents.
        data: needed if the model does not know its own.

    Returns:
        An open model, for every function that takes one.

    Raises:
        ShapeError: the matrix is not orthogonal or has the wrong size, or the latents are maps.
        UsageError: the rotation changes the prior.

    Example:
        >>> import numpy as np
        >>> import vaescope as vs
        >>> x = vs.known.signals()
        >>> model = vs.known.linear_vae(x)
        >>> rotated = vs.rotate(model, vs.geometry.plane_rotation(6, np.pi / 4), x)
        >>> rotated.codes.d
        6
    """
    opened = open_model(model, data)
    codes = opened.codes
    if opened.maps is not None:
        raise ShapeError(
            "The latents of this model are maps, whose channels have spatial axes too.",
            "Rotate a model whose latents are vectors.",
        )
    matrix = np.asarray(rotation, dtype=np.float64)
    if matrix.shape != (codes.d, codes.d):
        raise ShapeError(
            f"The rotation has shape {matrix.shape}; wanted {(codes.d, codes.d)}.",
            "Give one row and one column per latent.",
        )
    missed = float(np.abs(matrix @ matrix.T - np.eye(codes.d)).max())
    if not missed <= _ROUNDING:
        raise ShapeError(
            f"The rotation is not orthogonal: R R' differs from the identity by {missed:.2g}.",
            "Give an orthogonal matrix, e.g. u @ v of np.linalg.svd.",
        )
    _check_prior(codes.prior, matrix)
    r = torch.from_numpy(matrix).to(opened.device, torch.float32)
    density = opened.density
    return replace(
        opened,
        name=f"{opened.name}, rotated",
        says=f"{opened.says} Its latents are rotated.".strip(),
        encode=_encoder(opened.encode, r),
        decoder=_decoder(opened.decoder, r),
        density=None if density is None else lambda z, u: density(z @ r.to(z), u),
        untrained=None,
    )


def _check_prior(prior: PriorDensity, r: Double) -> None:
    if np.allclose(r, np.eye(len(r)), atol=_ROUNDING):
        return
    same = False
    if isinstance(prior, GaussianDensity):
        mean, variance = (np.atleast_2d(own).astype(float) for own in (prior.mean, prior.variance))
        size = float(np.abs(variance).max())
        covariance = np.einsum("ij,nj,kj->nik", r, variance, r)
        wanted = np.einsum("nj,jk->njk", variance, np.eye(len(r)))
        same = np.allclose(covariance, wanted, atol=_ROUNDING * size)
        same = same and np.allclose(mean @ r.T, mean, atol=_ROUNDING * np.sqrt(size))
    if not same:
        raise UsageError(
            f"The prior {prior.says} changes under this rotation, so the rate and the posterior "
            "of unused latents would change too.",
            "Rotate only latents whose joint prior no rotation changes, e.g. N(0, I).",
        )


def _encoder(encode: Callable[..., Reparameterised], r: Tensor) -> Callable[..., Reparameterised]:
    def rotated(*inputs: Tensor | None) -> Reparameterised:
        q = encode(*inputs)
        own = r.to(q.mean)
        if isinstance(q, Point):
            return Point(q.mean @ own.T)
        # In float64: of narrow posteriors float32 has no Cholesky factor.
        wide = r.to(q.mean.device, torch.float64)
        covariance = (
            q.covariance.double()
            if isinstance(q, FullGaussian)
            else torch.diag_embed(q.variance.double())
        )
        factor = torch.linalg.cholesky(wide @ covariance @ wide.T)
        return FullGaussian(q.mean @ own.T, factor.to(q.mean))

    return rotated


class _RotatedDecoder(nn.Module):
    """The decoder at the latents as they were."""

    rotation: Tensor

    def __init__(self, decoder: nn.Module, rotation: Tensor) -> None:
        super().__init__()
        self.decoder = decoder
        self.register_buffer("rotation", rotation)

    def forward(self, z: Tensor) -> Any:
        return self.decoder(z @ self.rotation.to(z))


def _decoder(decoder: Callable[[Tensor], Any], r: Tensor) -> Callable[[Tensor], Any]:
    if isinstance(decoder, nn.Module):
        return _RotatedDecoder(decoder, r).eval()

    def rotated(z: Tensor) -> Tensor | Distribution:
        output: Tensor | Distribution = decoder(z @ r.to(z))
        return output

    return rotated
