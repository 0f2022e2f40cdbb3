"""Sliders of decoders that are not ours, in Chromium: what is seen is what torch decodes."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from tests.adapters.pretrained import NAMES, rebuilt
from tests.browser.test_sliders import FRAME, READY, assert_seen, codes_of
from tests.inspection.test_tracing import DECODERS, D, lively
from torch import nn

from vaescope.inspection.layers import network_of, reaches
from vaescope.report import Dial, Page, Section, Sliders, render
from vaescope.report.sliders import ROOM, packed

pytestmark = [pytest.mark.browser, pytest.mark.slow]


def written(decoder: nn.Module, base: np.ndarray, path: Path) -> Path:
    network, why = network_of(decoder, base, decode=decoder)
    assert network is not None, why
    ends = reaches(base)
    dials = tuple(Dial(k, *ends[k], float(base[k]), "active", "") for k in range(len(base)))
    part = Sliders("Move.", "An image.", dials, {**packed(network), "base": base.tolist()})
    page = Page("sliders", "", (), (), (Section("sliders", "Sliders", "", (part,)),))
    path.write_text(render(page), "utf-8")
    return path


def decoded(decoder: nn.Module, z: np.ndarray) -> np.ndarray:
    with torch.inference_mode():
        return decoder(torch.from_numpy(z)[None])[0].movedim(0, -1).numpy()


def moved(page: Any, decoder: nn.Module, base: np.ndarray) -> list[float]:
    """Moves some sliders by keyboard, compares each picture, and gives the milliseconds."""
    assert_seen(page, decoded(decoder, base.astype(np.float32)))
    times = []
    for latent, key in enumerate(["End", "ArrowRight", "Home", "PageUp"]):
        page.locator(f"#latent-{latent}").focus()
        page.keyboard.press(key)
        page.evaluate(FRAME)
        assert_seen(page, decoded(decoder, codes_of(page, base)))
        times.append(float(page.locator("figure.sliders").get_attribute("data-milliseconds")))
    return times


@pytest.mark.parametrize("name", DECODERS)
def test_sliders_of_strangers_show_what_torch_decodes(
    visit: Any, tmp_path: Path, name: str
) -> None:
    decoder, base = lively(DECODERS[name]()), np.linspace(-0.9, 1.1, D)
    seen = visit(written(decoder, base, tmp_path / "page.html"), ready=READY)
    moved(seen.page, decoder, base)
    assert seen.complaints == []


@pytest.mark.parametrize("name", NAMES)
def test_the_nine_pretrained_models_have_sliders(
    visit: Any, tmp_path: Path, name: str, shared_data: Any
) -> None:
    decoder = rebuilt(name, shared_data).decoder.eval()
    base = np.linspace(-0.9, 1.1, 10)
    path = written(decoder, base, tmp_path / "page.html")
    assert path.stat().st_size < ROOM
    times = moved(visit(path, ready=READY).page, decoder, base)
    # The clock of a shared machine says nothing: shown, not asserted.
    print(f"{name}: {np.median(times):.1f} ms, {path.stat().st_size / 1e6:.1f} MB")
