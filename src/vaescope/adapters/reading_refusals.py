"""Readings that cannot be true, whatever they reconstruct."""

from torch import Tensor, nn

from vaescope.adapters.asked import Asked
from vaescope.adapters.reading import Reading
from vaescope.adapters.sources import Source
from vaescope.errors import ReadingError, UnreadableError, UsageError
from vaescope.vae import Prior

__all__ = ["refuse_absurd", "refuse_company", "refuse_heads", "refuse_prior_of_maps"]

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
        parts = () if source.module is None else source.module.modules()
        norms = [part for part in parts if isinstance(part, nn.modules.batchnorm._NormBase)]
        bare = any(part.running_mean is None and not _of_one(part) for part in norms)
        raise UnreadableError(
            f"The codes that {source.name} gives an image depend on the rest of the batch.",
            "Its batch norm keeps no running statistics: pass encode= as a function that returns "
            "Normal(mean, std) of each image by itself."
            if bare
            else "Put it into evaluation mode, model.eval(), and pass the model itself rather than "
            "functions that hide it; batch norm then uses its running statistics.",
        )


def _of_one(part: nn.Module) -> bool:
    return isinstance(part, nn.modules.instancenorm._InstanceNorm)


def refuse_heads(source: Source, heads: list[str]) -> None:
    """Of codes without noise: a head that is computed and dropped."""
    if heads:
        raise ReadingError(
            f"{source.name} gives codes without noise, and its {heads[0]}, as wide as these, "
            "changes neither codes nor reconstructions: it may be their spread.",
            "If the model has noise, pass encode= as a function that returns Normal(mean, std) of "
            "torch; if not, posterior=mean.",
            tuple(heads),
        )


def refuse_prior_of_maps(source: Source, prior: Prior | None) -> None:
    """Latents that are maps are compared with N(0, I) only."""
    if prior is not None and not prior.density().standard:
        raise UsageError(
            f"The prior of {source.name} is {prior.density().says}; latents that are maps can be "
            "compared with N(0, I) only.",
            "Pass prior=normal to have their types and rates to N(0, I).",
        )
