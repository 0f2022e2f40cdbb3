"""The rendered room of Shapes3D: what is where, and that every geometry is another one."""

import numpy as np
import pytest
from numpy.typing import NDArray

from vaescope.data.shapes3d_render import (
    ORIENTATIONS,
    PALETTE,
    SCALES,
    SHAPES,
    Scenes,
    render,
)
from vaescope.errors import UsageError

RED, LIME, AZURE = PALETTE[0], PALETTE[3], PALETTE[6]
MIDDLE = 7  # orientation 0


@pytest.fixture(scope="module")
def scenes() -> Scenes:
    """All scales and shapes from the left, the middle and the right."""
    return render(range(8), range(4), [0, MIDDLE, 14])


def at(scale: int, shape: int, view: int) -> int:
    return (scale * 4 + shape) * 3 + view


def pictures(scenes: Scenes) -> NDArray[np.uint8]:
    """With a red floor, azure walls and a lime object."""
    n = len(scenes.shares)
    return scenes.images(np.arange(n), np.broadcast_to([RED, AZURE, LIME], (n, 3, 3)))


def test_hues_are_a_tenth_apart_at_full_saturation() -> None:
    import colorsys

    wanted = [[round(255 * c) for c in colorsys.hsv_to_rgb(k / 10, 1, 1)] for k in range(10)]
    assert PALETTE.tolist() == wanted


@pytest.mark.slow
def test_sky_is_above_the_wall_and_the_wall_above_the_floor(scenes: Scenes) -> None:
    column = pictures(scenes)[at(0, 0, 1), :, :, 8]  # left of the object
    assert column[:, 0].tolist() == [153, 226, 249]
    assert column[2, 30] > 200 and column[0, 30] == 0
    assert column[0, 63] > 200 and column[2, 63] == 0


def test_shares_of_every_pixel_add_up_to_no_more_than_white(scenes: Scenes) -> None:
    white = scenes.shares.astype(np.int64).sum(axis=1, keepdims=True) * 255 + scenes.fixed
    assert white.max() < 2**16
    dark = scenes.images(np.arange(96), np.zeros((96, 3, 3), np.uint8))
    assert (dark[:, 2] >= dark[:, 0]).all()  # without colours only sky and white remain


def test_the_object_grows_with_its_scale(scenes: Scenes) -> None:
    seen = (scenes.shares[:, 2] > 0).sum(axis=1).reshape(8, 4, 3)
    assert (np.diff(seen, axis=0) > 0).all()
    # Areas on the picture go with the square, a little faster as the object comes nearer.
    np.testing.assert_allclose(seen[-1] / seen[0], (SCALES[-1] / SCALES[0]) ** 2, rtol=0.25)


def test_the_object_stays_in_the_middle_of_the_picture(scenes: Scenes) -> None:
    weight = scenes.shares[:, 2].reshape(-1, 64, 64).sum(axis=1, dtype=np.float64)
    centres = (weight * np.arange(64)).sum(axis=1) / weight.sum(axis=1)
    np.testing.assert_allclose(centres, 31.5, atol=2.0)


def test_left_and_right_views_have_mirrored_outlines(scenes: Scenes) -> None:
    """Room and solids are symmetric; only the lamp is not."""
    sky = (scenes.fixed[:, 2] > 20_000).reshape(8, 4, 3, 64, 64)
    np.testing.assert_array_equal(sky[:, :, 0], sky[:, :, 2, :, ::-1])
    # Highlights may round an edge pixel's light to nothing on one side.
    solid = (scenes.shares[:, 2] > 8).reshape(8, 4, 3, 64, 64)
    assert (solid[:, :, 0] != solid[:, :, 2, :, ::-1]).sum(axis=(-1, -2)).max() <= 4


def test_a_corner_comes_into_view_on_the_side_the_room_turns_to(scenes: Scenes) -> None:
    walls = pictures(scenes)[at(0, 2, 0) : at(0, 2, 2) + 1, 2, 26].astype(float)  # one row of each
    edges = np.abs(np.diff(walls, axis=1))
    from_left, from_middle, from_right = edges
    assert from_left.max() > 20 and from_left.argmax() > 40
    assert from_middle.max() < 5
    assert from_right.max() > 20 and from_right.argmax() < 24


def test_the_object_throws_a_shadow_to_the_right(scenes: Scenes) -> None:
    floor = pictures(scenes)[at(7, 3, 2), 0].astype(float)
    bare = (scenes.shares[:, 0] > 200).reshape(8, 4, 3, 64, 64)
    shadow = (floor > 40) & (floor < 120) & ~bare[7, 3, 2]
    shadow[:45] = False  # in front of the far edge of the floor
    columns = np.nonzero(shadow)[1]
    assert len(columns) > 100
    assert columns.mean() > 34


def test_spheres_are_round_and_capsules_tall(scenes: Scenes) -> None:
    def extent(shape: str) -> tuple[int, int]:
        mask = (scenes.shares[at(4, SHAPES.index(shape), 1), 2] > 0).reshape(64, 64)
        return int(mask.any(axis=1).sum()), int(mask.any(axis=0).sum())

    high, wide = extent("sphere")
    assert abs(high - wide) <= 1
    high, wide = extent("capsule")
    np.testing.assert_allclose(high / wide, 2.0, rtol=0.15)


def test_a_cube_from_the_front_fills_its_square(scenes: Scenes) -> None:
    mask = (scenes.shares[at(4, 0, 1), 2] > 128).reshape(64, 64)
    rows, columns = np.flatnonzero(mask.any(axis=1)), np.flatnonzero(mask.any(axis=0))
    assert mask.sum() == len(rows) * len(columns)


@pytest.mark.slow
def test_no_two_geometries_look_the_same() -> None:
    scenes = render(range(8), range(4), range(15), size=32)
    both = np.concatenate([scenes.shares, scenes.fixed], axis=1).reshape(480, -1)
    assert len(np.unique(both, axis=0)) == 480


def test_a_smaller_picture_shows_the_same_room(scenes: Scenes) -> None:
    large = pictures(scenes).astype(float).reshape(-1, 3, 32, 2, 32, 2).mean(axis=(3, 5))
    small = pictures(render(range(8), range(4), [0, MIDDLE, 14], size=32)).astype(float)
    assert np.abs(large - small).mean() < 1.5


def test_classes_stand_for_the_official_values() -> None:
    assert SHAPES == ("cube", "cylinder", "sphere", "capsule")
    np.testing.assert_allclose(SCALES[[0, 4, 7]], [0.75, 1.03571429, 1.25])
    np.testing.assert_allclose(ORIENTATIONS[[0, 2, 12]], [-30.0, -21.42857143, 21.42857143])


def test_a_size_of_nothing_is_refused() -> None:
    with pytest.raises(UsageError, match="positive image size; got 0"):
        render([0], [0], [0], size=0)
