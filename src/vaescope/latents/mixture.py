"""The aggregate posterior as the finite mixture that it is: q(z) = mean over x of q(z|x).

On a few thousand codes its density is exact, without the bias of minibatch estimates (mathieu2019,
appendix C); only the expectation over z is by sampling, with control variates.
"""

from collections.abc import Iterator
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from vaescope.codes import Codes, cholesky, matrix_chunks
from vaescope.errors import RangeError
from vaescope.notebook_card import card_of
from vaescope.prior_density import GaussianDensity, PriorDensity
from vaescope.seeds import rng, subset
from vaescope.types import Double, Long, Matrix, Vector

__all__ = [
    "Components",
    "Mixture",
    "MonteCarloEstimate",
    "log_densities",
    "log_mixture",
    "log_prior",
    "mixture",
    "most_components",
    "posteriors_of",
]

Rows = Long

#: Logarithms below this count as this: exp of less is subnormal, slow and nothing beside 1.
TINY = -700.0

#: Densities computed at a time: they stay in a core's second cache.
_BLOCK = 2**17


@dataclass(frozen=True, eq=False)
class Components:
    """Gaussians, equally likely: means and standard deviations (n, d).

    With full covariance also its Cholesky factors (n, d, d) and the inverses of these.
    """

    mean: Matrix
    scale: Matrix
    factor: Double | None = None
    whitening: Double | None = None

    @property
    def n(self) -> int:
        return len(self.mean)

    @property
    def d(self) -> int:
        return int(self.mean.shape[1])

    def log_volume(self) -> Vector:
        """log |2 pi Sigma|^(1/2) of each component."""
        scale = self.scale
        if self.factor is not None:
            scale = np.diagonal(self.factor, axis1=1, axis2=2)
        return np.asarray(np.log(scale).sum(axis=1) + 0.5 * self.d * np.log(2.0 * np.pi))

    def entropy(self) -> Vector:
        """Differential entropy of each component, in nats."""
        return self.log_volume() + 0.5 * self.d

    def second_moment(self) -> Double:
        """E[z z'] of each component: (n, d, d)."""
        outer = self.mean[:, :, None] * self.mean[:, None, :]
        if self.factor is not None:
            return np.asarray(outer + self.factor @ self.factor.transpose(0, 2, 1))
        return np.asarray(outer + np.square(self.scale)[:, :, None] * np.eye(self.d))

    def at(self, noise: Matrix) -> Matrix:
        """One point of each component from standard normal noise (n, d)."""
        if self.factor is None:
            return self.mean + self.scale * noise
        return np.asarray(self.mean + np.einsum("nij,nj->ni", self.factor, noise))


def posteriors_of(codes: Codes, rows: Rows) -> Components:
    """The posteriors of these rows."""
    variance = codes.variance[rows].astype(np.float64)
    if not codes.stochastic:
        raise RangeError(
            f"variance has the value {codes.variance.min():g}: a point posterior has no density.",
            "Overlap and aggregate densities are for stochastic encoders.",
        )
    mean = codes.mean[rows].astype(np.float64, order="F")  # densities read latent by latent
    if codes.covariance is None:
        return Components(mean, np.sqrt(variance, order="F"))
    factor = np.empty((len(mean), codes.d, codes.d))
    whitening = np.empty_like(factor)
    for some in matrix_chunks(*mean.shape):
        factor[some] = cholesky(codes.covariance[rows[some]], first=some.start)
        whitening[some] = np.linalg.inv(factor[some])
    diagonal = np.diagonal(codes.covariance, axis1=1, axis2=2)[rows].astype(np.float64)
    return Components(mean, np.sqrt(diagonal), factor, whitening)


def most_components(codes: Codes, most: int) -> int:
    """At most so many posteriors in a density, and of full covariances no more than 512 MB."""
    return most if codes.covariance is None else min(most, max(1000, 2**25 // codes.d**2))


def blocks(points: int, components: int) -> Iterator[slice]:
    """Slices of the points such that a block of densities stays in cache."""
    step = max(1, _BLOCK // components)
    for start in range(0, points, step):
        yield slice(start, min(start + step, points))


def log_densities(z: Matrix, of: Components) -> Matrix:
    """log q(z|x) of each point under each component: (points, components).

    By differences, not by expanding the square: variances of 1e-8 would cancel.
    """
    squares = np.zeros((len(z), of.n))
    if of.whitening is None:
        for j in range(of.d):
            squares += np.square((z[:, j, None] - of.mean[:, j]) / of.scale[:, j])
    else:
        apart = z[:, None, :] - of.mean
        squares += np.square(np.einsum("nij,mnj->mni", of.whitening, apart)).sum(axis=2)
    return np.asarray(-0.5 * squares - of.log_volume())


def log_sum_exp(terms: Matrix) -> Vector:
    """log of the sum of exp over the second axis, around the largest: densities underflow."""
    largest = terms.max(axis=1)
    shifted = np.maximum(terms - largest[:, None], TINY)
    return np.asarray(largest + np.log(np.exp(shifted, out=shifted).sum(axis=1)))


def log_mixture(z: Matrix, of: Components) -> Vector:
    """log q(z) at each point."""
    parts = [log_sum_exp(log_densities(z[rows], of)) for rows in blocks(len(z), of.n)]
    return np.asarray(np.concatenate(parts) - np.log(of.n))


def log_prior(z: Matrix, prior: PriorDensity, rows: Rows) -> Vector:
    """log p(z) at each point; of a prior that depends on the row, of its mixture over `rows`."""
    if not (isinstance(prior, GaussianDensity) and prior.per_row):
        return prior.log_prob(z)
    mean, variance = prior.of(rows)
    if not np.ptp(mean, axis=0).any() and not np.ptp(variance, axis=0).any():
        mean, variance = mean[:1], variance[:1]  # the same for every row
    return log_mixture(z, Components(mean, np.sqrt(variance)))


def log_marginals(z: Matrix, of: Components) -> Matrix:
    """log q(z_j) at each point and latent: (points, d)."""
    columns = [
        log_mixture(z[:, [j]], Components(of.mean[:, [j]], of.scale[:, [j]])) for j in range(of.d)
    ]
    return np.stack(columns, axis=1)


@dataclass(frozen=True)
class MonteCarloEstimate:
    """A mean over sampled points and its standard error."""

    value: float
    standard_error: float


@dataclass(frozen=True)
class Mixture:
    """Properties of the aggregate posterior of `n` codes, in nats, from `draws` samples of each."""

    total_correlation: MonteCarloEstimate  # nats
    index_code_information: MonteCarloEstimate  # at most log n
    kl_to_prior: MonteCarloEstimate  # KL(q(z) || p(z))
    n: int
    of: int  # number of codes that were available
    draws: int
    seed: int

    def summary(self) -> str:
        """One line with the three numbers."""
        return (
            f"aggregate posterior of {self.n:,} of {self.of:,} codes: total correlation "
            f"{self.total_correlation.value:.3g}, index-code information "
            f"{self.index_code_information.value:.3g} (at most {np.log(self.n):.3g}), KL to the "
            f"prior {self.kl_to_prior.value:.3g} nats"
        )

    def to_dict(self) -> dict[str, Any]:
        return asdict(self)

    _repr_html_ = card_of


def mixture(codes: Codes, *, rows: int = 2000, draws: int = 1, seed: int = 0) -> Mixture:
    """Total correlation, index-code information and KL to the prior of the aggregate posterior.

    TC = E[log q(z) - sum_j log q(z_j)], I(n; z) = E[log q(z|x) - log q(z)],
    KL = E[log q(z) - log p(z)] over z from the mixture itself. Costs rows^2 x draws x d. A mixture
    of few narrow posteriors is not the aggregate posterior of the data that they stand for: if the
    information is near log n, the other two describe the codes, not the data.

    Args:
        codes: posterior mean, variance and sample of each row, with factors if they are needed.
        rows: number of codes that are evaluated.
        draws: number of samples for each row.
        seed: seed of all random draws.

    Returns:
        `Mixture`: properties of the aggregate posterior of `n` codes, in nats, from `draws`
            samples of each.

    Raises:
        RangeError: a value is out of range.

    Example:
        >>> import vaescope as vs
        >>> codes = vs.known.codes()
        >>> vs.latents.mixture(codes, rows=300).n
        300
    """
    stream = rng(seed, "mixture")
    chosen = subset(codes.n, rows, stream)
    q = posteriors_of(codes, chosen)
    noise = stream.standard_normal((draws, q.n, q.d))
    z = np.concatenate([q.at(own) for own in noise])
    own = -np.tile(q.log_volume(), draws) - 0.5 * np.square(noise).sum(axis=2).ravel()
    log_q = log_mixture(z, q)
    controls = _controls(z, noise.reshape(-1, q.d), q, draws)
    return Mixture(
        _expect(log_q - log_marginals(z, q).sum(axis=1), controls),
        _expect(own - log_q, controls, most=float(np.log(q.n))),
        _expect(log_q - log_prior(z, codes.prior, chosen), controls),
        q.n,
        codes.n,
        draws,
        seed,
    )


def _controls(z: Matrix, noise: Matrix, q: Components, draws: int) -> Matrix:
    """Quantities of each point whose mean is known to be 0: (points, controls).

    Noise squared less 1, and first and second moments of z less those of its component. With these
    regressed out Gaussian aggregates leave no sampling error. Second moments only where there
    are 20 points for each: a regression on more would follow the noise.
    """
    columns = [np.square(noise) - 1.0, z - np.tile(q.mean, (draws, 1))]
    first, second = np.triu_indices(q.d)
    if len(z) >= 20 * (2 * q.d + len(first)):
        expected = np.tile(q.second_moment()[:, first, second], (draws, 1))
        columns.append(z[:, first] * z[:, second] - expected)
    elif len(z) < 40 * q.d:
        return np.zeros((len(z), 0))
    return np.concatenate(columns, axis=1)


def _expect(values: Vector, controls: Matrix, *, most: float = np.inf) -> MonteCarloEstimate:
    """The mean that the values would have if the controls had theirs; never negative here."""
    weights = np.linalg.lstsq(controls - controls.mean(axis=0), values - values.mean())[0]
    adjusted = values - controls @ weights
    value = float(np.clip(adjusted.mean(), 0.0, most))
    return MonteCarloEstimate(value, float(adjusted.std() / np.sqrt(len(values))))
