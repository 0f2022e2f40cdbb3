import numpy as np

from vaescope.latents.moments import chunks, moments, spreads


def test_chunks_cover_each_row_once() -> None:
    rows = np.concatenate([np.arange(10)[own] for own in chunks(10, 4)])
    np.testing.assert_array_equal(rows, np.arange(10))


def test_covariance_over_chunks_is_exact_far_from_the_origin(
    generator: np.random.Generator,
) -> None:
    """Spread 1e-3 around 1e4: a sum of squares would lose all digits of it."""
    x = 1e4 + 1e-3 * generator.normal(size=(50_000, 3))
    result = moments(x)
    np.testing.assert_allclose(result.mean, x.mean(axis=0), rtol=1e-13)
    expected = np.cov((x - 1e4).T, bias=True)
    np.testing.assert_allclose(result.covariance, expected, rtol=1e-6, atol=1e-14)
    np.testing.assert_array_equal(result.variance, np.diag(result.covariance))


def test_a_constant_is_its_own_mean_without_variance() -> None:
    result = moments(np.full((20_000, 1), 0.9))
    assert result.mean.tolist() == [0.9]
    assert result.variance.tolist() == [0.0]


def test_spreads_are_moments_without_covariances(generator: np.random.Generator) -> None:
    x = 1e4 + 1e-3 * generator.normal(size=(40_000, 3)).astype(np.float32)
    whole, apart = moments(x), spreads(x)
    np.testing.assert_array_equal(apart.mean, whole.mean)
    np.testing.assert_allclose(apart.variance, whole.variance, rtol=1e-12)
