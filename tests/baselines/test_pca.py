import numpy as np
import pytest

from vaescope.baselines import (
    PCA,
    decode_latents,
    decode_scores,
    fit_pca,
    pca_posterior,
    pca_scores,
)
from vaescope.data import Dataset
from vaescope.data.synthetic import linear_gaussian


@pytest.fixture(scope="module")
def data() -> Dataset:
    return linear_gaussian(eigenvalues=(4.0, 2.0, 1.0), dimension=6, noise=0.3, n=2000)


@pytest.fixture(scope="module")
def model(data: Dataset) -> PCA:
    return fit_pca(data, 3)


def flat(data: Dataset) -> np.ndarray:
    return data.rows(np.arange(len(data))).reshape(len(data), -1).astype(np.float64)


def test_scores_are_numpys_principal_components(data: Dataset, model: PCA) -> None:
    x = flat(data)
    values, axes = np.linalg.eigh(np.cov(x, rowvar=False, ddof=0))
    codes = pca_scores(model, data)
    np.testing.assert_allclose(model.variances, values[::-1][:3])
    np.testing.assert_allclose(model.noise, values[:3].mean())
    expected = (x - x.mean(0)) @ axes[:, ::-1][:, :3]
    np.testing.assert_allclose(np.abs(codes.mean), np.abs(expected), atol=1e-9)
    np.testing.assert_allclose(np.cov(codes.mean, rowvar=False, ddof=0), np.diag(model.variances),
                               atol=1e-9)  # fmt: skip
    assert not codes.variance.any()
    np.testing.assert_array_equal(codes.sample, codes.mean)


def test_scores_decode_to_the_best_reconstruction_of_that_rank(data: Dataset, model: PCA) -> None:
    x = flat(data)
    back = decode_scores(model, pca_scores(model, data).mean)
    u, s, vt = np.linalg.svd(x - x.mean(0), full_matrices=False)
    best = x.mean(0) + (u[:, :3] * s[:3]) @ vt[:3]
    np.testing.assert_allclose(back, best, atol=1e-9)
    np.testing.assert_allclose(np.square(x - back).sum(1).mean(), 3 * model.noise, rtol=1e-9)


def test_the_posterior_is_bayes_rule_in_the_fitted_model(data: Dataset, model: PCA) -> None:
    """Gaussian conditioning in the joint of x and z, written out."""
    w = model.axes * np.sqrt(model.variances - model.noise)
    covariance = w @ w.T + model.noise * np.eye(6)
    gain = w.T @ np.linalg.inv(covariance)
    codes = pca_posterior(model, data)
    np.testing.assert_allclose(codes.mean, (flat(data) - model.centre) @ gain.T, atol=1e-9)
    np.testing.assert_allclose(codes.variance[0], np.diag(np.eye(3) - gain @ w), atol=1e-12)
    np.testing.assert_allclose(codes.mean.var(0) + codes.variance[0], 1.0, atol=1e-9)
    residual = (codes.sample - codes.mean) / np.sqrt(codes.variance)
    np.testing.assert_allclose(residual.std(0), 1.0, atol=0.05)


def test_latents_decode_with_the_models_columns(model: PCA) -> None:
    z = np.eye(3)
    w = model.axes * np.sqrt(model.variances - model.noise)
    np.testing.assert_allclose(decode_latents(model, z), model.centre + w.T)


def test_codes_keep_the_ground_truth_of_the_rows_asked_for(small_sprites: Dataset) -> None:
    model = fit_pca(small_sprites, 4)
    index = np.array([3, 100, 7])
    codes = pca_scores(model, small_sprites, index=index)
    assert small_sprites.factors is not None
    np.testing.assert_array_equal(codes.factors, small_sprites.factors.classes(index))
    whole = pca_scores(model, small_sprites)
    np.testing.assert_allclose(codes.mean, whole.mean[index])
    assert decode_scores(model, codes.mean).shape == (3, *small_sprites.shape)


def test_directions_without_variance_have_the_prior_as_posterior() -> None:
    flat_data = linear_gaussian(eigenvalues=(2.0, 1.0), dimension=4, noise=0.0, n=300)
    model = fit_pca(flat_data, 2)
    dead = PCA(model.centre, model.axes, np.array([model.variances[0], 0.0]), 0.0, model.event)
    codes = pca_posterior(dead, flat_data)
    np.testing.assert_allclose(codes.variance[0], [0.0, 1.0])
    assert not codes.mean[:, 1].any()
