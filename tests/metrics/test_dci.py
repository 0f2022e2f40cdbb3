import warnings
from typing import Any

import numpy as np
import pytest
from scipy.stats import spearmanr

from vaescope.codes import Codes
from vaescope.errors import ShapeError
from vaescope.metrics import dci
from vaescope.metrics.dci import completeness, disentanglement

FIVE = 5.0 * np.eye(5)
SHARED = 1 - np.log(2) / np.log(10)

#: (D, C) by scikit-learn's gradient boosting, random_state 0, 1,000 rows each for training and
#: test, on a model's means and on these turned by `rotation(10, 0)`, `(10, 1)` and `(10, 2)`.
BY_GRADIENT_BOOSTING = {
    "VAE_dsprites": [(0.1032, 0.0897), (0.0279, 0.0208), (0.0414, 0.0361), (0.0225, 0.0175)],
    "betaB_dsprites": [(0.2628, 0.3086), (0.0644, 0.0524), (0.1711, 0.1500), (0.1046, 0.0859)],
    "btcvae_dsprites": [(0.2716, 0.2688), (0.1109, 0.0853), (0.1404, 0.1124), (0.1665, 0.1389)],
}


def rotation(d: int, seed: int) -> np.ndarray:
    q, r = np.linalg.qr(np.random.default_rng(seed).normal(size=(d, d)))
    return q * np.sign(np.diag(r))


@pytest.mark.parametrize(
    ("importance", "d", "c"),
    [
        (FIVE, 1.0, 1.0),
        (np.array([[1.0, 0.0], [0.0, 1.0], [0.0, 0.0]]), 1.0, 1.0),
        (np.zeros((10, 10)), 0.0, 0.0),
        (np.vstack([FIVE, FIVE]), 1.0, SHARED),
        (FIVE[:2], 1.0, 1.0),
        (np.hstack([FIVE, FIVE]), SHARED, 1.0),
    ],
)
def test_vectors_of_disentanglement_lib(importance: np.ndarray, d: float, c: float) -> None:
    assert disentanglement(importance) == pytest.approx(d, abs=1e-8)
    # A factor that nothing predicts has weight 0: [:2] has three of them.
    assert completeness(importance) == pytest.approx(c, abs=1e-8)


@pytest.mark.slow
def test_ranges_of_disentanglement_lib(make: Any, generator: np.random.Generator) -> None:
    v = generator.integers(4, size=(900, 3))
    perfect = dci(make(v, v))
    assert perfect.disentanglement.value > 0.99
    assert perfect.completeness.value > 0.99
    assert perfect.informativeness.value == 1.0
    constant = dci(make(np.zeros((900, 3)), v))
    assert constant.disentanglement.value == pytest.approx(0.0, abs=1e-12)
    assert constant.completeness.value == pytest.approx(0.0, abs=1e-12)
    twice = dci(make(np.hstack([v, v]), v))
    assert twice.disentanglement.value > 0.99
    assert twice.completeness.value == pytest.approx(1 - np.log(2) / np.log(6), abs=0.1)


def test_one_factor_has_no_disentanglement_and_one_latent_no_completeness(
    make: Any, generator: np.random.Generator
) -> None:
    v = generator.integers(3, size=(300, 2))
    one_factor = dci(make(v, v[:, :1]))
    with pytest.raises(ShapeError, match="compares factors"):
        _ = one_factor.disentanglement
    assert one_factor.completeness.value > 0.99
    one_latent = dci(make(v[:, :1], v))
    with pytest.raises(ShapeError, match="compares latents"):
        _ = one_latent.completeness
    # Every factor is read from the one latent there is, so that it is wholly shared.
    assert one_latent.disentanglement.value == pytest.approx(0.0, abs=1e-6)


def test_the_engine_and_the_rows_are_in_the_protocol(perfect: Codes) -> None:
    settings = dci(perfect, train=100, test=50).completeness.protocol.settings
    assert (settings["estimator"], settings["train"], settings["test"]) == ("first-order", 100, 50)


@pytest.mark.parametrize(
    "model",
    [
        "btcvae_dsprites",
        pytest.param("betaB_dsprites", marks=pytest.mark.slow),
        pytest.param("VAE_dsprites", marks=pytest.mark.slow),
    ],
)
def test_the_default_engine_is_within_0_03_of_disentanglement_lib(model: str, oracle: Any) -> None:
    codes, values = oracle(model)
    score, known = dci(codes, train=1000, test=1000), values["DCI_gbt_1000_1000"]
    assert score.disentanglement.value == pytest.approx(known["D"], abs=0.03)
    assert score.completeness.value == pytest.approx(known["C"], abs=0.03)
    assert score.informativeness.value == pytest.approx(known["info_test"], abs=0.03)


@pytest.mark.slow
@pytest.mark.parametrize("model", ["betaB_dsprites", "VAE_dsprites"])
def test_gradient_boosting_is_within_0_03_of_disentanglement_lib(model: str, oracle: Any) -> None:
    codes, values = oracle(model)
    score = dci(codes, engine="gradient-boosting", train=1000, test=1000)
    known = values["DCI_gbt_1000_1000"]
    assert score.disentanglement.value == pytest.approx(known["D"], abs=0.03)
    assert score.completeness.value == pytest.approx(known["C"], abs=0.03)
    assert score.informativeness.value == pytest.approx(known["info_test"], abs=0.03)


@pytest.mark.slow
def test_the_default_engine_ranks_codes_as_gradient_boosting_does(make: Any, oracle: Any) -> None:
    ours, known = [], []
    for model, pairs in BY_GRADIENT_BOOSTING.items():
        codes, _ = oracle(model)
        mean = codes.mean[:2000].astype(np.float64)
        turns = [np.eye(10), *(rotation(10, seed) for seed in range(3))]
        for turn, pair in zip(turns, pairs, strict=True):
            score = dci(make(mean @ turn, codes.factors[:2000]), train=1000, test=1000)
            ours.append((score.disentanglement.value, score.completeness.value))
            known.append(pair)
    for column in range(2):
        rank = spearmanr(np.array(ours)[:, column], np.array(known)[:, column]).statistic
        assert rank > 0.95
        np.testing.assert_allclose(np.array(ours)[:, column], np.array(known)[:, column], atol=0.03)


def test_no_warning_reaches_the_user(make: Any, generator: np.random.Generator) -> None:
    v = generator.integers(2, size=(60, 2))
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for engine in ("first-order", "gradient-boosting"):
            dci(make(v, v), engine=engine)
