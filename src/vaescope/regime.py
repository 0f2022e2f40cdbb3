"""The polarised regime's rule: which latents are active, passive or mixed.

Paper 001 (Bonheme and Grzes, Be More Active!, https://arxiv.org/abs/2109.12679), as its code has
it: thresholds on the mean and the variance, over the data, of each latent's posterior variance.
"""

from typing import Literal

import numpy as np
from numpy.typing import NDArray

__all__ = ["LatentType", "Typed", "count_types", "types_of"]

LatentType = Literal["active", "passive", "mixed"]


def types_of(
    mean_variance: NDArray[np.float64], variance_of_variance: NDArray[np.float64]
) -> list[LatentType]:
    """Passive: mean in [0.9, 1.1]; active: mean at most 0.1; both with variance below 0.1.

    Everything else is mixed.

    For N(0, I) priors and diagonal posteriors. A latent that is passive on nine tenths of the data
    counts as passive, though the paper's Definition 2 would call it mixed.
    """
    low = variance_of_variance < 0.1
    active = low & (mean_variance <= 0.1)
    passive = low & (mean_variance >= 0.9) & (mean_variance <= 1.1)
    return [
        "active" if a else "passive" if p else "mixed" for a, p in zip(active, passive, strict=True)
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

    def of(self, *names: LatentType) -> NDArray[np.int64]:
        """Indices of the latents of these types."""
        return np.flatnonzero([own in names for own in self.names])

    @property
    def active(self) -> NDArray[np.int64]:
        return self.of("active")

    @property
    def mixed(self) -> NDArray[np.int64]:
        return self.of("mixed")

    @property
    def passive(self) -> NDArray[np.int64]:
        return self.of("passive")

    def listed(self) -> str:
        """One line, e.g. `3 active (0, 4, 7), 0 mixed, 7 passive (1, 2, 3, 5, 6, 8, 9)`."""
        found = {"active": self.active, "mixed": self.mixed, "passive": self.passive}
        return ", ".join(
            f"{len(which)} {name}" + (f" ({', '.join(map(str, which))})" if len(which) else "")
            for name, which in found.items()
        )
