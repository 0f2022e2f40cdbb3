"""Random streams as functions of (seed, stream, step): resuming needs no generator state."""

import hashlib
from functools import lru_cache

import numpy as np

from vaescope.types import Long

__all__ = ["derive", "epoch_order", "order", "rng", "subset"]


def derive(seed: int, stream: str, step: int = 0) -> int:
    """A 63-bit seed that depends on all three arguments and on nothing else.

    >>> derive(0, "noise", 1) == derive(0, "noise", 1) != derive(0, "noise", 2)
    True
    """
    digest = hashlib.blake2b(f"{seed}/{stream}/{step}".encode(), digest_size=8).digest()
    return int.from_bytes(digest, "little") >> 1


def rng(seed: int, stream: str, step: int = 0) -> np.random.Generator:
    """A NumPy generator for one stream at one step."""
    return np.random.Generator(np.random.PCG64(derive(seed, stream, step)))


def subset(n: int, rows: int, draws: np.random.Generator) -> Long:
    """All rows, or so many of them without replacement, in order."""
    if n <= rows:
        return np.arange(n)
    return np.sort(draws.choice(n, rows, replace=False))


def epoch_order(seed: int, n: int, epoch: int) -> Long:
    """The order of all rows in one epoch."""
    return rng(seed, "order", epoch).permutation(n)


_remembered = lru_cache(maxsize=4)(epoch_order)


def order(seed: int, step: int, *, batch: int, n: int) -> Long:
    """Rows of the batch at `step`: the data are permuted anew each epoch, no row is left out.

    Batches run across the end of an epoch, so that each has exactly `batch` rows.
    """
    places = np.arange(step * batch, (step + 1) * batch)
    epochs = places // n
    rows = np.empty(batch, dtype=np.int64)
    for epoch in range(int(epochs[0]), int(epochs[-1]) + 1):
        here = epochs == epoch
        rows[here] = _remembered(seed, n, epoch)[places[here] % n]
    return rows
