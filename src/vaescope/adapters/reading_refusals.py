"""Readings that cannot be true, whatever they reconstruct."""

from torch import Tensor

from vaescope.adapters.asked import Asked
from vaescope.adapters.reading import Reading
from vaescope.adapters.sources import Source
from vaescope.errors import UnreadableError, UsageError

__all__ = ["refuse_absurd", "refuse_company"]

#: By such a share codes may change with the batch; rounding of bfloat16 is a tenth of it.
COMPANY = 0.05
#: Standard deviations above this are no posterior of a N(0, 1) prior.
LARGEST_STD = 3.0


def refuse_absurd(first: Reading, asked: Asked) -> None:
    low, high = first.spreads
    named = asked.spread() or first.opening.evidence
    if first.spread != "none" and not named and low >= 0 and high > LARGEST_STD:
        raise UsageError(
            f"The encoder's second output is between {low:.3g} and {high:.3g}: too large for "
            "standard deviations, and log variances would be below 0 for latents that "
            "encode anything.",
            "Say what it is with posterior=, one of logvar, std, variance, logstd, precision; if "
            "none, pass encode= as a function that returns Normal(mean, std) of torch.",
        )


def refuse_company(source: Source, first: Reading, x: Tensor, u: Tensor | None) -> None:
    """Codes of an example are its own: batch norm in training mode mixes them with the others'."""
    few = len(x) // 2
    if few < 2:
        return
    take = first.opening.candidate.take
    whole = take(first.way(x, u)).mean[-few:]
    # The second half: of a sequence, what comes first never depends on what comes later.
    alone = take(first.way(x[-few:], None if u is None else u[-few:])).mean
    if alone.shape == whole.shape and (alone - whole).norm() > COMPANY * whole.norm():
        raise UnreadableError(
            f"The codes that {source.name} gives an image depend on the rest of the batch.",
            "Put it into evaluation mode, model.eval(), and pass the model itself rather than "
            "functions that hide it; batch norm then uses its running statistics.",
        )
