"""What a model says or shows itself decides, before anything is compared."""

import copy
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from tests.adapters.forms import Core, Form, adapt, pair, std
from tests.adapters.test_forms import assert_codes, read
from torch import Tensor, nn
from torch import distributions as td
from torch.nn import functional as F

from vaescope.adapters import Asked
from vaescope.adapters.noise import Noise
from vaescope.errors import ReadingError, UsageError

#: Kind of spread -> what an encoder returns for a log variance, and the deviation it draws with.
KINDS: dict[str, tuple[Callable[[Tensor], Tensor], Callable[[Tensor], Tensor]]] = {
    "logvar": (lambda s: s, lambda t: (0.5 * t).exp()),
    "logstd": (lambda s: 0.5 * s, torch.exp),
    "std": (std, lambda t: t),
    "variance": (torch.exp, torch.sqrt),
    "softplus": (lambda s: std(s).expm1().log(), F.softplus),
    "softplus-variance": (lambda s: s.exp().expm1().log(), lambda t: F.softplus(t).sqrt()),
}


class Drawing(nn.Module):
    """Encodes to a mean and a spread, and draws in `forward`, in training mode only or always."""

    def __init__(self, core: Core, kind: str = "logvar", *, training_only: bool = False) -> None:
        super().__init__()
        self.core, self.kind, self.training_only = core, kind, training_only

    def encode(self, x: Tensor) -> tuple[Tensor, Tensor]:
        mean, logvar = self.core.posterior(x.view(len(x), 64))
        return mean, KINDS[self.kind][0](logvar)

    def decode(self, z: Tensor) -> Any:
        return torch.sigmoid(self.core.logits(z)).view(-1, 1, 8, 8)

    def draw(self, mean: Tensor, spread: Tensor) -> Tensor:
        if self.training_only and not self.training:
            return mean
        return mean + KINDS[self.kind][1](spread) * torch.randn_like(mean)

    def forward(self, x: Tensor) -> Any:
        mean, spread = self.encode(x)
        return self.decode(self.draw(mean, spread)), mean, spread


@pytest.mark.slow
@pytest.mark.parametrize("training_only", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_the_latents_that_forward_draws_show_what_the_spread_is(
    kind: str, training_only: bool, core: Core, digits: Tensor
) -> None:
    model = adapt(Drawing(core, kind, training_only=training_only).eval(), digits)
    assert read(model, "posterior") == f"pair,{kind}"
    assert_codes(model, core, digits)


@pytest.mark.slow
def test_drawing_leaves_modes_methods_and_hooks_as_they_were(core: Core, digits: Tensor) -> None:
    net = Drawing(core).train()
    net.core.eval()
    before = {name: part.training for name, part in net.named_modules()}
    adapt(net, digits)
    assert {name: part.training for name, part in net.named_modules()} == before
    assert "decode" not in vars(net)
    assert not any(part._forward_pre_hooks for part in net.modules())


class OnlyForward(nn.Module):
    """Nothing but layers and `forward`."""

    def __init__(self, core: Core) -> None:
        super().__init__()
        self.body, self.heads, self.back = (
            copy.deepcopy(part) for part in (core.body, core.heads, core.back)
        )

    def forward(self, x: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        mean, logvar = self.heads(self.body(x.view(len(x), -1))).chunk(2, dim=1)
        z = mean + std(logvar) * torch.randn_like(std(logvar))
        return self.back(z).sigmoid().view_as(x), mean, logvar


def test_a_model_with_nothing_but_forward_is_read_and_decoded(core: Core, digits: Tensor) -> None:
    model = adapt(OnlyForward(core), digits)
    assert_codes(model, core, digits)
    z = torch.randn(7, 6, generator=torch.Generator().manual_seed(1))
    with model.evaluating():
        np.testing.assert_allclose(
            model.decoder(z).flatten(1), core.logits(z).sigmoid(), rtol=1e-4, atol=1e-6
        )


class Hidden(Drawing):
    """Returns features from `encode`; the posterior's heads are inside `forward`."""

    def encode(self, x: Tensor) -> Any:
        return self.core.body(x.view(len(x), 64))

    def forward(self, x: Tensor) -> Any:
        mean, logvar = self.core.heads(self.encode(x)).chunk(2, dim=1)
        return self.decode(self.draw(mean, logvar))


def test_features_before_the_heads_are_not_taken_for_latents(core: Core, digits: Tensor) -> None:
    model = adapt(Hidden(core), digits)
    assert read(model, "posterior") == "drawn,variance"
    assert_codes(model, core, digits)


@pytest.mark.parametrize(
    "gives",
    [
        lambda y: td.Normal(y.sigmoid(), 0.1),
        lambda y: td.Independent(td.Laplace(y.sigmoid(), 0.2), 3),
        lambda y: td.Normal(y.sigmoid(), 0.05 + y.sigmoid()),
    ],
)
def test_a_distribution_that_decode_returns_is_the_likelihood(
    gives: Callable[[Tensor], Any], core: Core, digits: Tensor
) -> None:
    model = adapt(Form(core, pair, gives), digits)
    with model.evaluating():
        z = model.encode(digits[:9]).mean
        log_p = model.decode(z).log_prob(digits[:9])
    wanted = gives(core.logits(z).view(-1, 1, 8, 8)).log_prob(digits[:9]).reshape(9, -1).sum(1)
    np.testing.assert_allclose(log_p, wanted, rtol=1e-4)


class Losing(Drawing):
    """Has a loss that can be called."""

    def __init__(self, core: Core, each: Callable[..., Tensor], weight: float) -> None:
        super().__init__(core)
        self.each, self.weight = each, weight

    def loss_function(self, recon_x: Tensor, x: Tensor, mu: Tensor, logvar: Tensor) -> Tensor:
        rate = 0.5 * (mu**2 + logvar.exp() - 1 - logvar).sum()
        return self.weight * self.each(recon_x, x, reduction="sum") + 3 * rate


@pytest.mark.slow
@pytest.mark.parametrize("weight", [1.0, 0.01])
@pytest.mark.parametrize(
    ("each", "family"),
    [(F.mse_loss, "squared-error"), (F.binary_cross_entropy, "bernoulli"), (F.l1_loss, "laplace")],
)
def test_a_loss_shows_the_likelihood_whatever_its_weights(
    each: Callable[..., Tensor], family: str, weight: float, core: Core, digits: Tensor
) -> None:
    model = adapt(Losing(core, each, weight), digits)
    x = digits[:5]
    with model.evaluating():
        log_p = model.decode(model.encode(x).mean).log_prob(x)
    y = core.logits(core.posterior(x.flatten(1))[0]).sigmoid().view_as(x)
    nats = each(y, x, reduction="none").flatten(1).sum(1)
    constant = {"squared-error": 32 * np.log(np.pi), "bernoulli": 0, "laplace": 64 * np.log(2)}
    np.testing.assert_allclose(-log_p, nats + constant[family], rtol=1e-3)


class Levels(nn.Module):
    """Draws twice, the second latents given the first."""

    def __init__(self, core: Core) -> None:
        super().__init__()
        self.core, self.lower = core, nn.Linear(6, 12)
        self.back = nn.Linear(6, 64)

    def encode(self, x: Tensor) -> tuple[Tensor, Tensor]:
        return self.core.posterior(x.flatten(1))

    def forward(self, x: Tensor) -> Tensor:
        top = td.Normal(*(part.exp() for part in self.encode(x))).rsample()
        mean, logvar = self.lower(top).chunk(2, dim=1)
        return self.back(mean + std(logvar) * torch.randn_like(mean)).view_as(x)


def test_latents_of_several_levels_are_refused(core: Core, digits: Tensor) -> None:
    with pytest.raises(UsageError, match=r"several places.*encode="):
        adapt(Levels(core), digits)


class Flow(Drawing):
    """A posterior that is not Gaussian."""

    def draw(self, mean: Tensor, spread: Tensor) -> Tensor:
        z = super().draw(mean, spread)
        return z + 0.3 * torch.tanh(z @ torch.ones(6, 6))


def test_a_flow_behind_the_gaussian_is_asked_about(core: Core, digits: Tensor) -> None:
    with pytest.raises(UsageError, match=r"not a diagonal Gaussian.*encode="):
        adapt(Flow(core), digits)


class Conditional(Drawing):
    """Labels shift the latents."""

    def __init__(self, core: Core) -> None:
        super().__init__(core)
        self.shift = nn.Linear(10, 6, bias=False)

    def encode(self, x: Tensor, y: Tensor) -> tuple[Tensor, Tensor]:  # type: ignore[override]
        mean, logvar = super().encode(x)
        return mean + self.shift(y), logvar

    def decode(self, z: Tensor, y: Tensor) -> Tensor:  # type: ignore[override]
        return torch.sigmoid(self.core.logits(z - self.shift(y))).view(-1, 1, 8, 8)

    def forward(self, x: Tensor, y: Tensor) -> Any:  # type: ignore[override]
        mean, logvar = self.encode(x, y)
        return self.decode(self.draw(mean, logvar), y), mean, logvar


def test_a_conditional_model_asks_for_its_condition_and_takes_it(
    core: Core, digits: Tensor
) -> None:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        net = Conditional(core)
    with pytest.raises(ReadingError, match="condition="):
        adapt(net, digits)
    y = F.one_hot(torch.arange(len(digits)) % 10, 10).float()
    model = adapt(net, digits, asked=Asked(condition=y))
    with model.evaluating():
        q = model.encode(digits, y)
        np.testing.assert_allclose(q.mean, net.encode(digits, y)[0], rtol=1e-4, atol=1e-5)
        image = model.decode(q.mean, y).mean
        np.testing.assert_allclose(image, net.decode(q.mean, y), atol=1e-4)


class Vamp(Drawing):
    """Pseudo-inputs, and a log-density made of them."""

    def __init__(self, core: Core, digits: Tensor) -> None:
        super().__init__(core)
        self.pseudo_inputs = nn.Parameter(digits[:12].clone())


def test_pseudo_inputs_make_the_prior(core: Core, digits: Tensor) -> None:
    model = adapt(Vamp(core, digits), digits)
    assert model.prior is not None
    mean, logvar = core.posterior(digits[:12].flatten(1))
    z = torch.randn(50, 6, generator=torch.Generator().manual_seed(0))
    parts = td.Independent(td.Normal(mean, std(logvar)), 1)
    wanted = td.MixtureSameFamily(td.Categorical(torch.ones(12)), parts).log_prob(z)
    np.testing.assert_allclose(model.prior().log_prob(z), wanted, rtol=1e-4)


class Stated(Drawing):
    """Gives log p(z) of a density that nothing else in it describes."""

    def log_p_z(self, z: Tensor) -> Tensor:
        return td.Gumbel(0.0, 1.0).log_prob(z).sum(1)


def test_a_prior_that_cannot_be_read_is_asked_about(core: Core, digits: Tensor) -> None:
    with pytest.raises(ReadingError, match=r"log_p_z.*prior="):
        adapt(Stated(core), digits)
    model = adapt(Stated(core), digits, asked=Asked(prior="normal"))
    assert model.prior is not None and read(model, "prior") == "N(0, I)"


def test_a_collapsed_model_stays_in_the_range_that_its_images_came_in(digits: Tensor) -> None:
    """Fed with darker images it would reconstruct no worse, and look used."""
    constant = torch.logit(digits.mean(0, keepdim=True), eps=1e-4)

    def encode(x: Tensor) -> tuple[Tensor, Tensor]:
        outside = (-x).clamp_min(0).flatten(1)[:, :3]
        return 5 * outside, -4 * outside

    def decode(z: Tensor) -> Tensor:
        return (constant - 0.02 * z.abs().sum(1).view(-1, 1, 1, 1)).sigmoid()

    model = adapt(x=digits, encode=encode, decode=decode)
    assert read(model, "value_range") == "0,1"
    assert float(model.encode(digits).variance.min()) == 1


@pytest.mark.parametrize("came", [(-1.0, 1.0), (-0.8, 1.9), (0.0, 255.0)])
def test_images_go_in_as_they_came_unless_another_range_is_far_better(
    came: tuple[float, float], core: Core, digits: Tensor
) -> None:
    low, high = came
    form = Form(core, pair, lambda y: low + (high - low) * y.sigmoid(), low, high)
    assert_codes(adapt(form, digits, came=came), core, digits)
    assert_codes(adapt(Form(core, pair), digits, came=came), core, digits)  # [0, 1] is far better


class Viewing(nn.Module):
    """`view` on colour images fails unless they are contiguous."""

    def __init__(self) -> None:
        super().__init__()
        self.heads, self.back = nn.Linear(3 * 64, 8), nn.Linear(4, 3 * 64)

    def encode(self, x: Tensor) -> Tensor:
        return self.heads(x.view(-1, 3 * 64))

    def decode(self, z: Tensor) -> Tensor:
        return self.back(z).sigmoid().view(-1, 3, 8, 8)

    def forward(self, x: Tensor) -> Tensor:
        mean, logvar = self.encode(x).chunk(2, dim=1)
        return self.decode(mean + std(logvar) * torch.randn_like(mean))


def test_strangers_get_contiguous_images(digits: Tensor) -> None:
    x = digits.expand(-1, 3, -1, -1).contiguous(memory_format=torch.channels_last)
    assert read(adapt(Viewing(), x), "posterior") == "halves,logvar"


@pytest.mark.parametrize(
    "draw",
    [
        lambda m, s: m + s * torch.randn_like(m),
        lambda m, s: m + s * torch.randn(m.shape),
        lambda m, s: m + s * m.new(m.shape).normal_(),
        lambda m, s: td.Normal(m, s).rsample(),
        lambda m, s: td.Normal(m, s).sample(),
        torch.normal,
        lambda m, s: m + s * torch.normal(0.0, 1.0, m.shape),
    ],
)
def test_every_way_to_draw_normal_noise_can_be_fixed(
    draw: Callable[[Tensor, Tensor], Tensor],
) -> None:
    mean, scale = torch.tensor([[1.0, -2.0]]), torch.tensor([[0.5, 3.0]])
    for value in (0.0, 1.0, -1.5):
        with Noise(value):
            assert torch.equal(draw(mean, scale), mean + value * scale)
