import json
import subprocess
import sys
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from vaescope.codes import Codes
from vaescope.errors import ShapeError, UsageError
from vaescope.measures import measure_codes
from vaescope.metrics import METRICS, PROTOCOLS, measure_metrics, suite
from vaescope.metrics.rows import in_grid_order, points, sizes, split

NAMES = (
    "mig mig_sup dci_disentanglement dci_completeness dci_informativeness sap sap_continuous "
    "beta_vae factor_vae modularity explicitness irs mcc knn_score downstream "
    "infom infoc infoe dci_explicitness dci_size monotonicity smoothness active_units "
    "entropy_of_means id_mle id_two_nn"
)


@pytest.fixture
def small(make: Any) -> Codes:
    rng = np.random.default_rng(0)
    v = rng.integers([3, 4], size=(400, 2))
    z = v + 0.3 * rng.normal(size=v.shape)
    return make(z, v, variance=np.full(z.shape, 0.1), sample=z + 0.3 * rng.normal(size=z.shape))


def test_the_registry_has_the_names_of_the_interface() -> None:
    assert list(METRICS) == NAMES.split()


def test_every_metric_has_its_place_in_the_docs() -> None:
    text = (Path(__file__).parents[2] / "docs" / "metrics.md").read_text()
    for name in [*METRICS, "udr", "cka", "procrustes"]:
        assert f"## {name}\n" in text or f"`{name}`" in text, name
    for name in PROTOCOLS:
        assert f"`{name}`" in text


@pytest.mark.slow
@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_every_score_says_how_it_was_obtained(protocol: str, small: Codes) -> None:
    cheap = ["mig", "mig_sup", "modularity", "sap", "sap_continuous", "factor_vae", "irs", "mcc"]
    found, skipped = measure_metrics(small, metrics=cheap, protocol=protocol)
    only_samples = {"mig", "mig_sup"} if protocol == "chen" else set()
    assert set(skipped) == {f"{name} on mean" for name in only_samples}
    for representation, scores in found.items():
        missing = only_samples if representation == "mean" else set()
        assert set(scores) == set(cheap) - missing
        for score in scores.values():
            plain = json.loads(json.dumps(score.to_dict()))
            own = plain["protocol"]
            assert own["name"] == protocol
            assert own["representation"] == representation
            assert own["supervised"] is False
            assert {"n", "estimator", "seed", "versions"} <= set(own)
            assert set(own["versions"]) == {"vaescope", "numpy", "scikit-learn"}


def test_supervised_codes_are_named_so(make: Any, factors: np.ndarray) -> None:
    found, _ = measure_metrics(make(factors, factors, supervised=True), metrics=["mig"])
    assert found["mean"]["mig"].protocol.supervised
    assert "supervised" in found["mean"]["mig"].summary()


def test_one_fit_serves_three_scores(small: Codes, monkeypatch: pytest.MonkeyPatch) -> None:
    calls = []
    real = suite.dci
    monkeypatch.setattr(suite, "dci", lambda *a, **k: calls.append(1) or real(*a, **k))
    names = ["dci_disentanglement", "dci_completeness", "dci_informativeness"]
    found, _ = measure_metrics(small, metrics=names, on=("mean",))
    assert len(found["mean"]) == 3
    assert len(calls) == 1


def test_what_cannot_be_had_is_listed_with_its_reason(make: Any) -> None:
    v = np.column_stack([np.arange(200) % 2, np.arange(200) % 50])
    found, skipped = measure_metrics(make(v, v), metrics=["mig", "factor_vae"])
    assert set(found["mean"]) == {"mig"}
    assert "a value of factor 1 has 4 rows" in skipped["factor_vae"]


def test_unknown_names_and_wrong_numbers_are_errors(small: Codes) -> None:
    with pytest.raises(UsageError, match="no metric migg; there are mig"):
        measure_metrics(small, metrics=["migg"])
    with pytest.raises(UsageError, match="no protocol 'dlibb'; there are default"):
        measure_metrics(small, protocol="dlibb")
    with pytest.raises(UsageError, match="the codes have 400"):
        measure_metrics(small, metrics=["sap"], train=300, test=200)


def test_rows_to_learn_from_are_the_first_and_the_next(small: Codes) -> None:
    rows = split(small, "x", train=30, test=20)
    np.testing.assert_array_equal(rows.train.z, small.mean[:30])
    np.testing.assert_array_equal(rows.test.factors, small.factors[30:50])


def test_default_rows_are_reduced_two_to_one() -> None:
    assert sizes(20_000, None, None) == (10_000, 5_000)
    assert sizes(9_000, None, None) == (6_000, 3_000)
    assert sizes(9_000, 8_500, None) == (8_500, 500)
    with pytest.raises(ShapeError, match="2:1"):
        sizes(2, None, None)


def test_rows_in_grid_order_are_drawn_at_random(make: Any) -> None:
    grid = np.stack(np.unravel_index(np.arange(600), (20, 30)), axis=1)
    codes = make(grid, grid)
    assert in_grid_order(codes)
    assert in_grid_order(make(grid, grid, index=np.arange(600)))
    assert not in_grid_order(make(grid[::-1], grid[::-1]))
    assert len(np.unique(split(codes, "x", train=60, test=30).train.factors[:, 0])) > 10
    assert len(points(codes, 50, 0)) == 50
    np.testing.assert_array_equal(points(codes, None, 0), np.arange(600))


def test_a_score_prints_itself(small: Codes) -> None:
    score = measure_metrics(small, metrics=["mig"], on=("mean",))[0]["mean"]["mig"]
    assert "n = 400, default" in score.summary()
    assert score.summary() in score._repr_html_()


def test_importing_the_metrics_leaves_heavy_libraries_out() -> None:
    heavy = ("torch", "sklearn", "scipy", "lightgbm", "joblib")
    code = f"import sys, vaescope.metrics; sys.exit(any(m in sys.modules for m in {heavy}))"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_codes_without_factors_have_the_metrics_that_need_none(small: Codes) -> None:
    bare = replace(small, factors=None, factor_names=(), factor_sizes=())
    found = measure_codes(bare)
    assert set(found.scores["mean"]) == {"active_units", "entropy_of_means", "id_mle", "id_two_nn"}
    assert "neither factors" in found.skipped["metrics"]
    with pytest.raises(ShapeError, match="mig needs integer factors"):
        measure_codes(bare, metrics=["mig", "id_mle"])


def test_codes_without_factors_do_not_hide_a_wrong_name(small: Codes) -> None:
    bare = replace(small, factors=None, factor_names=(), factor_sizes=())
    with pytest.raises(UsageError, match="There is no metric mgi"):
        measure_codes(bare, metrics=["mgi"])
    with pytest.raises(UsageError, match="There is no protocol 'foo'"):
        measure_codes(bare, protocol="foo")
