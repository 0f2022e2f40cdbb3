"""What a model shows beside its draws: its loss, the names in its code, parameters that it leaves
idle, the size of its batches; and that reading it changes nothing."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch
from tests.adapters.corpus.layers import Layers, reparameterise
from tests.adapters.corpus.style import LATENTS, colour, digits
from torch import Tensor, nn

import vaescope as vs
from vaescope.adapters.losses import rate_of
from vaescope.adapters.posterior_format import Parts
from vaescope.errors import ReadingError


def read(model: Any, what: str) -> str:
    return next(one.read for one in vs.open_model(model, digits()).inferred if one.what == what)


def seeded(make: Callable[[], nn.Module]) -> nn.Module:
    torch.manual_seed(0)
    model = make()
    with torch.no_grad():
        model.fc_var.bias.sub_(2.0)  # type: ignore[union-attr] # so that kinds differ
    return model.eval()


class Mute(Layers):
    """Nothing draws, nothing is named."""

    def encode(self, x: Tensor) -> Any:
        return self._heads(x)


class Named(Layers):
    def encode(self, x: Tensor) -> Any:
        mu, log_std = self._heads(x)
        return mu, log_std


class WithLoss(Mute):
    """A log standard deviation, and a prior of variance 4, by its KL alone."""

    def kl_loss(self, mu: Tensor, log_s: Tensor) -> Tensor:
        return 0.5 * ((mu**2 + (2 * log_s).exp()) / 4 - 2 * log_s).sum(1).mean()


class Draws(Layers):
    def encode(self, x: Tensor) -> Any:
        return self._heads(x)

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        return self.decode(reparameterise(mu, logvar)), mu, logvar


class Centres(Draws):
    def __init__(self) -> None:
        super().__init__()
        self.mu_c = nn.Parameter(torch.randn(4, LATENTS))


class Scaled(Draws):
    def __init__(self) -> None:
        super().__init__()
        self.log_scale = nn.Parameter(torch.zeros(1))


class Skips(Draws):
    """Its forward adds a part of the image to what it decodes."""

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        logits = self._drawn(reparameterise(mu, logvar)).view_as(x) + 0.5 * x
        return torch.sigmoid(logits), mu, logvar

    def decode(self, z: Tensor) -> Tensor:
        return self._drawn(z).view(-1, 1, 8, 8)


class Canvas(Draws):
    """Its forward adds one image to what it decodes, whatever the data."""

    def __init__(self) -> None:
        super().__init__()
        self.register_buffer("canvas", torch.linspace(-6.0, 6.0, 64).view(1, 1, 8, 8))

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        return torch.sigmoid(self.decode(reparameterise(mu, logvar)) + self.canvas), mu, logvar

    def decode(self, z: Tensor) -> Tensor:
        return self._drawn(z).view(-1, 1, 8, 8)


class Critic(Draws):
    """A critic sees the draws after the decoder."""

    def __init__(self) -> None:
        super().__init__()
        self.critic = nn.Sequential(nn.Linear(LATENTS, 8), nn.ReLU(), nn.Linear(8, 1))

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        z = reparameterise(mu, logvar)
        return self.decode(z), self.critic(z), mu, logvar


class Averaged(Draws):
    """Encodes with averaged weights in evaluation mode."""

    def __init__(self) -> None:
        super().__init__()
        self.shadow = nn.Linear(64, 48)

    def _heads(self, x: Tensor) -> tuple[Tensor, Tensor]:
        h = torch.relu((self.fc1 if self.training else self.shadow)(x.flatten(1)))
        return self.fc_mu(h), self.fc_var(h)


class Batches(Draws):
    """Takes 24 images at a time."""

    def encode(self, x: Tensor) -> Any:
        return self._heads(x.view(24, 64))


class Remade(Draws):
    """A method that makes layers anew."""

    def add_pseudoinputs(self) -> None:
        self.fc_mu = nn.Linear(48, LATENTS)

    def elbo_loss(self, x: Tensor) -> Tensor:
        nn.init.zeros_(self.fc_mu.weight)
        return x.sum()


def test_a_spread_that_nothing_shows_is_asked_about_with_both_readings() -> None:
    with pytest.raises(
        ReadingError, match=r"posterior=log\w+ \(.*or posterior=log\w+ \(.*posterior="
    ):
        vs.open_model(seeded(Mute), digits())


def test_a_name_in_the_code_says_what_the_spread_is() -> None:
    assert read(seeded(Named), "posterior") == "pair,logstd"


def test_a_loss_shows_the_spread_and_the_prior() -> None:
    model = seeded(WithLoss)
    assert read(model, "posterior") == "pair,logstd"
    variance = vs.open_model(model, digits()).codes.prior.variance
    np.testing.assert_allclose(variance, 4.0, rtol=1e-3)


class OfLogVariances(Mute):
    def kl_loss(self, mu: Tensor, logvar: Tensor) -> Tensor:
        return 0.5 * (mu**2 + logvar.exp() - 1 - logvar).sum(1).mean()


@pytest.mark.parametrize("size", [1e-3, 0.02, 1.0])
def test_a_loss_shows_its_prior_also_where_it_is_called_with_narrow_variances(size: float) -> None:
    """A loss of log variances that gets variances: exp(v) is nearly linear in small v."""
    generator = torch.Generator().manual_seed(0)
    mean = 2 * torch.randn(256, 10, generator=generator)
    spread = size * (0.1 + 2 * torch.rand(256, 10, generator=generator))
    found = rate_of(seeded(OfLogVariances), digits(), digits(), Parts(mean, spread))
    assert found is not None
    np.testing.assert_allclose(found.variance, 1.0, rtol=0.01)


def test_idle_parameters_as_wide_as_the_latents_are_asked_about() -> None:
    with pytest.raises(ReadingError, match=r"mu_c.*prior="):
        vs.open_model(seeded(Centres), digits())


def test_an_idle_number_is_asked_about_as_the_scale_of_a_likelihood() -> None:
    with pytest.raises(ReadingError, match=r"log_scale.*likelihood="):
        vs.open_model(seeded(Scaled), digits())


def test_a_forward_that_decodes_the_data_too_is_asked_about() -> None:
    model: Any = seeded(Skips)
    with pytest.raises(ReadingError, match="decodes the same latents differently for other data"):
        vs.open_model(model, digits())
    vs.open_model(model, digits(), decode=model.decode, posterior="logvar")


def test_a_model_of_one_batch_size_gets_batches_of_that_size() -> None:
    free, fixed = seeded(Draws), seeded(Batches)
    fixed.load_state_dict(free.state_dict())
    one, other = (vs.open_model(model, digits()).codes for model in (free, fixed))
    torch.testing.assert_close(torch.from_numpy(one.mean), torch.from_numpy(other.mean))
    torch.testing.assert_close(torch.from_numpy(one.variance), torch.from_numpy(other.variance))


def test_reading_changes_nothing_in_a_model() -> None:
    model = seeded(Remade)
    layer, before = model.fc_mu, {k: v.clone() for k, v in model.state_dict().items()}
    vs.open_model(model, digits())
    assert model.fc_mu is layer
    for name, value in model.state_dict().items():
        torch.testing.assert_close(value, before[name], rtol=0, atol=0)


class Flattens(nn.Module):
    """A linear VAE at its optimum of images in one order of their axes; it takes any."""

    def __init__(self, images: Tensor) -> None:
        super().__init__()
        self.inner = vs.known.linear_vae(images.flatten(1).numpy())

    def encode(self, x: Tensor) -> Any:
        return self.inner.encode(x.reshape(len(x), -1))

    def decode(self, z: Tensor) -> Tensor:
        return self.inner.decode(z)


def test_a_model_of_images_with_their_channels_last_that_takes_both_is_asked_about() -> None:
    last = colour().permute(0, 2, 3, 1).contiguous()
    model = Flattens(last)
    with pytest.raises(ReadingError, match="reconstructions are closer if they are last"):
        vs.open_model(model, last, posterior="logvar")
    opened = vs.open_model(model, last, posterior="logvar", kind="signals")
    wanted = model.encode(last)[0].detach().numpy()
    np.testing.assert_allclose(opened.codes.mean, wanted, rtol=1e-3, atol=1e-4)
    first = Flattens(colour())
    opened = vs.open_model(first, last, posterior="logvar")  # moved first, as it was trained
    wanted = first.encode(colour())[0].detach().numpy()
    np.testing.assert_allclose(opened.codes.mean, wanted, rtol=1e-3, atol=1e-4)


def test_what_forward_adds_to_its_decoder_is_part_of_the_decoder() -> None:
    """Of data that the canvas explains."""
    model: Any = seeded(Canvas)
    images = torch.sigmoid(model.canvas + torch.randn(256, 1, 1, 1)).expand(256, 1, 8, 8)
    opened = vs.open_model(model, images.contiguous(), prior="normal")
    z = torch.zeros(2, LATENTS)
    got = opened.decode(z).mean.reshape(-1)
    wanted = torch.sigmoid(model.decode(z) + model.canvas).reshape(-1)
    torch.testing.assert_close(got, wanted)


def test_a_critic_of_the_draws_is_no_second_level() -> None:
    assert read(seeded(Critic), "posterior") == "pair,logvar"


def test_codes_that_are_others_in_training_mode_are_asked_about() -> None:
    with pytest.raises(ReadingError, match="other latents in training mode"):
        vs.open_model(seeded(Averaged), digits())
