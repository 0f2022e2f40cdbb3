"""Effects: one number for each seed, and tables that have given effects."""

import numpy as np
import pytest

from vaescope.errors import UsageError
from vaescope.studies import AtEqual, Gap, Level, Position, Ratio, Share, Spread, Trend
from vaescope.studies.effects import Effect
from vaescope.tables import Row, Table, table_of

EFFECTS: list[Effect] = [
    Level("a"),
    Level("a", {"m": "x"}),
    Gap("a", {"m": "x"}, {"m": "y"}),
    Ratio("a", {"m": "x"}, {"m": "y"}),
    Position("a", {"m": "x"}, {"m": "y"}, {"m": "z"}),
    AtEqual("a", "b", {"m": "x"}, {"m": "y"}),
    Level("a", unit="generator"),
]


def table(rows: list[dict[str, float | str | int | None]], results: tuple[str, ...]) -> Table:
    return table_of(
        Row(
            f"r{i}",
            True,
            {k: v for k, v in row.items() if k not in results},
            {k: row[k] for k in results if k in row},
        )
        for i, row in enumerate(rows)
    )


@pytest.mark.parametrize("effect", EFFECTS, ids=lambda e: e.words())
def test_a_table_made_for_effects_has_them(effect: Effect) -> None:
    values = np.array([0.5, 2.0, 1.25])
    np.testing.assert_allclose(effect.of(effect.table(values)), values)


def test_a_trend_is_the_rank_correlation_of_each_seed() -> None:
    rising = [{"seed": 0, "x": x, "a": x**3} for x in (1.0, 2.0, 5.0)]
    falling = [{"seed": 1, "x": x, "a": -x} for x in (1.0, 2.0, 5.0)]
    flat = [{"seed": 2, "x": x, "a": 4.0} for x in (1.0, 2.0, 5.0)]
    found = Trend("a", "x").of(table([*rising, *falling, *flat], ("a",)))
    np.testing.assert_allclose(found, [1.0, -1.0, np.nan])


def test_the_trend_of_a_made_table_has_the_sign_of_its_values() -> None:
    effect = Trend("a", "x")
    np.testing.assert_allclose(effect.of(effect.table(np.array([0.3, -0.2]))), [1.0, -1.0])


def test_a_share_is_what_settings_leave_to_seeds_of_the_sum_of_squares() -> None:
    """Settings at 0 and 6; seed 0 is one above both, seed 1 one below: 4 of 40 squares."""
    rows = [{"b": b, "seed": s, "a": b + c} for b in (0.0, 6.0) for s, c in ((0, 1.0), (1, -1.0))]
    effect = Share("a", ("b",))
    np.testing.assert_allclose(effect.of(table(rows, ("a",))), [0.1, 0.1])
    values = np.array([0.0, 0.3, 1.2])
    np.testing.assert_allclose(effect.of(effect.table(values)), values, atol=1e-12)


def test_a_spread_is_the_distance_from_the_median_over_seeds() -> None:
    rows = [{"m": "x", "seed": s, "a": a} for s, a in enumerate((0.0, 5.0, 5.0, 5.0, 9.0))]
    rows += [{"m": "y", "seed": s, "a": a} for s, a in enumerate((7.0, 7.0, 6.0, 8.0, 7.0))]
    effect = Spread("a", {"m": "x"}, {"m": "y"})
    np.testing.assert_allclose(effect.of(table(rows, ("a",))), [5.0, 0.0, -1.0, -1.0, 4.0])
    values = np.array([0.5, -2.0, 1.25])
    np.testing.assert_allclose(effect.of(effect.table(values)), np.tile(values, 2))


def test_two_seeds_have_no_spread() -> None:
    """Law: both are as far from their median, which would look like agreement."""
    rows = [{"m": m, "seed": s, "a": float(s)} for m in ("x", "y") for s in (0, 1)]
    found = Spread("a", {"m": "x"}, {"m": "y"}).of(table(rows, ("a",)))
    np.testing.assert_allclose(found, [np.nan, np.nan])


def test_curves_are_compared_where_both_are() -> None:
    rows = [{"m": "x", "seed": 0, "b": b, "a": 2 * b + 1.0} for b in (0.0, 2.0)]
    rows += [{"m": "y", "seed": 0, "b": b, "a": 2 * b} for b in (1.0, 5.0)]
    rows += [{"m": m, "seed": 1, "b": b + far, "a": 0.0}
             for m, far in (("x", 0.0), ("y", 10.0)) for b in (0.0, 1.0)]  # fmt: skip
    found = AtEqual("a", "b", {"m": "x"}, {"m": "y"}).of(table(rows, ("a", "b")))
    np.testing.assert_allclose(found, [1.0, np.nan])


def test_rows_of_a_unit_are_averaged() -> None:
    rows = [{"seed": s, "g": g, "a": 10.0 * g + s} for g in (0, 1) for s in (0, 1, 2)]
    np.testing.assert_allclose(Level("a", unit="g").of(table(rows, ("a",))), [1.0, 11.0])


def test_a_column_that_is_not_there_is_named() -> None:
    with pytest.raises(UsageError, match="no column g"):
        Level("a", {"g": 1}).of(table([{"seed": 0, "a": 1.0}], ("a",)))
