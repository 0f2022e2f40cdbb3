"""What decoders give beside means, and priors that only the owner can state."""

from typing import Any

import numpy as np
import pytest
import torch
from tests.adapters.corpus.layers import Layers, reparameterise
from tests.adapters.corpus.style import LATENTS, digits, labels
from torch import Tensor, nn
from torch import distributions as td
from torch.nn import functional as F

import vaescope as vs
from vaescope.errors import ShapeError, UnscoredError, UsageError
from vaescope.inspection.dissect import dissect
from vaescope.inspection.effort import EFFORTS


class TwoHeads(Layers):
    """A decoder with two outputs for each pixel, in a tuple or under names."""

    def __init__(self, names: tuple[str, str] | None, loc: float, second: float) -> None:
        super().__init__()
        self.names = names
        self.level, self.second = nn.Parameter(torch.full((64,), loc)), second

    def encode(self, x: Tensor) -> Any:
        return self._heads(x)

    def decode(self, z: Tensor) -> Any:
        mean = self.level + 0.01 * self._drawn(z)
        pair = mean, torch.full_like(mean, self.second)
        return pair if self.names is None else dict(zip(self.names, pair, strict=True))

    def forward(self, x: Tensor) -> Any:
        mean, logvar = self.encode(x)
        return self.decode(reparameterise(mean, logvar)), mean, logvar


def likelihood_of(opened: Any) -> str:
    found = [one for one in opened.inferred if one.what == "likelihood"]
    return f"{found[0].read} {found[0].why}" if found else ""


def test_a_second_output_of_another_name_is_asked_about() -> None:
    model = TwoHeads(("loc", "dropout"), 0.3, -1.0).eval()
    with pytest.raises(UnscoredError, match="gives dropout for each value"):
        vs.open_model(model, digits())
    opened = vs.open_model(model, digits(), likelihood=lambda o: td.Normal(o["loc"], 0.5))
    assert opened.codes.d == LATENTS


def test_a_second_output_under_which_the_data_are_unlikely_is_asked_about() -> None:
    model = TwoHeads(None, 0.3, 1e-3).eval()  # no spread of these images
    with pytest.raises(UnscoredError, match="a second output"):
        vs.open_model(model, digits())


def test_a_fitting_second_output_is_said_to_be_taken_as_the_spread_of_a_gaussian() -> None:
    opened = vs.open_model(TwoHeads(None, 0.3, 0.37).eval(), digits(), value_range=(0.0, 1.0))
    assert "gaussian assumed" in likelihood_of(opened)


def test_a_named_spread_is_what_its_name_says() -> None:
    model = TwoHeads(("mean", "logvar"), 0.3, -2.0).eval()
    opened = vs.open_model(model, digits(), value_range=(0.0, 1.0))
    assert "spread of a Gaussian" in likelihood_of(opened)
    x, z = digits()[:4].flatten(1), torch.zeros(4, LATENTS)
    with torch.no_grad():
        wanted = td.Normal(model.decode(z)["mean"], torch.exp(torch.tensor(-1.0))).log_prob(x)
        found = opened.decode(z).log_prob(digits()[:4])
    torch.testing.assert_close(found, wanted.sum(1))


class Steps(nn.Module):
    """A posterior at every step; the decoder takes latents and nothing else."""

    def __init__(self) -> None:
        super().__init__()
        self.rnn, self.heads = nn.GRU(8, 16, batch_first=True), nn.Linear(16, 6)
        self.back = nn.GRU(3, 8, batch_first=True)

    def encode(self, x: Tensor) -> Any:
        return self.heads(self.rnn(x)[0]).chunk(2, -1)

    def decode(self, z: Tensor) -> Tensor:
        return self.back(z)[0]

    def forward(self, x: Tensor) -> Any:
        mean, logvar = self.encode(x)
        return self.decode(reparameterise(mean, logvar)), mean, logvar


def test_what_our_own_functions_take_is_not_asked_about() -> None:
    torch.manual_seed(0)
    opened = vs.open_model(Steps().eval(), digits()[:, 0] - 0.5)
    assert not [one for one in opened.inferred if one.what == "condition"]


class PriorNetwork(nn.Module):
    """A CVAE whose prior is a network of the labels."""

    def __init__(self) -> None:
        super().__init__()
        self.body, self.heads = nn.Linear(74, 32), nn.Linear(32, 2 * LATENTS)
        self.back, self.of_labels = nn.Linear(LATENTS + 10, 64), nn.Linear(10, 2 * LATENTS)

    def encode(self, x: Tensor, y: Tensor) -> Any:
        both = torch.cat([x.flatten(1), F.one_hot(y, 10).float()], 1)
        return self.heads(torch.relu(self.body(both))).chunk(2, 1)

    def decode(self, z: Tensor, y: Tensor) -> Tensor:
        both = torch.cat([z, F.one_hot(y, 10).float()], 1)
        return torch.sigmoid(self.back(both)).view(-1, 1, 8, 8)

    def prior(self, y: Tensor) -> td.Normal:
        mean, log_scale = self.of_labels(F.one_hot(y, 10).float()).chunk(2, 1)
        return td.Normal(mean, log_scale.exp())

    def forward(self, x: Tensor, y: Tensor) -> Any:
        mean, logvar = self.encode(x, y)
        return self.decode(reparameterise(mean, logvar), y), mean, logvar


def test_a_prior_of_the_condition_has_its_kl_for_each_example() -> None:
    torch.manual_seed(0)
    model, x, y = PriorNetwork().eval(), digits(), labels()
    with pytest.raises(UsageError, match="function of the condition"):
        vs.open_model(model, x, condition=y)
    opened = vs.open_model(model, x, condition=y, prior=model.prior)
    found = dissect(opened, EFFORTS["fast"], images=False)
    with torch.no_grad():
        mean, logvar = model.encode(x, y)
        wanted = td.kl_divergence(td.Normal(mean, (0.5 * logvar).exp()), model.prior(y)).mean(0)
    by_number = sorted(found.latents, key=lambda one: one.index)
    ours = torch.tensor([one.kl_nats for one in by_number], dtype=torch.float32)
    torch.testing.assert_close(ours, wanted, rtol=1e-3, atol=1e-4)
    assert found.fit is not None
    assert found.fit.rate_nats == pytest.approx(float(wanted.sum()), rel=1e-3)


class Centres(Layers):
    """A prior around a centre of each class; encoder and decoder see no labels."""

    def __init__(self) -> None:
        super().__init__()
        self.centres = nn.Embedding(10, LATENTS)

    def encode(self, x: Tensor) -> Any:
        return self._heads(x)

    def forward(self, x: Tensor) -> Any:
        mean, logvar = self.encode(x)
        return self.decode(reparameterise(mean, logvar)), mean, logvar


def test_a_prior_of_labels_that_the_model_does_not_take_gets_them() -> None:
    torch.manual_seed(0)
    model, x, y = Centres().eval(), digits(), labels()

    def prior(y: Tensor) -> td.Normal:
        return td.Normal(model.centres(y), 1.0)

    opened = vs.open_model(model, x, prior=prior, condition=y)
    places = np.arange(len(x))
    with torch.no_grad():
        mean, logvar = model.encode(x)
        wanted = td.kl_divergence(td.Normal(mean, (0.5 * logvar).exp()), prior(y)).sum(1)
    ours = opened.rate(places, opened.noise(places))
    np.testing.assert_allclose(ours, wanted.numpy(), rtol=1e-3)


def test_what_a_prior_says_of_the_condition_is_passed_on() -> None:
    with pytest.raises(UsageError, match=r"prior= failed on the condition as .*: KeyError"):
        vs.open_model(Centres().eval(), digits(), prior=lambda y: {}[0], condition=labels())


@pytest.mark.parametrize(
    ("prior", "error"),
    [(lambda _: 1.0, UsageError), (lambda _: td.Normal(0.0, 1.0), ShapeError)],
)
def test_what_is_no_normal_of_each_example_is_refused(prior: Any, error: type[Exception]) -> None:
    with pytest.raises(error, match="prior= returned"):
        vs.open_model(PriorNetwork().eval(), digits(), condition=labels(), prior=prior)


def test_a_prior_of_the_condition_needs_one() -> None:
    model = TwoHeads(("mean", "logvar"), 0.3, -2.0).eval()
    with pytest.raises(UsageError, match="no condition that it could be given"):
        vs.open_model(model, digits(), prior=lambda y: td.Normal(y, 1.0))
