"""Counts whose decoder gives shares of a softmax over all values, as recommenders do."""

from dataclasses import replace

from torch import Tensor

from vaescope.adapters.asked import Asked
from vaescope.adapters.likelihood_inference import StatedLikelihood, counts, likelihoods
from vaescope.adapters.output_format import OUTPUTS, UNIT, decoded, error_of, event_of
from vaescope.adapters.reading import CLEARLY, POOR, Reading
from vaescope.adapters.sources import Source
from vaescope.errors import UnscoredError

__all__ = ["of_counts"]


def of_counts(source: Source, first: Reading, x: Tensor, u: Tensor | None, asked: Asked) -> Reading:
    """Counts may have a softmax over all values of a row, whose logits mean nothing one by one."""
    if asked.kind != "signals" or first.stated or first.output == "own" or not counts(x):
        return first
    z = first.opening.candidate.take(first.way(x, u)).mean
    output = decoded(first.decoder[1](z.reshape(len(z), *first.shape), u), event_of(x, asked.kind))
    options = likelihoods(source, output, StatedLikelihood("", "multinomial", ""), x,
                          Asked(kind=asked.kind), None, UNIT, (UNIT,))  # fmt: skip
    shares = options[0][0]
    error = error_of(shares.of_values(output.values).mean, x)
    if error < CLEARLY * min(1.0, first.error):
        why = (f"shares of a softmax: as such its error is {error:.3g} times that of a constant, "
               f"as {OUTPUTS[first.output]} {first.error:.3g}")  # fmt: skip
        return replace(first, likelihood=shares, error=error, why_output=why)
    if first.error > POOR and error < first.error:
        raise UnscoredError(
            f"{source.name} reconstructs these counts poorly as {OUTPUTS[first.output]}, with "
            f"{first.error:.3g} times the error of a constant, and as shares of a softmax, "
            f"{error:.3g}.",
            f"Say what its outputs are: likelihood=multinomial or {first.likelihood.family}.",
        )
    return first
