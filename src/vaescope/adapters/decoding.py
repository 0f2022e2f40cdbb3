"""What a decoder's output means: the mean image, and the likelihood of an image."""

from collections.abc import Callable, Iterator

import torch
from torch import Tensor

from vaescope.distributions import Bernoulli, DiagonalGaussian, Distribution

__all__ = ["OUTPUTS", "RANGES", "UNIT", "Range", "likelihood", "meanings", "pixels"]

Range = tuple[float, float]
UNIT: Range = (0.0, 1.0)
#: Ranges that images are kept in, the commonest first.
RANGES: tuple[Range, ...] = (UNIT, (-1.0, 1.0), (0.0, 255.0))

#: What a decoder's output may be -> what it means, in words.
OUTPUTS = {
    "probabilities": "means of pixels in [0, 1]",
    "logits": "logits of pixels",
    "pixels": "values in the range of the data",
    "own": "what the model's own likelihood makes of it",
}


def meanings(
    seen: Range, x: Tensor, asked: str | None, told: Range | None
) -> Iterator[tuple[str, Range]]:
    """What an output with values between `seen` may mean, the commonest first, and in which range
    it has pixels; `told` is the range of data where it is known."""
    images = x.ndim == 4
    if not images and (float(x.min()) < 0 or float(x.max()) > 1):
        if asked in (None, "pixels"):
            yield "pixels", UNIT
        return
    unit = told in (None, UNIT)
    inside = seen[0] >= 0 and seen[1] <= 1
    if inside and (asked == "probabilities" or (asked is None and unit)):
        yield "probabilities", UNIT
        return
    if asked == "logits" or (asked is None and unit):
        yield "logits", UNIT
    if asked in (None, "pixels"):
        for output_range in (told,) if told else RANGES if images else (UNIT,):
            yield "pixels", output_range


def pixels(y: Tensor, meaning: str, output_range: Range) -> Tensor:
    """The mean of x that an output stands for."""
    if meaning == "logits":
        return y.sigmoid()
    low, high = output_range
    return y if output_range == UNIT else (y - low) / (high - low)


def likelihood(
    y: Tensor, meaning: str, output_range: Range, own: Callable[[Tensor], Distribution] | None
) -> Distribution:
    """p(x|z) of images in [0, 1], from the decoder's output."""
    if meaning == "own":
        assert own is not None
        return own(y)
    if meaning == "logits":
        return Bernoulli(y)
    if meaning == "probabilities":
        # float32 has lost the logit nearer to 0 and 1.
        return Bernoulli(torch.logit(y, eps=1e-6))
    # Squared error: a Gaussian of variance 1/2.
    return DiagonalGaussian(
        pixels(y, meaning, output_range), torch.full((), 0.5, device=y.device).log()
    )
