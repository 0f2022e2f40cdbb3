"""Types of latents while a model trains, in anybody's loop, and a warning when they die.

001's rule (Bonheme and Grzes, Be More Active!, https://arxiv.org/abs/2109.12679; `regime.py`) on
running statistics of the posteriors. Posterior collapse: Bowman et al. 2016,
https://arxiv.org/abs/1511.06349, section 3.
"""

import html
import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from vaescope.errors import RangeError, ShapeError, UsageError
from vaescope.regime import LatentType, Typed, types_of
from vaescope.types import Array

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
    mean_variance: NDArray[np.float64]  # of the posterior, over the examples remembered
    variance_of_variance: NDArray[np.float64]
    kl: NDArray[np.float64]  # mean KL to N(0, 1), nats
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
        warning = f"<br><strong>{html.escape(self.warning)}</strong>" if self.warning else ""
        return f"<code>{html.escape(self.summary())}</code>{warning}"


def watch(
    mean: Any,
    *,
    variance: Any = None,
    std: Any = None,
    logvar: Any = None,
    state: Watch | None = None,
    memory: float = MEMORY,
) -> Watch:
    """Types and KL of the latents over the last batches, given the posteriors of one more.

    `mean` and one of `variance`, `std`, `logvar` are tensors or arrays of shape (batch, latent);
    nothing is drawn and no graph is touched. `state` is what the last call returned. Examples are
    forgotten exponentially: one that came m examples ago weighs exp(-m / memory); `math.inf`
    forgets none.

    `.warning` is None, or a sentence: all latents have been passive for `memory` examples (6,400
    at most); fewer have been active for as long than once were; examples had no finite KL (these
    are left out). A weight of the KL that grows on purpose takes latents away on purpose: the
    warning cannot know. For N(0, I) priors and diagonal posteriors; of other posteriors give the
    marginal variances.

    >>> seen = watch(np.zeros((4, 2)), variance=np.full((4, 2), [0.01, 1.0]))
    >>> seen.names, seen.kl.round(3).tolist()
    (('active', 'passive'), [1.808, 0.0])
    """
    m, v = _posteriors(mean, {"variance": variance, "std": std, "logvar": logvar})
    if not memory > 0:
        raise UsageError(f"memory is {memory}; wanted a number above 0.", "Leave it out.")
    if state is not None and len(state.kl) != m.shape[1]:
        raise ShapeError(
            f"This batch has {m.shape[1]} latents, those before had {len(state.kl)}.",
            "Start with state=None, or keep a state for each model.",
        )
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        nats = 0.5 * (m * m + v - 1.0 - np.log(v))  # (batch, latent)
    usable = np.isfinite(nats).all(axis=1)
    bad = len(m) - int(np.count_nonzero(usable))
    if bad:
        v, nats = v[usable], nats[usable]
    seen = _first(m.shape[1]) if state is None else state
    return _advance(seen, v, np.maximum(nats, 0.0), bad, memory)


def _first(d: int) -> Watch:
    return Watch((), np.zeros(d), np.zeros(d), np.zeros(d), 0, 0.0, None, _Marks())


def _numbers(name: str, values: Any) -> NDArray[np.float64]:
    if isinstance(values, torch.Tensor):
        values = values.detach().to("cpu", torch.float64).numpy()
    array: Array = np.asarray(values)
    if array.ndim != 2 or 0 in array.shape or array.dtype.kind not in "fiu":
        raise ShapeError(
            f"{name} is {array.dtype} of shape {array.shape}; wanted numbers of shape "
            "(batch, latent).",
            "Of latents that are maps give e.g. mean.flatten(1): each place is then a latent.",
        )
    return array.astype(np.float64, copy=False)


def _posteriors(
    mean: Any, spreads: Mapping[str, Any]
) -> tuple[NDArray[np.float64], NDArray[np.float64]]:
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
            f"{name} has negative values, least {values.min():g}.",
            "If these are logarithms of variances, give them as logvar=.",
        )
    with np.errstate(over="ignore"):
        return m, _VARIANCES[name](values)


def _advance(
    seen: Watch, v: NDArray[np.float64], nats: NDArray[np.float64], bad: int, memory: float
) -> Watch:
    """Merges a batch into what is left of the earlier ones. Chan et al. 1979, with weights."""
    n = len(v)
    examples = seen.examples + n
    old = seen.weight * math.exp(-n / memory)
    weight = old + n
    mean, spread, kl = seen.mean_variance, seen.variance_of_variance, seen.kl
    if n:
        share = n / weight
        own = v.mean(axis=0)
        step = own - mean
        within = ((v - own) ** 2).mean(axis=0)
        spread = spread + share * (within - spread) + share * (1.0 - share) * step**2
        mean = mean + share * step
        kl = kl + share * (nats.mean(axis=0) - kl)
    names = tuple(types_of(mean, spread)) if weight else ()
    marks = _marks(seen._marks, names, examples)
    warning = _non_finite(bad, n) or _collapse(names, mean, kl, examples - marks.alive, memory)
    warning = warning or _fall(names, marks, examples, memory)
    return Watch(names, mean, spread, kl, examples, weight, warning, marks)


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
        "variance of 0) and are left out: lower the learning rate, or bound the logarithm of the "
        "variance."
    )


def _collapse(
    names: tuple[LatentType, ...],
    mean: NDArray[np.float64],
    kl: NDArray[np.float64],
    lasts: int,
    memory: float,
) -> str | None:
    # A fresh encoder is passive too, since its variances are near 1: so it has to last.
    if not names or names.count("passive") < len(names) or lasts < min(memory, MEMORY):
        return None
    return (
        f"Posterior collapse: all {len(names)} latents have been passive for {lasts:,} examples "
        f"(mean variance {mean.min():.2f} to {mean.max():.2f}, {kl.sum():.2g} nats in all), so "
        "that the decoder learns nothing from z: lower the weight of the KL (beta), or let it grow "
        "from 0 over the first steps. If training has only begun, wait: latents wake one by one."
    )


def _fall(names: tuple[LatentType, ...], marks: _Marks, examples: int, memory: float) -> str | None:
    # A variance that hovers about the threshold changes its type from step to step: it has to last.
    if examples - marks.at_best < min(memory, MEMORY):
        return None
    lost = [(j, names[j]) for j in marks.best if names[j] != "active"]
    which = ", ".join(f"latent {j} is now {name}" for j, name in lost)
    return (
        f"The number of active latents fell from {len(marks.best)} to {names.count('active')} of "
        f"{len(names)}; there were last so many {examples - marks.at_best:,} examples ago "
        f"({which}): lower the weight of the KL (beta) or its schedule, lower the learning rate, "
        "or go back to the weights of that time."
    )
