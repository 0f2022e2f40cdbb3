"""A prior that depends on what the model is conditioned on: p(z|u), as its owner gives it."""

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch import distributions as td

from vaescope.adapters.condition import Form
from vaescope.distributions import DiagonalGaussian
from vaescope.errors import ShapeError, UsageError
from vaescope.prior_density import GaussianDensity, PriorDensity
from vaescope.vae import Prior

__all__ = ["PriorOfCondition", "depends"]


def depends(given: Any) -> bool:
    """Whether what was given as `prior=` is a function of the condition."""
    known = (str, Prior, PriorDensity, td.Distribution, tuple, list)
    return callable(given) and not isinstance(given, known) and not hasattr(given, "log_prob")


class PriorOfCondition(Prior):
    """The Normal that a function gives of the condition, in the form in which the model takes it;
    nothing of it is learnt."""

    def __init__(self, function: Callable[..., Any], form: Form | None, latent: int) -> None:
        super().__init__()
        if form is None:
            raise UsageError(
                "prior= is a function, and there is no condition that it could be given.",
                "Pass condition= too, or a prior that is the same for all examples.",
            )
        self.form, self.latent = form, latent
        # In a tuple, so that a module does not become a part of this one.
        self._held = (function,)

    def forward(self, u: Tensor | None = None) -> DiagonalGaussian:
        if u is None:
            raise UsageError(
                "This prior depends on the condition.", "Pass the rows of the condition."
            )
        own = next(
            (one for one in _parameters(self._held[0]) if one.is_floating_point()), torch.zeros(())
        )
        parts = [part for role, part in self.form(u) if role == "condition"]
        parts = [
            part.to(own) if part.is_floating_point() else part.to(own.device) for part in parts
        ]
        found = self._held[0](*parts)
        while isinstance(found, td.Independent):
            found = found.base_dist
        if not isinstance(found, td.Normal):
            raise UsageError(
                f"prior= returned {type(found).__name__} of the condition; wanted a Normal.",
                "Return torch.distributions.Normal(mean, std) with a row for each example.",
            )
        mean, scale = (part.to(u.device) for part in (found.loc, found.scale))
        if tuple(mean.shape) != (len(u), self.latent):
            raise ShapeError(
                f"prior= returned shape {tuple(mean.shape)} of {len(u)} examples; the model has "
                f"{self.latent} latents.",
                "Return one mean and one standard deviation for each example and latent.",
            )
        return DiagonalGaussian(mean, 2.0 * scale.log())

    @torch.no_grad()
    def density(self, u: Tensor | None = None) -> GaussianDensity:
        p = self(u)
        return GaussianDensity(p.mean.double().cpu().numpy(), p.variance.double().cpu().numpy())


def _parameters(function: Any) -> list[Tensor]:
    owner = getattr(function, "__self__", function)
    return list(owner.parameters()) if isinstance(owner, torch.nn.Module) else []
