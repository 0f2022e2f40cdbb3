"""Least squares of factors from sets of latents, all sets at once, on rows that were held out.

A set of latents explains a factor by polynomials of degree three of each latent and of each pair: a
space that no rotation inside a pair changes. All fits need the rows only through Gram matrices.
"""

from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import cached_property
from itertools import combinations
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from vaescope.types import Long, Matrix

__all__ = ["Design", "FactorTarget", "Polynomials", "direction", "polynomials_of", "targets_of"]

FactorKind = Literal["ordered", "cyclic", "classes"]

#: Standard deviations beyond which a latent counts as there: cubes of outliers would rule the fit.
_REACH = 3.0
#: Latents of which all pairs are looked at: those that know any factor best.
MOST_LATENTS = 16
#: Classes of which each gets a column of its own.
MOST_CLASSES = 20
#: Penalties of the fit of all latents together, in units of the rows that it is fitted to.
_PENALTIES = tuple(10.0**k for k in range(-6, 3))
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
class Polynomials:
    """Columns that factors are fitted from, on all rows."""

    latents: tuple[int, ...]  # whose pairs are looked at
    members: tuple[frozenset[int], ...]  # latents of each column; the first has none
    x: Matrix  # (rows, columns)
    _columns: dict[frozenset[int], list[int]] = field(default_factory=dict)

    def on(self, parts: Sequence[Long]) -> "Design":
        """The design on three sets of rows."""
        fit, choose, report = (self.x[part] for part in parts)
        grams = (fit.T @ fit, choose.T @ choose, report.T @ report)
        return Design(self, (fit, choose, report), grams)

    def columns(self, latents: frozenset[int]) -> list[int]:
        """Columns that need no other latents than these."""
        if latents not in self._columns:
            own = [c for c, members in enumerate(self.members) if members <= latents]
            self._columns[latents] = own
        return self._columns[latents]


@dataclass(frozen=True, eq=False)
class Design:
    """Polynomials of latents on three parts of the rows: to fit, to choose a set by, and to report
    its share."""

    polynomials: Polynomials
    x: tuple[Matrix, Matrix, Matrix]  # (rows, columns) of each part
    gram: tuple[Matrix, Matrix, Matrix]

    @property
    def latents(self) -> tuple[int, ...]:
        return self.polynomials.latents

    def shares(self, sets: Sequence[frozenset[int]], parts: Sequence[Matrix], at: int) -> Matrix:
        """(sets, columns of the targets) Explained variance on part `at` of a fit to the first.

        `sets` have the same number of latents; `parts` are the targets' rows of each part."""
        places = np.array([self.polynomials.columns(one) for one in sets])  # (sets, p)
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

    def _weights(self, places: Long, target: Matrix) -> Matrix:
        gram = self.gram[0][places[:, :, None], places[:, None, :]]
        size = np.trace(gram, axis1=1, axis2=2) / gram.shape[1]
        ridge = _RIDGE * size[:, None, None] * np.eye(gram.shape[1])
        return np.asarray(np.linalg.solve(gram + ridge, (self.x[0].T @ target)[places]))

    def together(self, parts: Sequence[Matrix]) -> tuple[Matrix, Matrix]:
        """What a fit of all latents together leaves on the second and on the third part: each is
        (rows, columns of the targets).

        A ridge keeps the many columns from needing many rows; the second part chooses it."""
        sizes, turned, choose, report = self._principal
        n, width = parts[0].shape
        mean = parts[0].mean(axis=0)
        product = turned.T @ (self.x[0].T @ (parts[0] - mean))
        penalised = sizes[:, None] + n * np.array(_PENALTIES)
        weights = product[:, None, :] / penalised[:, :, None]  # (axes, penalties, columns)
        fitted = (choose @ weights.reshape(len(sizes), -1)).reshape(-1, len(_PENALTIES), width)
        missed = np.square((parts[1] - mean)[:, None] - fitted).sum(axis=(0, 2))
        best = int(np.argmin(missed))
        left = parts[1] - mean - fitted[:, best]
        return left, np.asarray(parts[2] - mean - report @ weights[:, best])

    @cached_property
    def _principal(self) -> tuple[Matrix, Matrix, Matrix, Matrix]:
        """Sizes of the principal axes of the standardised columns, what turns columns to them, and
        the second and third part along them."""
        x, n = self.x[0], len(self.x[0])
        centre = x.mean(axis=0)
        covariance = self.gram[0] - n * np.outer(centre, centre)
        spread = np.sqrt(np.maximum(np.diag(covariance) / n, 0.0))
        spread = np.where(spread > 1e-9, spread, np.inf)  # the constant, and columns like it
        sizes, axes = np.linalg.eigh(covariance / np.outer(spread, spread))
        turned = axes / spread[:, None]
        choose, report = (part @ turned - centre @ turned for part in self.x[1:])
        return np.maximum(sizes, 0.0), turned, choose, report


def polynomials_of(z: Matrix, used: Sequence[int], rows: Long, targets: Matrix) -> Polynomials:
    """Polynomials of the used latents; of more than `MOST_LATENTS` those that know a target best on
    `rows` have pairs, and the others stand in the fit of all together by themselves."""
    own = _standard(z[:, list(used)])
    scores = dict(zip(used, np.clip(own, -_REACH, _REACH).T, strict=True))
    paired = tuple(used)
    if len(used) > MOST_LATENTS:
        known = np.abs(own[rows].T @ _standard(targets[rows])).max(axis=1)
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
    return Polynomials(paired, tuple(members), np.stack(columns, axis=1))


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
