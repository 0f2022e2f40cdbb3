"""Mutual information gap. Chen et al. 2018, https://arxiv.org/abs/1802.04942, section 4."""

import numpy as np

from vaescope.codes import Codes
from vaescope.metrics.rows import Representation
from vaescope.metrics.score import Score
from vaescope.metrics.table import RESAMPLES, Table, counted
from vaescope.types import Floats

__all__ = ["mig", "mig_of"]


def mig(
    codes: Codes,
    *,
    bins: int = 20,
    on: Representation = "mean",
    limit: int | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Score:
    """How much better the best latent knows a factor than the second best.

    MIG = mean over factors k of (I(z_1; v_k) - I(z_2; v_k)) / H(v_k), with z_1, z_2 the two latents
    most informative of v_k. One if each factor has a latent of its own; zero if factors are shared.
    Depends on `bins` (equal width, plug-in, as in disentanglement_lib: both latents have the same
    bias); says nothing of a latent that holds two factors. Constant factors are left out.
    """
    tally = counted(codes, "mig", bins=bins, on=on, limit=limit, resamples=resamples, seed=seed)
    return mig_of(tally.plug_in())


def _gaps(information: Floats, entropy: Floats) -> Floats:
    ranked = np.sort(information, axis=-2)
    return np.asarray((ranked[..., -1, :] - ranked[..., -2, :]) / entropy)


def mig_of(table: Table) -> Score:
    """MIG of a table of information."""
    table.require("mig", latents=2)
    varies = table.varies
    gaps = _gaps(table.information[:, varies], table.entropy[varies])
    value = float(gaps.mean())
    return Score(
        value,
        table.protocol,
        {"mutual_information": table.information, "gaps": gaps, "entropy": table.entropy},
        table.interval(value, lambda i, h: _gaps(i, np.maximum(h, 1e-12)).mean(axis=-1)),
    )
