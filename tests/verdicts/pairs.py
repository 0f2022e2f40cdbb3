"""Models side by side, and models that lose latents: what differs is known by construction."""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from itertools import permutations
from types import SimpleNamespace
from typing import Any

import numpy as np
from scipy import stats
from tests.verdicts.situations import N, Situation, codes_of

from vaescope.codes import Codes
from vaescope.comparing.compared_runs import Member, differing
from vaescope.comparing.differences import latent_of, of_numbers, of_rows
from vaescope.comparing.intervals import sides_of
from vaescope.comparing.matching import match_latents
from vaescope.comparing.result import Comparison
from vaescope.comparing.scores import ResampledNumber
from vaescope.comparing.verdicts import judge
from vaescope.latents import types
from vaescope.pruning.result import Change, Pruning, plan_of, pruning_of
from vaescope.settings import from_command_line

KEYS = ("objective.beta", "steps", "batch")  # settings that can be made to differ


@dataclass(frozen=True)
class Compared:
    """Two models or more. The second is the first with its latents reversed, but for what is said;
    those after the second are as the first."""

    latents: tuple[str, ...] = ("active", "active", "passive")
    other: tuple[str, ...] | None = None  # kinds of the second model; None: the same codes
    mirrored: int = 0  # latents whose sign is changed
    narrower: bool = False  # the second model's first latent has a smaller variance
    worse: float = 0.0  # nats by which its distortion is higher
    decoded: bool = True  # decoders were compared
    seeds: tuple[int, ...] = (0, 1)
    settings: int = 0  # settings that differ in the second
    strangers: tuple[int, ...] = ()  # of which no settings are known
    blank: bool = False  # a number that has no interval
    paired: bool = False  # three more runs, of the second's settings and the first's seeds

    @property
    def copy(self) -> bool:
        return self.other in (None, self.latents) and not self.narrower and not self.worse


def _codes(what: Compared) -> list[Codes]:
    first = codes_of(Situation(what.latents))
    if what.other is not None:
        second = codes_of(Situation(what.other))
    else:
        order = np.arange(first.d)[::-1]
        signs = np.ones(first.d)
        signs[: what.mirrored] = -1.0
        mean, variance = first.mean[:, order] * signs[order], first.variance[:, order].copy()
        if what.narrower:
            variance[:, -1] *= np.random.default_rng(1).uniform(0.3, 0.5, N)
        second = Codes(mean, variance, first.sample[:, order] * signs[order])
    rest = [first for _ in what.seeds[2:]]
    return [first, second, *rest]


@cache
def compared(what: Compared) -> Comparison:
    codes = _codes(what)
    members = []
    for place, seed in enumerate(what.seeds):
        if place in what.strangers:
            members.append(Member(object(), f"m{place}", place))
            continue
        other = place % 2 == 1 if what.paired else place == 1
        changed = [f"{KEYS[k]}={7 + k}" for k in range(what.settings)] if other else []
        spec = from_command_line("beta-vae", ["data.name=synth-linear", f"seed={seed}", *changed])
        members.append(Member(object(), f"m{place}", int(bool(changed)), spec))
    kinds = [types(own) for own in codes]
    sides = sides_of(members)
    matches = match_latents(codes, kinds)
    rows = np.random.default_rng(2).normal(100.0, 5.0, N)
    rest = [place % 2 == 1 if what.paired else place == 1 for place in range(len(codes))]
    spread = [0.1 * k * k * (len(codes) > 2 and not what.copy) for k in range(len(codes))]
    distortions = [rows + what.worse * own + more for own, more in zip(rest, spread, strict=True)]
    metrics = {}
    if what.decoded:
        metrics["distortion"] = of_rows("distortion", distortions, sides)
    if what.blank:
        metrics["active"] = of_numbers(
            "active",
            [ResampledNumber(float(place == 1), None) for place in range(len(codes))],
            sides,
            N,
        )
    latents = tuple(latent_of(match, codes, kinds, sides) for match in matches)
    return judge(
        Comparison(
            tuple(members), tuple(kinds), sides, latents, metrics, differing(members), "data", N, N
        )
    )


COMPARED = (
    Compared(), Compared(mirrored=2), Compared(decoded=False), Compared(worse=3.0),
    Compared(narrower=True), Compared(narrower=True, settings=1), Compared(settings=1),
    Compared(settings=3, worse=1.0), Compared(seeds=(0, 0)), Compared(seeds=(0, 0), settings=1),
    Compared(strangers=(0, 1)), Compared(strangers=(1,), worse=2.0),
    Compared(other=("passive", "passive", "passive")),
    Compared(latents=("passive",) * 3, other=("passive",) * 3),
    Compared(other=("every", "active", "active", "passive")),
    Compared(other=("some", "every", "passive")), Compared(other=("active",)),
    Compared(blank=True), Compared(blank=True, worse=2.0), Compared(seeds=(0, 1, 2, 3, 4)),
    Compared(seeds=(0, 1, 2, 3, 4), narrower=True), Compared(seeds=(0, 1, 2, 3, 4), worse=9.0),
    Compared(latents=("active",), other=("passive",), decoded=False),
    Compared(decoded=False, blank=True), Compared(worse=1.0, settings=2, latents=("passive",) * 2),
    Compared(seeds=(0, 1, 2, 3), settings=1, worse=9.0),
    Compared(seeds=(0, 1, 2, 3), settings=1, narrower=True),
    Compared(seeds=(0, 0, 1, 1, 2, 2), settings=1, worse=9.0, paired=True),
)  # fmt: skip


@dataclass(frozen=True)
class Pruned:
    """A model that loses its passive latents."""

    model: Situation
    change: float = 0.0  # of a reconstructed value
    elbo: float = 0.001  # its change; the standard error is 0.002
    points: bool = False  # the codes have no noise


@cache
def pruned(what: Pruned) -> Pruning:
    codes = codes_of(what.model)
    if what.points:
        codes = Codes(codes.mean, np.zeros_like(codes.variance), codes.mean)
    plan = plan_of(codes)
    change = Change(what.change, what.change / 10, what.elbo, 0.002, N)
    change = change if plan.dropped else Change(0.0, 0.0, 0.0, 0.0, N)
    return pruning_of(plan, change, SimpleNamespace(), codes)


PRUNED = (Pruned(Situation(("active", "active")), points=True),) + tuple(  # noqa: RUF005
    Pruned(Situation(latents, factors=factors), change)
    for latents in (
        ("active", "active", "passive"), ("active", "passive", "passive"), ("active", "active"),
        ("passive", "passive"), ("passive",), ("active", "rare", "passive"), ("every", "some"),
        ("active", "constant"),
    )
    for factors, change in (("", 0.0), ("used", 0.01), ("passive", 0.2), ("none", 0.0))
    if len(latents) > 1 or not factors
) + tuple(
    Pruned(Situation(("active", "active", "passive")), 0.01, elbo) for elbo in (0.2, -0.2, -0.003)
)  # fmt: skip


def _odd(what: Compared) -> bool:
    """Whether a latent differs between the first two by construction."""
    return what.narrower or (what.other is not None and what.other != what.latents)


def _used(kinds: tuple[str, ...]) -> int:
    return sum(kind != "passive" for kind in kinds)


def _second(what: Compared) -> tuple[str, ...]:
    return what.latents if what.other is None else what.other


def _least_shared(what: Compared) -> float:
    """Least squared rank correlation of the pairs whose sum of |rank correlation| is largest, by
    trying all."""
    first, second, *_ = _codes(what)
    a = [j for j, kind in enumerate(types(first).names) if kind != "passive"]
    b = [j for j, kind in enumerate(types(second).names) if kind != "passive"]
    size = [[abs(stats.spearmanr(first.mean[:, i], second.mean[:, j])[0]) for j in b] for i in a]
    table = np.array(size) if len(a) <= len(b) else np.array(size).T
    best = max(
        permutations(range(table.shape[1]), len(table)),
        key=lambda chosen: sum(table[i, j] for i, j in enumerate(chosen)),
    )
    return float(min(table[i, j] for i, j in enumerate(best)) ** 2)


Truth = Callable[[Any, str], bool]

OF_COMPARISONS: Mapping[str, Truth] = {
    r"Nothing differs: all \d+ differences are exactly 0 on 400 images": lambda s, _: (
        s.copy and not s.blank
    ),
    r"These are the same model, up to the order and the signs of latents": lambda s, _: (
        s.copy and s.decoded
    ),
    r"Their encoders are the same; their decoders were not compared": lambda s, _: not s.decoded,
    r"No latent and no metric differs at the 95% level on any side": lambda s, says: (
        len(s.seeds) > 2 and not s.worse and (not s.narrower or "no interval" in says)
    ),
    r"\d+ differences? (has|have) no interval": lambda s, _: s.narrower or s.blank,
    r"against .*: \d+ of \d+ latents differs? at the 95% level: ": lambda s, _: _odd(s),
    r"\(has no counterpart\)": lambda s, _: s.other is not None,
    r"against .*: no latent differs at the 95% level": lambda s, says: (
        not _odd(s) or "Without an interval" in says
    ),
    r"against .*: no latent has an interval, so no difference can be shown": lambda s, _: (
        not _used(s.latents) and not _used(_second(s))
    ),
    r"against .*: \d+ of \d+ numbers differs? at the 95% level: ": lambda s, _: bool(s.worse),
    r"against .*: no number differs at the 95% level": lambda s, _: not s.worse,
    r"against .*: no number has an interval, so no difference can be shown": lambda s, _: (
        not s.decoded
    ),
    r"Without an interval: active \(0 to 1\)": lambda s, _: s.blank,
    r"Without an interval: [A-B]\d": lambda s, _: s.narrower and len(s.seeds) > 2,
    r"Of \d+ intervals, about \d+ would exclude 0 by chance": lambda s, says: (
        abs(int(re.findall(r"Of (\d+)", says)[0]) * 0.05 - int(re.findall(r"about (\d+)", says)[0]))
        <= 0.5
    ),
    r"The interval is over images: .*It says nothing about other seeds.*four of one\.": (
        lambda s, _: len(s.seeds) < 5
    ),
    r"The interval is Student's for one more seed of the others: .* unusual among its seeds": (
        lambda s, _: len(s.seeds) > 3 and not s.settings
    ),
    r"The interval is Student's over seeds, with one spread for both sides: .* on these images": (
        lambda s, _: len(s.seeds) > 2 and s.settings > 0
    ),
    r"The interval is Student's over the differences of runs with the same seed: .* images": (
        lambda s, _: s.paired
    ),
    r"\d+ pairs? of latents (is|are) matched by assignment.*; the lowest rank correlation of means "
    r"is .*, at ": lambda s, _: _used(s.latents) > 0 and _used(_second(s)) > 0,
    r", \d+ of them mirrored": lambda s, says: (
        s.other is not None or int(re.findall(r", (\d+) of them", says)[0]) == s.mirrored
    ),
    r"Each pair shares half of its variance or more: treat it as one latent": lambda s, _: (
        _least_shared(s) >= 0.5
    ),
    r"\d+ shares? less than half of the variance: there the runs have different axes, and a "
    r"difference in KL is a difference between two unlike latents": (
        lambda s, _: _least_shared(s) < 0.5
    ),
    r"No latents are matched: all latents of .* are passive": lambda s, says: (
        set(re.findall(r"[AB]", says.split(" are passive")[0].split("latents of")[1]))
        == {run for run, kinds in (("A", s.latents), ("B", _second(s))) if not _used(kinds)}
    ),
    r"Train longer, or lower beta: a collapsed model has nothing to compare": lambda s, _: (
        not _used(s.latents) or not _used(_second(s))
    ),
    r"\d+ (is|are) paired with a remaining latent, because (it is passive or has|they are passive "
    r"or have) no counterpart": (
        lambda s, _: "passive" in (*s.latents, *_second(s))
    ),
    r"Only one run has ": lambda s, _: len(s.latents) != len(_second(s)),
    r"Settings differ in (?!the seed)\w+.*\.": lambda s, _: s.settings > 0,
    r" and in the seed\.": lambda s, _: s.settings > 0 and len(set(s.seeds)) > 1,
    r"Settings differ in the seed only": lambda s, _: not s.settings and len(set(s.seeds)) > 1,
    r"Settings are the same": lambda s, _: not s.settings and len(set(s.seeds)) == 1,
    r"The settings of .* are not known": lambda s, says: (
        set(re.findall(r"\b[AB]\b", says)) == {"AB"[place] for place in s.strangers}
    ),
    r"A difference may have any cause: the models may differ in all settings": lambda s, _: (
        bool(s.strangers)
    ),
    r"Any of the settings that differ may cause a difference between runs": (
        lambda s, _: s.settings > 1
    ),
    r"No other setting can explain a difference": lambda s, _: (
        s.settings < 2 and not s.strangers
    ),
}  # fmt: skip


def _lost(what: Pruned) -> bool:
    return what.model.factors == "passive" and "passive" in what.model.latents


OF_PRUNING: Mapping[str, Truth] = {
    r"Nothing was dropped: no latent is passive": lambda s, _: not s.model.passive,
    r"Nothing was dropped: (all \d+ latents are|the only latent is) passive, and a model without "
    r"latents would always decode the same output. Train it again with a lower beta": lambda s, _: (
        len(s.model.passive) == len(s.model.latents)
    ),
    r"Nothing was dropped: the codes are points without noise, so none is passive": lambda s, _: (
        s.points
    ),
    r"(\d+ of \d+ latents are passive: [\d, and]+\.|Latent \d+ of \d+ is passive\.)": (
        lambda s, says: s.model.passive == {
            int(j)
            for which in re.findall(r"Latent (\d+) of|passive: ([\d, and]+)\.", says)[0]
            for j in re.findall(r"\d+", which)
        }
    ),
    r"\d+ latents became \d+: on these examples no reconstructed value changes by more than .*, "
    r"the ELBO by .* nats per example \(standard error .*, n = 400\)": lambda s, says: (
        f"by more than {s.change:.3g} (root mean square {s.change / 10:.2g})," in says
        and f"{len(s.model.latents)} latents became {len(s.model.latents) - len(s.model.passive)}:"
        in says
    ),
    r"The model is better without them": lambda s, _: s.elbo == 0.2,
    r"The model is worse without them by that amount": lambda s, _: s.elbo == -0.2,
    r"That is within two standard errors: the model does not need them": lambda s, _: (
        abs(s.elbo) <= 0.004
    ),
    r"(A linear model|Nearest neighbours) on means loses? accuracy on the factors \(.*\): keep "
    r"the passive means for this use": lambda s, _: (
        _lost(s)
    ),
    r"(A linear model|Nearest neighbours) on means loses? no accuracy on the factors beyond "
    r"noise .*: drop them": (
        lambda s, _: not _lost(s)
    ),
}  # fmt: skip
