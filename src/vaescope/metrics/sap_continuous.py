"""SAP for factors that are numbers. Kumar et al. 2018, https://arxiv.org/abs/1711.00848."""

import numpy as np

from vaescope.codes import Codes
from vaescope.errors import ShapeError
from vaescope.estimates import bootstrap_interval
from vaescope.information.resampling import moment_replicates
from vaescope.metrics.rows import Representation, mean_or_sample, numbers, points
from vaescope.metrics.sap import top_two
from vaescope.metrics.score import Protocol, Score
from vaescope.metrics.table import RESAMPLES
from vaescope.seeds import rng
from vaescope.types import Double, Floats

__all__ = ["correlations", "sap_continuous"]


def correlations(z: Floats, y: Floats) -> Double:
    """Pearson correlations of the columns, (latent, factor); 0 where one is constant."""
    left, right = _standard(z), _standard(y)
    return np.clip(left.T @ right / len(z), -1.0, 1.0)  # rounding gives 1 + 1e-16


def _standard(values: Floats) -> Double:
    # Of what is constant but for rounding, which depends on the type that it came in.
    rounding = 16.0 * np.finfo(np.result_type(values, np.float32)).eps
    values = np.asarray(values, dtype=np.float64)
    centred = values - values.mean(axis=0)
    scale = np.sqrt(np.square(centred).mean(axis=0))
    varies = scale > rounding * np.sqrt(np.square(values).mean(axis=0))
    return np.where(varies, centred / np.where(varies, scale, 1.0), 0.0)


def sap_continuous(
    codes: Codes,
    *,
    on: Representation = "mean",
    limit: int | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Score:
    """How much better the best latent explains a factor linearly than the second best.

    Mean over factors of the gap between the two largest squared correlations. Real values of
    factors are used if the codes have them, otherwise class numbers, which is wrong for factors
    without an order, such as shape. It does not detect relations that are not monotonic.

    Args:
        codes: posterior mean, variance and sample of each row, with factors if they are needed.
        on: `mean` or `sample`: the representation that is scored.
        limit: largest number of rows; None takes all.
        resamples: bootstrap resamples behind the interval.
        seed: seed of all random draws.

    Returns:
        A `Score`: `value`, `interval`, `chance`, `protocol`, `details` (the arrays behind it).

    Raises:
        ShapeError: an array is missing, or has the wrong shape or type.
        UsageError: a name or value is not known; the message lists those that are.

    Example:
        >>> import vaescope as vs
        >>> codes = vs.known.codes()
        >>> round(vs.metrics.sap_continuous(codes).value, 2)
        1.0
    """
    y, source = numbers(codes, "sap_continuous")
    if codes.d < 2:
        raise ShapeError(
            f"sap_continuous compares 2 latents; got {codes.d}.", "Use a model with more latents."
        )
    rows = points(codes, limit, seed)
    z, y = mean_or_sample(codes, on)[rows], y[rows].astype(np.float64)
    varies = np.ptp(y, axis=0) > 0
    if not varies.any():
        raise ShapeError("All factors are constant.", "Give factors that vary.")
    squared = np.square(correlations(z, y[:, varies]))
    gaps = top_two(squared)
    value = float(gaps.mean())
    spread = None
    if resamples:
        both = np.hstack([z.astype(np.float64), y[:, varies]])
        stream = rng(seed, "sap-bootstrap")
        drawn = moment_replicates(both, resamples=resamples, rng=stream)
        replicates = np.square(drawn[:, : codes.d, codes.d :])
        spread = bootstrap_interval(value, top_two(replicates).mean(axis=-1), least=0.0, most=1.0)
    settings = {"estimator": "squared correlation", "factors_as": source, "seed": seed}
    protocol = Protocol("default", len(rows), settings, on, codes.supervised)
    return Score(value, protocol, {"squared_correlation": squared, "gaps": gaps}, spread)
