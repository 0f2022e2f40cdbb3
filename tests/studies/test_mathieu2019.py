"""What the studies of mathieu2019 measure, on cases with known answers."""

import numpy as np
import pytest

from vaescope.codes import Codes
from vaescope.studies.mathieu2019 import (
    appendix_c,
    appendix_c_dimension,
    isotropic_encoder,
    theorems,
)
from vaescope.studies.mathieu2019.figure_2 import by_rank, to_normal
from vaescope.studies.mathieu2019.figure_3 import covered
from vaescope.studies.mathieu2019.figure_6 import modes

MEANS = np.array([[0.0, -1.0], [0.0, 1.0], [1.0, 0.0], [-1.0, 0.0]])


def test_a_mode_is_covered_by_half_of_its_share_and_not_by_one_broad_blob() -> None:
    noise = np.random.default_rng(0).standard_normal((4000, 2))
    at_all = np.tile(MEANS, (1000, 1)) + 0.17 * noise
    assert covered(at_all, MEANS, 0.173) == 4
    assert covered(np.where(at_all[:, :1] > 0.5, at_all, MEANS[0]), MEANS, 0.173) == 2
    assert covered(0.6 * noise, MEANS, 0.173) == 0


def test_modes_are_points_above_all_their_neighbours() -> None:
    axis = np.linspace(-3.0, 3.0, 61)
    x, y = np.meshgrid(axis, axis, indexing="ij")
    assert modes(-(x**2) - y**2) == 1
    assert modes(-((x**2 - 1.0) ** 2) - (y**2 - 1.0) ** 2) == 4
    assert modes(x) == 0  # a slope has none


def test_ranks_forget_the_tails_and_keep_the_order() -> None:
    mean = np.random.default_rng(1).standard_t(1.5, size=(500, 2))
    codes = Codes(mean, np.ones_like(mean), mean)
    ranked = by_rank(codes).mean
    np.testing.assert_array_equal(ranked.argsort(0), mean.argsort(0))
    assert np.abs(ranked).max() < 3.2
    np.testing.assert_allclose(by_rank(Codes(mean**3, np.ones_like(mean), mean)).mean, ranked)


def test_the_map_to_a_normal_is_odd_and_matches_quantiles() -> None:
    # Student's t with one degree of freedom has 3/4 of its mass below 1; the normal below 0.6745.
    np.testing.assert_allclose(to_normal(np.array([1.0, -1.0, 0.0]), 1.0), [0.67449, -0.67449, 0.0],
                               atol=1e-5)  # fmt: skip
    assert np.isfinite(to_normal(np.array([1e6]), 5.0)).all()


@pytest.mark.slow
def test_a_small_batch_estimates_log_n_plus_the_encoders_entropy_and_all_rows_less() -> None:
    """About 0.4 of 1,000 data points share a code: enough for the exact mixture to be below."""
    few = appendix_c.compute({"seed": 0, "size": 1000, "batch": 16})
    exact = appendix_c.compute({"seed": 0, "size": 1000, "batch": 1000})
    limit = np.log(1000) + 2 * np.log(0.02) + 1.0 + np.log(2.0 * np.pi)
    assert few["entropy"] == pytest.approx(limit, abs=0.05)
    assert exact["entropy"] < limit - 0.1


@pytest.mark.slow
def test_the_identities_fail_where_they_must() -> None:
    """A wrong constant, and a rotation that is not one, are seen."""
    found = theorems.compute({"seed": 100, "beta": 4.0})
    assert found["corollary_1_error"] < 1e-9 < 0.1 < found["diagonal_change"]
    assert found["gradient_at_the_image"] < 1e-5 < 0.1 < found["gradient_elsewhere"]


def test_shares_are_squared_cosines_of_turned_latents() -> None:
    """An isotropic encoder may turn whitened components by any angle."""
    stream = np.random.default_rng(2)
    x = stream.normal(size=(20_000, 3)) * [3.0, 2.0, 0.1]
    x -= x.mean(axis=0)
    left, _, _ = np.linalg.svd(x, full_matrices=False)
    angle = 0.4
    turn = np.array([[np.cos(angle), -np.sin(angle)], [np.sin(angle), np.cos(angle)]])
    found = isotropic_encoder.shares(left[:, :2] @ turn.T, x)
    np.testing.assert_allclose(found, turn**2, atol=1e-6)


@pytest.mark.slow
def test_the_exact_entropy_of_one_latent_is_that_of_its_normal() -> None:
    """Of 10,000 encodings in one dimension q(z) is N(0, 1) all but exactly."""
    found = appendix_c_dimension.compute({"dimension": 1, "batch": 512, "seed": 100})
    limit = np.log(appendix_c_dimension.SIZE) + np.log(appendix_c_dimension.DEVIATION)
    np.testing.assert_allclose(found["truth_to_limit"], limit, atol=0.15)  # H[q] = H[N(0, 1)]
    far = appendix_c_dimension.compute({"dimension": 16, "batch": 32, "seed": 100})
    assert abs(far["to_limit"]) < 1e-3 and far["significant"] == 0.0
