"""Which reading of a model is right: each is tried, and the one that reconstructs best is taken.

A reading says in which range images go in, where mean and spread are in the encoder's output, and
what the decoder's output means. A wrong one reconstructs the data badly, so that a few images tell.
Where two do equally well, none is taken: the error lays them out.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from vaescope.adapters.decoding import OUTPUTS, RANGES, UNIT, Range, likelihood, meanings
from vaescope.adapters.outputs import (
    LAYOUTS,
    SPREADS,
    Candidate,
    Parts,
    candidates,
    decoded,
    fault_of,
    posterior_of,
    whole_numbers,
)
from vaescope.adapters.sources import Function, Source
from vaescope.adapters.ways import FORMS, Way, forms_of, images_of
from vaescope.errors import UsageError, VaescopeError

__all__ = ["Asked", "Reading", "choose"]

#: Errors within this ratio are equal: a wrong reading is worse by far more on a trained model.
EQUAL = 1.02
#: A collapsed model gives the mean image, an error of 1. Where all readings are worse than this, it
#: is untrained, or these are not its data, and which reading comes out first is luck.
POOR = 1.1
EQUAL_IF_POOR = 1.5
#: By such a share codes may change with the batch; rounding of bfloat16 is a tenth of it.
COMPANY = 0.05
#: Names of layers that make latents discrete.
_QUANTISERS = re.compile(r"quanti[sz]er|vectorquanti|codebook|^vq|vq$", re.IGNORECASE)
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
        for table in (LAYOUTS, SPREADS):
            if len(said := [word for word in words if word in table]) > 1:
                raise UsageError(
                    f"posterior={self.posterior!r} is {' and '.join(said)}.", "Say one."
                )
        ends = self.value_range
        if ends is not None and (len(ends) != 2 or not ends[0] < ends[1]):
            raise UsageError(f"value_range={ends}.", "Give two numbers, the lower end first.")


@dataclass(frozen=True, eq=False)
class Reading:
    """One way to use the model, and how well it reconstructs."""

    way: Way
    decoder: tuple[str, Function]
    candidate: Candidate
    spread: str  # a key of SPREADS, or "none"
    output: str  # a key of OUTPUTS
    output_range: Range  # of pixels that come out
    error: float  # mean squared error over that of the best constant image
    seen: Range  # range of the decoder's output
    spreads: Range  # range of the spread

    @property
    def layout(self) -> str:
        return self.candidate.layout

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
    tried = _readings(source, x, asked, problems)
    if not tried:
        raise UsageError(
            f"No reading of {source.name} works on data of shape {tuple(x.shape[1:])}: "
            + "; ".join(dict.fromkeys(problems)) + ".",
            "Pass images of the size that it was trained on, or encode= as a function that returns "
            "(mean, logvar) as tensors and decode= as one of latents: there, labels can be added.",
        )  # fmt: skip
    best = min(tried, key=lambda reading: reading.error)
    poor = best.error > POOR
    equal = [r for r in tried if r.error <= (EQUAL_IF_POOR if poor else EQUAL) * best.error]
    # encode() that gives means and encoder() that gives spreads too: one model, the latter whole.
    equal = [r for r in equal if r.spread != "none"] or equal
    # In and out are in the same range nearly always: that settles what images cannot.
    equal = [r for r in equal if r.symmetric] or equal
    equal = [r for r in equal if r.value_range == equal[0].value_range]
    first = equal[0]
    # An untrained decoder's output has no meaning yet, so the commonest one will do; but where the
    # means are has to be known.
    rivals = [
        r for r in equal if r.layout != first.layout or (r.output != first.output and not poor)
    ]
    _refuse_rivals(source, first, rivals)
    _refuse_absurd(first, asked)
    _refuse_company(source, first, x)
    return first, len(tried)


def _refuse_rivals(source: Source, first: Reading, rivals: list[Reading]) -> None:
    if rivals:
        choices = "; ".join(dict.fromkeys(r.says() for r in (first, *rivals)))
        raise UsageError(
            f"Several readings of {source.name} are equally good: {choices}.",
            f"Say which with posterior= and output= (--posterior {first.layout}, --output "
            f"{first.output}).",
        )


def _refuse_absurd(first: Reading, asked: Asked) -> None:
    low, high = first.spreads
    named = asked.spread() or first.candidate.kind
    if first.spread != "none" and not named and low >= 0 and high > LARGEST_STD:
        raise UsageError(
            f"The encoder's second output is between {low:.3g} and {high:.3g}: too large for "
            "standard deviations, and log variances would be below 0 for latents that know "
            "anything.",
            f"Say what it is with posterior=, one of {', '.join(SPREADS)}.",
        )


def _refuse_company(source: Source, first: Reading, x: Tensor) -> None:
    """Codes of an example are its own: batch norm in training mode mixes them with the others'."""
    few = len(x) // 2
    if few < 2:
        return
    whole = first.candidate.take(first.way(x)).mean[:few]
    alone = first.candidate.take(first.way(x[:few])).mean
    if alone.shape == whole.shape and (alone - whole).norm() > COMPANY * whole.norm():
        raise UsageError(
            f"{source.name} gives an image other codes where there are other images in its batch.",
            "Put it into evaluation mode, model.eval(), and pass the model itself rather than "
            "functions that hide it; batch norm then uses its running statistics.",
        )


def _readings(source: Source, x: Tensor, asked: Asked, problems: list[str]) -> list[Reading]:
    told = asked.value_range or source.range
    ranges = (told,) if told else RANGES if images_of(x) else (UNIT,)
    found: list[Reading] = []
    for encoder in source.encoders:
        for form in forms_of(x):
            ways = [Way(encoder, form, value_range) for value_range in ranges]
            own = [r for way in ways for r in _of_way(source, x, way, asked, problems)]
            found += own
            if own:
                break  # other forms only where images as they are are not taken
        if any(r.spread != "none" for r in found):
            break  # encode before encoder: the model's own word for it
    return found


def _of_way(
    source: Source, x: Tensor, way: Way, asked: Asked, problems: list[str]
) -> Iterator[Reading]:
    name = way.encoder[0]
    try:
        output, again = way(x), way(x)
    except VaescopeError:
        raise
    except Exception as error:  # anybody's code: whatever it raises, this way is closed
        problems.append(f"{name} on shape {tuple(FORMS[way.form](x).shape)}: {_line(error)}")
        return
    found = list(candidates(output, again))
    if not found:
        problems.append(f"{name} returned {_described(output, again)}: no mean is among them")
    if asked.posterior is None and not any(c.kind or c.layout == "pair" for c in found):
        _refuse_quantised(source, name, output)
    for candidate in found:
        parts = candidate.take(output)
        fault = fault_of(parts, len(x))
        if fault:
            problems.append(f"{name} returned {fault}")
        elif asked.layout() in (None, candidate.layout):
            yield from _decoded(source, x, candidate, output, way, asked, problems)
        else:
            layouts = ", ".join(dict.fromkeys(c.layout for c in found))
            problems.append(
                f"posterior={asked.posterior} does not fit what {name} returned, which can be "
                f"read as {layouts}"
            )


def _refuse_quantised(source: Source, name: str, output: Any) -> None:
    parts = () if source.module is None else source.module.modules()
    kinds = [type(part).__name__ for part in parts]
    quantiser = next((kind for kind in kinds if _QUANTISERS.search(kind)), None)
    if quantiser or whole_numbers(output):
        sign = f"it has a {quantiser}" if quantiser else f"{name} returned whole numbers"
        raise UsageError(
            f"{source.name} looks like a VQ-VAE: {sign}. Entries of a codebook have no posterior; "
            "wanted means and spreads.",
            "To dissect what goes into the codebook as codes without noise, pass encode= as a "
            "function that returns that, and posterior=mean.",
        )


def _line(error: Exception) -> str:
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:160] if lines else ''}"


def _described(output: Any, again: Any) -> str:
    """What an encoder returned, in a few words."""
    if isinstance(output, Tensor):
        changes = not torch.equal(output, again)
        return f"shape {tuple(output.shape)}" + (
            ", and other values when called again, so these are samples" if changes else ""
        )
    if isinstance(output, Mapping):
        return f"{type(output).__name__} with {', '.join(map(str, output))}"
    if isinstance(output, tuple | list):
        inner = (_described(*both) for both in zip(output, again, strict=False))
        return f"{type(output).__name__} of [{'; '.join(inner)}]"
    return type(output).__name__


def _decoded(
    source: Source, x: Tensor, candidate: Candidate, output: Any, way: Way, asked: Asked,
    problems: list[str],
) -> Iterator[Reading]:  # fmt: skip
    parts = candidate.take(output)
    spread = asked.spread() or candidate.kind or _spread(parts)
    spread = "none" if parts.spread is None else spread
    if spread == "variance" or (spread == "std" and asked.spread() is None):
        assert parts.spread is not None
        if bool((parts.spread < 0).any()):
            problems.append(
                f"{way.encoder[0]} returned a {spread} below 0: say posterior=logvar or "
                "posterior=logstd where it is a logarithm, posterior=std where its sign means "
                "nothing"
            )
            return
    told = asked.value_range or source.range
    for decoder in source.decoders:
        try:
            y = decoded(decoder[1](parts.mean), tuple(x.shape[1:])).to(x)
            again = decoded(decoder[1](parts.mean), tuple(x.shape[1:])).to(x)
        except Exception as error:
            problems.append(f"{decoder[0]} on shape {tuple(parts.mean.shape)}: {_line(error)}")
            continue
        fault = _output_fault(y, again, len(x))
        if fault:
            problems.append(f"{decoder[0]} gives {fault}")
            continue
        seen = _ends(y)
        found = list(meanings(seen, x, asked.output, told))
        if source.likelihood is not None and asked.output in (None, "own"):
            found = [("own", UNIT)]
        if not found:
            problems.append(
                f"output={asked.output} does not fit what {decoder[0]} gives, values from "
                f"{seen[0]:.3g} to {seen[1]:.3g}; outputs may be {', '.join(OUTPUTS)}"
            )
        for meaning, output_range in found:
            missed = _error(likelihood(y, meaning, output_range, source.likelihood).mean, x)
            yield Reading(
                way, decoder, candidate, spread, meaning, output_range, missed, seen,
                _ends(parts.spread),
            )  # fmt: skip
        return


def _output_fault(y: Tensor, again: Tensor, n: int) -> str | None:
    """Why these can be no means of n images; None where they can."""
    if len(y) != n:
        return f"{len(y)} outputs of {n} latents"
    if not torch.isfinite(y).all():
        return "values that are not finite"
    if not torch.allclose(y, again, rtol=1e-2, atol=1e-2 * float(y.std())):
        return "other values when called again, so these are samples; wanted their means"
    return None


def _ends(values: Tensor | None) -> Range:
    return (0.0, 0.0) if values is None else (float(values.min()), float(values.max()))


def _spread(parts: Parts) -> str:
    """Logarithms where values are below 0. Positive ones may still be log variances, of latents
    that know nothing: the reading is taken under which the aggregate posterior is nearer to
    N(0, 1), as training makes it."""
    if parts.spread is None:
        return "none"
    if float(parts.spread.min()) < 0:
        return "logvar"
    return min(("std", "logvar"), key=lambda kind: _misfit(parts, kind))


def _misfit(parts: Parts, kind: str) -> float:
    """KL(N(0, v) || N(0, 1)) summed over latents, v the aggregate posterior's second moment."""
    posterior = posterior_of(parts, kind)
    v = (posterior.mean.square() + posterior.variance).mean(0).double().clamp_min(1e-12)
    return float((0.5 * (v - 1 - v.log())).sum())


def _error(y: Tensor, x: Tensor) -> float:
    """Mean squared error, over that of the mean image: 1 is no better than knowing nothing."""
    constant = (x - x.mean(0)).square().mean()
    return float((y - x).square().mean() / constant.clamp_min(1e-12))
