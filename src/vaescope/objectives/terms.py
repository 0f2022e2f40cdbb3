"""What an objective is and what it returns."""

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import ClassVar

from torch import Tensor, nn

from vaescope.distributions import Reparameterised
from vaescope.vae import VAE, Batch

__all__ = ["Objective", "Pull", "Terms"]


@dataclass(frozen=True)
class Terms:
    """A loss to minimise and its parts: nats per example, summed over dimensions.

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> terms = vs.Terms(torch.tensor(3.0), {"rate": torch.tensor(1.0)}, posterior=None)
        >>> terms.loss.item()
        3.0
    """

    loss: Tensor
    parts: Mapping[str, Tensor]
    posterior: Reparameterised
    #: Losses of further optimiser groups by name, e.g. a critic's.
    others: Mapping[str, Tensor] = field(default_factory=dict)


@dataclass(frozen=True)
class Pull:
    """How an objective's terms other than the distortion act on the posterior of one latent.

    For q = N(m, v) of one example they are

        weight / factor * (-E_q log p(z)) - weight / 2 log v,

    so that with a Gaussian prior of variance s a latent that the decoder ignores has v = factor s,
    and any other, G the decoder's Fisher metric, v_j = 1 / (1 / (factor s) + G_jj / weight): the
    derivative by v_j is 1/2 (weight / (factor s) + G_jj - weight / v_j). (zietlow2022 chapter 3
    has the same with s = 1, weight = beta.) A penalty `spread` * weight / factor * (v - 1)^2 on a
    latent of constant mean comes on top for DIP-VAE II, and `deviation` * weight * sqrt(v) for
    SlowVAE.

    None in place of a number means that no such law holds; the sentence beside it says why.

    Example:
        >>> import vaescope as vs
        >>> vs.objectives.Pull(weight=4.0, factor=1.0).weight
        4.0
    """

    weight: float | None = None
    factor: float | None = None  # factor of the prior's variance, as above
    spread: float = 0.0
    deviation: float = 0.0
    only_gaussian: bool = False  # `factor` is true of Gaussian priors only
    no_weight: str = "the objective does not state how it weighs the rate"  # why
    no_unused: str = "the objective does not state what a latent that ignores x becomes"  # why


class Objective(ABC):
    """A function (vae, batch, step, noise) -> Terms with its strengths; it does not depend on an
    optimiser.

    Example:
        >>> import vaescope as vs
        >>> vs.objectives.BetaVAE().rate_weight(0)
        1.0
    """

    #: How many standard normal tensors of shape (batch, latent) it takes per step.
    draws: ClassVar[int] = 1
    #: Whether it looks at `Batch.pair`; training without the setting `pairs` is then refused.
    needs_pairs: ClassVar[bool] = False

    @property
    def modules(self) -> Mapping[str, nn.Module]:
        """Networks of its own, one optimiser group each. Most objectives have none."""
        return {}

    @abstractmethod
    def __call__(self, vae: VAE, batch: Batch, step: Tensor, noise: Tensor) -> Terms:
        """`noise` has shape (draws, batch, latent)."""

    def pull(self, step: float) -> Pull:
        """What it does to posteriors at a step, `math.inf` being the end; by default not known."""
        del step
        return Pull()

    def rate_weight(self, step: float) -> float | None:
        """The weight in the law of posterior variances (`Pull`); None where none holds, and then
        `pull(step).no_weight` says why."""
        return self.pull(step).weight
