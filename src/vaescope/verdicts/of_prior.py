"""What is said of how the samples fill the prior, by moments and by shape."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from vaescope.verdicts.thresholds import THRESHOLDS, Verdict, close, near_limit

if TYPE_CHECKING:
    from vaescope.inspection import Latent, MomentSummary

__all__ = ["fills_prior"]


def fills_prior(latents: "Sequence[Latent]", samples: "MomentSummary") -> Verdict | None:
    """By two moments, then by shape: Kolmogorov's test of each used latent's samples."""
    used = [
        latent.index
        for latent in latents
        if latent.type != "passive" and latent.kl_nats is not None
    ]
    if not used:
        return None
    limit = max(THRESHOLDS["prior"].value, 4.0 / np.sqrt(samples.different))
    off = np.maximum(np.abs(samples.mean), np.abs(np.sqrt(samples.variance) - 1.0))
    worst = max(used, key=lambda index: off[index])
    number = float(off[worst])
    units = f" {samples.units}" if samples.units else ""
    rule = f"mean and standard deviation are within {limit:.2g} of 0 and 1{units}"
    shape = (
        f"mean {samples.mean[worst]:.2f}, standard deviation {samples.variance[worst] ** 0.5:.2f}"
        f"{units}"
    )
    # Of N(0, I) it goes without saying, but for models of which nobody said it.
    which = "" if samples.prior == "N(0, I)" else f", {samples.prior}"
    which = ", assumed to be N(0, I)" if samples.assumed else which
    undecided = close(number, limit)
    # Copies may be few draws or values that recur: their shape is no evidence for either.
    alike = samples.different < samples.n and _far(samples, used, samples.n)
    unsure = THRESHOLDS["prior"].value <= number < limit
    if unsure or (number < limit and alike and not _far(samples, used, samples.different)):
        return Verdict(
            "prior", "note",
            f"There are too few examples to tell whether samples follow the prior{which}; the "
            f"furthest off is latent {worst} ({shape}).",
            number=number, shown=f"{number:.2f}", threshold=limit, rule=rule,
            advice=f"Encode more than these {samples.different} examples.",
            section="prior", latents=(worst,),
        )  # fmt: skip
    if number < limit:
        other = _other_shape(samples, used, which)
        return other or Verdict(
            "prior", "good",
            "Samples of each used latent have about the mean and standard deviation of the prior"
            f"{which}; the furthest off is latent {worst} ({shape}).{undecided}",
            number=number, shown=f"{number:.2f}", threshold=limit, rule=rule,
            advice="Each latent can be drawn from the prior on its own.",
            section="prior", latents=(worst,), borderline=bool(undecided),
        )  # fmt: skip
    return Verdict(
        "prior", "warning",
        f"The samples of latent {worst} do not follow the prior{which} ({shape}).{undecided}",
        number=number, shown=f"{number:.2f}", threshold=limit, rule=rule,
        advice="Draw codes from the posteriors of the data rather than from the prior."
        + (" If the model has another prior, pass prior=." if samples.assumed else ""),
        section="prior", latents=tuple(index for index in used if off[index] >= limit),
        borderline=bool(undecided),
    )  # fmt: skip


def _other_shape(samples: "MomentSummary", used: Sequence[int], which: str) -> Verdict | None:
    """What is said where the moments are the prior's and the shape is not."""
    distance = samples.distance
    if distance is None:
        return None
    limit = _shape_limit(len(used), samples.different)
    far = _far(samples, used, samples.different)
    if not far:
        return None
    worst = max(far, key=lambda index: distance[index])
    number = float(distance[worst])
    return Verdict(
        "prior", "note",
        f"The samples have the mean and standard deviation of the prior{which}"
        ", but not its shape: "
        f"those of latent {worst} are {number:.2f} from it by Kolmogorov's distance."
        f"{close(number, limit)}",
        number=number, shown=f"{number:.2f}", threshold=limit,
        rule=f"Kolmogorov's distance is below {limit:.2g}",
        advice="Look at the histograms: codes from the prior may lie where few examples do.",
        section="prior", latents=tuple(far), borderline=near_limit(number, limit),
    )  # fmt: skip


def _shape_limit(latents: int, n: int) -> float:
    """Kolmogorov's bound at one in a hundred, for as many latents as are looked at."""
    by_chance = float(np.sqrt(np.log(2 * latents / 0.01) / (2 * n)))
    return max(THRESHOLDS["shape"].value, by_chance)


def _far(samples: "MomentSummary", used: Sequence[int], n: int) -> list[int]:
    """Used latents whose samples do not have the prior's shape, if n of them are independent."""
    distance = samples.distance
    if distance is None:
        return []
    return [index for index in used if distance[index] >= _shape_limit(len(used), n)]
