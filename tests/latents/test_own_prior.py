"""Codes are compared with their own prior: against direct computations with the torch prior, on
codes that follow it, and on codes that ignore x."""

from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from vaescope.codes import Codes
from vaescope.decomposition import aggregate, inclusive_kl
from vaescope.decomposition.aggregate import mmd
from vaescope.inspection.codes import inspect_codes
from vaescope.inspection.results import Subject
from vaescope.latents import kl, mixture, polarised, types
from vaescope.latents.kl import rate
from vaescope.prior_density import (
    GaussianDensity,
    LaplaceDensity,
    MixtureDensity,
    PriorDensity,
    SparseDensity,
    StudentTDensity,
)
from vaescope.priors import (
    AnisotropicPrior,
    ConditionalPrior,
    MixturePrior,
    SparsePrior,
    StudentTPrior,
)
from vaescope.priors.mixture import axis_means
from vaescope.pruning.result import plan_of
from vaescope.vae import Prior
from vaescope.watching import watch

N = 300
SUBJECT = Subject("codes", "data", N, N, "")
U = torch.randn(N, 3, generator=torch.Generator().manual_seed(1))


def conditional() -> ConditionalPrior:
    """Means that spread by 2 and variances from about e^-2 to e^2."""
    prior = ConditionalPrior(3, 2, learned_mean=True)
    generator = torch.Generator().manual_seed(0)
    assert prior.mean is not None
    for network in (prior.mean, prior.log_variance):
        last = network[-1]
        assert isinstance(last, nn.Linear)
        with torch.no_grad():
            last.weight.copy_(torch.randn(last.weight.shape, generator=generator))
    return prior


PRIORS: dict[str, Prior] = {
    "pinwheel": MixturePrior(axis_means(2)),
    "sparse": SparsePrior(2, 0.8),
    "student-t": StudentTPrior(2, 5.0, variance=2.0),
    "anisotropic": AnisotropicPrior(torch.tensor([-2.0, 1.0]), variance=3.0),
    "conditional": conditional(),
}


def u_of(name: str) -> Tensor | None:
    return U if name == "conditional" else None


@dataclass(frozen=True)
class Case:
    """Posteriors that have nothing to do with the prior, with the torch prior beside them."""

    codes: Codes
    mean: Tensor
    deviation: Tensor
    prior: Prior
    u: Tensor | None

    def log_prior(self, z: Tensor) -> Tensor:
        """log p(z|u) of points (draws, n, latent), point by point, in float64."""
        own = self.prior(self.u)
        return torch.stack([own.log_prob(points) for points in z])


def case(name: str) -> Case:
    generator = np.random.default_rng(3)
    mean = generator.normal(size=(N, 2)) * [0.7, 0.02]
    variance = generator.uniform(0.2, 0.6, size=(N, 2)) * [1.0, 0.01]
    prior = PRIORS[name].double()
    u = u_of(name)
    density = prior.density(None if u is None else u.double())
    sample = mean + np.sqrt(variance) * generator.normal(size=mean.shape)
    codes = Codes(mean, variance, sample, prior=density)
    return Case(
        codes, torch.from_numpy(mean), torch.from_numpy(variance).sqrt(), prior,
        None if u is None else u.double(),
    )  # fmt: skip


@torch.no_grad()
def direct_rate(of: Case, draws: int = 2000) -> tuple[float, float]:
    """Mean of log q - log p at samples of q, and its standard error."""
    noise = torch.randn(draws, N, 2, generator=torch.Generator().manual_seed(5), dtype=torch.double)
    z = of.mean + of.deviation * noise
    log_q = torch.distributions.Normal(of.mean, of.deviation).log_prob(z).sum(-1)
    gaps = (log_q - of.log_prior(z)).mean(1)
    return float(gaps.mean()), float(gaps.std() / draws**0.5)


@pytest.mark.slow
@pytest.mark.parametrize("name", PRIORS)
def test_the_rate_is_that_of_torch(name: str) -> None:
    of = case(name)
    wanted, error = direct_rate(of)
    found = rate(of.codes)
    assert found.value == pytest.approx(wanted, abs=4 * np.hypot(error, found.standard_error))
    assert (found.standard_error > 0) == (name == "pinwheel")


@pytest.mark.slow
@pytest.mark.parametrize("name", PRIORS)
def test_kl_of_each_latent_is_that_of_torch(name: str) -> None:
    """Of one latent where p is a product: the other is at the same place in q and p. The marginals
    of the pinwheel's mixture are themselves mixtures of torch.distributions."""
    of = case(name)
    found = kl(of.codes)
    assert found.marginal == (name == "pinwheel")
    assert found.prior == of.codes.prior.says
    generator = torch.Generator().manual_seed(6)
    noise = torch.randn(4000, N, 2, generator=generator, dtype=torch.double)
    z = of.mean + of.deviation * noise
    log_q = torch.distributions.Normal(of.mean, of.deviation).log_prob(z)
    with torch.no_grad():
        for j in range(2):
            if name == "pinwheel":
                means = axis_means(2)[:, j].double()
                parts = torch.distributions.Normal(means, torch.full((4,), 0.03**0.5).double())
                shares = torch.distributions.Categorical(torch.full((4,), 0.25).double())
                log_p = torch.distributions.MixtureSameFamily(shares, parts).log_prob(z[..., j])
            else:
                centre = of.prior(of.u).mean.expand(N, 2).clone()
                points = centre.repeat(len(z), 1, 1)
                at_centre = of.log_prior(points[:1])
                points[..., j] = z[..., j]
                # log p(z_j) up to the same constant for all z, which the centre's density has.
                one = Codes(
                    centre[:, [j]].numpy(), np.ones((N, 1)), np.zeros((N, 1)),
                    prior=of.codes.prior.columns(np.array([j])),
                )  # fmt: skip
                own = torch.from_numpy(one.prior.log_prob(one.mean))
                log_p = of.log_prior(points) - at_centre + own
            gaps = (log_q[..., j] - log_p).mean(1)
            error = float(gaps.std() / len(z) ** 0.5)
            assert found.nats[j] == pytest.approx(float(gaps.mean()), abs=4 * error + 1e-4)


def draws_of(of: Case, count: int, seed: int) -> Tensor:
    """Points of the prior, of examples in turn where it depends on them: by torch."""
    generator = torch.Generator().manual_seed(seed)
    noise = torch.randn(count, 2, generator=generator, dtype=torch.double)
    if of.u is None:
        return of.prior().at(noise)
    return of.prior(of.u[torch.arange(count) % N]).at(noise)


@torch.no_grad()
def direct_inclusive_kl(of: Case, count: int = 6000) -> tuple[float, float]:
    z = draws_of(of, count, 7)
    log_q = torch.distributions.Normal(of.mean, of.deviation).log_prob(z[:, None]).sum(-1)
    log_q = log_q.logsumexp(1) - np.log(N)
    if of.u is None:
        log_p = of.prior().log_prob(z)
    else:
        p = of.prior(of.u)
        own = torch.distributions.Normal(p.mean, p.variance.sqrt()).log_prob(z[:, None]).sum(-1)
        log_p = own.logsumexp(1) - np.log(N)
    gap = log_p - log_q
    return float(gap.mean()), float(gap.std() / count**0.5)


@pytest.mark.slow
@pytest.mark.parametrize("name", PRIORS)
def test_inclusive_kl_is_that_of_torch(name: str) -> None:
    of = case(name)
    wanted, error = direct_inclusive_kl(of)
    found = inclusive_kl(of.codes)
    assert found.value == pytest.approx(wanted, abs=4 * np.hypot(error, found.standard_error))


@pytest.mark.slow
@pytest.mark.parametrize("name", PRIORS)
def test_mmd_is_that_of_draws_by_torch(name: str) -> None:
    of = case(name)
    with torch.no_grad():
        direct = [mmd(of.codes.sample, draws_of(of, N, seed).numpy()) for seed in range(40)]
    found = [aggregate(of.codes, seed=seed).mmd for seed in range(20)]
    error = np.hypot(np.std(direct) / np.sqrt(40), np.std(found) / np.sqrt(20))
    assert np.mean(found) == pytest.approx(np.mean(direct), abs=4 * error)


@pytest.mark.slow
@pytest.mark.parametrize("name", PRIORS)
def test_the_mixture_s_kl_to_the_prior_is_that_of_torch(name: str) -> None:
    of = case(name)
    generator = torch.Generator().manual_seed(8)
    which = torch.randint(N, (6000,), generator=generator)
    noise = torch.randn(6000, 2, generator=generator, dtype=torch.double)
    with torch.no_grad():
        z = of.mean[which] + of.deviation[which] * noise
        log_q = torch.distributions.Normal(of.mean, of.deviation).log_prob(z[:, None]).sum(-1)
        log_q = log_q.logsumexp(1) - np.log(N)
        if of.u is None:
            log_p = of.prior().log_prob(z)
        else:
            p = of.prior(of.u)
            own = torch.distributions.Normal(p.mean, p.variance.sqrt()).log_prob(z[:, None])
            log_p = own.sum(-1).logsumexp(1) - np.log(N)
    gap = (log_q - log_p).numpy()
    found = mixture(of.codes, draws=10).kl_to_prior
    error = np.hypot(gap.std() / np.sqrt(len(gap)), found.standard_error)
    assert found.value == pytest.approx(gap.mean(), abs=4 * error)


@lru_cache
def unused_by_torch(name: str) -> np.ndarray:
    """The variances of least KL(N || p), at the mode, from torch's density: on a fine grid."""
    prior, noise = PRIORS[name].double(), torch.linspace(-8, 8, 2001, dtype=torch.double)
    weight = torch.exp(-0.5 * noise**2)
    weight = weight / weight.sum()
    if name == "conditional":
        with torch.no_grad():
            return prior(U.double()).variance.numpy()
    mode = torch.tensor([1.0, 0.0] if name == "pinwheel" else [0.0, 0.0], dtype=torch.double)
    grid = np.exp(np.linspace(np.log(1e-3), np.log(30.0), 1000))
    best = []
    with torch.no_grad():
        for j in range(2):
            costs = []
            for v in grid:
                z = mode.repeat(len(noise), 1)
                z[:, j] += v**0.5 * noise
                costs.append(float(-0.5 * np.log(v) - weight @ prior().log_prob(z)))
            best.append(grid[np.argmin(costs)])
    return np.array(best)


def unused_codes(name: str) -> Codes:
    """Latents that ignore x, by torch: at a mode, with the variance that costs least."""
    prior = PRIORS[name].double()
    variance = np.broadcast_to(unused_by_torch(name), (N, 2))
    if name == "conditional":
        with torch.no_grad():
            mean = prior(U.double()).mean.numpy()
    else:
        mean = np.tile([1.0, 0.0] if name == "pinwheel" else [0.0, 0.0], (N, 1))
    u = u_of(name)
    density = prior.density(None if u is None else u.double())
    return Codes(mean, variance, mean, prior=density)


@pytest.mark.slow
@pytest.mark.parametrize("name", PRIORS)
def test_unused_latents_are_passive(name: str) -> None:
    codes = unused_codes(name)
    found = types(codes)
    assert found.names == types(codes, criterion="kl").names == ("passive", "passive")
    np.testing.assert_allclose(found.mean_ratio, 1.0, rtol=0.01)
    np.testing.assert_allclose(found.passive_fraction, 1.0)


@pytest.mark.slow
@pytest.mark.parametrize("name", PRIORS)
def test_types_follow_the_rule_in_the_units_that_torch_gives(name: str) -> None:
    """One latent used, narrow beside the prior; one unused but for its means, which move."""
    codes = unused_codes(name)
    generator = np.random.default_rng(0)
    whole = np.broadcast_to(codes.prior.variance, (N, 2))
    mean, variance = codes.mean.copy(), codes.variance.copy()
    variance[:, 0] = 0.01 * whole[:, 0]
    mean[:, 0] += np.sqrt(whole[:, 0]) * generator.normal(size=N)
    mean[:, 1] += np.sqrt(variance[:, 1]) * generator.normal(size=N)
    found = types(replace(codes, mean=mean, variance=variance))
    unused = unused_by_torch(name)
    np.testing.assert_allclose(found.mean_ratio, (variance / unused).mean(axis=0), rtol=0.02)
    moved = (mean - codes.mean) / np.sqrt(unused)
    np.testing.assert_allclose(found.movement, moved.var(axis=0), rtol=0.02)
    # The spike of the sparse prior is itself narrow beside the whole.
    narrow = unused_by_torch(name).reshape(-1, 2)[:, 1].mean() / whole[:, 1].mean() < 0.1
    assert found.names == ("active", "active" if narrow else "mixed")
    assert narrow == (name in ("sparse", "pinwheel"))


def scaled(prior: PriorDensity, c: float) -> PriorDensity:
    """The prior of c z."""
    if isinstance(prior, GaussianDensity):
        return GaussianDensity(c * prior.mean, c**2 * prior.variance)
    if isinstance(prior, StudentTDensity | LaplaceDensity):
        return replace(prior, location=c * prior.location, scale=c * prior.scale)
    if isinstance(prior, SparseDensity):
        return replace(prior, spike_std=c * prior.spike_std, slab_std=c * prior.slab_std)
    assert isinstance(prior, MixtureDensity)
    return replace(prior, means=c * prior.means, variances=c**2 * prior.variances)


@pytest.mark.slow
@pytest.mark.parametrize("c", [0.05, 20.0])
@pytest.mark.parametrize("name", PRIORS)
def test_rescaling_prior_and_codes_leaves_types_prune_watch_and_verdicts(
    name: str, c: float
) -> None:
    both = (case(name).codes, unused_codes(name))
    for codes in both:
        other = Codes(
            c * codes.mean, c**2 * codes.variance, c * codes.sample, prior=scaled(codes.prior, c)
        )
        before, after = types(codes), types(other)
        assert before.names == after.names and before.kind_of_mixed == after.kind_of_mixed
        np.testing.assert_allclose(before.mean_ratio, after.mean_ratio, rtol=1e-3)
        np.testing.assert_allclose(before.movement, after.movement, rtol=1e-3, atol=1e-12)
        np.testing.assert_allclose(before.kl, after.kl, atol=2e-4)
        assert polarised(codes).summary() == polarised(other).summary()
        assert plan_of(codes).dropped == plan_of(other).dropped
        seen = [
            watch(
                own.mean, variance=own.variance, prior_mean=own.prior.mean,
                prior_variance=own.unused_variance, memory=np.inf,
            )
            for own in (codes, other)
        ]  # fmt: skip
        assert seen[0].names == seen[1].names
        np.testing.assert_allclose(seen[0].movement, seen[1].movement, rtol=1e-3, atol=1e-12)
        said = [
            [(one.id, one.tone, one.latents) for one in inspect_codes(own, SUBJECT).verdicts]
            for own in (codes, other)
        ]
        assert said[0] == said[1]


def following(name: str, n: int = 10_000) -> Codes:
    """Each row's posterior is the Gaussian that it drew of those that the prior is made of."""
    generator = np.random.default_rng(11)
    prior = PRIORS[name].double()
    if name == "pinwheel":
        mean = axis_means(2).numpy()[generator.integers(4, size=n)].astype(np.float64)
        variance = np.full((n, 2), 0.03)
    elif name == "sparse":
        mean = np.zeros((n, 2))
        variance = np.where(generator.random((n, 2)) < 0.8, 0.05**2, 1.0)
    elif name == "student-t":
        mean = np.zeros((n, 2))
        variance = 2.0 * 5.0 / generator.chisquare(5.0, size=(n, 2))
    elif name == "anisotropic":
        whole = prior.density().variance
        mean = np.sqrt(0.5 * whole) * generator.normal(size=(n, 2))
        variance = np.tile(0.5 * whole, (n, 1))
    else:
        u = torch.from_numpy(generator.normal(size=(n, 3)))
        density = prior.density(u)
        mean, variance = density.mean.astype(np.float64), density.variance.astype(np.float64)
        sample = mean + np.sqrt(variance) * generator.normal(size=mean.shape)
        return Codes(mean, variance, sample, prior=density)
    sample = mean + np.sqrt(variance) * generator.normal(size=mean.shape)
    return Codes(mean, variance, sample, prior=prior.density())


@pytest.mark.slow
@pytest.mark.parametrize("name", PRIORS)
def test_codes_that_follow_their_prior_match_it(name: str) -> None:
    """MMD within what two sets of draws from the prior have by chance (99%), KL(p||q) below 0.05
    nats, and the verdict says so."""
    codes = following(name)
    found = aggregate(codes)
    assert found.inclusive_kl is not None
    assert found.inclusive_kl.value < 0.05
    generator = np.random.default_rng(0)
    rows = generator.choice(codes.n, 1000, replace=False)
    chance = [
        mmd(codes.prior.draw(generator, 1000, rows), codes.prior.draw(generator, 1000, rows))
        for _ in range(30)
    ]
    assert abs(found.mmd - np.mean(chance)) < 2.58 * np.std(chance)
    verdicts = inspect_codes(following(name, 500), SUBJECT).verdicts
    assert {one.tone for one in verdicts if one.id == "prior"} <= {"good"}


@pytest.mark.slow
@pytest.mark.parametrize("name", PRIORS)
def test_codes_of_another_prior_do_not_match(name: str) -> None:
    """The same codes under N(0, I): the comparison is with the prior, and it can fail."""
    codes = following(name)
    found = aggregate(Codes(codes.mean, codes.variance, codes.sample))
    assert found.inclusive_kl is not None
    assert found.inclusive_kl.value > 0.05
