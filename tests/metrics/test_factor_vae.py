from typing import Any

import numpy as np
import pytest

from vaescope.codes import Codes
from vaescope.errors import ShapeError
from vaescope.metrics import factor_vae


def test_ranges_of_disentanglement_lib(perfect: Codes, constant: Codes) -> None:
    assert factor_vae(perfect, votes=2000, test_votes=1000).value > 0.99
    assert factor_vae(constant).value == 0.0


def test_votes_equal_those_of_a_plain_loop_in_distribution(
    make: Any, generator: np.random.Generator
) -> None:
    v = generator.integers(4, size=(2000, 3))
    z = v @ np.array([[1.0, 0.4, 0.0], [0.0, 1.0, 0.6], [0.3, 0.0, 1.0]])
    spread = z.var(axis=0, ddof=1)
    votes = np.zeros((2, 3, 3))
    for half in range(2):
        for _ in range(1500):
            k = generator.integers(3)
            same = np.flatnonzero(v[:, k] == v[generator.integers(2000), k])
            rows = generator.choice(same, 64)
            votes[half, k, np.argmin(z[rows].var(axis=0, ddof=1) / spread)] += 1
    plain = votes[1, votes[0].argmax(axis=0), np.arange(3)].sum() / 1500
    score = factor_vae(make(z, v))
    assert score.value == pytest.approx(plain, abs=0.04)
    np.testing.assert_allclose(score.details["votes"] / 10_000, votes[0] / 1500, atol=0.04)


def test_latents_of_small_deviation_have_no_vote(make: Any, factors: np.ndarray) -> None:
    z = np.hstack([factors, 1e-3 * factors])
    score = factor_vae(make(z, factors), votes=500, test_votes=200)
    assert score.protocol.settings["latents"] == [0, 1, 2, 3, 4]
    assert not score.details["votes"][:, 5:].any()


def test_a_score_from_its_own_votes_is_not_lower(make: Any, generator: np.random.Generator) -> None:
    v = generator.integers(3, size=(1000, 3))
    codes = make(generator.normal(size=(1000, 6)), v)  # votes are guesses
    fresh = factor_vae(codes, votes=60, test_votes=3000).value
    own = [factor_vae(codes, votes=60, test_votes=0, seed=s).value for s in range(5)]
    assert fresh == pytest.approx(1 / 3, abs=0.05)
    assert np.mean(own) > fresh


def test_one_factor_is_not_enough(make: Any, factors: np.ndarray) -> None:
    with pytest.raises(ShapeError, match="2 factors"):
        factor_vae(make(factors, factors[:, :1]))
