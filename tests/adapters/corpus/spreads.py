"""How spreads are given: log variance, log scale, standard deviation, variance, fixed, none."""

from typing import Any

import torch
from tests.adapters.corpus.layers import Layers, logvar_truth, probabilities, reparameterise
from tests.adapters.corpus.style import Style
from torch import Tensor, nn
from torch.nn import functional as F

__all__ = ["STYLES"]


class LogSigma(Layers):
    """The second head is a log standard deviation."""

    def encode(self, x: Tensor) -> Any:
        return self._heads(x)

    def reparameterize(self, mu: Tensor, log_sigma: Tensor) -> Tensor:
        return mu + torch.exp(log_sigma) * torch.randn_like(mu)

    def forward(self, x: Tensor) -> Any:
        mu, log_sigma = self.encode(x)
        return self.decode(self.reparameterize(mu, log_sigma)), mu, log_sigma


class Softplus(Layers):
    """A standard deviation by softplus."""

    def encode(self, x: Tensor) -> Any:
        mu, raw = self._heads(x)
        return mu, F.softplus(raw) + 1e-5

    def sample(self, mu: Tensor, sigma: Tensor) -> Tensor:
        return mu + sigma * torch.randn_like(sigma)

    def forward(self, x: Tensor) -> Any:
        mu, sigma = self.encode(x)
        return self.decode(self.sample(mu, sigma)), mu, sigma


class Variance(Layers):
    """A variance by softplus, whose root is taken where samples are drawn."""

    def encode(self, x: Tensor) -> Any:
        mu, raw = self._heads(x)
        return mu, F.softplus(raw) + 1e-8

    def reparametrize(self, mu: Tensor, var: Tensor) -> Tensor:
        return mu + torch.sqrt(var) * torch.randn_like(mu)

    def forward(self, x: Tensor) -> Any:
        mu, var = self.encode(x)
        return self.decode(self.reparametrize(mu, var)), mu, var


class SampledVariance(Layers):
    """Sample, mean and variance, as (z, m, v)."""

    def encode(self, x: Tensor) -> Any:
        m, raw = self._heads(x)
        v = F.softplus(raw) + 1e-8
        return m + v.sqrt() * torch.randn_like(m), m, v

    def forward(self, x: Tensor) -> Any:
        return self.decode(self.encode(x)[0])


class ExponentialStd(Layers):
    def encode(self, x: Tensor) -> Any:
        mu, log_var = self._heads(x)
        return mu, torch.exp(log_var / 2)

    def forward(self, x: Tensor) -> Any:
        mu, std = self.encode(x)
        return self.decode(mu + std * torch.randn_like(std)), mu, std


class Clamped(Layers):
    def encode(self, x: Tensor) -> Any:
        mu, logvar = self._heads(x)
        return mu, logvar.clamp(-3.0, 1.0)

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        return self.decode(reparameterise(mu, logvar)), mu, logvar


class SoftplusLogVariance(Layers):
    """A log variance that went through softplus: above 0, as standard deviations are."""

    def encode(self, x: Tensor) -> Any:
        mu, raw = self._heads(x)
        log_var = F.softplus(raw)
        return reparameterise(mu, log_var), mu, log_var

    def forward(self, x: Tensor) -> Any:
        z, mu, log_var = self.encode(x)
        return self.decode(z), mu, log_var


class UnitVariance(Layers):
    """q(z|x) = N(mu(x), I): informative means, a fixed variance of 1."""

    def encode(self, x: Tensor) -> Any:
        mu = self._heads(x)[0]
        return mu, torch.zeros_like(mu)

    def reparameterize(self, mu: Tensor, logvar: Tensor) -> Tensor:
        return reparameterise(mu, logvar)

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


class FixedSpread(Layers):
    """One learned log variance for each latent, the same for all images."""

    def __init__(self) -> None:
        super().__init__()
        self.log_var = nn.Parameter(torch.full((6,), -0.1))

    def encode(self, x: Tensor) -> Any:
        mu = self._heads(x)[0]
        return mu, self.log_var.expand_as(mu)

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        return self.decode(reparameterise(mu, logvar)), mu, logvar


class SharedStd(Layers):
    """One standard deviation for all latents of an image, shape (n, 1)."""

    def __init__(self) -> None:
        super().__init__()
        self.fc_std = nn.Linear(48, 1)

    def encode(self, x: Tensor) -> Any:
        h = F.relu(self.fc1(x.flatten(1)))
        return self.fc_mu(h), F.softplus(self.fc_std(h))

    def forward(self, x: Tensor) -> Any:
        mu, std = self.encode(x)
        return self.decode(mu + std * torch.randn_like(mu)), mu, std


class BoundedStd(Layers):
    """0.1 + 0.9 sigmoid, as neural processes have it."""

    def encode(self, x: Tensor) -> Any:
        mu, raw = self._heads(x)
        return torch.distributions.Normal(mu, 0.1 + 0.9 * torch.sigmoid(raw))

    def forward(self, x: Tensor) -> Any:
        q = self.encode(x)
        return torch.distributions.Bernoulli(probs=self.decode(q.rsample())), q


class SquashedHeads(Layers):
    """Means through sigmoid, log variances through tanh."""

    def encode(self, x: Tensor) -> Any:
        mu, raw = self._heads(x)
        return torch.sigmoid(mu), torch.tanh(raw)

    def reparameterize(self, mu: Tensor, logvar: Tensor) -> Tensor:
        return reparameterise(mu, logvar)

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


class PlainAutoencoder(Layers):
    """No noise at all, and no head for a spread."""

    def __init__(self) -> None:
        super().__init__()
        del self.fc_var

    def _heads(self, x: Tensor) -> tuple[Tensor, Tensor]:
        mu = self.fc_mu(F.relu(self.fc1(x.flatten(1))))
        return mu, torch.zeros_like(mu)

    def encode(self, x: Tensor) -> Tensor:
        return self._heads(x)[0]

    def forward(self, x: Tensor) -> Tensor:
        return self.decode(self.encode(x))


class SamplesInTraining(Layers):
    """In evaluation mode the sample is the mean."""

    def encode(self, x: Tensor) -> Any:
        return self._heads(x)

    def reparameterize(self, mu: Tensor, logvar: Tensor) -> Tensor:
        return reparameterise(mu, logvar) if self.training else mu

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


class LogSigmaInTraining(Layers):
    """A log scale, drawn with in training mode only."""

    def encode(self, x: Tensor) -> Any:
        return self._heads(x)

    def reparameterize(self, mean: Tensor, log_std: Tensor) -> Tensor:
        return mean + log_std.exp() * torch.randn_like(mean) if self.training else mean

    def forward(self, x: Tensor) -> Any:
        mean, log_std = self.encode(x)
        return self.decode(self.reparameterize(mean, log_std)), mean, log_std


def _by(spread: Any) -> Any:
    """Truth of a class whose second head becomes a variance by `spread`."""

    def truth(model: Any, x: Tensor) -> tuple[Tensor, Tensor]:
        mu, raw = model._heads(x)
        return mu, spread(raw)

    return truth


def _style(name: str, make: Any, posterior: Any, answer: str, **more: Any) -> Style:
    answers = {"posterior": (answer, f"pair,{answer}")}
    return Style(f"spreads/{name}", make, posterior, probabilities, answers=answers, **more)


def _shared(model: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    h = F.relu(model.fc1(x.flatten(1)))
    mu = model.fc_mu(h)
    return mu, F.softplus(model.fc_std(h)).square().expand_as(mu)


def _squashed(model: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    mu, raw = model._heads(x)
    return torch.sigmoid(mu), torch.tanh(raw).exp()


STYLES = (
    _style("log sigma", LogSigma, _by(lambda s: (2 * s).exp()), "logstd"),
    _style("softplus std", Softplus, _by(lambda s: (F.softplus(s) + 1e-5) ** 2), "std"),
    _style("softplus variance", Variance, _by(lambda s: F.softplus(s) + 1e-8), "variance"),
    _style("sample, mean, variance", SampledVariance, _by(lambda s: F.softplus(s) + 1e-8),
           "variance"),
    _style("exponential std", ExponentialStd, logvar_truth, "std"),
    _style("clamped log variance", Clamped, _by(lambda s: s.clamp(-3.0, 1.0).exp()), "logvar"),
    _style("softplus log variance", SoftplusLogVariance, _by(lambda s: F.softplus(s).exp()),
           "logvar"),
    _style("variance 1", UnitVariance, _by(torch.ones_like), "logvar"),
    _style("learned, the same for all", FixedSpread,
           lambda m, x: (m._heads(x)[0], m.log_var.exp().expand(len(x), -1)), "logvar"),
    _style("std (n, 1)", SharedStd, _shared, "std"),
    _style("bounded std, Normal", BoundedStd, _by(lambda s: (0.1 + 0.9 * s.sigmoid()) ** 2), "std"),
    _style("squashed heads", SquashedHeads, _squashed, "logvar"),
    Style("spreads/none", PlainAutoencoder, _by(torch.zeros_like), probabilities,
          deterministic=True, fit=False, answers={"posterior": ("mean",)}),
    _style("sampling in training only", SamplesInTraining, logvar_truth, "logvar"),
    _style("log sigma, in training only", LogSigmaInTraining, _by(lambda s: (2 * s).exp()),
           "logstd"),
)  # fmt: skip
