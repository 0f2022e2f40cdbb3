"""Dissects codes: types, rates, histograms and what the latents know. Needs no model."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from vaescope.codes import Codes
from vaescope.inspection.results import Factors, Histograms, Inspection, Latent, Moments, Subject
from vaescope.latents import kl, types
from vaescope.measures import Measures, measure_codes
from vaescope.metrics import mig
from vaescope.verdicts import THRESHOLDS, judge

__all__ = ["describe_codes", "inspect_codes", "judged"]


def _factors(codes: Codes, measures: Measures | None) -> Factors | None:
    if codes.factors is None or codes.d < 2 or not np.ptp(codes.factors, axis=0).any():
        return None
    score = None if measures is None else measures.scores.get("mean", {}).get("mig")
    score = mig(codes) if score is None else score
    varies = score.details["entropy"] > 0
    entropy = score.details["entropy"][varies]
    names = tuple(np.array(codes.factor_names)[varies].tolist())
    normalised = score.details["mutual_information"][:, varies] / entropy
    return Factors(names, score, normalised)


def _known(factors: Factors | None, latent: int) -> tuple[str, float] | None:
    """The factor that a latent knows best, where it knows any."""
    if factors is None:
        return None
    best = int(factors.normalised[latent].argmax())
    share = float(factors.normalised[latent, best])
    return (factors.names[best], share) if share >= THRESHOLDS["knows"].value else None


def _latents(codes: Codes, factors: Factors | None) -> tuple[Latent, ...]:
    kinds = types(codes)
    nats = kl(codes).nats
    spread = codes.mean.astype(np.float64).var(axis=0)
    rows = []
    for index in np.argsort(kinds.mean_variance, kind="stable").tolist():
        # The mean of a passive latent may know a factor too, but its samples drown it in noise.
        known = None if kinds.names[index] == "passive" else _known(factors, index)
        rows.append(
            Latent(
                index,
                kinds.names[index],
                float(nats[index]) if np.isfinite(nats[index]) else None,
                float(spread[index]),
                float(kinds.mean_variance[index]),
                float(kinds.variance_of_variance[index]),
                None if known is None else known[0],
                None if known is None else known[1],
            )
        )
    return tuple(rows)


def _histograms(codes: Codes, *, bins: int = 41) -> Histograms:
    """Bins from -4 to 4, or as far as the codes reach; an odd number of them, so that the spike of
    a passive latent stands in one."""
    reach = max(4.0, float(np.abs(codes.mean).max()), float(np.abs(codes.sample).max()))
    edges = np.linspace(-reach, reach, bins + 1)
    middles = 0.5 * (edges[1:] + edges[:-1])
    mean, sample = (
        np.array([np.histogram(column, bins=edges, density=True)[0] for column in values.T])
        for values in (codes.mean, codes.sample)
    )
    return Histograms(edges, mean, sample, np.exp(-0.5 * middles**2) / np.sqrt(2.0 * np.pi))


def _moments(codes: Codes) -> Moments:
    """Of the samples, in units of the prior where the codes have one."""
    sample = codes.sample.astype(np.float64)
    if codes.prior_mean is not None:
        sample = sample - codes.prior_mean
    if codes.prior_variance is not None:
        sample = sample / np.sqrt(codes.prior_variance)
    return Moments(sample.mean(axis=0), sample.var(axis=0), codes.n)


def describe_codes(
    codes: Codes, subject: Subject, *, metrics: Sequence[str] | None = None, measured: bool = True
) -> Inspection:
    """All that codes alone tell, without verdicts. `metrics` None: all; `measured=False`: types
    and rates of the latents only."""
    measures = None
    if measured:
        has_factors = codes.factors is not None or codes.factor_values is not None
        measures = measure_codes(codes, metrics=metrics if has_factors else None)
    factors = _factors(codes, measures)
    latents = _latents(codes, factors)
    return Inspection(
        subject, latents, _histograms(codes), _moments(codes), (), factors, measures=measures
    )


def judged(found: Inspection) -> Inspection:
    """The same with what follows from its parts."""
    verdicts = judge(
        found.latents, found.samples, factors=found.factors, measures=found.measures,
        geometry=found.geometry, traversals=found.traversals, training=found.training,
        maps=found.maps,
    )  # fmt: skip
    return replace(found, verdicts=verdicts)


def inspect_codes(
    codes: Codes, subject: Subject, *, metrics: Sequence[str] | None = None
) -> Inspection:
    """All that codes alone tell: whose they are does not matter. `metrics` None: all."""
    return judged(describe_codes(codes, subject, metrics=metrics))
