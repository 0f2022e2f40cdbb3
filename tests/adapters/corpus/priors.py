"""Priors that are not N(0, I), and one that says it is."""

from typing import Any

import torch
from tests.adapters.corpus.layers import Layers, logvar_truth, probabilities, reparameterise
from tests.adapters.corpus.style import LATENTS, Style
from torch import Tensor, nn
from torch import distributions as td
from torch.nn import functional as F

__all__ = ["STYLES"]


class _Pair(Layers):
    def encode(self, x: Tensor) -> Any:
        return self._heads(x)

    def reparameterize(self, mu: Tensor, logvar: Tensor) -> Tensor:
        return reparameterise(mu, logvar)

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


class PseudoInputs(_Pair):
    """Pseudo-inputs that the encoder makes a mixture of, with log_p_z."""

    def __init__(self) -> None:
        super().__init__()
        self.number_components = 10
        self.means = nn.Sequential(nn.Linear(10, 64, bias=False), nn.Hardtanh(0.0, 1.0))
        nn.init.normal_(self.means[0].weight, 0.3, 0.3)
        self.register_buffer("idle_input", torch.eye(10))

    def log_p_z(self, z: Tensor) -> Tensor:
        mu, logvar = self.encode(self.means(self.idle_input).view(-1, 1, 8, 8))
        every = td.Normal(mu, (0.5 * logvar).exp()).log_prob(z.unsqueeze(1)).sum(2)
        return torch.logsumexp(every, dim=1) - torch.log(torch.tensor(10.0))


class LearnedMixture(_Pair):
    """Five Gaussians with weights; `prior` gives the distribution."""

    def __init__(self) -> None:
        super().__init__()
        self.prior_means = nn.Parameter(1.5 * torch.randn(5, LATENTS))
        self.prior_logvars = nn.Parameter(torch.zeros(5, LATENTS))
        self.prior_weights = nn.Parameter(torch.zeros(5))

    @property
    def prior(self) -> td.MixtureSameFamily:
        parts = td.Normal(self.prior_means, (0.5 * self.prior_logvars).exp())
        return td.MixtureSameFamily(
            td.Categorical(logits=self.prior_weights), td.Independent(parts, 1)
        )


class LearnedGaussian(_Pair):
    """A prior mean and a prior log variance among the parameters."""

    def __init__(self) -> None:
        super().__init__()
        self.prior_mu = nn.Parameter(torch.full((LATENTS,), 0.7))
        self.prior_logvar = nn.Parameter(torch.full((LATENTS,), 0.6))


class WideNormal(_Pair):
    """A fixed prior N(0, 4), kept as a distribution."""

    def __init__(self) -> None:
        super().__init__()
        self.prior = td.Normal(torch.zeros(LATENTS), 2 * torch.ones(LATENTS))


class StandardNormal(_Pair):
    """N(0, I), said as a distribution."""

    def __init__(self) -> None:
        super().__init__()
        self.prior = td.Independent(td.Normal(torch.zeros(LATENTS), torch.ones(LATENTS)), 1)


class HeavyTails(_Pair):
    def __init__(self) -> None:
        super().__init__()
        self.prior = td.StudentT(3.0, torch.zeros(LATENTS), 0.5 * torch.ones(LATENTS))


class LaplacePrior(_Pair):
    """A method that makes the prior, from buffers: pz_params."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("_pz_mu", torch.zeros(1, LATENTS))
        self.register_buffer("_pz_scale", torch.ones(1, LATENTS))

    @property
    def pz_params(self) -> tuple[Tensor, Tensor]:
        return self._pz_mu, F.softplus(self._pz_scale)

    def get_prior(self) -> td.Laplace:
        return td.Laplace(*self.pz_params)


def _learned(model: Any) -> tuple[Tensor, Tensor]:
    return model.prior_mu, model.prior_logvar.exp()


def _own_density(model: Any, z: Tensor) -> Tensor:
    log_p = model.prior.log_prob(z)
    return log_p if log_p.ndim == 1 else log_p.sum(1)


def _mixture_of_pseudo_inputs(model: Any) -> td.MixtureSameFamily:
    mu, logvar = model.encode(model.means(model.idle_input).view(-1, 1, 8, 8))
    parts = td.Independent(td.Normal(mu, (0.5 * logvar).exp()), 1)
    return td.MixtureSameFamily(td.Categorical(torch.ones(10)), parts)


def _style(name: str, make: Any, prior: Any = None, **more: Any) -> Style:
    answers = {
        "posterior": ("logvar", "pair,logvar"),
        **({} if prior is None else {"prior": prior}),
    }
    return Style(f"priors/{name}", make, logvar_truth, probabilities, answers=answers, **more)


def _two(model: Any) -> tuple[Tensor, Tensor]:
    return torch.zeros(LATENTS), torch.full((LATENTS,), 4.0)


STYLES = (
    _style("pseudo-inputs", PseudoInputs, (_mixture_of_pseudo_inputs,),
           log_prior=lambda m, z: m.log_p_z(z)),
    _style("learned mixture", LearnedMixture, (lambda m: m.prior,), log_prior=_own_density),
    _style("learned Gaussian", LearnedGaussian,
           (lambda m: td.Independent(td.Normal(_learned(m)[0], _learned(m)[1].sqrt()), 1),),
           gaussian_prior=_learned),
    _style("N(0, 4)", WideNormal, (lambda m: m.prior,), gaussian_prior=_two),
    _style("N(0, I), said", StandardNormal),
    _style("Student-t", HeavyTails, (lambda m: m.prior,), log_prior=_own_density),
    _style("Laplace by a method", LaplacePrior, (lambda m: m.get_prior(),),
           log_prior=lambda m, z: m.get_prior().log_prob(z).sum(1)),
)  # fmt: skip
