"""The rule by exact recursion: its level with a look after every unit, and its power."""

from collections.abc import Callable

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.integrate import quad

from vaescope.studies.votes import (
    e_bh,
    evidence,
    fewest_votes,
    holm,
    running,
    visible_share,
)


@pytest.mark.parametrize(("votes", "units", "e"), [(12, 12, 630), (11, 12, 52), (23, 24, 5.6e4)])
def test_the_evidence_of_the_issue(votes: int, units: int, e: float) -> None:
    assert evidence(votes, units) == pytest.approx(e, rel=0.01)


@given(st.integers(0, 40), st.integers(0, 40))
def test_evidence_is_the_mixture_of_likelihood_ratios(votes: int, others: int) -> None:
    n = votes + others
    mixture, _ = quad(lambda p: 2.0 * (2 * p) ** votes * (2 * (1 - p)) ** others, 0.5, 1.0)
    assert evidence(votes, n) == pytest.approx(mixture, rel=1e-6)


def reached(units: int, needed: float, chance: float) -> float:
    """The exact chance that the e-process ever reaches `needed` within so many units."""
    left, done = {0: 1.0}, 0.0
    for n in range(1, units + 1):
        now: dict[int, float] = {}
        for votes, p in left.items():
            for k, q in ((votes + 1, p * chance), (votes, p * (1.0 - chance))):
                if evidence(k, n) >= needed:
                    done += q
                else:
                    now[k] = now.get(k, 0.0) + q
        left = now
    return done


@pytest.mark.slow
@pytest.mark.parametrize("needed", [20.0, 40.0, 600.0])
@pytest.mark.parametrize("chance", [0.5, 0.4])
def test_the_level_holds_with_a_look_after_every_unit(needed: float, chance: float) -> None:
    assert 0.0 < reached(200, needed, chance) <= 1.0 / needed


def test_the_power_of_fifteen_primary_claims_at_24_units() -> None:
    assert reached(24, 15 / 0.025, 0.95) > 0.95
    assert reached(24, 15 / 0.025, 0.6) < 0.1  # so that it can fail


def test_the_bound_on_the_level_is_not_idle() -> None:
    """A rule that looked at its z-score after every unit would be wrong far more often."""
    assert reached(200, 20.0, 0.5) > 0.2 / 20.0


EFFECTS: dict[str, Callable[[np.random.Generator, tuple[int, int]], np.ndarray]] = {
    "skewed": lambda g, shape: g.exponential(size=shape) - np.log(2.0),
    "heavy-tailed": lambda g, shape: g.standard_cauchy(size=shape),
    "discrete": lambda g, shape: g.choice([-1.0, 1.0], size=shape),
    "tied": lambda g, shape: g.choice([-1.0, 0.0, 1.0], size=shape, p=[0.3, 0.4, 0.3]),
    "missing": lambda g, shape: g.choice([-1.0, np.nan, 1.0], size=shape, p=[0.2, 0.4, 0.4]),
}


@pytest.mark.slow
@pytest.mark.parametrize("kind", EFFECTS)
def test_effects_of_any_distribution_with_median_zero_keep_the_level(kind: str) -> None:
    """At 5%, over 48 units with a look after each: 2,000 studies, so 2.5% is over ten errors."""
    values = EFFECTS[kind](np.random.default_rng(0), (2000, 48))
    for votes in (values > 0.0, values < 0.0):
        wrong = np.mean([running(row.tolist()).max() >= 20.0 for row in votes])
        assert wrong <= 0.05


@given(st.lists(st.floats(0, 1e4), min_size=1, max_size=12))
def test_holm_is_bonferronis_rule_on_what_is_left(e_values: list[float]) -> None:
    fallen = holm(e_values, 0.05)
    ranked = sorted(e_values, reverse=True)
    count = 0
    while count < len(ranked) and ranked[count] >= (len(ranked) - count) / 0.05:
        count += 1
    assert sum(fallen) == count


@given(st.lists(st.floats(0, 1e4), min_size=1, max_size=12))
def test_e_bh_takes_the_most_that_its_bound_allows(e_values: list[float]) -> None:
    fallen = e_bh(e_values, 0.05)
    ranked = sorted(e_values, reverse=True)
    n = len(ranked)
    allowed = [k for k in range(1, n + 1) if ranked[k - 1] * 0.05 * k >= n]
    assert sum(fallen) == max(allowed, default=0)
    if any(fallen):
        assert min(e for e, f in zip(e_values, fallen, strict=True) if f) >= ranked[sum(fallen) - 1]


def test_the_visible_share_is_decided_with_its_power() -> None:
    share = visible_share(24, 600.0)
    assert share is not None
    least = fewest_votes(24, 600.0)
    draws = np.random.default_rng(0).binomial(24, share, size=20_000)
    assert np.mean(draws >= least) == pytest.approx(0.8, abs=0.015)
    assert visible_share(8, 600.0) is None
