"""Where the factors come from: three of them, and how they depend on each other."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import numpy as np

from vaescope.types import Long, Matrix

__all__ = ["GENERATORS", "FactorDraw", "FactorSource"]


#: Rows of a draw; of the generator `small n` fewer.
ROWS, FEW_ROWS = 400, 60
_VALUES = 4


@dataclass(frozen=True, eq=False)
class FactorDraw:
    """Factors of one draw: their classes, and the number that a perfect latent would have."""

    classes: Long  # (n, 3)
    values: Matrix  # (n, 3)
    cyclic: bool = False  # the first factor is an angle
    continuous: bool = False


@dataclass(frozen=True)
class FactorSource:
    """One line about it, and how it draws."""

    says: str
    draw: Callable[[np.random.Generator], FactorDraw]


def _of_classes(classes: Long) -> FactorDraw:
    return FactorDraw(classes, classes.astype(np.float64))


def _independent(rng: np.random.Generator) -> FactorDraw:
    return _of_classes(rng.integers(_VALUES, size=(ROWS, 3)))


def _correlated(rho: float) -> Callable[[np.random.Generator], FactorDraw]:
    def draw(rng: np.random.Generator) -> FactorDraw:
        normal = rng.normal(size=(ROWS, 3))
        normal[:, 1] = rho * normal[:, 0] + np.sqrt(1.0 - rho**2) * normal[:, 1]
        places = normal.argsort(axis=0).argsort(axis=0)  # each margin is even
        return _of_classes(places * _VALUES // ROWS)

    return draw


def _function(rng: np.random.Generator) -> FactorDraw:
    classes = rng.integers(_VALUES, size=(ROWS, 3))
    classes[:, 1] = classes[:, 0] // 2
    return _of_classes(classes)


def _continuous(rng: np.random.Generator) -> FactorDraw:
    values = rng.random((ROWS, 3))
    return FactorDraw((values * 4).astype(np.int64), values * _VALUES, continuous=True)


def _cyclic(rng: np.random.Generator) -> FactorDraw:
    classes = np.column_stack([rng.integers(8, size=ROWS), rng.integers(_VALUES, size=(ROWS, 2))])
    return FactorDraw(classes, classes.astype(np.float64), cyclic=True)


def _binary(rng: np.random.Generator) -> FactorDraw:
    return _of_classes(rng.integers(2, size=(ROWS, 3)))


def _few_rows(rng: np.random.Generator) -> FactorDraw:
    return _of_classes(rng.integers(_VALUES, size=(FEW_ROWS, 3)))


GENERATORS: Mapping[str, FactorSource] = {
    "independent": FactorSource("three independent factors of four values, 400 rows", _independent),
    "correlated .3": FactorSource(
        "the first two correlate by 0.3 before they are cut into four classes (.26 after)",
        _correlated(0.3),
    ),
    "correlated .6": FactorSource(
        "the first two correlate by 0.6 before they are cut into four classes (.53 after)",
        _correlated(0.6),
    ),
    "correlated .9": FactorSource(
        "the first two correlate by 0.9 before they are cut into four classes (.84 after)",
        _correlated(0.9),
    ),
    "function": FactorSource("the second is half of the first, rounded down", _function),
    "continuous": FactorSource(
        "numbers from 0 to 4; the metrics see four classes of them", _continuous
    ),
    "cyclic": FactorSource("the first is one of eight angles, coded by cosine and sine", _cyclic),
    "few values": FactorSource("two values each", _binary),
    "small n": FactorSource("60 rows instead of 400", _few_rows),
}
