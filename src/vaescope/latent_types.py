"""The polarised regime's rule: which latents are active, passive or mixed.

bonheme2023 (Bonheme and Grzes, Be More Active!, https://arxiv.org/abs/2109.12679), as its code has
it: thresholds on the mean and the variance, over the data, of each latent's posterior variance;
here in units of what a latent that ignores x has, and with the means' movement.
"""

from typing import Literal

import numpy as np

from vaescope.types import Double, Long
from vaescope.wording import commas

__all__ = ["ALPHA", "LatentType", "Typed", "count_types", "types_of"]

LatentType = Literal["active", "passive", "mixed"]

#: bonheme2023's threshold for "close to" and "much less than".
ALPHA = 0.1


def types_of(
    mean_ratio: Double,
    variance_of_ratio: Double,
    movement: Double | None = None,
    *,
    spread: Double | None = None,
    alpha: float = ALPHA,
) -> list[LatentType]:
    """Passive: mean in [0.9, 1.1]; active: mean at most 0.1; both with variance below 0.1.

    Everything else is mixed. A latent that is passive on nine tenths of the data counts as passive,
    though Definition 2 of bonheme2023 would call it mixed.

    Args:
        mean_ratio: mean over the examples of the posterior variance over that of a latent that
            ignores x, which is 1 under N(0, I) and the ELBO; NaN where there is no such variance,
            and nothing passive.
        variance_of_ratio: variance over the examples of the same.
        movement: variance over the examples of the posterior mean less the prior's, over the same
            variance. Passive latents have less than 0.1. None: bonheme2023's own rule, which does
            not look at means.
        spread: the variance of a latent that ignores x over that against which an active one is
            narrow. None: 1, they are the same. Below 1 where a latent that ignores x sits in a
            spike of the prior: to be active is then to be narrow beside the whole prior.
        alpha: the threshold; another shows which latents are close to it.
    """
    low = variance_of_ratio < alpha
    passive = low & (mean_ratio >= 1.0 - alpha) & (mean_ratio <= 1.0 + alpha)
    if movement is not None:
        passive &= movement < alpha
    units = np.ones_like(mean_ratio) if spread is None else spread
    active = (mean_ratio * units <= alpha) & (variance_of_ratio * units**2 < alpha)
    return [
        "passive" if p else "active" if a else "mixed" for a, p in zip(active, passive, strict=True)
    ]


def count_types(types: list[LatentType]) -> dict[LatentType, int]:
    """How many latents there are of each type."""
    return {
        "active": types.count("active"),
        "mixed": types.count("mixed"),
        "passive": types.count("passive"),
    }


class Typed:
    """Latents by their type: what results that have types can be asked."""

    names: tuple[LatentType, ...]

    def of(self, *names: LatentType) -> Long:
        """Indices of the latents of these types."""
        return np.flatnonzero([own in names for own in self.names])

    @property
    def active(self) -> Long:
        return self.of("active")

    @property
    def mixed(self) -> Long:
        return self.of("mixed")

    @property
    def passive(self) -> Long:
        return self.of("passive")

    def listed(self) -> str:
        """One line, e.g. `3 active (0, 4, 7), 0 mixed, 7 passive (1, 2, 3, 5, 6, 8, 9)`."""
        found = {"active": self.active, "mixed": self.mixed, "passive": self.passive}
        return ", ".join(
            f"{len(which)} {name}" + (f" ({commas(which)})" if len(which) else "")
            for name, which in found.items()
        )
