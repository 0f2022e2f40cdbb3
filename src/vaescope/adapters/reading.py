"""One interpretation of somebody else's model: how images go in, and what comes out; and what
cannot be true of it, however well it reconstructs."""

from dataclasses import dataclass, replace

from torch import Tensor, nn

from vaescope.adapters.asked import Asked
from vaescope.adapters.input_format import Way
from vaescope.adapters.likelihoods import ModelLikelihood
from vaescope.adapters.output_format import Range
from vaescope.adapters.posterior_inference import Opening
from vaescope.adapters.sources import Function, Source
from vaescope.errors import ReadingError, UnreadableError, UsageError
from vaescope.vae import Prior

__all__ = [
    "CLEARLY",
    "POOR",
    "Reading",
    "refuse_absurd",
    "refuse_company",
    "refuse_heads",
    "refuse_prior_of_maps",
]

#: A collapsed model gives the mean image, an error of 1. Where all readings are worse than this, it
#: is untrained, or these are not its data, and which reading comes out first is luck.
POOR = 1.1
#: A reading that is left for another must have more than this share of its error.
CLEARLY = 0.9
#: By such a share codes may change with the batch; rounding of bfloat16 is a tenth of it.
COMPANY = 0.05
#: Standard deviations above this are no posterior of a N(0, 1) prior.
LARGEST_STD = 3.0


@dataclass(frozen=True, eq=False)
class Reading:
    """One way to use the model, and how well it does."""

    opening: Opening
    value_range: Range
    decoder: tuple[str, Function]
    shape: tuple[int, ...]  # of latents as the decoder takes them
    spread: str  # a key of SPREADS, or "none"
    likelihood: ModelLikelihood
    error: float  # mean squared error over that of the best constant image
    own_elbo_nats: float  # of an image, at the posterior's mean
    elbo_nats: float  # of an image, by the best Gaussian around its reconstruction
    seen: Range  # range of the decoder's output
    spreads: Range  # range of the spread
    why_output: str = ""
    stated: bool = False  # whether the model or the user says what the output means
    assumed: str = ""  # why its likelihood, or the scale of it, is only assumed; else empty
    unexplained: bool = False  # whether the model shows a loss that is none of those known here
    unsaid: tuple[str, ...] = ()  # outputs of its decoder of which nothing shows what they are
    margin: float | None = None  # nats by which the next best range or output is worse

    @property
    def layout(self) -> str:
        return self.opening.candidate.layout

    @property
    def way(self) -> Way:
        return replace(self.opening.way, value_range=self.value_range)

    @property
    def output(self) -> str:
        return self.likelihood.output

    def says(self) -> str:
        spread = "" if self.spread == "none" else f",{self.spread}"
        low, high = self.likelihood.output_range
        out = f" in [{low:g}, {high:g}]" if self.output == "pixels" else ""
        return (
            f"posterior={self.layout}{spread} output={self.output}{out} "
            f"value_range={self.value_range[0]:g},{self.value_range[1]:g} "
            f"(reconstruction error {self.error:.3g} times a constant's)"
        )


def refuse_absurd(first: Reading, asked: Asked) -> None:
    low, high = first.spreads
    named = asked.spread() or first.opening.evidence
    if first.spread != "none" and not named and low >= 0 and high > LARGEST_STD:
        raise UsageError(
            f"The encoder's second output is between {low:.3g} and {high:.3g}: too large for "
            "standard deviations, and log variances would be below 0 for latents that "
            "encode anything.",
            "State what it is with posterior=, one of logvar, std, variance, logstd, precision; "
            "if it is none of these, pass encode= as a function that returns Normal(mean, std) "
            "of torch.",
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
            "Its batch norm keeps no running statistics: pass encode= as a function that "
            "computes Normal(mean, std) for each image separately."
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
            "Pass prior=normal for types and rates with respect to N(0, I).",
        )
