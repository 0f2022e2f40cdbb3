"""The summary in the terminal: short, plain, and readable when narrow."""

import io

import numpy as np
import pytest
from rich.console import Console

from vaescope.cli.summary import show_summary
from vaescope.codes import Codes
from vaescope.inspection import Subject, inspect_codes


def shown(width: int, *, colour: bool = False) -> str:
    rng = np.random.default_rng(0)
    variance = np.tile([0.01, 1.0, 0.5], (400, 1))
    mean = rng.standard_normal((400, 3)) * np.sqrt(1.0 - variance)
    classes = np.digitize(mean[:, :1], [-0.5, 0.5])
    codes = Codes(mean, variance, mean, factors=classes, factor_names=("[red]name[/red]",))
    console = Console(file=io.StringIO(), width=width, force_terminal=colour, highlight=False)
    show_summary(inspect_codes(codes, Subject("run", "data", 400, 400, "")), console)
    assert isinstance(console.file, io.StringIO)
    return console.file.getvalue()


@pytest.mark.slow
@pytest.mark.parametrize("width", [30, 44, 80, 120])
def test_no_line_is_longer_than_the_terminal(width: int) -> None:
    assert max(len(line) for line in shown(width).splitlines()) <= width


@pytest.mark.slow
def test_used_latents_are_rows_and_passive_ones_a_line() -> None:
    text = shown(100)
    assert "0  active" in text and "2  mixed" in text
    assert "passive: 1 (mean variance 1.00)" in text


@pytest.mark.slow
def test_names_are_not_markup() -> None:
    assert "[red]name[/red] (" in shown(100)


@pytest.mark.slow
def test_advice_is_given_where_something_is_amiss() -> None:
    words = " ".join(shown(100).split())
    assert (
        "note 1 latent is mixed: 2 is uncertain in nearly every example (mean variance 0.50)."
        in words
    )
    assert "A lower beta makes them more certain." in words
    assert "warning" in words and "pass --prior." in words


@pytest.mark.slow
def test_no_colour_where_none_is_wanted(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "\x1b" not in shown(80)
    assert "\x1b[3" in shown(80, colour=True)
    monkeypatch.setenv("NO_COLOR", "1")
    assert "\x1b[3" not in shown(80, colour=True)
