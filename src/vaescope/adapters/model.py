"""Anybody's VAE, read: two functions that return distributions, and what was inferred."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from vaescope.distributions import Distribution
from vaescope.vae import Prior

__all__ = ["Inference", "Model", "Posterior"]


@dataclass(frozen=True, eq=False)
class Posterior:
    """q(z|x) of a batch. A deterministic encoder has variance 0."""

    mean: Tensor  # (batch, latent), or (batch, channel, height, width) where latents are maps
    variance: Tensor
    covariance: Tensor | None = None  # (batch, latent, latent)


@dataclass(frozen=True)
class Inference:
    """One thing that was looked at rather than told."""

    what: str  # the argument that says it, e.g. "posterior"
    read: str  # e.g. "interleaved,logvar"
    why: str
    told: bool = False  # by the user, or by the model itself
    margin: float | None = None  # nats per image by which the next best reading is worse

    @property
    def value(self) -> str:
        """As the interface calls it."""
        return self.read

    def __str__(self) -> str:
        end = "" if self.told else f" To say otherwise, pass {self.what}=."
        return f"{self.what} is {self.read}: {self.why}.{end}"


@dataclass(frozen=True, eq=False)
class Model:
    """What a dissection needs of a model. Data go in as vaescope has them, images in [0, 1]."""

    name: str
    encode: Callable[..., Posterior]  # of x, or of x and what it is conditioned on
    raw: Callable[..., Tensor]  # latents -> the decoder's output in the shape of the data
    likelihood: Callable[[Tensor], Distribution]  # what that output means
    module: nn.Module | None  # None for plain functions
    inferred: tuple[Inference, ...]
    scaling: float | None = None  # what latent-diffusion pipelines multiply latents by
    #: p(x|z) where the output's values alone do not say it.
    density: Callable[..., Distribution] | None = None
    prior: Prior | None = None  # None: the model shows none, and N(0, I) is assumed
    encoder_sees_condition: bool = True  # where there is one

    def decode(self, z: Tensor, u: Tensor | None = None) -> Distribution:
        """p(x|z), or p(x|z, u)."""
        return self.likelihood(self.raw(z, u)) if self.density is None else self.density(z, u)

    @property
    def device(self) -> torch.device:
        parameters = iter(()) if self.module is None else self.module.parameters()
        return next((p.device for p in parameters), torch.device("cpu"))

    @contextmanager
    def evaluating(self, *, gradients: bool = False) -> Iterator[None]:
        """Without dropout, and with batch norm's running statistics; every part is then put back
        into the mode in which it came. Without gradients, unless they are asked for."""
        modes = {} if self.module is None else {m: m.training for m in self.module.modules()}
        if self.module is not None:
            self.module.eval()
        try:
            with torch.set_grad_enabled(gradients):
                yield
        finally:
            for module, mode in modes.items():
                module.training = mode
