"""How near each used latent is to its collapse, and how many more latents residuals would pay for.

A new latent that adds z w to the decoder's natural parameters changes distortion + beta * rate, to
second order in w, by (beta w'Fw - E[(w'r)^2]) / (2 beta): r is the score x - mean (over the pixel
variance for a Gaussian), F the Fisher information of the outputs. It pays where an eigenvalue of
F^-1/2 E[r r'] F^-1/2 exceeds beta. In a linear model these are the eigenvalues of the data over
the pixel variance (Tipping and Bishop 1999), and a latent in use, of posterior variance v under a
prior of variance s, dies at beta s / v.
"""

from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from scipy import stats

from vaescope.adapters.likelihoods import InUnits
from vaescope.distributions import Bernoulli, DiagonalGaussian, Distribution
from vaescope.models import OpenModel
from vaescope.types import Integers, Matrix, Vector
from vaescope.wording import listed

__all__ = ["LatentMargins", "margins_of"]


#: Rows of residuals, and directions that are tried.
ROWS, DIRECTIONS = 2_000, 64
#: The chance of even one direction that is said to pay at the present weight and does not.
LEVEL = 0.05


@dataclass(frozen=True)
class LatentMargins:
    """What another weight of the rate would do to a model, from its present state alone."""

    beta: float
    collapse: dict[int, float]  # the weight at which each used latent would die
    more_at_half: int | None  # latents that residuals would pay for at half of the weight
    more_now: int | None  # and, beyond doubt, at the present one
    limit: int | None = None  # directions that were tried

    def summary(self) -> str:
        nearest = min(self.collapse, key=self.collapse.__getitem__)
        times = self.collapse[nearest] / self.beta
        lines = [
            f"Latent {nearest} is nearest to collapse: it would become passive at a beta of about "
            f"{self.collapse[nearest]:.3g}, {times:.2g} times this beta."
        ]
        if self.more_at_half is not None and self.more_now is not None:
            more = "no" if self.more_at_half == 0 else str(self.more_at_half)
            if 0 < self.more_at_half == self.limit:
                more = f"at least {more}"
            plural = "" if self.more_at_half == 1 else "s"
            lines.append(
                f"At half of this beta the residuals would justify {more} more latent{plural}."
            )
            if self.more_now:
                lines.append(
                    f"At this beta they would already justify {self.more_now}: the model has too "
                    "few latents, or training has not found them."
                )
        return " ".join(lines)

    def to_dict(self) -> dict[str, Any]:
        return {
            "collapse": {str(j): beta for j, beta in self.collapse.items()},
            "more_at_half": self.more_at_half,
            "more_now": self.more_now,
            "says": self.summary(),
        }

    def near(self, beta: float) -> str:
        """Which latents would die at that weight."""
        return listed([j for j, own in self.collapse.items() if own <= beta])


def margins_of(
    model: OpenModel, beta: float, brackets: dict[int, float], used: list[int]
) -> LatentMargins:
    """Of a model that acts with `beta`; a bracket is 1 - v / s of a latent, mean over rows."""
    collapse = {j: beta / max(1.0 - own, 1e-12) for j, own in brackets.items()}
    found = _residual_eigenvalues(model, used)
    if found is None:
        return LatentMargins(beta, collapse, None, None)
    # At an optimum all that is noise pays exactly beta: half of its directions would exceed it.
    doubt = stats.norm.isf(LEVEL / len(found.values)) * found.errors
    now = int((found.values - doubt > beta).sum())
    return LatentMargins(
        beta, collapse, int((found.values > beta / 2).sum()), now, len(found.values)
    )


@dataclass(frozen=True)
class _Residuals:
    """In units of beta, descending, with their standard errors over rows."""

    values: Vector
    errors: Vector


def _residual_eigenvalues(model: OpenModel, used: list[int]) -> _Residuals | None:
    """None where the likelihood has no form for it here.

    Directions are found on half of the rows and measured on the other half, so that noise does
    not count. What is a linear function of the posterior means is taken out: it is shrinkage of
    latents that are there already.
    """
    places = np.unique(np.linspace(0, model.codes.n - 1, min(ROWS, model.codes.n)).astype(np.int64))
    scores = _scores(model, places)
    if scores is None:
        return None
    score, information = scores
    known = np.column_stack([np.ones(len(places)), model.codes.mean[places][:, used]])
    halves = np.arange(len(places)) % 2 == 0
    fit, *_ = np.linalg.lstsq(known[halves], score[halves], rcond=None)
    # A value that is never uncertain has no information; one row may still have missed it.
    whitened = (score - known @ fit) / np.sqrt(np.maximum(information, 1.0 / len(places)))
    first, second = whitened[halves], whitened[~halves]
    count = min(DIRECTIONS, len(first) - 1, score.shape[1])
    values, vectors = np.linalg.eigh(first @ first.T)
    chosen = values > 1e-9 * max(values[-1], 1e-300)
    kept = np.flatnonzero(chosen)[::-1][:count]
    along = first.T @ (vectors[:, kept] / np.sqrt(values[kept]))  # (values, directions)
    squares = np.square(second @ along)
    values, errors = squares.mean(0), squares.std(0, ddof=1) / np.sqrt(len(squares))
    order = np.argsort(values)[::-1]
    return _Residuals(values[order], errors[order])


def _scores(
    model: OpenModel, places: Integers, *, batch: int = 256
) -> tuple[Matrix, Vector] | None:
    """Scores of the natural parameters (rows, values), and their mean information (values,)."""
    found, information = [], []
    with model.evaluating():
        for start in range(0, len(places), batch):
            rows = model.rows[places[start : start + batch]]
            q = model.posterior(places[start : start + batch])
            one = _score(model.decode(q.mean, model.u(rows)), model.x(rows))
            if one is None:
                return None
            found.append(one[0].flatten(1).double().cpu().numpy())
            information.append(one[1].flatten(1).double().cpu().numpy())
    return np.concatenate(found), np.concatenate(information).mean(0)


def _score(decoded: Distribution, x: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor] | None:
    if isinstance(decoded, InUnits):
        low, high = decoded.units
        return _score(decoded.inner, low + (high - low) * x)
    if isinstance(decoded, Bernoulli):
        mean = decoded.mean
        return x - mean, mean * (1.0 - mean)
    if isinstance(decoded, DiagonalGaussian):
        precision = (-decoded.log_variance).exp().expand_as(decoded.loc)
        return (x - decoded.loc) * precision, precision
    return None
