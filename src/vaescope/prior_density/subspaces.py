"""Independent subspaces: latents in groups, dependent inside and independent outside.

mathieu2019, https://arxiv.org/abs/1812.02833, names such priors in its abstract and gives none.
Here each group has a multivariate Student-t, whose density depends on the norm alone, as in the
independent subspaces of Hyvarinen and Hoyer 2000, https://doi.org/10.1162/089976600300015312.
"""

import math
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import ClassVar

import numpy as np

from vaescope.prior_density.density import Matrix, PriorDensity, Rows, Vector, check
from vaescope.prior_density.student_t import StudentTDensity
from vaescope.types import Floats, Integers

__all__ = ["SubspacesDensity", "group_floor", "least_ratio", "log_normaliser"]


@dataclass(frozen=True, eq=False)
class SubspacesDensity(PriorDensity):
    """Latents with the same number in `groups` share one Student-t of `df` degrees of freedom:
    location + scale * e / sqrt(c / df), e ~ N(0, I) and one c ~ chi^2(df) for the whole group.

    Location, scale and groups are (d,). Latents of a group are uncorrelated, but large together.
    """

    df: float
    location: Floats
    scale: Floats
    groups: Integers | Floats
    name: ClassVar[str] = "subspaces"

    def __post_init__(self) -> None:
        numbers = np.asarray(self.groups, dtype=np.float64)
        shapes = {"location": self.location, "scale": self.scale, "groups": numbers}
        check(self.name, shapes, {"df": self.df, "scale": self.scale})

    @property
    def _marginals(self) -> StudentTDensity:
        """A marginal of a multivariate Student-t is one of as many degrees of freedom."""
        return StudentTDensity(self.df, self.location, self.scale)

    @property
    def group_of(self) -> Integers:
        """(d,) The place of each latent's group among the groups."""
        return np.unique(self.groups, return_inverse=True)[1].ravel()

    @property
    def sizes(self) -> Integers:
        """How many latents each group has."""
        return np.bincount(self.group_of)

    @property
    def d(self) -> int:
        return len(self.location)

    @property
    def mean(self) -> Floats:
        return self.location

    @property
    def variance(self) -> Floats:
        return self._marginals.variance

    @property
    def says(self) -> str:
        sizes = self.sizes.tolist()
        count = f"{len(sizes)} independent subspaces" if len(sizes) > 1 else "one subspace"
        shown = sizes[:1] if len(set(sizes)) == 1 else sizes
        return (
            f"{count} of {', '.join(map(str, shown))} latents, "
            f"Student-t with {self.df:g} degrees of freedom"
        )

    @property
    def grain(self) -> Vector:
        return self._marginals.grain

    @property
    def independent(self) -> bool:
        return bool(np.all(self.sizes == 1))

    def log_prob(self, z: Floats, rows: Rows | None = None) -> Vector:
        del rows
        total = np.full(len(z), -np.log(self.scale.astype(np.float64)).sum())
        squares = np.square((z.astype(np.float64) - self.location) / self.scale)
        for number, size in enumerate(self.sizes):
            norm = squares[:, self.group_of == number].sum(axis=1)
            tail = 0.5 * (self.df + size) * np.log1p(norm / self.df)
            total += log_normaliser(self.df, int(size)) - tail
        return total

    def log_marginal(self, latent: int, z: Matrix) -> Matrix:
        return self._marginals.log_marginal(latent, z)

    def tails(self, latent: int, z: Matrix) -> tuple[Matrix, Matrix]:
        return self._marginals.tails(latent, z)

    def draw(self, rng: np.random.Generator, n: int, rows: Rows | None = None) -> Matrix:
        del rows
        width = np.sqrt(self.df / rng.chisquare(self.df, (n, len(self.sizes))))
        noise = rng.standard_normal((n, self.d)) * width[:, self.group_of]
        return np.asarray(self.location + self.scale * noise)

    def columns(self, latents: Integers) -> "SubspacesDensity":
        return replace(
            self,
            location=self.location[latents], scale=self.scale[latents], groups=self.groups[latents],
        )  # fmt: skip

    def unused_variance(self) -> Floats:
        """Of groups that are unused as a whole. Beside a used latent the best posterior is wide
        where that one is large."""
        ratios = np.array([least_ratio(self.df, int(size)) for size in self.sizes])
        return np.asarray(ratios[self.group_of] * np.square(self.scale, dtype=np.float64))


def log_normaliser(df: float, size: int) -> float:
    """log of Gamma((df + k) / 2) / (Gamma(df / 2) (pi df)^(k/2)), k the size of a group."""
    from scipy import special

    # By the beta function: at 1e12 degrees of freedom two log-gammas have no digits left.
    gammas = special.gammaln(0.5 * size) - special.betaln(0.5 * df, 0.5 * size)
    return float(gammas - 0.5 * size * math.log(math.pi * df))


#: Logarithms of squared norms of a group's noise: from where a single latent's have 1e-18 of the
#: mass to where a hundred latents' have none.
_LOG_SQUARES = np.arange(-80.0, 8.0, 0.02)


@lru_cache(maxsize=16)
def _expected_tail(df: float, size: int) -> tuple[Vector, Vector]:
    """Points a = chi^2_k / df and their weights: E log(1 + v a) of noise in k latents is their sum,
    by the trapezium rule in log a, where the integrand is smooth."""
    log_weight = 0.5 * (size * _LOG_SQUARES - np.exp(_LOG_SQUARES))
    weight = np.exp(log_weight - log_weight.max())
    return np.exp(_LOG_SQUARES) / df, weight / weight.sum()


def group_floor(df: float, size: int, ratio: float) -> float:
    """KL(N(0, ratio I) || t) of one group, nats, in units of its scale."""
    a, weight = _expected_tail(df, size)
    log_p = log_normaliser(df, size) - 0.5 * (df + size) * float(weight @ np.log1p(ratio * a))
    entropy = 0.5 * size * (math.log(2.0 * math.pi * ratio) + 1.0)
    return max(-entropy - log_p, 0.0)


@lru_cache(maxsize=64)
def least_ratio(
    df: float, size: int, *, factor: float = 1.0, spread: float = 0.0, scale: float = 1.0
) -> float:
    """The v at which N(0, v I) costs an unused group least, in units of the squared scale; NaN
    where there is none.

    The cost, -E log p - factor / 2 log |v I| + spread * sum_j (scale^2 v_j - 1)^2, is without the
    penalty convex in the logarithms of the variances, being an expectation of log-sum-exps, and the
    same function of each: so the best are equal. It falls for ever if factor k >= df + k.
    """
    from scipy import optimize

    if not spread and factor * size >= df + size:
        return math.nan
    a, weight = _expected_tail(df, size)

    def cost(log_ratio: float) -> float:
        ratio = math.exp(log_ratio)
        tail = 0.5 * (df + size) * float(weight @ np.log1p(ratio * a))
        penalty = spread * size * (scale**2 * ratio - 1.0) ** 2
        return tail - 0.5 * factor * size * log_ratio + penalty

    logs = np.linspace(-25.0, 50.0, 301)
    best = int(np.argmin([cost(place) for place in logs]))
    ends = (logs[max(best - 1, 0)], logs[min(best + 1, len(logs) - 1)])
    found = optimize.minimize_scalar(cost, bounds=ends, method="bounded", options={"xatol": 1e-9})
    return math.exp(found.x)
