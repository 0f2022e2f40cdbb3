"""Effects: one number for each seed, and tables that have given effects."""

import numpy as np
import pytest

from vaescope.errors import UsageError
from vaescope.studies import (
    AtEqual,
    Blocked,
    Gap,
    Level,
    Position,
    Ratio,
    Share,
    Spread,
    Trend,
)
from vaescope.studies.effects import Effect, distinct, unit_words
from vaescope.tables import Row, Table, table_of

EFFECTS: list[Effect] = [
    Level("a"),
    Level("a", {"m": "x"}),
    Gap("a", {"m": "x"}, {"m": "y"}),
    Ratio("a", {"m": "x"}, {"m": "y"}),
    Position("a", {"m": "x"}, {"m": "y"}, {"m": "z"}),
    AtEqual("a", "b", {"m": "x"}, {"m": "y"}),
    Level("a", unit="generator"),
    Blocked(Level("a"), 2),
    Blocked(Gap("a", {"m": "x"}, {"m": "y"})),
    Spread("a", {"m": "x"}, {"m": "y"}),
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
    np.testing.assert_allclose(found, [1.0, -1.0, 0.0])
    still = [{"seed": 0, "x": 1.0, "a": a} for a in (1.0, 2.0, 5.0)]
    np.testing.assert_allclose(Trend("a", "x").of(table(still, ("a",))), [np.nan])


def test_the_trend_of_a_made_table_has_the_sign_of_its_values() -> None:
    effect = Trend("a", "x")
    np.testing.assert_allclose(effect.of(effect.table(np.array([0.3, -0.2]))), [1.0, -1.0])


def test_a_share_is_what_settings_leave_to_seeds_of_the_sum_of_squares_in_each_block() -> None:
    """Settings at 0 and 6; seeds alternate one above and one below both: 8 of 80 squares. The
    fifth seed is not a block yet."""
    rows = [{"b": b, "seed": s, "a": b + (-1.0) ** s} for b in (0.0, 6.0) for s in range(5)]
    effect = Share("a", ("b",))
    np.testing.assert_allclose(effect.of(table(rows, ("a",))), [0.1])
    made = effect.of(effect.table(np.array([0.0, 0.3, 1.2])))
    np.testing.assert_allclose(made, [0.0, 0.3, 1.0], atol=1e-12)


def test_a_spread_is_the_distance_from_the_median_in_blocks_of_four_seeds() -> None:
    """A seed moves the spread of its own block only."""
    rows = [{"m": "x", "seed": s, "a": a} for s, a in enumerate((0.0, 5.0, 5.0, 9.0, 3.0))]
    rows += [{"m": "y", "seed": s, "a": a} for s, a in enumerate((7.0, 7.0, 6.0, 8.0, 7.0))]
    effect = Spread("a", {"m": "x"}, {"m": "y"})
    np.testing.assert_allclose(effect.of(table(rows, ("a",))), [9.0 / 4 - 0.5])


def test_a_missing_number_in_a_unit_leaves_it_without_one() -> None:
    rows = [{"seed": 0, "m": m, "a": a} for m, a in (("x", 1.0), ("y", None))]
    rows += [{"seed": 1, "m": m, "a": 1.0} for m in "xy"]
    np.testing.assert_allclose(Level("a").of(table(rows, ("a",))), [np.nan, 1.0])
    falling = [{"seed": 0, "x": x, "a": -x} for x in (1.0, 2.0, 3.0)]
    broken = [*falling, {"seed": 0, "x": 4.0, "a": None}]
    np.testing.assert_allclose(Trend("a", "x").of(table(broken, ("a",))), [np.nan])


def test_units_are_those_of_the_rows_that_are_asked() -> None:
    """Other arms have other seeds, which do not count as units without a number."""
    rows = [{"m": "x", "seed": s, "a": 1.0} for s in (0, 1)]
    rows += [{"m": "y", "seed": s, "a": 2.0} for s in (5, 6, 7)]
    np.testing.assert_allclose(Level("a", {"m": "x"}).of(table(rows, ("a",))), [1.0, 1.0])


def test_runs_that_are_the_same_in_every_number_are_one_unit() -> None:
    rows = [{"seed": s, "a": 0.125 * min(s, 1), "k": 3} for s in range(4)]
    assert distinct(table(rows, ("a", "k")), "seed").columns["seed"] == [0, 1]
    counts = [{"seed": s, "k": 3} for s in range(4)]  # of different runs, though they agree
    assert len(distinct(table(counts, ("k",)), "seed")) == 4


def test_units_have_names() -> None:
    assert unit_words(Level("a")) == "seeds"
    assert unit_words(Blocked(Level("a"))) == "blocks of 4 seeds"
    assert unit_words(Level("a", unit="data.generator_seed")) == "generators"


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
