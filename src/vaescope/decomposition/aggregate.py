"""Match of aggregate posterior and prior: the second factor of decomposition. mathieu2019.

Mathieu et al. 2019, https://arxiv.org/abs/1812.02833, section 5 and appendix B, with the kernel of
its code. Gretton et al. 2012 for the maximum mean discrepancy.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np

from vaescope.codes import Codes
from vaescope.errors import ShapeError
from vaescope.latents.mixture import (
    MonteCarloEstimate,
    log_mixture,
    log_prior,
    most_components,
    posteriors_of,
)
from vaescope.latents.moments import chunks, moments
from vaescope.notebook_card import card_of
from vaescope.seeds import rng, subset
from vaescope.types import Matrix, Vector

__all__ = ["Aggregate", "aggregate", "inclusive_kl", "mmd", "mmd_joint"]


SCALES = (0.1, 0.2, 0.5, 1.0, 2.0, 5.0)
MMD_ROWS, COMPONENTS, POINTS = 1000, 10_000, 1000


@dataclass(frozen=True, eq=False)
class Aggregate:
    """How well the aggregate posterior matches the prior."""

    mmd: float  # summed over latents, as the code of mathieu2019
    mmd_joint: float  # the same for all latents jointly
    inclusive_kl: MonteCarloEstimate | None  # KL(p || q), nats; None for point posteriors
    mean: Vector  # mean of the aggregate posterior, computed exactly
    covariance: Matrix
    n: int
    mmd_rows: int  # number of rows behind mmd
    components: int  # number of posteriors in the aggregate
    seed: int

    def summary(self) -> str:
        """One line with the divergences and the moments."""
        off = self.covariance - np.diag(np.diag(self.covariance))
        kl = "" if self.inclusive_kl is None else f"KL(p||q) {self.inclusive_kl.value:.3g} nats, "
        return (
            f"{kl}MMD {self.mmd:.3g}; means up to {np.abs(self.mean).max():.2g}, variances "
            f"{np.diag(self.covariance).min():.2g} to {np.diag(self.covariance).max():.2g}, "
            f"covariances up to {np.abs(off).max():.2g}; n = {self.n:,}"
        )

    def to_dict(self) -> dict[str, Any]:
        kl = self.inclusive_kl
        return {
            "mmd": self.mmd,
            "mmd_joint": self.mmd_joint,
            "inclusive_kl": None if kl is None else kl.value,
            "inclusive_kl_standard_error": None if kl is None else kl.standard_error,
            "mean": self.mean.tolist(),
            "covariance": self.covariance.tolist(),
            "protocol": {
                "n": self.n,
                "mmd_rows": self.mmd_rows,
                "components": self.components,
                "seed": self.seed,
            },
        }

    _repr_html_ = card_of


def _kernel_sum(x: Matrix, y: Matrix, widths: tuple[float, ...]) -> float:
    """Sum over all pairs and widths C of C / (C + |x - y|^2)."""
    total = 0.0
    for rows in chunks(len(x), 64):  # blocks that stay in cache
        squares = np.zeros((rows.stop - rows.start, len(y)))
        for a, b in zip(x[rows].T, y.T, strict=True):
            squares += np.square(a[:, None] - b)
        kernel = np.empty_like(squares)
        for width in widths:
            np.add(squares, width, out=kernel)
            total += width * float(np.reciprocal(kernel, out=kernel).sum())
    return total


def _discrepancy(x: Matrix, y: Matrix, widths: tuple[float, ...]) -> float:
    """Without the pairs of a point with itself within, with all pairs across."""
    n = len(x)
    within = _kernel_sum(x, x, widths) + _kernel_sum(y, y, widths) - 2 * n * len(widths)
    return within / (n * (n - 1)) - 2.0 * _kernel_sum(x, y, widths) / (n * n)


def mmd(x: Matrix, y: Matrix) -> float:
    """Squared maximum mean discrepancy of each latent on its own, summed: (n, d) each.

    Kernel C / (C + (x - y)^2), C = 2 s, summed over s in 0.1, 0.2, 0.5, 1, 2, 5: the code of
    mathieu2019. Blind to dependence between latents. Unbiased, so it may be a little below 0.

    Args:
        x: (n, d) rows.
        y: (m, d) rows.

    Returns:
        A number.

    Raises:
        ShapeError: an array is missing, or has the wrong shape or type.

    Example:
        >>> import numpy as np
        >>> import vaescope as vs
        >>> x = np.random.default_rng(0).normal(size=(200, 2))
        >>> vs.decomposition.mmd(x, x + 3.0) > vs.decomposition.mmd(x, -x)
        True
    """
    _check(x, y)
    widths = tuple(2.0 * s for s in SCALES)
    return sum(_discrepancy(x[:, [j]], y[:, [j]], widths) for j in range(x.shape[1]))


def mmd_joint(x: Matrix, y: Matrix) -> float:
    """Squared MMD with the distance over all latents jointly and C = 2 d s. Tolstikhin et al. 2018.

    Args:
        x: (n, d) rows.
        y: (m, d) rows.

    Returns:
        A number.

    Raises:
        ShapeError: an array is missing, or has the wrong shape or type.

    Example:
        >>> import numpy as np
        >>> import vaescope as vs
        >>> x = np.random.default_rng(0).normal(size=(200, 2))
        >>> vs.decomposition.mmd_joint(x, x + 3.0) > vs.decomposition.mmd_joint(x, -x)
        True
    """
    _check(x, y)
    return _discrepancy(x, y, tuple(2.0 * x.shape[1] * s for s in SCALES))


def _check(x: Matrix, y: Matrix) -> None:
    if x.shape != y.shape or x.ndim != 2 or len(x) < 2:
        raise ShapeError(
            f"mmd got {x.shape} and {y.shape}; wanted two arrays (n, d) of the same shape, n >= 2.",
            "Draw as many points from the prior as there are codes.",
        )


def inclusive_kl(codes: Codes, *, seed: int = 0) -> MonteCarloEstimate:
    """KL(p || q) = E over z from the prior of log p(z) - log q(z), q the mixture of posteriors.

    At 1,000 points, with at most 10,000 posteriors. It depends on the number of posteriors: a few
    narrow ones leave most of the prior uncovered, and the value may be hundreds of nats.

    Args:
        codes: posterior mean, variance and sample of each row, with factors if they are needed.
        seed: seed of all random draws.

    Returns:
        `MonteCarloEstimate`: A mean over sampled points and its standard error.

    Raises:
        RangeError: a value is out of range.

    Example:
        >>> import vaescope as vs
        >>> codes = vs.known.codes()
        >>> vs.decomposition.inclusive_kl(codes).value > 0
        True
    """
    stream = rng(seed, "inclusive-kl")
    chosen = subset(codes.n, most_components(codes, COMPONENTS), stream)
    q, prior = posteriors_of(codes, chosen), codes.prior
    rows = chosen[stream.integers(len(chosen), size=POINTS)] if prior.per_row else None
    z = prior.draw(stream, POINTS, rows)
    gap = log_prior(z, prior, chosen) - log_mixture(z, q)
    return MonteCarloEstimate(float(gap.mean()), float(gap.std() / np.sqrt(POINTS)))


def aggregate(codes: Codes, *, seed: int = 0) -> Aggregate:
    """Divergences between aggregate posterior and prior, and the aggregate's exact moments.

    MMD compares 1,000 of the samples with as many draws from the prior of the codes, or from the
    prior of each row.

    Args:
        codes: posterior mean, variance and sample of each row, with factors if they are needed.
        seed: seed of all random draws.

    Returns:
        `Aggregate`: how well the aggregate posterior matches the prior.

    Raises:
        RangeError: a value is out of range.
        ShapeError: an array is missing, or has the wrong shape or type.

    Example:
        >>> import vaescope as vs
        >>> codes = vs.known.codes()
        >>> round(vs.decomposition.aggregate(codes).mmd, 3)
        0.343
    """
    stream = rng(seed, "mmd")
    rows = subset(codes.n, MMD_ROWS, stream)
    prior = codes.prior.draw(stream, len(rows), rows)
    sample = codes.sample[rows].astype(np.float64)
    means = moments(codes.mean)
    if codes.covariance is not None:
        within = codes.covariance.mean(axis=0, dtype=np.float64)
    else:
        within = np.diag(moments(codes.variance).mean)
    return Aggregate(
        mmd(sample, prior),
        mmd_joint(sample, prior),
        inclusive_kl(codes, seed=seed) if codes.stochastic else None,
        means.mean,
        means.covariance + within,
        codes.n,
        len(rows),
        min(codes.n, most_components(codes, COMPONENTS)),
        seed,
    )
