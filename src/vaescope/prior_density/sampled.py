"""A prior known by its log-density and by draws from it, such as a flow or an energy. What needs
all latents together is by the density; what is of one latent alone is by the draws."""

import math
from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from vaescope.errors import RangeError, ShapeError, UsageError
from vaescope.prior_density.density import Matrix, PriorDensity, Rows, Vector
from vaescope.prior_density.divergence import quadrature_kl
from vaescope.types import Floats, Integers

__all__ = ["SampledDensity"]

#: Bandwidth over Silverman's (1986, eq. 3.31), and its fraction that a grid resolves.
_BANDWIDTH, _STEP = 0.7, 0.25
#: Most points of a grid.
_MOST = 2**16
#: Share of a Gaussian of twice the standard deviation, so that no place has no density at all.
_WIDE = 1e-3
#: Means and variances among which an unused posterior is looked for.
_CENTRES, _SPREADS = 33, 40
#: Minima as near as this, in nats, count as equal; the variances of these may differ so much.
_SAME, _RATIO = 1e-2, 1.8


@dataclass(frozen=True, eq=False)
class _Marginal:
    """The density of one latent on a grid, smoothed by a Gaussian of width `bandwidth`."""

    grid: Vector
    log_density: Vector
    below: Vector  # mass below each point
    bandwidth: float
    mean: float
    scale: float  # of the wide Gaussian

    @classmethod
    def of(cls, draws: Vector) -> "_Marginal":
        quarters = np.quantile(draws, (0.25, 0.75))
        width = min(float(draws.std()), float(np.ptp(quarters)) / 1.34) or float(draws.std())
        if not width > 0:
            raise RangeError(
                "Draws from the prior have latents that do not vary.",
                "Give draws of a prior with a density.",
            )
        bandwidth = _BANDWIDTH * 0.9 * width * len(draws) ** -0.2
        low, high = draws.min() - 5.0 * bandwidth, draws.max() + 5.0 * bandwidth
        points = int(np.clip((high - low) / (_STEP * bandwidth), 64, _MOST))
        counts, edges = np.histogram(draws, bins=points, range=(low, high))
        step = edges[1] - edges[0]
        reach = math.ceil(5.0 * bandwidth / step)
        kernel = np.exp(-0.5 * np.square(np.arange(-reach, reach + 1) * step / bandwidth))
        smooth = np.convolve(counts, kernel / kernel.sum(), mode="same") / (counts.sum() * step)
        grid = 0.5 * (edges[1:] + edges[:-1])
        mean, scale = float(draws.mean()), 2.0 * float(draws.std())
        density = (1.0 - _WIDE) * smooth + np.exp(_log_wide(grid, mean, scale))
        return cls(
            grid, np.log(density), np.cumsum(smooth) * step, bandwidth, mean, scale
        )  # fmt: skip

    def log_prob(self, z: Matrix) -> Matrix:
        inside = np.interp(z, self.grid, self.log_density)
        outside = (z < self.grid[0]) | (z > self.grid[-1])
        return np.where(outside, _log_wide(z, self.mean, self.scale), inside)

    def tails(self, z: Matrix) -> tuple[Matrix, Matrix]:
        from scipy import special

        t = (z - self.mean) / self.scale
        own = np.interp(z, self.grid, self.below, left=0.0, right=1.0)
        below = (1.0 - _WIDE) * own + _WIDE * special.ndtr(t)
        return below, (1.0 - _WIDE) * (1.0 - own) + _WIDE * special.ndtr(-t)


def _log_wide(z: Matrix, mean: float, scale: float) -> Matrix:
    t = (z - mean) / scale
    return np.asarray(-0.5 * t * t - math.log(scale * math.sqrt(2.0 * math.pi)) + math.log(_WIDE))


@dataclass(frozen=True, eq=False)
class SampledDensity(PriorDensity):
    """p(z) by a function of points (n, d) that gives their log-densities (n,), and by `draws`
    (m, d). `log_density` is None where only the draws are known, as of some of the latents.

    >>> normal = np.random.default_rng(0).standard_normal((5000, 1))
    >>> prior = SampledDensity(normal, None, "a flow")
    >>> [round(float(kl), 1) for kl in prior.kl(np.array([[1.0]]), np.array([[1.0]]))[0]]
    [0.5]
    """

    draws: Floats
    log_density: Callable[[Matrix], Vector] | None
    title: str
    name: ClassVar[str] = "sampled"

    def __post_init__(self) -> None:
        if self.draws.ndim != 2 or len(self.draws) < 2 or not self.draws.shape[1]:
            raise ShapeError(
                f"Draws from a prior have shape {self.draws.shape}; wanted (draws, latents).",
                "Give draws from it, one row each.",
            )
        if not np.isfinite(self.draws).all():
            raise RangeError(
                "Draws from a prior have values that are NaN or infinite.",
                "Look for the cause in the prior.",
            )

    @property
    def d(self) -> int:
        return int(self.draws.shape[1])

    @property
    def says(self) -> str:
        return self.title

    @cached_property
    def _moments(self) -> tuple[Vector, Vector]:
        draws = self.draws.astype(np.float64)
        return draws.mean(axis=0), draws.var(axis=0)

    @property
    def mean(self) -> Floats:
        return self._moments[0]

    @property
    def variance(self) -> Floats:
        return self._moments[1]

    @property
    def independent(self) -> bool:
        return self.d == 1

    @property
    def peaked(self) -> bool:
        return True

    @cached_property
    def _marginals(self) -> list[_Marginal]:
        return [_Marginal.of(self.draws[:, j].astype(np.float64)) for j in range(self.d)]

    @property
    def grain(self) -> Vector:
        return np.array([marginal.bandwidth for marginal in self._marginals])

    def log_prob(self, z: Floats, rows: Rows | None = None) -> Vector:
        del rows
        if self.d == 1:
            return np.asarray(self.log_marginal(0, z[:, 0].astype(np.float64)))
        if self.log_density is None:
            raise UsageError(
                f"Of {self.title} no density of these latents alone is known, only draws.",
                "Compare one latent at a time, or all of them.",
            )
        return np.asarray(self.log_density(z.astype(np.float64)))

    def log_marginal(self, latent: int, z: Matrix) -> Matrix:
        return self._marginals[latent].log_prob(z)

    def tails(self, latent: int, z: Matrix) -> tuple[Matrix, Matrix]:
        return self._marginals[latent].tails(z)

    def draw(self, rng: np.random.Generator, n: int, rows: Rows | None = None) -> Matrix:
        """Of the draws that are known, with replacement where there are fewer."""
        del rows
        chosen = rng.choice(len(self.draws), size=n, replace=n > len(self.draws))
        return self.draws[chosen].astype(np.float64)

    def columns(self, latents: Integers) -> "SampledDensity":
        whole = np.array_equal(latents, np.arange(self.d))
        return self if whole else SampledDensity(self.draws[:, latents], None, self.title)

    @cached_property
    def _unused(self) -> list[tuple[Vector, float]]:
        """For each latent the means of the Gaussians of least KL to its marginal, and their
        variance; NaN where equally good ones have different variances."""
        found = []
        for j, marginal in enumerate(self._marginals):
            centres = np.quantile(self.draws[:, j], np.linspace(0.02, 0.98, _CENTRES))
            spreads = float(self.variance[j]) * np.geomspace(0.005, 1.5, _SPREADS)
            mean, variance = (part.ravel() for part in np.meshgrid(centres, spreads))
            nats = quadrature_kl(marginal.log_prob, marginal.bandwidth, mean, variance)
            near = nats < nats.min() + _SAME
            same = variance[near].max() < _RATIO * variance[near].min()
            found.append((mean[near], float(variance[nats.argmin()]) if same else np.nan))
        return found

    def nearest_centre(self, mean: Floats, rows: Rows | None = None) -> Floats:
        del rows
        columns = []
        for j, (centres, _) in enumerate(self._unused):
            best = np.abs(mean[:, j, None] - centres).argmin(axis=1)
            columns.append(centres[best])
        return np.stack(columns, axis=1)

    def unused_variance(self) -> Floats:
        return np.array([variance for _, variance in self._unused])

    def to_json(self) -> str:
        raise UsageError(
            f"Codes whose prior is {self.title} have no file: a function cannot be saved.",
            "Open the model with prior=normal and save those codes; their prior is then N(0, I).",
        )
