"""A result as notebooks show it: a card with what it says, bars and pictures.

Colours are those of the notebook, light or dark; text wraps; nothing is loaded.
"""

import base64
import html
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

__all__ = ["CardRow", "bars_of", "card", "card_of"]

#: Bars that a card shows.
ROWS = 12
#: About 4:1 on white and on black.
_INK = "#3f7fb5"
_MARKS = {"good": "✓", "note": "·", "warning": "▲"}
_FRAME = (
    "max-width:52rem;margin:.25rem 0;padding:.625rem 1rem .75rem;border:1px solid #8888;"
    "border-radius:6px;font-family:system-ui,sans-serif;font-size:.875rem;line-height:1.5;"
    "overflow-wrap:anywhere;white-space:normal"
)
_GRID = (
    "display:grid;grid-template-columns:minmax(4rem,auto) auto minmax(3rem,8rem) auto 1fr;"
    "gap:.25rem .75rem;align-items:center;margin-top:.5rem"
)


@dataclass(frozen=True)
class CardRow:
    """A name, a bar of this share of the longest, the number as text, and pictures."""

    name: str
    share: float
    shown: str
    pictures: tuple[bytes, ...] = ()  # PNG or SVG


def bars_of(values: Mapping[str, float], unit: str = "", *, full: float = 0.0) -> list[CardRow]:
    """A row for each number; bars are shares of the largest, or of `full` if that is larger.

    >>> [row.share for row in bars_of({"0": 4.0, "1": 1.0, "2": math.inf})]
    [1.0, 0.25, 1.0]
    """
    known = [value for value in values.values() if math.isfinite(value)]
    longest = max([full, *known], default=0.0)

    def share(value: float) -> float:
        if math.isnan(value) or longest <= 0.0:
            return 0.0
        return min(max(value / longest, 0.0), 1.0)

    return [
        CardRow(name, share(value), f"{value:.3g} {unit}".strip()) for name, value in values.items()
    ]


def card(title: str, says: Iterable[str | tuple[str, str]], rows: Sequence[CardRow] = ()) -> str:
    """HTML of a title, rows, and sentences; a pair is the tone of a verdict and its sentence."""
    parts = [f'<div style="{_FRAME}">', f"<strong>{html.escape(title)}</strong>"]
    if rows:
        parts += [f'<div style="{_GRID}">', *map(_row, rows[:ROWS]), "</div>"]
    if len(rows) > ROWS:
        parts.append(f'<div style="opacity:.8">and {len(rows) - ROWS} more</div>')
    for one in says:
        tone, text = ("", one) if isinstance(one, str) else one
        mark = f"{_MARKS[tone]} " if tone else ""
        parts.append(f'<p style="margin:.375rem 0 0">{mark}{html.escape(text)}</p>')
    return "".join([*parts, "</div>"])


def card_of(result: Any, rows: Sequence[CardRow] = ()) -> str:
    """The card of a result that has a `summary()`: its class in words is the title."""
    words = re.sub(r"(?<=[a-z])(?=[A-Z])", " ", type(result).__name__.lstrip("_"))
    title = words[:1] + re.sub(r"\b[A-Z](?=[a-z])", lambda m: m[0].lower(), words[1:])
    return card(title, result.summary().splitlines(), rows)


def _row(row: CardRow) -> str:
    pictures = "".join(
        f'<img src="{_link(png)}" alt="" style="height:2.5rem;width:auto;max-width:100%;margin:0 '
        '.5rem 0 0;display:inline-block">'
        for png in row.pictures
    )
    bar = f"display:block;height:.625rem;width:{100 * row.share:.1f}%;background:{_INK}"
    return (
        f"<span>{html.escape(row.name)}</span><span>{pictures}</span>"
        f'<span><i style="{bar}"></i></span><span>{html.escape(row.shown)}</span><span></span>'
    )


def _link(content: bytes) -> str:
    kind = "svg+xml" if content.startswith(b"<svg") else "png"
    return f"data:image/{kind};base64,{base64.b64encode(content).decode('ascii')}"
