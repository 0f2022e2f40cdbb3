"""Entropy and mutual information of discrete variables, in nats, by counting."""

import numpy as np
from numpy.typing import NDArray

from vaescope.types import Integers

__all__ = ["entropy", "mutual_information"]


def _plug_in(counts: NDArray[np.int64]) -> float:
    shares = counts[counts > 0] / counts.sum()
    return float(-(shares * np.log(shares)).sum())


def entropy(classes: Integers) -> NDArray[np.float64]:
    """Plug-in entropy of each column: shape (columns,)."""
    return np.array([_plug_in(np.bincount(column)) for column in classes.T])


def mutual_information(a: Integers, b: Integers) -> NDArray[np.float64]:
    """Plug-in mutual information of each column of `a` with each of `b`: I = H(a) + H(b) - H(a, b).

    Biased upwards by about (|a| - 1)(|b| - 1) / 2n; never negative here.
    """
    h_a, h_b = entropy(a), entropy(b)
    width = int(b.max()) + 1
    joint: NDArray[np.float64] = np.array(
        [[_plug_in(np.bincount(left * width + right)) for right in b.T] for left in a.T]
    )
    return np.clip(h_a[:, None] + h_b[None, :] - joint, 0.0, None)
