from typing import Any

import numpy as np
import pytest

from vaescope.errors import ShapeError
from vaescope.metrics.interventions import groups
from vaescope.metrics.rows import labelled

GRID = np.stack(np.unravel_index(np.arange(24), (2, 3, 4)), axis=1)


def test_rows_of_a_batch_share_the_value_of_its_factor_and_no_other(
    make: Any, generator: np.random.Generator
) -> None:
    codes = make(GRID, GRID, factor_sizes=(2, 3, 4), index=np.arange(24))
    found = groups(labelled(codes, "x"), "x")
    assert found.source == "complete grid"
    values: dict[int, set[int]] = {0: set(), 1: set(), 2: set()}
    for factor, rows in found.batches(300, 16, generator):
        assert rows.shape == (300, 16)
        for k, own in zip(factor, rows, strict=True):
            assert len(np.unique(GRID[own, k])) == 1
            values[k].add(int(GRID[own[0], k]))
            others = [j for j in range(3) if j != k]
            assert len(np.unique(GRID[own][:, others], axis=0)) > 1
    assert values == {0: {0, 1}, 1: {0, 1, 2}, 2: {0, 1, 2, 3}}


def test_pairs_share_the_value_one_by_one(make: Any, generator: np.random.Generator) -> None:
    codes = make(GRID, GRID, factor_sizes=(2, 3, 4))
    for factor, first, second in groups(labelled(codes, "x"), "x").pairs(200, 8, generator):
        for k, a, b in zip(factor, first, second, strict=True):
            np.testing.assert_array_equal(GRID[a, k], GRID[b, k])
            assert len(np.unique(GRID[a, k])) > 1


def test_all_rows_of_a_value_are_drawn_alike(make: Any, generator: np.random.Generator) -> None:
    codes = make(GRID, GRID, factor_sizes=(2, 3, 4))
    rows = np.concatenate(
        [own.ravel() for _, own in groups(labelled(codes, "x"), "x").batches(4000, 24, generator)]
    )
    share = np.bincount(rows, minlength=24) / len(rows)
    np.testing.assert_allclose(share, 1 / 24, atol=0.007)


def test_a_part_of_a_grid_does_if_each_value_has_enough_rows(make: Any) -> None:
    v = np.random.default_rng(0).integers(5, size=(600, 2))
    found = groups(labelled(make(v, v, factor_sizes=(5, 200)), "x"), "x")
    assert not found.complete
    assert "available rows" in found.source


def test_a_part_with_too_few_rows_says_what_to_do(make: Any) -> None:
    v = np.column_stack([np.arange(300) % 2, np.arange(300) % 30])
    with pytest.raises(ShapeError, match="a value of factor 1 has 10 rows; wanted 64") as error:
        groups(labelled(make(v, v, factor_sizes=(2, 300)), "x"), "factor_vae")
    assert "Encode about 3,000 rows, or the whole grid." in error.value.remedy
