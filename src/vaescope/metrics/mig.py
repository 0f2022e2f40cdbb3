"""Mutual information gap. Chen et al. 2018, https://arxiv.org/abs/1802.04942, section 4."""

import numpy as np

from vaescope.codes import Codes
from vaescope.errors import ShapeError
from vaescope.information.binning import equal_width
from vaescope.information.discrete import entropy, mutual_information
from vaescope.metrics.score import Protocol, Score

__all__ = ["mig"]


def mig(codes: Codes, *, bins: int = 20) -> Score:
    """How much better the best latent knows a factor than the second best.

    MIG = mean over factors k of (I(z_1; v_k) - I(z_2; v_k)) / H(v_k), with z_1, z_2 the two latents
    most informative of v_k. One if each factor has a latent of its own; zero if factors are shared.
    Depends on `bins` (equal width, as in disentanglement_lib); constant factors are left out.
    """
    factors = codes.require_factors("mig")
    if codes.d < 2:
        raise ShapeError(f"mig compares two latents; got {codes.d}.", "Use more latents.")
    h = entropy(factors)
    if not (h > 0).any():
        raise ShapeError("All factors are constant.", "Give factors with at least two classes.")
    information = mutual_information(equal_width(codes.mean, bins), factors)  # (latent, factor)
    second, first = np.sort(information, axis=0)[-2:]
    gaps = (first - second)[h > 0] / h[h > 0]
    return Score(
        float(gaps.mean()),
        Protocol("default", codes.n, {"bins": bins, "representation": "mean"}),
        {"mutual_information": information, "gaps": gaps, "entropy": h},
    )
