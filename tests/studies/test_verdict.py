"""One rule decides: intervals over seeds, Holm's levels, and the seeds that would decide."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from vaescope.studies import Claim, Gap, Level, decide
from vaescope.studies.verdict import ALPHA, holm
from vaescope.tables import Row, table_of

ABOVE = Claim("a is above 1", "nowhere", Level("a"), "above", 1.0)
BELOW = Claim("a is below 1", "nowhere", Level("a"), "below", 1.0)


def judged(claim: Claim, values: list[float], total: int = 1) -> str:
    return decide([(claim, claim.effect.table(np.array(values)))], total=total)[0].verdict


def test_an_interval_wholly_above_supports_one_side_and_contradicts_the_other() -> None:
    values = [2.0, 2.1, 1.9, 2.05]
    assert judged(ABOVE, values) == "supported"
    assert judged(BELOW, values) == "contradicted"


def test_an_interval_that_holds_the_threshold_is_undecided() -> None:
    assert judged(ABOVE, [0.5, 1.6, 0.9, 1.3]) == "undecided"
    assert judged(BELOW, [0.5, 1.6, 0.9, 1.3]) == "undecided"


def test_one_seed_decides_nothing() -> None:
    assert judged(ABOVE, [100.0]) == "undecided"


def test_seeds_that_all_agree_exactly_decide_unless_they_lie_on_the_threshold() -> None:
    assert judged(BELOW, [0.0, 0.0, 0.0]) == "supported"
    assert judged(BELOW, [1.0, 1.0, 1.0]) == "undecided"


def test_the_interval_is_students_at_holms_level() -> None:
    values = np.array([1.3, 2.0, 1.6, 2.4, 1.9])
    (verdict,) = decide([(ABOVE, ABOVE.effect.table(values))], total=10)
    assert verdict.level == pytest.approx(1 - ALPHA / 10)
    half = stats.t.isf(ALPHA / 20, 4) * values.std(ddof=1) / np.sqrt(5)
    assert verdict.interval == pytest.approx((values.mean() - half, values.mean() + half))
    assert verdict.effect == pytest.approx(values.mean())
    assert verdict.seeds == 5


def test_more_claims_in_the_catalogue_make_it_harder() -> None:
    values = [1.3, 2.0, 1.6, 2.4, 1.9]
    assert judged(ABOVE, values, total=1) == "supported"
    assert judged(ABOVE, values, total=200) == "undecided"


def test_missing_values_are_left_out_and_counted_out() -> None:
    (verdict,) = decide([(ABOVE, ABOVE.effect.table(np.array([2.0, np.nan, 2.1, 1.9])))], total=1)
    assert (verdict.verdict, verdict.seeds) == ("supported", 3)


def test_no_value_at_all_is_undecided_without_a_number() -> None:
    (verdict,) = decide([(ABOVE, ABOVE.effect.table(np.array([np.nan, np.nan])))], total=1)
    assert (verdict.verdict, verdict.effect, verdict.interval) == ("undecided", None, None)


def test_the_seeds_asked_for_decide_with_about_the_stated_power() -> None:
    """Law: of experiments with that many seeds and the effect and spread seen, 80 % are decided."""
    values = np.array([0.2, 2.4, 1.1, 1.9])  # mean 1.4, threshold 1
    (verdict,) = decide([(ABOVE, ABOVE.effect.table(values))], total=1)
    assert verdict.verdict == "undecided" and verdict.needed is not None
    generator = np.random.default_rng(0)
    draws = generator.normal(values.mean(), values.std(ddof=1), size=(4000, verdict.needed))
    t = (draws.mean(axis=1) - 1.0) / (draws.std(axis=1, ddof=1) / np.sqrt(verdict.needed))
    power = np.mean(np.abs(t) > stats.t.isf(ALPHA / 2, verdict.needed - 1))
    assert 0.75 < power < 0.87


def test_a_decided_claim_asks_for_no_more_seeds() -> None:
    (verdict,) = decide([(ABOVE, ABOVE.effect.table(np.array([2.0, 2.1, 1.9])))], total=1)
    assert verdict.verdict == "supported" and verdict.needed is None


@given(st.lists(st.floats(0, 1), min_size=1, max_size=12), st.integers(0, 20))
def test_holm_rejects_what_its_definition_rejects(p_values: list[float], others: int) -> None:
    total = len(p_values) + others
    rejected = [p < level for p, level in zip(p_values, holm(p_values, total), strict=True)]
    ranked = sorted(p_values)
    count = 0
    while count < len(ranked) and ranked[count] < ALPHA / (total - count):
        count += 1
    assert sum(rejected) == count
    if count:
        assert max(p for p, r in zip(p_values, rejected, strict=True) if r) <= ranked[count - 1]


def test_a_gap_is_taken_within_each_seed() -> None:
    rows = [
        Row(f"{method}{seed}", True, {"method": method, "seed": seed}, {"a": 10.0 * seed + own})
        for seed in range(3)
        for method, own in (("x", 1.0), ("y", 3.0))
    ]
    effect = Gap("a", {"method": "y"}, {"method": "x"})
    np.testing.assert_allclose(effect.of(table_of(rows)), [2.0, 2.0, 2.0])
