"""What is scored of the data, and how: padding, masks, missing values, counts; codes alone."""

import textwrap
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn
from torch.nn import functional as F

import vaescope as vs
from vaescope.errors import RangeError, ReadingError, UnreadableError, UnscoredError

ROWS = 60


def seeded(make: Any) -> Any:
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return make().eval()


def random(*shape: int) -> Tensor:
    return torch.randn(*shape, generator=torch.Generator().manual_seed(1))


def nats_of(opened: Any) -> Any:
    """-log p(x|z) at the means."""
    return opened.distortion(np.arange(ROWS), np.zeros(opened.codes.mean.shape, np.float32))


class Vae(nn.Module):
    """Heads and a decoder for rows of `size` numbers."""

    def __init__(self, size: int = 12, outputs: int | None = None) -> None:
        super().__init__()
        self.enc, self.dec = nn.Linear(size, 6), nn.Linear(3, outputs or size)

    def encode(self, x: Tensor) -> Any:
        return self.enc(x.flatten(1).float()).chunk(2, 1)

    def decode(self, z: Tensor) -> Tensor:
        return self.dec(z)

    def forward(self, x: Tensor) -> Any:
        mu, logvar = self.encode(x)
        return self.decode(mu + torch.randn_like(mu) * (0.5 * logvar).exp()), mu, logvar


class Absolute(Vae):
    """Its loss takes data alone."""

    def loss(self, x: Tensor, beta: float = 1.0) -> Tensor:
        y, mu, logvar = self(x)
        rate = -0.5 * (1 + logvar - mu.square() - logvar.exp()).sum(1)
        return (F.l1_loss(y, x, reduction="none").sum(1) + beta * rate).mean()


def test_a_loss_of_data_alone_shows_its_distortion() -> None:
    x, model = random(ROWS, 12), seeded(Absolute)
    opened = vs.open_model(model, x)
    with torch.no_grad():
        y = model.decode(model.encode(x)[0])
    wanted = ((y - x).abs() + np.log(2)).sum(1)
    np.testing.assert_allclose(nats_of(opened), wanted, rtol=1e-4)


class Words(Vae):
    """Tokens with padding, which its loss leaves out where it says so."""

    ignored = 0

    def __init__(self) -> None:
        super().__init__(8, 8 * 5)
        self.embed = nn.Embedding(5, 1, padding_idx=0)

    def encode(self, tokens: Tensor) -> Any:
        return self.enc(self.embed(tokens)[..., 0]).chunk(2, 1)

    def decode(self, z: Tensor) -> Tensor:
        return self.dec(z).view(-1, 8, 5)

    def forward(self, tokens: Tensor) -> Any:
        mu, logvar = self.encode(tokens)
        logits = self.decode(mu + torch.randn_like(mu) * (0.5 * logvar).exp())
        rate = -0.5 * (1 + logvar - mu.square() - logvar.exp()).sum(1).mean()
        return F.cross_entropy(logits.movedim(-1, 1), tokens, ignore_index=self.ignored), rate


class AllWords(Words):
    ignored = -100


class SilentWords(Words):
    def forward(self, tokens: Tensor) -> Any:
        mu, logvar = self.encode(tokens)
        return self.decode(mu + torch.randn_like(mu) * (0.5 * logvar).exp()), mu, logvar


def strings() -> Tensor:
    generator = torch.Generator().manual_seed(2)
    words = torch.randint(1, 5, (ROWS, 8), generator=generator)
    return torch.where(torch.arange(8) < torch.randint(3, 9, (ROWS, 1), generator=generator),
                       words, 0)  # fmt: skip


def crosses(model: Any, x: Tensor, ignored: int) -> Tensor:
    with torch.no_grad():
        logits = model.decode(model.encode(x)[0]).movedim(-1, 1)
        return F.cross_entropy(logits, x, ignore_index=ignored, reduction="none").sum(1)


@pytest.mark.parametrize(("kind", "ignored"), [(Words, 0), (AllWords, -100)])
def test_padding_is_scored_where_the_models_own_loss_scores_it(kind: Any, ignored: int) -> None:
    x, model = strings(), seeded(kind)
    opened = vs.open_model(model, x)
    np.testing.assert_allclose(nats_of(opened), crosses(model, x, ignored), rtol=1e-4)
    told = {one.what: one.read for one in opened.inferred}
    assert told.get("scored") == ("all tokens but 0" if ignored == 0 else None)


def test_without_a_loss_padding_is_asked_about() -> None:
    x, model = strings(), seeded(SilentWords)
    with pytest.raises(UnscoredError, match=r"padding_idx=0.*scored=") as caught:
        vs.open_model(model, x)
    assert len(textwrap.wrap(str(caught.value), 100)) <= 4
    assert "vs.inspect(encode=model.encode, data=data)" in caught.value.remedy
    for scored, ignored in ((x != 0, 0), (torch.ones_like(x), -100)):
        opened = vs.open_model(model, x, scored=scored)
        np.testing.assert_allclose(nats_of(opened), crosses(model, x, ignored), rtol=1e-4)


class Masked(Vae):
    def encode(self, x: Tensor, mask: Tensor) -> Any:  # type: ignore[override]
        return self.enc((x * mask).flatten(1)).chunk(2, 1)

    def forward(self, x: Tensor, mask: Tensor) -> Any:  # type: ignore[override]
        mu, logvar = self.encode(x, mask)
        return self.decode(mu + torch.randn_like(mu) * (0.5 * logvar).exp()), mu, logvar

    def decode(self, z: Tensor) -> Tensor:
        return self.dec(z).view(-1, 6, 2)


class Scoring(Masked):
    def compute_loss(self, x: Tensor, mask: Tensor) -> Tensor:
        y, mu, logvar = self(x, mask)
        return ((y - x).square() * mask).sum() + (mu.square() + logvar.exp() - logvar).sum()


def test_a_mask_is_applied_as_the_models_own_loss_applies_it_or_asked_about() -> None:
    x, mask = random(ROWS, 6, 2), (random(ROWS, 6, 2) > -0.5).float()
    model = seeded(Scoring)
    opened = vs.open_model(model, x, condition=mask)
    with torch.no_grad():
        y = model.decode(model.encode(x, mask)[0])
    each = (y - x).square() + 0.5 * np.log(np.pi)
    np.testing.assert_allclose(nats_of(opened), (each * mask).sum((1, 2)), rtol=1e-4)
    silent = seeded(Masked)
    with pytest.raises(UnscoredError, match="scored="):
        vs.open_model(silent, x, condition=mask)
    opened = vs.open_model(silent, x, condition=mask, scored=np.ones_like(x))
    np.testing.assert_allclose(nats_of(opened), each.sum((1, 2)), rtol=1e-4)


class Gaps(Vae):
    def encode(self, x: Tensor) -> Any:
        return self.enc(torch.nan_to_num(x, nan=-1.0)).chunk(2, 1)


def test_missing_values_give_codes_where_the_encoder_takes_them() -> None:
    x, model = random(ROWS, 12), seeded(Gaps)
    x[::3, 4] = torch.nan
    found = vs.inspect(model, x, effort="latents")
    opened = vs.open_model(model, x)
    with torch.no_grad():
        np.testing.assert_allclose(opened.codes.mean, model.encode(x)[0], atol=1e-5)
    assert "NaN" in opened.undecoded and found.fit is None
    with pytest.raises(RangeError, match="NaN"):
        vs.open_model(seeded(Vae), x)


class Clicks(Vae):
    """Logits of a softmax over all items, with an offset that a softmax does not see."""

    def decode(self, z: Tensor) -> Tensor:
        return 3 * z.repeat(1, 4) - 9.0

    def encode(self, x: Tensor) -> Any:
        taste = x.view(-1, 4, 3).sum(1)
        mean = taste - taste.mean(1, keepdim=True)
        return mean, torch.full_like(mean, -4.0)


class ScoredClicks(Clicks):
    def loss_function(self, recon_x: Tensor, x: Tensor, mu: Tensor, logvar: Tensor) -> Tensor:
        rate = (mu.square() + logvar.exp() - logvar).sum(1)
        return (rate - (F.log_softmax(recon_x, 1) * x).sum(1)).mean()


@pytest.mark.parametrize("kind", [Clicks, ScoredClicks])
def test_counts_may_be_shares_of_a_softmax(kind: Any) -> None:
    generator = torch.Generator().manual_seed(3)
    liked = torch.randint(3, (ROWS,), generator=generator)
    chance = torch.where(torch.arange(12) % 3 == liked[:, None], 0.9, 0.05)
    x = torch.bernoulli(chance, generator=generator)
    model = seeded(kind)
    opened = vs.open_model(model, x)
    with torch.no_grad():
        logits = model.decode(model.encode(x)[0])
    wanted = -(x * logits.log_softmax(1)).sum(1)
    np.testing.assert_allclose(nats_of(opened), wanted, rtol=1e-4)
    said = vs.open_model(model, x, likelihood="multinomial")
    np.testing.assert_allclose(nats_of(said), wanted, rtol=1e-4)


def test_counts_that_are_poor_either_way_are_asked_about() -> None:
    x = torch.bernoulli(torch.full((ROWS, 12), 0.3), generator=torch.Generator().manual_seed(5))
    with pytest.raises(UnscoredError, match="likelihood=multinomial or bernoulli") as caught:
        vs.open_model(seeded(Clicks), x)
    assert len(textwrap.wrap(str(caught.value), 100)) <= 4


class Square(Vae):
    """As many words as steps: the axis after the batch is the vocabulary."""

    def __init__(self) -> None:
        super().__init__(4, 16)

    def encode(self, x: Tensor) -> Any:
        mean = x[:, :3].float() - 1.5
        return mean, torch.full_like(mean, -4.0)

    def decode(self, z: Tensor) -> Tensor:
        words = torch.cat([z, z[:, :1]], 1) + 1.5
        return -4 * (words[:, None] - torch.arange(4.0)[None, :, None]).square()


def test_of_as_many_words_as_steps_the_data_tell_the_vocabulary() -> None:
    x = torch.randint(4, (ROWS, 4), generator=torch.Generator().manual_seed(4))
    x[:, 3] = x[:, 0]
    model = seeded(Square)
    opened = vs.open_model(model, x)
    with torch.no_grad():
        wanted = F.cross_entropy(model.decode(model.encode(x)[0]), x, reduction="none").sum(1)
    np.testing.assert_allclose(nats_of(opened), wanted, atol=1e-3)
    with pytest.raises(ReadingError, match=r"decode=lambda z: model\.decode.*pair,logvar"):
        vs.open_model(seeded(Unsure), x)
    turned = lambda z: model.decode(z).transpose(1, 2)  # noqa: E731
    opened = vs.open_model(seeded(Unsure), x, decode=turned, posterior="pair,logvar")
    np.testing.assert_allclose(nats_of(opened), wanted, atol=1e-3)


class Unsure(Square):
    def decode(self, z: Tensor) -> Tensor:
        return 1e-3 * super().decode(z)


class Heads(Vae):
    """A decoder of several heads, and deviations in place of log variances."""

    def encode(self, x: Tensor) -> Any:
        mu, raw = self.enc(x).chunk(2, 1)
        return mu, F.softplus(raw)

    def reparameterize(self, mu: Tensor, std: Tensor) -> Tensor:
        return mu + std * torch.randn_like(std)

    def decode(self, z: Tensor) -> Any:
        y = self.dec(z)
        return y[:, :4], [y[:, 4:7], y[:, 7:]]

    def forward(self, x: Tensor) -> Any:
        mu, std = self.encode(x)
        return *self.decode(self.reparameterize(mu, std)), mu, std


def test_a_refusal_gives_a_call_for_codes_that_was_tried() -> None:
    x, model = random(ROWS, 12), seeded(Heads)
    with pytest.raises(UnreadableError) as caught:
        vs.open_model(model, x)
    call = 'vs.inspect(encode=model.encode, data=data, posterior="pair,std")'
    assert call in caught.value.remedy
    opened = vs.open_model(encode=model.encode, data=x, posterior="pair,std")
    with torch.no_grad():
        mu, std = model.encode(x)
    np.testing.assert_allclose(opened.codes.mean, mu, atol=1e-5)
    np.testing.assert_allclose(opened.codes.variance, std**2, rtol=1e-3)


class Hidden(Vae):
    """What looks like an encoder gives a hidden layer."""

    def encode(self, x: Tensor) -> Tensor:
        return self.enc(x)

    def decode(self, z: Tensor) -> Any:
        raise RuntimeError("no")

    def forward(self, x: Tensor) -> Any:
        raise RuntimeError("no")


def test_no_call_is_given_where_the_posterior_is_not_seen() -> None:
    with pytest.raises(UnreadableError) as caught:
        vs.open_model(seeded(Hidden), random(ROWS, 12))
    assert "vs.inspect(" not in str(caught.value)


class Rotated(Vae):
    def encode(self, x: Tensor) -> Any:
        mu, logvar = super().encode(x)
        return {"mu": mu, "logvar": logvar, "angle": x[:, :1]}

    def forward(self, x: Tensor) -> Any:
        found = self.encode(x)
        return self.decode(found["mu"] + torch.randn_like(found["mu"])
                           * (0.5 * found["logvar"]).exp())  # fmt: skip


def test_what_the_encoder_returns_beside_its_posterior_is_listed() -> None:
    found = vs.inspect(seeded(Rotated), random(ROWS, 12), effort="latents")
    beside = next(one for one in found.inferred if one.what == "beside")
    assert beside.read.startswith("angle of shape (1,)")
    assert "angle of shape (1,)" in found.summary()
