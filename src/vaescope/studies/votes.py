"""Evidence from votes: an e-process that holds at any number of units, whatever their distribution.

Each unit votes or does not. If at most half of all units would, the likelihood ratio of a uniform
mixture over P(vote) in (1/2, 1) against 1/2 has a mean of at most 1 at any time, so that it ever
reaches 1/a with a chance of at most a (Ville's inequality), however often one looks and whenever
one stops. Ramdas et al. 2023, Game-theoretic statistics and safe anytime-valid inference,
https://arxiv.org/abs/2210.01948.
"""

from collections.abc import Sequence

import numpy as np
from scipy import special, stats
from scipy.optimize import brentq

from vaescope.types import Floats

__all__ = ["e_bh", "evidence", "fewest_votes", "holm", "running", "visible_share"]

#: exp of more than this is no float.
_MOST = 700.0


def evidence(votes: int, units: int) -> float:
    """The e-value of so many votes among so many units.

    >>> [round(evidence(k, n), 1) for k, n in ((12, 12), (11, 12), (0, 0))]
    [630.1, 52.4, 1.0]
    """
    above = special.betaincc(votes + 1, units - votes + 1, 0.5)
    if above == 0.0:
        return 0.0
    log = (units + 1) * np.log(2.0) + special.betaln(votes + 1, units - votes + 1) + np.log(above)
    return float(np.exp(min(log, _MOST)))


def running(votes: Sequence[bool]) -> Floats:
    """The e-value after each unit, in their order."""
    counts = np.cumsum(np.asarray(votes, dtype=np.int64))
    return np.array([evidence(int(k), n) for n, k in enumerate(counts, 1)])


def holm(e_values: Sequence[float], level: float) -> list[bool]:
    """Which hypotheses fall so that even one falls wrongly with a chance of at most `level`.

    Holm 1979, on p = 1/e, where e may be the largest that an e-process has reached. Hypotheses
    without evidence have e = 0 and count all the same.

    >>> holm([630.0, 30.0, 0.0], 0.05)
    [True, False, False]
    """
    fallen = [False] * len(e_values)
    for rank, place in enumerate(np.argsort(-np.asarray(e_values), kind="stable")):
        if e_values[place] * level < len(e_values) - rank:
            break
        fallen[place] = True
    return fallen


def e_bh(e_values: Sequence[float], level: float) -> list[bool]:
    """Which hypotheses fall so that the wrong share of them is at most `level` in the mean.

    Wang and Ramdas 2022, False discovery rate control with e-values,
    https://arxiv.org/abs/2009.02824: the k largest, for the largest k with e_(k) >= n / (level k).
    Holds for any dependence, with e-values at a stopping time, not at their largest.

    >>> e_bh([70.0, 65.0, 1.0], 0.05)
    [True, True, False]
    """
    values = np.asarray(e_values, dtype=np.float64)
    order = np.argsort(-values, kind="stable")
    enough = np.flatnonzero(values[order] * level * np.arange(1, len(values) + 1) >= len(values))
    kept = set(order[: enough[-1] + 1].tolist()) if enough.size else set()
    return [place in kept for place in range(len(values))]


def fewest_votes(units: int, needed: float) -> int | None:
    """The fewest votes among `units` that have an e-value of `needed`; None where all are too few.

    >>> fewest_votes(12, 600.0), fewest_votes(24, 600.0), fewest_votes(8, 600.0)
    (12, 21, None)
    """
    votes = range(units // 2, units + 1)
    return next((k for k in votes if evidence(k, units) >= needed), None)


def visible_share(units: int, needed: float, power: float = 0.8) -> float | None:
    """The least P(vote) that so many units would have shown with this power; None if none."""
    least = fewest_votes(units, needed)
    if least is None or least == 0:
        return None
    return float(brentq(lambda p: stats.binom.sf(least - 1, units, p) - power, 1e-9, 1.0))
