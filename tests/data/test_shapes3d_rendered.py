"""shapes3d-rendered: the official grid, coloured on demand, the same wherever it is asked for."""

import subprocess
import sys

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from vaescope.data.dataset import Dataset
from vaescope.data.shapes3d_rendered import CARD, FACTORS, Rooms, shapes3d_rendered
from vaescope.errors import UsageError

pytestmark = pytest.mark.slow  # what they share takes seconds

GRID = {"floor_hue": [0, 5], "wall_hue": [2, 9, 4], "scale": [0, 7], "orientation": [1, 13]}


@pytest.fixture(scope="module")
def whole() -> Dataset:
    return shapes3d_rendered()


@pytest.fixture(scope="module")
def part() -> Dataset:
    return shapes3d_rendered(grid=GRID)


@pytest.mark.slow
def test_it_has_the_size_and_the_factors_of_the_official_file(whole: Dataset) -> None:
    assert len(whole) == CARD.n == 480_000
    assert whole.shape == CARD.shape == (3, 64, 64)
    assert dict(CARD.factors) == {
        "floor_hue": 10,
        "wall_hue": 10,
        "object_hue": 10,
        "scale": 8,
        "shape": 4,
        "orientation": 15,
    }
    assert CARD.rendered


@pytest.mark.slow
@given(st.lists(st.integers(0, 479_999), min_size=1, max_size=20))
def test_index_to_factors_to_index_is_the_identity(index: list[int]) -> None:
    rows = np.array(index)
    assert FACTORS.index(FACTORS.classes(rows)).tolist() == index


@pytest.mark.slow
def test_rows_are_the_same_in_any_batch(whole: Dataset) -> None:
    index = np.random.default_rng(0).integers(len(whole), size=50)
    together = whole.rows(index)
    assert together.dtype == np.float32 and together.min() >= 0.0 and together.max() <= 1.0
    for place, row in enumerate(index):
        np.testing.assert_array_equal(together[place], whole.rows(np.array([row]))[0])


def test_a_sub_grid_shows_the_images_of_the_whole(whole: Dataset, part: Dataset) -> None:
    rows = np.arange(0, len(part), 7)
    classes = part.require_factors("test").classes(rows)
    full = FACTORS.classes(np.zeros(len(rows), dtype=np.int64))
    for column, name in enumerate(FACTORS.names):
        chosen = part.require_factors("test").names.index(name)
        full[:, column] = np.array(GRID.get(name, range(FACTORS.sizes[column])))[classes[:, chosen]]
    np.testing.assert_array_equal(part.rows(rows), whole.observe(full))


def test_images_of_different_factors_differ(whole: Dataset) -> None:
    """Once for all 480,000 in the making; here for all hues and for a random thousand."""
    hues = np.arange(0, 480_000, 480) + 123
    random = np.random.default_rng(1).choice(480_000, size=1000, replace=False)
    for rows in (hues, random):
        assert len({image.tobytes() for image in whole.rows(rows)}) == len(rows)


def test_a_hue_colours_its_own_surface_only(whole: Dataset) -> None:
    classes = np.array([[0, 3, 6, 4, 2, 7]])
    store = whole.store
    assert isinstance(store, Rooms)
    scene = int(FACTORS.index(classes)[0]) % 480
    for surface in range(3):
        other = classes.copy()
        other[0, surface] = 8
        changed = (whole.observe(other) != whole.observe(classes))[0].any(axis=0).ravel()
        np.testing.assert_array_equal(changed, store.scenes.shares[scene, surface] > 2)


def test_colours_average_to_those_of_the_official_images(whole: Dataset) -> None:
    index = np.random.default_rng(0).integers(len(whole), size=1000)
    means = whole.rows(index).mean(axis=(0, 2, 3))
    np.testing.assert_allclose(means, [0.5026, 0.5788, 0.6034], atol=0.03)


@pytest.mark.slow
def test_two_processes_see_the_same_images(part: Dataset) -> None:
    script = (
        "from vaescope.data.in_memory import content_hash\n"
        "from vaescope.data.shapes3d_rendered import shapes3d_rendered\n"
        f"print(content_hash(shapes3d_rendered(grid={GRID!r})))"
    )
    from vaescope.data.in_memory import content_hash

    run = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert run.stdout.strip() == content_hash(part)


def test_an_unknown_factor_is_refused_with_the_known_ones() -> None:
    with pytest.raises(UsageError, match=r"no factor hue.*floor_hue"):
        shapes3d_rendered(grid={"hue": [0]})


def test_other_sizes_are_drawn_under_the_same_name() -> None:
    data = shapes3d_rendered(size=32, grid={"floor_hue": [0], "scale": [3], "shape": [1]})
    assert data.shape == (3, 32, 32)
    assert data.name == "shapes3d-rendered"
    assert len(data) == 10 * 10 * 15
