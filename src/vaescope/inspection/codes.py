"""Dissects codes: types, rates, histograms and what the latents know. Needs no model."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np
from scipy.special import ndtr

from vaescope.codes import Codes
from vaescope.inspection.results import (
    FactorSummary,
    Histograms,
    Inspection,
    Latent,
    MomentSummary,
    Subject,
)
from vaescope.latents import Types, kl, types
from vaescope.latents.groups import groups_if_known
from vaescope.measures import Measures, measure_codes
from vaescope.metrics import mig
from vaescope.metrics.suite import STANDARD
from vaescope.prior_density import GaussianDensity, PriorDensity, standard_normal
from vaescope.pruning.price import price_of
from vaescope.types import Double
from vaescope.verdicts import judge

__all__ = ["describe_codes", "inspect_codes", "judged"]


def _factors(codes: Codes, measures: Measures | None) -> FactorSummary | None:
    if codes.factors is None or codes.d < 2 or not np.ptp(codes.factors, axis=0).any():
        return None
    score = None if measures is None else measures.scores.get("mean", {}).get("mig")
    score = mig(codes) if score is None else score
    varies = score.details["entropy"] > 0
    entropy = score.details["entropy"][varies]
    names = tuple(np.array(codes.factor_names)[varies].tolist())
    normalised = score.details["mutual_information"][:, varies] / entropy
    # Bias of plug-in information, to first order (Miller 1955): (bins - 1)(classes - 1) / 2n.
    classes = np.array([len(np.unique(column)) for column in codes.factors.T])[varies]
    bins = int(score.protocol.settings["bins"])
    by_chance = (bins - 1) * (classes - 1) / (2.0 * score.protocol.n * entropy)
    return FactorSummary(names, score, normalised, codes.supervised, by_chance)


def _known(factors: FactorSummary | None, latent: int) -> tuple[str, float] | None:
    """The factor that a latent knows best, where it knows any."""
    if factors is None:
        return None
    best = int(factors.normalised[latent].argmax())
    share = float(factors.normalised[latent, best])
    return (factors.names[best], share) if share >= factors.least[best] else None


def _latents(codes: Codes, factors: FactorSummary | None, kinds: Types) -> tuple[Latent, ...]:
    nats = kl(codes).nats
    spread = codes.mean.astype(np.float64).var(axis=0)
    rows = []
    for index in np.argsort(kinds.mean_ratio, kind="stable").tolist():
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
    """Bins from -4 to 4 standard deviations of the prior, or as far as the codes reach; an odd
    number of them, so that the spike of a passive latent stands in one.

    Under a Gaussian prior codes are in its units: its scale may differ between latents, between
    examples, and is free where it is learnt.
    """
    prior, mean, sample = codes.prior, codes.mean, codes.sample
    says = "N(0, 1)" if prior.standard else prior.says
    if isinstance(prior, GaussianDensity) and not prior.standard:
        says = "N(0, 1), in units of the prior" + (" of each example" if prior.per_row else "")
        mean, sample = prior.normal_scores(mean), prior.normal_scores(sample)
        prior = standard_normal(codes.d)
    widest = prior.mean + 4.0 * np.sqrt(np.where(np.isfinite(prior.variance), prior.variance, 1.0))
    reach = max(*np.abs(widest), float(np.abs(mean).max()), float(np.abs(sample).max()))
    edges = np.linspace(-reach, reach, bins + 1)
    of_means, of_samples = (
        np.array([np.histogram(column, bins=edges, density=True)[0] for column in values.T])
        for values in (mean, sample)
    )
    return Histograms(edges, of_means, of_samples, _prior_densities(prior, edges), says)


def _prior_densities(prior: PriorDensity, edges: Double) -> Double:
    """(latent, bins) At the middle of each bin, or the mean over it of what is finer."""
    width = edges[1] - edges[0]
    middles = 0.5 * (edges[1:] + edges[:-1])
    rows = []
    for j, grain in enumerate(prior.grain):
        if grain > width:
            rows.append(np.exp(prior.log_marginal(j, middles)))
            continue
        below, above = prior.tails(j, edges)
        rows.append(np.where(middles < prior.mean[j], np.diff(below), -np.diff(above)) / width)
    return np.array(rows)


def _moments(codes: Codes) -> MomentSummary:
    """Of the samples, as normal scores of the prior."""
    prior = codes.prior
    scores = prior.normal_scores(codes.sample.astype(np.float64))
    units = "in normal scores of the prior"
    if isinstance(prior, GaussianDensity):
        units = "" if prior.standard else "in units of the prior"
    distinct = len(np.unique(codes.mean, axis=0))
    return MomentSummary(
        scores.mean(axis=0), scores.var(axis=0), codes.n, prior.says, units, codes.prior_assumed,
        _distances(scores), None if distinct == 1 else distinct,
    )  # fmt: skip


def _distances(scores: Double) -> Double:
    """The largest gap between the distribution of each column and N(0, 1)'s: Kolmogorov 1933."""
    n = len(scores)
    below = ndtr(np.sort(scores, axis=0))
    steps = np.arange(n + 1)[:, None] / n
    return np.asarray(np.maximum(steps[1:] - below, below - steps[:-1]).max(axis=0))


def describe_codes(
    codes: Codes, subject: Subject, *, metrics: Sequence[str] | None = None, measured: bool = True
) -> Inspection:
    """All that codes alone tell, without verdicts. `metrics` None: `STANDARD`; `measured=False`:
    types and rates of the latents only."""
    measures = None
    if measured:
        has_factors = codes.factors is not None or codes.factor_values is not None
        chosen = STANDARD if metrics is None else metrics
        measures = measure_codes(codes, metrics=chosen if has_factors else ())
    factors = _factors(codes, measures)
    kinds = types(codes) if measures is None else measures.types
    # It learns classifiers, which is asked for with all metrics.
    priced = measured and metrics is None and 0 < len(kinds.passive) < codes.d
    price = price_of(codes, kinds.passive.tolist()) if priced else None
    return Inspection(
        subject, _latents(codes, factors, kinds), _histograms(codes), _moments(codes), (), factors,
        groups=groups_if_known(codes, kinds) if measured else None, measures=measures,
        types=kinds, price=price, supervised=codes.supervised,
    )  # fmt: skip


def judged(found: Inspection) -> Inspection:
    """The same with what follows from its parts."""
    verdicts = judge(
        found.latents, found.samples, types=found.types, factors=found.factors, groups=found.groups,
        measures=found.measures, geometry=found.geometry, traversals=found.traversals,
        training=found.training, maps=found.maps, price=found.price, supervised=found.supervised,
        unexplained=found.unexplained, read=any(not one.told for one in found.inferred),
    )  # fmt: skip
    return replace(found, verdicts=verdicts)


def inspect_codes(
    codes: Codes, subject: Subject, *, metrics: Sequence[str] | None = None
) -> Inspection:
    """All that codes alone tell: whose they are does not matter. `metrics` None: all."""
    return judged(describe_codes(codes, subject, metrics=metrics))
