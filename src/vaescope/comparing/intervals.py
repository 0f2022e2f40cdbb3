"""How much higher a number is on one side than on the other, and within what interval."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np

from vaescope.comparing.compared_runs import Member
from vaescope.estimates import Estimate, bootstrap_interval, interval_of_mean, student_interval
from vaescope.statistics import paired
from vaescope.types import Vector

__all__ = [
    "Basis",
    "Side",
    "SideGap",
    "over_replicates",
    "over_rows",
    "over_seeds",
    "sides_of",
]

Basis = Literal["paired seeds", "seeds", "other seeds", "images"]

#: With fewer degrees of freedom Student's interval is 13 standard errors wide on each side.
LEAST_DEGREES = 2
#: What float32 leaves of a difference of two equal numbers: no difference at all.
RELATIVE, ABSOLUTE = 1e-5, 1e-6


@dataclass(frozen=True)
class Side:
    """Runs that are compared with others, and what an interval between them is over."""

    first: tuple[int, ...]  # places of runs
    second: tuple[int, ...]
    basis: Basis
    seeds: tuple[int | None, ...]  # of all runs, by place


@dataclass(frozen=True)
class SideGap:
    """Second side minus first: means over the runs of each."""

    first: float | None
    second: float | None
    interval: tuple[float, float] | None  # of the difference, 95%
    n: int  # values behind the interval: pairs, runs or images

    @property
    def difference(self) -> float | None:
        if self.first is None or self.second is None:
            return None
        return self.second - self.first

    @property
    def differs(self) -> bool | None:
        """Whether the interval leaves out 0; rounding is no difference. None where it is not known:
        a difference without an interval."""
        if self.first is None or self.second is None:
            return None
        size = max(abs(self.first), abs(self.second))
        if abs(self.second - self.first) <= ABSOLUTE + RELATIVE * size:
            return False
        return None if self.interval is None else not self.interval[0] <= 0.0 <= self.interval[1]

    def to_dict(self) -> dict[str, Any]:
        return {
            "first": self.first,
            "second": self.second,
            "difference": self.difference,
            "interval": None if self.interval is None else list(self.interval),
            "n": self.n,
            "differs": self.differs,
        }


def sides_of(members: Sequence[Member]) -> tuple[Side, ...]:
    """What is compared with what.

    Several settings: each against the first. One setting with four seeds or more: each run against
    the others, so that the odd one shows. Fewer seeds: each run against the first.
    """
    by_setting: dict[int, list[int]] = {}
    for place, member in enumerate(members):
        by_setting.setdefault(member.setting, []).append(place)
    everyone = list(range(len(members)))
    if len(by_setting) > 1:
        pairs = [(by_setting[0], own) for number, own in by_setting.items() if number > 0]
    elif len({member.seed for member in members}) >= LEAST_DEGREES + 2:
        pairs = [
            ([p for p in everyone if members[p].seed != members[q].seed], [q]) for q in everyone
        ]
    else:
        pairs = [([0], [q]) for q in everyone[1:]]
    seeds = tuple(member.seed for member in members)
    return tuple(Side(tuple(a), tuple(b), _basis(members, a, b), seeds) for a, b in pairs)


def _basis(members: Sequence[Member], first: Sequence[int], second: Sequence[int]) -> Basis:
    a, b = ({members[place].seed for place in side} for side in (first, second))
    if members[first[0]].setting == members[second[0]].setting:
        return "other seeds" if len(a) - 1 >= LEAST_DEGREES else "images"
    if a == b and len(a) - 1 >= LEAST_DEGREES:
        return "paired seeds"
    return "seeds" if len(a) + len(b) - 2 >= LEAST_DEGREES else "images"


def over_seeds(side: Side, values: Sequence[float]) -> SideGap:
    """Student's interval over runs: of the differences of pairs, else with the spread that both
    sides have in common. Runs of one seed count as one."""
    a, b = (_by_seed(places, side.seeds, values) for places in (side.first, side.second))
    first, second = np.array(list(a.values())), np.array(list(b.values()))
    if side.basis == "paired seeds":
        found = paired([a[seed] for seed in b], second).estimate
    else:
        found = _pooled(first, second)
    # Equal values, as counts often are, have no spread to make an interval of.
    flat = found.interval is not None and found.interval[0] == found.interval[1]
    interval = None if flat and found.value != 0.0 else found.interval
    return SideGap(float(first.mean()), float(second.mean()), interval, found.n)


def _by_seed(
    places: Sequence[int], seeds: Sequence[int | None], values: Sequence[float]
) -> Mapping[int | None, float]:
    gathered: dict[int | None, list[float]] = {}
    for place in places:
        gathered.setdefault(seeds[place], []).append(values[place])
    return {seed: float(np.mean(own)) for seed, own in gathered.items()}


def _pooled(first: Vector, second: Vector) -> Estimate:
    """Two samples of equal spread, of which one may hold a single value."""
    n = len(first) + len(second)
    squares = np.square(first - first.mean()).sum() + np.square(second - second.mean()).sum()
    error = np.sqrt(squares / (n - 2) * (1 / len(first) + 1 / len(second)))
    mean = float(second.mean() - first.mean())
    return Estimate(mean, student_interval(mean, float(error), n - 2), n)


def over_rows(first: Vector, second: Vector) -> SideGap:
    """Of means over images: Student's interval of the differences image by image. (n,) each."""
    interval = interval_of_mean(second - first)
    return SideGap(float(first.mean()), float(second.mean()), interval, len(first))


def over_replicates(first: float, second: float, replicates: Vector | None, n: int) -> SideGap:
    """Of other numbers: the bootstrap's, over differences on the same resampled images."""
    if replicates is None:
        return SideGap(first, second, None, n)
    return SideGap(first, second, bootstrap_interval(second - first, replicates), n)
