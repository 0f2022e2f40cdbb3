import warnings
from typing import Any

import numpy as np
import pytest

from vaescope.codes import Codes
from vaescope.metrics import sap


def test_sap_is_high_for_perfect_and_zero_for_constant_and_duplicated_codes(
    make: Any, generator: np.random.Generator
) -> None:
    v = generator.integers(2, size=(900, 3))
    assert sap(make(v, v)).value == pytest.approx(0.5, abs=0.05)  # chance is one half
    assert sap(make(np.zeros((900, 3)), v)).value == 0.0
    assert sap(make(np.hstack([v, v]), v)).value == 0.0


def test_discrete_vector_of_lattes_tests(make: Any) -> None:
    a = np.linspace(0, 1, 16)
    codes = make(np.column_stack([a, np.zeros(16)]), (a > 0.5).astype(np.int64)[:, None])
    twice = make(np.tile(codes.mean, (2, 1)), np.tile(codes.factors, (2, 1)))
    assert sap(twice, cost=1.0, train=16, test=16).value == 0.5


def test_small_latents_count_only_if_standardised(
    make: Any, generator: np.random.Generator
) -> None:
    v = generator.integers(2, size=(900, 1))
    z = np.column_stack([3.0 + 1e-3 * v[:, 0], generator.normal(size=900)])
    accuracy = [
        sap(make(z, v), standardised=own).details["accuracy"][0, 0] for own in (True, False)
    ]
    assert accuracy[0] == 1.0
    assert accuracy[1] < 0.6


@pytest.mark.slow
def test_sap_equals_disentanglement_lib_on_real_codes(real: tuple[Codes, dict[str, Any]]) -> None:
    codes, oracle = real
    score = sap(codes, standardised=False, train=1000, test=1000)
    assert score.value == pytest.approx(oracle["SAP_disc_1000_1000"], abs=0.005)


def test_accuracies_equal_liblinears_on_real_codes(oracle: Any) -> None:
    from sklearn.svm import LinearSVC

    codes, _ = oracle("btcvae_dsprites")
    score = sap(codes, standardised=False, train=600, test=600)
    z, v = codes.mean.astype(np.float64), codes.factors
    for j, k in ((2, 1), (3, 2), (4, 3)):
        machine = LinearSVC(C=0.01, class_weight="balanced", dual=False)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            machine.fit(z[:600, j : j + 1], v[:600, k])
        accuracy = machine.score(z[600:1200, j : j + 1], v[600:1200, k])
        assert score.details["accuracy"][j, k] == pytest.approx(accuracy, abs=0.005)
