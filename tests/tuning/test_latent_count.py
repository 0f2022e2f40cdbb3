"""How many latents data need: searches with known answers, and data of known dimension."""

import json
import sys

import numpy as np
import pytest

import vaescope as vs
from vaescope.cli.app import main
from vaescope.errors import DataError, UsageError
from vaescope.estimates import Estimate
from vaescope.metrics.intrinsic_dimension import mle_dimension
from vaescope.tuning.latent_count import LatentTrial, bisected, gaussian_dimension


def trial(latents: int, *, means: float | None = 1.0, samples: float = 1.0) -> LatentTrial:
    estimate = None if means is None else Estimate(means, None, 100)
    return LatentTrial(
        latents, estimate, Estimate(samples, None, 100), estimate, latents, 0, 0, 0.0, 0.0
    )


@pytest.mark.parametrize("start", [1, 3, 7, 20, 64])
@pytest.mark.parametrize("answer", [0, 1, 2, 5, 13, 40, 63])
def test_the_most_latents_that_fit_are_found_from_any_start(start: int, answer: int) -> None:
    tried: list[int] = []

    def train(latents: int) -> LatentTrial:
        tried.append(latents)
        return trial(latents)

    assert bisected(start, 64, train, lambda one: one.latents <= answer) == answer
    assert len(tried) == len(set(tried)) <= 13 and max(tried) <= 64


def test_a_search_without_time_or_end_is_open() -> None:
    assert bisected(2, 64, lambda latents: None, lambda one: True) is None
    assert bisected(2, 64, trial, lambda one: True) is None


@pytest.mark.slow
@pytest.mark.parametrize("d", [1, 2, 5, 10])
def test_the_dimension_of_normal_means_is_not_underestimated(d: int) -> None:
    """Nearest neighbours see less than 10 dimensions there; 2,000 points of another seed."""
    points = np.random.default_rng(7).standard_normal((2_000, d))
    found = mle_dimension(points, k=20).value
    assert gaussian_dimension(trial(20, means=found), 2_000) == d
    assert gaussian_dimension(trial(20, means=None), 2_000) == 0


def test_a_count_that_cannot_be_is_refused() -> None:
    with pytest.raises(UsageError, match="at least 2"):
        vs.how_many_latents("synth-linear", most=1)
    with pytest.raises(UsageError, match="no types"):
        vs.how_many_latents("synth-linear", preset="ae")


@pytest.mark.slow
def test_two_linear_factors_are_counted_by_the_command(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    given = [
        "vaescope", "how-many", "linear-gaussian", "data.eigenvalues=[4,2]", "data.dimension=6",
        "data.noise=0.1", "data.n=2000", "net.name=linear", "batch=128", "steps=300",
        "optimiser.lr=0.01", "--most", "6", "--json", "--quiet",
    ]  # fmt: skip
    monkeypatch.setattr(sys, "argv", given)
    with pytest.raises(SystemExit) as ended:
        main()
    assert ended.value.code in (0, None)
    found = json.loads(capsys.readouterr().out)
    assert found["recommended"] == 2
    assert found["used"] == found["dimension"] == 2 and found["wide"]["passive"] == 4
    assert {"fondue", "by_types", "data", "trials", "notes", "seconds"} <= set(found)
    assert all(one["latents"] <= 6 for one in found["trials"])


def test_data_that_do_not_vary_are_refused_not_counted_as_one_latent() -> None:
    with pytest.raises(DataError, match="All rows of array are the same"):
        vs.how_many_latents(np.ones((50, 4), dtype=np.float32), steps=2)
