"""What leaves a metric the same: each declaration in the registry, as a law."""

import json
import warnings
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from vaescope.codes import Codes
from vaescope.measure_ranges import range_of
from vaescope.metrics.protocols import PROTOCOLS
from vaescope.metrics.suite import METRICS, WITHOUT_FACTORS, Work

#: Trees break ties by chance, classifiers stop somewhere, and a row may cross the edge of a bin.
TOLERANCE = {
    "dci_disentanglement": 0.1,
    "dci_completeness": 0.1,
    "dci_informativeness": 0.05,
    "beta_vae": 0.02,
    "explicitness": 0.03,
    "downstream": 0.03,
    "mig": 0.01,
    "mig_sup": 0.01,
    "modularity": 0.01,
    "infom": 1e-3,
    "infoc": 1e-3,
    "infoe": 0.01,
    "dci_explicitness": 0.1,
    "entropy_of_means": 0.02,
    "id_mle": 1e-6,
    "id_two_nn": 1e-6,
}
#: They do not ask on which axes the factors are.
BLIND = (
    "beta_vae", "dci_informativeness", "monotonicity", "smoothness", "active_units",
    "entropy_of_means", "dci_explicitness",
)  # fmt: skip
ROWS = 300
EXPENSIVE = ("dci_disentanglement", "dci_completeness", "dci_informativeness")


def entangled(seed: int) -> Codes:
    rng = np.random.default_rng(seed)
    v = rng.integers([3, 4, 2], size=(ROWS, 3))
    mixing = np.eye(3, 4) + 0.4 * rng.normal(size=(3, 4))
    mean = v @ mixing + 0.3 * rng.normal(size=(ROWS, 4))
    return Codes(mean, np.ones_like(mean), mean, factors=v, factor_sizes=(3, 4, 2))


def value(name: str, codes: Codes) -> float:
    return METRICS[name].compute(Work(codes, "mean", PROTOCOLS["default"], None, None, 0)).value


def changed(codes: Codes, mean: np.ndarray) -> Codes:
    return Codes(mean, codes.variance, mean, factors=codes.factors, factor_sizes=codes.factor_sizes)


def turn(seed: int) -> np.ndarray:
    return np.linalg.qr(np.random.default_rng(seed).normal(size=(4, 4)))[0]


CHANGES = {
    "permutation": lambda z, seed: z[:, np.random.default_rng(seed).permutation(4)],
    "sign": lambda z, seed: z * np.random.default_rng(seed).choice([-1.0, 1.0], size=4),
    "scale": lambda z, seed: z * np.exp(np.random.default_rng(seed).uniform(-2, 2, size=4)),
    "rotation": lambda z, seed: z @ turn(seed),
}
LAWS = [
    (name, change)
    for name, metric in METRICS.items()
    for change in CHANGES
    if getattr(metric, change)
]


@pytest.mark.slow
@pytest.mark.parametrize(("name", "change"), [law for law in LAWS if law[0] not in EXPENSIVE])
@settings(max_examples=2)
@given(seed=st.integers(0, 1000))
def test_a_declared_change_leaves_the_metric_the_same(name: str, change: str, seed: int) -> None:
    codes = entangled(seed)
    moved = changed(codes, CHANGES[change](codes.mean, seed))
    assert value(name, moved) == pytest.approx(value(name, codes), abs=TOLERANCE.get(name, 1e-9))


@pytest.mark.slow
@pytest.mark.parametrize(("name", "change"), [law for law in LAWS if law[0] in EXPENSIVE])
def test_a_declared_change_leaves_dci_the_same(name: str, change: str) -> None:
    codes = entangled(1)
    moved = changed(codes, CHANGES[change](codes.mean, 1))
    assert value(name, moved) == pytest.approx(value(name, codes), abs=TOLERANCE[name])


@pytest.mark.parametrize("name", ["factor_vae", "irs"])
def test_a_scale_that_is_not_declared_matters(name: str) -> None:
    codes = entangled(2)
    shrunk = changed(codes, codes.mean * [1e-3, 1e-3, 1.0, 1.0])
    assert abs(value(name, shrunk) - value(name, codes)) > 0.01


@pytest.mark.slow
@pytest.mark.parametrize(
    "name",
    [
        name
        for name, metric in METRICS.items()
        # A linear mixture may score as high: these do not see the axes.
        if not metric.rotation and name not in BLIND
    ],
)
def test_a_rotation_that_is_not_declared_lowers_the_score_of_perfect_codes(name: str) -> None:
    v = np.random.default_rng(0).integers(3, size=(ROWS, 4))
    perfect = Codes(v.astype(float), np.ones(v.shape), v.astype(float), factors=v)
    half = np.array([[1.0, 1.0], [-1.0, 1.0]]) / np.sqrt(2)  # two factors share two latents
    spun = perfect.mean @ np.kron(np.eye(2), half)
    turned = Codes(spun, perfect.variance, spun, factors=v)
    assert value(name, turned) < value(name, perfect) - 0.03


def test_the_same_seed_gives_the_same_score_and_interval() -> None:
    for name in ("mig", "beta_vae", "factor_vae", "irs", "mcc", "knn_score"):
        work = [Work(entangled(0), "mean", PROTOCOLS["default"], None, None, 5) for _ in range(2)]
        first, again = (METRICS[name].compute(own) for own in work)
        assert (first.value, first.interval) == (again.value, again.interval)


def _degenerate() -> dict[str, Any]:
    rng = np.random.default_rng(0)
    v = rng.integers(3, size=(300, 2))
    z = v + 0.2 * rng.normal(size=v.shape)
    return {
        "constant latents": (np.ones((300, 3)), v),
        "one constant latent": (np.column_stack([z, np.zeros(300)]), v),
        "duplicated latents": (np.hstack([z, z]), v),
        "a single latent": (z[:, :1], v),
        "a single-class factor": (z, np.column_stack([v[:, 0], np.zeros(300, int)])),
        "all factors constant": (z, np.zeros((300, 2), int)),
        "one factor": (z, v[:, :1]),
        "binary factors": (z, (v > 0).astype(int)),
        "a class of one row": (z, np.column_stack([v[:, 0], (np.arange(300) == 7).astype(int)])),
        "two rows": (z[:2], v[:2]),
        "a latent constant to rounding": (
            np.column_stack([z, np.where(v[:, 0] > 0, 1.0, np.nextafter(1.0, 2.0))]),
            v,
        ),
        "numbers below the least normal one": (1e-310 * z, v),
        "an outlier": (np.where(np.arange(600).reshape(300, 2) == 5, 1e6, z), v),
        "latents of two values": ((z > 1).astype(float), v),
        "more latents than rows": (rng.normal(size=(20, 40)), v[:20]),
        "large class numbers": (z, 1_000_000_000 * v),
        "a class for each row": (z, np.column_stack([v[:, 0], rng.permutation(300)])),
        "a class that only the test rows have": (
            z,
            np.column_stack([v[:, 0], (np.arange(300) > 250) + v[:, 1]]),
        ),
        "the same factor twice": (z, v[:, [0, 0]]),
        "tiny numbers": (1e-30 * z, v),
        "huge numbers": (1e12 * z + 1e12, v),
        "rows in grid order": (z[np.lexsort(v.T[::-1])], v[np.lexsort(v.T[::-1])]),
        "no factors": (z, None),
    }


@pytest.mark.slow
@pytest.mark.parametrize("case", _degenerate())
def test_odd_codes_give_a_number_or_a_named_error(case: str) -> None:
    from vaescope.metrics import measure_metrics

    z, v = _degenerate()[case]
    codes = Codes(z, np.ones_like(z), z, factors=v)
    with warnings.catch_warnings():
        warnings.simplefilter("error")  # a warning would reach the user
        found, skipped = measure_metrics(codes, on=("mean",))
    assert set(found["mean"]) | set(skipped) == set(METRICS)
    for name, score in found["mean"].items():
        least, most = range_of(name)
        assert least <= score.value <= most + 1e-9, name
        json.dumps(score.to_dict(), allow_nan=False)
    assert all(reason.endswith(".") for reason in skipped.values())
    if case in ("constant latents", "duplicated latents", "rows in grid order"):
        assert set(skipped) <= {"id_mle", "id_two_nn"}  # of constant latents
    if case in ("no factors", "all factors constant"):
        assert not set(found["mean"]) - set(WITHOUT_FACTORS)
