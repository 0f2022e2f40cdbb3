"""Which latents of several models are the same: assignment by rank correlation of their means.

Models of different seeds have the same latents in another order and with other signs, so neither
counts (Duan et al. 2020, https://arxiv.org/abs/1905.12614).
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np
from scipy.optimize import linear_sum_assignment

from vaescope.codes import Codes
from vaescope.errors import ShapeError
from vaescope.latents import Types
from vaescope.metrics.mcc import ranks
from vaescope.metrics.sap_continuous import correlations
from vaescope.types import Booleans, Double

__all__ = ["Found", "Match", "match_latents"]

How = Literal["first", "correlation", "rest"]


@dataclass(frozen=True)
class Found:
    """A latent of one model, and how it came to its match."""

    latent: int
    correlation: float  # rank correlation of the means with the one that the match is compared with
    how: How  # first: it began the match; rest: paired with what was left

    @property
    def sign(self) -> int:
        """-1: mirrored."""
        return -1 if self.correlation < 0 else 1


#: One latent as it stands in each model; None where a model has no latent left for it.
Match = tuple[Found | None, ...]


def match_latents(codes: Sequence[Codes], kinds: Sequence[Types]) -> tuple[Match, ...]:
    """Each model against the latents found so far, beginning with those of the first.

    Latents that are not passive are assigned so that the sum of |rank correlation| is largest; then
    passive ones among themselves; then what is left. The means of passive latents hardly move, and
    how they do is copied from others (bonheme2023): these pairs mean little and are marked as
    `rest`. What a model has more than there are matches begins new ones.
    """
    n = {own.n for own in codes}
    if len(n) > 1:
        raise ShapeError(
            f"Latents are matched on the same rows; got codes of {sorted(n)} rows.",
            "Encode the same examples with each model.",
        )
    rows: list[list[Found | None]] = []
    first_ranks, first_used = np.empty((codes[0].n, 0)), np.empty(0, dtype=bool)
    for place, (own, types) in enumerate(zip(codes, kinds, strict=True)):
        own_ranks, used = ranks(own.mean), np.array([name != "passive" for name in types.names])
        pairs = _assigned(correlations(first_ranks, own_ranks), first_used, used)
        taken = {found.latent for found in pairs.values()}
        for number, row in enumerate(rows):
            found = pairs.get(number)
            row.append(found)
            if found is not None and used[found.latent] and not first_used[number]:
                # The first that carries something is what later models are compared with.
                first_used[number] = True
                first_ranks[:, number] = found.sign * own_ranks[:, found.latent]
        spare = [latent for latent in range(own.d) if latent not in taken]
        rows += [[*[None] * place, Found(latent, 1.0, "first")] for latent in spare]
        first_ranks = np.hstack([first_ranks, own_ranks[:, spare]])
        first_used = np.concatenate([first_used, used[spare]])
    return tuple(tuple(row) for row in rows)


def _assigned(correlation: Double, used_rows: Booleans, used_columns: Booleans) -> dict[int, Found]:
    """Row -> latent, of a matrix (rows so far, latents of the next model)."""
    size, pairs = np.abs(correlation), dict[int, Found]()
    stages: tuple[tuple[Booleans, Booleans, How], ...] = (
        (used_rows, used_columns, "correlation"),
        (~used_rows, ~used_columns, "rest"),
        (np.ones_like(used_rows), np.ones_like(used_columns), "rest"),
    )
    for these_rows, these_columns, how in stages:
        taken = [found.latent for found in pairs.values()]
        rows = np.setdiff1d(np.flatnonzero(these_rows), list(pairs))
        columns = np.setdiff1d(np.flatnonzero(these_columns), taken)
        chosen = linear_sum_assignment(size[np.ix_(rows, columns)], maximize=True)
        for row, column in zip(rows[chosen[0]], columns[chosen[1]], strict=True):
            pairs[int(row)] = Found(int(column), float(correlation[row, column]), how)
    return pairs
