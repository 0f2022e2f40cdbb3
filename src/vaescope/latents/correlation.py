"""Means against samples: how correlated the latents are, by type. bonheme2023, section 4.

Bonheme and Grzes, Be More Active!, https://arxiv.org/abs/2109.12679.
"""

import logging
from collections.abc import Mapping
from dataclasses import asdict, dataclass, field, fields
from typing import Any

import numpy as np
from scipy.special import digamma

from vaescope.codes import Codes
from vaescope.errors import ShapeError
from vaescope.estimates import bootstrap, bootstrap_interval
from vaescope.latent_types import LatentType
from vaescope.latents.pairwise import Pairwise, as_correlation, pairwise
from vaescope.latents.types import Types, types
from vaescope.notebook_card import card_of
from vaescope.seeds import rng
from vaescope.types import Double, Floats, Long, Matrix

__all__ = [
    "Correlation",
    "MeanAgainstSample",
    "averaged_information",
    "by_chance",
    "effective_rank",
    "left_by_lot",
    "mean_against_sample",
    "measures_of",
    "shuffled_information",
    "total_correlation",
]


_LOG = logging.getLogger("vaescope")

#: Suffix of a subset's key, and the types in it.
SUBSETS: dict[str, tuple[LatentType, ...]] = {
    "": ("active", "mixed", "passive"),
    "_without_passive": ("active", "mixed"),
    "_without_mixed": ("active", "passive"),
    "_without_active": ("mixed", "passive"),
    "_active": ("active",),
    "_mixed": ("mixed",),
    "_passive": ("passive",),
}


@dataclass(frozen=True)
class Correlation:
    """Five measures of one subset of the latents in one representation."""

    total_correlation: float  # nats, of a Gaussian with these covariances
    total_correlation_rank: float  # nats, of normal scores: independent of marginal distributions
    mutual_information: float  # nats, mean over pairs
    effective_rank: float  # of the covariance, as in bonheme2023's code: tiny variances lower it
    effective_rank_correlation: float  # of the correlation matrix, ours: only correlation lowers it


@dataclass(frozen=True, eq=False)
class MeanAgainstSample:
    """The measures of means and samples, for all latents and by type.

    Keys are `mean` and `sample` with a suffix: none for all latents, `_without_passive`, `_active`
    and so on. A subset with fewer than two latents has None.
    """

    of: Mapping[str, Correlation | None]  # measures by representation and subset
    mean: Pairwise
    sample: Pairwise
    types: Types
    bins: int
    seed: int
    #: 95% intervals, by the same keys.
    intervals: Mapping[str, Mapping[str, tuple[float, float]]] = field(default_factory=dict)

    def __getitem__(self, key: str) -> Correlation | None:
        return self.of[key]

    def protocol(self) -> dict[str, Any]:
        """How the numbers were obtained."""
        return {
            "n": self.mean.n,
            "rank_rows": self.mean.rank_rows,
            "bins": self.bins,
            "types": self.types.criterion,
            "seed": self.seed,
        }

    def summary(self) -> str:
        """One line on all latents and one without the passive ones."""
        lines = []
        for suffix, which in (("", "all latents"), ("_without_passive", "without passive ones")):
            mean, sample = self.of[f"mean{suffix}"], self.of[f"sample{suffix}"]
            if mean is None or sample is None:
                lines.append(f"{which}: fewer than two")
                continue
            lines.append(
                f"{which}: total correlation {mean.total_correlation:.3g} nats of means, "
                f"{sample.total_correlation:.3g} of samples; effective rank "
                f"{mean.effective_rank:.3g} and {sample.effective_rank:.3g}"
            )
        n, d = self.mean.n, len(self.mean.covariance)
        chance = (
            f"; independent latents have a total correlation of {by_chance(d, n):.3g}"
            if n > d
            else f"; n is too small for the total correlation of {d} latents"
        )
        return f"{'; '.join(lines)}{chance}; n = {n:,}"

    def to_dict(self) -> dict[str, Any]:
        """Plain values by key; with `intervals` inside where they were asked for."""
        rows: dict[str, Any] = {}
        for key, measures in self.of.items():
            rows[key] = None if measures is None else asdict(measures)
            if key in self.intervals:
                own = self.intervals[key]
                rows[key]["intervals"] = {name: list(ends) for name, ends in own.items()}
        return rows

    _repr_html_ = card_of


def _spectrum(covariance: Matrix) -> Double:
    """Eigenvalues, largest last; without those that are 0 to rounding."""
    values = np.linalg.eigvalsh(covariance)
    floor = len(values) * np.finfo(np.float64).eps * max(float(values[-1]), 0.0)
    return np.asarray(values[values > floor])


def total_correlation(covariance: Matrix) -> float:
    """Total correlation of a Gaussian in nats: bonheme2023, eq. 10.

    0.5 (sum_j log C_jj - log det C). Constant latents depend on nothing and count 0. A latent
    that others determine makes it infinite: it is cut off at float64's resolution, so that each
    duplicate counts some 17 nats. Of k independent latents n points give about k (k - 1) / 4n.

    >>> round(total_correlation(np.array([[1.0, 0.9], [0.9, 1.0]])), 4)
    0.8304

    Args:
        covariance: (d, d) matrix.

    Returns:
        Nats.
    """
    values = np.linalg.eigvalsh(as_correlation(covariance))
    floor = len(values) * np.finfo(np.float64).eps
    # log det of the correlation matrix cannot be positive, but rounding may make it so.
    return max(0.0, float(-0.5 * np.log(np.maximum(values, floor)).sum()))


def by_chance(d: int, n: int) -> float:
    """Mean `total_correlation` of n > d rows of d independent Gaussian latents: about
    d (d - 1) / 4n of many. The logarithm of a Wishart determinant is a sum of those of chi-squared
    variables (Bartlett's decomposition).

    >>> round(by_chance(6, 12), 2), round(by_chance(10, 10_000), 4)
    (0.94, 0.0023)
    """
    every = np.arange(1, d + 1)
    return float(0.5 * (digamma((n - 1) / 2) - digamma((n - every) / 2)).sum())


def effective_rank(matrix: Matrix) -> float:
    """exp of the entropy of the normalised eigenvalues. Roy and Vetterli 2007.

    Between 1 and d; 0 for a matrix of zeros. On a covariance it counts latents of large variance,
    correlated or not: the released code of bonheme2023 (tc_study) does the same. Section 4.2.3 of
    the paper defines it by the singular values of a matrix, which it does not name; the singular
    values of the centred codes are the square roots, which are less unequal, so the number is
    higher. On a correlation matrix, which is our addition, it counts uncorrelated latents.

    >>> deviations = np.array([3.0, 1.0, 0.5])
    >>> effective_rank(np.diag(deviations**2)).__round__(2)  # released code: of the covariance
    1.54
    >>> effective_rank(np.diag(deviations)).__round__(2)  # of the centred codes
    2.34

    Args:
        matrix: (n, d) rows.

    Returns:
        A number between 1 and d.
    """
    values = _spectrum(matrix)
    if not len(values):
        return 0.0
    share = values / values.sum()
    return float(np.exp(-(share * np.log(share)).sum()))


def averaged_information(information: Matrix) -> float:
    """Mean over the pairs of different latents: bonheme2023, eq. 13."""
    k = len(information)
    return float((information.sum() - np.trace(information)) / (k * k - k))


def shuffled_information(values: Floats, *, bins: int = 20, rng: np.random.Generator) -> float:
    """Averaged information by chance: that of the values with each latent shuffled alone.

    The plug-in estimate is biased upwards; only what exceeds this value is information.

    Args:
        values: (n, d) codes.
        bins: number of equal-width bins of each latent.
        rng: generator of random numbers.

    Returns:
        Nats.

    Example:
        >>> import numpy as np
        >>> import vaescope as vs
        >>> codes = vs.known.codes()
        >>> vs.latents.shuffled_information(codes.mean, rng=np.random.default_rng(0)) < 0.5
        True
    """
    return averaged_information(
        pairwise(rng.permuted(values, axis=0), bins=bins).mutual_information
    )


def measures_of(pairs: Pairwise, which: Long) -> Correlation | None:
    """Five measures of these latents; None for fewer than two."""
    if len(which) < 2:
        return None
    cut = np.ix_(which, which)
    covariance = pairs.covariance[cut]
    varies = np.flatnonzero(np.diag(covariance) > 0)
    varying = np.ix_(varies, varies)
    return Correlation(
        total_correlation(covariance),
        total_correlation(pairs.rank_correlation[cut]),
        averaged_information(pairs.mutual_information[cut]),
        effective_rank(covariance),
        effective_rank(as_correlation(covariance[varying])) if len(varies) else 0.0,
    )


def left_by_lot(pairs: Pairwise, dropped: int, *, lots: int = 20) -> Correlation | None:
    """The mean of the measures over sets of latents that are left if so many are dropped at random:
    what dropping the passive ones is to be compared with, since fewer latents have a lower total
    correlation whichever they are.

    Args:
        pairs: of all latents.
        dropped: how many are left out.
        lots: sets that are drawn.

    Returns:
        The five measures; None where nothing is dropped or fewer than two latents are left.
    """
    d = len(pairs.covariance)
    if not dropped or d - dropped < 2:
        return None
    chosen = [rng(lot, "left-by-lot").permutation(d)[dropped:] for lot in range(lots)]
    found = [measures_of(pairs, np.sort(one)) for one in chosen]
    names = [entry.name for entry in fields(Correlation)]
    return Correlation(*(float(np.mean([getattr(one, name) for one in found])) for name in names))


def _all_subsets(mean: Pairwise, sample: Pairwise, kinds: Types) -> dict[str, Correlation | None]:
    return {
        f"{name}{suffix}": measures_of(pairs, kinds.of(*wanted))
        for suffix, wanted in SUBSETS.items()
        for name, pairs in (("mean", mean), ("sample", sample))
    }


def mean_against_sample(
    codes: Codes,
    *,
    kinds: Types | None = None,
    bins: int = 20,
    resamples: int = 0,
    seed: int = 0,
) -> MeanAgainstSample:
    """Five measures of correlation, of means and samples, for all latents and by type.

    Covariances have ddof 1, bins are of equal width over each latent's own range, and subsets are
    cut out of the matrices of all latents, as in the code of bonheme2023. The plug-in information
    of independent latents is not 0 but about 0.016 nats at 10,000 points. Ranks are of at most
    200,000 examples. With `resamples`, intervals by bootstrap over points, corrected for its bias:
    each resample costs as much as the measures.

    Args:
        codes: posterior mean, variance and sample of each row, with factors if they are needed.
        kinds: types of the latents, if they are already known.
        bins: number of equal-width bins of each latent.
        resamples: bootstrap resamples behind the interval.
        seed: seed of all random draws.

    Returns:
        `MeanAgainstSample`: the measures of means and samples, for all latents and by type.

    Raises:
        ShapeError: an array is missing, or has the wrong shape or type.
        UsageError: a name or value is not known; the message lists those that are.

    Example:
        >>> import vaescope as vs
        >>> codes = vs.known.codes()
        >>> vs.latents.mean_against_sample(codes).bins
        20
    """
    if codes.n < 2:
        raise ShapeError(f"Correlation needs two examples; got {codes.n}.", "Encode more.")
    if codes.n <= codes.d:
        _LOG.warning(
            "%d examples are too few for the total correlation of %d latents: it is infinite but "
            "for rounding.", codes.n, codes.d,
        )  # fmt: skip
    kinds = types(codes) if kinds is None else kinds
    mean = pairwise(codes.mean, bins=bins, seed=seed)
    sample = pairwise(codes.sample, bins=bins, seed=seed)
    of = _all_subsets(mean, sample, kinds)
    intervals = _intervals(codes, kinds, of, bins, resamples, seed) if resamples else {}
    return MeanAgainstSample(of, mean, sample, kinds, bins, seed, intervals)


def _intervals(
    codes: Codes,
    kinds: Types,
    of: Mapping[str, Correlation | None],
    bins: int,
    resamples: int,
    seed: int,
) -> dict[str, dict[str, tuple[float, float]]]:
    names = [entry.name for entry in fields(Correlation)]
    present = {key: measures for key, measures in of.items() if measures is not None}

    def measures_of(rows: Long) -> Matrix:
        drawn = _all_subsets(
            pairwise(codes.mean[rows], bins=bins), pairwise(codes.sample[rows], bins=bins), kinds
        )
        return np.array([[getattr(drawn[key], name) for name in names] for key in present])

    draws = bootstrap(
        measures_of, codes.n, resamples=resamples, rng=rng(seed, "correlation-bootstrap")
    )  # (resamples, subset, measure)
    return {
        key: {
            name: bootstrap_interval(getattr(measures, name), draws[:, i, j], least=0.0)
            for j, name in enumerate(names)
        }
        for i, (key, measures) in enumerate(present.items())
    }
