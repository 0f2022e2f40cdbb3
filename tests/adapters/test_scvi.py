"""Models of scvi-tools, against what scvi-tools itself computes of the same cells."""

from typing import Any

import numpy as np
import pytest
import torch

import vaescope as vs
from vaescope.errors import UsageError

scvi = pytest.importorskip("scvi", reason="the extra scvi is not installed: see test_scvi_extra")
pytestmark = [
    pytest.mark.slow,
    pytest.mark.filterwarnings("ignore"),  # scvi-tools and Lightning have many of their own
]


def fit(adata: Any, epochs: int, **settings: Any) -> Any:
    model = scvi.model.SCVI(adata, n_latent=4, n_hidden=16, **settings)
    if epochs:
        model.train(max_epochs=epochs, accelerator="cpu", enable_progress_bar=False, logger=False)
    return model


def plain() -> Any:
    """Batches; zero-inflated negative binomial."""
    adata = scvi.data.synthetic_iid()
    scvi.model.SCVI.setup_anndata(adata, batch_key="batch", labels_key="labels")
    return fit(adata, 20)


def covariates() -> Any:
    """A layer, categories and numbers beside the batch, which the encoder sees too."""
    adata = scvi.data.synthetic_iid(sparse_format="csr_matrix")
    rng = np.random.default_rng(0)
    adata.layers["raw"], adata.X = adata.X.copy(), None
    adata.obs["lab"] = rng.choice(["a", "b", "c"], adata.n_obs)
    adata.obs["depth"] = rng.normal(size=adata.n_obs)
    scvi.model.SCVI.setup_anndata(
        adata, layer="raw", batch_key="batch", categorical_covariate_keys=["lab"],
        continuous_covariate_keys=["depth"],
    )  # fmt: skip
    return fit(adata, 2, gene_likelihood="nb", encode_covariates=True, dispersion="gene-batch")


def sized() -> Any:
    """Size factors instead of the library; Poisson; a logistic normal latent; untrained."""
    adata = scvi.data.synthetic_iid()
    adata.obs["size"] = np.random.default_rng(0).uniform(0.5, 2.0, adata.n_obs)
    scvi.model.SCVI.setup_anndata(adata, size_factor_key="size")
    return fit(adata, 0, gene_likelihood="poisson", latent_distribution="ln")


@pytest.fixture(scope="module", params=[plain, covariates, sized], ids=lambda f: f.__name__)
def model(request: pytest.FixtureRequest) -> Any:
    scvi.settings.seed = 0
    made = request.param()
    if not made.is_trained:
        made.is_trained = True  # so that scvi-tools gives its own numbers, to compare with
        made.module.eval()
    return made


def whole(model: Any) -> tuple[dict[str, torch.Tensor], Any]:
    """All cells as scvi-tools loads them, and its module in evaluation mode."""
    loader = model._make_data_loader(adata=model.adata, batch_size=model.adata.n_obs)
    return next(iter(loader)), model.module.eval()


def test_types_and_kl_are_those_of_the_latent_representation(model: Any) -> None:
    found = vs.inspect(model, effort="latents")
    mean, variance = model.get_latent_representation(return_dist=True)
    opened = vs.open_model(model)
    np.testing.assert_allclose(opened.codes.mean, mean[opened.rows], rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(opened.codes.variance, variance[opened.rows], rtol=1e-4)
    kl = 0.5 * (mean**2 + variance - 1 - np.log(variance)).mean(0)
    latents = sorted(found.latents, key=lambda latent: latent.index)
    np.testing.assert_allclose([latent.kl_nats for latent in latents], kl, rtol=1e-4)
    steady = variance.var(0) < 0.1  # bonheme2023's thresholds, and means that do not move
    passive = steady & (abs(variance.mean(0) - 1) <= 0.1) & (mean.var(0) < 0.1)
    active = steady & (variance.mean(0) <= 0.1)
    assert [latent.type for latent in latents] == [
        "active" if a else "passive" if p else "mixed" for a, p in zip(active, passive, strict=True)
    ]
    assert not opened.prior_assumed and "Inferred:" in found.summary()
    assert opened.codes.supervised == model.module.encode_covariates


def test_the_likelihood_is_the_models_own_cell_by_cell(model: Any) -> None:
    opened = vs.open_model(model)
    places = np.arange(len(opened.rows))
    noise = opened.noise(places)
    tensors, module = whole(model)
    mean, variance = model.get_latent_representation(return_dist=True)
    z = torch.from_numpy(mean[opened.rows] + np.sqrt(variance[opened.rows]) * noise)
    tensors = {key: value[opened.rows] for key, value in tensors.items()}
    with torch.no_grad():
        inference = module.inference(**module._get_inference_input(tensors))
        ln = module.latent_distribution == "ln"
        inference["z"] = torch.softmax(z, 1) if ln else z
        generative = module.generative(**module._get_generative_input(tensors, inference))
        own = module.loss(tensors, inference, generative)
    np.testing.assert_allclose(
        opened.distortion(places, noise), own.reconstruction_loss["reconstruction_loss"], rtol=1e-3
    )
    np.testing.assert_allclose(
        opened.rate(places, noise), own.kl_local["kl_divergence_z"], rtol=1e-3, atol=1e-4
    )


def test_elbo_and_distortion_are_those_that_scvi_reports(model: Any) -> None:
    opened = vs.open_model(model)
    places = np.arange(len(opened.rows))
    reports = [float(model.get_elbo()) for _ in range(8)]
    lost = [float(model.get_reconstruction_error()["reconstruction_loss"]) for _ in range(8)]
    ours = [opened.elbo(places, np.random.default_rng(seed).normal(size=(len(places), 4)))
            for seed in range(8)]  # fmt: skip
    spread = np.hypot(np.std(reports), np.std(np.mean(ours, axis=1)))
    assert np.mean(ours) == pytest.approx(np.mean(reports), abs=4 * spread + 1e-3 * abs(reports[0]))
    noise = opened.noise(places)
    assert opened.distortion(places, noise).mean() == pytest.approx(np.mean(lost), rel=0.01)


def test_the_whole_dissection_runs_and_its_parts_say_what_they_are() -> None:
    scvi.settings.seed = 0
    found = vs.inspect(plain(), effort="fast")
    said = {one.what: one.value for one in found.inferred}
    assert said["likelihood"] == "zinb" and said["condition"] == "batch, labels, library size"
    assert found.fit is not None and found.geometry is not None and found.factors is not None


def test_other_models_modules_and_data_are_refused_with_a_way_out() -> None:
    adata = scvi.data.synthetic_iid()
    scvi.model.TOTALVI.setup_anndata(
        adata, batch_key="batch", protein_expression_obsm_key="protein_expression"
    )
    with pytest.raises(UsageError, match=r"TOTALVI of scvi-tools is not supported.*return_dist"):
        vs.inspect(scvi.model.TOTALVI(adata))
    scvi.model.LinearSCVI.setup_anndata(adata)
    with pytest.raises(UsageError, match="library size is a second latent"):
        vs.inspect(scvi.model.LinearSCVI(adata))
    linear = scvi.model.LinearSCVI(adata, use_observed_lib_size=True)
    with pytest.raises(UsageError, match="Pass the model itself"):
        vs.inspect(linear.module, adata)
    with pytest.raises(UsageError, match="takes an AnnData"):
        vs.inspect(linear, np.asarray(adata.X, np.float32))
    with pytest.raises(UsageError, match="meaning of outputs is known"):
        vs.inspect(linear, prior="normal")
    codes = vs.open_model(linear, adata[:50].copy()).codes
    assert codes.n == 50
