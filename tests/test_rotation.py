"""A rotated model is the same model: reconstructions and rates, seen from other axes."""

import numpy as np
import pytest
import torch
from torch import Tensor, nn

import vaescope as vs
from vaescope.errors import ShapeError, UsageError
from vaescope.prior_density import GaussianDensity

X = np.random.default_rng(0).normal(size=(300, 3)).astype(np.float32)
ANGLE = np.deg2rad(30)
R = np.array([[np.cos(ANGLE), np.sin(ANGLE)], [-np.sin(ANGLE), np.cos(ANGLE)]])


class Stranger(nn.Module):
    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.mean, self.out = nn.Linear(3, 2), nn.Linear(2, 3)

    def encode(self, x: Tensor) -> tuple[Tensor, Tensor]:
        mean = self.mean(x)
        return mean, torch.tensor([-1.0, -3.0]).expand_as(mean)

    def decode(self, z: Tensor) -> Tensor:
        return self.out(z)


def _opened(prior: object = None) -> vs.OpenModel:
    return vs.open_model(Stranger(), X, output="pixels", posterior="pair,logvar", prior=prior)


def test_a_rotated_model_has_rotated_posteriors_and_the_same_reconstructions_and_rates() -> None:
    opened = _opened()
    rotated = vs.rotate(opened, R)
    before, after = opened.codes, rotated.codes
    np.testing.assert_allclose(after.mean, before.mean @ R.T, atol=1e-5)
    covariance = R @ np.diag(before.variance[0].astype(float)) @ R.T
    assert after.covariance is not None
    np.testing.assert_allclose(after.covariance[0], covariance, rtol=1e-4)
    places = np.arange(20)
    z = torch.from_numpy(before.mean[:20])
    moved = torch.from_numpy(after.mean[:20])
    with torch.no_grad():
        wanted, got = opened.decode(z).mean, rotated.decode(moved).mean
    np.testing.assert_allclose(got, wanted, atol=1e-5)
    none = np.zeros((20, 2), dtype=np.float32)
    np.testing.assert_allclose(rotated.rate(places, none), opened.rate(places, none), rtol=1e-4)
    back = vs.rotate(rotated, R.T)
    np.testing.assert_allclose(back.codes.mean, before.mean, atol=1e-5)


def test_a_prior_that_the_rotation_changes_is_refused() -> None:
    uneven = GaussianDensity(np.zeros(2), np.array([1.0, 4.0]))
    with pytest.raises(UsageError, match="changes under this rotation"):
        vs.rotate(_opened(uneven), R)
    off_centre = GaussianDensity(np.array([1.0, 0.0]), np.ones(2))
    with pytest.raises(UsageError, match="changes under this rotation"):
        vs.rotate(_opened(off_centre), R)
    even = GaussianDensity(np.zeros(2), np.array([4.0, 4.0]))
    assert vs.rotate(_opened(even), R).codes.d == 2


@pytest.mark.parametrize("matrix", [np.eye(3), 2 * np.eye(2), np.full((2, 2), np.nan)])
def test_what_is_no_rotation_of_these_latents_is_refused(matrix: np.ndarray) -> None:
    with pytest.raises(ShapeError, match="rotation"):
        vs.rotate(_opened(), matrix)


def test_a_rotated_model_is_dissected_like_any_other() -> None:
    found = vs.inspect(vs.rotate(_opened(), R), effort="fast", images=False)
    assert len(found.latents) == 2
