"""Mutual information gap. Chen et al. 2018, https://arxiv.org/abs/1802.04942, section 4."""

import numpy as np

from vaescope.codes import Codes
from vaescope.metrics.rows import Representation
from vaescope.metrics.score import Score
from vaescope.metrics.table import RESAMPLES, InformationTable, counted
from vaescope.seeds import rng
from vaescope.types import Floats, Long

__all__ = ["by_chance", "mig", "mig_of"]


def mig(
    codes: Codes,
    *,
    bins: int = 20,
    on: Representation = "mean",
    limit: int | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Score:
    """How much better the best latent encodes a factor than the second best.

    MIG = mean over factors k of (I(z_1; v_k) - I(z_2; v_k)) / H(v_k), with z_1, z_2 the two latents
    most informative about v_k. It is 1 if each factor has a latent of its own, and 0 if factors are
    shared. Depends on `bins` (equal width, plug-in, as in disentanglement_lib); it does not detect
    a latent that encodes two factors. Constant factors are left out.

    Counting is biased, and by different amounts for the two latents of a gap: a latent that
    determines the factor has hardly any bias, the second has all of it. So perfect codes score less
    than 1, the more so with few rows and many latents. `chance` is the score that latents without
    information would have with as many rows, bins and latents; `details["ceiling"]` is that of
    codes in which one latent determines each factor and the others have no information about it
    (`by_chance`).

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
        >>> round(vs.metrics.mig(codes).value, 2)
        0.96
    """
    tally = counted(codes, "mig", bins=bins, on=on, limit=limit, resamples=resamples, seed=seed)
    return mig_of(tally.plug_in())


def _gaps(information: Floats, entropy: Floats) -> Floats:
    ranked = np.sort(information, axis=-2)
    return np.asarray((ranked[..., -1, :] - ranked[..., -2, :]) / entropy)


def by_chance(
    mean: Floats, deviation: Floats, best: Long, entropy: Floats, *, draws: int = 500
) -> tuple[float, float]:
    """MIG of latents without information, and of latents of which the best determines its factor
    and the others have no information.

    `mean` and `deviation` (latent, factor) are those of the information that random pairing gives;
    it is drawn as a gamma variable, which it tends to (2 n I to a chi-squared one), and latents are
    taken as independent of each other. `best` is the latent that knows each factor best.
    """
    variance = np.maximum(np.square(deviation, dtype=np.float64), 1e-300)
    shape, scale = np.square(mean, dtype=np.float64) / variance, variance / np.maximum(mean, 1e-150)
    found = rng(0, "mig-chance").gamma(shape, scale, size=(draws, *shape.shape))
    nothing = float(_gaps(found, entropy).mean())
    found[:, best, np.arange(len(best))] = 0.0
    runner_up = found.max(axis=1).mean(axis=0)
    return nothing, float(np.mean(1.0 - np.minimum(runner_up / entropy, 1.0)))


def mig_of(table: InformationTable) -> Score:
    """MIG of a table of information."""
    table.require("mig", latents=2)
    information, entropy = table.information[:, table.varies], table.entropy[table.varies]
    gaps = _gaps(information, entropy)
    value = float(gaps.mean())
    details = {"mutual_information": table.information, "gaps": gaps, "entropy": table.entropy}
    chance = None
    if table.chance is not None:
        mean, deviation = (part[:, table.varies] for part in table.chance)
        chance, ceiling = by_chance(mean, deviation, information.argmax(axis=0), entropy)
        details["ceiling"] = np.array(ceiling)
    return Score(
        value,
        table.protocol,
        details,
        table.interval(value, lambda i, h: _gaps(i, np.maximum(h, 1e-12)).mean(axis=-1)),
        chance,
    )
