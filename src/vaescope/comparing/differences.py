"""Numbers of several runs to differences between sides."""

from collections.abc import Callable, Sequence
from dataclasses import replace

import numpy as np

from vaescope.codes import Codes
from vaescope.comparing.intervals import Side, SideGap, over_replicates, over_rows, over_seeds
from vaescope.comparing.matching import Match
from vaescope.comparing.result import SAME, ComparedLatent, ComparedNumber
from vaescope.comparing.scores import ResampledNumber
from vaescope.latents import Types, kl_of_rows
from vaescope.measure_ranges import range_of_difference, within
from vaescope.types import Vector

__all__ = ["latent_of", "of_numbers", "of_rows"]


def of_rows(measure: str, rows: Sequence[Vector | None], sides: Sequence[Side]) -> ComparedNumber:
    """A mean over images of each run; None where a run has none, or it is infinite."""
    known = [None if own is None or not np.isfinite(own).all() else own for own in rows]
    values = [None if own is None else float(own.mean()) for own in known]

    def on_images(side: Side) -> SideGap:
        def mean_of(places: Sequence[int]) -> Vector:
            there = [own for place in places if (own := known[place]) is not None]
            return np.asarray(np.mean(there, axis=0))

        return over_rows(mean_of(side.first), mean_of(side.second))

    return _measured(measure, values, sides, on_images)


def of_numbers(
    measure: str,
    numbers: Sequence[ResampledNumber | None],
    sides: Sequence[Side],
    n: int,
    *,
    latents: int | None = None,
) -> ComparedNumber:
    """Another number of each run, over n images; None where a run has none. `latents`: the most
    that a run has, of which some may be counted."""
    values = [None if own is None else own.value for own in numbers]

    def on_images(side: Side) -> SideGap:
        def mean_of(places: Sequence[int]) -> tuple[float, Vector | None]:
            there = [own for place in places if (own := numbers[place]) is not None]
            drawn = [own.replicates for own in there if own.replicates is not None]
            value = float(np.mean([own.value for own in there]))
            return value, np.mean(drawn, axis=0) if len(drawn) == len(there) else None

        (first, before), (second, after) = mean_of(side.first), mean_of(side.second)
        both = None if before is None or after is None else after - before
        return over_replicates(first, second, both, n)

    return _measured(measure, values, sides, on_images, latents)


def _measured(
    measure: str,
    values: Sequence[float | None],
    sides: Sequence[Side],
    on_images: Callable[[Side], SideGap],
    latents: int | None = None,
) -> ComparedNumber:
    def gap_of(side: Side) -> SideGap:
        if any(values[place] is None for place in (*side.first, *side.second)):
            return SideGap(None, None, None, 0)
        if side.basis == "images":
            return on_images(side)
        return over_seeds(side, [np.nan if value is None else value for value in values])

    allowed = range_of_difference(measure, latents=latents)
    gaps = map(gap_of, sides)
    bounded = (replace(gap, interval=within(gap.interval, allowed)) for gap in gaps)
    return ComparedNumber(tuple(values), tuple(bounded))


def latent_of(
    match: Match, codes: Sequence[Codes], kinds: Sequence[Types], sides: Sequence[Side]
) -> ComparedLatent:
    """A matched latent in all runs, and how it differs between sides."""
    kls: list[Vector | None] = [None] * len(match)
    variances: list[Vector | None] = [None] * len(match)
    types: list[str | None] = [None] * len(match)
    for place, (found, own, kind) in enumerate(zip(match, codes, kinds, strict=True)):
        if found is not None:
            kls[place] = kl_of_rows(own)[:, found.latent]
            variances[place] = own.variance[:, found.latent].astype(np.float64)
            types[place] = kind.names[found.latent]
    used = [kind not in ("passive", None) for kind in types]
    judged = tuple(any(used[place] for place in (*side.first, *side.second)) for side in sides)
    rows = {"kl": kls, "mean_variance": variances}
    measured = {name: of_rows(name, own, sides) for name, own in rows.items()}
    return ComparedLatent(
        match,
        tuple(types),
        judged,
        {name: _where(own, judged) for name, own in measured.items()},
        tuple(known and _is_alone(match, side) for side, known in zip(sides, judged, strict=True)),
    )


def _where(measured: ComparedNumber, judged: Sequence[bool]) -> ComparedNumber:
    """Without intervals where a latent is passive in all runs: which one it is means nothing."""
    gaps = (
        gap if known else replace(gap, interval=None, n=0)
        for gap, known in zip(measured.gaps, judged, strict=True)
    )
    return replace(measured, gaps=tuple(gaps))


def _is_alone(match: Match, side: Side) -> bool:
    """Whether one side has no such latent: none at all, or one that shares less than half of the
    variance with what the match is compared with, where other runs on the first side share more."""
    first, second = ([match[place] for place in own] for own in (side.first, side.second))
    if not any(first) or not any(second):
        return True
    shared, other = (
        [own.correlation**2 for own in found if own and own.how == "correlation"]
        for found in (second, first)
    )
    return bool(shared) and bool(np.mean(shared) < SAME <= np.mean(other or [1.0]))
