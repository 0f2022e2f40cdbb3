"""Types of latents from codes. Paper 001, section 3; the rule itself is in `vaescope.regime`."""

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vaescope.codes import Codes
from vaescope.regime import LatentType, types_of

__all__ = ["Types", "types"]


@dataclass(frozen=True, eq=False)
class Types:
    """What each latent is, and the two statistics that decide it."""

    names: tuple[LatentType, ...]
    mean_variance: NDArray[np.float64]
    variance_of_variance: NDArray[np.float64]

    def _of(self, name: LatentType) -> NDArray[np.int64]:
        return np.flatnonzero([own == name for own in self.names])

    @property
    def active(self) -> NDArray[np.int64]:
        return self._of("active")

    @property
    def passive(self) -> NDArray[np.int64]:
        return self._of("passive")

    @property
    def mixed(self) -> NDArray[np.int64]:
        return self._of("mixed")

    def summary(self) -> str:
        """One line, e.g. `3 active (0, 4, 7), 0 mixed, 7 passive (1, 2, 3, 5, 6, 8, 9)`."""
        parts = []
        for name in ("active", "mixed", "passive"):
            which = ", ".join(map(str, self._of(name)))
            parts.append(f"{len(self._of(name))} {name}" + (f" ({which})" if which else ""))
        return ", ".join(parts)

    def to_dict(self) -> dict[str, Any]:
        return {
            "types": list(self.names),
            "mean_variance": self.mean_variance.tolist(),
            "variance_of_variance": self.variance_of_variance.tolist(),
        }


def types(codes: Codes) -> Types:
    """Active, passive or mixed, by the mean and variance over the data of the posterior variance.

    For N(0, I) priors. Population variance, as the paper's code has it.
    """
    variance = codes.variance.astype(np.float64)
    mean, spread = variance.mean(axis=0), variance.var(axis=0)
    return Types(tuple(types_of(mean, spread)), mean, spread)
