"""Overlap of the encodings: the first factor of decomposition. mathieu2019, section 3.1.

Mathieu et al. 2019, https://arxiv.org/abs/1812.02833. The information between data and codes does
not tell how many encodings meet where: a mixture of a tiny ball and the prior has any information
one likes. So the effective number of data points that share a code is looked at code by code, and
pairs of encodings by their Bhattacharyya coefficient.
"""

from dataclasses import asdict, dataclass
from typing import Any, Literal

import numpy as np

from vaescope.codes import Codes, matrix_chunks
from vaescope.errors import ShapeError
from vaescope.latents.mixture import (
    TINY,
    Components,
    blocks,
    log_densities,
    log_sum_exp,
    most_components,
    posteriors_of,
)
from vaescope.notebook_card import card_of
from vaescope.seeds import rng, subset
from vaescope.types import Floats, Integers, Matrix, Vector

__all__ = ["END", "Overlap", "State", "bhattacharyya", "overlap", "overlap_of_densities"]


POINTS, COMPONENTS, PAIRS = 1000, 10_000, 50_000

#: Fewer data points that share a code are a lookup table; more than one in as many of all are lost
#: codes: a bit of information from either extreme, tested by the study mathieu2019/overlap.
END = 2.0
State = Literal["lookup table", "appropriate", "lost"]


@dataclass(frozen=True)
class Overlap:
    """How far encodings overlap, in nats and numbers of data points."""

    index_code_information: float  # I(n; z), at most log n
    information_at_least: float  # a lower bound; equal to the information if `exact`
    exact: bool  # whether densities use all data points; else the information is biased upwards
    effective_number: float  # exp of the mean of H(n|z), that is n exp(-I)
    effective_number_mean: float  # mean over codes of exp H(n|z)
    effective_number_quantiles: tuple[float, float, float]  # 5%, 50%, 95%
    bhattacharyya: float  # mean over pairs of data points
    posterior_entropy: float  # mean, nats
    n: int  # data points
    components: int  # number of data points in the densities
    points: int  # number of codes at which densities are evaluated

    @property
    def unevenness(self) -> float:
        """log of the mean effective number over its geometric mean: 0 if all are shared alike.

        Over 1 nat, some codes belong to one data point and others to any: information is then no
        measure of overlap.
        """
        return float(np.log(self.effective_number_mean / self.effective_number))

    @property
    def uneven(self) -> bool:
        return self.unevenness > 1.0

    def among(self, rows: int) -> float:
        """About how many of so many rows share a code, where these are drawn from them: those
        beside one's own grow with the number of rows."""
        grown = 1.0 + (self.effective_number - 1.0) * (rows - 1) / (self.n - 1)
        return min(grown, float(rows))

    @property
    def state(self) -> State:
        """Whether codes are a lookup table, lost, or neither."""
        return self.state_among(self.n)

    def state_among(self, rows: int) -> State:
        """The same of so many rows, of which these are a few."""
        number = self.among(rows)
        if number > rows / END:
            return "lost"
        return "lookup table" if number < END else "appropriate"

    def summary(self) -> str:
        """One line with information, sharing and pairwise overlap."""
        about = "" if self.exact else f" (at least {self.information_at_least:.3g})"
        warning = "; codes are shared very unevenly" if self.uneven else ""
        return (
            f"index-code information {self.index_code_information:.3g} nats{about}, "
            f"{self.effective_number:.3g} of {self.n:,} data points share a code, mean pairwise "
            f"overlap {self.bhattacharyya:.2g}{warning}"
        )

    def to_dict(self) -> dict[str, Any]:
        row = asdict(self)
        row["effective_number_quantiles"] = list(self.effective_number_quantiles)
        return {**row, "unevenness": self.unevenness, "uneven": self.uneven}

    _repr_html_ = card_of


@dataclass(frozen=True, eq=False)
class _Shared:
    """Of each point: information with its own index, that among the components, and H(n|z)."""

    information: Vector
    at_least: Vector
    entropy: Vector


def _shared(log_density: Matrix, own: Integers, total: int) -> _Shared:
    """Where the components are all data points (`total`), weights are 1/n: exact.

    Else a point's own component has weight 1/total and each other stands for
    (total - 1) / (components - 1) data points. That mean is unbiased for q(z), so its logarithm is
    too small and the information too large (mathieu2019, appendix C); the mixture of the components
    alone bounds it from below, as entropy is concave.
    """
    points, components = log_density.shape
    mine = log_density[np.arange(points), own]
    copies = np.full(log_density.shape, (total - 1) / (components - 1))
    copies[np.arange(points), own] = 1.0
    log_q = log_sum_exp(log_density + np.log(copies))  # and log total
    log_share = np.maximum(log_density - log_q[:, None], TINY)  # of one data point, given the code
    share = copies * np.exp(log_share)  # of all that a component stands for
    at_least = mine - log_sum_exp(log_density) + np.log(components)
    return _Shared(mine - log_q + np.log(total), at_least, -np.einsum("ij,ij->i", share, log_share))


def _overlap(
    parts: list[_Shared], pairwise: float, entropy: float, n: int, components: int
) -> Overlap:
    information = np.concatenate([part.information for part in parts])
    at_least = np.concatenate([part.at_least for part in parts])
    number = np.exp(np.concatenate([part.entropy for part in parts]))
    low, middle, high = np.quantile(number, [0.05, 0.5, 0.95])
    value = float(np.clip(information.mean(), 0.0, np.log(n)))
    return Overlap(
        value,
        min(float(max(at_least.mean(), 0.0)), value),
        components == n,
        float(np.exp(np.log(number).mean())),
        float(number.mean()),
        (float(low), float(middle), float(high)),
        pairwise,
        entropy,
        n,
        components,
        len(number),
    )


def overlap_of_densities(log_density: Floats, own: Integers) -> Overlap:
    """Overlap of any encoder, from log q(z_i|x_k) of sampled codes under all data points.

    `log_density` is (codes, data points); `own` has for each code the data point it was drawn
    from. Pairwise overlap is E[sqrt(q_k(z) / q_own(z))], entropy -E[log q_own(z)].

    Args:
        log_density: (points, components) log densities.
        own: (points,) the component that each point was drawn from.

    Returns:
        `Overlap`: how far encodings overlap, in nats and numbers of data points.

    Raises:
        ShapeError: an array is missing, or has the wrong shape or type.

    Example:
        >>> import numpy as np
        >>> import vaescope as vs
        >>> apart = np.array([[0.0, -50.0], [-50.0, 0.0]])
        >>> overlap = vs.decomposition.overlap_of_densities(apart, np.array([0, 1]))
        >>> round(overlap.effective_number, 2)
        1.0
    """
    if log_density.ndim != 2 or log_density.shape[1] < 2 or own.shape != log_density.shape[:1]:
        raise ShapeError(
            f"log_density has shape {log_density.shape} and own {own.shape}; wanted (codes, data "
            "points), at least two of these, and (codes,).",
            "Give the log density of each code under each data point's encoding.",
        )
    densities: Matrix = log_density.astype(np.float64)
    here = np.arange(len(own))
    mine = densities[here, own]
    if not np.isfinite(mine).all():
        raise ShapeError(
            "A code has no density under its own data point's encoding.",
            "Draw each code from the encoding that `own` names.",
        )
    ratio = np.exp(0.5 * (densities - mine[:, None]))
    ratio[here, own] = 0.0
    n = densities.shape[1]
    pairwise = float(ratio.sum() / (len(own) * (n - 1)))
    return _overlap([_shared(densities, own, n)], pairwise, float(-mine.mean()), n, n)


def overlap(codes: Codes, *, seed: int = 0) -> Overlap:
    """Overlap of Gaussian encodings.

    Densities are over all data points up to 10,000 (of full covariances over as many as fit into
    512 MB), so the information is exact apart from the choice of the 1,000 codes at which it is
    evaluated. With more data points, densities are over 10,000 of them, which biases the
    information upwards: `information_at_least` is a lower bound. Bhattacharyya coefficients are
    computed in closed form for all pairs, at most 50,000.

    Args:
        codes: posterior mean, variance and sample of each row, with factors if they are needed.
        seed: seed of all random draws.

    Returns:
        `Overlap`: how far encodings overlap, in nats and numbers of data points.

    Raises:
        RangeError: a value is out of range.
        ShapeError: an array is missing, or has the wrong shape or type.

    Example:
        >>> import vaescope as vs
        >>> codes = vs.known.codes()
        >>> round(vs.decomposition.overlap(codes).effective_number, 1)
        9.9
    """
    if codes.n < 2:
        raise ShapeError(f"Overlap needs two data points; got {codes.n}.", "Encode more.")
    stream = rng(seed, "overlap")
    chosen = subset(codes.n, most_components(codes, COMPONENTS), stream)
    q = posteriors_of(codes, chosen)
    own = subset(q.n, POINTS, stream)
    z = q.at(stream.standard_normal((q.n, q.d)))[own]
    parts = [
        _shared(log_densities(z[rows], q), own[rows], codes.n) for rows in blocks(len(own), q.n)
    ]
    pairwise = float(bhattacharyya(q, *_pairs(q.n, stream)).mean())
    return _overlap(parts, pairwise, float(q.entropy().mean()), codes.n, q.n)


def _pairs(n: int, stream: np.random.Generator) -> tuple[Integers, Integers]:
    if n * (n - 1) // 2 <= PAIRS:
        return np.triu_indices(n, 1)
    first = stream.integers(n, size=PAIRS)
    return first, (first + stream.integers(1, n, size=PAIRS)) % n


def bhattacharyya(q: Components, first: Integers, second: Integers) -> Vector:
    """Integral of sqrt(q_i q_k) of pairs of Gaussians: 1 if they are equal, 0 if far apart.

    exp(-D) with D = m' S^-1 m / 8 + log(|S| / sqrt(|S_i| |S_k|)) / 2, S the mean covariance and m
    the difference of the means.

    Args:
        q: components of the aggregate posterior.
        first: (k,) components.
        second: (k,) components.

    Returns:
        (k,) coefficients between 0 and 1.

    Example:
        >>> import numpy as np
        >>> import vaescope as vs
        >>> from vaescope.latents.mixture import Components
        >>> q = Components(np.zeros((2, 3)), np.ones((2, 3)))
        >>> vs.decomposition.bhattacharyya(q, np.array([0]), np.array([1])).tolist()
        [1.0]
    """
    apart = q.mean[first] - q.mean[second]
    volume = 0.5 * (q.log_volume()[first] + q.log_volume()[second])
    volume -= 0.5 * q.d * np.log(2.0 * np.pi)  # 0.5 log sqrt(|S_i| |S_k|)
    if q.factor is None:
        middle = 0.5 * (np.square(q.scale[first]) + np.square(q.scale[second]))
        distance = (np.square(apart) / middle).sum(axis=1) / 8.0
        return np.asarray(np.exp(-distance - 0.5 * np.log(middle).sum(axis=1) + volume))
    exponent = np.empty(len(first))
    for rows in matrix_chunks(len(first), q.d):
        some = apart[rows]
        one, other = q.factor[first[rows]], q.factor[second[rows]]
        middle = 0.5 * (one @ one.transpose(0, 2, 1) + other @ other.transpose(0, 2, 1))
        distance = (some * np.linalg.solve(middle, some[:, :, None])[:, :, 0]).sum(axis=1) / 8.0
        exponent[rows] = -distance - 0.5 * np.linalg.slogdet(middle)[1]
    return np.asarray(np.exp(exponent + volume))
