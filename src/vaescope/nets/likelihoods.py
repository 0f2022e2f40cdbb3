"""Network output -> p(x|z). The likelihood lives in the decoder, so no objective asks which."""

import math
from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn

from vaescope.distributions import Bernoulli, DiagonalGaussian, Distribution

__all__ = ["BernoulliLikelihood", "GaussianLikelihood", "Likelihood", "SquaredErrorLikelihood"]


class Likelihood(nn.Module, ABC):
    """Declares what a likelihood says of itself; subclasses are final."""

    #: The values of x that it allows.
    support: tuple[float, float] = (-math.inf, math.inf)

    @abstractmethod
    def forward(self, output: Tensor) -> Distribution: ...


class BernoulliLikelihood(Likelihood):
    """The output is logits; pixels may be grey."""

    support = (0.0, 1.0)

    def forward(self, output: Tensor) -> Bernoulli:
        return Bernoulli(output)


class GaussianLikelihood(Likelihood):
    """The output is the mean; one standard deviation for all of x, fixed or learnt."""

    log_scale: Tensor

    def __init__(self, scale: float = 1.0, *, learned: bool = False) -> None:
        super().__init__()
        log_scale = torch.tensor(math.log(scale))
        if learned:
            self.log_scale = nn.Parameter(log_scale)
        else:
            self.register_buffer("log_scale", log_scale, persistent=False)

    def forward(self, output: Tensor) -> DiagonalGaussian:
        return DiagonalGaussian(output, 2.0 * self.log_scale)


class SquaredErrorLikelihood(Likelihood):
    """A Gaussian of variance 1/2: -log p = ||x - x'||^2 + const, so beta is paper 002's beta."""

    log_variance: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("log_variance", torch.tensor(math.log(0.5)), persistent=False)

    def forward(self, output: Tensor) -> DiagonalGaussian:
        return DiagonalGaussian(output, self.log_variance)
