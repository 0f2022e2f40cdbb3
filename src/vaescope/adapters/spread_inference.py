"""What a spread is where the model draws nothing: what its code calls it, what it must be for codes
to have the prior's second moment, or else what each kind would cost, for whoever is asked.

Scaling a latent and the decoder's weights on it against each other changes the rate alone, so that
at every optimum, whatever beta is, E[mean^2 + variance] = 1 under N(0, 1). The ELBO decides
nothing: at a small beta a log standard deviation that is read as a log variance has the better one.
"""

import ast
import inspect
import math
import textwrap
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor, nn

from vaescope.adapters.likelihood_inference import LOSSES
from vaescope.adapters.losses import Rate, rate_of
from vaescope.adapters.output_format import decoded, event_of
from vaescope.adapters.posterior_format import SPREADS, Parts, kind_named, posterior_of
from vaescope.adapters.reading import Reading
from vaescope.adapters.sources import Source
from vaescope.adapters.tensors import leaves
from vaescope.adapters.whole_outputs import whole_of
from vaescope.distributions import Distribution
from vaescope.errors import ReadingError

__all__ = ["Cost", "apart", "costs_of", "fitting", "named_spread", "rate_shown", "with_spread"]

#: Draws of the noise under which distortions are taken.
DRAWS = 4
#: Kinds whose rates differ by less, in nats, are the same for these data.
SAME = 0.05
#: By this factor the moments must be nearer to the prior's than under the next kind, and by so many
#: nats of each latent they may be off: beyond that, training has not come to where the law holds.
CLEARLY = 1.5
SETTLED = 0.02
#: Methods that leave a spread what it is.
_KEPT = ("clamp", "view", "reshape", "squeeze", "flatten", "float", "contiguous")
#: Names that are used for log variances and for log standard deviations alike.
_VAGUE = ("log_sigma", "logsigma", "log_s", "logs")

Density = Callable[[Tensor], Distribution]


@dataclass(frozen=True)
class Cost:
    """Of one kind of spread, nats per image."""

    kind: str
    distortion: float
    rate: float
    misfit: float  # nats of a latent by which the second moments are off

    def __str__(self) -> str:
        return f"posterior={self.kind} (distortion {self.distortion:.1f}, rate {self.rate:.1f})"


def with_spread(
    source: Source, first: Reading, x: Tensor, u: Tensor | None, data_kind: str | None
) -> Reading:
    """The reading with its spread settled, where nothing has shown it."""
    if first.opening.evidence or first.opening.spread is not None or first.spread == "none":
        return first
    parts, event = first.opening.parts(x, u, first.value_range), event_of(x, data_kind)
    shown = rate_shown(source, first, x, u, parts)
    if shown is not None:
        return _settled(first, shown.kind, f"its {shown.loss} has the KL of it")
    assert parts.spread is not None
    named = named_spread(first.way.encoder[1], parts.spread)
    if named is not None:
        kind, name = named
        return _settled(first, kind, f"its code calls it {name}; the model draws nothing from it")

    def density(z: Tensor) -> Distribution:
        output = first.decoder[1](z.reshape(len(z), *first.shape), u)
        return first.likelihood.of(decoded(output, event))

    taken, *rivals = apart(costs_of(parts, x, density))
    fits = fitting([taken, *rivals])
    if rivals and fits is not None:
        why = (
            "only then do the codes have the prior's second moment; the model draws nothing from it"
        )
        return _settled(first, fits.kind, why)
    if rivals:
        rivals = [taken, *rivals]
        two = sorted(rivals, key=lambda cost: cost.distortion + cost.rate)[:2]
        raise ReadingError(
            f"{source.name} draws no latents here, so its second output could be either: "
            f"{' or '.join(map(str, two))}.",
            f"Choose with posterior=, one of {', '.join(SPREADS)} (after reversed, if the spread "
            "comes first); if none is right, pass encode= that returns Normal(mean, std) of torch.",
            tuple(map(str, rivals)),
        )
    return replace(first, spread=taken.kind)


def _settled(reading: Reading, kind: str, evidence: str) -> Reading:
    return replace(reading, spread=kind, opening=replace(reading.opening, evidence=evidence))


def rate_shown(
    source: Source, reading: Reading, x: Tensor, u: Tensor | None, parts: Parts
) -> Rate | None:
    """The KL in the model's own loss, by calling it."""
    few = min(len(x), LOSSES)
    if source.model is None or parts.spread is None:
        return None
    given = None if u is None else u[:few]
    z = parts.mean[:few]
    y = reading.decoder[1](z.reshape(few, *reading.shape), given)
    image = next((leaf for _, leaf in leaves(y) if leaf.ndim > 1), None)
    if image is None:
        return None
    fed = reading.way.formed(x[:few]).to(image)
    first = Parts(z, parts.spread[:few])
    whole = None
    if source.forwards and isinstance(source.model, nn.Module):
        whole = whole_of(source.forwards[0], source.model, fed, given, image, first)
    return rate_of(source.model, fed, image, first, whole)


def costs_of(parts: Parts, x: Tensor, decode: Density) -> list[Cost]:
    """Of every kind that the values allow, logarithms where some are below 0."""
    assert parts.spread is not None
    negative = float(parts.spread.min()) < 0
    found = []
    for kind in ("logvar", "logstd") if negative else ("std", "variance", "logvar"):
        q = posterior_of(parts, kind)
        m, v = q.mean.double(), q.variance.double().clamp_min(1e-30)
        generator = torch.Generator().manual_seed(0)
        nats = []
        for _ in range(DRAWS):
            noise = torch.randn(q.mean.shape, generator=generator).to(q.mean)
            nats.append(-decode(q.mean + q.variance.sqrt() * noise).log_prob(x).double().mean())
        rate = float(0.5 * (m.square() + v - 1 - v.log()).flatten(1).sum(1).mean())
        distortion = float(torch.stack(nats).mean())
        if math.isfinite(rate) and math.isfinite(distortion):
            found.append(Cost(kind, distortion, rate, _misfit(m, v)))
    return found


def _misfit(mean: Tensor, variance: Tensor) -> float:
    """KL(N(0, s) || N(0, 1)), s the second moment of a latent's codes; mean over latents."""
    s = (mean.square() + variance).mean(0).clamp_min(1e-12)
    return float((0.5 * (s - 1 - s.log())).mean())


def fitting(costs: list[Cost]) -> Cost | None:
    """Log variances, which nearly everybody returns, where under them alone codes have the prior's
    second moment; None where that is not clear. Nothing else is taken for it: short of the optimum
    a variance may look like a standard deviation."""
    first, *others = sorted(costs, key=lambda cost: cost.misfit)
    clear = all(other.misfit > CLEARLY * first.misfit for other in others)
    return first if clear and first.misfit < SETTLED and first.kind == "logvar" else None


def apart(costs: list[Cost]) -> list[Cost]:
    """Those that are not the same for these data, log variances before what is like them."""
    found: list[Cost] = []
    for one in sorted(costs, key=lambda cost: cost.kind != "logvar"):
        if all(abs(one.rate - other.rate) > SAME for other in found):
            found.append(one)
    return found


def named_spread(encode: Any, spread: Tensor) -> tuple[str, str] | None:
    """The kind that the encoder's own code calls what it returns, and that name; None where it has
    no such name, several, or one that the values deny."""
    names = [name for name in _returned(encode) if kind_named(name) is not None]
    kinds = {kind_named(name) for name in names}
    if len(kinds) != 1 or any(names[0].lower().endswith(vague) for vague in _VAGUE):
        return None
    kind = str(kinds.pop())
    if kind in ("std", "variance", "precision") and float(spread.min()) < 0:
        return None
    return kind, names[0]


def _returned(encode: Any) -> Iterator[str]:
    """Names of what a function returns, as its source has them."""
    function = getattr(encode, "__wrapped__", encode)
    try:
        source = inspect.getsource(getattr(function, "forward", function))
        tree = ast.parse(textwrap.dedent(source).strip())
    except (OSError, TypeError, SyntaxError):
        return
    for node in ast.walk(tree):
        if isinstance(node, ast.Return) and node.value is not None:
            value = node.value
            parts = value.elts if isinstance(value, ast.Tuple | ast.List) else [value]
            yield from filter(None, map(_name, parts))


def _name(node: ast.expr) -> str | None:
    """Of a variable, an attribute, a key, or a layer that is called."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        return node.attr
    if isinstance(node, ast.Subscript):
        key = node.slice.value if isinstance(node.slice, ast.Constant) else None
        return key if isinstance(key, str) else None
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Subscript):
        return _name(node.func)
    if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Attribute):
        return None
    if node.func.attr in _KEPT:
        return _name(node.func.value)
    of_model = isinstance(node.func.value, ast.Name) and node.func.value.id == "self"
    return node.func.attr if of_model else None
