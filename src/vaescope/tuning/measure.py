"""What is measured of a model at one beta."""

import math
from dataclasses import replace

import numpy as np
import torch

from vaescope.codes import Codes
from vaescope.data import Dataset
from vaescope.data.auxiliary import Auxiliary
from vaescope.geometry.jacobian import grams
from vaescope.geometry.orthogonality import distance_of
from vaescope.latents import types
from vaescope.opening import encode
from vaescope.tuning.curve import Point
from vaescope.types import Integers
from vaescope.vae import VAE, as_input

__all__ = ["EXAMPLES", "measured"]

#: Examples that decide types and distortion, the same at every beta; and those for Jacobians.
EXAMPLES, JACOBIANS = 2_000, 50


def measured(
    vae: VAE,
    data: Dataset,
    rows: Integers,
    beta: float,
    *,
    unit: float,
    auxiliary: Auxiliary | None,
    steps: int,
    settled: bool,
    start: float | None,
) -> Point:
    """The point of a model. `unit` is the posterior variance of a latent that is the prior, where
    the objective makes that another one than the prior's."""
    codes = encode(vae, data, index=rows, auxiliary=auxiliary)
    found = types(_in_units(codes, unit))
    used = found.of("active", "mixed").tolist()
    distortion = _distortion(vae, data, rows, codes)
    return Point(
        beta, tuple(found.mean_variance.tolist()), len(used), len(found.mixed),
        float(distortion.mean()), float(distortion.std() / math.sqrt(len(rows))),
        _dto(vae, codes, used), steps, settled, start,
    )  # fmt: skip


def _in_units(codes: Codes, unit: float) -> Codes:
    if unit == 1.0:
        return codes
    root = math.sqrt(unit)
    return replace(
        codes, mean=codes.mean / root, variance=codes.variance / unit, sample=codes.sample / root,
        covariance=None if codes.covariance is None else codes.covariance / unit,
    )  # fmt: skip


@torch.no_grad()
def _distortion(
    vae: VAE, data: Dataset, rows: Integers, codes: Codes, *, batch: int = 256
) -> np.ndarray[tuple[int], np.dtype[np.float64]]:
    """-log p(x|z) of each row at its sample."""
    device = next(vae.parameters()).device
    parts = []
    for begin in range(0, len(rows), batch):
        some = slice(begin, begin + batch)
        p = vae.decoder(torch.from_numpy(codes.sample[some]).float().to(device))
        parts.append(-p.log_prob(as_input(data.rows(rows[some]), device)).double().cpu().numpy())
    return np.concatenate(parts)


def _dto(vae: VAE, codes: Codes, used: list[int]) -> float | None:
    if len(used) < 2:
        return None  # one axis has no other to be orthogonal to
    places = np.linspace(0, codes.n - 1, min(JACOBIANS, codes.n)).astype(np.int64)
    device = next(vae.parameters()).device
    at = torch.from_numpy(codes.mean[places]).float().to(device)
    return distance_of(grams(vae.decoder, at, columns=used)).value
