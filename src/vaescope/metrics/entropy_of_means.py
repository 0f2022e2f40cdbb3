"""Entropy of the means of each latent: what varies, whatever the prior.

After the idea of Clapham, Bonheme and Grzes 2026, https://arxiv.org/abs/2605.15965, whose abstract
alone we have read: the statistic is ours, and there is no threshold.
"""

import numpy as np

from vaescope.codes import Codes
from vaescope.errors import RangeError, UsageError
from vaescope.estimates import bootstrap, bootstrap_interval
from vaescope.metrics.rows import Representation, points
from vaescope.metrics.score import Protocol, Score
from vaescope.seeds import rng
from vaescope.types import Double, Floats, Integers

__all__ = ["entropy_of_means"]

_RESAMPLES = 100
_ROWS = 10_000


def entropy_of_means(
    codes: Codes,
    *,
    bins: int = 20,
    on: Representation = "mean",
    limit: int | None = _ROWS,
    resamples: int = _RESAMPLES,
    seed: int = 0,
) -> Score:
    """Mean over latents of the entropy of their means, in nats; each is in the details.

    All latents share one bin width: a `bins`-th of the widest latent's range without its outer
    hundredths. So a latent that stays within one bin has no entropy, and the widest one, if evenly
    spread, has log(bins). It needs no posterior and no prior, so it also works for plain
    autoencoders. Entropy alone does not separate active from mixed latents: the variance is given
    beside it. Depends on the latents' relative scales. `chance` is 0, the score of latents without
    information.

    Args:
        codes: posterior mean, variance and sample of each row, with factors if they are needed.
        bins: number of equal-width bins of each latent.
        on: `mean` or `sample`: the representation that is scored.
        limit: largest number of rows; None takes all.
        resamples: bootstrap resamples behind the interval.
        seed: seed of all random draws.

    Returns:
        A `Score`: `value`, `interval`, `chance`, `protocol`, `details` (the arrays behind it).

    Raises:
        RangeError: a value is out of range.
        ShapeError: an array is missing, or has the wrong shape or type.
        UsageError: a name or value is not known; the message lists those that are.

    Example:
        >>> import vaescope as vs
        >>> codes = vs.known.codes()
        >>> round(vs.metrics.entropy_of_means(codes).value, 2)
        1.0
    """
    if bins < 2:
        raise RangeError(f"bins is {bins}; wanted at least 2.", "Pass e.g. bins=20.")
    if on != "mean":
        raise UsageError(
            "entropy_of_means takes means: samples also vary because of their noise.",
            "Use --on mean.",
        )
    rows = points(codes, limit, seed)
    z = codes.mean[rows].astype(np.float64)
    low, middle, high = np.quantile(z, [0.01, 0.5, 0.99], axis=0)
    widest = int(np.argmax(high - low))
    width = (high - low)[widest] / bins
    if width <= 0:
        width = np.ptp(z, axis=0).max() / bins  # over 98% of the rows have one value
    # What is beyond the outer hundredths keeps its own bins, but not more than a table can hold.
    shift = np.where(np.arange(codes.d) == widest, low, middle - width / 2)
    with np.errstate(over="ignore"):
        place = np.floor((z - shift) / width) if width > 0 else np.zeros_like(z)
    classes = (np.clip(place, -bins, 2 * bins) + bins).astype(np.int64)

    def entropies(drawn: Integers) -> Double:
        return np.array([_entropy(column[drawn], 3 * bins + 1) for column in classes.T])

    found = entropies(np.arange(len(rows)))
    value = float(found.mean())
    interval = None
    if resamples:
        stream = rng(seed, "entropy-of-means-bootstrap")
        draws = bootstrap(
            lambda drawn: float(entropies(drawn).mean()), len(rows), resamples=resamples, rng=stream
        )
        interval = bootstrap_interval(value, draws, least=0.0)
    settings = {"estimator": "plug-in, bins of one width", "bins": bins, "seed": seed}
    protocol = Protocol("default", len(rows), settings, on, codes.supervised)
    details = {"entropy": found, "variance_of_mean": z.var(axis=0)}
    return Score(value, protocol, details, interval, 0.0)


def _entropy(classes: Integers, size: int) -> float:
    share = np.bincount(classes, minlength=size) / len(classes)
    occupied: Floats = share[share > 0]
    return max(0.0, float(-(occupied * np.log(occupied)).sum()))
