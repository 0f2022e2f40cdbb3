"""Models that have no Gaussian posterior of each example, refused with the reason and what can be
dissected of them instead."""

import re
from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor

from vaescope.adapters.draws import Forward, recorded
from vaescope.adapters.noise import Noise
from vaescope.adapters.posterior_format import whole_numbers
from vaescope.adapters.sources import Source
from vaescope.adapters.tensors import same
from vaescope.errors import ReadingError, UnreadableError, UsageError

__all__ = ["refuse_bounded", "refuse_levels", "refuse_modes", "refuse_noise", "refuse_quantised"]

#: Examples from which on codes with so few values are no chance.
MANY, LEVELS = 64, 16
#: Names of layers that make latents discrete.
_QUANTISERS = re.compile(r"quanti[sz]er|vectorquanti|codebook|^vq|vq$", re.IGNORECASE)


def refuse_noise(source: Source) -> None:
    raise UnreadableError(
        f"{source.name} draws noise that may or may not be its latents': not normal, not "
        "torch's, or added to the images. Its posterior may not be Gaussian.",
        "State what its encoder returns with posterior=, e.g. pair,logvar, or mean for means only, "
        "or pass encode= as a function that returns Normal(mean, std) of torch.",
    )


def refuse_levels(source: Source) -> None:
    raise UsageError(
        f"{source.name} draws latents at several places, one after the other: its levels have no "
        "common posterior in closed form.",
        "To dissect one level, pass encode= as a function that returns its Normal(mean, std) and "
        "decode= as one of that level's latents, the others at their means.",
    )


def refuse_modes(source: Source, forward: Forward, mean: Tensor) -> None:
    """Draws are seen in training mode. Where evaluation mode gives other means, such as those of
    averaged weights, these are the codes that the model is used with."""
    with Noise(), recorded(forward.module) as seen:
        forward.call(forward.x, forward.u)
    if forward.entry not in seen:
        return
    evaluated = forward.latents_in(seen[forward.entry])
    if evaluated.shape == mean.shape and not same(evaluated, mean):
        raise ReadingError(
            f"The forward of {source.name} gives other latents in training mode than in evaluation "
            "mode, also without noise, so its draws do not show the posterior.",
            "Pass encode= as a function that returns Normal(mean, std) of torch, in the mode that "
            "is meant, and decode= as one of latents.",
        )


def refuse_bounded(source: Source, name: str, family: str) -> None:
    article = "an" if family[0] in "AEIOU" else "a"
    raise UsageError(
        f"{name} of {source.name} returns {article} {family}, whose support is not the whole "
        "line: its KL is not that of a Gaussian with its mean and variance.",
        "To dissect functions of it that are nearly Gaussian, such as logits or logarithms, pass "
        "encode= as a function that returns their Normal(mean, std) and decode= as one of these.",
    )


def _levels(output: Any) -> int:
    """How many values codes have that were rounded or made signs of; 0 where they are no such."""
    codes = output if isinstance(output, Tensor) else None
    if codes is None or codes.ndim < 2 or len(codes) < MANY or not codes.is_floating_point():
        return 0
    columns = codes.detach().float().flatten(1).T
    moving = [column for column in columns if not bool((column == column[0]).all())]
    most = max((_distinct(column) for column in moving), default=0)
    return most if most <= LEVELS else 0


def _distinct(column: Tensor) -> int:
    """How many values there are, but for rounding."""
    places = (column - column.min()) / (column.max() - column.min())
    return len(set(places.round(decimals=4).tolist()))


def _moved(x: Tensor) -> Tensor:
    """Each example a little on its way to another one, each by a share of its own."""
    share = torch.linspace(0.001, 0.02, len(x)).to(x).view(-1, *[1] * (x.ndim - 1))
    return torch.lerp(x, x.flip(0), share)


def refuse_quantised(
    source: Source, name: str, output: Any, x: Tensor, encode: Callable[[Tensor], Any]
) -> None:
    parts = () if source.module is None else source.module.modules()
    kinds = [type(part).__name__ for part in parts]
    quantiser = next((kind for kind in kinds if _QUANTISERS.search(kind)), None)
    levels = _levels(output)
    if levels and x.is_floating_point() and not _levels(encode(_moved(x))):
        levels = 0  # the codes of data on a grid, which follow the data off it
    if quantiser or whole_numbers(output) or levels:
        sign = f"it has a {quantiser}" if quantiser else f"{name} returned whole numbers"
        if levels and not quantiser:
            sign = f"{name} returned {levels} values at most in each place"
        raise UsageError(
            f"{source.name} looks like a VQ-VAE: {sign}. Entries of a codebook have no posterior; "
            "wanted means and spreads.",
            "To dissect the input of the codebook as codes without noise, pass encode= as a "
            "function that returns that input, and posterior=mean.",
        )
