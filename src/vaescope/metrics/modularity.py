"""Modularity. Ridgeway and Mozer 2018, https://arxiv.org/abs/1802.05312, section 3."""

import numpy as np

from vaescope.codes import Codes
from vaescope.metrics.rows import Representation
from vaescope.metrics.score import Score
from vaescope.metrics.table import RESAMPLES, InformationTable, counted
from vaescope.types import Booleans, Floats

__all__ = ["modularity", "modularity_of"]


def modularity(
    codes: Codes,
    *,
    bins: int = 20,
    adjusted: bool = True,
    on: Representation = "mean",
    limit: int | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Score:
    """How far each latent encodes one factor only.

    Mean over informative latents of 1 - sum_{k != best} I_k^2 / ((K - 1) I_best^2): one
    if every latent has a single factor, also if several share it. disentanglement_lib gives dead
    latents 0 and averages over all, which makes it a count of dead latents (`adjusted=False`). High
    for nearly anything, because the information is squared: use it for comparisons only.

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
        >>> round(vs.metrics.modularity(codes).value, 2)
        1.0
    """
    tally = counted(
        codes, "modularity", bins=bins, on=on, limit=limit, resamples=resamples, seed=seed
    )
    table = tally.adjusted() if adjusted else tally.plug_in()
    return modularity_of(table, table.informed if adjusted else None)


def per_latent(information: Floats) -> Floats:
    """1 - sum of the squares but the largest / (K - 1) of the largest; 0 where there is nothing."""
    squares = np.square(information)
    most = squares.max(axis=-1)
    spread = (squares.sum(axis=-1) - most) / np.where(most > 0, most, 1.0)
    return np.where(most > 0, 1.0 - spread / (information.shape[-1] - 1.0), 0.0)


def modularity_of(table: InformationTable, counts: Booleans | None = None) -> Score:
    """Modularity of a table, over the latents that `counts` says; None: over all, the dead as 0."""
    table.require("modularity", factors=2)
    which = np.ones(len(table.information), bool) if counts is None else counts
    scores = per_latent(table.information[:, table.varies])
    value = float(scores[which].mean()) if which.any() else 0.0
    return Score(
        value,
        table.stamped({"latents": "all" if counts is None else np.flatnonzero(which).tolist()}),
        {"mutual_information": table.information, "per_latent": scores},
        table.interval(value, lambda i, h: per_latent(i[:, which]).mean(axis=-1))
        if which.any()
        else None,
    )
