"""What a prior can be asked, whatever its family."""

import json
from abc import ABC, abstractmethod
from dataclasses import fields, replace
from functools import partial
from typing import TYPE_CHECKING, Any, ClassVar, Self

import numpy as np

from vaescope.errors import RangeError, ShapeError
from vaescope.prior_density.divergence import quadrature_kl
from vaescope.types import Floats, Integers, Matrix, Vector

__all__ = ["Matrix", "PriorDensity", "ProductDensity", "Rows", "Vector", "check"]

Rows = Integers | slice

#: Less mass than this beyond a point counts as this: 37 standard deviations.
_TINY = 1e-300


class PriorDensity(ABC):
    """p(z), or p(z|u) of each example where `per_row`; log-densities in nats.

    Families are frozen dataclasses. `rows` says to which rows of a per-row prior the points belong;
    None: point i to row i. Other priors do not look at it.
    """

    name: ClassVar[str]

    if TYPE_CHECKING:  # declared only: a dataclass would take a property for a field's default

        @property
        def mean(self) -> Floats:
            """Of each latent, (d,) or (n, d); the centre where there is no mean."""

        @property
        def variance(self) -> Floats:
            """Of each latent, (d,) or (n, d); infinite where there is none."""

    @property
    @abstractmethod
    def d(self) -> int:
        """How many latents there are."""

    @property
    @abstractmethod
    def says(self) -> str:
        """One phrase, e.g. `N(0, I)`."""

    @abstractmethod
    def log_marginal(self, latent: int, z: Matrix) -> Matrix:
        """log p(z_j) of one latent at points of any shape; not of a per-row prior."""

    @abstractmethod
    def tails(self, latent: int, z: Matrix) -> tuple[Matrix, Matrix]:
        """Mass of one latent below and above points of any shape; not of a per-row prior."""

    @abstractmethod
    def draw(self, rng: np.random.Generator, n: int, rows: Rows | None = None) -> Matrix:
        """n points: (n, d)."""

    @abstractmethod
    def columns(self, latents: Integers) -> "PriorDensity":
        """The prior of some of the latents."""

    @abstractmethod
    def unused_variance(self) -> Floats:
        """Variance of the Gaussian of least KL(N || p), which a latent that ignores x becomes under
        the ELBO: (d,) or (n, d); NaN where there are several that differ."""

    @property
    def grain(self) -> Vector:
        """(d,) How far the singularities of log p(z_j) are from the real axis: what a quadrature
        has to resolve."""
        return np.full(self.d, np.inf)

    @property
    def standard(self) -> bool:
        """Whether it is N(0, I)."""
        return False

    @property
    def per_row(self) -> bool:
        return False

    @property
    def independent(self) -> bool:
        """Whether p(z) is the product of its marginals."""
        return True

    @property
    def peaked(self) -> bool:
        """Whether an unused posterior sits in a part of p that is narrower than the whole."""
        return False

    def log_marginals(self, z: Floats, rows: Rows | None = None) -> Matrix:
        """log p(z_j) of each point and latent: (n, d)."""
        del rows
        columns = [self.log_marginal(j, z[:, j].astype(np.float64)) for j in range(self.d)]
        return np.stack(columns, axis=1)

    def log_prob(self, z: Floats, rows: Rows | None = None) -> Vector:
        """log p(z) of each point: (n,)."""
        return np.asarray(self.log_marginals(z, rows).sum(axis=1))

    def kl(self, mean: Floats, variance: Floats, rows: Rows | None = None) -> Matrix:
        """KL(N(mean_j, variance_j) || p(z_j)) of each example and latent: (n, d). To 1e-5 nats
        where it has no closed form; infinite at variance 0."""
        del rows
        columns = [
            quadrature_kl(partial(self.log_marginal, j), grain, mean[:, j], variance[:, j])
            for j, grain in enumerate(self.grain)
        ]
        return np.stack(columns, axis=1)

    def normal_scores(self, z: Floats, rows: Rows | None = None) -> Matrix:
        """Each latent mapped to where it would be N(0, 1) if it followed the prior: (n, d). For
        Gaussian priors that is (z - mean) / standard deviation."""
        from scipy import special

        del rows
        columns = []
        for j in range(self.d):
            below, above = (
                np.maximum(tail, _TINY) for tail in self.tails(j, z[:, j].astype(np.float64))
            )
            # By the smaller tail: 1 - 1e-17 is 1.
            scores = np.where(below < above, special.ndtri(below), -special.ndtri(above))
            columns.append(scores)
        return np.stack(columns, axis=1)

    def take(self, rows: Rows) -> "PriorDensity":
        """The prior of some of the rows."""
        del rows
        return self

    def nearest_centre(self, mean: Floats, rows: Rows | None = None) -> Floats:
        """Of the means that an unused posterior may have, the nearest to these in each latent."""
        del mean
        return self.mean if rows is None else self.take(rows).mean

    def arrays(self) -> dict[str, Floats]:
        """Parameters that have one row per example, by name."""
        return {}

    def to_json(self) -> str:
        """Name and parameters as text; null for those in `arrays`."""
        content: dict[str, Any] = {"name": self.name}
        for entry in fields(self):  # type: ignore[arg-type]  # families are dataclasses
            value = None if entry.name in self.arrays() else getattr(self, entry.name)
            content[entry.name] = value.tolist() if isinstance(value, np.ndarray) else value
        return json.dumps(content)


class ProductDensity(PriorDensity):
    """Independent latents, each with a location of its own; other arrays are (d,) too."""

    if TYPE_CHECKING:

        @property
        def location(self) -> Floats:
            """(d,) where each latent is symmetric about."""

    @abstractmethod
    def deviations(self, rng: np.random.Generator, shape: tuple[int, int]) -> Matrix:
        """Draws of z - location."""

    @property
    def d(self) -> int:
        return len(self.location)

    @property
    def mean(self) -> Floats:
        return self.location

    def draw(self, rng: np.random.Generator, n: int, rows: Rows | None = None) -> Matrix:
        del rows
        return np.asarray(self.location + self.deviations(rng, (n, self.d)))

    def columns(self, latents: Integers) -> Self:
        values = {entry.name: getattr(self, entry.name) for entry in fields(self)}  # type: ignore[arg-type]
        arrays = {key: value for key, value in values.items() if isinstance(value, np.ndarray)}
        chosen = {key: value[latents] for key, value in arrays.items()}
        return replace(self, **chosen)  # type: ignore[type-var]


def check(
    name: str, shapes: dict[str, Floats], positive: dict[str, Floats | float] | None = None
) -> None:
    """All of the same shape, not empty and finite; those in `positive` above 0."""
    found = {key: array.shape for key, array in shapes.items()}
    first = next(iter(found.values()))
    if not first or 0 in first or any(shape != first for shape in found.values()):
        said = ", ".join(f"{key} {shape}" for key, shape in found.items())
        raise ShapeError(
            f"A {name} prior has parameters of shapes {said}; wanted the same, one value for each "
            "latent.",
            "Give arrays of equal length.",
        )
    for key, array in shapes.items():
        if not np.isfinite(array).all():
            raise RangeError(
                f"{key} of a {name} prior has values that are NaN or infinite.",
                "Look for the cause in the prior's parameters.",
            )
    for key, values in (positive or {}).items():
        if not (np.min(values) > 0 and np.max(values) < np.inf):
            bad = np.max(values) if np.min(values) > 0 else np.min(values)
            raise RangeError(
                f"{key} of a {name} prior has the value {bad:g}; wanted positive, finite ones.",
                "The KL to a point is infinite: look at the prior's parameters.",
            )
