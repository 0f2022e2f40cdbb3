"""Features -> q(z|x), always in float32."""

import torch
from torch import Tensor, nn

from vaescope.distributions import DiagonalGaussian, FullGaussian, Point
from vaescope.vae import in_float32

__all__ = ["DiagonalPosterior", "FullPosterior", "PointPosterior"]


class DiagonalPosterior(nn.Module):
    """N(mean, diag(exp(log_variance))) from one linear layer of twice the width."""

    def __init__(self, features: int, latent: int) -> None:
        super().__init__()
        self.head = nn.Linear(features, 2 * latent)

    def forward(self, features: Tensor) -> DiagonalGaussian:
        mean, log_variance = in_float32(self.head, features).chunk(2, -1)
        return DiagonalGaussian(mean, log_variance)


class FullPosterior(nn.Module):
    """N(mean, L L'), L lower triangular; its diagonal is the exponential of what is learnt.

    Paper 002 section 3.3.2 uses this family to show that the diagonal one aligns the axes.
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
        placed = torch.einsum("...k,ki,kj->...ij", lower, eye[self.rows], eye[self.columns])
        diagonal = placed.diagonal(dim1=-2, dim2=-1)
        return FullGaussian(mean, placed.tril(-1) + torch.diag_embed(diagonal.exp()))


class PointPosterior(nn.Module):
    """The code of a plain autoencoder: a mean and no noise."""

    def __init__(self, features: int, latent: int) -> None:
        super().__init__()
        self.head = nn.Linear(features, latent)

    def forward(self, features: Tensor) -> Point:
        return Point(in_float32(self.head, features))
