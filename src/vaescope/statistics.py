"""What a table of runs says: means over seeds with intervals, paired differences, rank correlations
between measures, and how much of a measure's variance its settings explain."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np
from numpy.typing import ArrayLike

from vaescope.errors import UsageError
from vaescope.estimates import LEVEL, Estimate, interval_of_mean, student_quantile
from vaescope.measure_ranges import COUNTS, range_of, within
from vaescope.seeds import rng
from vaescope.tables import Table, Value
from vaescope.types import Double

__all__ = [
    "Difference",
    "Shares",
    "Source",
    "Summary",
    "mean_by_bootstrap",
    "mean_by_student",
    "mean_of",
    "mean_over_seeds",
    "means_of",
    "paired",
    "rank_correlations",
    "ranked",
    "summarise",
    "variance_shares",
]


#: Resamples of a bootstrap; sign patterns of a paired test where not all of them are tried.
DRAWS = 4000


def _known(values: ArrayLike) -> Double:
    array = np.asarray(values, dtype=np.float64)
    return array[np.isfinite(array)]


def mean_by_student(values: ArrayLike) -> Estimate:
    """The mean with Student's 95% interval; values that are missing are left out."""
    known = _known(values)
    mean = float(known.mean()) if known.size else float("nan")
    return Estimate(mean, interval_of_mean(known), known.size)


def mean_of(measure: str, values: ArrayLike) -> Estimate:
    """The mean with the part of Student's interval in which the measure can lie.

    An estimate of the measure may err beyond its range: the interval of such values is whole."""
    estimate, allowed = mean_by_student(values), range_of(measure)
    known = _known(values)
    if known.size and allowed[0] <= known.min() and known.max() <= allowed[1]:
        return _within(estimate, allowed)
    return estimate


def means_of(
    measure: str, values: Double, groups: Sequence[Sequence[int]], *, latents: Sequence[int | None]
) -> list[Estimate]:
    """`mean_of` for many groups of places in `values` at once; `latents`: how many each group's
    models have, where that is known."""
    places = np.array([place for group in groups for place in group], dtype=np.int64)
    group_of = np.repeat(np.arange(len(groups)), [len(group) for group in groups])
    known = np.isfinite(values[places])
    x, group_of = values[places][known], group_of[known]

    def sums(terms: Double) -> Double:
        return np.asarray(np.bincount(group_of, terms, len(groups)), dtype=np.float64)

    n = np.bincount(group_of, minlength=len(groups))
    mean = sums(x) / np.maximum(n, 1)
    error = np.sqrt(sums(np.square(x - mean[group_of])) / np.maximum(n - 1, 1) / np.maximum(n, 1))
    reach = error * np.array([student_quantile(k - 1) if k > 1 else 0.0 for k in n.tolist()])
    ranges = {most: range_of(measure, latents=most) for most in set(latents)}
    low, high = np.array([ranges[k] for k in latents], dtype=np.float64).reshape(-1, 2).T
    beyond = sums(((x < low[group_of]) | (x > high[group_of])).astype(np.float64)) > 0
    ends = zip(
        np.where(beyond, mean - reach, np.maximum(mean - reach, low)).tolist(),
        np.where(beyond, mean + reach, np.minimum(mean + reach, high)).tolist(),
        strict=True,
    )
    return [
        Estimate(value if count else float("nan"), interval if count > 1 else None, count)
        for value, interval, count in zip(mean.tolist(), ends, n.tolist(), strict=True)
    ]


def mean_by_bootstrap(values: ArrayLike, *, seed: int = 0) -> Estimate:
    """The mean with its bias-corrected and accelerated 95% bootstrap interval.

    Efron 1987, Better bootstrap confidence intervals, J. Amer. Stat. Assoc. 82. Does not assume
    normal values, but with fewer than about ten it is too narrow: take Student's there.
    """
    known = _known(values)
    if known.size < 2:
        return mean_by_student(known)
    mean = float(known.mean())
    if np.ptp(known) == 0:
        return Estimate(mean, (mean, mean), known.size)
    from scipy import stats  # here: it takes half a second, and pages of runs need none of it

    low, high = stats.bootstrap(
        (known,), np.mean, n_resamples=DRAWS, confidence_level=LEVEL, rng=rng(seed, "bootstrap")
    ).confidence_interval
    return Estimate(mean, (min(float(low), mean), max(float(high), mean)), known.size)


MeanOf = Callable[[Double], Estimate]


@dataclass(frozen=True, slots=True)
class Summary:
    """A measure over the seeds of one setting."""

    settings: Mapping[str, Value]
    estimate: Estimate


def _groups(table: Table, by: Sequence[str]) -> dict[tuple[Value, ...], list[int]]:
    _check(table, by)
    columns = table.columns
    found: dict[tuple[Value, ...], list[int]] = {}
    for place, key in enumerate(zip(*(columns[name] for name in by), strict=True)):
        found.setdefault(key, []).append(place)
    return found or {(): list(range(len(table)))}


def _check(table: Table, names: Sequence[str]) -> None:
    for name in names:
        if name not in table.columns:
            raise UsageError(
                f"The table has no column {name}.", f"It has {', '.join(table.columns)}."
            )


def summarise(
    table: Table, measure: str, by: Sequence[str], *, mean: MeanOf = mean_by_student
) -> list[Summary]:
    """Mean and interval of a measure for each combination of the settings `by`, in their order.

    No interval goes beyond what the measure can be."""
    _check(table, [measure])
    values = table.numbers(measure)
    allowed = range_of(measure, latents=_latents(table))
    groups = sorted(_groups(table, by).items(), key=lambda group: ranked(group[0]))
    return [
        Summary(dict(zip(by, key, strict=True)), _within(mean(values[places]), allowed))
        for key, places in groups
    ]


def _within(estimate: Estimate, allowed: tuple[float, float]) -> Estimate:
    return replace(estimate, interval=within(estimate.interval, allowed))


def _latents(table: Table) -> int | None:
    """The most that a run has, where runs count the types of theirs."""
    if not set(COUNTS) <= set(table.columns):
        return None
    counts = np.sum([table.numbers(name) for name in COUNTS], axis=0)
    known = counts[np.isfinite(counts)]
    return int(known.max()) if known.size else None


def ranked(key: tuple[Value, ...]) -> list[tuple[int, float, str]]:
    """Numbers by size, then words by letter, then what is missing."""
    return [
        (2, 0.0, "") if v is None else (1, 0.0, v) if isinstance(v, str) else (0, float(v), "")
        for v in key
    ]


def mean_over_seeds(table: Table, measure: str, *, mean: MeanOf = mean_by_student) -> list[Summary]:
    """`summarise` over all that was varied but the seed."""
    by = [name for name in table.varying() if name != "seed"]
    return summarise(table, measure, by, mean=mean)


@dataclass(frozen=True, slots=True)
class Difference:
    """How much higher the second is than the first, pair by pair."""

    estimate: Estimate
    wins: int  # pairs in which the second is higher
    p_value: float | None  # of no difference; None below two pairs


def paired(first: ArrayLike, second: ArrayLike) -> Difference:
    """Second minus first over pairs, e.g. the same seeds under two settings.

    The p-value is that of the sign-flip test of the mean: exact up to 12 pairs, else over a sample
    of sign patterns. Pairs with a missing value are left out. With 4 pairs no p-value is below
    1/8, with 5 none below 1/16.
    """
    a, b = np.asarray(first, dtype=np.float64), np.asarray(second, dtype=np.float64)
    if a.shape != b.shape or a.ndim != 1:
        raise UsageError(
            f"Paired values have shapes {a.shape} and {b.shape}.", "Give two lists of one length."
        )
    differences = _known(b - a)
    estimate = mean_by_student(differences)
    wins = int(np.sum(differences > 0))
    n = differences.size
    if n < 2:
        return Difference(estimate, wins, None)
    exact = n <= 12
    if exact:
        signs = 1 - 2 * (np.arange(2**n)[:, None] >> np.arange(n) & 1)
    else:
        signs = rng(0, "signs").choice((-1, 1), size=(DRAWS, n))
    means = np.abs(signs @ differences) / n
    observed = abs(estimate.value) * (1 - 1e-12)  # the same sum in another order is the same sum
    hits = int(np.sum(means >= observed))
    p = hits / len(means) if exact else (hits + 1) / (len(means) + 1)
    return Difference(estimate, wins, p)


def rank_correlations(table: Table, measures: Sequence[str]) -> Double:
    """Spearman's rank correlation of each two measures over the runs that have both.

    NaN where fewer than three runs have both, or where one does not vary. (measure, measure)
    """
    _check(table, measures)
    columns = [table.numbers(name) for name in measures]
    found = np.full((len(measures), len(measures)), np.nan)
    whole = all(np.isfinite(column).all() for column in columns)
    from scipy import stats

    ranks = [stats.rankdata(column) for column in columns] if whole else []
    for i in range(len(measures)):
        for j in range(i + 1):
            if whole:
                pair = (ranks[i], ranks[j])
            else:
                both = np.isfinite(columns[i]) & np.isfinite(columns[j])
                pair = (stats.rankdata(columns[i][both]), stats.rankdata(columns[j][both]))
            found[i, j] = found[j, i] = _pearson(*pair)
    return found


def _pearson(a: Double, b: Double) -> float:
    if a.size < 3 or np.ptp(a) == 0 or np.ptp(b) == 0:
        return float("nan")
    a, b = a - a.mean(), b - b.mean()
    return float(np.clip(a @ b / np.sqrt((a @ a) * (b @ b)), -1.0, 1.0))


Source = Literal["objective", "strength", "seed"]


@dataclass(frozen=True, slots=True)
class Shares:
    """Shares of a measure's variance; they add up to one. `chance`: what noise alone would get."""

    share: Mapping[Source, float]
    chance: Mapping[Source, float]
    n: int


def variance_shares(table: Table, measure: str) -> Shares | None:
    """How much of a measure's variance the objective, its strength and the seed explain.

    Nested sums of squares: means of objectives about the overall mean; means of strengths (all
    other settings that vary) about those; runs about these, which is what seeds do. A share is not
    corrected for the number of groups: hold it against `chance`. None where nothing varies or no
    setting has two seeds.
    """
    _check(table, [measure])
    values = table.numbers(measure)
    kept = np.flatnonzero(np.isfinite(values))
    table, values = table.select(kept.tolist()), values[kept]
    others = [name for name in table.varying() if name not in ("seed", "objective.name")]
    outer = list(_groups(table, ["objective.name"]).values())
    inner = list(_groups(table, ["objective.name", *others]).values())
    n = values.size
    total = float(np.sum((values - values.mean()) ** 2)) if n else 0.0
    if total == 0.0 or n == len(inner):
        return None
    between, within = _spread(values, outer), _spread(values, inner)
    squares = {"objective": between, "strength": within - between, "seed": total - within}
    degrees = {
        "objective": len(outer) - 1,
        "strength": len(inner) - len(outer),
        "seed": n - len(inner),
    }
    names: tuple[Source, ...] = ("objective", "strength", "seed")
    return Shares(
        {name: min(1.0, max(0.0, squares[name] / total)) for name in names},
        {name: degrees[name] / (n - 1) for name in names},
        n,
    )


def _spread(values: Double, groups: Sequence[Sequence[int]]) -> float:
    """Sum over groups of size times squared distance of the group's mean from the overall mean."""
    mean = values.mean()
    return float(sum(len(g) * (values[list(g)].mean() - mean) ** 2 for g in groups))
