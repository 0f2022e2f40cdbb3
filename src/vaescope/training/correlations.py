"""How the means of latents correlate at chosen steps of a training, for traces over it.

Bonheme and Grzes, Be More Active!, https://arxiv.org/abs/2109.12679, figures 12 and 13.
"""

from typing import Any

import numpy as np
import torch

from vaescope.build import build_auxiliary
from vaescope.data import Dataset
from vaescope.models import evaluating
from vaescope.specs import Experiment
from vaescope.training.loop import fetch
from vaescope.vae import VAE

__all__ = ["ROWS", "correlations_of_means", "is_kept", "next_kept"]

#: Training rows that are encoded at most, the same each time.
ROWS = 2_000
BATCH = 256


def is_kept(experiment: Experiment, step: int) -> bool:
    """Whether correlations are kept after this many steps."""
    chosen = experiment.logging.correlations
    if chosen is None:
        return False
    return step % chosen == 0 if isinstance(chosen, int) else step in chosen


def next_kept(experiment: Experiment, step: int) -> int:
    """The next step after this one whose correlations are kept, or that of the end."""
    chosen = experiment.logging.correlations
    if chosen is None:
        return experiment.steps
    if isinstance(chosen, int):
        return min(experiment.steps, step + chosen - step % chosen)
    return min((one for one in chosen if one > step), default=experiment.steps)


def correlations_of_means(
    vae: VAE, experiment: Experiment, data: Dataset, device: torch.device
) -> dict[str, Any]:
    """The correlation matrix of the posterior means over rows of the data, and by latent the
    variance of its means and the mean and the variance of its posterior variances. A latent whose
    means do not vary has no correlation: null. Nothing that training depends on is changed."""
    auxiliary = build_auxiliary(experiment, data)
    index = data.sample(min(ROWS, len(data)), seed=0)
    means, variances = [], []
    with evaluating(vae):
        for start in range(0, len(index), BATCH):
            batch = fetch(data, index[start : start + BATCH], device, auxiliary)
            q = vae.encoder(batch.x, batch.u)
            means.append(q.mean.double().cpu().numpy())
            variances.append(q.variance.expand_as(q.mean).double().cpu().numpy())
    mean, variance = np.concatenate(means), np.concatenate(variances)
    with np.errstate(invalid="ignore", divide="ignore"):
        correlation = np.atleast_2d(np.corrcoef(mean, rowvar=False))
    return {
        "n": len(index),
        "correlation": correlation.tolist(),
        "variance_of_mean": mean.var(axis=0).tolist(),
        "mean_variance": variance.mean(axis=0).tolist(),
        "variance_of_variance": variance.var(axis=0).tolist(),
    }
