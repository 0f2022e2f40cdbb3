"""The first screen of a comparison: matched latents below each other, pictures first."""

import numpy as np

from vaescope.comparing import Comparison
from vaescope.comparing.compared_runs import letter
from vaescope.comparing.result import SAME, ComparedLatent
from vaescope.figures.comparison import certain_first
from vaescope.report.page import PageLearnt, PageLearntRow, Picture
from vaescope.report.pictures import rows_of

__all__ = ["alike", "shared_screen"]

#: Matched latents, and runs whose strips stand side by side: what fits a window of 900 pixels.
ROWS, RUNS = 8, 2
#: Pictures in a strip; bytes of all strips.
PICTURES, BUDGET = 5, 400_000
_HEADS = (
    "Matched latents", "Outputs in {runs}, from low to high", "KL in A, nats",
    "Correlation", "KL gap",
)  # fmt: skip


def shared_screen(comparison: Comparison, *, images: bool) -> PageLearnt | None:
    """The most certain matched latents that some run uses; None where none does."""
    places = [p for p in certain_first(comparison) if any(comparison.latents[p].judged)]
    if not places:
        return None
    rates = [_rate(comparison.latents[place]) or 0.0 for place in places]
    longest = max(rates) or 1.0
    rows = tuple(
        _row(comparison, place, rate / longest, images=images)
        for place, rate in zip(places[:ROWS], rates, strict=False)
    )
    folded = []
    if len(places) > ROWS:
        folded.append(f"{len(places) - ROWS} more matched latents are under Latents.")
    idle = len(comparison.latents) - len(places)
    if idle:
        folded.append(f"{idle} matched latents are passive in all runs.")
    runs = " and ".join(letter(k) for k in range(min(len(comparison.members), RUNS)))
    return PageLearnt(
        tuple(one.says for one in comparison.verdicts[:3]), rows, tuple(folded),
        "What they share", (_HEADS[0], _HEADS[1].format(runs=runs), *_HEADS[2:]),
    )  # fmt: skip


def _rate(latent: ComparedLatent) -> float | None:
    """KL in the first run that has it."""
    return next((value for value in latent.measured["kl"].values if value is not None), None)


def alike(comparison: Comparison, latent: ComparedLatent) -> str:
    """Whether a matched latent is the same in all runs, and within what."""
    matched = [own for own in latent.match if own is not None and own.how == "correlation"]
    if not matched:
        return "in one run only"
    if any(own.correlation**2 < SAME for own in matched):
        return "not the same latent: less than half of the variance is shared"
    if latent.differs:
        return "the same latent, used to a different degree"
    sides = [side for side, judged in zip(comparison.sides, latent.judged, strict=True) if judged]
    known = all(
        own.gaps[place].differs is False
        for own in latent.measured.values()
        for place, judged in enumerate(latent.judged)
        if judged
    )
    if not known:
        return "the same latent; how far seeds differ is not known"
    if all(side.basis != "images" for side in sides):
        return "the same latent: runs differ no more than seeds do"
    return "the same latent on these images; how far seeds differ is not known"


def _row(comparison: Comparison, place: int, share: float, *, images: bool) -> PageLearntRow:
    latent, name = comparison.latents[place], comparison.name_of(place)
    own = [f"{letter(run)}{one.latent}" for run, one in enumerate(latent.match) if one is not None]
    numbers = ", ".join(own[:4]) + (f" and {len(own) - 4} more" if len(own) > 4 else "")
    sizes = [
        abs(found.correlation)
        for found in latent.match
        if found is not None and found.how == "correlation"
    ]
    values = [value for value in latent.measured["kl"].values if value is not None]
    rate, kinds = _rate(latent), [kind for kind in latent.types if kind]
    note = alike(comparison, latent)
    return PageLearntRow(
        numbers if name is None else name, note if name is None else f"{numbers}: {note}",
        "mixed" if "mixed" in kinds else "active" if "active" in kinds else "passive",
        _strips(comparison, place) if images else (),
        "\N{EN DASH}" if rate is None else f"{rate:.2f}", share,
        f"{min(sizes):.2f}" if sizes else "\N{EN DASH}",
        f"{max(values) - min(values):.2f}" if len(values) > 1 else "\N{EN DASH}",
    )  # fmt: skip


def _strips(comparison: Comparison, place: int) -> tuple[Picture, ...]:
    shown = comparison.shown
    if shown is None or shown.originals.ndim != 4:
        return ()
    found = [
        (run, strip) for run, strip in enumerate(shown.strips[place][:RUNS]) if strip is not None
    ]
    if not found:
        return ()
    steps = len(found[0][1])
    few = np.linspace(0, steps - 1, PICTURES).astype(np.int64)
    drawn = rows_of(np.stack([strip[few] for _, strip in found]), BUDGET // (ROWS * RUNS) * RUNS)
    return tuple(
        Picture(png, f"Outputs of run {letter(run)} as the latent goes from low to high.",
                label=letter(run))
        for (run, _), png in zip(found, drawn, strict=True)
    )  # fmt: skip
