"""Sliders on a page: what they carry, what they cost, and when they are left out."""

import base64
import json
import re
from dataclasses import replace

import numpy as np
import pytest
import torch

from vaescope.codes import Codes
from vaescope.inspection import Inspection, Subject, inspect_codes
from vaescope.inspection.layers import MOST_PARAMETERS, network_of
from vaescope.inspection.network import Affine, Network
from vaescope.nets import BernoulliLikelihood, conv_pair, mlp_pair
from vaescope.nets.pair import Pair
from vaescope.report import Page, Prose, Section, Sliders, page_of, render
from vaescope.report.sliders import ROOM, packed
from vaescope.traversals import Reconstructions, traverse
from vaescope.vae import Decoder

EVIL = "</script><script>alert(1)</script>"


def widest(event: tuple[int, ...], latent: int) -> Pair:
    """The largest decoder with one hidden layer that may still have sliders."""
    size = int(np.prod(event))
    hidden = (MOST_PARAMETERS - size) // (latent + 1 + size)
    return mlp_pair(
        event, latent, encoder=(), decoder=(hidden,), encoder_activation=torch.nn.ReLU,
        decoder_activation=torch.nn.ReLU,
    )  # fmt: skip


def inspected(pair: Pair, latent: int, *, noisy: bool = False) -> Inspection:
    """Hand-made: latents that copy two factors, and one that does nothing."""
    rng = np.random.default_rng(0)
    classes = rng.integers(0, 4, size=(200, 2))
    rest = rng.standard_normal((200, latent - 3))
    mean = np.column_stack([classes - 1.5, rest, np.zeros(200)])
    variance = np.tile([*[0.01] * (latent - 1), 1.0], (200, 1))
    codes = Codes(mean, variance, mean, factors=classes, factor_names=(EVIL, "size"))
    decoder = Decoder(pair.decoder, BernoulliLikelihood()).eval()
    moved = traverse(lambda z: decoder(z).mean, mean[0])
    images = moved.outputs
    assert images is not None
    if noisy:
        images = rng.random(images.shape, dtype=np.float32)
    network, why = network_of(decoder, moved.base)
    assert network is not None, why
    return replace(
        inspect_codes(codes, Subject("run", "data", 200, 200, "A model.")),
        traversals=replace(moved, outputs=images),
        reconstructions=Reconstructions(
            np.arange(12), images[0].repeat(2, 0)[:12], images[1].repeat(2, 0)[:12], ("",) * 12
        ),
        network=network,
    )


@pytest.fixture(scope="module")
def small() -> Inspection:
    torch.manual_seed(0)
    return inspected(conv_pair((1, 32, 32), 4), 4)


def section(page: Page, name: str) -> Section:
    return next(one for one in page.sections if one.id == name)


def unpacked(text: str, kind: str) -> np.ndarray:
    return np.frombuffer(
        base64.b85decode(text.encode().translate(bytes.maketrans(b",.:", b"&<>"))), kind
    )


@pytest.mark.slow
def test_what_is_packed_reads_back_bit_by_bit(small: Inspection) -> None:
    assert small.network is not None
    content = packed(small.network)
    affine = [one for one in small.network.layers if isinstance(one, Affine)]
    whole = np.concatenate([one.weight.ravel() for one in affine])
    np.testing.assert_array_equal(unpacked(content["weights"], "<i2")[: len(whole)], whole)
    singles = np.concatenate([np.concatenate([one.scale, one.bias]) for one in affine])
    np.testing.assert_array_equal(unpacked(content["singles"], "<f4"), singles)
    assert not set('<>&"\\') & set(content["weights"] + content["singles"])


def test_an_odd_number_of_weights_is_packed_whole() -> None:
    one = Affine(1, np.ones((1, 1, 3, 1), np.int16), np.ones(1, np.float32), np.ones(1, np.float32))
    content = packed(Network((one,), (1, 1, 1), 4))
    assert unpacked(content["weights"], "<i2").tolist() == [1, 1, 1, 0]


@pytest.mark.slow
def test_every_latent_has_a_slider_that_starts_where_the_traversals_do(small: Inspection) -> None:
    page = page_of(small)
    part = section(page, "sliders").parts[0]
    assert isinstance(part, Sliders) and small.traversals is not None
    assert [dial.latent for dial in part.dials] == [z.index for z in small.latents]
    for dial in part.dials:
        assert dial.start == pytest.approx(small.traversals.base[dial.latent], rel=1e-5)
        assert (dial.low, dial.high) == (-3, 3)
    assert {dial.type for dial in part.dials} == {"active", "passive"}


def test_sliders_are_in_units_of_the_prior_where_it_is_not_the_standard_normal(
    small: Inspection,
) -> None:
    """The scale of a latent whose prior is learnt is free: 3 standard deviations may be 0.15."""
    assert small.traversals is not None
    centre, scale = np.array([0.0, -1.0, 0.5, 0.0]), np.array([0.05, 7.0, 1.0, 2.0])
    units = (np.arange(4) - 1.5) / 2
    moved = replace(
        small.traversals, base=centre + scale * units, centre=centre, scale=scale
    )  # fmt: skip
    part = section(page_of(replace(small, traversals=moved)), "sliders").parts[0]
    assert isinstance(part, Sliders)
    for dial in part.dials:
        assert dial.start == pytest.approx(units[dial.latent]) and (dial.low, dial.high) == (-3, 3)
    np.testing.assert_allclose(part.network["scale"], scale)
    np.testing.assert_allclose(part.network["centre"], centre)
    np.testing.assert_allclose(part.network["base"], moved.base)
    assert "in standard deviations of the prior" in part.caption


def test_the_factor_of_a_slider_is_text(small: Inspection) -> None:
    text = render(page_of(small))
    assert EVIL not in text and "&lt;/script&gt;&lt;script&gt;alert(1)" in text
    found = re.search(r'class="network">(.*?)</script>', text, flags=re.S)
    assert found is not None and json.loads(found[1])["shape"] == [32, 32, 1]


def test_a_page_without_sliders_has_no_script_for_them(small: Inspection) -> None:
    with_them, without = render(page_of(small)), render(page_of(replace(small, network=None)))
    assert "transposed convolution" in with_them and "transposed convolution" not in without


def test_without_images_there_is_no_decoder_in_the_file(small: Inspection) -> None:
    page = page_of(small, images=False)
    assert not page.has("sliders") and "sliders" not in {one.id for one in page.sections}


def test_a_decoder_that_cannot_run_on_the_page_is_explained_beside_its_traversals(
    small: Inspection,
) -> None:
    page = page_of(replace(small, network=None, skipped={"sliders": "it is too large."}))
    assert not page.has("sliders")
    said = [part.text for part in section(page, "traversals").parts if isinstance(part, Prose)]
    assert "There are no live sliders: it is too large." in said
    assert any(part.kind == "pictures" for part in section(page, "traversals").parts)


@pytest.mark.slow
def test_the_largest_decoder_makes_a_report_below_five_megabytes() -> None:
    torch.manual_seed(0)
    found = inspected(widest((1, 64, 64), 10), 10)
    assert found.network is not None and found.network.parameters > 0.99 * MOST_PARAMETERS
    page = page_of(found)
    size = len(render(page).encode())
    print(f"{found.network.parameters:,} parameters: {size:,} bytes")
    assert page.has("sliders") and size < ROOM


@pytest.mark.slow
def test_sliders_give_way_to_large_pictures_and_say_so() -> None:
    torch.manual_seed(0)
    page = page_of(inspected(widest((3, 64, 64), 10), 10, noisy=True))
    assert not page.has("sliders") and len(render(page).encode()) < ROOM
    said = [part.text for part in section(page, "traversals").parts if isinstance(part, Prose)]
    assert any("the limit is 5 MB" in text for text in said)
