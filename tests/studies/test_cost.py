import json

import pytest
from tests.command import vaescope

from vaescope.studies.catalogue import find
from vaescope.studies.cost import StudyCost, TrainingRate, study_cost


def test_hours_are_those_of_all_steps_and_nodes_those_of_a_day() -> None:
    rates = (
        TrainingRate("a", runs=4, steps=3_600_000, seconds=0.1, bytes=1_000),
        TrainingRate("b", runs=1, steps=1_800, seconds=2.0, bytes=500),
    )
    cost = StudyCost("x/y", "paper", 4, 5, 5, rates)
    assert cost.core_hours == pytest.approx(101.0)
    assert cost.bytes == 4_500
    assert (cost.nodes(2), cost.nodes(4), cost.nodes(64)) == (3, 2, 1)


def test_what_cannot_be_timed_has_no_cost() -> None:
    rates = (TrainingRate("a", 1, 100, 0.1, 10), TrainingRate("b", 1, 100, None, 0, "no pairs"))
    cost = StudyCost("x/y", "paper", 1, 2, 2, rates, "no step could be timed of b (no pairs)")
    assert (cost.core_hours, cost.bytes, cost.nodes(2)) == (None, None, None)
    assert "not known: no step could be timed of b (no pairs)" in cost.summary()
    (computed,) = find("zietlow2022/table-4.2")
    cost = study_cost(computed, "smoke")
    assert cost.core_hours is None and "do not say what they train" in cost.summary()


@pytest.mark.parametrize("name", ["zietlow2022/figure-7.6", "zietlow2022/local-global"])
def test_what_trains_nothing_says_so(name: str) -> None:
    cost = study_cost(*find(name), "paper")
    assert (cost.core_hours, cost.bytes, cost.runs) == (0.0, 0, 0)
    assert "It trains no network" in cost.summary()


@pytest.mark.parametrize(
    ("name", "runs", "steps"),
    [
        ("zietlow2022/table-3.2-synth", 4, 4 * 375_000),  # two tasks, two and ten latents
        ("zietlow2022/seeds", 8, 8 * 1_500),  # four methods, two seeds of each
        ("zietlow2022/trained-local-global", 12, 12 * 375_000),  # three arms, four restarts
    ],
)
def test_trainings_within_computations_are_counted(name: str, runs: int, steps: int) -> None:
    cost = study_cost(*find(name), "paper", 1)
    assert cost.unknown == "" and cost.core_hours is not None and cost.core_hours > 0
    assert (cost.runs, sum(rate.steps for rate in cost.rates)) == (runs, steps)


@pytest.mark.slow
def test_runs_and_steps_are_those_that_would_be_trained() -> None:
    """Twice the seeds are twice the steps, and one kind of training is timed once."""
    (study,) = find("zietlow2022/table-3.3-synth")
    one, two = (study_cost(study, "smoke", units) for units in (1, 2))
    assert two.runs == 2 * one.runs == 2 * one.cells
    assert len(two.rates) == len(one.rates) <= one.runs
    assert sum(r.steps for r in two.rates) == 2 * sum(r.steps for r in one.rates)
    assert one.core_hours is not None and one.core_hours > 0


@pytest.mark.slow
@pytest.mark.parametrize(
    "name", ["bonheme2023/figure-7", "grzes2023/figures", "zietlow2022/table-3.3-dsprites"]
)
def test_paper_scale_is_priced_without_its_data(name: str) -> None:
    """smallNORB is not at hand, u of an identifiable VAE are factors, and the thesis's beta-VAE of
    dSprites would diverge on noise."""
    found = json.loads(vaescope("study", name, "--scale", "paper", "--estimate", "--json").stdout)
    (cost,) = found["studies"]
    assert cost["unknown"] == ""
    assert cost["core_hours"] > 10 and cost["bytes"] > 10**7 and cost["nodes_for_one_day"] >= 1
    assert sum(one["runs"] for one in cost["trainings"]) == cost["runs"]
