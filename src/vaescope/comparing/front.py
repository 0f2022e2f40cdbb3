"""`vs.compare`: runs on the same images, their latents matched, differences with intervals."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vaescope.build import build_data
from vaescope.comparing.intervals import (
    Gap,
    Side,
    no_gap,
    over_replicates,
    over_rows,
    over_seeds,
    without_interval,
)
from vaescope.comparing.intervals import sides as sides_of
from vaescope.comparing.matching import Match, match_latents
from vaescope.comparing.members import Member, differing, letter, one_shape, read_members
from vaescope.comparing.opened import Fit, Opened, fit_rows, open_member
from vaescope.comparing.pictures import show
from vaescope.comparing.result import SAME, Comparison, Latent, Measured
from vaescope.comparing.scores import Number, numbers_of, wanted, with_noise
from vaescope.comparing.sentences import judge
from vaescope.inspection.front import as_data
from vaescope.runs import Run
from vaescope.seeds import rng
from vaescope.types import Floats
from vaescope.verdicts.verdict import listed

__all__ = ["compare"]

Vector = NDArray[np.float64]

#: Images that are encoded, and of these those that are decoded.
ROWS, DECODED = 5_000, 2_000
#: Runs whose pictures are shown.
PICTURED = 6

#: Told what is under way.
Progress = Callable[[str], None]


def compare(
    *runs: Run | str | Path,
    data: Any = None,
    metrics: Sequence[str] | None = None,
    images: bool = True,
    progress: Progress = lambda _: None,
) -> Comparison:
    """Compares two or more finished runs on at most 5,000 images of the first one's data.

    Runs that differ in their seeds only are one setting. Several settings are held against the
    first: with intervals over seeds where there are enough, else over images. `data` replaces the
    first run's data, and is needed where it was trained on your own arrays. `metrics` are names of
    `vs.metrics.METRICS`; the default are those that need no learning. `images=False` keeps no
    picture.
    """
    members = read_members([own if isinstance(own, Run) else Run(Path(own)) for own in runs])
    names = wanted(metrics)
    given = build_data(members[0].spec.data) if data is None else as_data(data)
    one_shape(members, given.shape)
    rows = given.sample(ROWS, seed=0)
    opened = []
    for member in members:
        progress(f"encoding with {member.name}")
        opened.append(open_member(member, given, rows))
    codes, kinds = [own.codes for own in opened], [own.kinds for own in opened]
    progress("matching latents")
    matches = match_latents(codes, kinds)
    noises = _noises(matches, codes[0].n)
    sides = sides_of(members)
    latents = tuple(_latent(match, opened, members, sides) for match in matches)
    progress("measuring")
    measured, skipped = _metrics(members, opened, noises, names, sides)
    few = np.linspace(0, len(rows) - 1, min(DECODED, len(rows))).astype(np.int64)
    fits = [
        fit_rows(own, given, rows[few], noise[few])
        for own, noise in zip(opened, noises, strict=True)
    ]
    fitted, not_fitted = _fit(members, fits, sides)
    progress("drawing")
    found = Comparison(
        members, tuple(kinds), sides, latents, fitted | measured, differing(members), given.name,
        len(rows), len(given), (), _notes(members, given=data is not None), skipped | not_fitted,
        show(opened, matches, given, rows, most=PICTURED) if images else None,
    )  # fmt: skip
    return judge(found)


def _noises(matches: Sequence[Match], n: int) -> list[Floats]:
    """Noise of each run, (n, d): the same in latents that are matched, mirrored where they are, so
    that a model with its latents in another order has the same samples."""
    common = rng(0, "compare-noise").standard_normal((n, len(matches))).astype(np.float32)
    noises = []
    for place in range(len(matches[0])):
        found = [(column, own) for column, match in enumerate(matches) if (own := match[place])]
        noise = np.empty((n, len(found)), dtype=np.float32)
        for column, own in found:
            noise[:, own.latent] = own.sign * common[:, column]
        noises.append(noise)
    return noises


def _latent(
    match: Match, opened: Sequence[Opened], members: Sequence[Member], sides: Sequence[Side]
) -> Latent:
    kls: list[Vector | None] = []
    variances: list[Vector | None] = []
    for found, own in zip(match, opened, strict=True):
        here = None if found is None else found.latent
        kls.append(None if here is None else own.kl[:, here])
        variances.append(None if here is None else own.codes.variance[:, here].astype(np.float64))
    types = tuple(
        None if found is None else own.kinds.names[found.latent]
        for found, own in zip(match, opened, strict=True)
    )
    measured = {
        "kl": _of_rows(kls, members, sides),
        "mean_variance": _of_rows(variances, members, sides),
    }
    judged = tuple(
        any(types[place] not in ("passive", None) for place in (*side.first, *side.second))
        for side in sides
    )
    return Latent(
        match, types, judged,
        {name: _unless_passive(own, judged) for name, own in measured.items()},
        tuple(_strangers(match, side) for side in sides),
    )  # fmt: skip


def _unless_passive(measured: Measured, judged: Sequence[bool]) -> Measured:
    """Without intervals where a latent is passive in all runs: which one it is means nothing."""
    gaps = zip(measured.gaps, judged, strict=True)
    return replace(
        measured, gaps=tuple(gap if known else without_interval(gap) for gap, known in gaps)
    )


def _strangers(match: Match, side: Side) -> bool:
    """Whether the second runs share less than half of the variance with the latent that the match
    is held against, on average, and other runs on the first side, if there are any, share more."""

    def shared(places: Sequence[int]) -> list[float]:
        found = [match[place] for place in places]
        return [own.correlation**2 for own in found if own and own.how == "correlation"]

    first, second = shared(side.first), shared(side.second)
    return bool(second) and bool(np.mean(second) < SAME <= np.mean(first or [1.0]))


def _of_rows(
    rows: Sequence[Vector | None], members: Sequence[Member], sides: Sequence[Side]
) -> Measured:
    """A mean over images of each run; None where a run has none, or it is infinite."""
    means = [None if own is None or not np.isfinite(own).all() else own.mean() for own in rows]
    values = [None if mean is None else float(mean) for mean in means]

    def on_images(side: Side) -> Gap:
        first, second = (
            np.mean([rows[place] for place in places], axis=0)
            for places in (side.first, side.second)
        )
        return over_rows(first, second)

    return _measured(values, members, sides, on_images)


def _measured(
    values: Sequence[float | None],
    members: Sequence[Member],
    sides: Sequence[Side],
    on_images: Callable[[Side], Gap],
) -> Measured:
    seeds = [member.seed for member in members]
    gaps = []
    for side in sides:
        if any(values[place] is None for place in (*side.first, *side.second)):
            gaps.append(no_gap())
        elif side.basis == "images":
            gaps.append(on_images(side))
        else:
            gaps.append(over_seeds(side, seeds, [v if v is not None else np.nan for v in values]))
    return Measured(tuple(values), tuple(gaps))


def _metrics(
    members: Sequence[Member],
    opened: Sequence[Opened],
    noises: Sequence[Floats],
    names: Sequence[str],
    sides: Sequence[Side],
) -> tuple[dict[str, Measured], dict[str, str]]:
    every: list[Mapping[str, Number]] = []
    skipped: dict[str, str] = {}
    for own, noise in zip(opened, noises, strict=True):
        found, reasons = numbers_of(with_noise(own.codes, noise), own.kinds, names)
        every.append(found)
        skipped |= reasons
    n = opened[0].codes.n
    measured = {}
    for name in dict.fromkeys(name for found in every for name in found):
        own_numbers = [found.get(name) for found in every]
        values = [None if number is None else number.value for number in own_numbers]
        measured[name] = _measured(
            values, members, sides, lambda side, of=own_numbers: _on_images(side, of, n)
        )
    return measured, skipped


def _on_images(side: Side, numbers: Sequence[Number | None], n: int) -> Gap:
    def of(places: Sequence[int]) -> tuple[float, Vector | None]:
        own = [number for place in places if (number := numbers[place]) is not None]
        drawn = [number.replicates for number in own if number.replicates is not None]
        value = float(np.mean([number.value for number in own]))
        return value, np.mean(drawn, axis=0) if len(drawn) == len(own) else None

    (first, before), (second, after) = of(side.first), of(side.second)
    both = None if before is None or after is None else after - before
    return over_replicates(first, second, both, n)


def _fit(
    members: Sequence[Member], fits: Sequence[Fit], sides: Sequence[Side]
) -> tuple[dict[str, Measured], dict[str, str]]:
    rates = [fit.rate for fit in fits]
    measured = {"rate": _of_rows(rates, members, sides)}
    pointed = any(own is None for own in rates)
    skipped = {"rate": "a point posterior has no density, so no rate"} if pointed else {}
    names = {member.spec.likelihood.name for member in members}
    if len(names) > 1:
        reason = f"likelihoods differ ({', '.join(sorted(names))}), so that nats do not compare"
        return measured, skipped | dict.fromkeys(("distortion", "elbo"), reason)
    elbos = [None if fit.rate is None else -fit.distortion - fit.rate for fit in fits]
    return {
        "elbo": _of_rows(elbos, members, sides),
        "distortion": _of_rows([fit.distortion for fit in fits], members, sides),
        **measured,
    }, skipped


def _notes(members: Sequence[Member], *, given: bool) -> tuple[str, ...]:
    if given:
        return ("All runs were encoded on the data that were given, whatever they learned from.",)
    first = members[0].spec.data
    others = {
        letter(place): member.spec.data.name
        for place, member in enumerate(members)
        if member.spec.data != first
    }
    if not others:
        return ()
    named = listed([f"{run} ({data})" for run, data in others.items()])
    return (
        f"{named} learned from other data than A; all numbers are on the data of A ({first.name}).",
    )
