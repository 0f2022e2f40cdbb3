import json

import numpy as np
import pytest

from vaescope.estimates import interval_of_mean
from vaescope.geometry import grams_of
from vaescope.geometry.orthogonality import distance_of
from vaescope.geometry.result import GeometryMeasure, interval_of_ratio, measure_of


def test_the_interval_of_a_mean_covers_it_as_often_as_it_says(
    generator: np.random.Generator,
) -> None:
    hits = 0
    for _ in range(1000):
        interval = interval_of_mean(generator.normal(loc=3.0, size=12))
        assert interval is not None
        hits += interval[0] < 3.0 < interval[1]
    assert 930 <= hits <= 970
    assert interval_of_mean(np.ones(1)) is None


def test_the_interval_of_a_ratio_holds_the_ratio(generator: np.random.Generator) -> None:
    below = generator.uniform(1.0, 2.0, size=400)
    above = 3.0 * below + generator.normal(size=400)
    interval = interval_of_ratio(above, below)
    assert interval is not None
    assert interval[0] < 3.0 < interval[1]
    ratio = above.mean() / below.mean()
    error = (above - ratio * below).std() / np.sqrt(400) / below.mean()  # the delta method's
    assert interval[1] - interval[0] == pytest.approx(2 * 1.96 * error, rel=0.15)


def test_plain_data_are_strict_json() -> None:
    found = distance_of(grams_of(np.random.default_rng(0).normal(size=(4, 6, 3))))
    text = json.dumps(found.to_dict(), allow_nan=False)
    assert json.loads(text)["haar"]["n"] == 10_000
    assert GeometryMeasure(float("nan"), None, 0, "output").to_dict()["value"] is None
    assert "<pre>" not in found._repr_html_()


def test_a_measure_says_its_number_spread_and_size() -> None:
    assert measure_of(np.array([1.0, 2.0, 3.0]), "output").summary() == (
        "2 (-0.4841 to 4.484), n = 3, output space"
    )
    with pytest.raises(AttributeError):
        measure_of(np.ones(3), "output").value = 2.0  # type: ignore[misc]
