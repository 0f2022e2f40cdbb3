"""Variants of dSprites: what disentanglement_lib defines, frozen by seed and image."""

import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from vaescope.data.dataset import Dataset
from vaescope.data.dsprites import dsprites
from vaescope.data.in_memory import content_hash
from vaescope.data.synthetic import synth_linear
from vaescope.data.variants import (
    CARDS,
    dsprites_colour,
    dsprites_noisy,
    dsprites_scream,
    uniform,
    with_pixel_noise,
)
from vaescope.errors import DataError, UsageError
from vaescope.paths import data_folder

GRID = {"scale": [0, 5], "orientation": [0, 7], "x": [0, 11, 31], "y": [3, 20]}
Make = Callable[..., Dataset]


@pytest.fixture
def painting() -> None:
    """A gradient in place of the painting, in its own proportions."""
    from PIL import Image

    folder = data_folder() / "dsprites-scream"
    folder.mkdir(parents=True)
    down, across = np.mgrid[0:652, 0:512]
    pixels = np.stack([down * 255 // 651, across * 255 // 511, down * 0], axis=-1)
    Image.fromarray(pixels.astype(np.uint8)).save(folder / "scream.jpg", quality=95)


ALL = pytest.mark.parametrize("make", [dsprites_colour, dsprites_noisy, dsprites_scream])


@ALL
@pytest.mark.usefixtures("painting")
def test_rows_are_colour_images_and_the_same_in_any_batch(make: Make) -> None:
    data = make(grid=GRID)
    index = np.random.default_rng(0).permutation(len(data))
    together = data.rows(index)
    assert together.shape == (len(data), 3, 64, 64) and together.dtype == np.float32
    assert together.min() >= 0.0 and together.max() <= 1.0
    for place in range(0, len(index), 9):
        np.testing.assert_array_equal(together[place], data.rows(index[place : place + 1])[0])


@ALL
@pytest.mark.usefixtures("painting")
def test_a_sub_grid_shows_the_images_of_the_larger_grid(make: Make) -> None:
    large = make(size=32, grid=GRID)
    small = make(size=32, grid={**GRID, "shape": [2], "x": [11, 31]})
    names = large.require_factors("test").names
    assert small.require_factors("test").names == names[1:]
    classes = small.require_factors("test").classes(np.arange(len(small)))
    classes = np.insert(classes + (np.array(names[1:]) == "x"), 0, 2, axis=1)
    np.testing.assert_array_equal(small.rows(np.arange(len(small))), large.observe(classes))


@ALL
@pytest.mark.usefixtures("painting")
def test_another_seed_gives_other_images_of_the_same_sprites(make: Make) -> None:
    rows = np.arange(10)
    one, other = make(grid=GRID).rows(rows), make(grid=GRID, generator_seed=1).rows(rows)
    assert (one != other).any(axis=(1, 2, 3)).all()


@ALL
@pytest.mark.usefixtures("painting")
def test_factors_and_size_are_those_of_dsprites(make: Make) -> None:
    plain, data = dsprites(size=32, grid=GRID), make(size=32, grid=GRID)
    assert data.shape == (3, 32, 32) and len(data) == len(plain)
    assert data.require_factors("test").names == plain.require_factors("test").names
    assert dict(data.card.factors) == dict(plain.card.factors)


@ALL
@pytest.mark.usefixtures("painting")
def test_a_size_that_was_never_drawn_is_refused(make: Make) -> None:
    with pytest.raises(UsageError, match="64, 32 or 16 pixels a side; got 48"):
        make(size=48)


def test_the_sprite_is_what_is_not_black_in_the_colour_variant() -> None:
    plain, data = dsprites(grid=GRID), dsprites_colour(grid=GRID)
    rows = np.arange(len(data))
    sprites, images = plain.rows(rows), data.rows(rows)
    np.testing.assert_array_equal(images > 0, np.broadcast_to(sprites > 0, images.shape))
    colours = images.max(axis=(2, 3))
    np.testing.assert_array_equal(images, sprites * colours[:, :, None, None])
    assert colours.min() >= 0.5 and colours.max() < 1.0
    assert len(np.unique(colours, axis=0)) == len(data)
    np.testing.assert_allclose(colours.mean(axis=0), 0.75, atol=0.06)


def test_the_sprite_is_white_on_uniform_noise_in_the_noisy_variant() -> None:
    plain, data = dsprites(grid=GRID), dsprites_noisy(grid=GRID)
    rows = np.arange(len(data))
    sprites, images = plain.rows(rows), data.rows(rows)
    mask = np.broadcast_to(sprites > 0, images.shape)
    assert (images[mask] == 1.0).all() and (images[~mask] < 1.0).all()
    noise = np.sort(images[~mask][::50])
    np.testing.assert_allclose(noise, np.linspace(0, 1, len(noise)), atol=0.02)


@pytest.mark.usefixtures("painting")
def test_the_sprite_inverts_a_tinted_patch_in_the_scream_variant() -> None:
    grid = {**GRID, "shape": [0], "scale": [5]}
    plain, data = dsprites(grid=grid), dsprites_scream(grid=grid)
    rows = np.arange(len(data))
    mask, images = plain.rows(rows) > 0, data.rows(rows)
    background = np.where(mask, 1.0 - images, images)
    # Half of a gradient down, across and not at all, and half a colour.
    slope = 0.5 / 274
    red = np.diff(background[:, 0], axis=1).mean(axis=(1, 2))
    green = np.diff(background[:, 1], axis=2).mean(axis=(1, 2))
    np.testing.assert_allclose(red, slope, rtol=0.05)
    np.testing.assert_allclose(green, 0.5 / 215, rtol=0.05)
    assert background[:, 2].std(axis=(1, 2)).max() < 0.01
    tints = background[:, 2].mean(axis=(1, 2))
    assert tints.max() <= 0.51 and np.ptp(tints) > 0.3
    # Inside the sprite the picture jumps: the mask can be told from the image.
    assert (np.abs(images[:, 2] - background[:, 2]).max(axis=(1, 2)) > 0.0).all()


def test_the_painting_gives_patches_of_its_own_colours(shared_data: Callable[[str], Path]) -> None:
    path = shared_data("scream/the_scream.jpg")
    folder = data_folder() / "dsprites-scream"
    folder.mkdir(parents=True)
    shutil.copy(path, folder)  # under its other name
    images = dsprites_scream(grid=GRID).rows(np.arange(36))
    assert images.std(axis=(2, 3)).min() > 0.005
    for size in (64, 32):
        assert dsprites_scream(size=size, grid=GRID).shape == (3, size, size)


def test_a_missing_painting_is_an_error_that_says_where_to_put_it() -> None:
    place = str(data_folder() / "dsprites-scream" / "scream.jpg")
    with pytest.raises(DataError) as caught:
        dsprites_scream(grid=GRID)
    assert place in str(caught.value) and "wikimedia" in str(caught.value)
    assert not CARDS["dsprites-scream"].rendered and CARDS["dsprites-noisy"].rendered


def test_a_damaged_painting_is_named() -> None:
    path = data_folder() / "dsprites-scream" / "scream.jpg"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"no picture")
    with pytest.raises(DataError, match=r"scream.jpg cannot be read"):
        dsprites_scream(grid=GRID)


def test_two_processes_with_the_same_seed_see_the_same_data() -> None:
    script = (
        "from vaescope.data.in_memory import content_hash\n"
        "from vaescope.data.variants import dsprites_noisy, with_pixel_noise\n"
        f"data = dsprites_noisy(size=32, grid={GRID!r}, generator_seed=5)\n"
        "print(content_hash(with_pixel_noise(data, 0.1, 3)))"
    )
    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    here = with_pixel_noise(dsprites_noisy(size=32, grid=GRID, generator_seed=5), 0.1, 3)
    assert run.stdout.strip() == content_hash(here)


def test_numbers_are_uniform_and_unrelated_between_rows_streams_and_seeds() -> None:
    rows = np.arange(200)
    u = uniform(0, "a", rows, 500)
    assert u.shape == (200, 500) and u.min() >= 0.0 and u.max() < 1.0
    np.testing.assert_allclose(np.histogram(u, bins=10, range=(0, 1))[0] / u.size, 0.1, atol=0.004)
    others = [uniform(0, "b", rows, 500), uniform(1, "a", rows, 500), np.roll(u, 1, axis=0)]
    others += [np.roll(u, 1, axis=1), uniform(0, "a", rows + 1, 500)[:, ::-1]]
    for other in others:
        assert abs(np.corrcoef(u.ravel(), other.ravel())[0, 1]) < 0.015
    between_rows = np.corrcoef(u) - np.eye(200)
    assert np.abs(between_rows).max() < 6 / np.sqrt(500)
    np.testing.assert_array_equal(uniform(0, "a", rows[::-1], 500), u[::-1])


def test_pixel_noise_is_frozen_reflected_and_no_larger_than_epsilon() -> None:
    plain = dsprites(size=32, grid=GRID)
    noisy = with_pixel_noise(plain, 0.1, seed=0)
    rows = np.arange(len(plain))
    images = noisy.rows(rows)
    assert images.dtype == np.float32 and noisy.recipe is None
    np.testing.assert_array_equal(images[5:6], noisy.rows(np.array([5])))
    assert images.min() >= 0.0 and images.max() <= 1.0
    change = np.abs(images - plain.rows(rows))
    assert change.max() <= 0.1 + 1e-6
    # Reflected, not cut off: of binary images no pixel stays, and changes are uniform.
    np.testing.assert_allclose(change.mean(), 0.05, rtol=0.01)
    assert (change == 0).mean() < 1e-4
    assert (with_pixel_noise(plain, 0.1, seed=1).rows(rows) != images).mean() > 0.99
    np.testing.assert_array_equal(with_pixel_noise(plain, 0.0, 0).rows(rows), plain.rows(rows))


def test_pixel_noise_matches_the_reflection_formula() -> None:
    """y - 2 relu(y - 1) + 2 relu(-y), E2.9, on grey images."""
    plain = dsprites_noisy(size=32, grid={**GRID, "shape": [1]})
    rows = np.arange(len(plain))
    noise = uniform(7, "pixel-noise", rows, 3 * 32 * 32).reshape(-1, 3, 32, 32)
    y = plain.rows(rows).astype(np.float64) + 0.3 * (2.0 * noise.astype(np.float64) - 1.0)
    wanted = y - 2 * np.maximum(y - 1, 0) + 2 * np.maximum(-y, 0)
    np.testing.assert_allclose(with_pixel_noise(plain, 0.3, 7).rows(rows), wanted, atol=1e-6)


def test_pixel_noise_refuses_what_it_cannot_serve() -> None:
    plain = dsprites(size=32, grid=GRID)
    with pytest.raises(UsageError, match=r"epsilon from 0 to 1; got 1\.5"):
        with_pixel_noise(plain, 1.5, 0)
    with pytest.raises(UsageError, match=r"needs images in \[0, 1\]; synth-linear"):
        with_pixel_noise(synth_linear(n=10), 0.1, 0)
