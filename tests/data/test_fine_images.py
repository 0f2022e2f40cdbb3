"""Images at 16 pixels, between official values, and with noise: settings of the data."""

import numpy as np
import pytest

import vaescope as vs
from vaescope.data.shapes3d_render import PALETTE, hue_colour
from vaescope.errors import UsageError
from vaescope.settings import from_python
from vaescope.specs import digest

ONE = {"scale": [4], "shape": [0], "orientation": [7]}
HUES = ("floor_hue", "wall_hue", "object_hue")
ARCS = {name: [0, 4, 10] for name in HUES}


def test_hues_at_whole_places_are_the_palette_and_10_is_red_again() -> None:
    for place, colour in enumerate(PALETTE):
        assert np.array_equal(hue_colour(place), colour)
    assert np.array_equal(hue_colour(10.0), PALETTE[0])
    assert hue_colour(0.5).tolist() == [255, 76, 0] or hue_colour(0.5).tolist() == [255, 77, 0]


def test_arcs_of_three_hues_are_a_thousand_different_images_of_16_pixels() -> None:
    data = vs.load_dataset("shapes3d-rendered", size=16, grid=ONE, arcs=ARCS)
    assert len(data) == 1000 and data.shape == (3, 16, 16)
    assert data.factors is not None and data.factors.complete
    assert data.factors.names == HUES and data.factors.sizes == (10, 10, 10)
    np.testing.assert_allclose(data.factors.values[1], np.linspace(0.0, 0.4, 10))
    rows = data.rows(np.arange(1000)).reshape(1000, -1)
    assert len(np.unique(rows, axis=0)) == 1000


def test_arcs_at_official_places_are_the_official_images() -> None:
    fine = vs.load_dataset(
        "shapes3d-rendered", size=16, grid={"shape": [0]},
        arcs={**{name: [0, 4, 5] for name in HUES}, "scale": [2, 4, 3], "orientation": [0, 14, 3]},
    )  # fmt: skip
    grid = {**{name: list(range(5)) for name in HUES}, "scale": [2, 3, 4], "shape": [0],
            "orientation": [0, 7, 14]}  # fmt: skip
    plain = vs.load_dataset("shapes3d-rendered", size=16, grid=grid)
    every = np.arange(len(plain))
    assert len(fine) == len(plain)
    assert np.array_equal(fine.rows(every), plain.rows(every))


@pytest.mark.parametrize(
    "arcs",
    [{"shape": [0, 1, 2]}, {"wall_hue": [4, 0, 5]}, {"wall_hue": [0, 10, 5]}, {"scale": [0, 8, 3]},
     {"wall_hue": [0, 1, 1]}, {"orientation": [0, 3, 4]}],
)  # fmt: skip
def test_arcs_that_cannot_be_drawn_are_refused(arcs: dict[str, list[int]]) -> None:
    grid = {"orientation": [7]}
    with pytest.raises(UsageError, match=r"data\.arcs"):
        vs.load_dataset("shapes3d-rendered", size=16, grid=grid, arcs=arcs)


@pytest.mark.parametrize(("match", "epsilon"), [("epsilon", 0.1), ("variance", 0.1 * 3**0.5)])
def test_pixel_noise_is_frozen_within_epsilon_and_has_the_variance(
    match: str, epsilon: float
) -> None:
    settings = {"size": 16, "grid": {**ONE, "floor_hue": [0], "wall_hue": [3]}}
    plain = vs.load_dataset("shapes3d-rendered", **settings)
    noisy, again, other = (
        vs.load_dataset("shapes3d-rendered", **settings, pixel_noise=0.1, noise_match=match,
                        noise_seed=seed) for seed in (0, 0, 1)
    )  # fmt: skip
    every = np.arange(len(plain))
    before, after = plain.rows(every), noisy.rows(every)
    assert np.abs(after - before).max() <= epsilon + 1e-6
    assert after.min() >= 0.0 and after.max() <= 1.0
    assert np.array_equal(after, again.rows(every)) and not np.array_equal(after, other.rows(every))
    inside = (before > epsilon) & (before < 1.0 - epsilon)  # where nothing is reflected
    rms = float(np.sqrt(((after - before)[inside] ** 2).mean()))
    assert rms == pytest.approx(epsilon / 3**0.5, rel=0.05)
    assert noisy.name != plain.name and noisy.factors is not None


def test_settings_that_are_not_given_leave_digests_alone() -> None:
    plain = from_python("vae", {"name": "shapes3d-rendered"}, {})
    assert set(plain.data.model_dump()) == {"name", "size", "grid"}
    noisy = from_python("vae", {"name": "shapes3d-rendered", "pixel_noise": 0.1}, {})
    fine = from_python("vae", {"name": "shapes3d-rendered", "arcs": {"scale": [0, 1, 3]}}, {})
    assert len({digest(plain), digest(noisy), digest(fine)}) == 3
