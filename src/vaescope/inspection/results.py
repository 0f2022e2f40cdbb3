"""What a dissection finds: frozen numbers. Nothing here computes, draws or writes a page."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np

from vaescope.encoding import Maps
from vaescope.geometry.effective_beta import EffectiveBeta
from vaescope.geometry.overview import KEYS, Overview
from vaescope.inspection.closer_look import CloserLook, overlap_to_dict
from vaescope.inspection.decoder_names import DecoderName
from vaescope.inspection.gallery import Gallery
from vaescope.inspection.network import Network
from vaescope.latent_types import LatentType
from vaescope.latents import LatentGroups, Types
from vaescope.marginal_likelihood import LogLikelihood
from vaescope.measures import Measures
from vaescope.metrics import Score
from vaescope.metrics.score import versions
from vaescope.models import Inference
from vaescope.pruning.price import Price
from vaescope.traversals import Reconstructions, Traversals
from vaescope.types import Double, Floats, Long, Vector
from vaescope.verdicts import THRESHOLDS, Verdict

__all__ = [
    "FactorSummary",
    "Fit",
    "Histograms",
    "Inspection",
    "Latent",
    "MomentSummary",
    "Settings",
    "Subject",
    "Training",
]


@dataclass(frozen=True)
class Subject:
    """What was dissected."""

    name: str  # a run's folder by its name, never by its path
    data: str
    n: int  # examples encoded
    of: int  # examples there are
    says: str  # in one sentence
    kind: str = "images"  # of the data
    columns: tuple[str, ...] = ()  # names of columns, channels or tokens


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
class MomentSummary:
    """Mean and variance of each latent's samples over the data, in units in which the prior is
    N(0, 1); n examples."""

    mean: Vector
    variance: Vector
    n: int
    prior: str = "N(0, I)"
    units: str = ""  # what they are if not those of the codes
    assumed: bool = False  # nobody said the prior
    distance: Vector | None = None  # Kolmogorov's, of each latent's samples from the prior
    distinct: int | None = None  # examples whose means differ; None: all, or they are one point

    @property
    def different(self) -> int:
        return self.n if self.distinct is None else self.distinct

    def beyond(self, span: float) -> tuple[int, ...]:
        """Latents whose mean or standard deviation is above `span`."""
        reach = np.maximum(np.abs(self.mean), np.sqrt(self.variance))
        return tuple(np.flatnonzero(reach > span).tolist())


@dataclass(frozen=True, eq=False)
class Histograms:
    """Densities of means and samples in equal bins, and the prior's at the middle of each; where it
    is finer than a bin, its mean over the bin."""

    edges: Vector  # (bins + 1,), the same for all latents
    mean: Double  # (latent, bins)
    sample: Double
    prior: Double  # (latent, bins) marginal densities
    says: str = "N(0, 1)"  # which prior, and the units if they are not those of the codes

    @property
    def top(self) -> float:
        """Where heights end: at twice the density of N(0, 1), or above the prior's peak."""
        return max(0.8, 1.2 * float(self.prior.max()))

    @property
    def middles(self) -> Vector:
        return 0.5 * (self.edges[1:] + self.edges[:-1])


@dataclass(frozen=True, eq=False)
class FactorSummary:
    """What the latents know of the ground truth."""

    names: tuple[str, ...]
    mig: Score
    normalised: Double  # (latent, factor) I(z; v) / H(v)
    supervised: bool = False  # whether the encoder saw the factors
    by_chance: Vector | None = None  # share of each factor that noise would know; None: 0

    @property
    def least(self) -> Vector:
        """Share of each factor from which on a latent knows it: twice chance, or the threshold."""
        threshold = np.full(len(self.names), THRESHOLDS["knows"].value)
        return threshold if self.by_chance is None else np.maximum(threshold, 2.0 * self.by_chance)


@dataclass(frozen=True)
class Fit:
    """Distortion and rate of the final model, means and standard deviations over n examples."""

    distortion_nats: float
    distortion_sd: float
    rate_nats: float
    rate_sd: float
    n: int
    log_likelihood_nats: float | None = None  # a lower bound by importance weights, mean
    weighted: int = 0  # over so many examples
    draws: int = 0  # with so many draws each
    distortion_of_means: float | None = None  # of decoding means, not samples

    @property
    def elbo_nats(self) -> float:
        return -self.distortion_nats - self.rate_nats

    def to_dict(self) -> dict[str, Any]:
        return {
            "elbo": self.elbo_nats,
            "distortion": self.distortion_nats,
            "rate": self.rate_nats,
            "n": self.n,
            "log_likelihood": self.log_likelihood_nats,
            "log_likelihood_n": self.weighted,
            "draws": self.draws,
            "distortion_of_means": self.distortion_of_means,
        }


@dataclass(frozen=True, eq=False)
class Training:
    """The history of a run: means since the record before."""

    step: Long
    loss: Vector
    distortion: Vector
    rate: Vector  # NaN where the objective has none
    active: Long
    mixed: Long
    passive: Long
    since: int = 0  # the step from which on the objective did not change
    variance: Double | None = None  # (step, latent) mean posterior variance
    latent_kl: Double | None = None  # (step, latent) nats, where it was kept


@dataclass(frozen=True)
class Settings:
    """What made the run."""

    spec: Mapping[str, Any]
    environment: Mapping[str, Any]


@dataclass(frozen=True, eq=False)
class Inspection:
    """All results. What a model or its data do not allow is None."""

    subject: Subject
    latents: tuple[Latent, ...]  # by variance over an unused latent's, the most certain first
    histograms: Histograms
    samples: MomentSummary
    verdicts: tuple[Verdict, ...]
    factors: FactorSummary | None = None
    groups: LatentGroups | None = None  # which latents together hold which factors
    measures: Measures | None = None
    geometry: Overview | None = None
    column_norm: Vector | None = None  # of each latent in the decoder's first layer
    maps: Maps | None = None
    fit: Fit | None = None
    log_likelihood: LogLikelihood | None = None  # of a thorough dissection
    closer_look: CloserLook | None = None  # diagnostics of a thorough dissection
    effective_beta: EffectiveBeta | None = None  # the weight of the rate that the model obeys
    unexplained: float | None = None  # squared error of reconstructions over that of the mean image
    traversals: Traversals | None = None
    axes: Mapping[int, Floats] = field(default_factory=dict)  # outputs along rotated axes
    #: What the decoder shows used latents to do to images, where no factors name them.
    seen: Mapping[int, DecoderName] = field(default_factory=dict)
    reconstructions: Reconstructions | None = None
    gallery: Gallery | None = None  # further pictures
    network: Network | None = None  # the decoder as layers, where the report can run it
    training: Training | None = None
    settings: Settings | None = None
    notes: tuple[str, ...] = ()
    inferred: tuple[Inference, ...] = ()  # about somebody else's model
    skipped: Mapping[str, str] = field(default_factory=dict)  # why a part is None
    types: Types | None = None  # what the latents' types were decided by
    price: Price | None = None  # of dropping the passive latents, where factors are known
    supervised: bool = False  # whether the encoder saw the factors

    def __repr__(self) -> str:
        kinds = [latent.type for latent in self.latents]
        counts = ", ".join(f"{kinds.count(kind)} {kind}" for kind in ("active", "mixed", "passive"))
        return f"Inspection({self.subject.name} on {self.subject.data}: {counts}; see .summary())"

    def summary(self) -> str:
        """What was inferred about the model, then the verdicts, one a line; consequences are
        indented."""
        read = [f"Inferred: {self.read}."] if self.inferred else []
        read += [str(own) for own in self.inferred if own.read in ("poor", "uncertain")]
        return "\n".join([*read, *map(_line, self.verdicts)])

    @property
    def read(self) -> str:
        """What was inferred, e.g. `posterior mean; output probabilities`."""
        return "; ".join(own.short for own in self.inferred)

    def to_dict(self) -> dict[str, Any]:
        """Plain data in the shape of the interface; latents by number."""
        content = self._unmeasured() if self.measures is None else self.measures.to_dict()
        geometry = dict.fromkeys(KEYS) if self.geometry is None else self.geometry.to_dict()
        skipped = {} if self.geometry is None else dict(self.geometry.skipped)
        closer = self.closer_look
        skipped |= {} if closer is None else dict(closer.skipped)
        overlap = None if self.measures is None else self.measures.decomposition.overlap
        return content | {
            "skipped": content.get("skipped", {}) | skipped | dict(self.skipped),
            "geometry": geometry,
            "fit": None if self.fit is None else self.fit.to_dict(),
            "log_likelihood": (
                None if self.log_likelihood is None else self.log_likelihood.to_dict()
            ),
            "diagnostics": None if closer is None else closer.to_dict(),
            "overlap": overlap_to_dict(overlap, self.subject.of),
            "effective_beta": (
                None if self.effective_beta is None else self.effective_beta.to_dict()
            ),
            "column_norm": None if self.column_norm is None else self.column_norm.tolist(),
            "groups": [] if self.groups is None else self.groups.to_dict()["groups"],
            "maps": None if self.maps is None else self.maps.to_dict(),
            "inferred": [
                {
                    "what": own.what,
                    "value": own.read,
                    "why": own.why,
                    "margin": getattr(own, "margin", None),
                }
                for own in self.inferred
            ],
            "reconstruction": self.unexplained,
            "notes": [*map(str, self.inferred), *self.notes],
            "verdicts": [verdict.to_dict() for verdict in self.verdicts],
        }

    def _unmeasured(self) -> dict[str, Any]:
        """What stands in the place of measures where only the latents' types were asked for."""
        content: dict[str, Any] = {
            "n": self.subject.n, "d": len(self.latents), "metrics": {}, "correlation": None,
            "decomposition": None, "versions": dict(versions()),
        }  # fmt: skip
        parts = ("metrics", "correlation", "decomposition", *KEYS, "effective_beta", "overlap")
        why = "not part of this effort: --effort fast or more measures it"
        types = {} if self.types is None else {"latents": self.types.to_dict()}
        return content | types | {"skipped": dict.fromkeys(parts, why)}

    def save(self, path: str | Path, *, images: bool = True) -> None:
        """Writes the report: one HTML file. `images=False` leaves the data's pictures out."""
        # By name: the report stands above this floor and is only there for those who ask for it.
        import_module("vaescope.report").save(self, path, images=images)

    def _repr_html_(self) -> str:
        return str(import_module("vaescope.report.cards").inspection_card(self))


def _line(verdict: Verdict) -> str:
    return f"{'' if verdict.cause is None else '  '}{verdict.says} {verdict.advice}"
