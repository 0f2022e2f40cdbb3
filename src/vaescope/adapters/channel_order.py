"""Which axis of images has the channels, of models that take either."""

from dataclasses import replace

from torch import Tensor

from vaescope.adapters.input_format import images_of
from vaescope.adapters.output_format import decoded, error_of, pixels
from vaescope.adapters.posterior_format import posterior_of
from vaescope.adapters.reading import CLEARLY, Reading
from vaescope.adapters.sources import Source
from vaescope.errors import ReadingError

__all__ = ["refuse_order"]


def refuse_order(
    source: Source, first: Reading, x: Tensor, u: Tensor | None, kind: str | None
) -> None:
    """Images are given with their channels first. A model that flattens them takes either order,
    and reconstructs those of the order that it was trained with."""
    if not images_of(x, kind) or x.shape[1] == 1 or first.way.form not in ("as they are", "flat"):
        return
    way = replace(first.way, form="channels last")
    try:
        parts = first.opening.candidate.take(way(x, u))
        z = posterior_of(parts, first.spread).mean
        output = first.decoder[1](z.reshape(len(z), *first.shape), u)
        values = decoded(output, (*x.shape[2:], x.shape[1])).values.movedim(-1, 1).to(x)
    except Exception:  # anybody's code, e.g. convolutions, which take one order only
        return
    likelihood = first.likelihood
    error = error_of(pixels(values, likelihood.output, likelihood.output_range), x)
    if error < CLEARLY * min(1.0, first.error):
        raise ReadingError(
            f"{source.name} takes images with their channels first or last, and its "
            f"reconstructions are closer if they are last ({error:.3g} times a constant image's "
            f"error, {first.error:.3g} if first).",
            "Pass images (n, height, width, channels) with kind='signals', so that they go in as "
            "they are; or encode= and decode= as functions of images with their channels first.",
        )
