"""`vs.compare`: runs on the same images, their latents matched, differences with intervals."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from vaescope.build import build_data
from vaescope.comparing.differences import latent_of, of_numbers, of_rows
from vaescope.comparing.intervals import Side, sides_of
from vaescope.comparing.matching import Match, match_latents
from vaescope.comparing.members import Member, differing, letter, one_shape, read_members
from vaescope.comparing.opened import Fit, Opened, fit_rows, open_member
from vaescope.comparing.pictures import show
from vaescope.comparing.result import Comparison, Measured
from vaescope.comparing.scores import Number, numbers_of, wanted, with_noise
from vaescope.comparing.sentences import judge
from vaescope.inspection.front import as_data
from vaescope.runs import Run
from vaescope.seeds import rng
from vaescope.types import Floats
from vaescope.verdicts.verdict import listed

__all__ = ["compare"]

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
    latents = tuple(latent_of(match, opened, sides) for match in matches)
    progress("measuring")
    measured, skipped = _metrics(opened, noises, names, sides)
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


def _metrics(
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
    there = dict.fromkeys(name for found in every for name in found)
    n = opened[0].codes.n
    return {
        name: of_numbers([found.get(name) for found in every], sides, n) for name in there
    }, skipped


def _fit(
    members: Sequence[Member], fits: Sequence[Fit], sides: Sequence[Side]
) -> tuple[dict[str, Measured], dict[str, str]]:
    rates = [fit.rate for fit in fits]
    measured = {"rate": of_rows(rates, sides)}
    pointed = any(own is None for own in rates)
    skipped = {"rate": "a point posterior has no density, so no rate"} if pointed else {}
    names = {member.spec.likelihood.name for member in members}
    if len(names) > 1:
        reason = f"likelihoods differ ({', '.join(sorted(names))}), so that nats do not compare"
        return measured, skipped | dict.fromkeys(("distortion", "elbo"), reason)
    elbos = [None if fit.rate is None else -fit.distortion - fit.rate for fit in fits]
    return {
        "elbo": of_rows(elbos, sides),
        "distortion": of_rows([fit.distortion for fit in fits], sides),
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
