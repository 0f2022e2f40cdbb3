"""Whether vaescope reads a model right, asks, or is wrong in silence.

A model is asked about by an error, or by a first verdict that names the argument that decides, or
by an inference called uncertain or poor that `summary()` shows. The owner then answers what the
message names, with the truth, and the answer is judged again.
"""

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from tests.adapters.corpus.style import Style
from tests.adapters.corpus.training import Truth, model_in, truth_of
from torch import distributions as td
from torch import nn

import vaescope as vs
from vaescope.errors import VaescopeError
from vaescope.inspection.dissect import dissect
from vaescope.inspection.effort import EFFORTS

__all__ = ["Outcome", "judge", "outcome_of", "silently_wrong"]

#: The answers that decide one thing come before functions, which decide all.
ARGUMENTS = ("posterior", "output", "value_range", "likelihood", "prior", "condition")
FUNCTIONS = ("encode", "decode")
ROUNDS = 5
#: What `vs.inspect` does, with little of what is not judged: Jacobians (also of untrained models),
#: local decoders, metrics.
EFFORT = replace(
    EFFORTS["fast"], weighted=2, draws=2, points=2, fits=0, nonlinear=0, metrics=()
)  # fmt: skip
#: Advice about the images rather than about the model.
_UNIT = re.compile(r"wanted 0 to 1|[Dd]ivide them by 255|undo the standardisation")
_DOUBT = re.compile(r"uncertain|poor|could be either", re.IGNORECASE)


@dataclass(frozen=True)
class Outcome:
    """What became of one model."""

    style: str
    state: str
    word: str  # right, asked then right, asked then wrong, asked in vain, wrong, crashed
    rate: float | None  # nats found at the end
    true_rate: float
    says: str = ""  # what is wrong, or what was asked

    def __str__(self) -> str:
        rate = "-" if self.rate is None else f"{self.rate:.2f}"
        return (
            f"{self.style:34} {self.state:10} {self.word:16} {rate:>9} {self.true_rate:>9.2f}  "
            f"{self.says[:150]}"
        )


def silently_wrong(outcome: Outcome) -> bool:
    """Wrong without a word, also after an answer."""
    return outcome.word in ("wrong", "asked then wrong")


def outcome_of(style: Style, state: str) -> Outcome:
    """The model in that state, made and judged."""
    model = model_in(style, state)
    with torch.random.fork_rng():
        torch.manual_seed(0)
        return judge(style, state, model, truth_of(style, model))


def judge(style: Style, state: str, model: Any, truth: Truth) -> Outcome:
    said: dict[str, Any] = {}
    asked: list[str] = []
    images = style.gives(style.images())

    def ends(word: str, rate: float | None, says: str) -> Outcome:
        return Outcome(style.name, state, word, rate, truth.rate, says)

    for _ in range(ROUNDS):
        try:
            opened = vs.open_model(**{**style.call(model), **said}, data=images, rows=EFFORT.rows)
            found = dissect(replace(opened, untrained=None), EFFORT, images=False)
        except VaescopeError as error:
            question = " ".join([str(error), *map(str, getattr(error, "tried", ()))])
            rate, faults = None, []
        except Exception as error:
            return ends("crashed", None, f"{said} {type(error).__name__}: {error}")
        else:
            rate, faults = _rate(found), _faults(found, truth, style)
            if not faults:
                return ends("asked then right" if asked else "right", rate, "; ".join(asked))
            question = _question(found)
        if _UNIT.search(question) and "images" not in asked:
            images = style.images()
            asked.append("images")
            continue
        answers = _answers(style, model, question, said, rescaled="images" in asked)
        open_still = any(f"{name}=" in question for name in {*ARGUMENTS, *FUNCTIONS} - set(said))
        if not answers and (rate is None or open_still):
            return ends("asked in vain", rate, f"{list(said)} {question}")
        if not answers:
            word = "asked then wrong" if asked else "wrong"
            return ends(word, rate, "; ".join(faults))
        said |= answers
        asked.append(", ".join(f"{key}={_short(value)}" for key, value in answers.items()))
    return ends("asked in vain", None, "; ".join(asked))


def _short(value: Any) -> str:
    plain = isinstance(value, str) or (isinstance(value, tuple) and not any(map(callable, value)))
    return str(value) if plain else "..."


def _question(found: Any) -> str:
    """What the result itself asks, where its reader sees it."""
    first = found.verdicts[0] if found.verdicts else None
    texts = [] if first is None else [f"{first.says} {first.advice}"]
    summary = found.summary()
    texts += [str(one) for one in found.inferred if _DOUBT.search(str(one)) and str(one) in summary]
    naming = [text for text in texts if any(f"{name}=" in text for name in ARGUMENTS + FUNCTIONS)]
    return " ".join(naming)


def _answers(
    style: Style, model: Any, question: str, said: Mapping[str, Any], *, rescaled: bool
) -> dict[str, Any]:
    """The owner's answers to what the question names."""
    named = [name for name in ARGUMENTS if f"{name}=" in question]
    answers = {
        name: _offered(style.answer(name), question, model)
        for name in named
        if style.answer(name) and name not in said
    }
    if answers or style.conditional or set(said) & set(FUNCTIONS):
        return answers
    functions = _functions(style, model, rescaled=rescaled)
    return functions if any(f"{name}=" in question for name in FUNCTIONS) else {}


def _offered(words: tuple[Any, ...], question: str, model: Any) -> Any:
    """The first word that the question offers, else the first."""
    chosen = next((word for word in words if str(word) in question), words[0])
    return chosen(model) if callable(chosen) and not isinstance(chosen, nn.Module) else chosen


def _functions(style: Style, model: Any, *, rescaled: bool) -> dict[str, Any]:
    """encode= and decode= as the class's owner would write them, for the images that are given."""

    def encode(x: Any) -> Any:
        mean, variance = style.posterior(model, style.takes(x) if rescaled else x)
        return mean if style.deterministic else td.Normal(mean, variance.sqrt())

    def decode(z: Any) -> Any:
        if style.decode is not None:
            return style.decode(model, z)
        y = style.output(model, z)
        return style.back(y) if rescaled else y

    return {"encode": encode, "decode": decode}


def _rate(found: Any) -> float:
    if found.fit is not None:
        return float(found.fit.rate_nats)
    if found.maps is not None:
        return float(found.maps.kl_nats.sum() * np.prod(found.maps.shape))
    known = [latent.kl_nats for latent in found.latents]
    if any(kl is None for kl in known):
        return 0.0
    return float(sum(known))


def _faults(found: Any, truth: Truth, style: Style) -> list[str]:
    """Each number that is not the truth's."""
    d = truth.mean.shape[1]
    places = truth.mean.shape[2:]
    faults = []
    if len(found.latents) != d:
        return [f"{len(found.latents)} latents, true {d}"]
    by_number = sorted(found.latents, key=lambda latent: latent.index)
    kl = np.array([np.nan if one.kl_nats is None else one.kl_nats for one in by_number])
    if style.deterministic:
        if np.isfinite(kl).any():
            faults.append("a KL where the encoder has no noise")
        return faults
    if places and np.prod(places) > 1:
        if found.maps is None:
            return ["maps not found"]
        kl = found.maps.kl_nats
    if truth.kl is not None and not _near(kl, truth.kl, 0.01, 0.002):
        faults.append(f"KL {_listed(kl)}, true {_listed(truth.kl)}")
    if truth.types is not None and not faults:
        types = tuple(one.type for one in by_number)
        if types != truth.types:
            faults.append(f"types {types}, true {truth.types}")
    faults += _faults_of_fit(found, truth, style)
    return faults


def _faults_of_fit(found: Any, truth: Truth, style: Style) -> list[str]:
    if not style.fit:
        return []
    if found.fit is None:
        return ["no fit"]
    faults = []
    if truth.kl is None and not _near(found.fit.rate_nats, truth.rate, 0.05, 0.3):
        faults.append(f"rate {found.fit.rate_nats:.2f}, true {truth.rate:.2f}")
    got = found.fit.distortion_nats
    if not any(_near(got, nats, 0.05, 1.0) for nats in truth.distortions.values()):
        fair = ", ".join(f"{name} {nats:.1f}" for name, nats in truth.distortions.items())
        faults.append(f"distortion {got:.1f}, true {fair}")
    return faults


def _near(value: Any, wanted: Any, share: float, least: float) -> bool:
    difference = np.abs(np.asarray(value) - np.asarray(wanted))
    return bool(np.all(difference <= share * np.abs(wanted) + least))


def _listed(values: Any) -> str:
    return "[" + " ".join(f"{value:.2f}" for value in np.atleast_1d(values)) + "]"
