"""A variational autoencoder: three networks that return distributions, and no loss.

Kingma and Welling 2014, https://arxiv.org/abs/1312.6114.
"""

from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor, nn

from vaescope.distributions import Distribution, Reparameterised
from vaescope.errors import UsageError
from vaescope.prior_density import PriorDensity
from vaescope.types import Floats

__all__ = [
    "VAE",
    "Batch",
    "ConditionalEncoder",
    "Decoder",
    "Encoder",
    "NoDecoder",
    "Prior",
    "as_input",
    "in_float32",
]


@dataclass(frozen=True)
class Batch:
    """The data of one training step.

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> vs.Batch(torch.zeros(2, 8), torch.arange(2), dataset_size=600).x.shape
        torch.Size([2, 8])
    """

    x: Tensor
    index: Tensor  # (batch,) rows in the dataset
    dataset_size: int
    u: Tensor | None = None  # auxiliary variables of identifiable VAEs
    pair: Tensor | None = None  # the second row of each pair, as x; by the setting `pairs`
    shared: Tensor | None = None  # (batch,) the factor that the rows of a pair share, if chosen


def as_input(rows: Floats, device: torch.device) -> Tensor:
    """Rows as an encoder takes them: float32 on the device, images in channels-last layout."""
    x = torch.from_numpy(rows).to(device, torch.float32)
    return x.contiguous(memory_format=torch.channels_last) if x.ndim == 4 else x


def in_float32(module: nn.Module, x: Tensor) -> Tensor:
    """`module(x)` in float32, whatever precision surrounds it.

    Posterior means of passive latents are of order 1e-2: bf16 heads would drown them.
    """
    if torch.is_autocast_enabled(x.device.type):
        with torch.autocast(x.device.type, enabled=False):
            return cast(Tensor, module(x.float()))
    return cast(Tensor, module(x))


class Encoder(nn.Module):
    """x -> q(z|x): a body that makes features and a posterior that interprets them.

    Args:
        body: x to features.
        posterior: features to q(z|x).

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> encoder = vs.nets.Encoder(torch.nn.Identity(), vs.nets.DiagonalPosterior(8, 2))
        >>> encoder(torch.zeros(3, 8)).mean.shape
        torch.Size([3, 2])
    """

    def __init__(self, body: nn.Module, posterior: nn.Module) -> None:
        super().__init__()
        self.body = body
        self.posterior = posterior

    def forward(self, x: Tensor, u: Tensor | None = None) -> Reparameterised:
        del u  # only a conditional encoder looks at it
        return cast(Reparameterised, self.posterior(self.body(x)))


class ConditionalEncoder(nn.Module):
    """x, u -> q(z|x, u): a body that makes features of both and a posterior that reads them."""

    def __init__(self, body: nn.Module, posterior: nn.Module) -> None:
        super().__init__()
        self.body = body
        self.posterior = posterior

    def forward(self, x: Tensor, u: Tensor | None = None) -> Reparameterised:
        if u is None:
            raise UsageError(
                "This encoder depends on u, and there is none.",
                "Give the auxiliary variable of the data, e.g. "
                "auxiliary=vaescope.data.auxiliary.scaled(data).",
            )
        return cast(Reparameterised, self.posterior(self.body(x, u)))


class Decoder(nn.Module):
    """z -> p(x|z): a body that makes the output and a likelihood that interprets it.

    Args:
        body: z to an output.
        likelihood: output to p(x|z).

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> decoder = vs.nets.Decoder(torch.nn.Linear(2, 8), vs.nets.SquaredErrorLikelihood())
        >>> decoder(torch.zeros(3, 2)).mean.shape
        torch.Size([3, 8])
    """

    def __init__(self, body: nn.Module, likelihood: nn.Module) -> None:
        super().__init__()
        self.body = body
        self.likelihood = likelihood

    def forward(self, z: Tensor) -> Distribution:
        # As z, which is never in half precision: out of bf16, and float64 stays what it is.
        return cast(Distribution, self.likelihood(self.body(z).to(z.dtype)))


class NoDecoder(nn.Module):
    """In place of a decoder where nothing is decoded, as in contrastive learning."""

    why = "the model has no decoder: contrastive learning trains an encoder alone"

    def forward(self, z: Tensor) -> Distribution:
        del z
        raise UsageError(
            "This model has no decoder: contrastive learning trains an encoder alone.",
            "Use commands that need codes only, e.g. vaescope encode and vaescope measure.",
        )


class Prior(nn.Module, ABC):
    """u or nothing -> p(z|u). Declares the calls; priors are in `vaescope.priors`."""

    @abstractmethod
    def forward(self, u: Tensor | None = None) -> Reparameterised: ...

    def density(self, u: Tensor | None = None) -> PriorDensity:
        """The same as a NumPy density, which travels in codes; per row where it depends on u."""
        del u
        raise UsageError(
            f"{type(self).__name__} has no known density, so codes cannot be compared with it.",
            "Give it a method density(u=None) that returns one of vaescope.prior_density, e.g. "
            "GaussianDensity(mean, variance).",
        )


class VAE(nn.Module):
    """An encoder, a decoder and a prior. Final: methods are objectives, not subclasses.

    Args:
        encoder: x (and u) to q(z|x).
        decoder: z to p(x|z).
        prior: p(z), or p(z|u).

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> pair = vs.nets.linear_pair((8,), 2)
        >>> encoder = vs.nets.Encoder(pair.encoder, vs.nets.DiagonalPosterior(pair.features, 2))
        >>> decoder = vs.nets.Decoder(pair.decoder, vs.nets.SquaredErrorLikelihood())
        >>> vae = vs.VAE(encoder, decoder, vs.priors.StandardNormal(2))
        >>> vae.encoder(torch.zeros(3, 8)).mean.shape
        torch.Size([3, 2])
    """

    def __init__(
        self, encoder: Encoder | ConditionalEncoder, decoder: Decoder, prior: Prior
    ) -> None:
        super().__init__()
        self.encoder = encoder
        self.decoder = decoder
        self.prior = prior
        # The layout in which CPU convolutions are fastest; the values are the same.
        self.to(memory_format=torch.channels_last)  # type: ignore[call-overload]
