"""Network output -> p(x|z). The likelihood lives in the decoder, so no objective asks which."""

import math
from abc import ABC, abstractmethod

import torch
from torch import Tensor, nn
from torch.nn import functional as F

from vaescope.distributions import Bernoulli, DiagonalGaussian, Distribution, Laplace

__all__ = [
    "BernoulliLikelihood",
    "GaussianLikelihood",
    "LaplaceLikelihood",
    "Likelihood",
    "LocalGaussianLikelihood",
    "SquaredErrorLikelihood",
]


class Likelihood(nn.Module, ABC):
    """The interface of a likelihood; subclasses are final.

    Example:
        >>> import vaescope as vs
        >>> vs.nets.BernoulliLikelihood().support
        (0.0, 1.0)
    """

    #: The values of x that it allows.
    support: tuple[float, float] = (-math.inf, math.inf)
    #: How many outputs it reads per value of x: the first axis of the output is so much longer.
    width: int = 1

    @abstractmethod
    def forward(self, output: Tensor) -> Distribution: ...


class BernoulliLikelihood(Likelihood):
    """Bernoulli pixels: the decoder's output is logits; pixels may be grey.

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> vs.nets.BernoulliLikelihood()(torch.zeros(1, 2)).mean.tolist()
        [[0.5, 0.5]]
    """

    support = (0.0, 1.0)

    def forward(self, output: Tensor) -> Bernoulli:
        return Bernoulli(output)


class GaussianLikelihood(Likelihood):
    """A Gaussian whose mean is the output; its one standard deviation is fixed or learnt.

    Args:
        scale: standard deviation; the initial value if it is learnt.
        learned: whether the standard deviation is trained.

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> p = vs.nets.GaussianLikelihood(scale=0.5)(torch.zeros(1, 2))
        >>> round(p.variance.max().item(), 2)
        0.25
    """

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
    """A Gaussian of variance 1/2: -log p = ||x - x'||^2 + const, so beta is zietlow2022's beta.

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> vs.nets.SquaredErrorLikelihood()(torch.zeros(1, 2)).variance.tolist()
        0.5
    """

    log_variance: Tensor

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("log_variance", torch.tensor(math.log(0.5)), persistent=False)

    def forward(self, output: Tensor) -> DiagonalGaussian:
        return DiagonalGaussian(output, self.log_variance)


class LocalGaussianLikelihood(Likelihood):
    """The output has the means and, behind them, values that softplus turns into standard
    deviations: each value of x has its own, which depends on z. mathieu2019 decodes the pinwheel in
    this way.

    Example:
        >>> import vaescope as vs
        >>> vs.nets.LocalGaussianLikelihood().width
        2
    """

    width = 2

    def forward(self, output: Tensor) -> DiagonalGaussian:
        mean, raw = output.chunk(2, 1)
        # The released encoder adds as much. Without it a point fitted exactly has infinite density.
        return DiagonalGaussian(mean, 2.0 * (F.softplus(raw) + 1e-6).log())


class LaplaceLikelihood(Likelihood):
    """A Laplace distribution whose mean is the output, with one fixed scale for all of x.
    mathieu2019's code uses 0.1; the scale enters distortions as a constant too.

    Args:
        scale: scale of the Laplace distribution.

    Example:
        >>> import torch
        >>> import vaescope as vs
        >>> vs.nets.LaplaceLikelihood(scale=0.1)(torch.zeros(1, 2)).mean.tolist()
        [[0.0, 0.0]]
    """

    log_scale: Tensor

    def __init__(self, scale: float = 0.1) -> None:
        super().__init__()
        self.register_buffer("log_scale", torch.tensor(math.log(scale)), persistent=False)

    def forward(self, output: Tensor) -> Laplace:
        return Laplace(output, self.log_scale)
