"""How much each latent encodes of each factor, once for all metrics that need it."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from vaescope.codes import Codes
from vaescope.errors import ShapeError
from vaescope.estimates import bootstrap_interval
from vaescope.information.binning import equal_width
from vaescope.information.discrete import Counts, joint_counts
from vaescope.information.resampling import Replicates, information_replicates
from vaescope.metrics.rows import Representation, labelled
from vaescope.metrics.score import Protocol
from vaescope.seeds import rng
from vaescope.types import Booleans, Double, Floats, Matrix

__all__ = ["RESAMPLES", "InformationTable", "Tally", "counted"]


#: Of bootstrap intervals: the ends are then good to about a tenth of the interval.
RESAMPLES = 200

#: Cells of bins and classes up to which there are intervals: each block of rows has a table.
_AFFORDABLE = 200_000


@dataclass(frozen=True, eq=False)
class InformationTable:
    """Mutual information in nats, and its replicates on resampled rows.

    Constant factors keep their columns here, with entropy 0; metrics leave them out.
    """

    information: Double  # (latent, factor)
    entropy: Double  # (factor,)
    informed: Booleans  # (latent,) knows something beyond chance; plug-in does not ask
    replicates: Replicates | None
    protocol: Protocol
    #: Mean and standard deviation of the information if rows were paired at random.
    chance: tuple[Double, Double] | None = None

    @property
    def varies(self) -> Booleans:
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
        return bootstrap_interval(value, draws, least=0.0, most=1.0)

    def stamped(self, settings: Mapping[str, Any]) -> Protocol:
        """The protocol with a metric's own settings."""
        return replace(self.protocol, settings={**self.protocol.settings, **settings})


@dataclass(frozen=True, eq=False)
class Tally:
    """Counts of codes in bins against factors, from which both kinds of table are had."""

    counts: Counts
    drawn: Replicates | None  # plug-in
    protocol: Protocol

    def plug_in(self) -> InformationTable:
        """As disentanglement_lib has it: of independent columns (bins - 1)(classes - 1) / 2n."""
        all_latents = np.ones(len(self.counts.joint), dtype=bool)
        table = self._table(self.counts.information(), all_latents, "plug-in", 1.0)
        return replace(table, chance=(self.counts.chance(), self.counts.chance_deviation()))

    def adjusted(self) -> InformationTable:
        """Less what random pairing would give: else factors of many classes seem better known."""
        information, informed = self.counts.adjusted_information(), self.counts.informed()
        return self._table(information, informed, "adjusted for chance", 2.0)

    def _table(
        self, information: Matrix, informed: Booleans, estimator: str, biases: float
    ) -> InformationTable:
        replicates = None
        if self.drawn is not None:
            # A resample adds the plug-in bias to the one that the counts have.
            centred = np.maximum(self.drawn.information - biases * self.counts.chance(), 0.0)
            replicates = Replicates(centred, self.drawn.entropy_of_b)
        settings = {**self.protocol.settings, "estimator": estimator}
        return InformationTable(
            information,
            self.counts.entropy_of_b(),
            informed,
            replicates,
            replace(self.protocol, settings=settings),
        )


def counted(
    codes: Codes,
    what: str,
    *,
    bins: int = 20,
    on: Representation = "mean",
    limit: int | None = None,
    resamples: int = RESAMPLES,
    seed: int = 0,
) -> Tally:
    """Counts of codes in `bins` of equal width, over all rows or the first `limit`."""
    seen = labelled(codes, what, on=on, limit=limit, seed=seed)
    factors = np.zeros((seen.n, codes.require_factors(what).shape[1]), dtype=np.int64)
    factors[:, seen.columns] = seen.factors
    classes = equal_width(seen.z, bins)
    drawn = None
    if resamples and bins * int(factors.max(axis=0).sum()) <= _AFFORDABLE:
        stream = rng(seed, "information-bootstrap")
        drawn = information_replicates(classes, factors, resamples=resamples, rng=stream)
    protocol = Protocol("default", seen.n, {"bins": bins, "seed": seed}, on, codes.supervised)
    return Tally(joint_counts(classes, factors), drawn, protocol)
