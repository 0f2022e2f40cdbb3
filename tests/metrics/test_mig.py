import json
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from vaescope.codes import Codes
from vaescope.errors import ShapeError
from vaescope.metrics import mig

MODELS = [
    "btcvae_dsprites",
    "betaB_dsprites",
    "VAE_dsprites",
    "betaH_dsprites",
    "btcvae_dsprites_a0",
]


def codes(mean: np.ndarray, factors: np.ndarray | None) -> Codes:
    mean = mean.astype(np.float64)
    return Codes(mean, np.ones_like(mean), mean, factors=factors)


@pytest.fixture
def factors(generator: np.random.Generator) -> np.ndarray:
    return generator.integers(8, size=(4000, 3))


def test_mig_is_one_for_perfect_codes(factors: np.ndarray) -> None:
    assert mig(codes(factors, factors)).value > 0.99


def test_mig_is_zero_for_constant_and_duplicated_codes(factors: np.ndarray) -> None:
    assert mig(codes(np.ones((4000, 4)), factors)).value == 0.0
    assert mig(codes(np.hstack([factors, factors]), factors)).value == 0.0


def test_mig_does_not_depend_on_order_sign_or_scale(
    factors: np.ndarray, generator: np.random.Generator
) -> None:
    z = factors + generator.normal(size=factors.shape)
    moved = z[:, [2, 0, 1]] * [2.0, 0.5, 4.0]
    assert mig(codes(moved, factors)).value == pytest.approx(mig(codes(z, factors)).value)


def test_mig_needs_two_latents_and_factors_that_vary(factors: np.ndarray) -> None:
    with pytest.raises(ShapeError, match="two latents"):
        mig(codes(factors[:, :1], factors))
    with pytest.raises(ShapeError, match="constant"):
        mig(codes(factors, np.zeros_like(factors)))
    with pytest.raises(ShapeError, match="needs integer factors"):
        mig(codes(factors, None))


@pytest.mark.parametrize("model", MODELS)
def test_mig_equals_disentanglement_lib_on_real_codes(
    model: str, shared_data: Callable[[str], Path]
) -> None:
    oracle = json.loads(shared_data("pretrained/oracle.json").read_text())[model]
    score = mig(Codes.load(shared_data(f"pretrained/codes/{model}_codes.npz")))
    assert score.value == pytest.approx(oracle["MIG_20bins_10000"], abs=1e-6)
    np.testing.assert_allclose(
        score.details["mutual_information"], oracle["MI_matrix_nats_latent_by_factor"], atol=1e-6
    )
