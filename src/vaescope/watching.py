"""Types of latents while a model trains, in anybody's loop, and a warning when they die.

bonheme2023's rule (Bonheme and Grzes, Be More Active!, https://arxiv.org/abs/2109.12679), with the
movement of the means (`latent_types.py`), on running statistics of the posteriors. Posterior
collapse: Bowman et al. 2016, https://arxiv.org/abs/1511.06349, section 3.
"""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch

from vaescope.errors import RangeError, ShapeError, UsageError
from vaescope.latent_types import LatentType, Typed, types_of
from vaescope.notebook_card import bars_of, card
from vaescope.objectives.unused import UnusedPosterior
from vaescope.types import Array, Double

__all__ = ["MEMORY", "Watch", "watch"]

#: Examples remembered: as many as a record of `vs.train` takes, 100 batches of 64.
MEMORY = 6400

#: How a variance is made of what was given.
_VARIANCES: Mapping[str, Any] = {"variance": lambda v: v, "std": np.square, "logvar": np.exp}


@dataclass(frozen=True)
class _Marks:
    """Where the count of examples stood when something was last so."""

    best: tuple[int, ...] = ()  # the active latents when there were most of them
    at_best: int = 0  # when there were last so many
    alive: int = 0  # when some latent was last not passive


@dataclass(frozen=True, eq=False)
class Watch(Typed):
    """What the latents are now, and all that the next call needs to know."""

    names: tuple[LatentType, ...]  # empty where no example was usable
    mean_variance: Double  # of the posterior, over the examples remembered
    variance_of_variance: Double
    mean_ratio: Double  # of the variance to that of a latent that ignores x
    variance_of_ratio: Double
    mean_shift: Double  # of the means from the prior's, in the same units' root
    movement: Double  # its variance
    kl: Double  # mean KL to the prior, nats
    examples: int  # seen in all
    weight: float  # of the examples remembered; an example of this batch weighs 1
    warning: str | None
    _marks: _Marks = field(repr=False)

    def summary(self) -> str:
        """One line, e.g. `3 active (0, 4, 7), 0 mixed, 7 passive (1, 2, ...); 12.3 nats`."""
        return f"{self.listed()}; {self.kl.sum():.3g} nats; {self.examples:,} examples"

    def to_dict(self) -> dict[str, float]:
        """Numbers by plain keys, for any logger; KL and mean variance of latent 3 are `kl_3` and
        `variance_3`. `warned` is 1 where there is a warning. What is not known is left out."""
        content: dict[str, float] = {
            "active": len(self.active),
            "mixed": len(self.mixed),
            "passive": len(self.passive),
            "warned": int(self.warning is not None),
        }
        if self.names:
            content["kl"] = float(self.kl.sum())
            content |= {f"kl_{j}": float(nats) for j, nats in enumerate(self.kl)}
            content |= {f"variance_{j}": float(v) for j, v in enumerate(self.mean_variance)}
        return content

    def _repr_html_(self) -> str:
        kl = {f"{j}, {kind}": float(self.kl[j]) for j, kind in enumerate(self.names)}
        warned = [("warning", self.warning)] if self.warning else []
        return card("Watch", [*warned, self.summary()], bars_of(kl, "nats"))


def watch(
    mean: Any,
    *,
    variance: Any = None,
    std: Any = None,
    logvar: Any = None,
    prior_mean: Any = 0.0,
    prior_variance: Any = 1.0,
    unused: Any = None,
    state: Watch | None = None,
    memory: float = MEMORY,
) -> Watch:
    """Types and KL of the latents over the last batches, given the posteriors of one more.

    No random numbers are drawn and no autograd graph is touched. Examples are forgotten
    exponentially: one that came m examples ago weighs exp(-m / memory).

    `.warning` is None, or a sentence: all latents have been passive for `memory` examples (6,400
    at most); for as long, fewer have been active than at the maximum; or examples had no finite KL
    (these are left out). If you raise the weight of the KL on purpose, latents become passive on
    purpose, which the warning cannot know. For diagonal posteriors; for others pass the marginal
    variances.

    For a prior that is not Gaussian pass the variance of `unused` as `prior_variance` too: the KL
    is then to the Gaussian of an unused latent. If `unused` has no variance, no latent is passive.

    >>> seen = watch(np.zeros((4, 2)), variance=np.full((4, 2), [0.01, 1.0]))
    >>> seen.names, seen.kl.round(3).tolist()
    (('active', 'passive'), [1.808, 0.0])

    Args:
        mean: (batch, latent) posterior means.
        variance: (batch, latent); give this, `std` or `logvar`.
        std: standard deviations.
        logvar: log-variances.
        prior_mean: mean of a Gaussian prior: a number, (latent,) or (batch, latent).
        prior_variance: variance of that prior, in the same shapes.
        unused: variance of a latent that ignores x, in the same shapes, or the result of
            `vaescope.objectives.unused_posterior`; None takes the prior's variance.
        state: the result of the last call.
        memory: examples after which one weighs 1/e; `math.inf` forgets none.

    Returns:
        `Watch`: current types of the latents, and the state for the next call.

    Raises:
        RangeError: a value is out of range.
        ShapeError: an array is missing, or has the wrong shape or type.
        UsageError: a name or value is not known; the message lists those that are.
    """
    m, v = _posteriors(mean, {"variance": variance, "std": std, "logvar": logvar})
    if not memory > 0:
        raise UsageError(f"memory is {memory}; wanted a number above 0.", "Leave it out.")
    if state is not None and len(state.kl) != m.shape[1]:
        raise ShapeError(
            f"This batch has {m.shape[1]} latents, the previous ones had {len(state.kl)}.",
            "Start with state=None, or keep a state for each model.",
        )
    centre, s = _like("prior_mean", prior_mean, m), _positive("prior_variance", prior_variance, m)
    rule = _rule(unused, s, m)
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        nats, ratio = m - centre, v / s  # in place: memory of the system is slow to get
        nats *= nats
        nats /= s
        nats += ratio
        nats -= np.log(ratio, out=ratio)
        nats -= 1.0
        nats *= 0.5
    usable = np.isfinite(nats).all(axis=1)
    bad = len(m) - int(np.count_nonzero(usable))
    units = rule.units
    if bad:
        m, v, nats = m[usable], v[usable], nats[usable]
        centre, units = (own[usable] if own.ndim == 2 else own for own in (centre, units))
    before = _first(m.shape[1]) if state is None else state
    seen = _moments_of(m, v, centre, units) if len(m) else None
    return _advance(before, seen, np.maximum(nats, 0.0, out=nats), rule, bad, memory)


Pair = tuple[Double, Double]


def _moments(values: Double) -> Pair:
    """Mean and variance of each column."""
    ones = np.ones(len(values))  # products sum long columns fastest
    mean = ones @ values / len(values)
    apart = values - mean
    apart *= apart
    return mean, ones @ apart / len(values)


def _moments_of(m: Double, v: Double, centre: Double, units: Double) -> Pair:
    """Means and variances, (3, latent), of variances, their ratios and the shifts of the means."""
    variance = _moments(v)
    if centre.ndim < 2 and units.ndim < 2:  # the units are the same for all examples
        of_mean = _moments(m)
        ratio = variance[0] / units, variance[1] / units**2
        shift = (of_mean[0] - centre) / units**0.5, of_mean[1] / units
    else:
        ratio, shift = _moments(v / units), _moments((m - centre) / units**0.5)
    means, spreads = zip(variance, ratio, shift, strict=True)
    return np.stack(means), np.stack(spreads)


def _first(d: int) -> Watch:
    none = np.zeros(d)
    return Watch((), none, none, none, none, none, none, none, 0, 0.0, None, _Marks())


@dataclass(frozen=True, eq=False)
class _Rule:
    """What types are decided by."""

    units: Double  # variance of a latent that ignores x
    spread: Double | None = None
    passive: bool = True  # there is such a latent


def _rule(unused: Any, prior_variance: Double, mean: Double) -> _Rule:
    if not isinstance(unused, UnusedPosterior):
        return _Rule(prior_variance if unused is None else _positive("unused", unused, mean))
    if unused.units is None:  # they depend on u, as the prior's
        return _Rule(unused.factor * prior_variance, passive=bool(unused.minima))
    return _Rule(_positive("unused", unused.units, mean), unused.spread, bool(unused.minima))


def _like(name: str, values: Any, mean: Double) -> Double:
    """A number, or one per latent, or per example and latent."""
    if isinstance(values, torch.Tensor):
        values = values.detach().to("cpu", torch.float64).numpy()
    array = np.asarray(values, dtype=np.float64)
    if array.shape not in ((), mean.shape[1:], mean.shape):
        raise ShapeError(
            f"{name} has shape {array.shape}; wanted a number, or shape {mean.shape[1:]} or "
            f"{mean.shape}.",
            "Give one value per latent, or per example and latent.",
        )
    return array


def _positive(name: str, values: Any, mean: Double) -> Double:
    array = _like(name, values, mean)
    if not array.min() > 0.0:
        raise RangeError(
            f"{name} goes down to {array.min():g}; wanted variances above 0.",
            "If these are logarithms of variances, give their exponentials.",
        )
    return array


def _numbers(name: str, values: Any) -> Double:
    if isinstance(values, torch.Tensor):
        values = values.detach().to("cpu", torch.float64).numpy()
    array: Array = np.asarray(values)
    if array.ndim != 2 or 0 in array.shape or array.dtype.kind not in "fiu":
        raise ShapeError(
            f"{name} is {array.dtype} of shape {array.shape}; wanted numbers of shape "
            "(batch, latent).",
            "For latents that are maps pass e.g. mean.flatten(1): each position is then a latent.",
        )
    return array.astype(np.float64, copy=False)


def _posteriors(mean: Any, spreads: Mapping[str, Any]) -> tuple[Double, Double]:
    given = [name for name, values in spreads.items() if values is not None]
    if len(given) != 1:
        raise UsageError(
            f"watch got {' and '.join(given) or 'no variance'}; wanted exactly one of variance, "
            "std, logvar.",
            "Give the one that your encoder returns, e.g. vs.watch(mean, logvar=logvar).",
        )
    name = given[0]
    m, values = _numbers("mean", mean), _numbers(name, spreads[name])
    if m.shape != values.shape:
        raise ShapeError(
            f"mean has shape {m.shape}, {name} {values.shape}; wanted the same.",
            "Give one of each for every example and latent.",
        )
    if name != "logvar" and values.min() < 0:
        raise RangeError(
            f"{name} has negative values; the smallest is {values.min():g}.",
            "If these are logarithms of variances, give them as logvar=.",
        )
    with np.errstate(over="ignore"):
        return m, _VARIANCES[name](values)


def _advance(
    before: Watch,
    seen: Pair | None,
    nats: Double,
    rule: _Rule,
    bad: int,
    memory: float,
) -> Watch:
    """Merges a batch into what is left of the earlier ones. Chan et al. 1979, with weights.

    `seen`: moments of this batch, None where no example was usable.
    """
    n = len(nats)
    examples = before.examples + n
    weight = before.weight * math.exp(-n / memory) + n
    mean = np.stack([before.mean_variance, before.mean_ratio, before.mean_shift])
    spread = np.stack([before.variance_of_variance, before.variance_of_ratio, before.movement])
    kl = before.kl
    if seen is not None:
        share = n / weight
        own, within = seen
        step = own - mean
        spread = spread + share * (within - spread) + share * (1.0 - share) * step**2
        mean = mean + share * step
        kl = kl + share * (nats.mean(axis=0) - kl)
    movement = spread[2] if rule.passive else np.full_like(spread[2], np.inf)
    names = tuple(types_of(mean[1], spread[1], movement, spread=rule.spread)) if weight else ()
    marks = _marks(before._marks, names, examples)
    warning = _non_finite(bad, n) or _collapse(names, mean[0], kl, examples - marks.alive, memory)
    warning = warning or _fall(names, marks, examples, memory)
    return Watch(
        names, mean[0], spread[0], mean[1], spread[1], mean[2], spread[2], kl, examples, weight,
        warning, marks,
    )  # fmt: skip


def _marks(before: _Marks, names: tuple[LatentType, ...], examples: int) -> _Marks:
    active = tuple(j for j, name in enumerate(names) if name == "active")
    at_best = len(active) >= len(before.best)
    return _Marks(
        active if at_best else before.best,
        examples if at_best else before.at_best,
        before.alive if names.count("passive") == len(names) else examples,
    )


def _non_finite(bad: int, good: int) -> str | None:
    if not bad:
        return None
    return (
        f"{bad} of {bad + good} examples have a posterior without a finite KL (NaN, infinite, or a "
        "variance of 0) and are left out: lower the learning rate, or bound the log variance."
    )


def _collapse(
    names: tuple[LatentType, ...],
    mean: Double,
    kl: Double,
    lasts: int,
    memory: float,
) -> str | None:
    # A fresh encoder is passive too, since its variances are near 1: so it has to last.
    if not names or names.count("passive") < len(names) or lasts < min(memory, MEMORY):
        return None
    return (
        f"Posterior collapse: all {len(names)} latents have been passive for {lasts:,} examples "
        f"(mean variance {mean.min():.2f} to {mean.max():.2f}, {kl.sum():.2g} nats in all), so "
        "the decoder learns nothing from z: lower the weight of the KL (beta), or let it grow "
        "from 0 over the first steps. If training has just begun, wait: latents become active one "
        "by one."
    )


def _fall(names: tuple[LatentType, ...], marks: _Marks, examples: int, memory: float) -> str | None:
    # A variance that hovers about the threshold changes its type from step to step: it has to last.
    if examples - marks.at_best < min(memory, MEMORY):
        return None
    lost = [(j, names[j]) for j in marks.best if names[j] != "active"]
    which = ", ".join(f"latent {j} is now {name}" for j, name in lost)
    return (
        f"The number of active latents fell from {len(marks.best)} to {names.count('active')} of "
        f"{len(names)}; the larger number was last seen {examples - marks.at_best:,} examples ago "
        f"({which}): lower the weight of the KL (beta) or its schedule, lower the learning rate, "
        "or return to the weights from then."
    )
