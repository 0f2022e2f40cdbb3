"""`vs.VAEEstimator` keeps scikit-learn's laws, and is the VAE that `vs.train` trains."""

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from numpy.typing import NDArray
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

import vaescope as vs
from vaescope.data import Dataset
from vaescope.errors import RangeError, ShapeError, UsageError
from vaescope.estimator import VAEEstimator

Arrays = NDArray[np.float64]
FEW: dict[str, Any] = {"latent": 2, "steps": 20, "batch": 16, "random_state": 0}

#: scikit-learn's own checks that it does not pass, each with its reason: none.
EXPECTED: dict[str, str] = {}


@pytest.mark.slow
@parametrize_with_checks(
    [VAEEstimator(latent=2, steps=5, batch=8)], expected_failed_checks=lambda _: EXPECTED
)
def test_the_checks_of_scikit_learn_pass(estimator: VAEEstimator, check: Any) -> None:
    check(estimator)


@pytest.fixture(scope="module")
def table() -> Arrays:
    """200 rows of five columns that vary in two directions."""
    generator = np.random.default_rng(0)
    z = generator.normal(size=(200, 2))
    return np.asarray(z @ generator.normal(size=(2, 5)) + 0.01 * generator.normal(size=(200, 5)))


def test_a_whole_number_trains_what_vs_train_trains(table: Arrays, tmp_path: Path) -> None:
    own = VAEEstimator(beta=2.0, latent=2, steps=20, batch=16, lr=1e-3, random_state=3).fit(table)
    run = vs.train(
        "beta-vae", table, out=tmp_path, beta=2.0, latent=2, steps=20, batch=16, lr=1e-3, seed=3
    )
    weights = vs.load_vae(run).state_dict()
    for name, values in own.vae_.state_dict().items():
        assert torch.equal(values, weights[name]), name
    assert own.history_[-1].to_dict() == run.records()[-1]


def test_fit_leaves_nothing_behind(
    table: Arrays, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    threads, random = torch.get_num_threads(), torch.random.get_rng_state()
    torch.set_num_threads(2)
    try:
        VAEEstimator(**FEW, preset="pinwheel").fit(table)  # so small that it trains on one thread
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)
    assert list(tmp_path.rglob("*")) == []
    assert torch.equal(torch.random.get_rng_state(), random)


@pytest.mark.slow
def test_training_raises_the_score_and_codes_lead_back_to_the_data(table: Arrays) -> None:
    short = VAEEstimator(**FEW).fit(table)
    long = VAEEstimator(**{**FEW, "steps": 400}).fit(table)
    assert long.score(table) > short.score(table) + 1.0
    back = long.inverse_transform(long.transform(table))
    # The optimum of a linear VAE keeps 1 - 1 / (2 variance) of a direction (zietlow2022, Theorem
    # 2).
    assert np.mean((back - table) ** 2) < 0.3 * table.var()


def test_the_score_is_the_elbo_in_closed_form_where_the_decoder_ignores_z(table: Arrays) -> None:
    own = VAEEstimator(**FEW).fit(table)
    with torch.no_grad():
        own.vae_.decoder.body[-2].weight.zero_()
        own.vae_.decoder.body[-2].bias.zero_()
        own.vae_.encoder.posterior.head.weight.zero_()
        own.vae_.encoder.posterior.head.bias.copy_(torch.tensor([1.0, 0.0, 0.0, 0.0]))
    # N(0, 1/2) for x, and KL(N(1, 1) || N(0, 1)) = 1/2.
    log_likelihood = -(table**2).sum(1).mean() - 0.5 * table.shape[1] * np.log(np.pi)
    assert own.score(table) == pytest.approx(log_likelihood - 0.5, rel=1e-6)


def test_the_score_does_not_depend_on_the_call_and_hardly_on_the_precision(table: Arrays) -> None:
    own = VAEEstimator(**FEW).fit(table)
    assert own.score(table) == own.score(table)
    assert own.score(table.astype(np.float32)) == pytest.approx(own.score(table), rel=1e-5)


def test_transform_gives_posterior_means_and_codes_hold_them(table: Arrays) -> None:
    own = VAEEstimator(**FEW).fit(table)
    with torch.no_grad():
        means = own.vae_.encoder(torch.from_numpy(table).float()).mean.numpy()
    np.testing.assert_allclose(own.transform(table), means, atol=1e-5)
    codes = own.codes(table)
    np.testing.assert_allclose(codes.mean, means, atol=1e-5)
    assert vs.latents.types(codes).n == 200


def test_a_clone_is_unfitted_with_the_same_parameters_and_refits_to_the_same(table: Arrays) -> None:
    own = VAEEstimator(**FEW, beta=0.5).fit(table)
    other = clone(own)
    assert not hasattr(other, "vae_")
    assert other.get_params() == own.get_params()
    np.testing.assert_array_equal(other.fit_transform(table), own.transform(table))
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(own)).transform(table), own.transform(table)
    )
    assert other.set_params(beta=3.0).beta == 3.0


def test_a_generator_as_random_state_gives_another_model_at_each_fit(table: Arrays) -> None:
    own = VAEEstimator(**{**FEW, "random_state": np.random.RandomState(0)})
    first = own.fit_transform(table)
    assert not np.allclose(first, own.fit_transform(table))


def test_it_is_a_step_of_a_pipeline(table: Arrays) -> None:
    pipeline = make_pipeline(StandardScaler(), VAEEstimator(**FEW)).fit(table)
    assert pipeline.transform(table).shape == (200, 2)
    assert pipeline.inverse_transform(pipeline.transform(table)).shape == table.shape
    assert pipeline.get_feature_names_out().tolist() == ["vaeestimator0", "vaeestimator1"]
    assert np.isfinite(pipeline.score(table))
    assert pipeline[-1].n_features_in_ == 5


@pytest.mark.slow
def test_a_grid_search_chooses_the_strength_by_the_elbo(table: Arrays) -> None:
    search = GridSearchCV(
        VAEEstimator(**{**FEW, "steps": 200}), {"beta": np.array([1.0, 1000.0])}, cv=2
    ).fit(table)
    assert search.best_params_ == {"beta": 1.0}
    assert search.best_estimator_.experiment_.objective.name == "beta-vae"


def test_images_go_through_the_convolutional_pair_and_come_back(small_sprites: Dataset) -> None:
    images = small_sprites.rows(np.arange(0, len(small_sprites), 8))
    own = VAEEstimator(**{**FEW, "steps": 2}).fit(images)
    assert (own.experiment_.net.name, own.experiment_.likelihood.name) == ("conv", "bernoulli")
    codes = own.transform(images)
    assert codes.shape == (len(images), 2)
    assert codes.dtype == np.float32
    back = own.inverse_transform(codes)
    assert back.shape == images.shape
    assert 0.0 <= back.min() <= back.max() <= 1.0
    assert own.score(images) < 0.0
    np.testing.assert_allclose(own.transform(images.astype(np.float64)), codes, atol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", ["factor-vae", "beta-tcvae", "dip-vae-i", "ae"])
def test_presets_by_name(name: str, table: Arrays) -> None:
    own = VAEEstimator(**{**FEW, "steps": 2}, preset=name).fit(table)
    assert own.transform(table).shape == (200, 2)


def test_a_prior_that_starts_from_the_data_gets_them() -> None:
    images = np.random.default_rng(0).random((24, 1, 64, 64), np.float32)
    own = VAEEstimator(**{**FEW, "steps": 1}, preset="anisotropic-vae").fit(images)
    assert torch.isfinite(own.vae_.prior.log_shares).all()


def test_numbers_of_numpy_are_numbers(table: Arrays) -> None:
    own = VAEEstimator(latent=np.int64(2), steps=np.int64(1), lr=np.float32(1e-3)).fit(table)
    assert own.transform(table).shape == (200, 2)


def test_an_objective_overrides_the_presets(table: Arrays) -> None:
    own = VAEEstimator(**{**FEW, "steps": 2}, objective="beta-tcvae", beta=3.0).fit(table)
    assert (own.experiment_.objective.name, own.experiment_.objective.beta) == ("beta-tcvae", 3.0)


def test_what_it_cannot_do_is_refused_with_a_remedy(table: Arrays) -> None:
    with pytest.raises(RangeError, match="X / 255"):
        VAEEstimator(**FEW).fit(np.full((4, 1, 8, 8), 255, np.uint8))
    with pytest.raises(ShapeError, match="X\\[:, None\\]"):
        VAEEstimator(**FEW).fit(np.zeros((4, 8, 8)))
    with pytest.raises(ShapeError, match=r"np\.moveaxis\(X, -1, 1\)"):
        VAEEstimator(**FEW).fit(np.zeros((4, 8, 8, 3)))
    with pytest.raises(UsageError, match="auxiliary variable"):
        VAEEstimator(**FEW, preset="ivae").fit(table)
    with pytest.raises(UsageError, match=r"There is no setting objective\.beta"):
        VAEEstimator(**FEW, preset="factor-vae", beta=2.0).fit(table)
    own = VAEEstimator(**{**FEW, "steps": 1}).fit(np.zeros((4, 1, 8, 8)))
    with pytest.raises(ShapeError, match="it was fitted on"):
        own.transform(np.zeros((4, 1, 8, 9)))
    with pytest.raises(ShapeError, match="there are 2 latents"):
        own.inverse_transform(np.zeros((4, 3)))
    with pytest.raises(UsageError, match="has no rate"):
        VAEEstimator(**{**FEW, "steps": 1}, preset="ae").fit(table).score(table)
