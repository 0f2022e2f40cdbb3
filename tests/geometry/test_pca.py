import numpy as np
import pytest
import torch
from torch import Tensor

from vaescope.data.synthetic import linear_gaussian, principal_axes, synth_linear
from vaescope.errors import ShapeError
from vaescope.geometry import plane_rotation, principal_alignment, principal_order


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
    assert found.degenerate and "rotate freely" in found.summary()
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


def test_curved_decoders_are_averaged_over_points() -> None:
    def decode(z: Tensor) -> Tensor:
        return torch.stack([z[:, 0] * z[:, 1].cos(), z[:, 0] * z[:, 1].sin()], 1)

    x = np.random.default_rng(0).normal(size=(500, 2)) * [3.0, 1.0]
    points = np.array([[1.0, 0.0], [1.0, np.pi / 4]])
    found = principal_alignment(decode, points, x)
    assert found.n == 2
    assert found.value == pytest.approx(22.5, abs=3.0)
