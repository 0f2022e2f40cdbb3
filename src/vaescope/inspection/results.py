"""What a dissection finds: frozen numbers. Nothing here computes, draws or writes a page."""

import html
from collections.abc import Mapping
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from vaescope.metrics import Score
from vaescope.regime import LatentType
from vaescope.traversals import Reconstructions, Traversals
from vaescope.verdicts import Verdict

__all__ = [
    "Factors",
    "Fit",
    "Histograms",
    "Inspection",
    "Latent",
    "Moments",
    "Settings",
    "Subject",
    "Training",
]

Vector = NDArray[np.float64]


@dataclass(frozen=True)
class Subject:
    """What was dissected."""

    name: str  # a run's folder by its name, never by its path
    data: str
    n: int  # examples encoded
    of: int  # examples there are
    says: str  # in one sentence


@dataclass(frozen=True)
class Latent:
    """One latent over the data."""

    index: int
    type: LatentType
    kl_nats: float | None  # None: a point posterior has no finite rate
    variance_of_mean: float
    mean_variance: float
    variance_of_variance: float
    factor: str | None = None  # the one that it knows best, where it knows any
    knowledge: float | None = None  # I(z; factor) / H(factor)


@dataclass(frozen=True, eq=False)
class Moments:
    """Mean and variance of each latent's samples over the data; n examples."""

    mean: Vector
    variance: Vector
    n: int


@dataclass(frozen=True, eq=False)
class Histograms:
    """Densities of means and samples in equal bins, and the prior's at the middle of each."""

    edges: Vector  # (bins + 1,), the same for all latents
    mean: NDArray[np.float64]  # (latent, bins)
    sample: NDArray[np.float64]
    prior: Vector  # (bins,) N(0, 1)

    @property
    def middles(self) -> Vector:
        return 0.5 * (self.edges[1:] + self.edges[:-1])


@dataclass(frozen=True, eq=False)
class Factors:
    """What the latents know of the ground truth."""

    names: tuple[str, ...]
    mig: Score
    normalised: NDArray[np.float64]  # (latent, factor) I(z; v) / H(v)


@dataclass(frozen=True)
class Fit:
    """Distortion and rate of the final model, means and standard deviations over n examples."""

    distortion_nats: float
    distortion_sd: float
    rate_nats: float
    rate_sd: float
    n: int


@dataclass(frozen=True, eq=False)
class Training:
    """The history of a run: means since the record before."""

    step: NDArray[np.int64]
    loss: Vector
    distortion: Vector
    rate: Vector  # NaN where the objective has none
    active: NDArray[np.int64]
    mixed: NDArray[np.int64]
    passive: NDArray[np.int64]


@dataclass(frozen=True)
class Settings:
    """What made the run."""

    spec: Mapping[str, Any]
    environment: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Inspection:
    """All results. What a model or its data do not allow is None."""

    subject: Subject
    latents: tuple[Latent, ...]  # by mean posterior variance, the most certain first
    histograms: Histograms
    samples: Moments
    verdicts: tuple[Verdict, ...]
    factors: Factors | None = None
    fit: Fit | None = None
    traversals: Traversals | None = None
    reconstructions: Reconstructions | None = None
    training: Training | None = None
    settings: Settings | None = None
    notes: tuple[str, ...] = ()

    def summary(self) -> str:
        """The verdicts, one a line."""
        return "\n".join(f"{verdict.says} {verdict.advice}" for verdict in self.verdicts)

    def to_dict(self) -> dict[str, Any]:
        """Plain data in the shape of the interface; latents by number."""
        rows = sorted(self.latents, key=lambda latent: latent.index)
        score = None if self.factors is None else self.factors.mig
        metrics = {} if score is None else {"mig": _score(score)}
        return {
            "n": self.subject.n,
            "d": len(rows),
            "metrics": {"mean": metrics, "sample": {}},
            "latents": {
                "types": [row.type for row in rows],
                "mean_variance": [row.mean_variance for row in rows],
                "variance_of_variance": [row.variance_of_variance for row in rows],
                "kl": [row.kl_nats for row in rows],
                "variance_of_mean": [row.variance_of_mean for row in rows],
            },
            "verdicts": [verdict.to_dict() for verdict in self.verdicts],
        }

    def save(self, path: str | Path, *, images: bool = True) -> None:
        """Writes the report: one HTML file. `images=False` leaves the data's pictures out."""
        # By name: the report stands above this floor and is only there for those who ask for it.
        import_module("vaescope.report").save(self, path, images=images)

    def _repr_html_(self) -> str:
        return f"<pre>{html.escape(self.summary())}</pre>"


def _score(score: Score) -> dict[str, Any]:
    return {
        "value": score.value,
        "interval": score.interval,
        "protocol": score.protocol.to_dict(),
        "details": {name: array.tolist() for name, array in score.details.items()},
    }
