from typing import Any

import numpy as np
import pytest
from scipy import stats

from vaescope.errors import RangeError, ShapeError
from vaescope.metrics.posterior_table import from_posteriors


@pytest.fixture
def rng() -> np.random.Generator:
    return np.random.default_rng(0)


def test_information_of_two_separate_and_of_two_equal_gaussians(
    make: Any, rng: np.random.Generator
) -> None:
    v = rng.integers(2, size=(1500, 1))
    mean = np.column_stack([20.0 * v[:, 0], np.zeros(1500)])
    sample = mean + rng.normal(size=mean.shape)
    table = from_posteriors(make(mean, v, sample=sample), "mig")
    np.testing.assert_allclose(table.information[:, 0], [np.log(2), 0.0], atol=0.01)
    np.testing.assert_allclose(table.entropy, np.log(2))


def test_information_of_overlapping_gaussians_by_integration(
    make: Any, rng: np.random.Generator
) -> None:
    v = rng.integers(2, size=(3000, 1))
    mean = 2.0 * v.astype(np.float64)
    sample = mean + rng.normal(size=mean.shape)
    x = np.linspace(-8, 10, 4001)
    p = [np.exp(-0.5 * (x - m) ** 2) / np.sqrt(2 * np.pi) for m in (0, 2)]
    mixed = 0.5 * (p[0] + p[1])
    nats = np.trapezoid(-mixed * np.log(mixed), x) - 0.5 * np.log(2 * np.pi * np.e)
    table = from_posteriors(make(mean, v, sample=sample), "mig")
    assert table.information[0, 0] == pytest.approx(nats, abs=0.02)


def test_shape_is_left_out_and_active_latents_are_marked(
    make: Any, rng: np.random.Generator
) -> None:
    v = rng.integers(3, size=(200, 2))
    mean = np.column_stack([v[:, 1], 0.01 * rng.normal(size=200)])
    table = from_posteriors(make(mean, v, factor_names=("shape", "x")), "mig")
    assert table.information.shape == (2, 1)
    np.testing.assert_array_equal(table.informed, [True, False])
    with pytest.raises(ShapeError, match="leaves out shape"):
        from_posteriors(make(mean, v[:, :1], factor_names=("shape",)), "mig")


@pytest.mark.slow
def test_information_found_in_nothing_falls_with_the_rows_because_all_are_used(
    make: Any, rng: np.random.Generator
) -> None:
    """mathieu2019 appendix C: narrow posteriors and few rows make information of nothing, in
    inverse proportion to the rows. A mixture of at most 10,000 of them would not fall."""
    n = 40_000
    v = rng.integers(40, size=(n, 1))
    mean = rng.normal(size=(n, 1))
    variance = np.full_like(mean, 0.02**2)
    sample = mean + 0.02 * rng.normal(size=mean.shape)
    found = []
    for rows in (10_000, n):
        codes = make(mean[:rows], v[:rows], sample=sample[:rows], variance=variance[:rows])
        table = from_posteriors(codes, "mig", samples=1_000)
        assert table.protocol.settings["components"] == rows
        found.append(table.information[0, 0])
    assert found[0] > 0.1
    assert found[1] < 0.4 * found[0]


def test_information_is_that_of_mixtures_written_out(make: Any, rng: np.random.Generator) -> None:
    v = rng.integers(3, size=(60, 1))
    mean, variance = v + rng.normal(size=(60, 1)), rng.uniform(0.1, 1.0, size=(60, 1))
    sample = mean + np.sqrt(variance) * rng.normal(size=(60, 1))
    density = stats.norm.pdf(sample, mean.T, np.sqrt(variance).T)  # (sample, row)
    same = v == v.T
    within = (density * same).sum(1) / same.sum(1)
    nats = np.log(within / density.mean(1)).mean()
    table = from_posteriors(make(mean, v, sample=sample, variance=variance), "mig")
    assert table.information[0, 0] == pytest.approx(nats, rel=1e-5)


@pytest.mark.parametrize(
    ("names", "omitted"),
    [
        (("shape", "scale", "orientation", "x", "y"), "shape"),
        (("floor_hue", "wall_hue", "object_hue", "scale", "shape", "orientation"), None),
        (("identity", "azimuth", "elevation", "lighting"), "identity"),
    ],
)
def test_factors_are_those_of_the_released_code(
    make: Any, rng: np.random.Generator, names: tuple[str, ...], omitted: str | None
) -> None:
    v = rng.integers(3, size=(200, len(names)))
    mean = v[:, :2] + 0.1 * rng.normal(size=(200, 2))
    table = from_posteriors(make(mean, v, factor_names=names), "mig")
    assert table.protocol.settings["factors"] == [name for name in names if name != omitted]


def test_a_point_has_no_density(make: Any) -> None:
    v = np.arange(6)[:, None] % 2
    with pytest.raises(RangeError, match="positive variances"):
        from_posteriors(make(v, v, variance=np.zeros((6, 1))), "mig")
