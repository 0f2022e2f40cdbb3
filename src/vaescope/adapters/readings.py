"""Which reading of a model is right: each is tried, and the one that reconstructs best is taken.

A reading says in which range images go in, where mean and spread are in the encoder's output, and
what the decoder's output means. A wrong one reconstructs the data badly, so that a few images tell.
Where two do equally well, none is taken: the error lays them out.
"""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from vaescope.adapters.outputs import LAYOUTS, SPREADS, Candidate, candidates, decoded
from vaescope.adapters.sources import Function, Source
from vaescope.errors import UsageError, VaescopeError

__all__ = ["OUTPUTS", "Asked", "Reading", "choose", "images_of", "pixels"]

Range = tuple[float, float]
UNIT: Range = (0.0, 1.0)
#: Ranges that images are kept in, the commonest first.
RANGES: tuple[Range, ...] = (UNIT, (-1.0, 1.0), (0.0, 255.0))

#: What a decoder's output may be -> what it means, in words.
OUTPUTS = {
    "probabilities": "means of pixels in [0, 1]",
    "logits": "logits of pixels",
    "pixels": "values in the range of the data",
}

#: Errors within this ratio are equal: a wrong reading is worse by far more on a trained model.
EQUAL = 1.02
#: How far outside its range an output may be and still be meant for it.
SLACK = 0.25
#: Standard deviations above this are no posterior of a N(0, 1) prior.
LARGEST_STD = 3.0


@dataclass(frozen=True)
class Asked:
    """What the user said; None: look."""

    posterior: str | None = None
    output: str | None = None
    value_range: Range | None = None

    def layout(self) -> str | None:
        return self._word(LAYOUTS)

    def spread(self) -> str | None:
        return self._word(SPREADS)

    def _word(self, table: Mapping[str, Any]) -> str | None:
        words = [] if self.posterior is None else self.posterior.split(",")
        return next((word for word in words if word in table), None)

    def check(self) -> None:
        words = [] if self.posterior is None else self.posterior.split(",")
        unknown = [word for word in words if word not in (*LAYOUTS, *SPREADS, "auto")]
        if unknown:
            raise UsageError(
                f"posterior={self.posterior!r} has {unknown[0]!r}.",
                f"Give one of {', '.join(LAYOUTS)}, one of {', '.join(SPREADS)}, or both with a "
                "comma, e.g. interleaved,logvar.",
            )
        if self.output not in (None, *OUTPUTS):
            raise UsageError(f"output={self.output!r}.", f"Use one of {', '.join(OUTPUTS)}.")
        if self.value_range is not None and not self.value_range[0] < self.value_range[1]:
            raise UsageError(f"value_range={self.value_range}.", "Give the lower end first.")


@dataclass(frozen=True, eq=False)
class Way:
    """How data go in."""

    encoder: tuple[str, Function]
    flat: bool  # images as vectors
    value_range: Range

    def __call__(self, x: Tensor) -> Any:
        low, high = self.value_range
        x = x if self.value_range == UNIT else low + (high - low) * x
        return self.encoder[1](x.flatten(1) if self.flat else x)


@dataclass(frozen=True, eq=False)
class Reading:
    """One way to use the model, and how well it reconstructs."""

    way: Way
    decoder: tuple[str, Function]
    layout: str
    spread: str  # a key of SPREADS, or "none"
    output: str  # a key of OUTPUTS
    output_range: Range  # of pixels that come out
    error: float  # mean squared error over that of the best constant image
    seen: tuple[float, float]  # range of the decoder's output
    spreads: tuple[float, float]  # range of the spread

    @property
    def value_range(self) -> Range:
        return self.way.value_range

    def says(self) -> str:
        spread = "" if self.spread == "none" else f",{self.spread}"
        out = f" in [{self.output_range[0]:g}, {self.output_range[1]:g}]"
        return (
            f"posterior={self.layout}{spread} output={self.output}"
            f"{out if self.output == 'pixels' else ''} "
            f"value_range={self.value_range[0]:g},{self.value_range[1]:g} "
            f"(reconstruction error {self.error:.3g} of a constant image's)"
        )

    @property
    def symmetric(self) -> bool:
        return self.value_range == self.output_range


def choose(source: Source, x: Tensor, asked: Asked) -> tuple[Reading, int]:
    """The best reading on the images `x`, and how many were tried."""
    asked.check()
    problems: list[str] = []
    tried = list(_readings(source, x, asked, problems))
    if not tried:
        raise UsageError(
            f"No reading of {source.name} works on images of shape {tuple(x.shape[1:])}: "
            + "; ".join(dict.fromkeys(problems)),
            "Pass encode= as a function that returns (mean, logvar) and decode= as one that takes "
            "latents, or images of the size that it was trained on.",
        )
    best = min(tried, key=lambda reading: reading.error)
    equal = [r for r in tried if r.error <= EQUAL * best.error]
    # In and out are in the same range nearly always: that settles what images cannot.
    equal = [r for r in equal if r.symmetric] or equal
    equal = [r for r in equal if r.value_range == equal[0].value_range]
    first = equal[0]
    rivals = {r.says(): r for r in equal if (r.layout, r.output) != (first.layout, first.output)}
    if rivals:
        choices = "; ".join([first.says(), *rivals])
        raise UsageError(
            f"Two readings of {source.name} are equally good: {choices}.",
            f"Say which with posterior= and output= (--posterior {first.layout}, --output "
            f"{first.output}).",
        )
    return first, len(tried)


def _readings(source: Source, x: Tensor, asked: Asked, problems: list[str]) -> Iterator[Reading]:
    told = asked.value_range or source.range
    ranges = (told,) if told else RANGES if images_of(x) else (UNIT,)
    for encoder in source.encoders:
        found = False
        for value_range in ranges:
            called = _called(encoder, value_range, x, problems)
            if called is None:
                continue
            way, output, again = called
            for candidate in candidates(output, again):
                if asked.layout() in (None, candidate.layout):
                    for reading in _decoded(source, x, candidate, way, asked, problems):
                        found = True
                        yield reading
        if found:
            return  # encode before encoder: the model's own word for it
        problems.append(f"{encoder[0]} gives no mean that the decoder takes")


def images_of(x: Tensor) -> bool:
    """Whether data are images, which models take in several ranges."""
    return x.ndim == 4


def _called(
    encoder: tuple[str, Function], value_range: Range, x: Tensor, problems: list[str]
) -> tuple[Way, Any, Any] | None:
    """What it returns, twice; images that it does not take are tried as vectors."""
    for flat in (False, True) if x.ndim > 2 else (False,):
        way = Way(encoder, flat, value_range)
        try:
            return way, way(x), way(x)
        except VaescopeError:
            raise
        except Exception as error:  # anybody's code: whatever it raises, this way is closed
            shape = tuple((x.flatten(1) if flat else x).shape)
            problems.append(f"{encoder[0]} on shape {shape}: {_line(error)}")
    return None


def _line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:160] if lines else ''}"


def _decoded(
    source: Source, x: Tensor, candidate: Candidate, way: Way, asked: Asked, problems: list[str]
) -> Iterator[Reading]:
    spread = asked.spread() or candidate.kind or _spread(candidate)
    spreads = _ends(candidate.spread)
    for decoder in source.decoders:
        try:
            y = decoded(decoder[1](candidate.mean), tuple(x.shape[1:])).float()
        except Exception as error:
            problems.append(f"{decoder[0]} on shape {tuple(candidate.mean.shape)}: {_line(error)}")
            continue
        if not torch.isfinite(y).all():
            problems.append(f"{decoder[0]} gives values that are not finite")
            continue
        seen = _ends(y)
        for output, output_range in _outputs(seen, x, asked, source):
            missed = _error(pixels(y, output, output_range), x)
            yield Reading(
                way, decoder, candidate.layout, spread, output, output_range, missed, seen, spreads
            )
        return


def _ends(values: Tensor | None) -> tuple[float, float]:
    return (0.0, 0.0) if values is None else (float(values.min()), float(values.max()))


def _spread(candidate: Candidate) -> str:
    """Log variances of trained latents are below 0 somewhere; standard deviations never are."""
    if candidate.spread is None:
        return "none"
    low, high = float(candidate.spread.min()), float(candidate.spread.max())
    if low < 0:
        return "logvar"
    if high <= LARGEST_STD:
        return "std"
    raise UsageError(
        f"The encoder's second output is between {low:.3g} and {high:.3g}: too large for standard "
        "deviations, and log variances would be below 0 for latents that know anything.",
        f"Say what it is with posterior=, one of {', '.join(SPREADS)}.",
    )


def _outputs(
    seen: tuple[float, float], x: Tensor, asked: Asked, source: Source
) -> Iterator[tuple[str, Range]]:
    told = asked.value_range or source.range
    images = images_of(x)
    if not images and not (float(x.min()) >= 0 and float(x.max()) <= 1):
        yield asked.output or "pixels", UNIT
        return
    inside = seen[0] >= 0 and seen[1] <= 1
    if asked.output == "probabilities" or (
        asked.output is None and inside and told in (None, UNIT)
    ):
        yield "probabilities", UNIT
        return
    if asked.output in (None, "logits") and (told in (None, UNIT) or asked.output):
        yield "logits", UNIT
    if asked.output in (None, "pixels"):
        for low, high in (told,) if told else RANGES if images else (UNIT,):
            slack = SLACK * (high - low)
            if told or asked.output or (low - slack <= seen[0] and seen[1] <= high + slack):
                yield "pixels", (low, high)


def pixels(y: Tensor, output: str, output_range: Range) -> Tensor:
    """The mean of x that an output stands for."""
    if output == "logits":
        return y.sigmoid()
    low, high = output_range
    return y if output_range == UNIT else (y - low) / (high - low)


def _error(y: Tensor, x: Tensor) -> float:
    """Mean squared error, over that of the mean image: 1 is no better than knowing nothing."""
    constant = (x - x.mean(0)).square().mean()
    return float((y - x).square().mean() / constant.clamp_min(1e-12))
