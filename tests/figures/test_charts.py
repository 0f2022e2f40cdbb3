"""Charts hold the numbers they are given, in columns of equal length, as strict JSON."""

import json
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np
import pytest

from vaescope.codes import Codes
from vaescope.figures.charts import (
    LINES,
    Chart,
    curves_chart,
    factors_chart,
    histograms_chart,
    latents_chart,
    outputs_chart,
)
from vaescope.inspection import FactorSummary, Histograms, Latent, Training
from vaescope.latents import types
from vaescope.metrics import Protocol, Score
from vaescope.prior_density import GaussianDensity
from vaescope.traversals import Traversals

LATENTS = (Latent(1, "active", 2.0, 1.0, 0.25, 0.0625), Latent(0, "passive", None, 0.0, 1.0, 0.0))
NORMALISED = np.array([[0.1, 0.2], [0.9, 0.0]])
STEPS = np.array([10, 20])
OUTPUTS = np.arange(2 * 3 * 30, dtype=np.float64).reshape(2, 3, 30)

CHARTS = {
    "latents": latents_chart(LATENTS),
    "histograms": histograms_chart(
        Histograms(np.linspace(-3, 3, 4), np.eye(2, 3), np.ones((2, 3)) / 6, np.ones((2, 3))),
        LATENTS,
    ),
    "curves": curves_chart(Training(STEPS, *[STEPS / 10.0] * 3, *[STEPS // 10] * 3)),
    "factors": factors_chart(
        FactorSummary(("a", "b"), Score(0.5, Protocol("default", 9)), NORMALISED), LATENTS
    ),
    "outputs": outputs_chart(
        Traversals(np.zeros(2), np.array([-1.0, 0.0, 1.0]), np.ones(2) / 2, OUTPUTS), LATENTS
    ),
}


def fields(spec: Any) -> Iterator[str]:
    if isinstance(spec, Mapping):
        if isinstance(spec.get("field"), str):
            yield spec["field"]
        for value in spec.values():
            yield from fields(value)
    elif isinstance(spec, list):
        for value in spec:
            yield from fields(value)


@pytest.mark.parametrize("chart", CHARTS.values(), ids=CHARTS)
def test_columns_have_equal_lengths_and_specs_are_json_without_addresses(chart: Chart) -> None:
    assert len({len(column) for column in chart.columns.values()}) == 1
    text = json.dumps([chart.spec, dict(chart.columns)], allow_nan=False)
    assert "http" not in text and "data" not in chart.spec


@pytest.mark.parametrize("chart", CHARTS.values(), ids=CHARTS)
def test_every_field_that_is_drawn_is_a_column(chart: Chart) -> None:
    made = {"count", "type", "from", "to"}  # by a fold, and of the shaded bands
    assert set(fields(chart.spec)) - made <= set(chart.columns)


def test_a_run_without_a_rate_shows_its_distortion_only() -> None:
    none = np.full(2, np.nan)
    chart = curves_chart(Training(STEPS, STEPS / 10.0, STEPS / 10.0, none, *[STEPS // 10] * 3))
    assert [panel["title"] for panel in chart.spec["concat"]] == ["Distortion (nats)"]
    assert chart.columns["rate"] == [None, None]


def test_latents_carry_mean_and_spread() -> None:
    columns = CHARTS["latents"].columns
    assert columns["latent"] == [1, 0]
    assert (columns["low"][0], columns["high"][0]) == (0.0, 0.5)
    assert columns["kl_nats"] == [2.0, None]


def test_histograms_follow_the_order_of_the_latents() -> None:
    columns = CHARTS["histograms"].columns
    assert columns["panel"][0] == "1, active" and columns["panel"][-1] == "0, passive"
    assert columns["mean"] == [0.0, 1.0, 0.0, 1.0, 0.0, 0.0]


def test_factors_are_looked_up_by_latent() -> None:
    columns = CHARTS["factors"].columns
    assert columns["information"] == [0.9, 0.0, 0.1, 0.2]


def test_long_vectors_are_cut_to_lines_that_can_be_told_apart() -> None:
    columns = CHARTS["outputs"].columns
    assert max(columns["dimension"]) == LINES - 1  # type: ignore[type-var, operator]
    assert columns["output"][0] == OUTPUTS[1, 0, 0]


def test_bands_and_variances_are_in_units_of_an_unused_latent(
    generator: np.random.Generator,
) -> None:
    """Prior and codes times 20: what is drawn stays. Without an unused posterior no band is
    drawn for the passive."""
    mean, variance = generator.normal(size=(200, 2)), np.tile([0.01, 0.4], (200, 1))
    drawn = []
    for c in (2.0, 40.0):
        prior = GaussianDensity(np.zeros(2), np.full(2, c**2))
        codes = Codes(c * mean, c**2 * variance, c * mean, prior=prior)
        drawn.append(latents_chart(LATENTS, types(codes)))
    np.testing.assert_allclose(drawn[0].columns["mean_ratio"], [0.4, 0.01])
    np.testing.assert_allclose(drawn[0].columns["mean_ratio"], drawn[1].columns["mean_ratio"])
    assert json.dumps(drawn[0].spec) == json.dumps(drawn[1].spec)
    unknown = Codes(mean, variance, mean, unused=np.full(2, np.nan), unused_why="it has no rate")
    assert '"from": 0.9' in json.dumps(drawn[0].spec)
    assert '"from": 0.9' not in json.dumps(latents_chart(LATENTS, types(unknown)).spec)
