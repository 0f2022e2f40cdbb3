"""Sliders in Chromium, from a file on disk: what is seen is what torch decodes."""

import re
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

from vaescope.encoding import load_vae
from vaescope.inspection import Inspection
from vaescope.inspection.layers import network_of, reaches
from vaescope.nets import (
    BernoulliLikelihood,
    GaussianLikelihood,
    LocalGaussianLikelihood,
    conv_pair,
    dcgan_pair,
    mlp_pair,
)
from vaescope.nets.conv import LAYOUTS
from vaescope.nets.mlp import ACTIVATIONS
from vaescope.report import Dial, Page, Section, Sliders, render, save
from vaescope.report.page import Scattered
from vaescope.report.sliders import packed
from vaescope.runs import Run
from vaescope.vae import Decoder

pytestmark = [pytest.mark.browser, pytest.mark.slow]

D = 6
READY = "figure.sliders[data-milliseconds]"
#: Lets what a key did be drawn.
FRAME = "new Promise(done => requestAnimationFrame(() => requestAnimationFrame(done)))"


def dense(activation: str) -> nn.Module:
    own = ACTIVATIONS[activation]
    return mlp_pair(
        (2, 9, 7), D, encoder=(), decoder=(30,), encoder_activation=own, decoder_activation=own
    ).decoder


def amplified(body: nn.Module, likelihood: nn.Module, by: float = 2.0) -> Decoder:
    """With larger weights than new ones, so that its latents can be seen."""
    with torch.no_grad():
        for parameter in body.parameters():
            if parameter.ndim > 1:
                parameter.mul_(by)
    return Decoder(body, likelihood).eval()


DECODERS: dict[str, Callable[[], Decoder]] = {
    "conv 64": lambda: amplified(conv_pair((3, 64, 64), D).decoder, BernoulliLikelihood()),
    "conv from one pixel": lambda: amplified(
        conv_pair((1, 64, 64), D, layouts=LAYOUTS["klindt"]).decoder, BernoulliLikelihood(), 3.0
    ),
    "wide conv": lambda: amplified(
        conv_pair((1, 32, 32), D, width=2).decoder, LocalGaussianLikelihood(), 1.5
    ),
    "dcgan": lambda: amplified(dcgan_pair((3, 64, 64), D).decoder, BernoulliLikelihood(), 6.0),
    **{
        name: lambda name=name: amplified(dense(name), GaussianLikelihood()) for name in ACTIVATIONS
    },
}


def page_with(decoder: Decoder, base: np.ndarray) -> Page:
    network, why = network_of(decoder, base)
    assert network is not None, why
    ends = reaches(base)
    dials = tuple(Dial(k, *ends[k], float(base[k]), "active", "") for k in range(len(base)))
    part = Sliders("Move.", "An image.", dials, {**packed(network), "base": base.tolist()})
    return Page("sliders", "", (), (), (Section("sliders", "Sliders", "", (part,)),))


def codes_of(page: Any, base: np.ndarray) -> np.ndarray:
    """Where the page's sliders are."""
    z = base.astype(np.float32)
    for latent, value in page.evaluate(
        "[...document.querySelectorAll('.sliders input')].map(i => [+i.dataset.latent, +i.value])"
    ):
        z[latent] = value
    return z


def decoded(decoder: Decoder, z: np.ndarray) -> np.ndarray:
    with torch.inference_mode():
        return decoder(torch.from_numpy(z)[None]).mean[0].movedim(0, -1).numpy()


def numbers(page: Any, shape: tuple[int, ...]) -> np.ndarray:
    found = page.evaluate("[...document.querySelector('.sliders canvas').output]")
    return np.array(found).reshape(shape)


def pixels(page: Any) -> np.ndarray:
    height, width, values = page.evaluate(
        """(() => {
          const canvas = document.querySelector('.sliders canvas');
          const { width, height } = canvas;
          const copy = Object.assign(document.createElement('canvas'), { width, height });
          const context = copy.getContext('2d', { willReadFrequently: true });
          context.drawImage(canvas, 0, 0);
          return [height, width, [...context.getImageData(0, 0, width, height).data]];
        })()"""
    )
    return np.array(values).reshape(height, width, 4)


def assert_seen(page: Any, wanted: np.ndarray) -> None:
    """The page's numbers are torch's to 1e-3, and its pixels their grey levels, one by one."""
    found = numbers(page, wanted.shape)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-3)
    shown = wanted[..., :3] if wanted.shape[-1] >= 3 else wanted[..., :1].repeat(3, -1)
    levels = np.clip(shown, 0, 1) * 255
    # A level is 1/255: numbers within 1e-3 of each other can round to levels one apart.
    assert np.abs(pixels(page)[..., :3] - levels).max() <= 0.5 + 0.255
    assert (pixels(page)[..., 3] == 255).all()


@pytest.mark.parametrize("name", DECODERS)
def test_a_slider_moved_by_keyboard_shows_what_torch_decodes(
    visit: Any, tmp_path: Path, name: str
) -> None:
    torch.manual_seed(0)
    decoder, base = DECODERS[name](), np.linspace(-0.9, 1.1, D)
    (tmp_path / "page.html").write_text(render(page_with(decoder, base)), "utf-8")
    seen = visit(tmp_path / "page.html", ready=READY)
    page = seen.page
    first = decoded(decoder, base.astype(np.float32))
    assert_seen(page, first)
    times = []
    for latent, key in enumerate(["End", "ArrowRight", "Home", "PageUp", "ArrowLeft", "ArrowUp"]):
        page.locator(f"#latent-{latent}").focus()
        page.keyboard.press(key)
        page.evaluate(FRAME)
        z = codes_of(page, base)
        assert z[latent] != np.float32(base[latent])
        assert_seen(page, decoded(decoder, z))
        times.append(float(page.locator("figure.sliders").get_attribute("data-milliseconds")))
    assert np.abs(decoded(decoder, z) - first).max() > 0.02  # so there was something to see
    print(f"{name}: {np.median(times):.1f} ms a frame, at most {max(times):.1f}")
    assert seen.complaints == []


def test_sliders_in_units_of_the_prior_show_what_torch_decodes(visit: Any, tmp_path: Path) -> None:
    torch.manual_seed(0)
    decoder, start = DECODERS["conv 64"](), np.linspace(-0.9, 1.1, D)
    centre, scale = np.linspace(-1.0, 1.0, D), np.linspace(0.1, 2.0, D)
    base = centre + scale * start
    whole = page_with(decoder, start)
    part = whole.sections[0].parts[0]
    assert isinstance(part, Sliders)
    units = {"base": base.tolist(), "centre": centre.tolist(), "scale": scale.tolist()}
    part = replace(part, network={**part.network, **units})
    section = replace(whole.sections[0], parts=(part,))
    (tmp_path / "page.html").write_text(render(replace(whole, sections=(section,))), "utf-8")
    page = visit(tmp_path / "page.html", ready=READY).page
    assert_seen(page, decoded(decoder, base.astype(np.float32)))
    page.locator("#latent-5").focus()
    page.keyboard.press("End")
    page.evaluate(FRAME)
    base[5] = centre[5] + 3.0 * scale[5]
    assert_seen(page, decoded(decoder, base.astype(np.float32)))


@pytest.fixture
def page(visit: Any, report: Path) -> Any:
    return visit(report).page


def test_the_demos_report_decodes_as_its_model_does(
    page: Any, run: Run, inspection: Inspection, report: Path
) -> None:
    assert inspection.traversals is not None
    base, decoder = inspection.traversals.base, load_vae(run).decoder
    assert_seen(page, decoded(decoder, base.astype(np.float32)))
    for key in ("PageUp", "PageUp", "ArrowRight"):
        page.locator(".sliders input >> nth=0").press(key)
    page.locator(".sliders input >> nth=1").press("End")
    page.evaluate(FRAME)
    z = codes_of(page, base)
    assert (z != base.astype(np.float32)).sum() >= 2
    assert_seen(page, decoded(decoder, z))
    assert report.stat().st_size < 5_000_000


def test_reset_brings_back_where_it_started(page: Any) -> None:
    first = pixels(page)
    slider = page.locator(".sliders input >> nth=0")
    start = slider.input_value()
    slider.press("Home")
    page.evaluate(FRAME)
    assert slider.input_value() == "-3"
    page.locator(".sliders button").press("Enter")
    page.evaluate(FRAME)
    assert slider.input_value() == start
    np.testing.assert_array_equal(pixels(page), first)


def test_a_slider_says_its_latent_its_type_and_its_value(page: Any, inspection: Inspection) -> None:
    first = inspection.latents[0]
    slider = page.get_by_role("slider", name=f"Latent {first.index}").first
    slider.press("End")
    page.evaluate(FRAME)
    assert slider.get_attribute("aria-valuetext") == "3.00"
    assert first.type in page.locator(f"label[for='latent-{first.index}']").text_content()
    slider.press("Home")
    page.evaluate(FRAME)
    assert slider.get_attribute("aria-valuetext") == "\N{MINUS SIGN}3.00"


def test_tab_goes_from_slider_to_slider(page: Any, inspection: Inspection) -> None:
    page.locator(".sliders button").focus()
    for latent in inspection.latents[:3]:
        page.keyboard.press("Tab")
        assert page.evaluate("document.activeElement.id") == f"latent-{latent.index}"


def test_without_scripts_there_are_words_and_no_dead_sliders(visit: Any, report: Path) -> None:
    page = visit(report, java_script_enabled=False).page
    assert page.locator("#sliders noscript").is_visible()
    assert page.locator(".sliders input >> nth=0").is_hidden()


def test_without_images_there_are_no_sliders(
    visit: Any, inspection: Inspection, tmp_path: Path
) -> None:
    save(inspection, tmp_path / "plain.html", images=False)
    seen = visit(tmp_path / "plain.html")
    assert seen.page.locator("figure.sliders").count() == 0 and seen.complaints == []


def test_a_click_in_the_scatter_shows_what_torch_decodes(visit: Any, tmp_path: Path) -> None:
    torch.manual_seed(0)
    decoder, base = DECODERS["wide conv"](), np.linspace(-0.9, 1.1, D)
    page = page_with(decoder, base)
    mean = np.array([[0.5, -1.0], [-0.7, 1.25], [1.5, 0.25]])
    content = {"latents": [1, 4], "mean": mean.tolist(), "names": [], "values": [[], [], []],
               "labels": ["one", "two", "three"]}  # fmt: skip
    codes = Section("codes", "Codes", "", (Scattered("Click.", "Codes.", content),))
    (tmp_path / "page.html").write_text(
        render(replace(page, sections=(*page.sections, codes))), "utf-8"
    )
    seen = visit(tmp_path / "page.html", ready=READY)
    plot = seen.page.locator(".scattered svg")
    shown = "[...document.querySelector('.scattered .seen canvas').output]"
    for place in range(3):
        plot.locator("circle").nth(place).click()
        z = base.astype(np.float32)
        z[[1, 4]] = mean[place]
        wanted = decoded(decoder, z)
        found = np.array(seen.page.evaluate(shown)).reshape(wanted.shape)
        np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-3)
        assert "Decoded" in seen.page.locator(".scattered .seen").inner_text()
    box = plot.bounding_box()
    plot.click(position={"x": 0.55 * box["width"], "y": 0.3 * box["height"]})
    assert seen.page.locator(".scattered").get_attribute("data-decoded") == "place"
    text = seen.page.locator(".scattered .seen").inner_text().replace("\N{MINUS SIGN}", "-")
    z = base.astype(np.float32)
    for latent, value in re.findall(r"(\d+) = (-?[\d.]+)", text):
        z[int(latent)] = float(value)
    assert mean[:, 0].min() < z[1] < mean[:, 0].max()
    wanted = decoded(decoder, z)
    found = np.array(seen.page.evaluate(shown)).reshape(wanted.shape)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=5e-3)  # the text has three digits
    assert seen.complaints == []
