"""What is dropped and why, and what came of it."""

import math
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch

from vaescope.codes import Codes
from vaescope.latents import types
from vaescope.latents.types import TRAPPED
from vaescope.models import OpenModel
from vaescope.notebook_card import card_of
from vaescope.pruning.price import Price, price_of
from vaescope.seeds import derive
from vaescope.types import Double
from vaescope.wording import listed

__all__ = ["Change", "Pruning", "PruningPlan", "change_of", "listed", "plan_of", "pruning_of"]


#: Examples that are decoded.
MEASURED = 2_000


@dataclass(frozen=True, eq=False)
class PruningPlan:
    """Which latents go, what stands for them, and why."""

    latents: int
    dropped: tuple[int, ...]
    constants: Double  # (latents,) mean over the data of the posterior means
    reason: str

    @property
    def kept(self) -> list[int]:
        return [latent for latent in range(self.latents) if latent not in self.dropped]


@dataclass(frozen=True)
class Change:
    """After against before, on the same n examples with the same noise."""

    reconstruction: float  # largest absolute change of any reconstructed value at z = mean
    typical: float  # root mean square of these changes, over examples and values
    elbo: float  # mean change, nats per example; above 0: the pruned model is better
    elbo_error: float  # its standard error
    n: int


@dataclass(frozen=True, eq=False)
class Pruning:
    """A pruned model and how much it differs; the original model if nothing was dropped."""

    before: int
    after: int
    dropped: tuple[int, ...]
    constants: tuple[float, ...]  # of those dropped
    max_reconstruction_change: float
    rms_reconstruction_change: float
    elbo_change: float
    elbo_error: float  # standard error of that
    n: int  # examples on which the changes were measured
    reason: str
    model: Any
    price: Price | None = None  # what users of the means lose; None without factors

    def summary(self) -> str:
        """What was dropped, what that changes, and whether the model does without."""
        if not self.dropped:
            return self.reason
        price = "" if self.price is None else f" {self.price.advice()}"
        return (
            f"{self.reason} {self.before} latents became {self.after}: on these examples no "
            f"reconstructed value changes by more than {self.max_reconstruction_change:.3g} (root "
            f"mean square {self.rms_reconstruction_change:.2g}), the ELBO by "
            f"{self.elbo_change:+.3g} nats per example (standard error {self.elbo_error:.2g}, n = "
            f"{self.n:,}). {self._verdict()}{price}"
        )

    def _verdict(self) -> str:
        if self.elbo_change > 2 * self.elbo_error:
            return "The model is better without them."
        if self.elbo_change < -2 * self.elbo_error:
            return "The model is worse without them by that amount."
        return "That is within two standard errors: the model does not need them."

    def to_dict(self) -> dict[str, Any]:
        """Plain values, without the model."""
        return {
            "before": self.before,
            "after": self.after,
            "dropped": list(self.dropped),
            "constants": list(self.constants),
            "max_reconstruction_change": self.max_reconstruction_change,
            "rms_reconstruction_change": self.rms_reconstruction_change,
            "elbo_change": self.elbo_change,
            "elbo_error": self.elbo_error,
            "n": self.n,
            "reason": self.reason,
            "price": None if self.price is None else self.price.to_dict(),
        }

    _repr_html_ = card_of


def plan_of(codes: Codes) -> PruningPlan:
    """Drops the passive latents, and those that ignore x in a local minimum of the rate, unless
    that leaves none. Other mixed ones stay: they are used."""
    constants = codes.mean.astype(np.float64).mean(axis=0)
    if not codes.stochastic:
        reason = "Nothing was dropped: the codes are points without noise, so none is passive."
        return PruningPlan(codes.d, (), constants, reason)
    kinds = types(codes)
    passive = kinds.passive.tolist()
    trapped = [j for j, kind in enumerate(kinds.kind_of_mixed) if kind == TRAPPED]
    dropped = tuple(sorted(passive + trapped))
    if not dropped:
        reason = f"Nothing was dropped: no latent is passive ({kinds.summary()})."
        return PruningPlan(codes.d, (), constants, reason)
    if len(dropped) == codes.d:
        reason = (
            "Nothing was dropped: "
            + ("the only latent is" if codes.d == 1 else f"all {codes.d} latents are")
            + " passive, and a model without latents would always decode the same output. Train "
            "it again with a lower beta."
        )
        return PruningPlan(codes.d, (), constants, reason)
    reasons = [
        f"Latent {passive[0]} of {codes.d} is passive."
        if len(passive) == 1
        else f"{len(passive)} of {codes.d} latents are passive: {listed(passive)}."
    ]
    if trapped:
        reasons = [*(reasons if passive else []), f"{kinds.trapped()}: dropped too."]
    if kinds.faint:
        reasons.append(kinds.of_faint())
    return PruningPlan(codes.d, dropped, constants, " ".join(reasons))


@torch.no_grad()
def change_of(before: OpenModel, after: OpenModel, kept: list[int], *, batch: int = 256) -> Change:
    """On at most 2,000 of the rows, spread over them. Both sides see the same noise in the latents
    that they share; in the dropped ones it comes with both signs, so that what is odd in it
    cancels."""
    latents = before.codes.d
    sign = np.full(latents, -1.0, dtype=np.float32)
    sign[kept] = 1.0
    places = np.linspace(0, before.codes.n - 1, min(MEASURED, before.codes.n)).astype(np.int64)
    generator = torch.Generator().manual_seed(derive(0, "prune"))
    noise = torch.cat(
        [torch.randn(len(some), latents, generator=generator)
         for some in np.split(places, range(batch, len(places), batch))]
    ).numpy()  # fmt: skip
    largest, squares = 0.0, []
    for some in np.split(places, range(batch, len(places), batch)):
        old, new = (_reconstruction(side, some) for side in (before, after))
        moved = (new - old).double()
        largest = max(largest, float(moved.abs().max()))
        squares += moved.square().flatten(1).mean(1).tolist()
    elbo = 0.5 * (before.elbo(places, noise) + before.elbo(places, sign * noise))
    change = after.elbo(places, np.ascontiguousarray(noise[:, kept])) - elbo
    error = float(change.std()) / math.sqrt(len(places))
    return Change(largest, math.sqrt(np.mean(squares)), float(change.mean()), error, len(places))


def _reconstruction(
    model: OpenModel, places: np.ndarray[tuple[int], np.dtype[np.int64]]
) -> torch.Tensor:
    with model.evaluating():
        return model.decode(model.posterior(places).mean, model.u(model.rows[places])).mean


def pruning_of(plan: PruningPlan, change: Change, model: Any, codes: Codes) -> Pruning:
    """The result of a plan that was carried out on these codes."""
    constants = tuple(float(plan.constants[latent]) for latent in plan.dropped)
    return Pruning(
        plan.latents, len(plan.kept), plan.dropped, constants, change.reconstruction,
        change.typical, change.elbo, change.elbo_error, change.n, plan.reason, model,
        price_of(codes, plan.dropped),
    )  # fmt: skip
