"""What is measured of a model at one beta."""

import math

import numpy as np
import torch

from vaescope.decomposition.overlap import overlap
from vaescope.geometry.jacobian import grams
from vaescope.geometry.orthogonality import distance_of
from vaescope.latents import types
from vaescope.models import OpenModel
from vaescope.tuning.curve import CurvePoint

__all__ = ["EXAMPLES", "measured"]

#: Examples that decide types and distortion, the same at every beta; and those for Jacobians.
EXAMPLES, JACOBIANS = 2_000, 50


def measured(
    model: OpenModel,
    beta: float,
    *,
    unit: float,
    steps: int,
    settled: bool,
    start: float | None,
    drift: float,
) -> CurvePoint:
    """The point of a model. `unit` is the variance of a latent that ignores x over the prior's: an
    entropy-regularised VAE is the beta-VAE with its latents scaled up (mathieu2019 Corollary 2),
    and variances are told as that one's."""
    found = types(model.codes)
    used = found.of("active", "mixed").tolist()
    places = np.arange(model.codes.n)
    distortion = model.distortion(places, model.noise(places))
    return CurvePoint(
        beta, tuple((found.mean_variance / unit).tolist()), len(used), len(found.mixed),
        float(distortion.mean()), float(distortion.std() / math.sqrt(len(places))),
        _dto(model, used), steps, settled, start,
        overlap(model.codes).effective_number, model.codes.n, drift,
    )  # fmt: skip


def _dto(model: OpenModel, used: list[int]) -> float | None:
    if len(used) < 2:
        return None  # one axis has no other to be orthogonal to
    codes = model.codes
    places = np.linspace(0, codes.n - 1, min(JACOBIANS, codes.n)).astype(np.int64)
    at = torch.from_numpy(codes.mean[places]).float().to(model.device)
    with model.evaluating(gradients=True):
        return distance_of(grams(model.decoder, at, columns=used)).value
