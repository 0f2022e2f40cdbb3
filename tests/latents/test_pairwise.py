import numpy as np
import pytest
from scipy.special import ndtri
from scipy.stats import rankdata

from vaescope.information.binning import equal_width
from vaescope.information.discrete import mutual_information
from vaescope.latents.pairwise import normal_scores, pairwise


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("kind", ["smooth", "on the edges", "rounded"])
def test_binned_information_is_that_of_the_information_package(
    kind: str, dtype: type, generator: np.random.Generator
) -> None:
    """20,000 rows are more than one chunk; values k / 20 lie on the edges of the bins."""
    values = {
        "smooth": generator.normal(size=(20_000, 4)),
        "on the edges": generator.integers(21, size=(20_000, 4)) / 20,
        "rounded": np.round(generator.normal(size=(20_000, 4)), 1),
    }[kind].astype(dtype)
    values[:, 1] += values[:, 0]
    classes = equal_width(values, 20)
    expected = mutual_information(classes, classes)
    np.fill_diagonal(expected, 0.0)
    np.testing.assert_allclose(pairwise(values).mutual_information, expected, atol=1e-12)


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
@pytest.mark.parametrize("decimals", [9, 1, 0])
def test_normal_scores_are_quantiles_of_ranks_with_ties_in_the_middle(
    dtype: type, decimals: int, generator: np.random.Generator
) -> None:
    column = np.round(generator.normal(size=3001), decimals).astype(dtype)
    table = ndtri((np.arange(3001) + 0.5) / 3001)
    ranks = rankdata(column) - 1.0
    expected = 0.5 * (table[np.floor(ranks).astype(int)] + table[np.ceil(ranks).astype(int)])
    np.testing.assert_allclose(normal_scores(column, table), expected, atol=1e-15)


def test_the_covariance_is_numpys(generator: np.random.Generator) -> None:
    values = generator.normal(size=(50, 3)) @ generator.normal(size=(3, 3))
    result = pairwise(values)
    np.testing.assert_allclose(result.covariance, np.cov(values.T))
    np.testing.assert_allclose(result.correlation, np.corrcoef(values.T))


def test_minus_zero_ties_with_zero() -> None:
    column = np.array([0.0, -0.0, 1.0], dtype=np.float32)
    scores = normal_scores(column, ndtri((np.arange(3) + 0.5) / 3))
    assert scores[0] == scores[1] < scores[2]


def test_rank_correlation_does_not_see_how_each_latent_is_stretched(
    generator: np.random.Generator,
) -> None:
    values = generator.normal(size=(2000, 2)) @ np.array([[1.0, 0.8], [0.0, 0.6]])
    bent = np.column_stack([np.exp(values[:, 0]), values[:, 1] ** 3])
    np.testing.assert_allclose(
        pairwise(bent).rank_correlation, pairwise(values).rank_correlation, atol=1e-12
    )
    assert pairwise(values).rank_correlation[0, 1] == pytest.approx(0.8, abs=0.03)


def test_constant_latents_depend_on_nothing(generator: np.random.Generator) -> None:
    """0.1 + 1e-17 k is constant to rounding: float64 has no room for 20 bins between."""
    values = generator.normal(size=(100, 3))
    values[:, 1] = 0.1
    values[:, 2] = 1.0 + 2e-16 * generator.integers(3, size=100)
    result = pairwise(values)
    for matrix in (result.correlation, result.rank_correlation):
        np.testing.assert_array_equal(matrix, np.eye(3))
    assert np.count_nonzero(result.covariance) == 1
    assert not result.mutual_information.any()
