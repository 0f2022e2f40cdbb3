"""Representations that are no VAE."""

from vaescope.baselines.pca import (
    PCA,
    decode_latents,
    decode_scores,
    fit_pca,
    pca_posterior,
    pca_scores,
)

__all__ = ["PCA", "decode_latents", "decode_scores", "fit_pca", "pca_posterior", "pca_scores"]
