"""Parts of a dataset by seed, and rows in which two factors go together."""

from typing import NamedTuple

import numpy as np

from vaescope.data.dataset import Dataset
from vaescope.data.stores import Picked, Store
from vaescope.errors import UsageError
from vaescope.seeds import rng
from vaescope.types import Double, Integers, Long

__all__ = ["Split", "correlated", "split"]


class Split(NamedTuple):
    """Disjoint parts that make up the whole."""

    train: Dataset
    validation: Dataset
    test: Dataset


def split(
    dataset: Dataset, seed: int, shares: tuple[float, float, float] = (0.8, 0.1, 0.1)
) -> Split:
    """Train, validation and test rows, drawn without replacement; each part keeps its order.

    A row that was drawn twice is twice in one part: shares are of rows, as near as copies allow.
    """
    if len(shares) != 3 or min(shares) < 0 or not np.isclose(sum(shares), 1.0):
        raise UsageError(
            f"A split needs three shares of 0 or more that add up to 1; got {shares}.",
            "Give for example (0.8, 0.1, 0.1).",
        )
    own = _origins(dataset.store)
    order = rng(seed, "split").permutation(own.max() + 1)  # of rows that are not copies
    ends = np.rint(np.cumsum(shares)[:2] * len(dataset)).astype(np.int64)
    part = np.empty(len(order), dtype=np.int64)
    part[order] = np.searchsorted(ends, np.bincount(own)[order].cumsum() - 1, side="right")
    train, validation, test = (dataset.pick(np.flatnonzero(part[own] == k)) for k in range(3))
    return Split(train, validation, test)


def _origins(store: Store) -> Long:
    """For each row the number of the row that it is a copy of, counted as they first appear."""
    rows: Integers = np.arange(len(store))
    while isinstance(store, Picked):
        rows, store = store.chosen[rows], store.whole
    _, first, own = np.unique(rows, return_index=True, return_inverse=True)
    return np.asarray(np.argsort(np.argsort(first))[own])


def correlated(dataset: Dataset, first: str, second: str, rho: float, n: int, seed: int) -> Dataset:
    """`n` rows in which the classes of two factors, scaled to [0, 1], have correlation `rho`.

    A row has weight exp(-(a - b)^2 / (2 s^2)), for negative rho with 1 - b in place of b; s is
    found by bisection. Every pair of classes gets its expected number of rows, rounded up or down
    at random; within a pair rows are drawn without replacement as long as there are enough.
    """
    factors = dataset.require_factors("correlated")
    missing = [name for name in (first, second) if name not in factors.names]
    if missing or first == second or n < 1 or not -1.0 < rho < 1.0:
        raise UsageError(
            f"correlated needs two factors, a correlation between -1 and 1 and one row or more; "
            f"got {first}, {second}, {rho} and {n}.",
            f"The factors are {', '.join(factors.names)}.",
        )
    columns = [factors.names.index(name) for name in (first, second)]
    sizes = [factors.sizes[k] for k in columns]
    pair = np.ravel_multi_index(
        tuple(factors.classes(np.arange(len(dataset)))[:, columns].T), sizes
    )
    present = np.bincount(pair, minlength=sizes[0] * sizes[1]).reshape(sizes)
    chances = _chances(present, rho, f"{first} and {second}")

    generator = rng(seed, "correlated")
    # Systematic sampling: one row each time that the expected number, from a random start, passes
    # a whole number.
    marks = np.cumsum(chances.ravel())
    marks = np.floor(marks / marks[-1] * n + generator.uniform()).astype(np.int64)
    counts = np.diff(np.minimum(marks, n), prepend=0)
    members = np.split(np.argsort(pair, kind="stable"), np.cumsum(present.ravel())[:-1])
    rows = [
        generator.choice(rows, size=count, replace=count > len(rows))
        for rows, count in zip(members, counts, strict=True)
        if count > 0
    ]
    return dataset.pick(generator.permutation(np.concatenate(rows)))


def _chances(present: Long, rho: float, names: str) -> Double:
    """Weights of the pairs of classes, so that their correlation is `rho`."""
    a, b = (np.linspace(0.0, 1.0, size) for size in present.shape)
    gap = a[:, None] - (b if rho >= 0 else 1.0 - b)

    def weights(log_s: float) -> Double:
        return np.asarray(present * np.exp(-0.5 * (gap / np.exp(log_s)) ** 2))

    def strength(log_s: float) -> float:
        correlation = _correlation(weights(log_s), a, b)
        return correlation if rho >= 0 else -correlation

    tight, loose = np.log(0.05), np.log(1e4)  # strength falls as s grows
    strongest, weakest = strength(tight), strength(loose)
    if not weakest - 1e-6 <= abs(rho) <= strongest:
        raise UsageError(
            f"The correlation of {names} must be between {weakest:.2f} and "
            f"{strongest:.2f} in size; wanted {rho}.",
            "Choose a correlation between them, or factors with more classes.",
        )
    for _ in range(60):
        middle = 0.5 * (tight + loose)
        tight, loose = (middle, loose) if strength(middle) > abs(rho) else (tight, middle)
    return weights(loose)


def _correlation(weights: Double, a: Double, b: Double) -> float:
    joint = weights / weights.sum()
    across, down = a - joint.sum(axis=1) @ a, b - joint.sum(axis=0) @ b
    covariance = across @ joint @ down
    variances = (joint.sum(axis=1) @ across**2) * (joint.sum(axis=0) @ down**2)
    return float(covariance / np.sqrt(variances))
