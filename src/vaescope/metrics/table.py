"""What each latent knows of each factor, once for all metrics that ask for it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vaescope.codes import Codes
from vaescope.errors import ShapeError
from vaescope.information.binning import equal_width
from vaescope.information.bootstrap import interval
from vaescope.information.discrete import joint_counts
from vaescope.information.resampling import Replicates, information_replicates
from vaescope.metrics.rows import Representation, labelled
from vaescope.metrics.score import Protocol
from vaescope.seeds import rng
from vaescope.types import Floats

__all__ = ["Table", "counted"]

#: Of bootstrap intervals: the ends are then good to about a tenth of the interval.
RESAMPLES = 200


@dataclass(frozen=True, eq=False)
class Table:
    """Mutual information in nats, and its replicates on resampled rows.

    Constant factors keep their columns here, with entropy 0; metrics leave them out.
    """

    information: NDArray[np.float64]  # (latent, factor)
    entropy: NDArray[np.float64]  # (factor,)
    informed: NDArray[np.bool_]  # (latent,) knows something beyond chance
    replicates: Replicates | None
    protocol: Protocol

    @property
    def varies(self) -> NDArray[np.bool_]:
        return self.entropy > 0

    def require(self, what: str, *, latents: int = 1, factors: int = 1) -> None:
        d, k = len(self.information), int(self.varies.sum())
        if d < latents:
            raise ShapeError(f"{what} compares {latents} latents; got {d}.", "Use more latents.")
        if k == 0:
            raise ShapeError("All factors are constant.", "Give factors with at least two classes.")
        if k < factors:
            raise ShapeError(
                f"{what} compares {factors} factors that vary; got {k}.",
                "Use data with more factors.",
            )

    def interval(
        self, value: float, statistic: Callable[[Floats, Floats], Floats]
    ) -> tuple[float, float] | None:
        """Of a statistic of (..., latent, factor) information and (..., factor) entropy."""
        if self.replicates is None:
            return None
        varies = self.varies
        draws = statistic(
            self.replicates.information[..., varies], self.replicates.entropy_of_b[..., varies]
        )
        return interval(value, draws, least=0.0, most=1.0)

    def stamped(self, settings: Mapping[str, Any]) -> Protocol:
        """The protocol with a metric's own settings."""
        return replace(self.protocol, settings={**self.protocol.settings, **settings})


def counted(
    codes: Codes,
    what: str,
    *,
    bins: int = 20,
    adjusted: bool = False,
    on: Representation = "mean",
    limit: int | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Table:
    """From counts of codes in `bins` of equal width, over all rows or the first `limit`.

    Plug-in, as disentanglement_lib has it, or `adjusted` for what random pairing would give: the
    plug-in bias is (bins - 1)(classes - 1) / 2n, so that factors of many classes seem better known.
    """
    seen = labelled(codes, what, on=on, limit=limit, seed=seed)
    factors = np.zeros((seen.n, codes.require_factors(what).shape[1]), dtype=np.int64)
    factors[:, seen.columns] = seen.factors
    classes = equal_width(seen.z, bins)
    counts = joint_counts(classes, factors)
    replicates = None
    if resamples:
        stream = rng(seed, "information-bootstrap")
        drawn = information_replicates(classes, factors, resamples=resamples, rng=stream)
        # A resample adds the plug-in bias once more; adjusted information has none to begin with.
        chance = counts.chance() * (2.0 if adjusted else 1.0)
        replicates = Replicates(np.maximum(drawn.information - chance, 0.0), drawn.entropy_of_b)
    estimator = "adjusted for chance" if adjusted else "plug-in"
    return Table(
        counts.adjusted_information() if adjusted else counts.information(),
        counts.entropy_of_b(),
        counts.informed(),
        replicates,
        Protocol(
            "default", seen.n, {"bins": bins, "estimator": estimator, "seed": seed}, on,
            codes.supervised,
        ),
    )  # fmt: skip
