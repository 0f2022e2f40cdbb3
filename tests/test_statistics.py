"""Intervals, comparisons and shares against answers known beforehand."""

from typing import Any

import numpy as np
import pytest
from scipy import stats

from vaescope.errors import UsageError
from vaescope.statistics import (
    mean_by_bootstrap,
    mean_by_student,
    mean_over_seeds,
    paired,
    rank_correlations,
    variance_shares,
)
from vaescope.tables import Table


def table(
    *, objectives: int = 2, betas: int = 3, seeds: int = 4, **measures: np.ndarray[Any, Any]
) -> Table:
    places = [(o, b, s) for o in range(objectives) for b in range(betas) for s in range(seeds)]
    settings = {
        "run": [f"r{i}" for i in range(len(places))],
        "seed": [s for _, _, s in places],
        "done": [True] * len(places),
        "objective.name": [f"o{o}" for o, _, _ in places],
        "objective.beta": [float(b) for _, b, _ in places],
    }
    return Table(settings, {name: values.tolist() for name, values in measures.items()})


def effects(objective: float, strength: float, seed: float) -> np.ndarray[Any, Any]:
    o, b, s = np.meshgrid(np.arange(2), np.arange(3), np.arange(4), indexing="ij")
    return (objective * o + strength * (b - 1) + seed * (s - 1.5)).ravel()


def test_intervals_are_those_of_scipy(generator: np.random.Generator) -> None:
    values = generator.exponential(size=40)
    ours = mean_by_student(values)
    theirs = stats.t.interval(0.95, 39, values.mean(), stats.sem(values))
    np.testing.assert_allclose(ours.interval, theirs, rtol=1e-12)
    ours = mean_by_bootstrap(values)
    bca = stats.bootstrap((values,), np.mean, n_resamples=20_000, rng=0).confidence_interval
    np.testing.assert_allclose(ours.interval, bca, rtol=0.02)
    assert ours.value == pytest.approx(values.mean()) and ours.n == 40


def test_an_interval_covers_as_often_as_it_says(generator: np.random.Generator) -> None:
    samples = generator.normal(3.0, 2.0, size=(2000, 5))
    hits = sum(
        low < 3.0 < high for low, high in (mean_by_student(s).interval or () for s in samples)
    )
    assert 0.935 < hits / 2000 < 0.965


def test_few_or_equal_values_give_no_false_interval() -> None:
    assert mean_by_student([]).n == 0 and mean_by_student([2.0]).interval is None
    assert mean_by_bootstrap([2.0]).interval is None
    assert mean_by_bootstrap([2.0, 2.0, 2.0]).interval == (2.0, 2.0)
    assert mean_by_student([1.0, np.nan, 3.0]).n == 2
    low, high = mean_by_bootstrap([1.0, 2.0]).interval or (np.nan, np.nan)
    assert low <= 1.5 <= high


def test_means_are_over_seeds_for_each_setting() -> None:
    found = mean_over_seeds(table(loss=effects(10.0, 1.0, 0.0)), "loss")
    assert len(found) == 6
    means = {
        (s.settings["objective.name"], s.settings["objective.beta"]): s.estimate for s in found
    }
    assert means["o1", 2.0].value == pytest.approx(11.0) and means["o1", 2.0].n == 4


def test_settings_come_in_the_order_of_numbers_whatever_that_of_runs() -> None:
    made = table(loss=effects(0, 1, 0))
    turned = made.select(reversed(range(len(made))))
    order = [(one.settings["objective.name"], one.settings["objective.beta"])
             for one in mean_over_seeds(turned, "loss")]  # fmt: skip
    assert order == [(f"o{o}", float(b)) for o in range(2) for b in range(3)]


def test_pairs_find_what_seeds_hide(generator: np.random.Generator) -> None:
    seeds = generator.normal(0.0, 10.0, size=8)
    found = paired(seeds, seeds + 0.5 + generator.normal(0.0, 0.05, size=8))
    assert found.wins == 8 and found.p_value == pytest.approx(2 / 2**8)
    low, high = found.estimate.interval or (np.nan, np.nan)
    assert 0.3 < low < high < 0.7
    alone = mean_by_student(seeds + 0.5).interval or (np.nan, np.nan)
    assert alone[0] < 0.0 < alone[1]


def test_the_paired_test_is_exact_for_few_pairs_and_level_for_many(
    generator: np.random.Generator,
) -> None:
    assert paired([0, 0, 0], [1, 2, 3]).p_value == pytest.approx(2 / 8)
    assert paired([0, 0], [1, -1]).p_value == 1.0
    assert paired([1.0], [2.0]).p_value is None
    values = [paired(np.zeros(20), generator.normal(size=20)).p_value or 0.0 for _ in range(400)]
    assert 0.02 < np.mean(np.array(values) < 0.05) < 0.09
    with pytest.raises(UsageError, match="shapes"):
        paired([1, 2], [1])


def test_rank_correlations_are_spearmans(generator: np.random.Generator) -> None:
    a, b = generator.normal(size=(2, 24))
    made = table(a=a, grown=np.exp(a), fallen=-a, b=b.round(1), flat=np.ones(24))
    found = rank_correlations(made, ["a", "grown", "fallen", "b", "flat"])
    assert found[0, 1] == pytest.approx(1.0) and found[0, 2] == pytest.approx(-1.0)
    assert found[0, 3] == pytest.approx(stats.spearmanr(a, b.round(1)).statistic)
    assert np.isnan(found[0, 4])
    np.testing.assert_array_equal(found, found.T)


def test_rank_correlations_use_the_runs_that_have_both(generator: np.random.Generator) -> None:
    a, b = generator.normal(size=(2, 24))
    gaps = np.where(np.arange(24) < 5, np.nan, a)
    found = rank_correlations(table(a=gaps, b=b), ["a", "b"])
    assert found[0, 1] == pytest.approx(stats.spearmanr(a[5:], b[5:]).statistic)
    assert found[0, 0] == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("sizes", "shares"),
    [
        ((1.0, 0.0, 0.0), (1.0, 0.0, 0.0)),
        ((0.0, 1.0, 0.0), (0.0, 1.0, 0.0)),
        ((0.0, 0.0, 1.0), (0.0, 0.0, 1.0)),
        # Variances of 0, 1; of -1, 0, 1; of -1.5 .. 1.5: 1/4, 2/3 and 5/4.
        ((1.0, 1.0, 1.0), (0.25 / (13 / 6), (2 / 3) / (13 / 6), 1.25 / (13 / 6))),
    ],
)
def test_shares_of_variance_are_those_that_were_put_in(
    sizes: tuple[float, float, float], shares: tuple[float, float, float]
) -> None:
    found = variance_shares(table(loss=effects(*sizes)), "loss")
    assert found is not None
    np.testing.assert_allclose(list(found.share.values()), shares, atol=1e-12)
    assert sum(found.share.values()) == pytest.approx(1.0)


def test_noise_gets_the_shares_that_chance_gives(generator: np.random.Generator) -> None:
    kinds = ("objective", "strength", "seed")
    found = [variance_shares(table(loss=generator.normal(size=24)), "loss") for _ in range(300)]
    means = [np.mean([s.share[k] for s in found if s is not None]) for k in kinds]
    assert found[0] is not None
    np.testing.assert_allclose(means, [found[0].chance[k] for k in kinds], atol=0.02)


def test_one_seed_says_nothing_about_seeds() -> None:
    one = table(seeds=1, loss=np.arange(6.0))
    assert variance_shares(one, "loss") is None
    assert variance_shares(table(loss=np.ones(24)), "loss") is None
    with pytest.raises(UsageError, match="no column mig"):
        variance_shares(one, "mig")
