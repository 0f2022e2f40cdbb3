from typing import Any

import numpy as np
import pytest

from vaescope.codes import Codes
from vaescope.metrics import irs
from vaescope.metrics.irs import _quantile


def plain(z: np.ndarray, v: np.ndarray, quantile: float) -> float:
    """The definition, value by value."""
    largest = np.abs(z - z.mean(axis=0)).max(axis=0)
    matrix = np.zeros((z.shape[1], v.shape[1]))
    for k in range(v.shape[1]):
        held = []
        for value in np.unique(v[:, k]):
            own = z[v[:, k] == value]
            held.append(np.percentile(np.abs(own - own.mean(axis=0)), 100 * quantile, axis=0))
        matrix[:, k] = 1 - np.mean(held, axis=0) / largest
    return float(np.average(matrix.max(axis=1), weights=largest))


def test_ranges_of_disentanglement_lib(perfect: Codes, constant: Codes) -> None:
    assert irs(perfect, resamples=0).value > 0.99
    assert irs(constant).value == 0.0


@pytest.mark.parametrize("quantile", [0.99, 1.0])
def test_irs_equals_its_definition(
    quantile: float, make: Any, generator: np.random.Generator
) -> None:
    v = generator.integers([4, 7], size=(500, 2))
    z = np.column_stack([v[:, 0] + generator.normal(size=500), 3 * v.sum(axis=1)])
    score = irs(make(z, v), quantile=quantile, resamples=0)
    assert score.value == pytest.approx(plain(z, v, quantile), abs=1e-12)


def test_binning_the_factors_joins_neighbours(make: Any, generator: np.random.Generator) -> None:
    v = generator.integers(40, size=(2000, 1))
    codes = make(np.column_stack([v, generator.normal(size=2000)]), v)
    assert irs(codes, resamples=0).details["robustness"][0, 0] == pytest.approx(1.0)
    assert irs(codes, factor_bins=20, resamples=0).details["robustness"][0, 0] < 0.99


def test_the_interval_narrows_with_more_rows(shuffled: Codes) -> None:
    few, many = (irs(shuffled, limit=n, resamples=30).interval for n in (150, 1200))
    assert few is not None and many is not None
    assert many[1] - many[0] < few[1] - few[0]


@pytest.mark.parametrize("rows", [1, 2, 7, 100])
@pytest.mark.parametrize("share", [0.0, 0.3, 0.5, 0.99, 1.0])
def test_quantiles_are_numpys_to_the_last_bit(rows: int, share: float) -> None:
    values = np.random.default_rng(rows).normal(size=(rows, 3))
    wanted = np.quantile(values, share, axis=0)
    np.testing.assert_array_equal(_quantile(values.T.copy(), share), wanted)
