"""Whether claims hold: one rule for all of them, exact, valid at any number of units.

A claim is about most units: the median of its effect. Support counts the units for it among all of
them, contradiction those against it; ties and missing numbers are neither and help no side.
Families of claims, one for each paper and one for our own, have 5% each (decision 0012).
"""

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal, final

import numpy as np

from vaescope.errors import UsageError
from vaescope.estimates import percentiles
from vaescope.seeds import rng
from vaescope.studies.claims import Claim, Test, Votes
from vaescope.studies.effects import Effect, unit_words
from vaescope.studies.votes import e_bh, holm, running, visible_share
from vaescope.tables import Table
from vaescope.types import Floats

__all__ = ["ALPHA", "Case", "ClaimVerdict", "Judgement", "decide", "needed_alone"]

#: Of each family: wrong verdicts at all among primary claims, their share among the others.
ALPHA = 0.05
#: Each direction has half of it.
HALF = ALPHA / 2
#: A control with this much evidence does what the claim says as well.
AS_WELL = 1.0 / ALPHA
#: More units than this share without the claim's condition leave it undecided.
MOST_EXCLUDED = 0.25
RESAMPLES = 2000

Judgement = Literal["supported", "contradicted", "undecided", "not specific"]


@final
@dataclass(frozen=True)
class Case:
    """A claim, its family, and the table that is asked; None where its study has not run."""

    claim: Claim
    family: str
    table: Table | None
    registered: str = "not run"


@final
@dataclass(frozen=True)
class Count:
    """Votes of the units."""

    votes_for: int
    against: int
    neither: int

    @property
    def units(self) -> int:
        return self.votes_for + self.against + self.neither

    def to_dict(self) -> dict[str, int]:
        return {"for": self.votes_for, "against": self.against, "neither": self.neither}


@final
@dataclass(frozen=True)
class ClaimVerdict:
    """What a table says of a claim."""

    claim: Claim
    family: str
    verdict: Judgement
    count: Count
    support: float  # e-value at stopping
    contradiction: float
    control: Count | None  # votes of the control for and against the same sentence
    excluded: int  # units without the claim's condition
    effect: float | None  # mean over units
    interval: tuple[float, float] | None  # 95% of its bootstrap: a description, not the judge
    registered: str  # "registered before", "revised n times", "re-analysed" or "not run"
    why: str  # in words, where it is undecided or not specific

    @property
    def against(self) -> bool:
        """Whether more units are against the claim than for it."""
        return self.count.against > self.count.votes_for

    @property
    def e(self) -> float:
        """The evidence for the side that has more votes."""
        return self.contradiction if self.against else self.support

    @property
    def seeds(self) -> int:
        return self.count.units

    def to_dict(self) -> dict[str, Any]:
        return {
            **self.claim.to_dict(),
            "family": self.family,
            "verdict": self.verdict,
            "votes": self.count.to_dict(),
            "e": self.e,
            "e_support": self.support,
            "e_contradiction": self.contradiction,
            "control_votes": None if self.control is None else self.control.to_dict(),
            "excluded": self.excluded,
            "effect": self.effect,
            "interval": None if self.interval is None else list(self.interval),
            "seeds": self.seeds,
            "registered": self.registered,
            "why": self.why,
        }

    def votes(self) -> str:
        """The votes behind it and their evidence, e.g. `23 of 24 seeds (e = 5.6e+04)`."""
        if self.registered == "not run":
            return "not run"
        unit = unit_words(self.claim.effect)
        votes = self.count.against if self.against else self.count.votes_for
        side = " against it" if self.against else ""
        return f"{votes} of {self.seeds} {unit}{side} (e = {self.e:.2g})"

    def summary(self) -> str:
        number = "" if self.effect is None else f", {self.effect:.3g} in the mean"
        why = f"; {self.why}" if self.why else ""
        rank = "primary" if self.claim.primary else self.claim.kind
        return (
            f"{self.verdict}: {self.votes()}: {self.claim.says} [{self.claim.where}; {rank}; "
            f"{self.registered}] {self.claim.words()}{number}{why}"
        )


@final
@dataclass(frozen=True)
class _Evidence:
    """E-processes of a claim's own sentence and of its lead over the control."""

    count: Count
    support: Floats  # after each unit
    contradiction: Floats
    control: Count | None
    control_support: float
    excluded: int
    values: Floats
    lacks: str  # what the table does not have
    leads: int | None = None  # units in which the effect is farther than its control
    own_support: float = 0.0  # whatever the control does


def _counted(test: Test, values: Floats) -> Count:
    votes_for = int(np.logical_and.reduce(test.inner(values)).sum())
    against = int(np.logical_or.reduce(test.outer(values)).sum())
    return Count(votes_for, against, len(values) - votes_for - against)


def _least(processes: Sequence[Floats]) -> Floats:
    return np.asarray(np.minimum.reduce(processes))


def _support(test: Test, values: Floats) -> Floats:
    return _least([running(votes.tolist()) for votes in test.inner(values)])


def _contradiction(test: Test, values: Floats) -> Floats:
    return np.asarray(np.mean([running(v.tolist()) for v in test.outer(values)], axis=0))


def _of(effect: Effect, table: Table) -> Floats | None:
    """None where the table lacks a column of it."""
    try:
        return effect.of(table)
    except UsageError:
        return None


def _evidence(claim: Claim, table: Table | None) -> _Evidence:
    nothing = np.array([], dtype=np.float64)
    empty = _Evidence(Count(0, 0, 0), nothing, nothing, None, 0.0, 0, nothing, "the study")
    if table is None:
        return empty
    found = [_of(test.effect, table) for test in claim.tests]
    values = [one for one in found if one is not None]
    if len(values) < len(found):
        return replace(empty, lacks="columns that the claim needs")
    if len({len(one) for one in values}) > 1:
        return replace(empty, lacks="the same units for all parts of the claim")
    voting, lacks = _voting(claim, table, len(values[0]))
    excluded = int((~voting).sum())
    values = [one[voting] for one in values]
    support = _least([_support(t, v) for t, v in zip(claim.tests, values, strict=True)])
    own_support = float(support[-1]) if support.size else 0.0
    against = [_contradiction(t, v) for t, v in zip(claim.tests, values, strict=True)]
    control_count, control_support, leads = None, 0.0, None
    if claim.control is not None:
        main = claim.tests[0]
        other = _of(claim.control.effect, table)
        if other is None or len(other) != len(voting):
            lacks, other = "its control", np.full(len(voting), np.nan)
        other = other[voting]
        control_count = _counted(main, other)
        control_support = float(_support(main, other)[-1]) if other.size else 0.0
        lead = main.beyond(values[0], other)
        leads = int(lead.sum())
        support = _least([support, running(lead.tolist())])
    return _Evidence(
        _conjunction(claim, values), support, np.mean(against, axis=0), control_count,
        control_support, excluded, values[0], lacks, leads, own_support,
    )  # fmt: skip


def _voting(claim: Claim, table: Table, units: int) -> tuple[Votes, str]:
    """Units of which the claim's condition holds; a missing number is no condition that holds, and
    without the condition nobody knows which units the sentence is about, so that none votes."""
    if claim.needs is None:
        return np.ones(units, dtype=np.bool_), ""
    values = _of(claim.needs.effect, table)
    if values is None or len(values) != units:
        return np.zeros(units, dtype=np.bool_), "its condition"
    return claim.needs.holds(values), ""


def _conjunction(claim: Claim, values: Sequence[Floats]) -> Count:
    """A unit is for a sentence if it is for all of it, and against it if against any of it."""
    pairs = list(zip(claim.tests, values, strict=True))
    inner = np.logical_and.reduce([v for test, own in pairs for v in test.inner(own)])
    outer = np.logical_or.reduce([v for test, own in pairs for v in test.outer(own)])
    votes_for, against = int(inner.sum()), int((outer & ~inner).sum())
    return Count(votes_for, against, len(inner) - votes_for - against)


def needed_alone(primaries: int) -> float:
    """The e-value that decides a primary claim by itself, whatever the others of its family do."""
    return primaries / HALF


def decide(cases: Sequence[Case]) -> list[ClaimVerdict]:
    """The verdict of every claim. All claims of a family must be among the cases: those that have
    not run count as undecided, which is what makes a study that runs alone no more lenient."""
    evidence = [_evidence(case.claim, case.table) for case in cases]
    fallen: dict[str, list[bool]] = {
        side: [False] * len(cases) for side in ("support", "contradiction")
    }
    rules: dict[bool, Callable[[Sequence[float], float], list[bool]]] = {True: holm, False: e_bh}
    for family in dict.fromkeys(case.family for case in cases):
        for primary, rule in rules.items():
            places = [
                i
                for i, case in enumerate(cases)
                if case.family == family
                and case.claim.primary == primary
                and case.claim.kind != "identity"
            ]
            for side, sides in fallen.items():
                process = [getattr(evidence[i], side) for i in places]
                e_values = [_reached(one, at_most=primary) for one in process]
                for i, falls in zip(places, rule(e_values, HALF), strict=True):
                    sides[i] = falls
    counts = Counter(
        (case.family, case.claim.primary) for case in cases if case.claim.kind != "identity"
    )
    return [
        _verdict(
            case, found, counts[case.family, case.claim.primary],
            supported=fallen["support"][i], contradicted=fallen["contradiction"][i],
        )
        for i, (case, found) in enumerate(zip(cases, evidence, strict=True))
    ]  # fmt: skip


def _reached(process: Floats, *, at_most: bool) -> float:
    """The largest value of an e-process, or that at its end."""
    if not process.size:
        return 0.0
    return float(process.max() if at_most else process[-1])


def _verdict(
    case: Case, found: _Evidence, rivals: int, *, supported: bool, contradicted: bool
) -> ClaimVerdict:
    claim, units = case.claim, found.count.units
    judgement: Judgement = "undecided"
    why = ""
    unmet = found.excluded > MOST_EXCLUDED * (units + found.excluded)
    if claim.kind == "identity":
        judgement = _checked(found.count)
    elif (
        not unmet and not contradicted and min(found.control_support, found.own_support) >= AS_WELL
    ):
        judgement = "not specific"
        why = f"its control shows the same (e = {found.control_support:.2g})"
    elif contradicted and not unmet:
        judgement = "contradicted"
    elif supported and not unmet:
        judgement = "supported"
    if judgement == "undecided" and case.table is not None:
        why = f"the table lacks {found.lacks}" if found.lacks else _undecided(found, claim, rivals)
    known = found.values[np.isfinite(found.values)]
    return ClaimVerdict(
        claim, case.family, judgement, found.count, _reached(found.support, at_most=False),
        _reached(found.contradiction, at_most=False), found.control, found.excluded,
        float(known.mean()) if known.size else None, _interval(known), case.registered, why,
    )  # fmt: skip


def _checked(count: Count) -> Judgement:
    """An equation holds everywhere or does not."""
    if not count.units:
        return "undecided"
    return "supported" if count.votes_for == count.units else "contradicted"


def _undecided(found: _Evidence, claim: Claim, rivals: int) -> str:
    """What kept a claim from a verdict, and what so many units would have shown."""
    units, words = found.count.units, unit_words(claim.effect)
    reasons = []
    if found.excluded > MOST_EXCLUDED * (units + found.excluded):
        reasons = [
            f"{found.excluded} of {units + found.excluded} {words} do not meet its condition"
        ]
    if found.leads is not None and found.leads < found.count.votes_for:
        reasons += [f"its effect is stronger than its control in only {found.leads} of {units}"]
    share = visible_share(units, rivals / HALF)
    if share is None:
        return "; ".join([*reasons, f"{units} {words} cannot decide it"])
    visible = f"{units} {words} detect a true share of {share:.0%} or more with power 0.8"
    return "; ".join([*reasons, visible])


def _interval(values: Floats) -> tuple[float, float] | None:
    """95% of the means of resampled units: never outside what was measured."""
    if values.size < 2:
        return None
    rows = rng(0, "effect-bootstrap").integers(values.size, size=(RESAMPLES, values.size))
    return percentiles(values[rows].mean(axis=1))
