"""A model's own loss, called: what it changes with shows its distortion and its rate.

`DISTORTIONS` are how losses change with a decoder's output, `RATES` likelihoods of counts.
"""

import inspect
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import torch
from torch import Tensor, distributions, nn
from torch.nn import functional

from vaescope.adapters.arguments import beside_names, parameters_of
from vaescope.adapters.draws import Forward, answering, recorded, trace_forward
from vaescope.adapters.noise import Noise, sampling
from vaescope.adapters.posterior_format import SPREADS, Parts
from vaescope.adapters.tensors import leaves, same
from vaescope.adapters.whole_outputs import Whole

__all__ = [
    "DISTORTIONS",
    "RATES",
    "Call",
    "Given",
    "Rate",
    "calls_of",
    "counts",
    "loss_passes",
    "losses_of",
    "named_losses",
    "rate_of",
    "rates_of",
    "scale_shown",
    "terms_of",
]  # fmt: skip

_LOSSES = re.compile(r"loss|elbo|criterion|objective|nll|(^|_)kld?(_|$)", re.IGNORECASE)
#: What arguments of a loss are called.
_ROLES: Mapping[str, re.Pattern[str]] = {
    "x": re.compile(r"^(x|x_?true|inputs?|images?|imgs?|target|data|batch|original|real|x_?in)$"),
    "recon": re.compile(r"rec|hat|pred|output|decoded|prob|logit|^y$|^x_?out$|gener"),
    "spread": re.compile(r"var|sigma|std|scale|log_?s|^lv$|^log_?v$"),
    "mean": re.compile(r"mu|mean|loc"),
    "z": re.compile(r"^z$|latent|sample"),
}
#: What an argument is called that is all that forward returns.
_WHOLE = re.compile(
    r"^((vae|model|forward|fwd|net)_?)?(outs?|outputs?|results?|res|ret|returned|preds?|predictions?"
    r"|args)$"
)
#: Means and spreads with which a rate is called, and the share of its variance that may be left.
POINTS = 16
UNEXPLAINED = 1e-8
#: Share of what it is compared with by which a constant may be off through rounding.
_OFF = 1e-3
#: Scales whose logarithm is below this cannot be told from no constant at all.
_TELLS = 0.01
#: By which share two weights of a rate may differ.
EQUAL = 0.02


@dataclass(frozen=True, eq=False)
class Given:
    """What a loss is called with beside a reconstruction."""

    x: Tensor
    mean: Tensor
    spread: Tensor
    #: What a whole pass returns, with a reconstruction, means and spreads in place of its own.
    whole: Whole | None = None


Call = Callable[[Tensor, Given], Any]
Function = Callable[[Tensor, Tensor | None], Any]


@dataclass(frozen=True)
class Rate:
    """The KL in a model's loss: of which spread, to a N(0, variance)."""

    loss: str
    kind: str  # a key of SPREADS
    variance: float


def named_losses(model: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Methods of the model, and functions of the file that its class is in."""
    if model is None:
        return
    for name in dir(type(model)):
        if _LOSSES.search(name) and not name.startswith("__"):
            method = getattr(model, name, None)
            if callable(method) and not isinstance(method, nn.Module | type):
                yield name, method
    home = sys.modules.get(type(model).__module__)
    for name, function in vars(home).items() if home is not None else ():
        own = inspect.isfunction(function) and function.__module__ == type(model).__module__
        if own and _LOSSES.search(name):
            yield name, function


def loss_passes(model: Any) -> Iterator[tuple[str, Callable[..., Any]]]:
    """Methods of data, and of what is given beside, that return a loss: loss(x, mask)."""
    for name, method in named_losses(model):
        known = parameters_of(method) if hasattr(method, "__self__") else None
        needed = [one.name for one in known or [] if one.default is one.empty]
        beside = beside_names(needed)
        first = len(needed) - len(beside) == 1 and _role(needed[0]) == "x"
        if first and not any(_role(one) for one in beside):
            yield name, method


def calls_of(loss: Callable[..., Any]) -> Iterator[Call]:
    """Ways to call a loss, by what its arguments are called."""
    try:
        known = list(inspect.signature(loss).parameters.values())
    except (TypeError, ValueError):
        return
    if any(one.kind is inspect.Parameter.VAR_POSITIONAL for one in known):
        yield lambda y, g: loss(y, g.x, g.mean, g.spread, M_N=1.0)
        yield lambda y, g: loss(y, g.x, g.mean, g.spread)
        return
    roles = [_role(one.name) for one in known if one.default is inspect.Parameter.empty
             and one.kind is not inspect.Parameter.VAR_KEYWORD]  # fmt: skip
    if roles and None not in roles:
        yield lambda y, g: loss(*(_argument(str(role), y, g) for role in roles))
    names = [one.name.lower() for one in known if one.default is inspect.Parameter.empty]
    wholes = ["whole" if _WHOLE.search(name) else _role(name) for name in names]
    if wholes.count("whole") == 1 and None not in wholes:
        yield lambda y, g: loss(*(_argument(str(role), y, g) for role in wholes))
    elif None in roles:
        for place in {0, len(roles) - 1}:
            if roles[place] == "x":
                yield partial(_in_order, loss, place, len(roles))


def _in_order(loss: Callable[..., Any], place: int, count: int, y: Tensor, given: Given) -> Any:
    """Of arguments by other names: the data at their place, and what forward returns in order."""
    returned = _argument("whole", y, given)
    if not isinstance(returned, tuple | list) or len(returned) != count - 1:
        raise ValueError("the loss takes other things than forward returns")
    return loss(*returned[:place], given.x, *returned[place:])


def losses_of(
    call: Function, module: nn.Module, x: Tensor, u: Tensor | None, decode: Function
) -> Callable[[Tensor], list[Tensor]] | None:
    """The numbers that a pass returns where the decoder's output is replaced; None where the pass
    draws nothing, so that its decoder is not known, or where that gives something else than
    `decode`, such as logits of it."""
    whole = trace_forward(call, module, x, u)
    if whole is None or whole.entry is None or not _decodes(whole, decode):
        return None
    entry = whole.entry

    def losses(y: Tensor) -> list[Tensor]:
        def put(output: Any) -> Any:
            same_size = isinstance(output, Tensor) and output.numel() == y.numel()
            return y.reshape(output.shape) if same_size else output

        with Noise(), sampling(module), answering(module, entry, put):
            returned = call(x, u)
        return [part for _, part in leaves(returned) if part.numel() == 1]

    return losses


def _decodes(whole: Forward, decode: Function) -> bool:
    """Whether the part that latents go into gives what `decode` gives of the same latents."""
    assert whole.entry is not None
    outputs: list[Any] = []

    def note(output: Any) -> Any:
        outputs.append(output)
        return output

    with Noise(), sampling(whole.module):
        with recorded(whole.module) as seen, answering(whole.module, whole.entry, note):
            whole.call(whole.x, whole.u)
        try:
            wanted = decode(whole.latents_in(seen[whole.entry]), whole.u)
        except Exception:  # anybody's code
            return False
    pairs = zip(leaves(outputs), leaves(wanted), strict=False)
    return any(same(a.flatten(), b.flatten()) for (_, a), (_, b) in pairs)


def _role(name: str) -> str | None:
    return next((role for role, names in _ROLES.items() if names.search(name.lower())), None)


def _argument(role: str, y: Tensor, given: Given) -> Any:
    if role == "whole":
        if given.whole is None:
            raise ValueError("the model's forward does not show what it returns")
        return given.whole(y, given.mean, given.spread)
    values = {"recon": y, "x": given.x, "mean": given.mean, "spread": given.spread, "z": given.mean}
    return values[role]


def terms_of(call: Callable[[Any], Any], points: Sequence[Any]) -> Tensor | None:
    """(term, point): a loss, or the terms of which it is one, at several points; None where it
    fails."""
    try:
        called = [list(leaves(call(point))) for point in points]
    except Exception:  # anybody's code
        return None
    if not called[0] or any(len(each) != len(called[0]) for each in called):
        return None
    return torch.stack(
        [torch.stack([value.detach().double().sum() for _, value in each]) for each in called], 1
    )


def rate_of(
    model: Any, x: Tensor, y: Tensor, parts: Parts, whole: Whole | None = None
) -> Rate | None:
    """The KL in a model's own loss, by how it changes with means and spreads.

    KL(N(m, v) || N(0, s)) = (m^2 + v) / 2s - log(v) / 2 + constant: the loss must be linear in
    these three sums, with the first two weights equal and their ratio to the third's giving s.
    None where no loss shows it.
    """
    if parts.spread is None or parts.spread.shape != parts.mean.shape:
        return None
    points = [replace(given, whole=whole) for given in _points(x, parts)]
    for name, loss in named_losses(model):
        for call in calls_of(loss):
            terms = terms_of(partial(call, y), points)
            for values in () if terms is None else terms:
                found = _fitted(points, values)
                if found is not None:
                    return Rate(name, *found)
    return None


def _points(x: Tensor, parts: Parts) -> list[Given]:
    assert parts.spread is not None
    generator = torch.Generator().manual_seed(0)
    positive = bool((parts.spread > 0).all())
    # Kinds of spread differ at sizes near 1; of small ones exp, softplus and others are all linear.
    centred = parts.spread / parts.spread.mean() if positive else parts.spread - parts.spread.mean()
    points = []
    for _ in range(POINTS):
        # One size for all of a point: sums of independent noise would hardly differ.
        a, b = torch.rand(2, generator=generator).tolist()
        noise = torch.randn(parts.mean.shape, generator=generator).to(parts.mean)
        mean = parts.mean + 2 * a * noise
        spread = centred * (0.2 + 2 * b) if positive else centred + 3 * b - 1.5
        points.append(Given(x, mean, spread))
    return points


def _fitted(points: Sequence[Given], values: Tensor) -> tuple[str, float] | None:
    """The kind of spread and the prior's variance under which values are those of a KL."""
    spread = float(values.std())
    if not torch.isfinite(values).all() or spread <= 1e-9 * float(values.abs().max()):
        return None
    best: tuple[float, str, float] | None = None
    for kind, variance in SPREADS.items():
        rows = []
        for given in points:
            m, v = given.mean.double(), variance(given.spread.double())
            rows.append(torch.stack([m.square().sum(), v.sum(), v.log().sum(), v.sum() ** 0]))
        design = torch.stack(rows)
        if not torch.isfinite(design).all():
            continue
        weights = torch.linalg.lstsq(design, values.to(design)[:, None]).solution[:, 0]
        left = float((values.to(design) - design @ weights).var()) / spread**2
        of_mean, of_variance, of_log = weights[:3].tolist()
        equal = abs(of_mean - of_variance) <= EQUAL * abs(of_mean)
        if left < UNEXPLAINED and equal and of_mean > 0 > of_log and (not best or left < best[0]):
            best = left, kind, -of_log / of_mean
    return None if best is None else best[1:]


def scale_shown(
    family: str, losses: Tensor, distortions: Tensor, values: int, each: int,
    rates: Sequence[float],
) -> float | None:  # fmt: skip
    """The variance of a Gaussian ("squared-error"), the scale of a Laplace; None where the losses
    have no density's constant: a squared error times a weight could have a beta in front. A
    Gaussian's weight is 1 / 2v, and its constant log(2 pi v) / 2 for each value.

    `losses` and `distortions`, sums over all values, are at several outputs. `values` are all that
    are scored, `each` those of one example: losses are sums, or means over either. `rates` are
    what the loss may hold beside, in nats of all examples.
    """
    if family not in ("squared-error", "laplace"):
        return None
    gap = distortions - distortions.mean()
    weight = float((gap * (losses - losses.mean())).sum() / gap.square().sum())
    rest = float(losses.mean()) - weight * float(distortions.mean())
    if weight <= 0:
        return None
    for over in (1, values // each, values):
        for beside in (0.0, *rates):
            nats = rest * over - beside
            for scale, log_scale in _scales(family, 1.0 / (weight * over)):
                size = values * abs(log_scale) + abs(beside) + 1e-6
                if abs(log_scale) > _TELLS and abs(nats - values * log_scale) < _OFF * size:
                    return scale
    return None


def _scales(family: str, inverse: float) -> Iterator[tuple[float, float]]:
    """The scale, and the constant of its density for each value, whole and without pi."""
    if family == "laplace":
        yield inverse, math.log(2 * inverse)
        yield inverse, math.log(inverse)
    else:
        variance = inverse / 2
        yield variance, 0.5 * math.log(2 * math.pi * variance)
        yield variance, 0.5 * math.log(variance)


def rates_of(mean: Tensor, variance: Tensor) -> tuple[float, float]:
    """KL to N(0, I) of all examples together, in closed form, and log q(z) - log p(z) at z = mean:
    losses are called with their noise at 0."""
    m, log_v = mean.double().square(), variance.double().clamp_min(1e-30).log()
    closed = 0.5 * (m + variance.double() - 1 - log_v).sum()
    return float(closed), float(0.5 * (m - log_v).sum())


_NAN = torch.tensor(torch.nan)

#: Family -> the sum over all values of what it loses, but for constants and scales.
DISTORTIONS: Mapping[str, Callable[[Tensor, Tensor], Tensor]] = {
    "squared-error": lambda y, x: (y - x).square().sum(),
    "laplace": lambda y, x: (y - x).abs().sum(),
    "bernoulli": lambda y, x: (
        functional.binary_cross_entropy(y.clamp(0, 1), x, reduction="sum")
        if _inside(y) and _inside(x)
        else _NAN
    ),
    "logits": lambda y, x: functional.binary_cross_entropy_with_logits(y, x, reduction="sum"),
    "multinomial": lambda y, x: (
        -(x * y.log_softmax(-1)).sum() if y.ndim == 2 and counts(x) else _NAN
    ),
    "poisson": lambda y, x: (y - x * y.clamp_min(1e-8).log()).sum() if _whole(x) else _NAN,
    "log-poisson": lambda y, x: (y.exp() - x * y).sum() if _whole(x) else _NAN,
}


def _whole(x: Tensor) -> bool:
    return bool((x >= 0).all()) and torch.equal(x, x.round()) and float(x.max()) > 1


def _poisson(rates: Tensor) -> distributions.Poisson:
    return distributions.Poisson(rates.clamp_min(1e-8), validate_args=False)


#: Likelihoods of counts that a decoder's values are the parameters of -> the distribution.
RATES: Mapping[str, Callable[[Any], Any]] = {
    "poisson": _poisson,
    "log-poisson": lambda y: _poisson(y.exp()),
}


def counts(x: Tensor) -> bool:
    """Whether rows are counts: whole numbers from 0."""
    return x.ndim == 2 and bool((x >= 0).all()) and torch.equal(x, x.round())


def _inside(values: Tensor) -> bool:
    return float(values.min()) >= 0 and float(values.max()) <= 1
