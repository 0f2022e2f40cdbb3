import numpy as np
import pytest

from vaescope.data.shapes3d_rendered import shapes3d_rendered
from vaescope.data.synthetic import synth_linear, synth_nonlinear
from vaescope.errors import ShapeError
from vaescope.geometry import data_bias


def rows(data: object) -> np.ndarray:
    return data.rows(np.arange(len(data)))


def test_the_bias_of_synth_linear_is_zero_degrees_at_ratio_two() -> None:
    data = synth_linear(ratio=2.0)
    found = data_bias(rows(data), data.sources)
    assert found.defined and found.defined_share == 1.0
    assert found.value == pytest.approx(0.0, abs=0.01)
    assert found.space == "output"


def test_the_bias_of_synth_linear_is_undefined_at_ratio_one() -> None:
    data = synth_linear(ratio=1.0)
    found = data_bias(rows(data), data.sources)
    assert not found.defined
    assert found.to_dict()["value"] is None
    assert "undefined" in found.summary()


def test_factors_that_move_the_data_obliquely_are_off() -> None:
    """Effects (1, 0) and (cos t, sin t) / 2: principal directions bisect them, unevenly."""
    w = np.random.default_rng(0).uniform(size=(20_000, 2))
    t = np.radians(50)
    effect = np.array([[1.0, 0.0], [0.5 * np.cos(t), 0.5 * np.sin(t)]])
    found = data_bias(w @ effect, w)
    axes = np.linalg.svd(effect)[2].T
    units = effect.T / np.linalg.norm(effect, axis=1)
    wanted = np.degrees(np.arccos(np.abs((axes * units).sum(0)))).mean()
    assert found.value == pytest.approx(wanted, abs=1.0)


def test_a_random_network_has_a_bias_of_its_own() -> None:
    data = synth_nonlinear(n=20_000)
    found = data_bias(rows(data), data.sources)
    assert 1.0 < found.value < 45.0


def polar(angles: int = 10, radii: int = 7) -> tuple[np.ndarray, np.ndarray]:
    """Radius times (cos, sin) of an angle, and the classes of both."""
    w = np.stack(np.meshgrid(np.arange(angles), np.arange(radii), indexing="ij"), -1).reshape(-1, 2)
    turn, radius = 2 * np.pi * w[:, 0] / angles, 1.0 + w[:, 1] / 4
    return radius[:, None] * np.stack([np.cos(turn), np.sin(turn)], 1), w


def test_a_circle_and_its_radius_are_orthogonal_step_by_step() -> None:
    """A neighbourhood of the circle is curved; one step to either side is along the tangent."""
    x, w = polar()
    found = data_bias(x, w, cyclic=[0], points=70)
    ok = np.isfinite(found.per_point)
    np.testing.assert_allclose(found.per_point[ok], 0.0, atol=1e-6)
    assert found.columns == (0, 1)


def test_a_factor_that_is_not_called_cyclic_has_ends() -> None:
    """At an end the step is a chord, half a step of 36 degrees off the tangent."""
    x, w = polar()
    ends = np.isin(w[:, 0], (0, 9))
    found = data_bias(x, w, points=70)
    whole = data_bias(x, w, points=70, cyclic=[0])
    assert np.nanmax(found.per_point) > 5.0 > np.nanmax(whole.per_point)
    inner = data_bias(x[~ends], w[~ends], points=70)
    assert np.nanmax(inner.per_point) > 5.0  # it has ends of its own


def test_oblique_steps_are_off_and_chance_is_that_of_random_mixtures() -> None:
    """Effects (1, 0) and (cos t, sin t) / 2 on a grid: the angles of a singular value
    decomposition of the two, and chance by mixing them at random here."""
    t = np.radians(50)
    effect = np.array([[1.0, 0.0], [0.5 * np.cos(t), 0.5 * np.sin(t)]])
    w = np.stack(np.meshgrid(np.arange(6), np.arange(6)), -1).reshape(-1, 2)
    found = data_bias(w @ effect, w, points=36)
    axes = np.linalg.svd(effect)[2].T

    def off(effects: np.ndarray) -> float:
        units = effects.T / np.linalg.norm(effects, axis=1)
        size = np.abs(axes.T @ units)
        best = max((np.diag(size), np.diag(size[::-1])), key=np.sum)
        return float(np.degrees(np.arccos(np.clip(best, 0, 1))).mean())

    assert found.value == pytest.approx(off(effect), abs=1e-6)
    generator = np.random.default_rng(1)
    turns = generator.uniform(0, 2 * np.pi, size=4000)
    mixed = [
        off(np.array([[np.cos(a), -np.sin(a)], [np.sin(a), np.cos(a)]]) @ effect) for a in turns
    ]
    assert found.chance.value == pytest.approx(np.mean(mixed), rel=0.1)
    assert "random mixtures" in found.summary()


@pytest.mark.slow
def test_rendered_shapes3d_is_near_its_principal_directions_on_four_and_on_six_factors() -> None:
    """Nearer than half way from chance, which covariances of neighbourhoods are not on four: 37
    degrees, where chance is 44."""
    four = {"floor_hue": [0], "shape": [1]}
    for grid in (four, None):
        data = shapes3d_rendered(size=16, grid=grid)
        classes = data.factors.classes(np.arange(len(data)))
        hues = [k for k, name in enumerate(data.factors.names) if "hue" in name]
        found = data_bias(data.rows, classes, cyclic=hues, points=30)
        assert found.defined
        assert found.value < 0.5 * found.chance.value


def test_a_factor_that_is_left_out_is_not_taken_for_a_step() -> None:
    """Two factors along the axes and a third that moves x far along another: rows that differ in
    the third have the same two factors, and at an end a step to one of them would be oblique."""
    w = np.stack(np.meshgrid(*[np.arange(3)] * 3, indexing="ij"), -1).reshape(-1, 3)
    x = w @ np.array([[1.0, 0.0, 0.0], [0.0, 0.5, 0.0], [3.0, 4.0, 5.0]])
    for order in (np.arange(27), np.random.default_rng(0).permutation(27)):
        found = data_bias(x[order], w[order, :2], points=27)
        assert found.defined_share == 1.0
        np.testing.assert_allclose(found.per_point, 0.0, atol=1e-6)


def test_factors_are_wanted_for_every_example() -> None:
    with pytest.raises(ShapeError, match="one row per example"):
        data_bias(np.zeros((5, 2)), np.zeros((4, 2)))
    with pytest.raises(ShapeError, match="varies"):
        data_bias(np.zeros((5, 2)), np.zeros((5, 2)))


def test_a_step_that_the_data_do_not_have_leaves_its_factor_undefined() -> None:
    """Rows on the diagonal of a grid differ in both factors: no single step exists."""
    w = np.stack([np.arange(8), np.arange(8)], 1)
    found = data_bias(w.astype(float), w)
    assert not found.defined and found.defined_share == 0.0
