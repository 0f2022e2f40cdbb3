"""Codes whose scores are known beforehand."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vaescope.codes import Codes

MODELS = [
    "btcvae_dsprites",
    "betaB_dsprites",
    "VAE_dsprites",
    "betaH_dsprites",
    "btcvae_dsprites_a0",
]

Make = Callable[..., Codes]


@pytest.fixture(scope="session")
def make() -> Make:
    """Codes of a mean and factors; variance 1 and samples equal to the means unless given."""

    def codes(mean: np.ndarray, factors: np.ndarray | None = None, **more: Any) -> Codes:
        mean = np.asarray(mean, dtype=np.float64)
        arrays = {"variance": np.ones_like(mean), "sample": mean, **more}
        return Codes(mean, factors=factors, **arrays)

    return codes


@pytest.fixture
def factors(generator: np.random.Generator) -> np.ndarray:
    """Ten values of each of five factors, as in disentanglement_lib's tests."""
    return generator.integers(10, size=(3000, 5))


@pytest.fixture
def perfect(make: Make, factors: np.ndarray) -> Codes:
    return make(factors, factors)


@pytest.fixture
def constant(make: Make, factors: np.ndarray) -> Codes:
    return make(np.zeros(factors.shape), factors)


@pytest.fixture
def duplicated(make: Make, factors: np.ndarray) -> Codes:
    return make(np.hstack([factors, factors]), factors)


@pytest.fixture
def shuffled(make: Make, factors: np.ndarray, generator: np.random.Generator) -> Codes:
    """Each row's code is permuted: every latent knows a little of every factor."""
    return make(generator.permuted(factors, axis=1), factors)


@pytest.fixture(scope="session")
def oracle(shared_data: Callable[[str], Path]) -> Callable[[str], tuple[Codes, dict[str, Any]]]:
    """Codes of a real model, and what disentanglement_lib gives on them."""

    def read(model: str) -> tuple[Codes, dict[str, Any]]:
        values = json.loads(shared_data("pretrained/oracle.json").read_text())
        return Codes.load(shared_data(f"pretrained/codes/{model}_codes.npz")), values[model]

    return read


@pytest.fixture(params=MODELS)
def real(request: pytest.FixtureRequest, oracle: Any) -> tuple[Codes, dict[str, Any]]:
    return oracle(request.param)
