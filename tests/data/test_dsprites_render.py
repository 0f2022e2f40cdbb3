"""Laws of re-rendered dSprites."""

from collections.abc import Callable
from itertools import product
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray

from vaescope.data.dsprites_geometry import (
    ELLIPSE_SEMI_U,
    ELLIPSE_SEMI_V,
    HEART_RADII,
    SQUARE_HALF_SIDE,
)
from vaescope.data.dsprites_render import FACTOR_SIZES, render
from vaescope.errors import UsageError
from vaescope.native import library

SHAPES, SCALES, ORIENTATIONS, X, Y = (range(n) for n in FACTOR_SIZES.values())


def unpacked(rows: NDArray[np.uint8], size: int = 64) -> NDArray[np.uint8]:
    return np.unpackbits(rows, axis=1).reshape(-1, size, size)


def inside(
    shape: int, scale: int, orientation: int, x: int, y: int, size: int
) -> NDArray[np.bool_]:
    """The image by definition, one test per pixel, with none of the renderer's short cuts."""
    centres = (np.arange(size) + 0.5) * 64 / size
    across = centres[None, :] - (16 + 32 * x / 31)
    down = centres[:, None] - (16 + 32 * y / 31)
    angle, zoom = 2 * np.pi * orientation / 39, 0.5 + 0.1 * scale
    u = (np.cos(angle) * across - np.sin(angle) * down) / zoom
    v = (np.sin(angle) * across + np.cos(angle) * down) / zoom
    distances = (
        np.maximum(np.abs(u), np.abs(v)) / SQUARE_HALF_SIDE,
        np.hypot(u / ELLIPSE_SEMI_U, v / ELLIPSE_SEMI_V),
        np.hypot(u, v)
        / np.interp(np.degrees(np.arctan2(v, np.abs(u))), np.linspace(-90, 90, 361), HEART_RADII),
    )
    result: NDArray[np.bool_] = distances[shape] <= 1
    return result


def test_at_least_251_of_the_258_real_frames_are_exact(
    shared_data: Callable[[str], Path],
) -> None:
    with np.load(shared_data("dsprites/dsprites_real_frames_258.npz")) as frames:
        real, classes = frames["imgs"], frames["latents_classes"][:, 1:].tolist()
    drawn = np.concatenate([unpacked(render(*([k] for k in image))) for image in classes])
    wrong = (drawn != real).sum(axis=(1, 2))
    assert len(wrong) == 258
    assert (wrong == 0).sum() >= 251
    assert wrong.sum() <= 18


def test_the_first_thousand_images_are_the_analytic_upright_squares() -> None:
    drawn = unpacked(render([0], [0], [0], X, Y))[:1000]
    k = np.arange(1000)
    pixels = np.arange(64)
    columns = np.abs(pixels - (15.5 + 32 * (k[:, None] // 32) / 31)) <= 4.8
    rows = np.abs(pixels - (15.5 + 32 * (k[:, None] % 32) / 31)) <= 4.8
    np.testing.assert_array_equal(drawn, rows[:, :, None] & columns[:, None, :])


@pytest.mark.parametrize("size", [16, 24, 32, 64, 128])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_pixel_is_on_iff_its_centre_lies_inside_the_shape(shape: int, size: int) -> None:
    grid = ([1, 5], [0, 7, 30], [3, 17], [28])
    drawn = unpacked(render([shape], *grid, size=size), size)
    expected = [inside(shape, *classes, size) for classes in product(*grid)]
    np.testing.assert_array_equal(drawn, expected)


@pytest.mark.parametrize("size", [16, 64, 128])
def test_a_sub_grid_equals_those_rows_of_a_larger_grid(size: int) -> None:
    large = render(SHAPES, [1, 4], [0, 5, 11], [2, 9, 31], [0, 7, 8, 30], size=size)
    small = render([2, 0], [4], [11, 5], [31, 2], [8, 0], size=size)
    rows = large.reshape(3, 2, 3, 3, 4, -1)[np.ix_([2, 0], [1], [2, 1], [2, 0], [2, 0])]
    np.testing.assert_array_equal(small, rows.reshape(small.shape))


def test_rendering_twice_gives_the_same_bits() -> None:
    grid = (SHAPES, SCALES, range(0, 40, 5), [4], [21])
    np.testing.assert_array_equal(render(*grid), render(*grid))


def test_a_full_turn_is_no_turn() -> None:
    unturned, turned = (render(SHAPES, SCALES, [k], X, [0, 13]) for k in (0, 39))
    np.testing.assert_array_equal(turned, unturned)


def test_small_positive_orientation_turns_the_ellipse_counter_clockwise_on_screen() -> None:
    rows, columns = np.nonzero(unpacked(render([1], [5], [4], [16], [16]))[0])
    # Right end up, and rows count downwards. A solid ellipse has variances a^2 / 4 and b^2 / 4.
    angle, a2, b2 = 2 * np.pi * 4 / 39, ELLIPSE_SEMI_U**2, ELLIPSE_SEMI_V**2
    mean, difference = (a2 + b2) / 2, (a2 - b2) / 2
    spread = np.sqrt(mean**2 - (difference * np.cos(2 * angle)) ** 2)
    expected = -difference * np.sin(2 * angle) / spread
    np.testing.assert_allclose(np.corrcoef(columns, rows)[0, 1], expected, rtol=0.03)


def test_x_moves_columns_and_y_moves_rows() -> None:
    first, down, across = unpacked(render([2], [3], [6], [0, 31], [0, 31]))[[0, 1, 2]]
    np.testing.assert_array_equal(down, np.roll(first, 32, axis=0))
    np.testing.assert_array_equal(across, np.roll(first, 32, axis=1))


def test_mean_pixel_is_that_of_the_official_set() -> None:
    # All shapes, scales and orientations at four positions; 0.042494 is the official mean.
    drawn = render(SHAPES, SCALES, ORIENTATIONS, [5, 18], [11, 26])
    np.testing.assert_allclose(np.unpackbits(drawn).mean(), 0.0425, rtol=2e-3)


def test_half_the_size_has_a_quarter_of_the_pixels_on() -> None:
    grid = (SHAPES, SCALES, range(0, 39, 3), [5, 18], [11, 26])
    full, half = (np.unpackbits(render(*grid, size=size)).sum(dtype=int) for size in (64, 32))
    np.testing.assert_allclose(half / full, 1 / 4, rtol=5e-3)


def test_rows_are_bytes_of_whole_images() -> None:
    drawn = render([0, 2], [1], [3, 4], [0, 1, 2], [6], size=32)
    assert drawn.shape == (12, 128)
    assert drawn.dtype == np.uint8


@pytest.mark.parametrize("factor", range(5))
@pytest.mark.parametrize("bad", [-1, 40, 0.5])
def test_an_index_that_is_no_class_is_refused_by_name(factor: int, bad: float) -> None:
    grid = [[0], [0], [0], [0], [0]]
    grid[factor] = [0, bad]  # type: ignore[list-item]  # a float is one of the mistakes
    name = list(FACTOR_SIZES)[factor]
    with pytest.raises(UsageError, match=rf"^{name} needs .* got \[0, {bad}\]\. Pass"):
        render(*grid)


@pytest.mark.parametrize("size", [0, -8, 20])
def test_a_size_that_does_not_fill_bytes_is_refused(size: int) -> None:
    with pytest.raises(UsageError, match=f"multiple of 8; got {size}"):
        render([0], [0], [0], [0], [0], size=size)


@pytest.mark.parametrize("size", [64, 32, 16])
def test_compiled_rows_are_those_of_numpy_to_the_last_bit(
    size: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    grid = ([0, 1, 2], [0, 3, 5], [0, 7, 39], range(0, 32, 5), range(0, 32, 3))
    images = render(*grid, size=size)
    monkeypatch.setenv("VAESCOPE_NATIVE", "0")
    library.cache_clear()
    plain = render(*grid, size=size)
    library.cache_clear()
    assert images.any() and np.array_equal(images, plain)
