"""The fewest latents that encode a factor, and whether half of the rows give the same answer.

A set is chosen by thresholds, so that a factor near one of them would get one answer from these
rows and another from others. Half-samples show it: the mean of a random half of n rows varies
around that of all of them by as much as that one does around the truth, sigma^2 / n, and a fit to
fewer rows errs more. Where too many of them disagree, the least is claimed and the other answer
said beside it.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from vaescope.estimates import bootstrap_interval
from vaescope.latents.factor_fits import Design, FactorTarget, targets_of
from vaescope.latents.group_results import FactorShare, Standing, answer_text
from vaescope.types import Long, Matrix

__all__ = ["AGREED", "CLOSE", "GAIN", "HELD", "WEAK", "FactorFit", "Rows", "explained",
           "fit_of", "is_usual", "thirds"]  # fmt: skip

#: Places of the rows to fit, to choose by and to report.
Rows = tuple[Long, Long, Long]

#: Share of a factor's variance from which a set of latents holds it: the larger half.
HELD = 0.5
#: Below it a factor counts as unknown.
WEAK = 0.1
#: What one more latent must add to a share; a rotation by 13 degrees adds as much.
GAIN = 0.05
#: Another reading of a factor than by its order must be better by as much.
CLOSE = 0.1
#: Share of the half-samples from which an answer is not in doubt.
AGREED = 0.8
#: Latents that a factor may need before it counts as spread over all.
MOST = 4
PERMUTATIONS, RESAMPLES = 20, 200
#: From the least claim to the largest.
_CLAIMS: tuple[Standing, ...] = ("none", "weak", "spread", "unnamed", "held")


@dataclass(frozen=True, eq=False)
class FactorFit:
    """A factor and the latents found for it."""

    name: str
    target: FactorTarget
    latents: frozenset[int]
    share: FactorShare
    half_shares: tuple[float, ...]  # of these latents, in each half-sample


@dataclass(frozen=True)
class _Answer:
    """What some rows say of a factor."""

    standing: Standing
    latents: tuple[int, ...]
    reading: tuple[str, int]  # kind and symmetry
    joint: float  # share of all used latents together

    @property
    def claim(self) -> tuple[Standing, tuple[int, ...], str]:
        """What must agree: which latents hold it and as what, but not which are the best of weak
        ones."""
        held = self.standing == "held"
        return self.standing, self.latents if held else (), self.reading[0] if held else ""

    @property
    def size(self) -> tuple[int, int]:
        return _CLAIMS.index(self.standing), len(self.latents)


def thirds(places: Long) -> Rows:
    """Half of the rows to fit, a quarter to choose by, a quarter to report."""
    half, quarter = len(places) // 2, 3 * len(places) // 4
    return places[:half], places[half:quarter], places[quarter:]


def is_usual(answers: Sequence[bool]) -> bool:
    """Whether enough half-samples give an answer."""
    return sum(answers) >= AGREED * len(answers)


def fit_of(
    name: str, values: NDArray[np.number], size: int | None,
    samples: Sequence[tuple[Rows, Design]], stream: np.random.Generator,
) -> FactorFit:  # fmt: skip
    """What is known of a factor; the first of `samples` has all rows, the others are its halves."""
    (parts, design), *halves = samples
    targets = targets_of(values, size)
    target, joint = _reading(design, targets, parts)
    chance = _chance(design, _cut(target.columns, parts), target.axes, stream)
    first = _answer(design, target, joint, parts, chance, stream)
    others = [
        _answer(own, *_reading(own, targets, rows), rows, chance, None) for rows, own in halves
    ]
    answer, otherwise = _least(first, others)
    target = next(t for t in targets if (t.kind, t.symmetry) == answer.reading)
    chosen = frozenset(answer.latents) or _chosen(design, target, parts)[0]
    more = False
    if answer.standing == "weak":
        named = Counter(latent for own in others for latent in own.latents)
        sure = tuple(j for j in answer.latents if named[j] >= AGREED * len(others))
        answer, more = replace(answer, latents=sure), len(sure) < len(answer.latents)
    share, interval = _share(design, chosen, target, parts, stream)
    cut = _cut(target.columns, parts)
    singles, pairs = _sets(design, 1), _sets(design, 2)
    single, pair = (_best(design, sets, cut) if sets else None for sets in (singles, pairs))
    shown = FactorShare(
        name, target.kind, answer.standing,
        () if answer.standing in ("none", "spread") else answer.latents,
        max(share, 0.0), (max(interval[0], 0.0), max(interval[1], 0.0)), max(chance, 0.0),
        max(explained(design.together(cut)[1], cut[2]), 0.0), max(single or 0.0, 0.0),
        None if pair is None else max(pair, 0.0), symmetry=target.symmetry,
        otherwise=otherwise, more=more,
    )  # fmt: skip
    half_shares = tuple(_share(own, chosen, target, rows, None)[0] for rows, own in halves)
    return FactorFit(name, target, frozenset(shown.latents), shown, half_shares)


def _least(first: _Answer, others: Sequence[_Answer]) -> tuple[_Answer, str]:
    """The answer from all rows where the half-samples agree with it; else the least claim of those
    that are not rare, and the commonest other one in words."""
    counts = Counter(own.claim for own in others)
    if counts[first.claim] >= AGREED * len(others):
        # Twice what the other half of the rows added: a fit's error falls as one over them.
        growth = first.joint - float(np.mean([own.joint for own in others]))
        spread = first.standing == "weak" and first.joint + 2 * growth >= HELD
        return first, answer_text("spread", (), "") if spread else ""
    rare = (1 - AGREED) * len(others)
    known = {own.claim: own for own in (*others, first)}
    there = [own for own in known.values() if own is first or counts[own.claim] >= rare]
    there = there if len(there) > 1 else list(known.values())
    answer = min(there, key=lambda own: (own.size, -counts[own.claim], own.latents))
    rest = [own for own in there if own is not answer]
    other = max(rest, key=lambda own: (counts[own.claim], own is first, own.size))
    return answer, answer_text(other.standing, other.latents, other.reading[0])


def _answer(
    design: Design, target: FactorTarget, joint: float, parts: Rows, chance: float,
    stream: np.random.Generator | None,
) -> _Answer:  # fmt: skip
    chosen, again = _chosen(design, target, parts)
    share, (low, _) = _share(design, chosen, target, parts, stream)
    standing: Standing = "none"
    if low > chance and share >= HELD:
        standing = "held"
    elif joint >= HELD and joint > chance:
        standing = "spread"
    elif low > chance and share >= WEAK:
        standing = "weak"
    elif joint >= WEAK and joint > chance:
        standing, chosen = "weak", frozenset()
    latents = {"held": chosen | again, "weak": chosen}.get(standing, frozenset())
    return _Answer(standing, tuple(sorted(latents)), (target.kind, target.symmetry), joint)


def _chosen(
    design: Design, target: FactorTarget, parts: Rows
) -> tuple[frozenset[int], frozenset[int]]:
    """The fewest latents after which one more adds little, and those that hold it once more."""
    cut = _cut(target.columns, parts)

    def shares(sets: Sequence[frozenset[int]]) -> Matrix:
        return _weighed(design.shares(sets, cut, 1), cut[1])

    singles, pairs = _sets(design, 1), _sets(design, 2)
    chosen = singles[int(np.argmax(alone := shares(singles)))]
    so_far = float(alone.max())
    if pairs and (together := shares(pairs)).max() >= so_far + GAIN:
        chosen, so_far = pairs[int(np.argmax(together))], float(together.max())
        while len(chosen) < min(MOST, len(design.latents)):
            more = [chosen | {j} for j in design.latents if j not in chosen]
            gained = shares(more)
            if gained.max() < so_far + GAIN:
                break
            chosen, so_far = more[int(np.argmax(gained))], float(gained.max())
    again = {j for j, own in zip(design.latents, alone, strict=True) if own >= HELD}
    return chosen, frozenset(again) - chosen


def _sets(design: Design, size: int) -> list[frozenset[int]]:
    return [frozenset(own) for own in combinations(design.latents, size)]


def _best(
    design: Design, sets: Sequence[frozenset[int]], cut: tuple[Matrix, Matrix, Matrix]
) -> float:
    """The share that the set which is best on the second part has on the third."""
    best = sets[int(np.argmax(_weighed(design.shares(sets, cut, 1), cut[1])))]
    return float(_weighed(design.shares([best], cut, 2), cut[2])[0])


def _share(
    design: Design, latents: frozenset[int], target: FactorTarget, parts: Rows,
    stream: np.random.Generator | None,
) -> tuple[float, tuple[float, float]]:  # fmt: skip
    """Of the factor's variance, with its interval over rows; without `stream` that is the share."""
    cut = _cut(target.columns, parts)
    residuals = design.residuals(design.polynomials.columns(latents), cut, 2)
    share = explained(residuals, cut[2])
    if stream is None:
        return share, (share, share)
    return share, bootstrap_interval(share, _resampled(residuals, cut[2], stream), most=1.0)


def _cut(columns: Matrix, parts: Rows) -> tuple[Matrix, Matrix, Matrix]:
    fit, choose, report = (columns[part] for part in parts)
    return fit, choose, report


def explained(residuals: Matrix, target: Matrix) -> float:
    """Share of the target's variance that residuals leave out."""
    deviation = float(np.square(target - target.mean(axis=0)).sum())
    return 1.0 - float(np.square(residuals).sum()) / deviation if deviation > 0 else 0.0


def _reading(
    design: Design, targets: Sequence[FactorTarget], parts: Rows
) -> tuple[FactorTarget, float]:
    """By its order, unless all latents together know another reading clearly better; and the share
    that these have of it."""
    shares = []
    for target in targets:
        _, choose, report = _cut(target.columns, parts)
        left = design.together(_cut(target.columns, parts))
        shares.append((explained(left[0], choose), explained(left[1], report)))
    best = max(range(len(targets)), key=lambda place: shares[place][0])
    best = best if shares[best][0] >= shares[0][0] + CLOSE else 0
    return targets[best], shares[best][1]


def _weighed(shares: Matrix, target: Matrix) -> Matrix:
    """Shares of a target's columns, (..., columns), as one share of all its variance."""
    variance = target.var(axis=0)
    return np.asarray(
        shares @ variance / variance.sum() if variance.sum() > 0 else shares @ variance
    )


def _chance(
    design: Design, cut: tuple[Matrix, Matrix, Matrix], axes: int, stream: np.random.Generator
) -> float:
    """The largest share that the best set of that size has of the factor in another order."""
    sets = [frozenset(one) for one in combinations(design.latents, min(axes, len(design.latents)))]
    shuffled = [[part[stream.permutation(len(part))] for part in cut] for _ in range(PERMUTATIONS)]
    stacked = [np.concatenate([draw[at] for draw in shuffled], axis=1) for at in range(3)]
    width = cut[0].shape[1]
    choose, report = (
        _weighed(design.shares(sets, stacked, at).reshape(len(sets), PERMUTATIONS, width), cut[at])
        for at in (1, 2)
    )
    return float(report[choose.argmax(axis=0), np.arange(PERMUTATIONS)].max())


def _resampled(residuals: Matrix, target: Matrix, stream: np.random.Generator) -> Matrix:
    """Shares over resamples of the rows that report it."""
    n = len(target)
    drawn = stream.integers(n, size=(RESAMPLES, n)) + n * np.arange(RESAMPLES)[:, None]
    weights = np.bincount(drawn.ravel(), minlength=n * RESAMPLES).reshape(RESAMPLES, n) / n
    missed = weights @ np.square(residuals).sum(axis=1)
    deviation = weights @ np.square(target) - np.square(weights @ target)
    return np.asarray(1.0 - missed / np.maximum(deviation.sum(axis=1), 1e-300))
