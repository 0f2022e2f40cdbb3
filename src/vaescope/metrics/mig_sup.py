"""Mutual information gap of latents. Li et al. 2020, https://arxiv.org/abs/2002.10549."""

import numpy as np

from vaescope.codes import Codes
from vaescope.metrics.rows import Representation
from vaescope.metrics.score import Score
from vaescope.metrics.table import RESAMPLES, InformationTable, counted
from vaescope.types import Booleans, Floats

__all__ = ["mig_sup", "mig_sup_of"]


def mig_sup(
    codes: Codes,
    *,
    bins: int = 20,
    adjusted: bool = True,
    on: Representation = "mean",
    limit: int | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Score:
    """How much better a latent encodes its best factor than its second best.

    Mean over informative latents of the gap between the two largest I(z; v_k) / H(v_k). It detects
    what MIG does not: a latent that encodes two factors. Information is adjusted for chance, since
    the bias of counting grows with a factor's classes; zero if no latent is informative.

    Args:
        codes: posterior mean, variance and sample of each row, with factors if they are needed.
        bins: number of equal-width bins of each latent.
        adjusted: whether information is adjusted for chance.
        on: `mean` or `sample`: the representation that is scored.
        limit: largest number of rows; None takes all.
        resamples: bootstrap resamples behind the interval.
        seed: seed of all random draws.

    Returns:
        A `Score`: `value`, `interval`, `chance`, `protocol`, `details` (the arrays behind it).

    Raises:
        RangeError: a value is out of range.
        ShapeError: an array is missing, or has the wrong shape or type.
        UsageError: a name or value is not known; the message lists those that are.

    Example:
        >>> import vaescope as vs
        >>> codes = vs.known.codes()
        >>> round(vs.metrics.mig_sup(codes).value, 2)
        1.0
    """
    tally = counted(codes, "mig_sup", bins=bins, on=on, limit=limit, resamples=resamples, seed=seed)
    table = tally.adjusted() if adjusted else tally.plug_in()
    return mig_sup_of(table, table.informed if adjusted else None)


def _gaps(information: Floats, entropy: Floats) -> Floats:
    ranked = np.sort(information / entropy[..., None, :], axis=-1)
    return np.asarray(ranked[..., -1] - ranked[..., -2])


def mig_sup_of(table: InformationTable, counts: Booleans | None = None) -> Score:
    """MIG-sup of a table of information, over the latents that `counts` says; None: over all."""
    table.require("mig_sup", factors=2)
    which = np.ones(len(table.information), bool) if counts is None else counts
    varies = table.varies
    gaps = _gaps(table.information[:, varies], table.entropy[varies])
    value = float(gaps[which].mean()) if which.any() else 0.0

    def statistic(information: Floats, entropy: Floats) -> Floats:
        drawn = _gaps(information[:, which], np.maximum(entropy, 1e-12))
        return np.asarray(drawn.mean(axis=-1))

    return Score(
        value,
        table.stamped({"latents": "all" if counts is None else np.flatnonzero(which).tolist()}),
        {"mutual_information": table.information, "gaps": gaps, "entropy": table.entropy},
        table.interval(value, statistic) if which.any() else None,
    )
