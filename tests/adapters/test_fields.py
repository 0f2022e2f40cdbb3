"""Models of many fields: each is read right, or asks for what makes it right; values go to a model
as they came."""

import numpy as np
import pytest
import torch
from tests.adapters.fields import FIELDS
from tests.adapters.fields.field import ROWS, STATES, model_in
from tests.adapters.fields.judging import outcome_of
from torch import Tensor, nn

import vaescope as vs
from vaescope.errors import UnreadableError

RIGHT_AT_FIRST = 0.8
BY_NAME = {one.name: one for one in FIELDS}
#: A few for the fast tests.
COMMON = ("sensors/recurrent", "tokens/bag of words", "batches/dictionary", "labels/numbers")


def test_there_are_at_least_24_classes_and_two_of_each_kind() -> None:
    kinds = [one.kind for one in FIELDS]
    assert len(BY_NAME) == len(FIELDS) >= 24
    assert all(kinds.count(kind) >= 2 for kind in kinds)


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMON)
def test_a_common_class_is_read_right_at_the_first_call(name: str) -> None:
    assert outcome_of(BY_NAME[name], "untrained").word == "right"


@pytest.mark.slow
@pytest.mark.parametrize("state", STATES)
def test_no_class_is_misread_and_what_a_refusal_names_makes_it_right(state: str) -> None:
    outcomes = [outcome_of(one, state) for one in FIELDS]
    failed = [str(one) for one in outcomes if one.word not in ("right", "asked then right")]
    assert not failed, "\n".join(failed)
    if state == "trained":
        right = sum(one.word == "right" for one in outcomes)
        assert right >= RIGHT_AT_FIRST * len(outcomes)


@pytest.mark.slow
@pytest.mark.parametrize("one", FIELDS, ids=lambda one: one.name)
def test_a_trained_class_has_a_rate_and_a_collapsed_one_has_not(one) -> None:  # type: ignore[no-untyped-def]
    """Else the corpus would not be what it says."""
    rates = []
    for state in STATES[1:]:
        with torch.no_grad():
            m, v = one.posterior(model_in(one, state))
        rates.append(float(0.5 * (m.square() + v - 1 - v.log()).flatten(1).sum(1).mean()))
    assert rates[1] < 0.5 < 1.0 < rates[0], rates


class Seen(nn.Module):
    """Remembers the least and greatest value that it was given."""

    def __init__(self, x: Tensor) -> None:
        super().__init__()
        size = x[0].numel()
        self.event = x.shape[1:]
        self.enc, self.dec = nn.Linear(size, 8), nn.Linear(4, size)
        self.scale, self.shift = float(x.std()), float(x.mean())
        self.ends: set[tuple[float, float]] = set()
        optimiser = torch.optim.Adam(self.parameters(), lr=1e-2)
        for _ in range(150):
            mu, logvar = self.encode(x)
            y = self.decode(mu + torch.randn_like(mu) * (0.5 * logvar).exp())
            rate = 0.5 * (mu.square() + logvar.exp() - 1 - logvar).sum()
            loss = ((y - x) / self.scale).square().sum() + 0.1 * rate
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        self.ends = set()

    def encode(self, x: Tensor) -> tuple[Tensor, Tensor]:
        self.ends.add((float(x.min()), float(x.max())))
        mu, logvar = self.enc((x.flatten(1) - self.shift) / self.scale).chunk(2, 1)
        return mu, logvar

    def forward(self, x: Tensor) -> Tensor:
        mu, logvar = self.encode(x)
        return self.decode(mu + torch.randn_like(mu) * (0.5 * logvar).exp())

    def decode(self, z: Tensor) -> Tensor:
        return (self.dec(z) * self.scale + self.shift).view(-1, *self.event)


@pytest.mark.slow
@pytest.mark.parametrize("shape", [(1, 6, 6), (12, 3), (3, 6, 6)], ids=str)
@pytest.mark.parametrize("ends", [(-1.0, 1.0), (-0.8, 0.8), (-0.5, 0.5), (0.0, 255.0), (-2.1, 2.6)])
def test_values_reach_the_model_as_they_came(
    ends: tuple[float, float], shape: tuple[int, ...]
) -> None:
    generator = torch.Generator().manual_seed(3)
    factors = torch.rand(ROWS, 3, generator=generator)
    mixed = torch.sigmoid(4 * (factors @ torch.randn(3, int(np.prod(shape)), generator=generator)))
    mixed = (mixed - mixed.min()) / (mixed.max() - mixed.min())
    x = (ends[0] + (ends[1] - ends[0]) * mixed).reshape(-1, *shape)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        model = Seen(x)
    opened = vs.open_model(model, x)
    model.ends.clear()
    codes = opened.codes
    assert len(model.ends) == 1
    np.testing.assert_allclose(next(iter(model.ends)), (float(x.min()), float(x.max())), rtol=1e-5)
    with torch.no_grad():
        mu, logvar = model.encode(x)
    np.testing.assert_allclose(codes.mean, mu, rtol=1e-3, atol=1e-4)
    np.testing.assert_allclose(codes.variance, logvar.exp(), rtol=1e-3)
    told = {one.what: one.read for one in opened.inferred}
    images = len(shape) == 3 and ends[0] != -2.1
    assert ("value_range" in told) == images


def test_a_refusal_says_that_nothing_worked_and_gives_the_signature() -> None:
    class Odd(nn.Module):
        def encode(self, x: Tensor, *, secret: int) -> Tensor:
            return x * secret

        def decode(self, z: Tensor) -> Tensor:
            return z

    with pytest.raises(UnreadableError, match=r"encode=, a function of \(n, 7, 2\)"):
        vs.open_model(Odd(), torch.randn(40, 7, 2))


def test_a_time_first_model_is_told_by_one_argument_too() -> None:
    one = BY_NAME["time first/recurrent"]
    model = model_in(one, "untrained")
    opened = vs.open_model(**one.given(model), batch_axis=1)
    with torch.no_grad():
        np.testing.assert_allclose(opened.codes.mean, one.posterior(model)[0], atol=1e-5)


def test_what_needs_a_decoder_is_left_out_with_the_reason_where_batches_go_in_untouched() -> None:
    one = BY_NAME["batches/dictionary"]
    found = vs.inspect(**one.given(model_in(one, "untrained")), effort="fast")
    assert found.fit is None and found.geometry is None and found.traversals is None
    assert {"fit", "traversals", "dto"} <= set(found.skipped)
    assert found.measures is not None and len(found.latents) == 4
