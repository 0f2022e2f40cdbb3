"""The court in one picture: metrics by cells, each square a verdict."""

from collections.abc import Sequence
from html import escape

from vaescope.court.judging import Judgement
from vaescope.court.promises import COUNTED
from vaescope.court.trial import CORE
from vaescope.metrics.suite import METRICS

__all__ = ["court_picture"]

#: Told apart also without colour, by their letters.
_LOOKS = {
    "right": ("#4c9f70", ""), "false positive": ("#c0392b", "+"),
    "false negative": ("#2c5aa0", "-"), "undecided": ("#e5c76b", "?"), "open": ("#dddddd", ""),
    "no value": ("#f7f7f7", "x"),
}  # fmt: skip
_SQUARE, _LEFT, _TOP = 20, 170, 190


def court_picture(found: Sequence[Judgement]) -> str:
    """An SVG of its own: no fonts, scripts or colours from elsewhere. Of the cells that all metrics
    are tried on."""
    tried = dict.fromkeys(j.cell for j in found)
    cells = [cell for cell in tried if cell in CORE] or list(tried)
    metrics = [name for name in METRICS if name not in COUNTED]
    verdicts = {(j.metric, j.cell): j for j in found}
    width, height = _LEFT + _SQUARE * len(cells) + 110, _TOP + _SQUARE * len(metrics) + 50
    parts = [
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" '
        f'font-family="sans-serif" font-size="12" role="img" '
        f'aria-label="Verdicts of {len(metrics)} metrics on {len(cells)} cells">',
        f'<rect width="{width}" height="{height}" fill="#ffffff"/>',
    ]
    for column, cell in enumerate(cells):
        x = _LEFT + _SQUARE * column + 14
        name = (
            cell.encoder if cell.generator == "independent" else f"{cell.generator}: {cell.encoder}"
        )
        parts.append(
            f'<text transform="translate({x},{_TOP - 6}) rotate(-60)">{escape(name)}</text>'
        )
    for row, metric in enumerate(metrics):
        y = _TOP + _SQUARE * row
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 14}" text-anchor="end">{metric}</text>')
        for column, cell in enumerate(cells):
            own = verdicts.get((metric, cell))
            colour, letter = _LOOKS[own.verdict] if own else ("#ffffff", "")
            x = _LEFT + _SQUARE * column
            said = f"{metric} on {cell.encoder} of {cell.generator}: {own.verdict}" if own else ""
            parts.append(
                f'<rect x="{x}" y="{y}" width="{_SQUARE - 2}" height="{_SQUARE - 2}" rx="2" '
                f'fill="{colour}" stroke="#bbbbbb" stroke-width="0.5"><title>{escape(said)}</title>'
                f'</rect><text x="{x + 9}" y="{y + 14}" text-anchor="middle" fill="{_ink(colour)}" '
                f'font-weight="bold" pointer-events="none">{letter}</text>'
            )
    x = _LEFT
    for name, (colour, letter) in _LOOKS.items():
        y = height - 30
        parts.append(
            f'<rect x="{x}" y="{y}" width="18" height="18" rx="2" fill="{colour}" '
            f'stroke="#bbbbbb"/><text x="{x + 9}" y="{y + 13}" text-anchor="middle" '
            f'fill="{_ink(colour)}">{letter}</text><text x="{x + 24}" y="{y + 13}">{name}</text>'
        )
        x += 40 + 7 * len(name)
    return "".join([*parts, "</svg>"]) + "\n"


def _ink(colour: str) -> str:
    """Of a letter on that colour."""
    return "#666666" if colour == _LOOKS["no value"][0] else "#ffffff"
