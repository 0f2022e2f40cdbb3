"""No verdict says what is false: sentences beside what generated situations are by construction.

Truths come from how the codes, decoders and histories were made, and from NumPy, never from the
functions that judge.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from functools import cache

import numpy as np
import pytest
import torch
from numpy.typing import NDArray

from vaescope.codes import Codes
from vaescope.inspection import Inspection, Subject, Training, inspect_codes
from vaescope.inspection.codes import judged
from vaescope.prior_density import GaussianDensity, SparseDensity
from vaescope.pruning.price import Loss, Price
from vaescope.traversals import traverse
from vaescope.verdicts import Verdict

N = 400
SUBJECT = Subject("run", "data", N, N, "A model.")

Made = tuple[NDArray[np.float64], NDArray[np.float64]]  # mean and variance of one latent


def active(rng: np.random.Generator) -> Made:
    return rng.normal(size=N), np.full(N, 0.01)


def passive(rng: np.random.Generator) -> Made:
    return 0.01 * rng.normal(size=N), np.ones(N)


def some(rng: np.random.Generator) -> Made:
    """Active on half of the examples, passive on the others."""
    on = np.arange(N) % 2 == 0
    return np.where(on, 1.4 * rng.normal(size=N), 0.0), np.where(on, 0.005, 1.0)


def every(rng: np.random.Generator) -> Made:
    return np.sqrt(0.5) * rng.normal(size=N), np.full(N, 0.5)


def constant(rng: np.random.Generator) -> Made:
    return 0.01 * rng.normal(size=N), np.full(N, 0.4)


KINDS = {one.__name__: one for one in (active, passive, some, every, constant)}


@dataclass(frozen=True)
class Situation:
    """A model of which everything is known."""

    latents: tuple[str, ...]  # names of `KINDS`
    scale: float = 1.0  # of prior and codes together
    shift: float = 0.0  # of the first latent's samples from the prior
    correlated: bool = False  # passive means copy the first latent's
    loud: tuple[int, ...] = ()  # latents that the decoder uses; empty: it has no traversals
    deaf: bool = False  # the decoder uses none
    losses: tuple[float, ...] = ()
    factors: str = ""  # "used", "weak", "passive" or "none": whose means know them
    supervised: bool = False
    price: tuple[bool, bool] | None = None  # what linear models and neighbours lose matters


def _factors(what: Situation, mean: NDArray[np.float64]) -> NDArray[np.int64]:
    """Eight classes each, by the latents of a kind in turn, or by nobody."""
    rng = np.random.default_rng(7)
    classes = rng.integers(0, 8, (N, 2))
    wanted = {"used": "active", "weak": "active", "passive": "passive"}.get(what.factors)
    which = [j for j, kind in enumerate(what.latents) if kind == wanted][:2]
    for k, j in enumerate(which):
        rank = mean[:, j].argsort().argsort()
        sure = np.ones(N, dtype=bool) if what.factors != "weak" else rng.random(N) < 0.5
        classes[sure, k] = (rank * 8 // N)[sure]
    return classes


def _price(matters: tuple[bool, bool]) -> Price:
    losses = [Loss(0.8, 0.5 if one else 0.8, 0.4, 0.01) for one in matters]
    return Price(losses[0], losses[1], 400, 200, ("a", "b"))


@cache
def inspected(what: Situation) -> Inspection:
    rng = np.random.default_rng(3)
    parts = [KINDS[kind](rng) for kind in what.latents]
    mean, variance = (np.stack(columns, axis=1) for columns in zip(*parts, strict=True))
    if what.correlated:
        for j, kind in enumerate(what.latents):
            if kind == "passive":
                mean[:, j] = 0.01 * mean[:, 0] + 1e-4 * rng.normal(size=N)
    sample = mean + np.sqrt(variance) * rng.normal(size=mean.shape)
    sample[:, 0] += what.shift
    c, d = what.scale, len(what.latents)
    codes = Codes(
        c * mean, c**2 * variance, c * sample,
        prior=GaussianDensity(np.zeros(d), np.full(d, c**2)), supervised=what.supervised,
        factors=_factors(what, mean) if what.factors else None,
        factor_names=("a", "b") if what.factors else (),
    )  # fmt: skip
    found = inspect_codes(codes, SUBJECT, metrics=["mig"] if what.factors else None)
    if what.loud or what.deaf:
        weights = torch.zeros(d, d)
        for j in what.loud:
            weights[j, j] = 1.0
        found = replace(
            found,
            traversals=traverse(lambda z: z @ weights, np.zeros(d), scale=np.full(d, c)),
        )
    if what.losses:
        loss = np.array(what.losses)
        step = np.arange(1, len(loss) + 1) * 10
        none = np.zeros(len(loss), dtype=np.int64)
        found = replace(found, training=Training(step, loss, loss, loss, none, none, none))
    found = replace(found, price=None if what.price is None else _price(what.price))
    return judged(found)


def situations() -> list[Situation]:
    """All mixtures of kinds, each with what a decoder, a history and factors may add to it."""
    models = [
        ("active", "passive"), ("active", "active", "passive"), ("active", "active"),
        ("passive", "passive"), ("active", "some", "passive"), ("active", "every", "passive"),
        ("some", "some"), ("every", "some", "active"), ("active", "constant", "passive"),
        ("active", "passive", "passive", "every"), ("constant", "every", "some", "active"),
    ]  # fmt: skip
    flat, falling, rising = (9.0,) * 12, tuple(range(24, 12, -1)), tuple(range(12, 24))
    rng = np.random.default_rng(11)
    made = []
    for latents in models:
        d = len(latents)
        made.append(Situation(latents))
        for _ in range(7):
            loud = tuple(np.flatnonzero(rng.random(d) < 0.7).tolist())
            made.append(
                Situation(
                    latents,
                    scale=float(rng.choice([1.0, 0.05, 3.0])),
                    shift=float(rng.choice([0.0, 1.5])),
                    correlated=bool(rng.random() < 0.5) and latents[0] == "active",
                    loud=loud,
                    deaf=not loud,
                    losses=[(), flat, falling, rising][int(rng.integers(4))],
                    factors=str(rng.choice(["", "used", "weak", "passive", "none"])),
                    supervised=bool(rng.random() < 0.3),
                    price=[None, (True, False), (False, False)][int(rng.integers(3))],
                )
            )
    return made


ALL = situations()


def indices(what: Situation, *kinds: str) -> set[int]:
    return {j for j, kind in enumerate(what.latents) if kind in kinds}


def named(text: str) -> set[int]:
    return {int(number) for number in re.findall(r"\d+", text)}


MIXED = ("some", "every", "constant")


def _lists(pattern: str, *kinds: str) -> Callable[[Situation, str], bool]:
    """The latents that a clause names are of these kinds, and all of them."""

    def holds(what: Situation, says: str) -> bool:
        found = re.search(rf"([\d, and]+) {pattern}", says)
        return found is not None and named(found.group(1)) == indices(what, *kinds)

    return holds


def _heard(what: Situation) -> set[int]:
    return set(what.loud) & indices(what, "passive")


def _settled(what: Situation) -> bool | None:
    if len(what.losses) < 8:
        return None
    quarter = len(what.losses) // 4
    before, last = np.mean(what.losses[-2 * quarter : -quarter]), np.mean(what.losses[-quarter:])
    return bool(abs(before - last) < 0.05 * before)


def _best_known(what: Situation, says: str) -> bool:
    which = {int(j) for j in re.findall(r"in latent (\d+)", says)}
    return not which & indices(what, "passive")


#: What a sentence or an advice may contain, and when that is true.
TRUTHS: Mapping[str, Callable[[Situation, str], bool]] = {
    r"All \d+ latents are passive": lambda s, _: set(s.latents) == {"passive"},
    r"All \d+ latents are active": lambda s, _: set(s.latents) == {"active"},
    r"The model is polarised": lambda s, _: set(s.latents) == {"active", "passive"},
    r"(\d+) latents? (?:is|are) mixed": lambda s, says: (
        int(re.findall(r"(\d+) latents? (?:is|are) mixed", says)[0]) == len(indices(s, *MIXED))
    ),
    r"used for some examples only": _lists(r"(?:is|are) used for some", "some"),
    r"uncertain in nearly every": _lists(r"(?:is|are) uncertain in nearly", "every"),
    r"(has|have) the same posterior": _lists(r"ha(?:s|ve) the same posterior", "constant"),
    r"more certain in some examples": lambda s, _: False,  # no such latent is made
    r"local minimum": lambda s, _: False,
    r"needs now and then": lambda s, _: (
        bool(indices(s, "some")) and not indices(s, "every", "constant")
    ),
    r"training has not settled": lambda s, _: _settled(s) is False,
    r"Training has not settled": lambda s, _: _settled(s) is False,
    r"Training has settled": lambda s, _: _settled(s) is True,
    r"the loss fell": lambda s, _: s.losses[-1] <= s.losses[0],
    r"the loss rose": lambda s, _: s.losses[-1] > s.losses[0],
    r"the decoder hardly uses": lambda s, says: (
        named(re.findall(r"hardly uses ([\d, and]+)", says)[0])
        == indices(s, "some", "every") - set(s.loud)
    ),
    r"The decoder ignores all": lambda s, _: s.deaf,
    r"The decoder ignores the (\d+ )?passive": lambda s, _: not _heard(s) and bool(s.loud),
    r"The decoder still listens": lambda s, says: (
        named(re.findall(r"\(([\d, and]+)\)", says)[0]) == _heard(s)
    ),
    r"listens to [\d, and]+\. Train": lambda s, _: bool(_heard(s)),
    r"(?<!not )[Dd]rop (the|them)": lambda s, _: bool(indices(s, "passive")) and not _heard(s),
    r"Do not drop": lambda s, _: bool(_heard(s)),
    r"make them look correlated": lambda s, _: s.correlated,
    r"the passive ones add little": lambda s, _: not s.correlated,
    r"fill the prior": lambda s, _: not s.shift or s.latents[0] == "passive",
    r"do not follow the prior": lambda s, _: bool(s.shift) or "constant" in s.latents,
    r"the axes tell the factors apart": lambda s, _: s.factors == "used" and not s.supervised,
    r"the axes tell some": lambda s, _: s.factors in ("used", "weak", "passive"),
    r"the axes do not tell": lambda s, _: s.factors != "used" or len(indices(s, "active")) < 2,
    r"those of passive latents among": lambda s, _: s.factors == "passive",
    r"Best known": _best_known,
    r"Means of passive latents know": lambda s, _: s.factors == "passive",
    r"the encoder saw the factors": lambda s, _: s.supervised,
    r"\(supervised\)": lambda s, _: s.supervised,
    r"keep these means there": lambda s, _: s.price == (True, False),
    r"loses? no accuracy": lambda s, _: s.price is not None,
}


def texts(verdicts: tuple[Verdict, ...]) -> list[str]:
    return [text for one in verdicts for text in (one.says, one.advice)]


@pytest.mark.parametrize("fragment", TRUTHS)
def test_a_sentence_is_said_somewhere_and_nowhere_where_it_is_false(fragment: str) -> None:
    holds = TRUTHS[fragment]
    seen = 0
    for what in ALL:
        for text in texts(inspected(what).verdicts):
            if re.search(fragment, text):
                seen += 1
                assert holds(what, text), (what, text)
    never = {r"more certain in some examples", r"local minimum"}
    assert (seen > 0) == (fragment not in never)


def test_no_page_says_both_to_drop_and_not_to() -> None:
    for what in ALL:
        said = " ".join(texts(inspected(what).verdicts))
        assert not ("Do not drop" in said and re.search(r"[Dd]rop (the|them)", said.replace(
            "Do not drop them", ""))), what  # fmt: skip
        assert not (_heard(what) and "can do without" in said)


def test_where_the_encoder_saw_the_factors_every_verdict_says_so() -> None:
    for what in ALL:
        for one in inspected(what).verdicts:
            assert one.says.startswith("(supervised) ") == what.supervised
            assert one.shown.endswith(", supervised") == what.supervised


def test_mixed_is_a_warning_only_where_something_is_wrong() -> None:
    for what in ALL:
        for one in inspected(what).verdicts:
            if one.id != "mixed":
                continue
            unheard = bool(what.loud) and indices(what, "some", "every") - set(what.loud)
            wrong = _settled(what) is False or unheard or indices(what, "constant")
            assert one.tone == ("warning" if wrong else "note"), what


def test_verdicts_do_not_change_with_the_scale_of_prior_and_codes() -> None:
    """But for the words that say in which units they are."""
    words = r" times that of an unused latent|, a diagonal Gaussian| in units of the prior"
    for what in ALL[::3]:
        alike = [
            [
                (one.id, one.tone, re.sub(words, "", one.says), one.advice, one.latents)
                for one in inspected(replace(what, scale=scale)).verdicts
            ]
            for scale in (1.0, 0.05)
        ]
        assert alike[0] == alike[1], what


def test_a_latent_in_a_local_minimum_of_the_rate_is_told_with_its_cost() -> None:
    """The sparse prior's rate has a second minimum at variance 0.47, 1.187 nats; the least is
    0.189 nats (both by quadrature on a grid of 200,001 points)."""
    rng = np.random.default_rng(0)
    prior = SparseDensity(0.8, 0.05, np.zeros(3))
    mean = np.stack([rng.normal(size=N), 0.01 * rng.normal(size=N), np.zeros(N)], axis=1)
    variance = np.tile([0.001, 0.47, 0.0028], (N, 1))
    codes = Codes(mean, variance, mean, prior=prior)
    first = inspect_codes(codes, SUBJECT).verdicts[0]
    assert (first.id, first.tone, first.latents) == ("mixed", "warning", (1,))
    assert "ignores x in a local minimum of the rate" in first.says
    z = np.linspace(-8.0, 8.0, 200_001)

    def density(v: float) -> NDArray[np.float64]:
        return np.asarray(np.exp(-0.5 * z**2 / v) / np.sqrt(2 * np.pi * v))

    p = 0.2 * density(1.0) + 0.8 * density(0.05**2)
    rates = []
    for v in (0.47, 0.0028):
        q = density(v)
        log_q = -0.5 * z**2 / v - 0.5 * np.log(2 * np.pi * v)
        rates.append(float((q * (log_q - np.log(p))).sum() * (z[1] - z[0])))
    assert f"costs {rates[0] - rates[1]:.2g} nats" in first.says
