"""Notebooks show results as cards: wrapped text, bars and pictures; nothing of it is markup."""

import re

import numpy as np
import pytest

import vaescope
from vaescope import latents
from vaescope.codes import Codes
from vaescope.notebook_card import ROWS, CardRow, bars_of, card

EVIL = "<img src=x onerror=alert(1)>"


@pytest.fixture(scope="module")
def codes() -> Codes:
    rng = np.random.default_rng(0)
    factors = rng.integers(0, 8, size=(400, 2))
    mean = np.column_stack([factors - 3.5, rng.standard_normal(400) * 0.01])
    variance = np.tile([0.01, 0.01, 1.0], (400, 1))
    return Codes(mean, variance, mean, factors=factors, factor_names=(EVIL, "size"))


def widths(html: str) -> list[float]:
    return [float(own) for own in re.findall(r"width:([\d.]+)%;background", html)]


def test_text_is_text_and_wraps() -> None:
    html = card(EVIL, [EVIL, ("warning", EVIL)], [CardRow(EVIL, 0.5, EVIL)])
    assert "<img" not in html and html.count("&lt;img") == 5
    assert "<pre" not in html and "overflow-wrap:anywhere" in html


def test_bars_are_shares_of_the_longest_and_the_rest_is_counted() -> None:
    html = card("KL", [], bars_of({str(k): float(k) for k in range(ROWS + 3)}, "nats"))
    assert len(widths(html)) == ROWS and "and 3 more" in html
    assert widths(html)[7] == pytest.approx(100 * 7 / (ROWS + 2), abs=0.1)
    assert widths(card("", [], bars_of({"a": -1.0, "b": float("nan"), "c": 0.0}))) == [0, 0, 0]


def test_results_about_latents_have_a_bar_for_each(codes: Codes) -> None:
    kinds = latents.types(codes)
    for found in (kinds, latents.kl(codes)):
        kl = np.asarray(getattr(found, "kl", getattr(found, "nats", None)))
        assert widths(found._repr_html_()) == pytest.approx(100 * kl / kl.max(), abs=0.1)
    named = latents.groups(codes)._repr_html_()
    assert EVIL not in named and len(widths(named)) == 2


def test_every_public_result_with_a_summary_has_a_card() -> None:
    """A result in a notebook is never a line of `repr`."""
    spaces = [vaescope, *(getattr(vaescope, name) for name in ("latents", "metrics", "geometry"))]
    bare = {
        f"{space.__name__}.{name}"
        for space in spaces
        for name in space.__all__
        if isinstance(own := getattr(space, name), type)
        and callable(getattr(own, "summary", None))
        and not hasattr(own, "_repr_html_")
    }
    assert bare == set()
