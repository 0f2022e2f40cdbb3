"""The scoreboard at a glance: a square for each primary claim."""

from collections.abc import Sequence

from vaescope.report.scoreboard import Judged

__all__ = ["scoreboard_figure"]

#: Colours that can be told apart in the light and in the dark, by people who see few colours too.
_COLOURS = {
    "supported": "#2a9d8f", "contradicted": "#d1495b", "not specific": "#b8860b",
    "undecided": "#8d99ae", "not run or re-analysed": "none",
}  # fmt: skip
_LEFT, _ROW, _UNIT = 120, 26, 24


def scoreboard_figure(judged: Sequence[Judged]) -> str:
    """Primary claims by paper and verdict as SVG, a square for each; round ones train nothing."""
    families = list(dict.fromkeys(v.family for j in judged for v in j.verdicts if v.claim.primary))
    parts = []
    widest = 1
    for row, family in enumerate(families):
        own = [(j, v) for j in judged for v in j.verdicts if v.family == family and v.claim.primary]
        marks = [
            (v.verdict if j.counts else "not run or re-analysed", j.study.at_optimum)
            for j, v in own
        ]
        marks.sort(key=lambda mark: (list(_COLOURS).index(mark[0]), mark[1]))
        widest = max(widest, len(marks))
        y = 6 + row * _ROW
        parts.append(f'<text x="{_LEFT - 8}" y="{y + 14}" text-anchor="end">{family}</text>')
        parts += [
            f'<rect x="{_LEFT + i * _UNIT}" y="{y}" width="18" height="18" '
            f'rx="{9 if rounded else 3}" fill="{_COLOURS[word]}" stroke="#8d99ae">'
            f"<title>{word}</title></rect>"
            for i, (word, rounded) in enumerate(marks)
        ]
    y = 16 + len(families) * _ROW
    for i, (word, colour) in enumerate(_COLOURS.items()):
        x, below = 10 + (i % 3) * 130, y + 22 * (i // 3)
        parts.append(
            f'<rect x="{x}" y="{below}" width="12" height="12" rx="2" fill="{colour}" '
            f'stroke="#8d99ae"/><text x="{x + 18}" y="{below + 11}">{word}</text>'
        )
    parts.append(f'<text x="10" y="{y + 55}">round: at an optimum, no network is trained</text>')
    width, height = max(_LEFT + widest * _UNIT + 10, 420), y + 72
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {width} {height}" width="{width}" '
        'font-family="sans-serif" font-size="13" fill="#7a8699" role="img" '
        'aria-label="Primary claims by paper and verdict">' + "".join(parts) + "</svg>\n"
    )
