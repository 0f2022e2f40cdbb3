"""One type for all data: rows, their factors, and where they come from."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from vaescope.data.card import Card
from vaescope.data.factors import Factors
from vaescope.data.stores import Picked, Store
from vaescope.errors import UsageError
from vaescope.seeds import rng, subset
from vaescope.types import Array, Double, Integers, Long, Single

__all__ = ["Dataset", "Kind", "Scale", "grid_choice"]

#: Images are shown as such, and models may take them in other ranges; signals are what they are;
#: tokens are numbers of words of a vocabulary. Vectors are signals, whatever `kind` says.
Kind = Literal["images", "signals", "tokens"]


@dataclass(frozen=True, eq=False)
class Scale:
    """The standardisation of data, undone where they are shown: x * std + mean."""

    mean: Single
    std: Single

    def undone(self, values: NDArray[Any], event: int) -> NDArray[Any]:
        """Values whose last `event` axes are one example's; one number for each channel."""
        shape = (-1, *(1,) * (event - 1)) if event > 1 else (-1,)
        return np.asarray(values * self.std.reshape(shape) + self.mean.reshape(shape))


@dataclass(frozen=True, eq=False)
class Dataset:
    """Rows that can be trained on, with factors if they are known.

    Example:
        >>> import vaescope as vs
        >>> data = vs.load_dataset("digits")
        >>> data.shape, len(data)
        ((1, 8, 8), 1797)
    """

    card: Card  # description that is known without reading the rows
    store: Store  # storage of its rows
    factors: Factors | None = None
    #: Continuous ground truth, shape (n, sources), if it is known.
    sources: Double | None = None
    #: The settings it was loaded with; None if a name and settings cannot load it again.
    recipe: Mapping[str, Any] | None = None
    #: The range of the images before they were rescaled to [0, 1].
    value_range: tuple[float, float] = (0.0, 1.0)
    kind: Kind = "images"
    #: Names of the columns of a table, of the channels of signals, or of the tokens.
    columns: tuple[str, ...] = ()
    scale: Scale | None = None  # mean and deviation of standardised data, if they are known

    def __repr__(self) -> str:
        known = "no factors" if self.factors is None else f"factors {', '.join(self.factors.names)}"
        return f"Dataset({self.name}: {len(self):,} rows of shape {self.shape}, {known})"

    @property
    def name(self) -> str:
        return self.card.name

    def __len__(self) -> int:
        return len(self.store)

    @property
    def shape(self) -> tuple[int, ...]:
        """Of one row: (channels, height, width) for images."""
        return self.store.shape

    def rows(self, index: Integers) -> Single:
        """Rows as float32; images are NCHW in [0, 1], signals as they came."""
        return self.store.rows(index)

    def require_factors(self, what: str) -> Factors:
        if self.factors is None:
            raise UsageError(
                f"{what} needs ground-truth factors; {self.name} has none.",
                "Use a dataset with factors, e.g. dsprites.",
            )
        return self.factors

    def observe(self, classes: Integers) -> Single:
        """The rows that show these factor classes. Full grids only."""
        return self.rows(self.require_factors("observe").index(classes))

    def pick(self, index: Integers) -> "Dataset":
        """Some rows, without a copy."""
        return replace(
            self,
            store=Picked(self.store, index),
            factors=None if self.factors is None else self.factors.pick(index),
            sources=None if self.sources is None else self.sources[index],
            recipe=None,
        )

    def restrict(self, grid: Mapping[str, Sequence[int]]) -> "Dataset":
        """The sub-grid with these classes of the named factors, e.g. {"shape": [1]}; full grids."""
        factors = self.require_factors("restrict")
        keep = grid_choice(factors.names, factors.sizes, grid)
        rows = factors.index(np.stack(np.meshgrid(*keep, indexing="ij"), axis=-1)).ravel()
        return replace(self.pick(rows), factors=factors.restrict(keep))

    def subset(
        self, *, correlation: float, between: tuple[str, str], n: int | None = None, seed: int = 0
    ) -> "Dataset":
        """Rows in which two factors go together: see `splits.correlated`. As many as there are."""
        from vaescope.data.splits import correlated

        return correlated(self, *between, correlation, len(self) if n is None else n, seed)

    def split(
        self, seed: int, shares: tuple[float, float, float] = (0.8, 0.1, 0.1)
    ) -> "tuple[Dataset, Dataset, Dataset]":
        """Train, validation and test rows, disjoint and complete."""
        from vaescope.data.splits import split

        return split(self, seed, shares)

    def sample(self, n: int, seed: int) -> Long:
        """At most `n` distinct row numbers, sorted: the same for the same seed everywhere."""
        if n >= len(self):
            return np.arange(len(self))
        return subset(len(self), n, rng(seed, "sample"))


def grid_choice(
    names: Sequence[str], sizes: Sequence[int], grid: Mapping[str, Sequence[int]]
) -> list[Long]:
    """The classes to keep of each factor; all of those that `grid` does not name."""
    unknown = set(grid) - set(names)
    if unknown:
        raise UsageError(
            f"There is no factor {', '.join(sorted(unknown))}.",
            f"The factors are {', '.join(names)}.",
        )
    choice = []
    for name, size in zip(names, sizes, strict=True):
        kept: Array = np.asarray(grid.get(name, range(size)), dtype=np.int64)
        if (
            kept.size == 0
            or len(np.unique(kept)) < kept.size
            or kept.min() < 0
            or kept.max() >= size
        ):
            raise UsageError(
                f"grid.{name} must be distinct classes from 0 to {size - 1}; got {kept.tolist()}.",
                f"Give a list such as [0, {size - 1}].",
            )
        choice.append(kept)
    return choice
