"""Which rows and columns of the codes a metric sees."""

from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np

from vaescope.codes import Codes
from vaescope.errors import ShapeError, UsageError
from vaescope.seeds import rng
from vaescope.types import Array, Double, Floats, Integers, Long

__all__ = [
    "Labelled",
    "Representation",
    "RowSplit",
    "labelled",
    "mean_or_sample",
    "numbers",
    "points",
    "sizes",
    "split",
]

Representation = Literal["mean", "sample"]

#: Of disentanglement_lib, and so of most published numbers.
TRAIN, TEST = 10_000, 5_000


@dataclass(frozen=True, eq=False)
class Labelled:
    """Codes of one representation beside the factors that vary."""

    z: Double  # (n, d)
    factors: Long  # (n, k)
    columns: Long  # which of the codes' factors those are
    codes: Codes
    representation: Representation

    @property
    def n(self) -> int:
        return len(self.z)

    @cached_property
    def names(self) -> tuple[str, ...]:
        """Names of the factors, in the order of the columns."""
        given = self.codes.factor_names
        return tuple(given[c] if given else f"factor {c}" for c in self.columns)


@dataclass(frozen=True, eq=False)
class RowSplit:
    """Rows to learn from and rows to judge by."""

    train: Labelled
    test: Labelled

    @property
    def n(self) -> int:
        return self.train.n + self.test.n


def mean_or_sample(codes: Codes, on: Representation) -> Floats:
    """The means, or the samples."""
    if on not in ("mean", "sample"):
        raise UsageError(f"There is no representation {on!r}.", "Use mean or sample.")
    return codes.mean if on == "mean" else codes.sample


def in_grid_order(codes: Codes) -> bool:
    """Whether rows run through a grid, so that the first ones are all alike."""
    if codes.index is not None:
        return codes.n > 1 and bool(np.all(np.diff(codes.index) > 0))
    if codes.factors is None:
        return False
    sizes = codes.factors.max(axis=0).astype(np.int64) + 1
    if np.log2(sizes).sum() > 62:
        return False
    keys = np.ravel_multi_index(tuple(codes.factors.T.astype(np.int64)), tuple(sizes))
    return codes.n > 1 and bool(np.all(np.diff(keys) >= 0)) and keys[0] != keys[-1]


def points(codes: Codes, limit: int | None, seed: int) -> Long:
    """The first `limit` rows; of rows in grid order, so many drawn at random with `seed`."""
    if limit is None or limit >= codes.n:
        return np.arange(codes.n)
    if in_grid_order(codes):
        return rng(seed, "metric-rows").permutation(codes.n)[:limit]
    return np.arange(limit)


def labelled(
    codes: Codes,
    what: str,
    *,
    on: Representation = "mean",
    limit: int | None = None,
    seed: int = 0,
    latents: int = 1,
    factors: int = 1,
) -> Labelled:
    """Codes and factors for a metric that needs so many latents, and factors that vary."""
    classes = codes.require_factors(what)
    if codes.d < latents:
        raise ShapeError(
            f"{what} compares {latents} latents; got {codes.d}.", "Use a model with more latents."
        )
    rows = points(codes, limit, seed)
    z, v = mean_or_sample(codes, on), classes
    if len(rows) < codes.n:
        z, v = z[rows], v[rows]
    columns = np.flatnonzero(np.ptp(v, axis=0))
    if len(columns) == 0:
        raise ShapeError("All factors are constant.", "Give factors with at least two classes.")
    if len(columns) < factors:
        raise ShapeError(
            f"{what} compares {factors} factors that vary; got {len(columns)}.",
            "Use data with more factors.",
        )
    return Labelled(np.asarray(z, dtype=np.float64), _compact(v[:, columns]), columns, codes, on)


def _compact(factors: Integers) -> Long:
    """Classes numbered anew where numbers exceed the rows: tables have a cell for each number."""
    classes = factors.astype(np.int64)
    for column in np.flatnonzero(classes.max(axis=0) >= len(classes)):
        classes[:, column] = np.unique(classes[:, column], return_inverse=True)[1]
    return classes


def split(
    codes: Codes,
    what: str,
    *,
    on: Representation = "mean",
    train: int | None = None,
    test: int | None = None,
    seed: int = 0,
    latents: int = 1,
    factors: int = 1,
) -> RowSplit:
    """The first `train` rows and the next `test`; of rows in grid order, drawn at random.

    Without numbers 10,000 and 5,000, or what there is in the ratio 2:1. Factors that are constant
    on the training rows are left out.
    """
    train, test = sizes(codes.n, train, test)
    whole = labelled(codes, what, on=on, limit=train + test, seed=seed, latents=latents)
    varies = np.flatnonzero(np.ptp(whole.factors[:train], axis=0))
    if len(varies) < factors:
        raise ShapeError(
            f"{what} needs {factors} factor(s) that vary among the {train} training rows; got "
            f"{len(varies)}.",
            "Give more training rows, or factors with at least two classes.",
        )
    for column, values in zip(whole.columns[varies], whole.factors[:train, varies].T, strict=True):
        classes = len(np.unique(values))
        if classes > max(train // 2, 2):
            raise ShapeError(
                f"{what} learns classes, but factor {column} has {classes} of them among {train} "
                "training rows; wanted two rows a class.",
                "Encode more rows, or give this factor as `factor_values`.",
            )

    def part(rows: slice) -> Labelled:
        return Labelled(
            whole.z[rows], whole.factors[rows][:, varies], whole.columns[varies], codes, on
        )

    return RowSplit(part(slice(0, train)), part(slice(train, train + test)))


def sizes(n: int, train: int | None, test: int | None) -> tuple[int, int]:
    """Numbers of training and test rows, as asked for or as there are."""
    if train is None and test is None:
        if n < 3:
            raise ShapeError(f"{n} row(s) cannot be split 2:1.", "Encode more rows.")
        return (TRAIN, TEST) if n >= TRAIN + TEST else (n - n // 3, n // 3)
    train = min(TRAIN, n - (test or 0)) if train is None else train
    test = min(TEST, n - train) if test is None else test
    if train < 2 or test < 1 or train + test > n:
        raise UsageError(
            f"{train} training and {max(test, 0)} test rows were requested; the codes have {n}.",
            "Use at least 2 and 1, together at most as many as there are.",
        )
    return train, test


def numbers(codes: Codes, what: str) -> tuple[Array, str]:
    """What the latents are compared with as numbers, (n, k): sources, else classes; and which."""
    if codes.factor_values is not None:
        return codes.factor_values, "factor_values"
    return codes.require_factors(what), "classes"
