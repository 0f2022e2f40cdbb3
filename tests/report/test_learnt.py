"""The first screen: names, strips and sentences of what was learnt."""

from dataclasses import replace

import numpy as np
import pytest
import torch

from vaescope.codes import Codes
from vaescope.inspection import Inspection, Subject, inspect_codes
from vaescope.inspection.decoder_names import DecoderName
from vaescope.inspection.learnt import learnt_of, strips_along
from vaescope.report import page_of, render
from vaescope.report.learnt import SHOWN, learnt_screen
from vaescope.traversals import traverse

EVIL = "<b>x</b>"


def _decode(z: torch.Tensor) -> torch.Tensor:
    """An image whose brightness is z_0 + z_1 on the left and z_0 - z_1 on the right."""
    left, right = z[:, 0] + z[:, 1], z[:, 0] - z[:, 1]
    image = torch.stack([left, right], 1)[:, None, None, :].expand(-1, 1, 8, 2)
    return torch.sigmoid(image.repeat_interleave(4, dim=3))


def _inspection(*, factors: bool = True, used: int = 3) -> Inspection:
    """Latents 0 and 1 hold two factors rotated by 45 degrees; of the others `used` - 2 hold noise,
    and the last is passive."""
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 20, size=(1000, 2))
    a, b = ((classes - 9.5) / 5.8).T
    rest = rng.standard_normal((1000, used - 2))
    mean = np.column_stack([(a + b) / 2**0.5, (a - b) / 2**0.5, rest, np.zeros(1000)])
    variance = np.tile([*[0.01] * used, 1.0], (1000, 1))
    known = {"factors": classes, "factor_names": (EVIL, "size")} if factors else {}
    found = inspect_codes(
        Codes(mean, variance, mean, **known),
        Subject("my-model", "my-data", 1000, 1000, "A model."),
        metrics=["mig"],
    )
    base, centre, scale = np.zeros(used + 1), np.zeros(used + 1), np.ones(used + 1)
    moved = traverse(_decode, base)
    axes = strips_along(found, _decode, moved, centre, scale)
    return replace(found, traversals=moved, axes=axes)


def test_rows_are_groups_and_used_latents_and_never_passive_ones() -> None:
    learnt = learnt_of(_inspection())
    assert {row.latents for row in learnt.rows} == {(0, 1), (2,)}
    assert learnt.passive == (3,)
    group = next(row for row in learnt.rows if row.latents == (0, 1))
    assert group.name == f"{EVIL} and size" and "rotated by about 45 degrees" in group.note
    assert len(learnt.says) <= 3 and learnt.says[0].startswith("3 of 4 latents are used")


def test_strips_of_a_rotated_group_are_along_the_axes_of_its_factors() -> None:
    group = next(row for row in learnt_of(_inspection()).rows if row.latents == (0, 1))
    assert sorted(strip.says for strip in group.strips) == [EVIL, "size"]
    for strip in group.strips:
        assert strip.outputs is not None
        change = np.ptp(strip.outputs, axis=0)[0, 0]
        # One axis moves the left half alone, the other the right half alone.
        assert min(change[0], change[-1]) < 0.1 < 0.8 < max(change[0], change[-1])


def test_without_factors_latents_have_numbers_for_names() -> None:
    learnt = learnt_of(_inspection(factors=False))
    assert {row.name for row in learnt.rows} == {"latent 0", "latent 1", "latent 2"}
    assert "no factors" in learnt.says[0]


def test_without_factors_the_decoder_names_what_it_shows() -> None:
    seen = {2: DecoderName("size-like", 0.9, "resizes what is drawn", (1.0,))}
    learnt = learnt_of(replace(_inspection(factors=False), seen=seen))
    row = next(row for row in learnt.rows if row.latents == (2,))
    assert row.name == "latent 2: size-like" and row.note == "active, resizes what is drawn"
    assert learnt.says[0].endswith("By what the decoder draws, 2 is size-like.")


@pytest.mark.slow
def test_rows_beyond_the_first_screen_are_folded_and_counted() -> None:
    screen = learnt_screen(_inspection(factors=False, used=SHOWN + 3), images=True)
    assert screen is not None and len(screen.rows) == SHOWN
    assert screen.folded[0].startswith("3 more used latents")


@pytest.mark.slow
@pytest.mark.parametrize("images", [True, False])
def test_the_page_begins_with_what_was_learnt(images: bool) -> None:
    text = render(page_of(_inspection(), images=images))
    assert 0 < text.index('id="learnt"') < text.index('id="verdicts"')
    assert "my-model" in text and "my-data" in text and EVIL not in text
    first = text[text.index('id="learnt"') : text.index('id="verdicts"')]
    assert first.count("<img") == (3 if images else 0)


def test_vectors_are_drawn_as_lines() -> None:
    found = _inspection(factors=False)
    moved = traverse(lambda z: z[:, :1] * torch.linspace(0, 1, 7), np.zeros(4))
    screen = learnt_screen(replace(found, traversals=moved, axes={}), images=True)
    assert screen is not None
    assert all(strip.png.startswith(b"<svg") for row in screen.rows for strip in row.strips)
    assert screen.rows[0].strips[0].png.count(b"<polyline") == 5
