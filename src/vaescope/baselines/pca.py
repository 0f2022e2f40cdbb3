"""Principal components as a representation, plain and probabilistic. Tipping and Bishop 1999,
https://doi.org/10.1111/1467-9868.00196."""

from dataclasses import dataclass

import numpy as np

from vaescope.codes import Codes
from vaescope.data import Dataset
from vaescope.encoding import assemble
from vaescope.leading_axes import leading_axes
from vaescope.seeds import rng
from vaescope.types import Floats, Integers, Matrix

__all__ = ["PCA", "decode_latents", "decode_scores", "fit_pca", "pca_posterior", "pca_scores"]


@dataclass(frozen=True, eq=False)
class PCA:
    """The leading axes of data and how much varies along them."""

    centre: Matrix  # (values,)
    axes: Matrix  # (values, latent), orthonormal columns
    variances: Matrix  # (latent,) descending: eigenvalues of the covariance
    noise: float  # mean variance of the directions that are left out
    event: tuple[int, ...]  # shape of one row of the data


def fit_pca(data: Dataset, latent: int, *, rows: int = 10_000, seed: int = 0) -> PCA:
    """The `latent` leading principal axes of `rows` rows drawn with `seed`, or of all."""
    n = min(rows, len(data))
    index = np.sort(rng(seed, "pca").choice(len(data), n, replace=False))
    x = _flat(data, index)
    centre = x.mean(0)
    variances, axes = leading_axes(x - centre, latent)
    left_out = float(np.square(x - centre).sum() / n - variances.sum())
    noise = max(left_out, 0.0) / max(x.shape[1] - latent, 1)
    return PCA(centre, axes, variances, noise, data.shape)


def pca_scores(model: PCA, data: Dataset, *, index: Integers | None = None) -> Codes:
    """Scores along the axes as codes without noise: variance zero, the sample is the mean."""
    rows = np.arange(len(data)) if index is None else np.asarray(index)
    scores = (_flat(data, rows) - model.centre) @ model.axes
    return assemble(data, rows, scores, np.zeros_like(scores))


def pca_posterior(
    model: PCA, data: Dataset, *, index: Integers | None = None, seed: int = 0
) -> Codes:
    """Posterior of probabilistic PCA under a standard normal prior, one sample drawn with `seed`.

    With s the noise and l_j a variance: mean_j = sqrt(l_j - s) / l_j * score_j, variance_j =
    s / l_j. It is where a linear VAE with a Gaussian likelihood of variance s ends up.
    """
    rows = np.arange(len(data)) if index is None else np.asarray(index)
    scores = (_flat(data, rows) - model.centre) @ model.axes
    # Where nothing varies the posterior is the prior.
    varies = model.variances > 0.0
    share = np.divide(model.noise, model.variances, out=np.ones_like(model.variances), where=varies)
    gain = np.divide(_gains(model), model.variances, out=np.zeros_like(share), where=varies)
    mean, variance = scores * gain, np.broadcast_to(share, scores.shape)
    return assemble(data, rows, mean, variance, seed=seed)


def decode_scores(model: PCA, scores: Floats) -> Matrix:
    """Data at these scores: shape (n, *event). At a row's own scores, its best reconstruction."""
    return (model.centre + scores @ model.axes.T).reshape(-1, *model.event)


def decode_latents(model: PCA, z: Floats) -> Matrix:
    """Mean of p(x|z) of probabilistic PCA at these latents: shape (n, *event)."""
    return decode_scores(model, z * _gains(model))


def _gains(model: PCA) -> Matrix:
    """Lengths of the decoder's columns."""
    return np.sqrt(np.maximum(model.variances - model.noise, 0.0))


def _flat(data: Dataset, index: Integers) -> Matrix:
    return data.rows(index).reshape(len(index), -1).astype(np.float64)
