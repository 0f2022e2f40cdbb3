"""Data that are no images, as parts of a page: frames, lines, heat maps, or likeliest tokens."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from vaescope.figures.charts import LINES, outputs_chart
from vaescope.figures.signals import sequences_chart, table_chart, traversed_sequences_chart
from vaescope.inspection import Inspection, Latent
from vaescope.report.chart_parts import figure
from vaescope.report.page import Column, PageTable, Part
from vaescope.traversals import Reconstructions, Traversals
from vaescope.types import Array, Floats

__all__ = ["as_pictures", "images_of", "reconstructed", "token_text", "traversed"]

#: Axes longer than this are time or space, not channels of which each has a name.
CHANNELS = 24
#: Vectors without names that are longer are drawn as lines.
TABLE = 32
#: Positions of a latent whose tokens are shown.
POSITIONS = 5


def as_pictures(values: Floats, event: tuple[int, ...], ends: tuple[float, float]) -> Floats | None:
    """Values (..., *event) as images (..., channels, height, width) in [0, 1]: of video its frames
    side by side, of a large matrix its entries; None where they are no pictures."""
    low, high = ends
    unit: Array = np.clip((values - low) / ((high - low) or 1.0), 0.0, 1.0)
    if len(event) == 3 and event[0] in (1, 2, 3, 4):
        return np.asarray(unit if event[0] in (1, 3) else unit[..., :1, :, :])
    if len(event) == 3:
        return np.asarray(unit[..., :1, :, :])
    if len(event) == 2 and min(event) > CHANNELS:
        return np.asarray(unit[..., None, :, :])
    if len(event) != 4:
        return None
    lead = values.ndim - 4
    if event[0] not in (1, 3) and event[1] in (1, 3):
        unit = np.swapaxes(unit, lead, lead + 1)  # frames first
    elif event[0] not in (1, 3) and event[3] in (1, 3):
        unit = np.moveaxis(unit, -1, lead)
    unit = unit[..., :3, :, :, :] if unit.shape[lead] >= 3 else unit[..., :1, :, :, :]
    frames: Array = np.moveaxis(unit, lead + 1, -2)  # (..., channels, height, frame, width)
    return np.asarray(frames.reshape(*frames.shape[:-2], -1))


def images_of(inspection: Inspection, values: Floats, lead: int) -> Floats | None:
    """Values whose first `lead` axes are no part of an example, as images in [0, 1]."""
    subject, shown = inspection.subject, inspection.reconstructions
    event = values.shape[lead:]
    if subject.kind == "tokens":
        return None
    if subject.kind == "images":
        return values if len(event) == 3 else None
    originals = values if shown is None else shown.originals
    return as_pictures(values, event, (float(originals.min()), float(originals.max())))


def _series(values: Floats, event: tuple[int, ...], names: Sequence[str]) -> Floats:
    """Values (..., *event) as (..., time, channel)."""
    if len(event) == 1:
        return values[..., None]
    if len(event) > 2:
        return values.reshape(*values.shape[: -len(event)], -1, 1)
    last = len(names) == event[1] if len(names) in event else event[1] <= event[0]
    return values if last else np.swapaxes(values, -1, -2)


def _names(inspection: Inspection, n: int, word: str) -> list[str]:
    own = list(inspection.subject.columns)
    return own if len(own) == n else [f"{word} {i}" for i in range(n)]


def _is_table(inspection: Inspection, event: tuple[int, ...]) -> bool:
    named = len(inspection.subject.columns) == event[0]
    return len(event) == 1 and (named or event[0] <= TABLE)


def reconstructed(inspection: Inspection, shown: Reconstructions) -> list[Part]:
    """Examples beside their reconstructions."""
    event = shown.originals.shape[1:]
    if inspection.subject.kind == "tokens":
        words = inspection.subject.columns
        best = shown.outputs.argmax(-1)
        rows = tuple(
            (label, token_text(data, words), token_text(guess, words))
            for label, data, guess in zip(shown.labels, shown.originals, best, strict=True)
        )
        caption = "Examples, and the likeliest token at each place at the posterior mean."
        heads = (Column("Example"), Column("Data"), Column("Likeliest"))
        return [PageTable("reconstructions", caption, heads, rows)]
    if _is_table(inspection, event):
        chart = table_chart(shown, _names(inspection, event[0], "column"))
        caption = "Examples and their reconstructions from the posterior mean; darker is larger."
        alt = "Heat map of some rows of the table, each above its reconstruction."
        return [figure("reconstructions", chart, caption, alt)]
    names = inspection.subject.columns
    series = replace(
        shown, originals=_series(shown.originals, event, names),
        outputs=_series(shown.outputs, event, names),
    )  # fmt: skip
    channels = _names(inspection, series.originals.shape[-1], "channel")
    caption = "Examples over time and their reconstructions from the posterior mean."
    if len(channels) > 3:
        caption += f" The first 3 of {len(channels)} channels."
    alt = "Lines of some examples, each with the line of its reconstruction."
    return [figure("reconstructions", sequences_chart(series, channels), caption, alt)]


def traversed(
    inspection: Inspection, moved: Traversals, latents: Sequence[Latent], ends: str
) -> list[Part]:
    """What the decoder makes of each latent as it moves."""
    assert moved.outputs is not None
    event = moved.outputs.shape[2:]
    if inspection.subject.kind == "tokens":
        return [_token_table(inspection, moved, latents)]
    if _is_table(inspection, event):
        names = _names(inspection, event[0], "column")
        caption = f"Columns of the table (the first {LINES} at most) as a latent moves from {ends}."
        alt = "Lines of each column along each latent; those of passive latents are flat."
        return [figure("outputs", outputs_chart(moved, latents, names), caption, alt)]
    series = _series(moved.outputs, event, inspection.subject.columns)
    channel = _names(inspection, series.shape[-1], "channel")[0]
    caption = f"{channel} over time as a latent moves from {ends}; the line's shade is its value."
    alt = "Lines over time for some values of each latent; those of passive latents coincide."
    chart = traversed_sequences_chart(moved, series[..., 0], latents, channel)
    return [figure("outputs", chart, caption[0].upper() + caption[1:], alt)]


def _token_table(inspection: Inspection, moved: Traversals, latents: Sequence[Latent]) -> PageTable:
    assert moved.outputs is not None
    places = np.linspace(0, len(moved.values) - 1, POSITIONS).astype(int).tolist()
    words = inspection.subject.columns
    best = moved.outputs.argmax(-1)
    rows = tuple(
        (z.index, z.type, *(token_text(best[z.index, place], words) for place in places))
        for z in latents
    )
    heads = tuple(Column(f"z = {moved.values[place]:g}") for place in places)
    return PageTable(
        "outputs", "The likeliest token at each position as a latent varies.",
        (Column("Latent", "number", 0), Column("Type", "type"), *heads), rows,
    )  # fmt: skip


def token_text(tokens: Floats, words: Sequence[str]) -> str:
    """Tokens by their names, or by their numbers where they have none."""
    own = [words[int(t)] if int(t) < len(words) else str(int(t)) for t in tokens.ravel()]
    return ("" if words and all(len(word) == 1 for word in words) else " ").join(own)
