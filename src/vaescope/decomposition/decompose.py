"""mathieu2019's two factors in one call: overlap, match with the prior; and sparsity."""

from dataclasses import dataclass, field
from typing import Any

from vaescope.codes import Codes
from vaescope.decomposition.aggregate import Aggregate, aggregate
from vaescope.decomposition.overlap import Overlap, overlap
from vaescope.decomposition.sparsity import Sparsity, hoyer
from vaescope.errors import ShapeError
from vaescope.notebook_card import card_of

__all__ = ["DecompositionMeasures", "decomposition"]


@dataclass(frozen=True, eq=False)
class DecompositionMeasures:
    """Overlap, aggregate and sparsity; None, with a reason in `skipped`, if not available."""

    overlap: Overlap | None  # overlap of the encodings
    aggregate: Aggregate  # match of the aggregate posterior with the prior
    sparsity: Sparsity | None  # sparsity of the encodings
    seed: int
    skipped: dict[str, str] = field(default_factory=dict)

    def summary(self) -> str:
        """One line for each part."""
        parts = (self.overlap, self.aggregate, self.sparsity)
        said = [part.summary() for part in parts if part is not None]
        return "\n".join([*said, *(f"no {name}: {why}" for name, why in self.skipped.items())])

    def to_dict(self) -> dict[str, Any]:
        """The numbers by name, and the details of the parts beside them."""
        kl = self.aggregate.inclusive_kl
        return {
            "hoyer": None if self.sparsity is None else self.sparsity.hoyer,
            "index_code_information": (
                None if self.overlap is None else self.overlap.index_code_information
            ),
            "posterior_entropy": None if self.overlap is None else self.overlap.posterior_entropy,
            "mmd": self.aggregate.mmd,
            "inclusive_kl": None if kl is None else kl.value,
            "overlap": None if self.overlap is None else self.overlap.to_dict(),
            "aggregate": self.aggregate.to_dict(),
            "sparsity": None if self.sparsity is None else self.sparsity.to_dict(),
            "seed": self.seed,
            "skipped": self.skipped,
        }

    _repr_html_ = card_of


def decomposition(codes: Codes, *, seed: int = 0) -> DecompositionMeasures:
    """Overlap of the encodings, match of their aggregate with the prior, and sparsity.

    Quantities whose cost grows with the square of n are measured on seeded subsets: 1,000 codes
    against 10,000 posteriors for the overlap, 1,000 points for the divergences. The parts'
    `to_dict` say how many.

    Args:
        codes: posterior mean, variance and sample of each row, with factors if they are needed.
        seed: seed of all random draws.

    Returns:
        `DecompositionMeasures`: overlap, aggregate and sparsity; None, with a reason in `skipped`,
        if not available.

    Raises:
        RangeError: a value is out of range.
        ShapeError: an array is missing, or has the wrong shape or type.

    Example:
        >>> import vaescope as vs
        >>> codes = vs.known.codes()
        >>> vs.decomposition.decomposition(codes).aggregate.n
        600
    """
    skipped = {}
    if not codes.stochastic:
        skipped["overlap"] = "posteriors of variance 0 have no density"
    try:
        sparsity = hoyer(codes)
    except ShapeError as error:
        sparsity, skipped["hoyer"] = None, str(error)
    return DecompositionMeasures(
        overlap(codes, seed=seed) if codes.stochastic else None,
        aggregate(codes, seed=seed),
        sparsity,
        seed,
        skipped,
    )
