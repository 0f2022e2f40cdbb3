"""Correlations along training, ranked among random types. bonheme2023 figure 13."""

from types import SimpleNamespace
from typing import Any, cast

import numpy as np
import pytest

from vaescope.runs import Run
from vaescope.studies.bonheme2023.traces import LOTS, ranked


def _run(correlation: np.ndarray[Any, Any], seed: int = 0) -> Run:
    """A run that ends with six passive latents of ten and whose matrix never moved."""
    passive = np.arange(10) < 6
    row = {
        "step": 0,
        "correlation": correlation.tolist(),
        "mean_variance": np.where(passive, 1.0, 0.01).tolist(),
        "variance_of_variance": [0.0] * 10,
    }
    stub = SimpleNamespace(
        read_correlations=lambda: iter([row, row]), open=lambda: SimpleNamespace(seed=seed)
    )
    return cast(Run, stub)


def test_true_types_are_ranked_among_random_ones() -> None:
    active = np.arange(10) >= 6
    across = 0.1 + 0.4 * (active[:, None] != active[None, :]) + 0.5 * np.eye(10)
    row = ranked(_run(across))
    assert (row["passive"], row["active"]) == (6, 4)
    assert row["nearer"] == pytest.approx(0.4)
    assert row["lots_as_near"] == 0.0  # no random set of six is the true one
    inside = 0.1 + 0.4 * (active[:, None] == active[None, :]) + 0.5 * np.eye(10)
    row = ranked(_run(inside))
    assert row["nearer"] == pytest.approx(-0.4) and row["lots_as_near"] == 1.0


def test_types_that_say_nothing_are_ranked_anywhere() -> None:
    """Matrices without structure: ranks are uniform, and one random assignment has no side."""
    draw, ranks, ones = np.random.default_rng(0), [], []
    for seed in range(200):
        noise = np.abs(draw.normal(size=(10, 10)))
        row = ranked(_run((noise + noise.T) / 2.0, seed))
        ranks.append(cast(float, row["lots_as_near"]))
        ones.append(cast(float, row["nearer_one"]))
    assert np.mean(ranks) == pytest.approx(0.5, abs=0.07)
    assert np.quantile(ranks, 0.1) < 0.2 and np.quantile(ranks, 0.9) > 0.8
    assert np.mean(np.array(ones) > 0.0) == pytest.approx(0.5, abs=0.1)
    assert LOTS == 50
