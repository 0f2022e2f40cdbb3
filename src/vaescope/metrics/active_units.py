"""Active units. Burda et al. 2016, https://arxiv.org/abs/1509.00519, section 5.2."""

import numpy as np

from vaescope.codes import Codes
from vaescope.errors import UsageError
from vaescope.metrics.rows import Representation
from vaescope.metrics.score import Protocol, Score

__all__ = ["THRESHOLD", "active_units"]

#: Of Burda et al.; in the units of the latents.
THRESHOLD = 0.01
_NORMAL = 1.959964  # 97.5%


def active_units(
    codes: Codes, *, threshold: float = THRESHOLD, on: Representation = "mean"
) -> Score:
    """How many latents' means vary over the data: Var_x(E[z_j | x]) above `threshold`.

    Depends on the scale of the latents, so a plain autoencoder has none or all; `vs.latents.types`
    asks for the variance of a latent that ignores x instead. A latent that is used for only a few
    examples is active here. The ends of the interval count the latents whose variance is above the
    threshold at either end of its own 95% interval. `chance` is 0, the score of latents without
    information.

    Args:
        codes: posterior mean, variance and sample of each row, with factors if they are needed.
        threshold: variance of means above which a unit is active.
        on: `mean` or `sample`: the representation that is scored.

    Returns:
        A `Score`: `value`, `interval`, `chance`, `protocol`, `details` (the arrays behind it).

    Raises:
        UsageError: a name or value is not known; the message lists those that are.

    Example:
        >>> import vaescope as vs
        >>> codes = vs.known.codes()
        >>> round(vs.metrics.active_units(codes).value, 2)
        3.0
    """
    if on != "mean":
        raise UsageError(
            "active_units takes means: samples also vary because of their noise.", "Use --on mean."
        )
    # An outlier's fourth power may be beyond float64: each latent is in units of its own spread.
    centred = codes.mean.astype(np.float64) - codes.mean.mean(axis=0, dtype=np.float64)
    unit = np.abs(centred).max(axis=0)
    centred /= np.where(unit > 0, unit, 1.0)
    second, fourth = (np.power(centred, p).mean(axis=0) for p in (2, 4))
    error = _NORMAL * np.sqrt(np.maximum(fourth - second**2, 0.0) / codes.n)
    low, value, high = (
        int((variance * unit**2 > threshold).sum())
        for variance in (second - error, second, second + error)
    )
    settings = {"estimator": "variance of means", "threshold": threshold, "seed": None}
    protocol = Protocol("default", codes.n, settings, on, codes.supervised)
    details = {"variance_of_mean": second * unit**2}
    return Score(float(value), protocol, details, (float(low), float(high)), 0.0)
