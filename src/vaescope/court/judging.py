"""Verdicts over the draws of a cell, by the rule that decides the papers' claims."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from vaescope.court.promises import DISPUTED_GENERATORS, LOWER, SAME, Promise, promise
from vaescope.court.trial import CELLS, Court, CourtCell
from vaescope.metrics.suite import METRICS
from vaescope.studies.votes import e_bh, evidence

__all__ = ["LEVEL", "Judgement", "judge", "ranking"]

Verdict = Literal["right", "false positive", "false negative", "undecided", "open", "no value"]

#: Wrong verdicts among all, in the mean.
LEVEL = 0.05


@dataclass(frozen=True)
class Judgement:
    """One metric on one cell: the right answer, the votes of the draws, the verdict."""

    metric: str
    cell: CourtCell
    promise: Promise
    value: float  # median over draws; NaN where it refused
    reference: float  # that of the perfect code
    right: int  # draws
    draws: int
    verdict: Verdict

    def summary(self) -> str:
        """One line, e.g. `mig  0.32 beside 0.95 of identity; lower: right in 32 of 32 draws`."""
        return (
            f"{self.metric:20} {self.value:.2f} beside {self.reference:.2f} of identity; "
            f"{self.promise}: right in {self.right} of {self.draws} draws ({self.verdict})"
        )


def judge(court: Court) -> tuple[Judgement, ...]:
    """All metrics on all cells. Verdicts share a false discovery rate of `LEVEL`."""
    tried = [
        (metric, cell) for cell in CELLS if not cell.variant for metric in METRICS
        if cell != cell.reference and len(court.of(metric, cell))
    ]  # fmt: skip
    votes = [_votes(court, metric, cell) for metric, cell in tried]
    answers = [_promised(metric, cell) for metric, cell in tried]
    judged = [p for p, own in enumerate(votes) if answers[p] != "open" and len(own)]
    sides = [evidence(int(votes[p].sum()), len(votes[p])) for p in judged]
    sides += [evidence(int((~votes[p]).sum()), len(votes[p])) for p in judged]
    fallen = e_bh(sides, LEVEL)
    for_it = dict(zip(judged, fallen[: len(judged)], strict=True))
    against = dict(zip(judged, fallen[len(judged) :], strict=True))
    found = []
    for place, ((metric, cell), own) in enumerate(zip(tried, votes, strict=True)):
        answer = answers[place]
        values, reference = court.of(metric, cell), court.of(metric, cell.reference)
        verdict: Verdict = "undecided"
        if not len(own):
            verdict = "no value"
        elif answer == "open":
            verdict = "open"
        elif for_it[place]:
            verdict = "right"
        elif against[place]:
            praised = answer == "lower" or _median(values) > _median(reference)
            verdict = "false positive" if praised else "false negative"
        medians = _median(values), _median(reference)
        right = int(own.sum())
        found.append(Judgement(metric, cell, answer, *medians, right, len(own), verdict))
    return tuple(found)


def _promised(metric: str, cell: CourtCell) -> Promise:
    answer = promise(metric, cell.encoder)
    if cell.encoder == "identity" and answer != "open":
        return "open" if cell.generator in DISPUTED_GENERATORS else "same"
    return answer


def _votes(court: Court, metric: str, cell: CourtCell) -> np.ndarray:
    """Which draws are right; draws that either code refuses are left out."""
    values, reference = court.of(metric, cell), court.of(metric, cell.reference)
    n = min(len(values), len(reference))
    below = reference[:n] - values[:n]
    below = below[np.isfinite(below)]
    answer = _promised(metric, cell)
    return np.asarray(below > LOWER if answer == "lower" else np.abs(below) < SAME)


def _median(values: np.ndarray) -> float:
    finite = values[np.isfinite(values)]
    return float(np.median(finite)) if len(finite) else float("nan")


def ranking(
    court: Court, metric: str, better: CourtCell, worse: CourtCell
) -> tuple[int, int] | None:
    """In how many draws the better code scored higher, and of how many; None: not tried."""
    a, b = court.of(metric, better), court.of(metric, worse)
    n = min(len(a), len(b))
    ahead = a[:n] - b[:n]
    ahead = ahead[np.isfinite(ahead)]
    return (int((ahead > 0).sum()), len(ahead)) if len(ahead) else None


def by_metric(found: Sequence[Judgement], verdict: Verdict) -> Mapping[str, list[Judgement]]:
    """The judgements of one verdict, by metric."""
    groups: dict[str, list[Judgement]] = {name: [] for name in METRICS}
    for own in found:
        if own.verdict == verdict:
            groups[own.metric].append(own)
    return groups
