import json

import numpy as np
import pytest

from vaescope.codes import Codes
from vaescope.decomposition import aggregate, inclusive_kl, mmd, mmd_joint
from vaescope.errors import ShapeError
from vaescope.prior_density import GaussianDensity


def by_hand(x: np.ndarray, y: np.ndarray, widths: list[float]) -> float:
    n = len(x)

    def kernel(a: np.ndarray, b: np.ndarray) -> float:
        return sum(c / (c + float(np.square(a - b).sum())) for c in widths)

    within = sum(
        kernel(x[i], x[j]) + kernel(y[i], y[j]) for i in range(n) for j in range(n) if i != j
    )
    across = sum(kernel(x[i], y[j]) for i in range(n) for j in range(n))
    return within / (n * (n - 1)) - 2 * across / (n * n)


def test_mmd_is_mathieu2019s_statistic(generator: np.random.Generator) -> None:
    scales = [0.1, 0.2, 0.5, 1.0, 2.0, 5.0]
    x, y = generator.normal(size=(2, 20, 3))
    each = sum(by_hand(x[:, [j]], y[:, [j]], [2 * s for s in scales]) for j in range(3))
    assert mmd(x, y) == pytest.approx(each, abs=1e-12)
    assert mmd_joint(x, y) == pytest.approx(by_hand(x, y, [6 * s for s in scales]), abs=1e-12)


def test_mmd_is_zero_in_the_mean_for_equal_distributions_and_grows_with_a_shift(
    generator: np.random.Generator,
) -> None:
    x, y = generator.normal(size=(2, 500, 2))
    assert abs(mmd(x, y)) < 0.03
    assert mmd(x, y + 0.5) > 0.1
    assert mmd(x, y + 1.0) > 2 * mmd(x, y + 0.5)


def test_only_the_joint_mmd_sees_dependence(generator: np.random.Generator) -> None:
    x, y = generator.normal(size=(2, 800, 2))
    x[:, 1] = x[:, 0]
    assert mmd(x, y) < 0.03
    assert mmd_joint(x, y) > 0.05


def test_inclusive_kl_is_the_closed_form_for_one_gaussian() -> None:
    """KL(N(0, 1) || N(m, v)) = 0.5 (log v + (1 + m^2) / v - 1) in each of two latents."""
    mean = np.tile([0.5, 0.0], (30, 1))
    codes = Codes(mean, np.full((30, 2), 2.0), mean)
    known = 0.5 * (np.log(2) + 1.25 / 2 - 1) + 0.5 * (np.log(2) + 1 / 2 - 1)
    result = inclusive_kl(codes)
    assert result.value == pytest.approx(known, abs=3 * result.standard_error)
    assert result.standard_error < 0.03


def test_inclusive_kl_is_zero_where_posteriors_are_the_prior(
    generator: np.random.Generator,
) -> None:
    zeros = np.zeros((30, 2))
    assert inclusive_kl(Codes(zeros, np.ones((30, 2)), zeros)).value == pytest.approx(0, abs=1e-12)
    mean = generator.normal(size=(30, 2))
    variance = np.full((30, 2), 0.1)
    own = Codes(mean, variance, mean, prior=GaussianDensity(mean, variance))
    assert inclusive_kl(own).value == pytest.approx(0, abs=1e-12)


def test_inclusive_kl_punishes_a_hole_in_the_aggregate(generator: np.random.Generator) -> None:
    """Codes only on the right: half of the prior is uncovered."""
    mean = np.abs(generator.normal(size=(500, 1)))
    variance = np.full_like(mean, 0.01)
    sides = generator.choice([-1, 1], size=mean.shape)
    assert (
        inclusive_kl(Codes(mean, variance, mean)).value
        > 20 * inclusive_kl(Codes(sides * mean, variance, mean)).value
    )


def test_the_moments_of_the_aggregate_are_those_of_its_parts(
    generator: np.random.Generator,
) -> None:
    """Law of total covariance, diagonal and full."""
    mean, variance = generator.normal(size=(200, 2)), generator.random((200, 2)) + 0.1
    expected = np.cov(mean.T, bias=True) + np.diag(variance.mean(axis=0))
    result = aggregate(Codes(mean, variance, mean))
    np.testing.assert_allclose(result.covariance, expected)
    np.testing.assert_allclose(result.mean, mean.mean(axis=0))
    covariance = np.tile([[0.5, 0.2], [0.2, 0.5]], (200, 1, 1))
    full = aggregate(Codes(mean, np.full((200, 2), 0.5), mean, covariance=covariance))
    np.testing.assert_allclose(full.covariance, np.cov(mean.T, bias=True) + covariance[0])


def test_point_posteriors_have_no_inclusive_kl(generator: np.random.Generator) -> None:
    mean = generator.normal(size=(50, 2))
    result = aggregate(Codes(mean, np.zeros_like(mean), mean))
    assert result.inclusive_kl is None
    assert "KL" not in result.summary()
    json.dumps(result.to_dict(), allow_nan=False)


def test_rows_are_at_most_a_thousand_and_said(generator: np.random.Generator) -> None:
    mean = generator.normal(size=(1500, 1))
    result = aggregate(Codes(mean, np.full_like(mean, 0.1), mean), seed=4)
    assert result.to_dict()["protocol"] == {
        "n": 1500, "mmd_rows": 1000, "components": 1500, "seed": 4,
    }  # fmt: skip


def test_mmd_of_arrays_that_do_not_fit_is_a_named_error() -> None:
    with pytest.raises(ShapeError, match="same shape"):
        mmd(np.zeros((3, 2)), np.zeros((4, 2)))
    with pytest.raises(ShapeError, match="n >= 2"):
        mmd_joint(np.zeros((1, 2)), np.zeros((1, 2)))
