"""What an objective is and what it returns."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from torch import Tensor, nn

from vaescope.distributions import Reparameterised
from vaescope.vae import VAE, Batch

__all__ = ["Objective", "Terms"]


@dataclass(frozen=True)
class Terms:
    """A loss to minimise and the parts it is made of: nats per example, sums over dimensions."""

    loss: Tensor
    parts: Mapping[str, Tensor]
    posterior: Reparameterised
    #: Losses of further optimiser groups by name, e.g. a critic's.
    others: Mapping[str, Tensor] = field(default_factory=dict)


class Objective(ABC):
    """A value: (vae, batch, step, noise) -> Terms. Holds strengths; knows no optimiser."""

    #: How many standard normal tensors of shape (batch, latent) it takes per step.
    draws: ClassVar[int] = 1

    @property
    def modules(self) -> Mapping[str, nn.Module]:
        """Networks of its own, one optimiser group each. Most objectives have none."""
        return {}

    @abstractmethod
    def __call__(self, vae: VAE, batch: Batch, step: Tensor, noise: Tensor) -> Terms:
        """`noise` has shape (draws, batch, latent)."""
