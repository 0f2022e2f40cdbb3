"""One way to use somebody else's model: how images go in, and what comes out."""

from dataclasses import dataclass, replace

from vaescope.adapters.input_format import Way
from vaescope.adapters.likelihoods import ModelLikelihood
from vaescope.adapters.output_format import Range
from vaescope.adapters.posterior_inference import Opening
from vaescope.adapters.sources import Function

__all__ = ["CLEARLY", "POOR", "Reading"]

#: A collapsed model gives the mean image, an error of 1. Where all readings are worse than this, it
#: is untrained, or these are not its data, and which reading comes out first is luck.
POOR = 1.1
#: A reading that is left for another must have more than this share of its error.
CLEARLY = 0.9


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
