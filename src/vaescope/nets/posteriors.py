"""Features -> q(z|x), always in float32."""

from collections.abc import Callable, Sequence
from typing import Any, cast

import torch
from torch import Tensor, nn

from vaescope.distributions import DiagonalGaussian, FullGaussian, Point, Reparameterised
from vaescope.nets.mlp import hidden_layers
from vaescope.vae import in_float32

__all__ = [
    "DiagonalPosterior",
    "FullPosterior",
    "IsotropicPosterior",
    "NormalisedPosterior",
    "ParameterPosterior",
    "PointPosterior",
    "SeparatePosterior",
]


class DiagonalPosterior(nn.Module):
    """N(mean, diag(exp(log_variance))) from one linear layer of twice the width.

    Args:
        features: number of outputs of the encoder's body.
        latent: number of latents.

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> vs.nets.DiagonalPosterior(8, 2)(torch.zeros(3, 8)).variance.shape
        torch.Size([3, 2])
    """

    def __init__(self, features: int, latent: int) -> None:
        super().__init__()
        self.head = nn.Linear(features, 2 * latent)

    def forward(self, features: Tensor) -> DiagonalGaussian:
        mean, log_variance = in_float32(self.head, features).chunk(2, -1)
        return DiagonalGaussian(mean, log_variance)


class IsotropicPosterior(nn.Module):
    """N(mean, exp(log_variance) I): one variance for all latents of an example.

    Args:
        features: number of outputs of the encoder's body.
        latent: number of latents.

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> vs.nets.IsotropicPosterior(8, 2)(torch.zeros(3, 8)).variance.shape
        torch.Size([3, 2])
    """

    def __init__(self, features: int, latent: int) -> None:
        super().__init__()
        self.head = nn.Linear(features, latent + 1)

    def forward(self, features: Tensor) -> DiagonalGaussian:
        output = in_float32(self.head, features)
        mean, log_variance = output[..., :-1], output[..., -1:]
        return DiagonalGaussian(mean, log_variance.expand_as(mean))


class SeparatePosterior(nn.Module):
    """A diagonal Gaussian whose mean and log-variance come from two separate networks, as
    in the code of Khemakhem et al. 2020.

    Args:
        features: number of outputs of the encoder's body.
        latent: number of latents.
        hidden: widths of the layers of each head.
        activation: function that makes an activation.

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> posterior = vs.nets.SeparatePosterior(8, 2, hidden=[4], activation=torch.nn.ReLU)
        >>> posterior(torch.zeros(3, 8)).mean.shape
        torch.Size([3, 2])
    """

    def __init__(
        self,
        features: int,
        latent: int,
        *,
        hidden: Sequence[int],
        activation: Callable[[], nn.Module],
    ) -> None:
        super().__init__()
        widths = [features, *hidden]
        self.mean, self.log_variance = (
            nn.Sequential(*hidden_layers(widths, activation), nn.Linear(widths[-1], latent))
            for _ in range(2)
        )

    def forward(self, features: Tensor) -> DiagonalGaussian:
        return DiagonalGaussian(
            in_float32(self.mean, features), in_float32(self.log_variance, features)
        )


class FullPosterior(nn.Module):
    """N(mean, L L'), L lower triangular; its diagonal is the exponential of learnt values.

    zietlow2022 (sections 3.2.7 and 3.3.1) compares with this family: unlike the diagonal one, it
    does not align the axes.

    Args:
        features: number of outputs of the encoder's body.
        latent: number of latents.

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> vs.nets.FullPosterior(8, 2)(torch.zeros(3, 8)).covariance.shape
        torch.Size([3, 2, 2])
    """

    rows: Tensor
    columns: Tensor

    def __init__(self, features: int, latent: int) -> None:
        super().__init__()
        self.latent = latent
        self.head = nn.Linear(features, latent + latent * (latent + 1) // 2)
        rows, columns = torch.tril_indices(latent, latent)
        self.register_buffer("rows", rows, persistent=False)
        self.register_buffer("columns", columns, persistent=False)

    def forward(self, features: Tensor) -> FullGaussian:
        output = in_float32(self.head, features)
        mean, lower = output[..., : self.latent], output[..., self.latent :]
        # Placed by a product with constants: indexed assignment does not stack under vmap.
        eye = torch.eye(self.latent, dtype=lower.dtype, device=lower.device)
        # By one product: einsum orders several by their sizes, which fixes a traced batch's.
        places = torch.einsum("ki,kj->kij", eye[self.rows], eye[self.columns]).flatten(1)
        placed = torch.unflatten(lower @ places, -1, (self.latent, self.latent))
        diagonal = placed.diagonal(dim1=-2, dim2=-1)
        return FullGaussian(mean, placed.tril(-1) + torch.diag_embed(diagonal.exp()))


class PointPosterior(nn.Module):
    """The posterior of a plain autoencoder: a mean without noise.

    Args:
        features: number of outputs of the encoder's body.
        latent: number of latents.

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> vs.nets.PointPosterior(8, 2)(torch.zeros(3, 8)).mean.shape
        torch.Size([3, 2])
    """

    def __init__(self, features: int, latent: int) -> None:
        super().__init__()
        self.head = nn.Linear(features, latent)

    def forward(self, features: Tensor) -> Point:
        return Point(in_float32(self.head, features))


class NormalisedPosterior(nn.Module):
    """The code of contrastive learning: a mean without noise, normalised to mean 0 and variance 1
    over the batch, or by running averages of the training when the model is evaluated.

    Args:
        features: number of outputs of the encoder's body.
        latent: number of latents.

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> vs.nets.NormalisedPosterior(8, 2)(torch.randn(4, 8)).mean.shape
        torch.Size([4, 2])
    """

    def __init__(self, features: int, latent: int) -> None:
        super().__init__()
        self.head = nn.Linear(features, latent, bias=False)
        self.norm = nn.BatchNorm1d(latent)

    def forward(self, features: Tensor) -> Point:
        return Point(in_float32(self.norm, in_float32(self.head, features)))


class ParameterPosterior(nn.Module):
    """Takes the encoder's output as the posterior's parameters, without a layer of its own: one
    tensor, several to be joined (mean, log-variance), or a distribution.

    Args:
        posterior: a posterior whose family is used and whose layer is not.

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> posterior = vs.nets.ParameterPosterior(vs.nets.DiagonalPosterior(1, 2))
        >>> posterior(torch.zeros(3, 4)).mean.shape
        torch.Size([3, 2])
    """

    def __init__(self, posterior: nn.Module) -> None:
        super().__init__()
        self.posterior = posterior
        self.posterior.head = nn.Identity()

    def forward(self, output: Any) -> Reparameterised:
        if isinstance(output, Reparameterised):
            return output
        parameters = output if isinstance(output, Tensor) else torch.cat(tuple(output), -1)
        return cast(Reparameterised, self.posterior(parameters))
