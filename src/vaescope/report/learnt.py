"""The first screen of a report: what the model learnt, in names and pictures."""

from collections.abc import Sequence
from html import escape

import numpy as np

from vaescope.inspection import Inspection
from vaescope.inspection.learnt import LearntRow, Strip, learnt_of
from vaescope.report.page import PageLearnt, PageLearntRow, Picture
from vaescope.report.pictures import rows_of
from vaescope.report.signals import images_of, token_text
from vaescope.report.sliders import budget_beside
from vaescope.types import Floats

__all__ = ["learnt_screen"]

#: Rows that fit a window of 900 pixels below the title and three sentences.
SHOWN = 8
#: Bytes of all strips.
BUDGET = 400_000
#: Letters of a line of tokens.
LETTERS = 60
#: A colour with more than 3:1 against both papers.
_INK = "#3f7fb5"


def learnt_screen(inspection: Inspection, *, images: bool) -> PageLearnt | None:
    """The rows of largest KL; None where there are no latents with a rate or a picture."""
    learnt = learnt_of(inspection)
    if not learnt.rows and not learnt.passive:
        return None
    rows = learnt.rows[:SHOWN]
    most = max((row.kl_nats or 0.0 for row in rows), default=0.0)
    folded = []
    if len(learnt.rows) > SHOWN:
        more = len(learnt.rows) - SHOWN
        folded.append(f"{more} more used latents, of smaller KL, are under Traversals.")
    if learnt.passive:
        which = ", ".join(map(str, learnt.passive[:20]))
        which += " and others" if len(learnt.passive) > 20 else ""
        folded.append(f"Passive: {which}{_share(inspection, learnt.passive)}.")
    count = max(sum(len(row.strips) for row in rows), 1)
    budget = min(BUDGET, budget_beside(inspection.network)) // count if images else None
    shown = tuple(_row(inspection, row, most, budget) for row in rows)
    return PageLearnt(learnt.says, shown, tuple(folded))


def _share(inspection: Inspection, passive: tuple[int, ...]) -> str:
    """How much the decoder uses these; empty where nothing else is used to compare them with."""
    moved = inspection.traversals
    if moved is None or not moved.share.any() or len(passive) == len(inspection.latents):
        return ""
    makes = "it accounts for" if len(passive) == 1 else "together they account for"
    return f"; {makes} {moved.share[list(passive)].sum():.1%} of the change along the traversals"


def _row(inspection: Inspection, row: LearntRow, most: float, budget: int | None) -> PageLearntRow:
    """`budget` is in bytes for each strip; None leaves them out."""
    several = len(row.strips) > 1 or (row.strips and not row.strips[0].says.startswith("latent"))
    strips = tuple(
        Picture(png, f"Outputs as {strip.says} goes from low to high.",
                label=strip.says.removeprefix("latent ") if several else "")
        for strip in row.strips
        if budget is not None and (png := _drawn(inspection, strip, budget)) is not None
    )  # fmt: skip
    kind = "mixed" if "mixed" in row.types else "active"
    rate = "\N{EN DASH}" if row.kl_nats is None else f"{row.kl_nats:.2f}"
    return PageLearntRow(
        row.name, row.note, kind, strips, rate,
        (row.kl_nats or 0.0) / most if most > 0 else 0.0,
        "\N{EN DASH}" if row.change is None else f"{row.change:.0%}",
        "\N{EN DASH}" if row.known is None else f"{row.known:.2f}",
    )  # fmt: skip


def _drawn(inspection: Inspection, strip: Strip, budget: int) -> bytes | None:
    """A strip as the data's kind wants it: images or frames side by side, the likeliest tokens, or
    lines side by side."""
    outputs = strip.outputs
    if outputs is None:
        return None
    if inspection.subject.kind == "tokens":
        return _texts(outputs, inspection.subject.columns)
    pictures = images_of(inspection, outputs, 1)
    if pictures is not None and pictures.shape[1] in (1, 3, 4):
        return rows_of(pictures[None], budget)[0]
    lines = outputs.reshape(len(outputs), -1, outputs.shape[-1])[:, 0]  # of the first channel
    return _lines(lines) if lines.shape[1] > 1 else None


def _texts(outputs: Floats, words: Sequence[str]) -> bytes:
    """The likeliest tokens at both ends and between them, one below the other."""
    places = (0, len(outputs) // 2, len(outputs) - 1)
    lines = [token_text(outputs[place].argmax(-1), words) for place in places]
    cut = [line if len(line) <= LETTERS else f"{line[: LETTERS - 3]}..." for line in lines]
    rows = "".join(
        f'<text x="0" y="{12 + 15 * row}">{escape(line)}</text>' for row, line in enumerate(cut)
    )
    width = 7 * max(map(len, cut)) + 4
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} 46" width="{width}" '
        f'height="46"><g fill="{_INK}" font-family="monospace" font-size="11">{rows}</g></svg>'
    ).encode()


def _lines(lines: Floats) -> bytes:
    """One small panel for each row of values, all on the same scale."""
    low, high = float(lines.min()), float(lines.max())
    size, gap = 46.0, 4.0
    paths = []
    for place, values in enumerate(lines):
        few = values[np.linspace(0, len(values) - 1, min(len(values), 120)).astype(np.int64)]
        x = place * (size + gap) + np.linspace(1, size - 1, len(few))
        y = 2 + (size - 4) * (1 - (few - low) / ((high - low) or 1.0))
        points = " ".join(f"{a:.1f},{b:.1f}" for a, b in zip(x, y, strict=True))
        paths.append(f'<polyline points="{points}"/>')
    width = len(lines) * (size + gap) - gap
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width:g} {size:g}" '
        f'width="{width:g}" height="{size:g}">'
        f'<g fill="none" stroke="{_INK}" stroke-width="1.5">{"".join(paths)}</g></svg>'
    ).encode()
