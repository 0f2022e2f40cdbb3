"""One rule decides: votes of units, families of claims, controls and conditions."""

import numpy as np
import pytest

from vaescope.studies import (
    Blocked,
    Case,
    Claim,
    ClaimVerdict,
    Condition,
    Control,
    Gap,
    Level,
    Spread,
    Test,
    decide,
)
from vaescope.studies.votes import evidence
from vaescope.tables import Row, Table, table_of

ABOVE = Claim("a is above 1", "nowhere", Level("a"), "above", 1.0, primary=True)
BELOW = Claim("a is below 1", "nowhere", Level("a"), "below", 1.0, primary=True)
NEAR = Claim("a is 1", "nowhere", Level("a"), "within", 1.0, margin=0.5, primary=True)


def table(**columns: list[float | None]) -> Table:
    length = len(next(iter(columns.values())))
    return table_of(
        Row(f"r{i}", True, {"seed": i}, {name: column[i] for name, column in columns.items()})
        for i in range(length)
    )


def judged(claim: Claim, **columns: list[float | None]) -> ClaimVerdict:
    return decide([Case(claim, "paper", table(**columns), "registered before")])[0]


def test_votes_on_one_side_support_one_claim_and_contradict_the_other() -> None:
    high = judged(ABOVE, a=[2.0] * 12)
    assert (high.verdict, high.count.votes_for) == ("supported", 12)
    assert high.e == pytest.approx(evidence(12, 12))
    low = judged(BELOW, a=[2.0] * 12)
    assert (low.verdict, low.count.against) == ("contradicted", 12)
    assert "12 of 12 seeds against it (e = 6.3e+02)" in low.summary()


def test_ties_and_missing_numbers_help_no_side() -> None:
    for nothing in (1.0, None, float("nan")):
        both = judged(ABOVE, a=[2.0] * 6 + [nothing] * 6)
        assert both.count.to_dict() == {"for": 6, "against": 0, "neither": 6}
        assert both.support == pytest.approx(evidence(6, 12))
        assert both.contradiction == pytest.approx(evidence(0, 12))
        assert both.verdict == "undecided"


def test_zero_variance_is_no_evidence_beyond_its_votes() -> None:
    assert judged(ABOVE, a=[2.0] * 3).verdict == "undecided"


def test_a_margin_needs_most_units_on_each_inner_side() -> None:
    inside = judged(NEAR, a=[1.2, 0.8] * 6)
    assert (inside.verdict, inside.support) == ("supported", pytest.approx(evidence(12, 12)))
    outside = judged(NEAR, a=[2.0] * 12)
    assert outside.verdict == "contradicted"
    mean = (evidence(12, 12) + evidence(0, 12)) / 2  # of the two outer processes
    assert outside.contradiction == pytest.approx(mean)
    assert judged(NEAR, a=[2.0, 0.0] * 6).verdict == "undecided"  # the median may be inside


def test_a_conjunction_has_the_evidence_of_its_weakest_part() -> None:
    claim = Claim("a above 1, b below 0", "nowhere", Level("a"), "above", 1.0,
                  also=(Test(Level("b"), "below", 0.0),), primary=True)  # fmt: skip
    good = [2.0] * 12
    assert judged(claim, a=good, b=[-1.0] * 12).verdict == "supported"
    weak = judged(claim, a=good, b=[-1.0] * 9 + [1.0] * 3)
    assert weak.support == pytest.approx(evidence(9, 12))
    assert weak.count.to_dict() == {"for": 9, "against": 3, "neither": 0}
    assert judged(claim, a=good, b=[1.0] * 12).verdict == "contradicted"


CONTROLLED = Claim(
    "a is above 1", "nowhere", Level("a"), "above", 1.0, primary=True,
    control=Control("untrained", Level("c")),
)  # fmt: skip


def test_a_control_that_does_the_same_makes_a_claim_not_specific() -> None:
    same = judged(CONTROLLED, a=[2.0] * 12, c=[2.0] * 12)
    assert (same.verdict, same.control and same.control.votes_for) == ("not specific", 12)
    assert judged(CONTROLLED, a=[2.0] * 12, c=[1.8] * 12).verdict == "not specific"
    # Units that do not support the claim cannot show the same as a control that does.
    other = judged(CONTROLLED, a=[2.0, 0.0] * 6, c=[2.0] * 12)
    assert other.verdict == "undecided" and "stronger than its control in only 0" in other.why


def test_support_needs_a_lead_over_the_control() -> None:
    assert judged(CONTROLLED, a=[2.0] * 12, c=[0.0] * 12).verdict == "supported"
    tied = judged(CONTROLLED, a=[2.0] * 12, c=[2.0, 3.0, 0.5] * 4)
    assert tied.verdict == "undecided" and tied.support < 20
    assert tied.why.startswith("its effect is stronger than its control in only 4 of 12; 12 seeds ")
    lost = judged(CONTROLLED, a=[2.0] * 12, c=[None] * 12)
    assert lost.verdict == "undecided"
    lacking = decide([Case(CONTROLLED, "paper", table(a=[2.0] * 12), "re-analysed")])[0]
    assert (lacking.verdict, lacking.why) == ("undecided", "the table lacks its control")


def test_a_control_does_not_shield_a_claim_from_contradiction() -> None:
    assert judged(CONTROLLED, a=[0.0] * 12, c=[2.0] * 12).verdict == "contradicted"


def test_units_without_the_condition_do_not_vote_and_too_many_leave_it_undecided() -> None:
    claim = Claim("a is above 1", "nowhere", Level("a"), "above", 1.0, primary=True,
                  needs=Condition("some latent is passive", Level("p"), "above", 0.5))  # fmt: skip
    few = judged(claim, a=[2.0] * 14 + [0.0] * 2, p=[1.0] * 14 + [0.0] * 2)
    assert (few.verdict, few.excluded, few.seeds) == ("supported", 2, 14)
    many = judged(claim, a=[2.0] * 16, p=[1.0] * 11 + [0.0] * 5)
    assert (many.verdict, many.excluded) == ("undecided", 5)
    assert many.why.startswith("5 of 16 seeds do not meet its condition; 11 seeds ")
    unknown = judged(claim, a=[2.0] * 16)
    assert (unknown.verdict, unknown.why) == ("undecided", "the table lacks its condition")


def test_more_primary_claims_in_a_family_ask_for_more_votes() -> None:
    case = Case(ABOVE, "paper", table(a=[2.0] * 8), "registered before")
    other = Case(BELOW, "paper", None)
    assert decide([case])[0].verdict == "supported"  # e = 57, level 40
    assert decide([case, other, other])[0].verdict == "undecided"
    elsewhere = Case(BELOW, "another", None)
    assert decide([case, elsewhere, elsewhere])[0].verdict == "supported"


def test_a_primary_claim_counts_by_the_largest_e_and_others_by_the_last() -> None:
    values: list[float | None] = [2.0] * 12 + [0.0] * 8
    assert judged(ABOVE, a=values).verdict == "supported"
    second = Claim("a is above 1", "nowhere", Level("a"), "above", 1.0)
    assert judged(second, a=values).verdict == "undecided"
    assert judged(second, a=[2.0] * 12).verdict == "supported"


def test_an_identity_holds_everywhere_or_fails() -> None:
    claim = Claim("a is 1", "nowhere", Level("a"), "below", 1e-5, sort="identity")
    assert judged(claim, a=[1e-9] * 2).verdict == "supported"
    assert judged(claim, a=[1e-9, None]).verdict == "contradicted"
    cases = [Case(claim, "paper", table(a=[0.0]), "x"),
             Case(ABOVE, "paper", table(a=[2.0] * 8), "x")]  # fmt: skip
    assert decide(cases)[1].verdict == "supported"  # it takes nothing from the others' level


def test_a_claim_whose_study_has_not_run_is_undecided_and_says_so() -> None:
    (verdict,) = decide([Case(ABOVE, "paper", None)])
    assert (verdict.verdict, verdict.registered, verdict.votes()) == (
        "undecided", "not run", "not run",
    )  # fmt: skip


def test_an_undecided_claim_says_what_would_have_been_seen() -> None:
    assert "24 seeds detect a true share of" in judged(ABOVE, a=[2.0, 0.0] * 12).why
    assert judged(ABOVE, a=[2.0] * 3).why == "3 seeds cannot decide it"


@pytest.mark.parametrize(
    "claim",
    [
        Claim("x", "nowhere", Gap("a", {"m": "x"}, {"m": "y"}), "above", 0.0),
        Claim("x", "nowhere", Spread("a", {"m": "x"}, {"m": "y"}), "above", 0.0),
        Claim("x", "nowhere", Blocked(Level("a", {"m": "x"})), "above", 0.0),
    ],
    ids=lambda claim: type(claim.effect).__name__,
)
def test_votes_never_change_when_units_are_added(claim: Claim) -> None:
    generator = np.random.default_rng(0)
    rows = [
        Row(f"{m}{seed}", True, {"m": m, "seed": seed}, {"a": float(generator.normal())})
        for seed in range(20)
        for m in "xy"
    ]
    few, many = (claim.effect.of(table_of(rows[: 2 * n])) for n in (11, 20))
    np.testing.assert_array_equal(many[: len(few)], few)
    assert len(many) > len(few)


def test_the_interval_stays_within_what_was_measured() -> None:
    found = judged(ABOVE, a=[0.0, 0.0, 0.0, 1.0])
    assert found.interval is not None and 0.0 <= found.interval[0] <= found.interval[1] <= 1.0


#: Effects without a direction, of the shapes that measures of trained models have.
SHAPES = (
    lambda draw: draw.exponential(size=48) - np.log(2.0),
    lambda draw: draw.standard_cauchy(size=48),
    lambda draw: draw.choice([-1.0, 1.0], size=48),
    lambda draw: draw.choice([-1.0, 0.0, 1.0], size=48, p=[0.3, 0.4, 0.3]),
    lambda draw: draw.choice([-1.0, np.nan, 1.0], size=48, p=[0.3, 0.4, 0.3]),
)


@pytest.mark.slow
def test_a_family_of_primary_claims_without_effect_keeps_its_level() -> None:
    """Fifteen claims of skewed, heavy-tailed, discrete, tied and missing effects, 48 units, judged
    by the largest e on the way: at most 5% of families may have even one wrong verdict."""
    draw = np.random.default_rng(0)
    claims = [
        Claim(f"claim {i}", "nowhere", Level(f"m{i}"), "above", 0.0, primary=True)
        for i in range(15)
    ]
    wrong = 0
    for _ in range(60):
        made = table(**{f"m{i}": SHAPES[i % len(SHAPES)](draw).tolist() for i in range(15)})
        found = decide([Case(claim, "paper", made, "registered before") for claim in claims])
        wrong += any(v.verdict in ("supported", "contradicted") for v in found)
    assert wrong <= 3
