"""Cards of results that have pictures, for notebooks."""

import numpy as np

from vaescope.comparing import Comparison
from vaescope.comparing.compared_runs import letter
from vaescope.comparing.verdicts import latent_name
from vaescope.figures.comparison import certain_first
from vaescope.inspection import Inspection
from vaescope.notebook_card import CardRow, card
from vaescope.report.learnt import learnt_screen
from vaescope.report.pictures import rows_of

__all__ = ["comparison_card", "inspection_card"]

#: Rows of pictures in a card, and bytes of all of them: a notebook keeps every output.
ROWS, BUDGET = 6, 200_000


def inspection_card(inspection: Inspection) -> str:
    """What it learnt: strips and KL of the used latents, then the verdicts."""
    screen = learnt_screen(inspection, images=True)
    rows = [
        CardRow(f"{row.name} ({row.note})", row.full, f"{row.rate} nats",
                tuple(strip.png for strip in row.strips[:1]))
        for row in (() if screen is None else screen.rows[:ROWS])
    ]  # fmt: skip
    more = 0 if screen is None else len(screen.rows) - len(rows)
    read = [f"Inferred: {inspection.read}."] if inspection.inferred else []
    said = [
        (one.tone, f"{one.says} {one.advice}") for one in inspection.verdicts if one.cause is None
    ]
    poor = [str(own) for own in inspection.inferred if own.read in ("poor", "uncertain")]
    folded = [] if screen is None else list(screen.folded)
    folded = [f"{more} more rows are in the report.", *folded] if more else folded
    title = f"{inspection.subject.name} on {inspection.subject.data}"
    return card(title, [*read, *poor, *folded, *said], rows)


def comparison_card(comparison: Comparison) -> str:
    """The runs, matched latents below each other, and the verdicts."""
    names = "; ".join(
        f"{letter(place)} = {own.name}" for place, own in enumerate(comparison.members)
    )
    said = [(one.tone, one.says) for one in comparison.verdicts]
    return card("Comparison", [names, *said, *comparison.notes], _matched(comparison))


def _matched(comparison: Comparison) -> list[CardRow]:
    """The most certain matched latents: a strip of each run, and the KL of the first."""
    shown, rows = comparison.shown, []
    pictured = shown is not None and shown.originals.ndim == 4
    for place in certain_first(comparison):
        latent = comparison.latents[place]
        if not any(latent.judged):
            continue
        values = [value for value in latent.measured["kl"].values if value is not None]
        strips = [] if shown is None else [s for s in shown.strips[place] if s is not None]
        pictures = []
        if pictured and strips:
            pictures = rows_of(np.stack(strips)[:, ::2], BUDGET // ROWS)
        text = ", ".join(f"{value:.3g}" for value in values)
        rows.append((latent_name(latent), max(values, default=0.0), f"{text} nats", pictures))
        if len(rows) == ROWS:
            break
    longest = max((own[1] for own in rows), default=0.0) or 1.0
    return [
        CardRow(name, value / longest, text, tuple(pictures))
        for name, value, text, pictures in rows
    ]
