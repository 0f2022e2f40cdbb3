"""Untrained, trained for 300 steps, and collapsed under a thousandfold rate: models and truths."""

import copy
from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from tests.adapters.corpus.style import NATS, Style, labels, one_hot
from torch import Tensor
from torch import distributions as td

__all__ = ["STATES", "Truth", "model_in", "truth_of"]

STATES = ("untrained", "trained", "collapsed")
COLLAPSE = 1000.0
DRAWS = 16


@dataclass(frozen=True, eq=False)
class Truth:
    """What a reading must find, by the class's own code."""

    mean: NDArray[np.float64]  # (n, latent), or (n, channel, height, width)
    variance: NDArray[np.float64]
    kl: NDArray[np.float64] | None  # (latent,) nats; None where the prior has no closed form
    rate: float  # nats, over all latents
    types: tuple[str, ...] | None
    distortions: dict[str, float]  # nats under every fair likelihood


def _seeded(seed: int) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def beta_in(style: Style, state: str) -> float:
    return COLLAPSE * max(1.0, style.beta) if state == "collapsed" else style.beta


def model_in(style: Style, state: str, *, seed: int = 0) -> Any:
    """The model in one of STATES: a copy, since whoever reads it may change it."""
    return copy.deepcopy(_made(style, state, seed))


@cache
def _made(style: Style, state: str, seed: int) -> Any:
    with torch.random.fork_rng():
        torch.manual_seed(seed)
        model = style.make()
        if state != "untrained":
            _train(style, model, beta_in(style, state), seed)
    style.module(model).eval()
    return model


def _train(style: Style, model: Any, beta: float, seed: int) -> None:
    generator = _seeded(seed)
    x, y = style.takes(style.images()), one_hot(labels())
    module = style.module(model).train()
    dtype = next(module.parameters()).dtype
    optimiser = torch.optim.Adam(module.parameters(), lr=style.rate, fused=True)
    for _ in range(style.steps):
        rows = torch.randint(len(x), (style.batch,), generator=generator)
        batch = x[rows].to(dtype)
        extra = (y[rows].to(dtype),) if style.conditional else ()
        mean, variance = style.posterior(model, batch, *extra)
        noise = torch.randn(mean.shape, generator=generator).to(dtype)
        z = mean if style.deterministic else mean + variance.sqrt() * noise
        loss = style.nats(model, style.output(model, z, *extra), batch).mean()
        if not style.deterministic:
            loss = loss + beta * _rates(style, model, mean, variance, z).mean()
        optimiser.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(module.parameters(), 100.0)
        optimiser.step()


def _kl(style: Style, model: Any, mean: Tensor, variance: Tensor) -> Tensor:
    """KL to a Gaussian prior, of each latent of each example."""
    centre, spread = torch.zeros(()), torch.ones(())
    if style.gaussian_prior is not None:
        centre, spread = style.gaussian_prior(model)
    ratio = variance / spread
    return 0.5 * ((mean - centre).square() / spread + ratio - 1 - ratio.log())


def _rates(style: Style, model: Any, mean: Tensor, variance: Tensor, z: Tensor) -> Tensor:
    if style.log_prior is None:
        return _kl(style, model, mean, variance).flatten(1).sum(1)
    log_q = td.Normal(mean, variance.sqrt()).log_prob(z).sum(1)
    return log_q - style.log_prior(model, z)


@torch.no_grad()
def truth_of(style: Style, model: Any) -> Truth:
    """Codes and fit of all images."""
    copied = copy.deepcopy(model)  # a class may write into itself
    module = style.module(copied).eval()
    dtype = next(module.parameters()).dtype
    x = style.takes(style.images()).to(dtype)
    extra = (one_hot(labels()).to(dtype),) if style.conditional else ()
    mean, variance = style.posterior(copied, x, *extra)
    generator = _seeded(1)
    rates, nats = [], {name: [] for name in _fair(style)}
    for _ in range(DRAWS):
        noise = torch.randn(mean.shape, generator=generator).to(dtype)
        z = mean if style.deterministic else mean + variance.sqrt() * noise
        y = style.output(copied, z, *extra)
        for name, kept in nats.items():
            kept.append(float(_nats(style, copied, name, y, x).mean()))
        if not style.deterministic:
            rates.append(float(_rates(style, copied, mean, variance, z).mean()))
    kl = None
    if style.log_prior is None and not style.deterministic:
        each = _kl(style, copied, mean, variance)
        kl = each.mean(dim=(0, *range(2, each.ndim))).double().numpy()
    codes = mean.double().numpy(), variance.double().numpy()
    return Truth(
        *codes, kl, float(np.mean(rates)) if rates else 0.0, _types(style, copied, *codes),
        {name: float(np.mean(kept)) for name, kept in nats.items()},
    )  # fmt: skip


def _fair(style: Style) -> list[str]:
    names = [style.trained_with, *style.fair]
    if "squared-error" in names and style.range != (0.0, 1.0):
        names.append("squared-error in [0, 1]")
    return list(dict.fromkeys(names))


def _nats(style: Style, model: Any, name: str, y: Tensor, x: Tensor) -> Tensor:
    low, high = style.range
    if name == "squared-error in [0, 1]":
        return NATS["squared-error"]((y - low) / (high - low), (x - low) / (high - low))
    return style.nats(model, y, x) if name == style.trained_with else NATS[name](y, x)


def _types(
    style: Style, model: Any, mean: NDArray[np.float64], variance: NDArray[np.float64]
) -> tuple[str, ...] | None:
    """Passive: the prior's variance, and means that do not move. Active: nearly none of it. In
    units of the prior's variance, which is where the ELBO leaves a latent that is not used."""
    if style.log_prior is not None or style.deterministic or mean.ndim > 2:
        return None
    centre, spread = np.zeros(1), np.ones(1)
    if style.gaussian_prior is not None:
        centre, spread = (part.double().numpy() for part in style.gaussian_prior(model))
    ratio = variance / spread
    moves = ((mean - centre) / np.sqrt(spread)).var(axis=0)
    steady = ratio.var(axis=0) < 0.1
    passive = (np.abs(ratio.mean(axis=0) - 1) <= 0.1) & steady & (moves < 0.1)
    active = (ratio.mean(axis=0) <= 0.1) & steady
    return tuple(
        "passive" if p else "active" if a else "mixed" for p, a in zip(passive, active, strict=True)
    )
