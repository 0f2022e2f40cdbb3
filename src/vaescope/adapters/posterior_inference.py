"""Where means and spreads are in what an encoder returns, and what the spread is.

In the order of their weight: the latents that the model draws itself show it; a distribution or a
name says it; else every way to take the output apart is tried on the decoder.
"""

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from typing import Any

from torch import Tensor, distributions, nn

from vaescope.adapters.asked import Asked
from vaescope.adapters.draws import Drawn, Forward, Sampler, drawn, trace_forward
from vaescope.adapters.input_format import FORMS, Way, few_of, forms_of
from vaescope.adapters.noise import Noise, sampling
from vaescope.adapters.output_format import Range
from vaescope.adapters.posterior_format import (
    SPREADS,
    Candidate,
    Parts,
    candidates,
    channels_last,
    fault_of,
    moved_first,
)
from vaescope.adapters.posterior_refusals import (
    refuse_bounded,
    refuse_levels,
    refuse_modes,
    refuse_noise,
    refuse_quantised,
)
from vaescope.adapters.sources import Source
from vaescope.adapters.tensors import described, leaves, same
from vaescope.errors import UsageError, VaescopeError

__all__ = ["Opening", "line_of", "methods_that_draw", "openings", "spread_of_draws"]

#: Images on which models are made to draw.
DRAWN = 32
#: Mean difference of log variances that rounding explains.
EQUAL = 0.01
#: Of a spread that was said and that what the model draws contradicts.
TOLD = "as given, although its samples have other variances"
#: Names of methods and layers that draw latents from means and spreads.
_DRAWS = re.compile(r"reparam|^_?sampl|sample_gauss|sample_z|sample_latent|rsample", re.IGNORECASE)


@dataclass(frozen=True, eq=False)
class Opening:
    """A way to take means and spreads from a model."""

    way: Way
    candidate: Candidate
    spread: str | None  # a key of SPREADS, "none", or None where it is not known
    evidence: str = ""  # what settles it; empty where it is only possible
    shape: tuple[int, ...] | None = None  # of latents as the decoder takes them, where it is known
    moved: bool = False  # whether the channels of maps were last, and have been moved first

    @property
    def shows(self) -> bool:
        """Whether draws were compared with means and spreads."""
        return "draws" in self.evidence

    def parts(self, x: Tensor, u: Tensor | None, value_range: Range) -> Parts:
        way = replace(self.way, value_range=value_range)
        return self.candidate.take(way(x, u))


@dataclass(frozen=True, eq=False)
class _Draw:
    """Latents that the model draws, and where."""

    posterior: Drawn
    sample: Sampler
    way: Way
    says: str
    shape: tuple[int, ...] | None = None


def openings(
    source: Source, x: Tensor, u: Tensor | None, asked: Asked, value_range: Range,
    problems: list[str],
) -> tuple[list[Opening], Forward | None]:  # fmt: skip
    """What is possible, or, where something is settled, that alone; and a whole pass through the
    model where there is one."""
    few = source.batch or few_of(x, DRAWN)
    form, forward = _traced(source, x[:few], _first(u, few), value_range, asked.kind)
    encoders = list(source.encoders)
    if forward is not None:
        encoders.append(("forward", forward.__call__))
        if forward.several:
            refuse_levels(source)
    ways = [way for encoder in encoders
            if (way := _working(encoder, x, u, value_range, asked.kind, problems))]  # fmt: skip
    draws = list(_draws(source, ways, form, forward, x[:few], _first(u, few), value_range))
    found: list[Opening] = []
    for way in ways:
        here = [_settle(one, draws, source, x, u, asked)
                for one in _of_way(source, x, u, way, asked, problems)]  # fmt: skip
        if any(one.evidence for one in here):
            return [_with_channels_first(one, source, x[:few], _first(u, few)) for one in here
                    if one.evidence], forward  # fmt: skip
        found += here
    if draws and (asked.posterior is None or asked.layout() == "drawn"):
        if forward is not None and draws[0].way.encoder[0] == "forward":
            refuse_modes(source, forward, draws[0].posterior.mean)
        drawn_alone = _of_draw(source, draws[0])
        return [_with_channels_first(drawn_alone, source, x[:few], _first(u, few))], forward
    unread = forward is not None and (forward.other_noise or forward.entry is not None)
    if unread and not draws and asked.posterior is None:
        refuse_noise(source)
    return [_with_channels_first(one, source, x[:few], _first(u, few)) for one in found], forward


def _with_channels_first(one: Opening, source: Source, x: Tensor, u: Tensor | None) -> Opening:
    """Maps whose channels are last get them moved after the batch."""
    if not channels_last(source.module, lambda: one.candidate.take(one.way(x, u))):
        return one
    shape = one.shape if one.shape is None else (one.shape[-1], *one.shape[:-1])
    return replace(one, candidate=moved_first(one.candidate), moved=True, shape=shape)


def _first(u: Tensor | None, few: int) -> Tensor | None:
    return None if u is None else u[:few]


def _traced(
    source: Source, x: Tensor, u: Tensor | None, value_range: Range, kind: str | None
) -> tuple[str, Forward | None]:
    """A whole pass through the model on some images, and the form in which it takes them."""
    for form in forms_of(x, kind):
        for whole in source.forwards:
            fed = Way(("forward", whole), form, value_range).formed(x)
            found = trace_forward(whole, source.model, fed, u, source.batch)
            if found is not None:
                return form, found
    return "", None


def _working(
    encoder: Any, x: Tensor, u: Tensor | None, value_range: Range, kind: str | None,
    problems: list[str],
) -> Way | None:  # fmt: skip
    """The first form of the data that an encoder takes."""
    for form in forms_of(x, kind):
        way = Way(encoder, form, value_range)
        few = few_of(x, DRAWN)
        try:
            way(x, u)
            way(x[:few], _first(u, few))  # an adjacency would fit one number of examples only
        except VaescopeError:
            raise
        except Exception as error:  # anybody's code: whatever it raises, this way is closed
            shape = tuple(FORMS[form](x).shape)
            problems.append(f"{encoder[0]} on shape {shape}: {line_of(error)}")
        else:
            return way
    return None


def _draws(
    source: Source, ways: list[Way], form: str, forward: Forward | None, x: Tensor,
    u: Tensor | None, value_range: Range,
) -> Iterator[_Draw]:  # fmt: skip
    """Latents that the model is seen to draw: in a whole pass, or in what its encoder returns."""
    if forward is not None and forward.entry is not None:
        posterior = drawn(forward.sample, forward.x, u)
        if posterior is not None:
            way = Way(("forward", forward.__call__), form, value_range)
            yield _Draw(posterior, forward.sample, way, "forward draws its latents from it",
                        forward.shape)  # fmt: skip
    for way in ways:
        sample = _sampler(way, source, x, u)
        posterior = None if sample is None else drawn(sample, way.formed(x), u)
        if sample is None or posterior is None or _of_no_code(way, ways, posterior, x, u):
            continue
        yield _Draw(posterior, sample, way, f"{way.encoder[0]} draws its samples from it")


def _of_no_code(
    way: Way, ways: list[Way], posterior: Drawn, x: Tensor, u: Tensor | None
) -> bool:  # fmt: skip
    """Whether what a whole pass draws has the size of nothing that an encoder returns: it is what
    is decoded, e.g. the edges between nodes, not latents."""
    encoders = [one for one in ways if one.encoder[0] != "forward"]
    if way.encoder[0] != "forward" or not encoders or posterior.gaussian:
        return False
    size = posterior.mean[0].numel()
    codes = [leaf for one in encoders for _, leaf in leaves(one(x, u)) if leaf.ndim]
    return all(leaf[0].numel() not in (size, 2 * size) for leaf in codes)


def _sampler(way: Way, source: Source, x: Tensor, u: Tensor | None) -> Sampler | None:
    """The samples among what an encoder returns."""
    encode = way.encoder[1]
    try:
        with sampling(source.module):
            with Noise(0.0):
                zero = dict(leaves(encode(way.formed(x), u)))
            with Noise(1.0):
                one = dict(leaves(encode(way.formed(x), u)))
    except Exception:  # anybody's code
        return None
    moved = [path for path, z in zero.items()
             if path in one and z.shape == one[path].shape and not same(z, one[path])]  # fmt: skip
    moved = [path for path in moved if zero[path].numel() != x.numel()]  # reconstructions
    if not moved:
        return None

    def sample(x: Tensor, u: Tensor | None = None) -> Tensor:
        with sampling(source.module):
            return dict(leaves(encode(x, u)))[moved[0]]

    return sample


#: What is true of every distribution of torch: it has both.
_STATED = ("std", "variance")


def _of_way(
    source: Source, x: Tensor, u: Tensor | None, way: Way, asked: Asked, problems: list[str]
) -> Iterator[Opening]:
    name = way.encoder[0]
    output, again = way(x, u), way(x, u)
    found = list(candidates(output, again))
    stated = isinstance(output, distributions.Distribution)
    if not found:
        problems.append(f"{name} returned {described(output, again)}: no mean is among them")
    if asked.posterior is None and not any(c.kind or c.layout == "pair" for c in found):
        refuse_quantised(source, name, output, x, lambda moved: way(moved, u))
    for candidate in found:
        if candidate.bounded and asked.posterior is None:
            refuse_bounded(source, name, candidate.family)
        parts = candidate.take(output)
        fault = fault_of(parts, len(x))
        if fault:
            problems.append(f"{name} returned {fault}")
        elif asked.spread() is not None and parts.spread is None:
            problems.append(
                f"posterior={asked.posterior} does not fit what {name} returned: no spread"
            )
        elif stated and asked.spread() not in (None, candidate.kind, *_STATED):
            problems.append(
                f"posterior={asked.posterior} does not fit what {name} returned: a "
                f"{type(output).__name__} of torch, which states its own spread; leave posterior= "
                "out"
            )
        elif asked.layout() not in (None, candidate.layout):
            layouts = ", ".join(dict.fromkeys(c.layout for c in found))
            problems.append(
                f"posterior={asked.posterior} does not fit what {name} returned, which can be "
                f"interpreted as {layouts}"
            )
        else:
            told = None if stated else asked.spread()
            yield Opening(
                way, candidate, "none" if parts.spread is None else told or candidate.kind
            )


def _settle(
    one: Opening, draws: list[_Draw], source: Source, x: Tensor, u: Tensor | None, asked: Asked
) -> Opening:
    """With evidence, where the means and variances are those of which the model draws."""
    few = source.batch or few_of(x, DRAWN)
    parts = one.candidate.take(one.way(x[:few], _first(u, few)))
    told = asked.spread() is not None
    for draw in draws:
        kind = spread_of_draws(parts, draw.posterior, one.spread, told=told)
        if kind is not None:
            if kind != spread_of_draws(parts, draw.posterior, one.spread, told=False):
                return replace(one, spread=kind, evidence=TOLD, shape=draw.shape)
            return replace(one, spread=kind, evidence=draw.says, shape=draw.shape)
    if draws:
        return one
    for draw in () if one.candidate.kind else methods_that_draw(source, parts, one.way):
        # Takes any two tensors: shows the spread only, and may be given what forward makes of it.
        kind = spread_of_draws(parts, draw.posterior, one.spread, told=told)
        positive = parts.spread is not None and float(parts.spread.min()) >= 0
        if kind is not None and (positive or kind not in ("std", "variance", "precision")):
            settled = one.candidate.layout == "pair"
            return replace(one, spread=kind, evidence=draw.says if settled else "")
    if one.candidate.kind is not None:
        return replace(one, evidence="the object that it returns states it")
    return one


def spread_of_draws(parts: Parts, posterior: Drawn, said: str | None, *, told: bool) -> str | None:
    """What the spread must be for means and variances to be those of the draws; None where the
    means are others, or no kind fits. What was said is kept where it fits, what was told always."""
    if parts.spread is None or parts.mean[0].numel() != posterior.mean[0].numel():
        return None
    if not same(parts.mean.flatten(1).to(posterior.mean), posterior.mean.flatten(1)):
        return None
    if told or parts.covariance is not None:
        return said
    wanted = posterior.variance.flatten(1).log()
    spread = parts.spread.to(posterior.mean).expand_as(parts.mean).flatten(1)
    gaps = {}
    for kind, variance in SPREADS.items():
        gap = float((variance(spread).log() - wanted).abs().mean())
        if gap < EQUAL:  # not where it is NaN
            gaps[kind] = gap
    if said in gaps:
        return said
    return min(gaps, key=gaps.__getitem__, default=None)


def methods_that_draw(source: Source, parts: Parts, way: Any = None) -> Iterator[_Draw]:
    """What the model's own `reparameterize` makes of means and spreads."""
    if parts.spread is None or source.model is None:
        return
    mean, spread = parts.mean, parts.spread
    model = source.model
    held = [name for name, _ in model.named_children()] if isinstance(model, nn.Module) else []
    for name in dir(type(model)) + held:
        method = getattr(model, name, None) if _DRAWS.search(name) else None
        if not callable(method):
            continue
        for arguments in ((mean, spread), ((mean, spread),)):

            def sample(
                _: Tensor, u: Tensor | None = None, method: Any = method, given: Any = arguments
            ) -> Any:
                with sampling(source.module):
                    z = method(*given)
                return z[0] if isinstance(z, tuple | list) else z

            posterior = drawn(sample, mean)
            if posterior is not None and posterior.mean.shape == mean.shape:
                yield _Draw(posterior, sample, way, f"{name} draws from it")


def _of_draw(source: Source, draw: _Draw) -> Opening:
    """Means and variances by the draws alone."""
    if not draw.posterior.gaussian:
        raise UsageError(
            f"{source.name} draws latents that are not a diagonal Gaussian for each image, so "
            "their KL has no closed form: a flow, a full covariance, or a function of them.",
            "To have the Gaussian before it dissected, pass encode= as a function that returns its "
            "Normal(mean, std) of torch and decode= as one of its latents.",
        )

    def encode(x: Tensor, u: Tensor | None = None) -> Mapping[str, Tensor]:
        with Noise(0.0):
            mean = draw.sample(x, u)
        with Noise(1.0):
            std = draw.sample(x, u) - mean
        return {"mean": mean, "variance": std.square()}

    candidate = Candidate("drawn", lambda o: Parts(o["mean"], o["variance"]), "variance")
    way = replace(draw.way, encoder=(draw.way.encoder[0], encode))
    return Opening(way, candidate, "variance", "what it draws shows means and variances",
                   draw.shape)  # fmt: skip


def line_of(error: Exception) -> str:
    """An error of somebody's code, in one line."""
    lines = str(error).strip().splitlines()
    return f"{type(error).__name__}: {lines[0][:160] if lines else ''}"
