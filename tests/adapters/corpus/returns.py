"""What encoders return: pairs, triples, dictionaries, distributions, one tensor of parameters."""

from collections import namedtuple
from dataclasses import dataclass
from typing import Any

import torch
from tests.adapters.corpus.layers import Layers, logvar_truth, probabilities, reparameterise
from tests.adapters.corpus.style import Style
from torch import Tensor, nn
from torch import distributions as td
from torch.nn import functional as F

__all__ = ["STYLES"]


class Basic(nn.Module):
    """The example that most people begin with: flat vectors, fc21 and fc22."""

    def __init__(self) -> None:
        super().__init__()
        self.fc1 = nn.Linear(64, 48)
        self.fc21 = nn.Linear(48, 6)
        self.fc22 = nn.Linear(48, 6)
        self.fc3 = nn.Linear(6, 48)
        self.fc4 = nn.Linear(48, 64)

    def encode(self, x: Tensor) -> tuple[Tensor, Tensor]:
        h1 = F.relu(self.fc1(x))
        return self.fc21(h1), self.fc22(h1)

    def reparameterize(self, mu: Tensor, logvar: Tensor) -> Tensor:
        std = torch.exp(0.5 * logvar)
        return mu + torch.randn_like(std) * std

    def decode(self, z: Tensor) -> Tensor:
        return torch.sigmoid(self.fc4(F.relu(self.fc3(z))))

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        mu, logvar = self.encode(x.view(-1, 64))
        return self.decode(self.reparameterize(mu, logvar)), mu, logvar


def basic_truth(model: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    h = F.relu(model.fc1(x.flatten(1)))
    return model.fc21(h), model.fc22(h).exp()


def basic_output(model: Any, z: Tensor) -> Tensor:
    return torch.sigmoid(model.fc4(F.relu(model.fc3(z)))).view(-1, 1, 8, 8)


class SampleFirst(Layers):
    def encode(self, x: Tensor) -> Any:
        mu, logvar = self._heads(x)
        return reparameterise(mu, logvar), mu, logvar

    def forward(self, x: Tensor) -> Any:
        z, mu, logvar = self.encode(x)
        return self.decode(z), mu, logvar


class SampleLast(Layers):
    def encode(self, x: Tensor) -> Any:
        mu, logvar = self._heads(x)
        return mu, logvar, reparameterise(mu, logvar)

    def forward(self, x: Tensor) -> Any:
        mu, logvar, z = self.encode(x)
        return self.decode(z), mu, logvar, z


class Named(Layers):
    def encode(self, x: Tensor) -> Any:
        mu, logvar = self._heads(x)
        return {"z": reparameterise(mu, logvar), "mu": mu, "logvar": logvar}

    def forward(self, x: Tensor) -> Any:
        codes = self.encode(x)
        return {"recon": self.decode(codes["z"]), **codes}


class NamedVariance(Layers):
    """As single-cell models name them: q_m and a variance q_v."""

    def encode(self, x: Tensor) -> Any:
        q_m, raw = self._heads(x)
        q_v = torch.exp(raw) + 1e-4
        return {"q_m": q_m, "q_v": q_v, "z": td.Normal(q_m, q_v.sqrt()).rsample()}

    def forward(self, x: Tensor) -> Any:
        return self.decode(self.encode(x)["z"])


@dataclass
class Encoded:
    posterior_mean: Tensor
    posterior_log_var: Tensor
    latent: Tensor


class AsDataclass(Layers):
    def encode(self, x: Tensor) -> Encoded:
        mu, logvar = self._heads(x)
        return Encoded(mu, logvar, reparameterise(mu, logvar))

    def forward(self, x: Tensor) -> Tensor:
        return self.decode(self.encode(x).latent)


Code = namedtuple("Code", ["mean", "logvar"])


class AsNamedtuple(Layers):
    def encode(self, x: Tensor) -> Code:
        return Code(*self._heads(x))

    def forward(self, x: Tensor) -> Any:
        code = self.encode(x)
        return self.decode(reparameterise(*code)), code


class AsNormal(Layers):
    def encode(self, x: Tensor) -> td.Normal:
        mu, logvar = self._heads(x)
        return td.Normal(mu, (0.5 * logvar).exp())

    def forward(self, x: Tensor) -> Any:
        posterior = self.encode(x)
        return self.decode(posterior.rsample()), posterior


class AsIndependent(Layers):
    def encode(self, x: Tensor) -> td.Independent:
        mu, logvar = self._heads(x)
        return td.Independent(td.Normal(mu, (0.5 * logvar).exp()), 1)

    def forward(self, x: Tensor) -> Any:
        posterior = self.encode(x)
        return self.decode(posterior.rsample()), posterior


class AsMultivariate(Layers):
    def encode(self, x: Tensor) -> td.MultivariateNormal:
        mu, logvar = self._heads(x)
        return td.MultivariateNormal(mu, scale_tril=(0.5 * logvar).exp().diag_embed())

    def forward(self, x: Tensor) -> Any:
        posterior = self.encode(x)
        return self.decode(posterior.rsample()), posterior


class SampleAndDistribution(Layers):
    def encode(self, x: Tensor) -> Any:
        mu, logvar = self._heads(x)
        q = td.Normal(mu, F.softplus(logvar))
        return q.rsample(), q

    def forward(self, x: Tensor) -> Any:
        z, q = self.encode(x)
        return self.decode(z), q


class LastAxis(Layers):
    """Parameters of shape (n, latent, 2), beside the samples; the second is a log scale."""

    def encode(self, x: Tensor) -> Any:
        params = torch.stack(self._heads(x), dim=-1)
        mu, log_sigma = params.select(-1, 0), params.select(-1, 1)
        return mu + torch.randn_like(mu) * log_sigma.exp(), params

    def decode(self, z: Tensor) -> Any:
        logits = self._drawn(z).view(-1, 1, 8, 8)
        return torch.sigmoid(logits), logits

    def reconstruct_img(self, x: Tensor) -> Any:
        zs, params = self.encode(x)
        return (*self.decode(zs), zs, params)


def log_scale_truth(model: Any, x: Tensor) -> tuple[Tensor, Tensor]:
    mu, log_sigma = model._heads(x)
    return mu, (2 * log_sigma).exp()


class Interleaved(Layers):
    """One tensor (n, latent, 2) seen as (n, 2 * latent)."""

    def encode(self, x: Tensor) -> Tensor:
        return torch.stack(self._heads(x), dim=2).flatten(1)

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x).view(len(x), -1, 2).unbind(-1)
        return self.decode(reparameterise(mu, logvar)), mu, logvar


class Halves(Layers):
    """One tensor of parameters, cut in two where it is used."""

    def encode(self, x: Tensor) -> Tensor:
        return torch.cat(self._heads(x), dim=1)

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x).chunk(2, dim=1)
        return self.decode(reparameterise(mu, logvar)), mu, logvar


class Stacked(Layers):
    """One tensor of shape (n, 2, latent)."""

    def encode(self, x: Tensor) -> Tensor:
        return torch.stack(self._heads(x), dim=1)

    def forward(self, x: Tensor) -> Any:
        params = self.encode(x)
        return self.decode(reparameterise(params[:, 0], params[:, 1])), params


class SampleAndParameters(Layers):
    def encode(self, x: Tensor) -> Any:
        params = torch.cat(self._heads(x), dim=1)
        return reparameterise(*params.chunk(2, dim=1)), params

    def forward(self, x: Tensor) -> Any:
        z, params = self.encode(x)
        return self.decode(z), params


class FeaturesFirst(Layers):
    """Features of the last layer come with the two heads."""

    def encode(self, x: Tensor) -> Any:
        h = F.relu(self.fc1(x.flatten(1)))
        return h, self.fc_mu(h), self.fc_var(h)

    def forward(self, x: Tensor) -> Any:
        _, mu, logvar = self.encode(x)
        return self.decode(reparameterise(mu, logvar)), mu, logvar


class SampleOnly(Layers):
    """encode gives samples, and the KL is left in an attribute."""

    def encode(self, x: Tensor) -> Tensor:
        mu, logvar = self._heads(x)
        self.kl = 0.5 * (mu**2 + logvar.exp() - logvar - 1).sum()
        return reparameterise(mu, logvar)

    def forward(self, x: Tensor) -> Tensor:
        return self.decode(self.encode(x))


class MeanAndStdFromForward(Layers):
    """encode gives means; forward gives the whole posterior."""

    def encode(self, x: Tensor) -> Tensor:
        return self._heads(x)[0]

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self._heads(x)
        return self.decode(reparameterise(mu, logvar)), mu, logvar


def _style(name: str, make: Any, posterior: Any = logvar_truth, **more: Any) -> Style:
    more.setdefault("answers", {"posterior": ("pair,logvar", "logvar")})
    return Style(f"returns/{name}", make, posterior, probabilities, **more)


STYLES = (
    Style("returns/basic", Basic, basic_truth, basic_output,
          answers={"posterior": ("logvar", "pair,logvar"), "output": ("probabilities",),
                   "value_range": ((0.0, 1.0),)}),
    _style("sample, mu, logvar", SampleFirst),
    _style("mu, logvar, sample", SampleLast),
    _style("dict", Named),
    _style("dict of q_m, q_v", NamedVariance,
           lambda m, x: (m._heads(x)[0], m._heads(x)[1].exp() + 1e-4),
           answers={"posterior": ("variance", "named,variance")}),
    _style("dataclass", AsDataclass),
    _style("namedtuple", AsNamedtuple),
    _style("Normal", AsNormal),
    _style("Independent", AsIndependent),
    _style("MultivariateNormal", AsMultivariate, fit=False),
    _style("sample, Normal", SampleAndDistribution,
           lambda m, x: (m._heads(x)[0], F.softplus(m._heads(x)[1]) ** 2)),
    _style("sample, params (n, d, 2)", LastAxis, log_scale_truth,
           answers={"posterior": ("logstd", "interleaved,logstd")}),
    _style("interleaved", Interleaved, answers={"posterior": ("interleaved,logvar",)}),
    _style("halves", Halves, answers={"posterior": ("halves,logvar",)}),
    _style("stacked (n, 2, d)", Stacked, answers={"posterior": ("halves,logvar",)}),
    _style("sample, params (n, 2d)", SampleAndParameters,
           answers={"posterior": ("halves,logvar",)}),
    _style("features, mu, logvar", FeaturesFirst),
    _style("sample only", SampleOnly),
    _style("mean; forward the rest", MeanAndStdFromForward),
)  # fmt: skip
