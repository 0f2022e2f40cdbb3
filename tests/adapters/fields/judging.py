"""Whether a model of a field is read right at the first call, or asks and is then read right."""

import re
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from tests.adapters.fields.field import Field, model_in

import vaescope as vs
from vaescope.errors import VaescopeError

__all__ = ["Outcome", "outcome_of"]

ROUNDS = 3
#: A call that a refusal gives.
CALL = re.compile(r'vs\.inspect\(encode=model\.(\w+), data=data(?:, posterior="([\w,]+)")?\)')


@dataclass(frozen=True)
class Outcome:
    """What became of one model."""

    field: str
    state: str
    word: str  # right, asked then right, asked in vain, wrong
    says: str = ""

    def __str__(self) -> str:
        return f"{self.field:24} {self.state:10} {self.word:16} {self.says[:300]}"


def outcome_of(one: Field, state: str) -> Outcome:
    model = model_in(one, state)
    arguments = dict(one.given(model))
    asked: list[str] = []
    for _ in range(ROUNDS):
        with torch.random.fork_rng():
            torch.manual_seed(1)
            try:
                opened = vs.open_model(**arguments)
            except VaescopeError as error:
                if call := CALL.search(str(error)):
                    arguments = {"data": arguments["data"], "encode": getattr(model, call[1])}
                    arguments |= {"posterior": call[2]} if call[2] else {}
                    asked.append(str(error))
                    continue
                named = [name for name in one.answers if f"{name}=" in str(error)]
                if not named or named[0] in arguments:
                    return Outcome(one.name, state, "asked in vain", str(error))
                arguments[named[0]] = one.answers[named[0]](model)
                asked.append(str(error))
                continue
            fault = fault_of(one, model, opened)
        if fault:
            return Outcome(one.name, state, "wrong", f"{fault}; {opened.inferred}")
        return Outcome(one.name, state, "asked then right" if asked else "right", "; ".join(asked))
    return Outcome(one.name, state, "asked in vain", "; ".join(asked))


@torch.no_grad()
def fault_of(one: Field, model: Any, opened: Any) -> str:
    """What is not the truth: codes of every row, and the distortion at their means."""
    mean, variance = one.posterior(model)
    codes = opened.codes
    pooled = [part.flatten(2).mean(2) if part.ndim > 2 else part for part in (mean, variance)]
    for name, wanted in zip(("mean", "variance"), pooled, strict=True):
        found = getattr(codes, name)
        if found.shape != tuple(wanted.shape):
            return f"{name} of shape {found.shape}, true {tuple(wanted.shape)}"
        if not np.allclose(found, wanted.numpy(), rtol=1e-3, atol=1e-4):
            return f"{name} off by {np.abs(found - wanted.numpy()).max():.3g}"
    if mean.ndim > 2:
        kl = 0.5 * (mean.square() + variance - 1 - variance.log())
        by_channel = kl.flatten(2).mean((0, 2)).double().numpy()
        if opened.maps.kl_nats is None:  # drawn in float32, so tiny a variance is 0
            return "" if float(variance.min()) < 1e-12 else "no KL of maps"
        if not np.allclose(opened.maps.kl_nats, by_channel, rtol=1e-3, atol=1e-5):
            return f"KL of maps {opened.maps.kl_nats}, true {by_channel}"
    if not one.scored or opened.undecoded:
        return ""
    places = np.arange(codes.n)
    nats = opened.distortion(places, np.zeros(codes.mean.shape, np.float32))
    wanted = one.nats(model, mean).double().numpy()
    off = np.abs(nats - wanted).max()
    return f"distortion off by {off:.3g} of {wanted.mean():.3g}" if off > 1e-2 else ""
