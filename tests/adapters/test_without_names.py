"""What shows itself without a name: parts of a prior, labels that may be left out, posteriors that
are not over the line, codes of few values, what a model keeps of the data, likelihoods of counts,
several numbers for each value."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from tests.adapters.corpus.layers import Layers, reparameterise
from tests.adapters.corpus.style import LATENTS, digits, labels, mlp, one_hot
from torch import Tensor, nn
from torch import distributions as td
from torch.nn import functional as F

import vaescope as vs
from vaescope.errors import ReadingError, UnscoredError, UsageError


def seeded(make: Callable[[], nn.Module]) -> Any:
    torch.manual_seed(0)
    return make().eval()


def few() -> Tensor:
    return digits()[:96]


def said(opened: Any, what: str) -> str:
    return next((one.read for one in opened.inferred if one.what == what), "")


class Draws(Layers):
    def encode(self, x: Tensor) -> Any:
        return self._heads(x)

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        return self.decode(reparameterise(mu, logvar)), mu, logvar


class Step(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.net = mlp(LATENTS // 2, 8, LATENTS)

    def forward(self, z: Tensor) -> tuple[Tensor, Tensor]:
        kept, other = z.chunk(2, 1)
        shift, log_scale = self.net(kept).chunk(2, 1)
        return torch.cat([kept, other * log_scale.exp() + shift], 1), log_scale.sum(1)


def _with(make: Callable[[], Any], *, buffer: bool = False) -> Callable[[], nn.Module]:
    def made() -> nn.Module:
        model = Draws()
        if buffer:
            model.register_buffer("extra", make())
        else:
            model.extra = make()
        return model

    return made


PRIORS = {
    "a flow": _with(lambda: nn.ModuleList([Step(), Step()])),
    "pseudo-inputs": _with(lambda: nn.Parameter(torch.rand(20, 64))),
    "a layer of pseudo-inputs": _with(lambda: nn.Linear(20, 64)),
    "centres in a buffer": _with(lambda: torch.randn(8, LATENTS), buffer=True),
    "centres of classes": _with(lambda: nn.Embedding(10, LATENTS)),
    "a network of labels": _with(lambda: mlp(10, 24, 2 * LATENTS)),
    "an energy": _with(lambda: mlp(LATENTS, 24, 1)),
}
OTHERS = {
    "a classifier": _with(lambda: mlp(LATENTS, 16, 10)),
    "an unused head": _with(lambda: nn.Linear(48, LATENTS)),
    "another encoder": _with(lambda: mlp(64, 16, 2 * LATENTS)),
    "another decoder": _with(lambda: mlp(LATENTS, 16, 64)),
    "zeros and ones": _with(lambda: torch.zeros(LATENTS), buffer=True),
}


@pytest.mark.parametrize("name", PRIORS)
def test_what_may_be_a_prior_is_asked_about_without_a_name(name: str) -> None:
    model = seeded(PRIORS[name])
    with pytest.raises(ReadingError, match=r"extra.*prior="):
        vs.open_model(model, few())
    assert said(vs.open_model(model, few(), prior="normal"), "prior") == "N(0, I)"


def test_what_was_answered_is_not_asked_again_by_copies() -> None:
    """Pruned models and untrained decoders are copies that are read anew."""
    model = seeded(PRIORS["a flow"])
    with torch.no_grad():
        for head in (model.fc_mu, model.fc_var):  # the first latent is passive
            head.weight[0], head.bias[0] = 0.0, 0.0
    opened = vs.open_model(model, few(), prior="normal")
    assert opened.untrained is not None
    assert opened.untrained(0)(torch.zeros(2, LATENTS)).shape == (2, 1, 8, 8)
    with pytest.raises(ReadingError, match="prior="):
        vs.prune(model, few())
    assert 0 in vs.prune(model, few(), prior="normal").dropped


@pytest.mark.parametrize("name", OTHERS)
def test_what_is_no_prior_is_not(name: str) -> None:
    assert said(vs.open_model(seeded(OTHERS[name]), few()), "prior") == "N(0, I)"


class Predicts(Draws):
    """A number of the latents that forward returns: a prediction, no energy."""

    def __init__(self) -> None:
        super().__init__()
        self.extra = mlp(LATENTS, 24, 1)

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        return self.decode(reparameterise(mu, logvar)), mu, logvar, self.extra(mu)


def test_what_forward_returns_of_the_latents_is_a_prediction() -> None:
    assert said(vs.open_model(seeded(Predicts), few()), "prior") == "N(0, I)"


class MeansOnly(Layers):
    """Its other head is computed and dropped."""

    def encode(self, x: Tensor) -> Tensor:
        return self._heads(x)[0]


def test_codes_without_noise_beside_a_dropped_head_are_asked_about() -> None:
    model = seeded(MeansOnly)
    with pytest.raises(ReadingError, match=r"fc_var.*posterior=mean"):
        vs.open_model(model, few())
    assert not vs.open_model(model, few(), posterior="mean").codes.stochastic

    def encode(x: Tensor) -> td.Normal:
        mu, logvar = model._heads(x)
        return td.Normal(mu, (0.5 * logvar).exp())

    opened = vs.open_model(model, few(), encode=encode, decode=model.decode)
    with torch.no_grad():
        np.testing.assert_allclose(opened.codes.variance, encode(few()).variance, rtol=1e-4)


class Stacked(Draws):
    """Three images of each latent: no levels of pixels."""

    def decode(self, z: Tensor) -> Tensor:
        return super().decode(z)[:, None].expand(-1, 3, -1, -1, -1)


def test_images_in_a_stack_are_no_levels() -> None:
    model, x = seeded(Stacked), few()
    with pytest.raises(UnscoredError, match=r"3 numbers for each value.*likelihood="):
        vs.open_model(model, x)
    opened = vs.open_model(model, x, likelihood=lambda y: td.Normal(y.mean(1), 0.5))
    with torch.no_grad():
        wanted = -td.Normal(model.decode(model.encode(x)[0])[:, 0], 0.5).log_prob(x)
    torch.testing.assert_close(nats_of(opened, x), wanted.flatten(1).sum(1), rtol=1e-4, atol=1e-3)


class KnownRate(Draws):
    def loss(self, recon: Tensor, x: Tensor, mu: Tensor, logvar: Tensor) -> Tensor:
        return -0.5 * (1 + logvar - mu**2 - logvar.exp()).sum()


def test_a_prior_that_a_loss_shows_is_not_called_assumed() -> None:
    assert not vs.open_model(seeded(KnownRate), few()).codes.prior_assumed
    assert vs.open_model(seeded(Draws), few()).codes.prior_assumed


class MayHaveLabels(Draws):
    def __init__(self) -> None:
        super().__init__()
        self.shift = nn.Linear(10, 64)

    def encode(self, x: Tensor, y: Tensor | None = None) -> Any:
        return self._heads(x.flatten(1) if y is None else x.flatten(1) + self.shift(y))

    def forward(self, x: Tensor, y: Tensor | None = None) -> Any:
        mu, logvar = self.encode(x, y)
        return self.decode(reparameterise(mu, logvar)), mu, logvar


def test_labels_that_may_be_left_out_are_asked_about() -> None:
    model, hot = seeded(MayHaveLabels), one_hot(labels()[:96])
    with pytest.raises(ReadingError, match=r"shift.* y.*condition="):
        vs.open_model(model, few())
    without = vs.open_model(model, few(), prior="normal")
    assert said(without, "condition") == "uncertain"
    given = vs.open_model(model, few(), condition=hot.numpy())
    assert said(given, "condition") != "uncertain"
    with torch.no_grad():
        mean = model.encode(few(), hot)[0]
    np.testing.assert_allclose(given.codes.mean, mean, atol=1e-5)


def test_a_condition_that_nothing_takes_is_refused() -> None:
    with pytest.raises(UsageError, match=r"condition= would not reach.*Leave condition= out"):
        vs.open_model(seeded(Draws), few(), condition=one_hot(labels()[:96]).numpy())


class OnTheSimplex(Draws):
    def encode(self, x: Tensor) -> Any:
        return td.Dirichlet(F.softplus(self._heads(x)[0]) + 0.1)

    def forward(self, x: Tensor) -> Any:
        q = self.encode(x)
        return self.decode(q.rsample()), q


class Classes(OnTheSimplex):
    def encode(self, x: Tensor) -> Any:
        return td.OneHotCategorical(logits=self._heads(x)[0])

    def forward(self, x: Tensor) -> Any:
        q = self.encode(x)
        return self.decode(q.sample()), q


class Signs(Draws):
    def encode(self, x: Tensor) -> Any:
        return self._heads(x)[0].sign()

    def forward(self, x: Tensor) -> Any:
        return self.decode(self.encode(x))


@pytest.mark.parametrize(
    ("make", "says"),
    [(OnTheSimplex, "Dirichlet"), (Classes, "OneHotCategorical"), (Signs, "2 values at most")],
)
def test_posteriors_that_are_not_over_the_line_are_refused(make: Any, says: str) -> None:
    with pytest.raises(UsageError, match=rf"{says}[\s\S]*encode="):
        vs.open_model(seeded(make), few())


class KeepsFeatures(Draws):
    """A skip connection through an attribute."""

    def __init__(self) -> None:
        super().__init__()
        self.skip = nn.Linear(64, 64)

    def encode(self, x: Tensor) -> Any:
        self.kept = self.skip(x.flatten(1))
        return self._heads(x)

    def decode(self, z: Tensor) -> Tensor:
        kept = self.kept if len(self.kept) == len(z) else self.kept.mean(0)
        return torch.sigmoid(self._drawn(z) + kept).view(-1, 1, 8, 8)


def test_a_decoder_that_keeps_what_was_encoded_is_refused() -> None:
    with pytest.raises(UsageError, match="data that were encoded last"):
        vs.open_model(seeded(KeepsFeatures), few())


class SpreadInTheFirstHalf(nn.Module):
    """Nothing draws, nothing is named; the decoder is the encoder's inverse."""

    def encode(self, x: Tensor) -> Tensor:
        return torch.cat([-4.0 + 0.1 * x[:, :3], x[:, 3:]], 1)

    def decode(self, z: Tensor) -> Tensor:
        return torch.cat([0 * z, z], 1)


def test_halves_with_the_spread_first_are_taken_so_where_only_they_reconstruct() -> None:
    x = torch.randn(256, 6, generator=torch.Generator().manual_seed(0))
    x[:, :3] *= 0.05
    opened = vs.open_model(SpreadInTheFirstHalf(), x, posterior="logvar")
    assert said(opened, "posterior") == "reversed,logvar"
    np.testing.assert_allclose(opened.codes.mean, x[:, 3:], atol=1e-5)


class Nodes(nn.Module):
    """Latents of the nodes of a ring, averaged over neighbours after the last layer."""

    def __init__(self) -> None:
        super().__init__()
        self.mu, self.logvar, self.back = nn.Linear(4, 2), nn.Linear(4, 2), nn.Linear(2, 4)

    @staticmethod
    def _averaged(h: Tensor) -> Tensor:
        return (h + h.roll(1, 1)) / 2

    def encode(self, x: Tensor) -> Any:
        return self._averaged(self.mu(x)), self._averaged(self.logvar(x))

    def decode(self, z: Tensor) -> Tensor:
        return self.back(self._averaged(z))

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        return self.decode(reparameterise(mu, logvar)), mu, logvar


def test_nodes_have_their_channels_last_also_after_an_average() -> None:
    x = torch.randn(128, 5, 4, generator=torch.Generator().manual_seed(0))
    opened = vs.open_model(seeded(Nodes), x)
    with torch.no_grad():
        q = opened.encode(x)
    assert q.mean.shape == (128, 2, 5)


def test_maps_with_what_may_be_a_prior_are_asked_about_too() -> None:
    x = torch.randn(128, 5, 4, generator=torch.Generator().manual_seed(0))
    model = seeded(Nodes)
    model.step = nn.Linear(2, 4)
    with pytest.raises(ReadingError, match=r"step.*prior="):
        vs.open_model(model, x)
    assert said(vs.open_model(model, x, prior="normal"), "prior") == "N(0, I)"
    with pytest.raises(UsageError, match=r"maps.*prior=normal"):
        vs.open_model(model, x, prior="laplace")


class Counts(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.mu, self.logvar, self.back = nn.Linear(9, 2), nn.Linear(9, 2), nn.Linear(2, 9)

    def encode(self, x: Tensor) -> Any:
        return self.mu(x), self.logvar(x)

    def decode(self, z: Tensor) -> Tensor:
        return self.back(z)

    def loss(self, recon: Tensor, x: Tensor, mu: Tensor, logvar: Tensor) -> Tensor:
        rate = 0.5 * (mu**2 + logvar.exp() - 1 - logvar).sum()
        return F.poisson_nll_loss(recon, x, reduction="sum") + rate


class NegativeBinomials(Counts):
    """Another loss of counts, which is none of those known."""

    def loss(self, recon: Tensor, x: Tensor, mu: Tensor, logvar: Tensor) -> Tensor:
        return -td.NegativeBinomial(2.0, logits=recon).log_prob(x).sum()


def nats_of(opened: Any, x: Tensor) -> Tensor:
    with torch.no_grad():
        return -opened.density(opened.encode(x).mean).log_prob(x)


def test_a_loss_shows_counts_of_poisson_and_a_name_says_so() -> None:
    x = torch.poisson(torch.full((200, 9), 3.0), generator=torch.Generator().manual_seed(0))
    model = seeded(Counts)
    with torch.no_grad():
        wanted = -td.Poisson(model.decode(model.mu(x)).exp()).log_prob(x).sum(1)
    for given in ({}, {"likelihood": "log-poisson"}):
        torch.testing.assert_close(nats_of(vs.open_model(model, x, **given), x), wanted)
    opened = vs.open_model(seeded(NegativeBinomials), x, posterior="logvar")
    why = [one.why for one in opened.inferred if one.what == "likelihood"]
    assert "its loss is none of the losses known here" in why[0]


class Chunks(Draws):
    """A mean and a log variance of each pixel, in two channels."""

    def __init__(self) -> None:
        super().__init__()
        self.fc4 = nn.Linear(48, 128)

    def decode(self, z: Tensor) -> Tensor:
        return self._drawn(z).view(-1, 2, 8, 8)


def test_two_numbers_for_each_pixel_are_asked_about_and_a_function_tells() -> None:
    model, x = seeded(Chunks), few()
    with pytest.raises(UnscoredError, match=r"2 numbers for each value.*likelihood="):
        vs.open_model(model, x)

    def likelihood(y: Tensor) -> td.Normal:
        mean, logvar = y.chunk(2, 1)
        return td.Normal(mean, (0.5 * logvar).exp())

    with torch.no_grad():
        wanted = -likelihood(model.decode(model.encode(x)[0])).log_prob(x).flatten(1).sum(1)
    opened = vs.open_model(model, x, likelihood=likelihood)
    torch.testing.assert_close(nats_of(opened, x), wanted, rtol=1e-4, atol=1e-3)


class Precisions(Layers):
    def encode(self, x: Tensor) -> Any:
        mu, raw = self._heads(x)
        return mu, 1 + raw.exp()


def test_a_precision_can_be_said() -> None:
    model, x = seeded(Precisions), few()
    opened = vs.open_model(model, x, posterior="precision")
    with torch.no_grad():
        wanted = 1 / model.encode(x)[1]
    np.testing.assert_allclose(opened.codes.variance, wanted, rtol=1e-4)
