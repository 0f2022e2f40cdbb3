"""One class of a field: how it is made, what its user has, and its true codes by its own layers.

Nothing here knows vaescope.
"""

import copy
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cache
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F

__all__ = ["ROWS", "STATES", "Field", "heads", "model_in", "squares", "tokens", "waves"]

ROWS = 120
STATES = ("untrained", "trained", "collapsed")
STEPS = 250
HALF_LOG_PI = 0.5 * torch.log(torch.tensor(torch.pi)).item()


@dataclass(frozen=True, eq=False)
class Field:
    """`posterior` gives mean and variance of all rows, `nats` -log p(x|z) of all rows at latents;
    both by the class's own layers. `given` is what is passed at the first call beside the model;
    `answers` what its owner says of an argument that is asked for."""

    name: str  # kind/class
    make: Callable[[], Any]
    posterior: Callable[[Any], tuple[Tensor, Tensor]]
    nats: Callable[[Any, Tensor], Tensor]
    given: Callable[[Any], Mapping[str, Any]]
    answers: Mapping[str, Callable[[Any], Any]] = field(default_factory=dict)
    beta: float = 0.1
    scored: bool = True  # whether its examples can be scored by themselves

    @property
    def kind(self) -> str:
        return self.name.partition("/")[0]


@cache
def _made(one: Field, state: str) -> Any:
    with torch.random.fork_rng(), torch.enable_grad():
        torch.manual_seed(0)
        model = one.make()
        if state != "untrained":
            _train(one, model, one.beta * (1000 if state == "collapsed" else 1))
    return model.eval()


def model_in(one: Field, state: str) -> Any:
    """A copy, since whoever reads it may change it."""
    return copy.deepcopy(_made(one, state))


def _train(one: Field, model: nn.Module, beta: float) -> None:
    optimiser = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(STEPS):
        mean, variance = one.posterior(model)
        z = mean + variance.sqrt() * torch.randn_like(mean)
        rate = 0.5 * (mean.square() + variance - 1 - variance.log()).flatten(1).sum(1)
        loss = (one.nats(model, z) + beta * rate).mean()
        optimiser.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 10.0)
        optimiser.step()


def squares(y: Tensor, x: Tensor) -> Tensor:
    """-log N(x; y, 1/2) of each row, whose gradient is that of squared errors."""
    return ((y - x).square() + HALF_LOG_PI).flatten(1).sum(1)


def crosses(logits: Tensor, t: Tensor) -> Tensor:
    """Cross-entropy of each row of tokens, the vocabulary last."""
    return F.cross_entropy(logits.movedim(-1, 1), t, reduction="none").sum(1)


def heads(parts: tuple[Tensor, Tensor]) -> tuple[Tensor, Tensor]:
    """Mean and variance of a pair with log variances."""
    return parts[0], parts[1].exp()


def _rng() -> torch.Generator:
    return torch.Generator().manual_seed(11)


@cache
def _waves(steps: int, channels: int, scale: float) -> Tensor:
    generator = _rng()
    pitch, phase, size = torch.rand(3, ROWS, 1, 1, generator=generator)
    t = torch.linspace(0, 1, steps)[None, :, None]
    shift = torch.linspace(0, 1, channels)[None, None]
    wave = (0.4 + size) * torch.sin(6.28 * ((1 + 2 * pitch) * t + phase + shift))
    return scale * wave


def waves(steps: int, channels: int, scale: float = 1.0) -> Tensor:
    """Waves of three factors: (rows, steps, channels)."""
    return _waves(steps, channels, scale).clone()


@cache
def _tokens(steps: int, vocabulary: int) -> Tensor:
    generator = _rng()
    start = torch.randint(vocabulary, (ROWS, 1), generator=generator)
    step = torch.randint(1, 4, (ROWS, 1), generator=generator)
    return (start + step * torch.arange(steps)) % vocabulary


def tokens(steps: int = 9, vocabulary: int = 7) -> Tensor:
    """Strings that count by their own step: (rows, steps)."""
    return _tokens(steps, vocabulary).clone()


def noised(mu: Tensor, logvar: Tensor) -> Tensor:
    return mu + torch.randn_like(mu) * (0.5 * logvar).exp()
