"""Toy data have the structure that their papers describe."""

import numpy as np
import pytest

from vaescope.data.toys import CARDS, ica_segments, pinwheel
from vaescope.errors import UsageError


def untwisted(x: np.ndarray, classes: np.ndarray, rate: float = 0.25) -> np.ndarray:
    """Radius and tangent of pinwheel points: the radius is found by iteration."""
    radius = np.linalg.norm(x, axis=1)
    for _ in range(100):
        angle = 2 * np.pi * classes / 4 + rate * np.exp(radius)
        along = x[:, 0] * np.cos(angle) - x[:, 1] * np.sin(angle)
        across = x[:, 0] * np.sin(angle) + x[:, 1] * np.cos(angle)
        radius = 0.5 * radius + 0.5 * along
    return np.stack([along, across], axis=1)


def test_pinwheel_arms_are_long_along_the_radius() -> None:
    data = pinwheel(per_class=4000)
    classes = data.require_factors("test").classes(np.arange(len(data)))[:, 0]
    straight = untwisted(data.rows(np.arange(len(data))).astype(float), classes)
    np.testing.assert_allclose(straight.mean(axis=0), [1.0, 0.0], atol=0.02)
    np.testing.assert_allclose(straight.std(axis=0), [0.3, 0.1], rtol=0.03)


def test_pinwheel_classes_are_turned_copies_of_each_other() -> None:
    data = pinwheel(radial_std=0.0, tangential_std=0.0, per_class=2)
    x = data.rows(np.arange(8))
    np.testing.assert_allclose(np.linalg.norm(x, axis=1), 1.0, rtol=1e-6)
    quarter = np.array([[0.0, -1.0], [1.0, 0.0]])  # row vector times the rotation matrix
    np.testing.assert_allclose(x[2:], x[:-2] @ quarter, atol=1e-6)
    angle = 0.25 * np.e
    np.testing.assert_allclose(x[0], [np.cos(angle), -np.sin(angle)], rtol=1e-6)


def test_pinwheel_has_four_classes_of_a_hundred() -> None:
    data = pinwheel()
    assert len(data) == CARDS["pinwheel"].n and data.shape == CARDS["pinwheel"].shape
    factors = data.require_factors("test")
    assert factors.names == ("class",)
    assert np.bincount(factors.classes(np.arange(400))[:, 0]).tolist() == [100] * 4


@pytest.mark.slow
@pytest.mark.parametrize("make", [pinwheel, ica_segments])
def test_the_seed_alone_decides(make: object) -> None:
    assert callable(make)
    rows = np.arange(50)
    np.testing.assert_array_equal(make().rows(rows), make().rows(rows))
    assert (make(generator_seed=1).rows(rows) != make().rows(rows)).all()


def test_segments_differ_in_the_deviation_of_their_sources_only() -> None:
    data = ica_segments()
    assert len(data) == CARDS["ica-segments"].n and data.shape == CARDS["ica-segments"].shape
    assert data.sources is not None
    s = data.sources.reshape(40, 1000, 5)
    deviations = s.std(axis=1)
    assert deviations.min() > 0.45 and deviations.max() < 3.3
    # The mean of 200 numbers from U(0.5, 3), to three standard errors.
    np.testing.assert_allclose(deviations.mean(), 1.75, atol=3 * 2.5 / np.sqrt(12 * 200))
    np.testing.assert_allclose(s.mean(axis=1) / deviations, 0.0, atol=0.15)
    within = [np.corrcoef(segment, rowvar=False) - np.eye(5) for segment in s]
    assert np.abs(within).max() < 0.16
    segment = data.require_factors("test").classes(np.arange(len(data)))[:, 0]
    np.testing.assert_array_equal(segment, np.repeat(np.arange(40), 1000))


def linear_error(x: np.ndarray, s: np.ndarray) -> float:
    """Share of the sources' variance that no linear map of x explains."""
    solution = np.linalg.lstsq(x, s, rcond=None)[0]
    return float(((s - x @ solution) ** 2).sum() / (s**2).sum())


def test_one_layer_is_linear_and_more_are_not() -> None:
    errors = []
    for depth in (1, 2, 3):
        data = ica_segments(depth=depth)
        assert data.sources is not None
        x = data.rows(np.arange(len(data))).astype(float)
        assert np.linalg.matrix_rank(x) == 5
        errors.append(linear_error(x, data.sources))
    assert errors[0] < 1e-10
    assert 0.005 < errors[1] < errors[2] < 0.5


@pytest.mark.slow
@pytest.mark.parametrize("activation", ["xtanh", "leaky-relu"])
def test_the_mixing_can_be_undone(activation: str) -> None:
    """Distinct sources stay distinct: nearest neighbours in s are near in x and the reverse."""
    data = ica_segments(
        segments=4,
        per_segment=500,
        sources=2,
        dimension=2,
        depth=3,
        activation=activation,  # type: ignore[arg-type]
    )
    assert data.sources is not None
    x, s = data.rows(np.arange(2000)).astype(float), data.sources
    far = np.linalg.norm(x[:, None] - x, axis=-1) / (
        np.linalg.norm(s[:, None] - s, axis=-1) + np.eye(2000)
    )
    off = far[~np.eye(2000, dtype=bool)]
    assert off.min() > 1e-4 and off.max() < 5.0


def test_mixing_matrices_are_well_conditioned() -> None:
    for seed in range(5):
        data = ica_segments(depth=1, per_segment=10, generator_seed=seed)
        assert data.sources is not None
        mixing = np.linalg.lstsq(data.sources, data.rows(np.arange(400)), rcond=None)[0]
        np.testing.assert_allclose(np.linalg.norm(mixing, axis=0), 1.0, rtol=1e-4)
        assert np.linalg.cond(mixing) < 6.0  # the lower quartile of random ones is about 5


def test_more_dimensions_than_sources_are_allowed_and_fewer_refused() -> None:
    assert ica_segments(segments=2, per_segment=10, dimension=8).shape == (8,)
    with pytest.raises(UsageError, match="no fewer dimensions than sources"):
        ica_segments(dimension=3)
    with pytest.raises(UsageError, match="no activation relu"):
        ica_segments(activation="relu")  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="one class"):
        pinwheel(classes=0)


def test_white_segments_are_uncorrelated_and_a_turned_and_scaled_copy() -> None:
    plain, white = (ica_segments(per_segment=50, white=w, generator_seed=3) for w in (False, True))
    everything = np.arange(len(plain))
    x, y = plain.rows(everything).astype(np.float64), white.rows(everything).astype(np.float64)
    np.testing.assert_allclose(y.T @ y / len(y), np.eye(5), atol=1e-5)
    np.testing.assert_allclose(y.mean(0), 0.0, atol=1e-6)
    centred = x - x.mean(0)
    map_back = np.linalg.lstsq(y, centred, rcond=None)[0]
    np.testing.assert_allclose(y @ map_back, centred, atol=1e-4)
    assert plain.sources is not None and white.sources is not None
    np.testing.assert_array_equal(plain.sources, white.sources)


def test_fewer_sources_than_dimensions_cannot_be_whitened() -> None:
    with pytest.raises(UsageError, match="cannot be whitened"):
        ica_segments(segments=2, per_segment=20, sources=2, dimension=4, depth=1, white=True)
