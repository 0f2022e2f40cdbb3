"""Decoders whose family shows itself: levels that number bytes, transformed distributions, a
posterior that is told against what is drawn."""

from typing import Any

import numpy as np
import pytest
import torch
from tests.adapters.corpus.layers import Layers, reparameterise
from tests.adapters.corpus.style import LATENTS, digits, mlp
from torch import Tensor, nn
from torch import distributions as td
from torch.nn import functional as F

import vaescope as vs

LEVELS = 17


class Levels(nn.Module):
    """Logits of 17 levels, the numbers that digits have as bytes."""

    def __init__(self, unit: bool) -> None:
        super().__init__()
        self.unit = unit
        self.body, self.back = mlp(64, 48, 2 * LATENTS), mlp(LATENTS, 48, 64 * LEVELS)

    def encode(self, x: Tensor) -> Any:
        x = x.flatten(1)
        mu, logvar = self.body(x if self.unit else x / 16).chunk(2, 1)
        return mu, logvar

    def decode(self, z: Tensor) -> Tensor:
        return self.back(z).view(-1, LEVELS, 1, 8, 8)

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        return self.decode(reparameterise(mu, logvar)), mu, logvar


@pytest.mark.parametrize("unit", [False, True], ids=["bytes", "from 0 to 1"])
def test_levels_are_those_of_the_images_values(unit: bool) -> None:
    torch.manual_seed(0)
    model = Levels(unit)
    numbers = (16 * digits()).round().long()
    x = numbers / 16 if unit else numbers.float()
    steps = torch.optim.Adam(model.parameters(), 1e-2)
    for _ in range(20):
        logits, mu, logvar = model(x)
        kl = 0.5 * (mu**2 + logvar.exp() - 1 - logvar).sum(1).mean()
        loss = 64 * F.cross_entropy(logits, numbers) + 0.1 * kl
        steps.zero_grad()
        loss.backward()
        steps.step()
    opened = vs.open_model(model.eval(), x if unit else numbers.to(torch.uint8))
    with torch.no_grad():
        mu, logvar = model.encode(x)
        nats = F.cross_entropy(model.decode(mu), numbers, reduction="none").flatten(1).sum(1)
    np.testing.assert_allclose(opened.codes.mean, mu, atol=1e-4)
    np.testing.assert_allclose(opened.codes.variance, logvar.exp(), rtol=1e-3)
    places = np.arange(len(x))
    found = opened.distortion(places, np.zeros((len(x), LATENTS)))
    np.testing.assert_allclose(found, nats, rtol=1e-3)
    assert f"{LEVELS} levels" in next(one.why for one in opened.inferred if one.what == "output")


class Squashed(nn.Module):
    """Values in (-1, 1) by a tanh of a Normal, which torch gives no mean."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.back = mlp(10, 32, 6), mlp(3, 32, 20)

    def encode(self, x: Tensor) -> td.Normal:
        mu, log_std = self.body(x).chunk(2, -1)
        return td.Normal(mu, log_std.exp())

    def decode(self, z: Tensor) -> td.TransformedDistribution:
        mu, log_std = self.back(z).chunk(2, -1)
        return td.TransformedDistribution(td.Normal(mu, log_std.exp()), [td.TanhTransform()])


def test_a_transformed_distribution_has_the_mean_of_its_draws() -> None:
    torch.manual_seed(0)
    model = Squashed()
    x = torch.tanh(torch.randn(100, 10)).clamp(-0.999, 0.999)
    opened = vs.open_model(model, x)
    z = torch.from_numpy(opened.codes.mean).float()
    density = model.decode(z)
    with torch.no_grad():
        draws = torch.stack([density.sample() for _ in range(20_000)])
    found = opened.decode(z)
    np.testing.assert_allclose(found.mean.detach(), draws.mean(0), atol=0.03)
    np.testing.assert_allclose(
        found.log_prob(x).detach(), density.log_prob(x).sum(1).detach(), rtol=1e-5
    )


class Drawing(Layers):
    def encode(self, x: Tensor) -> Any:
        return self._heads(x)

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        return self.decode(reparameterise(mu, logvar)), mu, logvar


@pytest.mark.parametrize("said, differs", [("logvar", False), ("logstd", True)])
def test_a_told_spread_with_other_samples_is_said(said: str, differs: bool) -> None:
    torch.manual_seed(0)
    opened = vs.open_model(Drawing().eval(), digits(), posterior=said)
    why = next(one.why for one in opened.inferred if one.what == "posterior")
    assert ("its samples have other variances" in why) == differs


def test_a_likelihood_that_nothing_shows_is_said_to_be_assumed() -> None:
    torch.manual_seed(0)
    opened = vs.open_model(Drawing().eval(), digits())
    assert "likelihood bernoulli (assumed)" in [one.short for one in opened.inferred]
    told = vs.open_model(Drawing().eval(), digits(), likelihood="squared-error")
    assert "likelihood" not in [one.what for one in told.inferred]
