"""Least squares of factors from sets of latents, all sets at once, on rows that were held out.

A set of latents explains a factor by polynomials of degree three of each latent and of each pair: a
space that no rotation inside a pair changes. All fits need the rows only through Gram matrices.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["Design", "FactorTarget", "design_of", "direction", "targets_of"]

Matrix = NDArray[np.float64]
FactorKind = Literal["ordered", "cyclic", "classes"]

#: Standard deviations beyond which a latent counts as there: cubes of outliers would rule the fit.
_REACH = 3.0
#: Latents of which all pairs are looked at: those that know any factor best.
MOST_LATENTS = 16
#: Classes of which each gets a column of its own.
MOST_CLASSES = 20
#: Rows per column, at least, in the fit of all latents together.
_ROWS_PER_COLUMN = 20
#: Relative to the mean of the diagonal: of two equal latents each then takes half.
_RIDGE = 1e-8


@dataclass(frozen=True, eq=False)
class FactorTarget:
    """One way to read a factor: as numbers, as an angle, or as classes without an order."""

    kind: FactorKind
    columns: Matrix  # (n, c)
    symmetry: int = 1  # of an angle: by how many parts of the circle the image looks the same

    @property
    def axes(self) -> int:
        """Latents that it needs at least."""
        return 2 if self.kind == "cyclic" else 1


def targets_of(values: NDArray[np.number], size: int | None) -> tuple[FactorTarget, ...]:
    """All readings of a factor; `size` is its number of classes, None where it is continuous."""
    numbers = values.astype(np.float64)
    found = [FactorTarget("ordered", _standard(numbers[:, None]))]
    if size is None:
        return tuple(found)
    for symmetry in (1, 2, 4):
        if size >= 4 * symmetry:  # fewer steps of the circle are no angle
            angle = 2 * np.pi * symmetry * numbers / size
            both = np.stack([np.cos(angle), np.sin(angle)], axis=1)
            found.append(FactorTarget("cyclic", both, symmetry))
    if 3 <= size <= MOST_CLASSES:
        found.append(FactorTarget("classes", np.eye(size)[values.astype(np.int64)]))
    return tuple(found)


@dataclass(frozen=True, eq=False)
class Design:
    """Polynomials of latents and targets on three parts of the rows: to fit, to choose a set by,
    and to report its share."""

    latents: tuple[int, ...]  # whose pairs are looked at
    members: tuple[frozenset[int], ...]  # latents of each column; the first has none
    x: tuple[Matrix, Matrix, Matrix]  # (rows, columns) of each part
    gram: tuple[Matrix, Matrix, Matrix]

    def columns(self, latents: frozenset[int]) -> list[int]:
        """Columns that need no other latents than these."""
        return [c for c, members in enumerate(self.members) if members <= latents]

    def shares(self, sets: Sequence[frozenset[int]], parts: Sequence[Matrix], at: int) -> Matrix:
        """(sets, columns of the targets) Explained variance on part `at` of a fit to the first.

        `sets` have the same number of latents; `parts` are the targets' rows of each part."""
        places = np.array([self.columns(one) for one in sets])  # (sets, p)
        weights = self._weights(places, parts[0])
        product = self.x[at].T @ parts[at]
        gram = self.gram[at][places[:, :, None], places[:, None, :]]
        fitted = np.einsum("spt,spt->st", weights, 2 * product[places] - gram @ weights)
        missed = np.square(parts[at]).sum(axis=0) - fitted
        deviation = np.square(parts[at] - parts[at].mean(axis=0)).sum(axis=0)
        return np.asarray((deviation - missed) / np.where(deviation > 0, deviation, 1.0))

    def residuals(self, columns: list[int], parts: Sequence[Matrix], at: int) -> Matrix:
        """(rows, columns of the targets) What a fit to the first part leaves on part `at`."""
        weights = self._weights(np.array([columns]), parts[0])[0]
        return np.asarray(parts[at] - self.x[at][:, columns] @ weights)

    def _weights(self, places: NDArray[np.int64], target: Matrix) -> Matrix:
        gram = self.gram[0][places[:, :, None], places[:, None, :]]
        size = np.trace(gram, axis1=1, axis2=2) / gram.shape[1]
        ridge = _RIDGE * size[:, None, None] * np.eye(gram.shape[1])
        return np.asarray(np.linalg.solve(gram + ridge, (self.x[0].T @ target)[places]))

    @property
    def joint(self) -> list[int]:
        """Columns for all latents together: all where there are rows for them, else those of one
        latent each, else the latents themselves."""
        room = len(self.x[0]) / _ROWS_PER_COLUMN
        if len(self.members) <= room:
            return list(range(len(self.members)))
        single = [c for c, members in enumerate(self.members) if len(members) <= 1]
        return single if len(single) <= room else self._linear

    @property
    def _linear(self) -> list[int]:
        seen = {members: c for c, members in reversed(list(enumerate(self.members)))}
        return sorted(c for members, c in seen.items() if len(members) <= 1)


def design_of(
    z: Matrix, used: Sequence[int], rows: Sequence[NDArray[np.int64]], targets: Matrix
) -> Design:
    """The design of the used latents; of more than `MOST_LATENTS` those that know a target best
    have pairs, and the others stand in the fit of all together by themselves."""
    own = _standard(z[:, list(used)])
    scores = dict(zip(used, np.clip(own, -_REACH, _REACH).T, strict=True))
    paired = tuple(used)
    if len(used) > MOST_LATENTS:
        known = np.abs(own[rows[0]].T @ _standard(targets[rows[0]])).max(axis=1)
        paired = tuple(sorted(np.array(used)[np.argsort(-known)[:MOST_LATENTS]].tolist()))
    columns, members = [np.ones(len(z))], [frozenset[int]()]
    for j in used:
        powers = (1, 2, 3) if j in paired else (1,)
        columns += [scores[j] ** power for power in powers]
        members += [frozenset({j})] * len(powers)
    for i, j in combinations(paired, 2):
        a, b = scores[i], scores[j]
        columns += [a * b, a * a * b, a * b * b]
        members += [frozenset({i, j})] * 3
    whole = np.stack(columns, axis=1)
    fit, choose, report = (whole[part] for part in rows)
    grams = (fit.T @ fit, choose.T @ choose, report.T @ report)
    return Design(paired, tuple(members), (fit, choose, report), grams)


def direction(z: Matrix, target: Matrix) -> Matrix:
    """Unit vector along which a factor changes, in units of the latents.

    Where z = R (f(x), g(y), ...) with independent factors and a rotation R, least squares gives the
    column of R that belongs to x, whatever f and the scales are."""
    centred = z - z.mean(axis=0)
    gram = centred.T @ centred
    ridge = _RIDGE * np.trace(gram) / len(gram) * np.eye(len(gram))
    weights = np.linalg.solve(gram + ridge, centred.T @ (target - target.mean()))
    length = float(np.linalg.norm(weights))
    return np.asarray(weights / length if length > 0 else np.eye(len(gram))[0])


def _standard(values: Matrix) -> Matrix:
    spread = values.std(axis=0)
    return np.asarray((values - values.mean(axis=0)) / np.where(spread > 0, spread, 1.0))
