import numpy as np
import pytest
import torch
from torch import Tensor

from vaescope.data.dsprites import dsprites
from vaescope.data.synthetic import linear_gaussian, principal_axes, synth_linear, synth_nonlinear
from vaescope.errors import ShapeError
from vaescope.geometry import data_bias, plane_rotation, principal_alignment, principal_order


def rows(data: object) -> np.ndarray:
    return data.rows(np.arange(len(data)))


def linear(matrix: np.ndarray) -> object:
    weight = torch.from_numpy(np.ascontiguousarray(matrix)).float()
    return lambda z: z @ weight.T


def test_the_closed_form_of_a_linear_vae_has_the_principal_axes() -> None:
    x = rows(linear_gaussian(eigenvalues=(4.0, 2.0, 1.0), dimension=6, n=4000))
    values, axes = principal_axes(x)
    columns = (axes[:, :3] * np.sqrt(values[:3] - 0.01))[:, [2, 0, 1]] * [-1.0, 1.0, -1.0]
    found = principal_alignment(linear(columns), np.zeros((1, 3)), x)
    assert found.value < 0.01
    assert not found.degenerate
    np.testing.assert_allclose(found.deviations, np.sqrt(values[:3]), rtol=1e-5)


def test_turned_columns_are_off_by_their_angle() -> None:
    x = rows(linear_gaussian(eigenvalues=(4.0, 1.0), dimension=5, n=4000))
    axes = principal_axes(x)[1][:, :2]
    for degrees in (7.0, 30.0):
        turned = axes @ plane_rotation(2, np.radians(degrees))
        found = principal_alignment(linear(turned), np.zeros((1, 2)), x)
        np.testing.assert_allclose(found.angles, degrees, rtol=1e-3)


def test_axes_of_equal_variance_are_called_degenerate() -> None:
    x = rows(synth_linear(ratio=1.0, n=20_000))
    axes = principal_axes(x)[1][:, :2]
    found = principal_alignment(linear(axes), np.zeros((1, 2)), x)
    assert found.degenerate and "turn freely" in found.summary()
    with pytest.raises(ShapeError, match="trained on"):
        principal_alignment(linear(axes), np.zeros((1, 2)), x[:, :2])


def test_latents_by_certainty_are_principal_components() -> None:
    norms = np.array([0.5, 3.0, 1.0])
    z = np.random.default_rng(0).normal(size=(500, 3)).astype(np.float32)
    variance = np.tile(1e-2 / norms**2, (500, 1))
    found = principal_order(linear(np.diag(norms)), z, variance)
    assert found.order == (1, 2, 0)
    assert found.value == pytest.approx(1.0)
    wanted = np.cumsum([0.0, 9.0, 1.0, 0.25]) / 10.25
    np.testing.assert_allclose(found.explained, wanted, atol=0.02)
    assert found.monotone


def test_an_encoder_that_trusts_the_wrong_latents_is_seen() -> None:
    z = np.random.default_rng(0).normal(size=(100, 3)).astype(np.float32)
    found = principal_order(linear(np.diag([3.0, 2.0, 1.0])), z, np.tile([0.3, 0.2, 0.1], (100, 1)))
    assert found.value == pytest.approx(-1.0)


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


def test_grids_of_integer_factors_are_taken_by_steps() -> None:
    every = list(range(0, 32, 4))
    data = dsprites(size=32, grid={"shape": [1], "orientation": [0], "x": every, "y": every})
    found = data_bias(rows(data), data.factors.classes(np.arange(len(data))), neighbours=20)
    assert len(found.per_point) == 50
    assert 0.0 <= found.defined_share <= 1.0


def test_factors_are_wanted_for_every_example() -> None:
    with pytest.raises(ShapeError, match="one row per example"):
        data_bias(np.zeros((5, 2)), np.zeros((4, 2)))
    with pytest.raises(ShapeError, match="varies"):
        data_bias(np.zeros((5, 2)), np.zeros((5, 2)))


def test_curved_decoders_are_averaged_over_points() -> None:
    def decode(z: Tensor) -> Tensor:
        return torch.stack([z[:, 0] * z[:, 1].cos(), z[:, 0] * z[:, 1].sin()], 1)

    x = np.random.default_rng(0).normal(size=(500, 2)) * [3.0, 1.0]
    points = np.array([[1.0, 0.0], [1.0, np.pi / 4]])
    found = principal_alignment(decode, points, x)
    assert found.n == 2
    assert found.value == pytest.approx(22.5, abs=3.0)
