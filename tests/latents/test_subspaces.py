"""Codes under independent subspaces are compared with that prior, with its dependence too."""

from dataclasses import replace

import numpy as np
import pytest
import torch
from scipy import stats

from vaescope.codes import Codes
from vaescope.decomposition import aggregate, inclusive_kl
from vaescope.decomposition.aggregate import mmd
from vaescope.inspection.codes import inspect_codes
from vaescope.inspection.results import Subject
from vaescope.latents import kl, types
from vaescope.latents.kl import rate
from vaescope.prior_density import SubspacesDensity
from vaescope.priors import SubspacesPrior
from vaescope.pruning.result import plan_of
from vaescope.types import Floats

DF, N = 3.0, 300
PRIOR = SubspacesPrior((2, 2), DF, variance=2.0).double()
SUBJECT = Subject("codes", "data", N, N, "")


def unrelated() -> Codes:
    """Posteriors that have nothing to do with the prior."""
    generator = np.random.default_rng(3)
    mean = generator.normal(size=(N, 4)) * [0.7, 0.02, 2.0, 1.0]
    variance = generator.uniform(0.2, 0.6, size=(N, 4)) * [1.0, 0.01, 0.1, 1.0]
    sample = mean + np.sqrt(variance) * generator.normal(size=mean.shape)
    return Codes(mean, variance, sample, prior=PRIOR.density())


def following(n: int = 10_000) -> Codes:
    """Each row's posterior is the Gaussian that it drew of those that the prior is made of: one
    width for a group."""
    generator = np.random.default_rng(11)
    width = 2.0 * DF / generator.chisquare(DF, size=(n, 2))
    mean, variance = np.zeros((n, 4)), np.repeat(width, 2, axis=1)
    sample = np.sqrt(variance) * generator.normal(size=mean.shape)
    return Codes(mean, variance, sample, prior=PRIOR.density())


@pytest.mark.slow
def test_rate_and_kl_of_each_latent_are_those_of_torch() -> None:
    codes = unrelated()
    mean, deviation = torch.from_numpy(codes.mean), torch.from_numpy(codes.variance).sqrt()
    generator = torch.Generator().manual_seed(5)
    z = mean + deviation * torch.randn(2000, N, 4, generator=generator, dtype=torch.double)
    log_q = torch.distributions.Normal(mean, deviation).log_prob(z)
    gaps = (log_q.sum(-1) - torch.stack([PRIOR().log_prob(row) for row in z])).mean(1)
    found = rate(codes)
    error = np.hypot(float(gaps.std()) / np.sqrt(len(gaps)), found.standard_error)
    assert found.standard_error > 0
    assert found.value == pytest.approx(float(gaps.mean()), abs=4 * error)
    # A marginal of a multivariate Student-t is a Student-t.
    marginal = torch.distributions.StudentT(DF, torch.zeros(4).double(), 2.0**0.5)
    each = (log_q - marginal.log_prob(z)).mean(1)
    nats = kl(codes)
    assert nats.marginal and nats.prior == codes.prior.says
    error = (each.std(0) / np.sqrt(len(each))).numpy()
    assert np.all(np.abs(nats.nats - each.mean(0).numpy()) < 4 * error + 1e-4)


def test_an_unused_group_is_passive_and_pruned_and_a_used_one_is_not() -> None:
    codes = following(N)
    variance = np.tile(codes.prior.unused_variance(), (N, 1))
    constant = Codes(np.zeros((N, 4)), variance, codes.sample, prior=codes.prior)
    found = types(constant)
    assert found.names == types(constant, criterion="kl").names == ("passive",) * 4
    np.testing.assert_allclose(found.mean_ratio, 1.0)
    mean = constant.mean.copy()
    mean[:, 2:] = codes.sample[:, 2:]
    variance[:, 2:] *= 0.01
    used = replace(constant, mean=mean, variance=variance)
    assert types(used).names == ("passive", "passive", "active", "active")
    assert plan_of(used).dropped == (0, 1)


@pytest.mark.slow
def test_codes_that_follow_their_prior_match_it() -> None:
    """MMD within what two sets of draws have by chance (99%), and KL(p || q) below 0.05 nats."""
    codes = following()
    found = aggregate(codes)
    assert found.inclusive_kl is not None and found.inclusive_kl.value < 0.05
    generator = np.random.default_rng(0)
    chance = [
        mmd(codes.prior.draw(generator, 1000), codes.prior.draw(generator, 1000)) for _ in range(30)
    ]
    assert abs(found.mmd - np.mean(chance)) < 2.58 * np.std(chance)


@pytest.mark.slow
@pytest.mark.parametrize("pairs", [((0,), (1,), (2,), (3,)), ((0, 2), (1, 3))])
def test_codes_with_its_marginals_and_without_its_groups_do_not_match(
    pairs: tuple[tuple[int, ...], ...],
) -> None:
    """A product of the same Student-ts, and the same latents grouped otherwise: KL(p || q) to the
    codes of the groups is that of the two priors, by scipy."""
    codes, rng = following(), np.random.default_rng(2)
    groups = np.empty(4, np.int64)
    for number, pair in enumerate(pairs):
        groups[list(pair)] = number
    other = SubspacesDensity(DF, np.zeros(4), np.full(4, 2.0**0.5), groups)

    def log_prob(z: Floats, split: tuple[tuple[int, ...], ...]) -> Floats:
        parts = [
            stats.multivariate_t(np.zeros(len(g)), 2.0 * np.eye(len(g)), df=DF).logpdf(z[:, g])
            for g in split
        ]
        return np.sum(parts, axis=0)

    z = other.draw(rng, 100_000)
    gap = log_prob(z, pairs) - log_prob(z, ((0, 1), (2, 3)))
    error = gap.std() / np.sqrt(len(gap))
    assert gap.mean() > 10 * error
    same, found = inclusive_kl(codes), inclusive_kl(replace(codes, prior=other))
    error = np.linalg.norm([error, same.standard_error, found.standard_error])
    # `same` is what 10,000 rows leave over: they are no density of the whole prior.
    assert found.value == pytest.approx(gap.mean() + same.value, abs=4 * error)


def test_the_report_draws_its_marginals_and_names_it() -> None:
    codes = following(500)
    found = inspect_codes(codes, SUBJECT)
    histograms = found.histograms
    assert histograms.says == codes.prior.says
    middles = 0.5 * (histograms.edges[1:] + histograms.edges[:-1])
    marginal = torch.distributions.StudentT(DF, 0.0, 2.0**0.5)
    wanted = marginal.log_prob(torch.from_numpy(middles)).exp().numpy()
    near = np.abs(middles) > 3.0  # narrower than a bin at the centre: the mean over it is drawn
    np.testing.assert_allclose(histograms.prior[0][near], wanted[near], rtol=0.2)
    assert {one.tone for one in found.verdicts if one.id == "prior"} <= {"good"}
