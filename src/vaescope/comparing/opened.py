"""A run opened on the rows that all runs of a comparison see."""

from dataclasses import dataclass

import numpy as np
import torch
from numpy.typing import NDArray

from vaescope.build import build_auxiliary
from vaescope.codes import Codes
from vaescope.comparing.members import Member
from vaescope.data import Dataset
from vaescope.data.auxiliary import Auxiliary
from vaescope.distributions import Point, rate
from vaescope.encoding import encode, load_vae
from vaescope.latents import Types, kl_of_rows, types
from vaescope.types import Floats, Integers
from vaescope.vae import VAE, as_input

__all__ = ["Fit", "Opened", "fit_rows", "open_member"]

CPU = torch.device("cpu")


@dataclass(frozen=True, eq=False)
class Opened:
    """A model, its codes of the common rows, and the types of its latents."""

    vae: VAE
    auxiliary: Auxiliary | None
    codes: Codes
    kinds: Types
    kl: NDArray[np.float64]  # (n, d) nats


@dataclass(frozen=True, eq=False)
class Fit:
    """Of each of some rows, in nats. A point posterior has no rate."""

    distortion: NDArray[np.float64]
    rate: NDArray[np.float64] | None


def open_member(member: Member, data: Dataset, rows: Integers) -> Opened:
    vae = load_vae(member.run)
    auxiliary = build_auxiliary(member.spec, data)
    codes = encode(vae, data, index=rows, auxiliary=auxiliary)
    return Opened(vae, auxiliary, codes, types(codes), kl_of_rows(codes))


@torch.inference_mode()
def fit_rows(
    opened: Opened, data: Dataset, rows: Integers, noise: Floats, *, batch: int = 256
) -> Fit:
    """Distortion and rate at z = q.at(noise), noise of shape (rows, latents)."""
    vae = opened.vae
    distortions, rates = [], []
    for start in range(0, len(rows), batch):
        some = rows[start : start + batch]
        x = as_input(data.rows(some), CPU)
        u = None if opened.auxiliary is None else torch.from_numpy(opened.auxiliary(some))
        q = vae.encoder(x, u)
        z = q.at(torch.from_numpy(noise[start : start + batch]).float())
        distortions.append(-vae.decoder(z).log_prob(x).double().numpy())
        if not isinstance(q, Point):
            rates.append(rate(q, vae.prior(u), z).double().numpy())
    return Fit(np.concatenate(distortions), np.concatenate(rates) if rates else None)
