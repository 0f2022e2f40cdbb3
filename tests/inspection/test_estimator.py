"""`vs.inspect` of a fitted `vs.VAEEstimator`."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray
from sklearn.exceptions import NotFittedError

import vaescope as vs
from vaescope.data import Dataset
from vaescope.errors import ShapeError, UsageError

X: NDArray[np.float64] = np.random.default_rng(0).normal(size=(120, 5))
FEW: dict[str, Any] = {"latent": 3, "steps": 20, "batch": 16, "lr": 1e-3}


@pytest.mark.slow
def test_an_estimator_is_dissected_as_the_run_with_its_settings(tmp_path: Path) -> None:
    estimator = vs.VAEEstimator(**FEW, beta=0.5, random_state=3).fit(X)
    run = vs.train("beta-vae", X, out=tmp_path, beta=0.5, seed=3, **FEW)
    own, wanted = (vs.inspect(model, X, effort="fast") for model in (estimator, run))
    assert [one.type for one in own.latents] == [one.type for one in wanted.latents]
    assert own.geometry is not None and wanted.geometry is not None
    assert {name: one.value for name, one in own.geometry.measures.items()} == pytest.approx(
        {name: one.value for name, one in wanted.geometry.measures.items()}, rel=1e-4
    )
    assert own.to_dict()["fit"] == pytest.approx(wanted.to_dict()["fit"], rel=1e-4)
    assert [one.id for one in own.verdicts] == [one.id for one in wanted.verdicts]


@pytest.mark.slow
def test_the_noise_of_its_posteriors_is_seen_and_its_page_is_written(tmp_path: Path) -> None:
    estimator = vs.VAEEstimator(**FEW, random_state=0).fit(X)
    found = vs.inspect(estimator, X, effort="fast")
    assert found.subject.name == "VAEEstimator"
    assert found.training is not None and found.settings is not None
    codes = estimator.codes(X)
    means = np.array([one.mean_variance for one in sorted(found.latents, key=lambda o: o.index)])
    np.testing.assert_allclose(means, codes.variance.mean(0), rtol=1e-5)
    found.save(tmp_path / "report.html")
    assert "VAEEstimator" in (tmp_path / "report.html").read_text("utf-8")


@pytest.mark.slow
def test_an_estimator_of_images_has_reconstructions_and_sliders(small_sprites: Dataset) -> None:
    images = small_sprites.rows(np.arange(0, len(small_sprites), 8))
    found = vs.inspect(vs.VAEEstimator(**FEW).fit(images), images, effort="fast")
    assert found.reconstructions is not None and found.network is not None


def test_unfitted_other_rows_and_overrides_are_refused() -> None:
    with pytest.raises(NotFittedError, match="not fitted"):
        vs.inspect(vs.VAEEstimator(), X)
    estimator = vs.VAEEstimator(**FEW).fit(X)
    with pytest.raises(ShapeError, match=r"shape \(4,\); the estimator was fitted on \(5,\)"):
        vs.inspect(estimator, X[:, :4])
    with pytest.raises(UsageError, match="meaning of outputs is known"):
        vs.inspect(estimator, X, posterior="halves")
    with pytest.raises(UsageError, match="Only a run records its data"):
        vs.inspect(estimator)
