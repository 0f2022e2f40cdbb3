"""`vs.watch`: what the rule says of codes, said batch by batch."""

import json
import math
from dataclasses import FrozenInstanceError

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

import vaescope as vs
from vaescope.errors import RangeError, ShapeError, UsageError
from vaescope.latents import types
from vaescope.objectives import DIPI, BetaVAE, EntropyVAE, unused_posterior
from vaescope.priors import ConditionalPrior, SparsePrior, StandardNormal
from vaescope.schedules import Constant
from vaescope.watching import Watch, watch

Arrays = NDArray[np.float64]
ACTIVE, MIXED, PASSIVE = 0.01, 0.5, 1.0


def feed(variances: list[float], *, examples: int, state: Watch | None = None) -> Watch:
    """Constant posteriors in batches of 100, with a memory of 1,000."""
    variance = np.tile(variances, (100, 1))
    for _ in range(examples // 100):
        state = watch(np.zeros_like(variance), variance=variance, state=state, memory=1000)
    assert state is not None
    return state


@pytest.fixture
def posteriors(generator: np.random.Generator) -> tuple[Arrays, Arrays]:
    """1,000 examples of an active, a mixed, a passive and a latent that is passive on half."""
    scale = np.array([0.02, 0.5, 1.0, 1.0])
    variance = scale * generator.uniform(0.9, 1.1, (1000, 4))
    variance[::2, 3] = 0.02
    # Means of passive latents hardly move, or they would not be passive.
    return generator.normal(size=(1000, 4)) * np.array([1.0, 0.7, 0.1, 0.7]), variance


def test_without_forgetting_batches_of_any_size_give_what_the_codes_give(
    posteriors: tuple[Arrays, Arrays],
) -> None:
    mean, variance = posteriors
    whole = types(vs.Codes(mean, variance, mean))
    for cuts in ([], [1], [10, 500, 501]):
        seen = None
        for m, v in zip(np.split(mean, cuts), np.split(variance, cuts), strict=True):
            seen = watch(m, variance=v, state=seen, memory=math.inf)
        assert seen is not None
        assert seen.names == whole.names == ("active", "mixed", "passive", "mixed")
        np.testing.assert_allclose(seen.kl, whole.kl, rtol=1e-12)
        np.testing.assert_allclose(seen.mean_variance, whole.mean_variance, rtol=1e-12)
        np.testing.assert_allclose(seen.variance_of_variance, whole.variance_of_variance, rtol=1e-9)


def test_an_example_that_came_m_examples_ago_weighs_exp_of_minus_m_over_memory() -> None:
    old = watch(np.zeros((5, 1)), variance=np.full((5, 1), 2.0), memory=10)
    new = watch(np.zeros((7, 1)), variance=np.full((7, 1), 1.0), state=old, memory=10)
    w = 5.0 * math.exp(-0.7)
    assert new.weight == pytest.approx(w + 7.0)
    assert new.mean_variance[0] == pytest.approx((2.0 * w + 7.0) / (w + 7.0))
    share = w / (w + 7.0)
    assert new.variance_of_variance[0] == pytest.approx(share * (1.0 - share))


def test_types_follow_a_model_that_changes() -> None:
    seen = feed([PASSIVE, PASSIVE], examples=5000)
    seen = feed([ACTIVE, PASSIVE], examples=10_000, state=seen)
    assert seen.names == ("active", "passive")
    assert seen.active.tolist() == [0]
    assert seen.passive.tolist() == [1]


def test_variance_std_and_logvar_of_tensors_and_arrays_are_one_thing(
    posteriors: tuple[Arrays, Arrays],
) -> None:
    mean, variance = posteriors
    wanted = watch(mean, variance=variance)
    for seen in (
        watch(mean, std=np.sqrt(variance)),
        watch(mean, logvar=np.log(variance)),
        watch(torch.from_numpy(mean), logvar=torch.from_numpy(variance).log()),
    ):
        np.testing.assert_allclose(seen.kl, wanted.kl, rtol=1e-12)
        assert seen.names == wanted.names
    half = watch(torch.from_numpy(mean).bfloat16(), logvar=torch.from_numpy(variance).log())
    np.testing.assert_allclose(half.kl, wanted.kl, rtol=0.02)


def test_neither_the_graph_nor_the_random_stream_is_touched() -> None:
    mean = torch.zeros(8, 2, requires_grad=True)
    logvar = (mean * 2.0).sin()
    torch.manual_seed(0)
    before, version = torch.random.get_rng_state(), logvar._version
    seen = watch(mean, logvar=logvar)
    assert torch.equal(torch.random.get_rng_state(), before)
    assert logvar._version == version
    assert mean.grad is None
    logvar.sum().backward()
    np.testing.assert_array_equal(mean.grad, torch.full((8, 2), 2.0))
    assert isinstance(seen.kl, np.ndarray)


def test_a_state_is_frozen_and_can_be_used_twice() -> None:
    first = feed([ACTIVE, PASSIVE], examples=300)
    kept = first.to_dict()
    one = feed([PASSIVE, PASSIVE], examples=500, state=first)
    two = feed([PASSIVE, PASSIVE], examples=500, state=first)
    assert one.to_dict() == two.to_dict() != kept
    assert first.to_dict() == kept
    with pytest.raises(FrozenInstanceError):
        first.examples = 0  # type: ignore[misc]


def test_collapse_is_warned_of_once_it_has_lasted_and_not_before() -> None:
    fresh = feed([PASSIVE, PASSIVE, PASSIVE], examples=900)
    assert fresh.warning is None
    warning = feed([PASSIVE, PASSIVE, PASSIVE], examples=100, state=fresh).warning
    assert warning is not None
    for part in ("all 3 latents", "1,000 examples", "1.00 to 1.00", "lower the weight"):
        assert part in warning
    alive = feed([PASSIVE, PASSIVE, MIXED], examples=5000)
    assert alive.warning is None
    # The mean variance comes above 0.9 after 1,000 ln 5 = 1,609 examples: 17 batches.
    fallen = feed([PASSIVE, PASSIVE, PASSIVE], examples=3000, state=alive).warning
    assert fallen is not None
    assert "passive for 1,400 examples" in fallen


def test_a_fall_of_the_active_is_warned_of_once_it_has_lasted_and_names_the_lost() -> None:
    good = feed([ACTIVE, ACTIVE, ACTIVE, PASSIVE], examples=3000)
    assert good.warning is None
    after = feed([ACTIVE, MIXED, PASSIVE, PASSIVE], examples=900, state=good)
    assert after.active.tolist() == [0]
    assert after.warning is None
    warning = feed([ACTIVE, MIXED, PASSIVE, PASSIVE], examples=9000, state=after).warning
    assert warning is not None
    for part in ("fell from 3 to 1 of 4", "latent 1 is now mixed", "latent 2 is now passive"):
        assert part in warning
    back = feed([ACTIVE, ACTIVE, ACTIVE, PASSIVE], examples=9000, state=after)
    assert back.warning is None


def test_a_latent_that_takes_the_place_of_another_is_no_fall() -> None:
    good = feed([ACTIVE, PASSIVE, MIXED], examples=3000)
    both = feed([ACTIVE, ACTIVE, MIXED], examples=3000)
    assert feed([PASSIVE, ACTIVE, MIXED], examples=20_000, state=good).warning is None
    assert feed([PASSIVE, ACTIVE, ACTIVE], examples=20_000, state=both).warning is None


@pytest.mark.parametrize("bad", [math.nan, math.inf, -math.inf])
def test_examples_without_a_finite_kl_are_left_out_and_said(bad: float) -> None:
    logvar = np.zeros((4, 2))
    logvar[1, 0] = bad
    seen = watch(np.zeros((4, 2)), logvar=logvar)
    assert seen.warning is not None
    assert seen.warning.startswith("1 of 4 examples")
    assert seen.examples == 3
    assert seen.names == ("passive", "passive")
    after = watch(np.zeros((4, 2)), logvar=np.full((4, 2), bad), state=seen)
    np.testing.assert_array_equal(after.kl, seen.kl)
    nothing = watch(np.zeros((4, 2)), logvar=np.full((4, 2), bad))
    assert nothing.names == ()
    assert "kl" not in nothing.to_dict()


def test_to_dict_is_numbers_by_plain_keys() -> None:
    content = feed([ACTIVE, PASSIVE], examples=100).to_dict()
    assert json.loads(json.dumps(content, allow_nan=False)) == content
    assert all(key.replace("_", "").isalnum() for key in content)
    assert (content["active"], content["mixed"], content["passive"]) == (1, 0, 1)
    assert content["kl"] == pytest.approx(content["kl_0"] + content["kl_1"])
    assert content["variance_1"] == 1.0


def test_the_summary_names_the_latents() -> None:
    seen = feed([ACTIVE, PASSIVE, PASSIVE], examples=2000)
    says = "1 active (0), 0 mixed, 2 passive (1, 2); 1.81 nats; 2,000 examples"
    assert seen.summary() == says
    assert says in seen._repr_html_()


def test_what_cannot_be_read_is_refused_with_a_remedy() -> None:
    ones = np.ones((4, 2))
    with pytest.raises(UsageError, match="no variance; wanted exactly one"):
        watch(ones)
    with pytest.raises(UsageError, match="variance and logvar"):
        watch(ones, variance=ones, logvar=ones)
    with pytest.raises(RangeError, match="give them as logvar="):
        watch(ones, std=-ones)
    with pytest.raises(ShapeError, match="flatten"):
        watch(np.ones((4, 2, 3, 3)), logvar=np.ones((4, 2, 3, 3)))
    with pytest.raises(ShapeError, match="wanted the same"):
        watch(ones, variance=np.ones((4, 3)))
    with pytest.raises(ShapeError, match="the previous ones had 2"):
        watch(np.ones((4, 3)), variance=np.ones((4, 3)), state=watch(ones, variance=ones))
    with pytest.raises(UsageError, match="memory is 0"):
        watch(ones, variance=ones, memory=0)


def test_a_latent_whose_means_move_is_not_passive(generator: np.random.Generator) -> None:
    """Variance 1 and means of variance 0.2: by bonheme2023's thresholds alone it were passive."""
    mean = np.sqrt(0.2) * generator.normal(size=(2000, 1))
    seen = watch(mean, variance=np.ones_like(mean))
    assert seen.names == ("mixed",)
    assert seen.movement[0] == pytest.approx(0.2, rel=0.1)
    shifted = watch(np.full_like(mean, 5.0), variance=np.ones_like(mean))
    assert shifted.names == ("passive",)  # far from the prior, but always at the same place


def test_types_and_kl_do_not_change_where_prior_and_posteriors_are_scaled(
    posteriors: tuple[Arrays, Arrays],
) -> None:
    mean, variance = posteriors
    wanted = watch(mean, variance=variance)
    for c in (0.01, 7.0, np.array([0.1, 1.0, 3.0, 50.0])):
        seen = watch(c * mean, variance=c**2 * variance, prior_variance=c**2)
        assert seen.names == wanted.names
        np.testing.assert_allclose(seen.kl, wanted.kl, rtol=1e-9)
        np.testing.assert_allclose(seen.movement, wanted.movement, rtol=1e-9)
    moved = watch(mean + 3.0, variance=variance, prior_mean=np.full(4, 3.0))
    np.testing.assert_allclose(moved.kl, wanted.kl, rtol=1e-9)


def test_latents_are_typed_in_units_of_an_unused_one() -> None:
    four = unused_posterior(EntropyVAE(Constant(4.0)), StandardNormal(3))
    values = np.tile([4.0, 1.0, 0.3], (50, 1))
    for unused in (four, 4.0, np.full(3, 4.0)):
        seen = watch(np.zeros((50, 3)), variance=values, unused=unused)
        assert seen.names == ("passive", "mixed", "active")
    assert seen.kl[0] == pytest.approx(0.5 * (3.0 - math.log(4.0)))  # it still has a rate
    none = watch(np.zeros((50, 3)), variance=1.0 + 0 * values,
                 unused=unused_posterior(DIPI(), StandardNormal(3)))  # fmt: skip
    assert none.names == ("mixed",) * 3


def test_a_prior_that_depends_on_u_is_given_row_by_row(generator: np.random.Generator) -> None:
    """Posteriors that are the prior of their row are passive, whatever these are."""
    s, m = generator.uniform(0.01, 30.0, (400, 2)), generator.normal(size=(400, 2))
    unused = unused_posterior(BetaVAE(), ConditionalPrior(1, 2))
    seen = watch(torch.from_numpy(m), variance=s, prior_mean=torch.from_numpy(m), prior_variance=s,
                 unused=unused)  # fmt: skip
    assert seen.names == ("passive", "passive")
    np.testing.assert_allclose(seen.kl, 0.0, atol=1e-12)


def test_in_the_spike_of_a_sparse_prior_what_moves_is_active() -> None:
    unused = unused_posterior(BetaVAE(), SparsePrior(2, 0.8))
    assert unused.variance is not None
    variance = np.tile(unused.variance, (100, 1))
    mean = np.zeros((100, 2))
    mean[::2, 1] = 1.0
    seen = watch(mean, variance=variance, prior_variance=unused.variance, unused=unused)
    assert seen.names == ("passive", "active")


def test_priors_that_do_not_fit_are_refused() -> None:
    ones = np.ones((4, 2))
    with pytest.raises(ShapeError, match="prior_mean has shape"):
        watch(ones, variance=ones, prior_mean=np.zeros(3))
    with pytest.raises(RangeError, match="prior_variance goes down to -1"):
        watch(ones, variance=ones, prior_variance=[1.0, -1.0])
