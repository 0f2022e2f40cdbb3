"""Pyro's programs, against what the networks in them give directly."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import vaescope as vs
from vaescope.errors import ReadingError, UsageError

pyro = pytest.importorskip("pyro", reason="the extra pyro is not installed")
import pyro.distributions as dist  # noqa: E402
from pyro.infer import SVI, Trace_ELBO  # noqa: E402
from pyro.optim import Adam  # noqa: E402


class Encoder(nn.Module):
    """As in Pyro's tutorial: one body, two heads, (loc, scale)."""

    def __init__(self, latent: int, labels: int = 0) -> None:
        super().__init__()
        self.body, self.loc = nn.Linear(64 + labels, 32), nn.Linear(32, latent)
        self.scale = nn.Linear(32, latent)

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor]:
        hidden = torch.relu(self.body(x))
        return self.loc(hidden), torch.exp(self.scale(hidden))


class VAE(nn.Module):
    """Bernoulli pixels and a prior that is not N(0, I)."""

    latent, labels = 4, 0

    def __init__(self) -> None:
        super().__init__()
        self.encoder = Encoder(self.latent, self.labels)
        self.decoder = nn.Sequential(
            nn.Linear(self.latent + self.labels, 32), nn.ReLU(), nn.Linear(32, 64), nn.Sigmoid()
        )

    def model(self, x: Tensor) -> None:
        pyro.module("decoder", self.decoder)
        shape = torch.Size((x.shape[0], self.latent))
        with pyro.plate("data", x.shape[0]):
            prior = dist.Normal(x.new_full(shape, 0.5), x.new_full(shape, 2.0)).to_event(1)
            z = pyro.sample("latent", prior)
            self.observe(self.decoder(z), x.reshape(-1, 64))

    def observe(self, loc: Tensor, x: Tensor) -> None:
        pyro.sample("obs", dist.Bernoulli(loc, validate_args=False).to_event(1), obs=x)

    def guide(self, x: Tensor) -> None:
        pyro.module("encoder", self.encoder)
        with pyro.plate("data", x.shape[0]):
            pyro.sample("latent", dist.Normal(*self.encoder(x.reshape(-1, 64))).to_event(1))


class Gaussian(VAE):
    """Its noise is a parameter of Pyro's store."""

    def observe(self, loc: Tensor, x: Tensor) -> None:
        scale = pyro.param("noise", torch.tensor(0.3), constraint=dist.constraints.positive)
        pyro.sample("obs", dist.Normal(loc, scale).to_event(1), obs=x)


class Conditional(VAE):
    """Both programs take labels."""

    labels = 10

    def model(self, x: Tensor, y: Tensor) -> None:  # type: ignore[override]
        pyro.module("decoder", self.decoder)
        with pyro.plate("data", x.shape[0]):
            shape = torch.Size((x.shape[0], self.latent))
            z = pyro.sample("latent", dist.Normal(x.new_zeros(shape), 1.0).to_event(1))
            self.observe(self.decoder(torch.cat([z, y], 1)), x.reshape(-1, 64))

    def guide(self, x: Tensor, y: Tensor) -> None:  # type: ignore[override]
        pyro.module("encoder", self.encoder)
        with pyro.plate("data", x.shape[0]):
            q = self.encoder(torch.cat([x.reshape(-1, 64), y], 1))
            pyro.sample("latent", dist.Normal(*q).to_event(1))


class Ladder(VAE):
    def guide(self, x: Tensor) -> None:
        with pyro.plate("data", x.shape[0]):
            loc, scale = self.encoder(x.reshape(-1, 64))
            first = pyro.sample("latent", dist.Normal(loc, scale).to_event(1))
            pyro.sample("top", dist.Normal(first, scale).to_event(1))


class Labels(VAE):
    def guide(self, x: Tensor) -> None:
        with pyro.plate("data", x.shape[0]):
            pyro.sample("y", dist.OneHotCategorical(logits=self.encoder(x.reshape(-1, 64))[0]))


class Peeking(VAE):
    """Sees the pixels that it decodes, as autoregressive decoders do."""

    def observe(self, loc: Tensor, x: Tensor) -> None:
        super().observe(0.5 * loc + 0.4 * x.roll(1, 1), x)


def trained(kind: type[VAE], x: Tensor, *given: Tensor, epochs: int = 1) -> tuple[VAE, float]:
    """The model after some steps, and its own loss of an image, averaged over draws."""
    pyro.clear_param_store()
    pyro.set_rng_seed(0)
    vae = kind()
    svi = SVI(vae.model, vae.guide, Adam({"lr": 1e-2}), Trace_ELBO())
    for start in epochs * list(range(0, 1024, 64)):
        svi.step(*(part[start : start + 64] for part in (x, *given)))
    losses = [svi.evaluate_loss(x, *given) / len(x) for _ in range(20)]
    return vae, float(np.mean(losses))


@pytest.fixture
def digits(digits: Tensor) -> Tensor:
    return digits[:1024]


def assert_kl(found: Any, mean: Tensor, std: Tensor, loc: float, scale: float) -> None:
    q = torch.distributions.Normal(mean.double(), std.double())
    kl = torch.distributions.kl_divergence(q, torch.distributions.Normal(loc, scale))
    latents = sorted(found.latents, key=lambda latent: latent.index)
    np.testing.assert_allclose([one.kl_nats for one in latents], kl.mean(0).detach(), rtol=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize(("kind", "output"), [(VAE, "a Bernoulli"), (Gaussian, "a Normal of")])
def test_posterior_prior_and_likelihood_are_those_of_the_programs(
    kind: type[VAE], output: str, digits: Tensor
) -> None:
    vae, loss = trained(kind, digits)
    store = {name: value.clone() for name, value in pyro.get_param_store().items()}
    opened = vs.open_model(vae, digits)
    mean, std = vae.encoder(digits.reshape(-1, 64)[opened.rows])
    np.testing.assert_allclose(opened.codes.mean, mean.detach(), atol=1e-5)
    np.testing.assert_allclose(opened.codes.variance, std.detach() ** 2, rtol=1e-4)
    assert_kl(vs.inspect(vae, digits, effort="latents"), mean, std, 0.5, 2.0)
    assert not opened.prior_assumed
    assert output in next(one.why for one in opened.inferred if one.what == "output")
    assert "condition" not in {one.what for one in opened.inferred}  # its guide takes x alone
    places = np.arange(len(digits))
    elbo = [opened.elbo(places, np.random.default_rng(seed).normal(size=(1024, 4))).mean()
            for seed in range(20)]  # fmt: skip
    assert np.mean(elbo) == pytest.approx(-loss, rel=5e-3)
    after = dict(pyro.get_param_store().items())
    assert set(after) == set(store)
    assert all(torch.equal(after[name], value) for name, value in store.items())


def test_a_model_that_was_never_trained_leaves_nothing_in_pyros_store(digits: Tensor) -> None:
    pyro.clear_param_store()
    vs.open_model(VAE(), digits, value_range=(0, 1))
    assert not list(pyro.get_param_store().keys())


def test_labels_that_a_guide_may_be_given_and_was_not_are_said(digits: Tensor) -> None:
    class Optional(VAE):
        def guide(self, x: Tensor, y: Tensor | None = None) -> None:
            super().guide(x)

    opened = vs.open_model(Optional(), digits, value_range=(0, 1))
    (said,) = [one.why for one in opened.inferred if one.what == "condition"]
    assert "guide also takes y" in said


@pytest.mark.slow
def test_labels_go_to_both_programs_as_the_condition(digits: Tensor) -> None:
    from sklearn.datasets import load_digits

    y = torch.from_numpy(load_digits().target[: len(digits)])
    hot = nn.functional.one_hot(y, 10).float()
    vae, loss = trained(Conditional, digits, hot, epochs=10)
    opened = vs.open_model(vae, digits, condition=y.numpy())
    mean, _ = vae.encoder(torch.cat([digits.reshape(-1, 64), hot], 1)[opened.rows])
    np.testing.assert_allclose(opened.codes.mean, mean.detach(), atol=1e-5)
    places = np.arange(len(digits))
    assert opened.elbo(places, opened.noise(places)).mean() == pytest.approx(-loss, rel=0.01)
    found = vs.inspect(vae, digits, condition=y.numpy(), effort="fast")
    z = torch.cat([vae.encoder(torch.cat([digits.reshape(-1, 64), hot], 1))[0], hot], 1)
    missed = (vae.decoder(z) - digits.reshape(-1, 64)).square().mean()
    wanted = missed / (digits - digits.mean(0)).square().mean()
    assert found.unexplained == pytest.approx(float(wanted), rel=0.05)  # each with its own label
    assert found.fit is not None and found.fit.log_likelihood_nats > -loss


@pytest.mark.parametrize(
    ("kind", "says"),
    [
        (Ladder, "draws latent, top; wanted one latent.*pass encode="),
        (Labels, "draws 'y', which is discrete.*condition="),
        (Peeking, "sees x itself when it decodes"),
    ],
)
def test_other_programs_are_refused_in_two_lines(
    kind: type[VAE], says: str, digits: Tensor
) -> None:
    with pytest.raises((UsageError, ReadingError), match=says):
        vs.open_model(kind(), digits)
