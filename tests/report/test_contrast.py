"""Marks have a contrast of 3:1 with their paper and text 4.5:1, in light and dark: WCAG 2.2."""

import re

import pytest

from vaescope.report.render import asset

STYLE = asset("templates", "style.css")


def colours(name: str) -> tuple[str, str]:
    """A variable of the style in light and in dark."""
    value = re.search(rf"--{name}: (.*);", STYLE)
    assert value is not None
    found = re.findall(r"#[0-9a-f]{3,6}", value[1])
    return found[0], found[-1]


def luminance(colour: str) -> float:
    digits = colour[1:] if len(colour) == 7 else "".join(2 * digit for digit in colour[1:])
    channels = [int(digits[place : place + 2], 16) / 255 for place in (0, 2, 4)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return float(0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2])


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize(
    ("name", "least"),
    [("active", 3), ("mixed", 3), ("passive", 3), ("fill", 3), ("accent", 4.5), ("ink", 4.5),
     ("ink-2", 4.5), ("warning", 4.5)],
)  # fmt: skip
def test_colours_stand_out_from_their_paper(name: str, least: float) -> None:
    for colour, paper in zip(colours(name), colours("paper"), strict=True):
        assert contrast(colour, paper) >= least, (name, colour, paper)
