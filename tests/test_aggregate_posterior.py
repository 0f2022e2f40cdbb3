"""Estimators against truth: a linear-Gaussian model whose aggregate posterior is a known normal."""

import itertools
import math

import pytest
import torch
from scipy import integrate, stats
from torch import Tensor
from torch import distributions as td

from vaescope.aggregate_posterior import (
    SCALES,
    Weights,
    chen_stratified,
    chen_weighted,
    exact,
    exclusive_kl,
    inclusive_kl,
    log_components,
    log_densities,
    mmd,
    mmd_per_latent,
    stratified,
    weighted,
)
from vaescope.distributions import DiagonalGaussian, FullGaussian, kl
from vaescope.errors import UsageError

F64 = torch.float64
PRIOR = DiagonalGaussian(torch.zeros(1, 3, dtype=F64), torch.zeros(1, 3, dtype=F64))
# Means W x with covariance A, posterior variances S: q(z) = N(0, A + S).
A = torch.tensor([[0.6, 0.4, 0.0], [0.4, 0.7, 0.1], [0.0, 0.1, 0.5]], dtype=F64)
S = torch.tensor([0.4, 0.5, 0.3], dtype=F64)
C = A + torch.diag(S)
AGGREGATE = td.MultivariateNormal(torch.zeros(3, dtype=F64), C)
STANDARD = td.MultivariateNormal(torch.zeros(3, dtype=F64), torch.eye(3, dtype=F64))
ENTROPY = AGGREGATE.entropy().item()
TOTAL_CORRELATION = 0.5 * (C.diagonal().log().sum() - torch.logdet(C)).item()
WITHIN = 0.5 * (S.log() + math.log(2 * math.pi * math.e)).sum().item()
SIZE = 50_000  # of the dataset that batches are said to come from


@pytest.fixture
def g() -> torch.Generator:
    return torch.Generator().manual_seed(0)


def normal(*shape: int, g: torch.Generator) -> Tensor:
    return torch.randn(*shape, generator=g, dtype=F64)


def batch(rows: int, g: torch.Generator) -> tuple[DiagonalGaussian, Tensor]:
    """Posteriors of `rows` rows of an infinite dataset, and a sample of each."""
    mean = normal(rows, 3, g=g) @ torch.linalg.cholesky(A).T
    q = DiagonalGaussian(mean, S.log().expand(rows, 3))
    return q, q.at(normal(rows, 3, g=g))


def mean_over_batches(rows: int, g: torch.Generator, estimator: Weights) -> dict[str, float]:
    """Means of all estimates over up to 6,144 rows in batches."""
    total: dict[str, float] = {}
    repeats = min(6144 // rows, 128)
    for _ in range(repeats):
        q, z = batch(rows, g)
        found = log_densities(q, z, estimator(z, SIZE))
        values = {
            "total_correlation": found.total_correlation,
            "entropy": found.entropy,
            "information": found.index_code_information,
            "exclusive": exclusive_kl(q, PRIOR, z, SIZE),
            "inclusive": inclusive_kl(q, PRIOR, normal(rows, 3, g=g)),
        }
        for name, value in values.items():
            total[name] = total.get(name, 0.0) + value.item() / repeats
    return total


TRUTH = {
    "total_correlation": TOTAL_CORRELATION,
    "entropy": ENTROPY,
    "information": ENTROPY - WITHIN,
    "exclusive": td.kl_divergence(AGGREGATE, STANDARD).item(),
    "inclusive": td.kl_divergence(STANDARD, AGGREGATE).item(),
}


@pytest.mark.slow
@pytest.mark.parametrize("estimator", [weighted, stratified])
def test_estimates_converge_to_the_closed_forms_as_the_batch_grows(
    estimator: Weights, g: torch.Generator
) -> None:
    errors = {
        rows: {name: abs(value - TRUTH[name]) for name, value in found.items()}
        for rows in (16, 128, 1024)
        for found in [mean_over_batches(rows, g, estimator)]
    }
    for name in TRUTH:
        assert errors[1024][name] < 0.03, name
        assert errors[1024][name] < 0.3 * errors[16][name], name
        assert errors[128][name] < errors[16][name], name


@pytest.mark.slow
def test_the_exact_mixture_of_a_large_dataset_has_the_closed_forms(g: torch.Generator) -> None:
    q, z = batch(4000, g)
    found = exact(q, z)
    assert found.total_correlation.item() == pytest.approx(TOTAL_CORRELATION, abs=0.02)
    assert found.entropy.item() == pytest.approx(ENTROPY, abs=0.04)
    assert found.index_code_information.item() == pytest.approx(ENTROPY - WITHIN, abs=0.04)


@pytest.mark.parametrize("estimator", [weighted, stratified])
def test_a_batch_that_is_the_dataset_is_aggregated_exactly(
    estimator: Weights, g: torch.Generator
) -> None:
    q, z = batch(40, g)
    truth, found = exact(q, z, chunk=7), log_densities(q, z, estimator(z, 40))
    torch.testing.assert_close(found.joint, truth.joint)
    torch.testing.assert_close(found.marginals, truth.marginals)
    mixture = td.MixtureSameFamily(
        td.Categorical(torch.ones(40, dtype=F64)),
        td.Independent(td.Normal(q.mean, q.variance.sqrt()), 1),
    )
    torch.testing.assert_close(truth.joint, mixture.log_prob(z))
    kl_of_mixture = mixture.log_prob(z) - PRIOR.log_prob(z)
    torch.testing.assert_close(exclusive_kl(q, PRIOR, z, 40), kl_of_mixture.mean())
    w = normal(30, 3, g=g)
    expected = (PRIOR.log_prob(w) - mixture.log_prob(w)).mean()
    torch.testing.assert_close(inclusive_kl(q, PRIOR, w), expected)


def test_full_covariances_have_the_densities_of_torchs_mixture(g: torch.Generator) -> None:
    tril = 0.3 * normal(20, 3, 3, g=g).tril(-1) + torch.diag_embed(normal(20, 3, g=g).exp())
    q = FullGaussian(normal(20, 3, g=g), tril)
    z = q.at(normal(20, 3, g=g))
    found = exact(q, z)
    weights = td.Categorical(torch.ones(20, dtype=F64))
    whole = td.MixtureSameFamily(weights, td.MultivariateNormal(q.mean, scale_tril=tril))
    torch.testing.assert_close(found.joint, whole.log_prob(z))
    singles = [
        td.MixtureSameFamily(weights, td.Normal(q.mean[:, j], q.variance[:, j].sqrt()))
        for j in range(3)
    ]
    expected = torch.stack([single.log_prob(z[:, j]) for j, single in enumerate(singles)]).sum(0)
    torch.testing.assert_close(found.marginals, expected)


def subsets(own_place: int) -> list[list[int]]:
    """Ordered batches of three out of five rows in which row 0 stands at `own_place`."""
    return [
        [*others[:own_place], 0, *others[own_place:]]
        for others in map(list, itertools.permutations(range(1, 5), 2))
    ]


@pytest.mark.parametrize(
    ("estimator", "place", "unbiased"),
    [
        (stratified, 0, True),
        (stratified, 1, True),
        (stratified, 2, True),
        (chen_stratified, 0, True),  # the one row whose own component is in column 0
        (chen_stratified, 2, False),
    ],
)
def test_stratified_densities_are_unbiased_over_all_batches(
    estimator: Weights, place: int, unbiased: bool, g: torch.Generator
) -> None:
    q, z = batch(5, g)
    density = log_components(q, z[:1]).exp()[0]  # q(z_0|x_j)
    estimates = [
        (estimator(z[rows], 5)[place].exp() * density[rows]).sum() for rows in subsets(place)
    ]
    error = abs(torch.stack(estimates).mean() / density.mean() - 1.0).item()
    assert (error < 1e-12) == unbiased, error


def test_chens_stratified_weights_are_in_the_first_two_columns() -> None:
    z = torch.zeros(4, 1, dtype=F64)
    own, last, other = 1 / 10, 7 / 30, 1 / 3
    expected = [[own, last, other, other]] * 2 + [[last, last, other, other]]
    expected += [[own, last, other, other]]
    torch.testing.assert_close(chen_stratified(z, 10).exp(), torch.tensor(expected, dtype=F64))


@pytest.mark.parametrize("estimator", [weighted, stratified])
def test_weights_add_up_to_one_and_chens_weighted_ones_to_one_nth(estimator: Weights) -> None:
    z = torch.zeros(6, 1, dtype=F64)
    total = estimator(z, 50).exp().expand(6, 6).sum(1)
    torch.testing.assert_close(total, torch.ones(6, dtype=F64))
    assert chen_weighted(z, 50).exp().expand(6, 6).sum(1)[0].item() == pytest.approx(1 / 50)


def test_chens_weighted_total_correlation_is_d_minus_one_log_n_too_high(g: torch.Generator) -> None:
    q, z = batch(32, g)
    ours = log_densities(q, z, weighted(z, SIZE))
    theirs = log_densities(q, z, chen_weighted(z, SIZE))
    extra = (theirs.total_correlation - ours.total_correlation).item()
    assert extra == pytest.approx(2 * math.log(SIZE))
    extra = (theirs.index_code_information - ours.index_code_information).item()
    assert extra == pytest.approx(math.log(SIZE))


def test_from_a_small_batch_the_entropy_is_log_n_plus_the_posteriors_own(
    g: torch.Generator,
) -> None:
    """mathieu2019 appendix C: the estimate forgets the aggregate and becomes the beta-VAE's
    rate."""
    rows, latent, n, std = 64, 10, 100_000, 0.05
    mean = normal(rows, latent, g=g)
    q = DiagonalGaussian(mean, torch.full((rows, latent), 2 * math.log(std), dtype=F64))
    z = q.at(normal(rows, latent, g=g))
    prior = DiagonalGaussian(torch.zeros(1, latent, dtype=F64), torch.zeros(1, latent, dtype=F64))
    found = log_densities(q, z, stratified(z, n))
    within = latent * (0.5 * math.log(2 * math.pi * math.e) + math.log(std))
    truth = latent * 0.5 * math.log(2 * math.pi * math.e * (1 + std**2))
    sampling = 0.5 * math.sqrt(2 * latent / rows)  # one standard error of log q(z|x)
    assert found.entropy.item() == pytest.approx(math.log(n) + within, abs=3 * sampling)
    torch.testing.assert_close(found.entropy, math.log(n) - q.log_prob(z).mean())
    assert found.entropy.item() < truth - 15.0
    estimate = exclusive_kl(q, prior, z, n)
    rate = (q.log_prob(z) - prior.log_prob(z)).mean()
    torch.testing.assert_close(estimate, rate - math.log(n))


def test_the_rate_is_information_and_total_correlation_and_divergences_of_single_latents() -> None:
    """Chen et al. eq. (2), every expectation by quadrature over the plane, exact aggregation."""
    mean = torch.tensor([[0.0, 0.5], [1.0, -0.5], [-1.2, 0.3], [0.4, 1.5]], dtype=F64)
    q = DiagonalGaussian(mean, 2 * torch.tensor([[0.5, 0.7], [0.4, 0.6], [0.8, 0.5], [0.6, 0.3]],
                                                dtype=F64).log())  # fmt: skip
    p = DiagonalGaussian(torch.zeros(1, 2, dtype=F64), torch.zeros(1, 2, dtype=F64))
    line = torch.linspace(-9.0, 9.0, 721, dtype=F64)
    grid = torch.cartesian_prod(line, line)
    joint = log_components(q, grid).logsumexp(1) - math.log(4)
    single = [
        log_components(DiagonalGaussian(mean[:, [j]], q.log_variance[:, [j]]), line.unsqueeze(1))
        for j in range(2)
    ]
    first, second = (each.logsumexp(1) - math.log(4) for each in single)
    marginals = (first.unsqueeze(1) + second).flatten()
    conditional = log_components(q, grid)  # (point, row)
    mass = conditional.exp() * (line[1] - line[0]) ** 2 / 4
    parts = {
        "information": (mass * (conditional - joint.unsqueeze(1))).sum().item(),
        "correlation": (mass.sum(1) * (joint - marginals)).sum().item(),
        "singles": (mass.sum(1) * (marginals - p.log_prob(grid))).sum().item(),
    }
    assert min(parts.values()) > 0.01
    assert sum(parts.values()) == pytest.approx(kl(q, p).mean().item(), abs=1e-5)


def test_mmd_of_two_points_is_known() -> None:
    x, y = torch.zeros(3, 2, dtype=F64), torch.tensor([[1.0, 2.0]] * 4, dtype=F64)
    joint = sum(2.0 - 2.0 * 4 * s / (4 * s + 5.0) for s in SCALES)
    assert mmd(x, y).item() == pytest.approx(joint)
    single = sum(2.0 - 2.0 * 2 * s / (2 * s + d) for s in SCALES for d in (1.0, 4.0))
    assert mmd_per_latent(x, y).item() == pytest.approx(single)


def test_mmd_is_the_u_statistic_with_all_cross_terms(g: torch.Generator) -> None:
    x, y = normal(4, 2, g=g), normal(5, 2, g=g)

    def k(a: Tensor, b: Tensor) -> float:
        return sum(4 * s / (4 * s + ((a - b) ** 2).sum().item()) for s in SCALES)

    within = [sum(k(a, b) for a, b in itertools.permutations(side, 2)) for side in (x, y)]
    across = sum(k(a, b) for a in x for b in y)
    assert mmd(x, y).item() == pytest.approx(within[0] / 12 + within[1] / 20 - 2 * across / 20)


def test_mmd_of_one_latent_is_the_same_jointly_and_by_latents(g: torch.Generator) -> None:
    x, y = normal(20, 1, g=g), normal(20, 1, g=g)
    torch.testing.assert_close(mmd(x, y), mmd_per_latent(x, y))


@pytest.mark.slow
def test_mmd_converges_to_the_integral_and_is_unbiased(g: torch.Generator) -> None:
    def expectation(shift: float, variance: float) -> float:
        """E k(a - b) for a - b ~ N(shift, variance)."""
        total = 0.0
        for s in SCALES:
            total += integrate.quad(
                lambda t, c=2 * s: c / (c + t * t) * stats.norm.pdf(t, shift, variance**0.5),
                -12, 12, limit=200,
            )[0]  # fmt: skip
        return total

    def draw(rows: int) -> tuple[Tensor, Tensor]:
        return 0.5 + 0.8 * normal(rows, 1, g=g), normal(rows, 1, g=g)

    truth = expectation(0, 2 * 0.64) + expectation(0, 2.0) - 2 * expectation(0.5, 1.64)
    spread = {}
    for rows, repeats in ((8, 1500), (256, 60)):
        found = torch.stack([mmd(*draw(rows)) for _ in range(repeats)])
        spread[rows] = found.std().item()
        error = spread[rows] / math.sqrt(repeats)
        assert found.mean().item() == pytest.approx(truth, abs=3 * error)
        assert truth > 10 * error
    assert spread[256] < 0.2 * spread[8]


@pytest.mark.slow
def test_only_the_joint_mmd_sees_dependence_between_latents(g: torch.Generator) -> None:
    same = normal(1000, 1, g=g).expand(-1, 2)  # right marginals, latents equal
    prior = normal(1000, 2, g=g)
    assert abs(mmd_per_latent(same, prior).item()) < 0.01
    assert mmd(same, prior).item() > 0.05


def test_a_batch_of_one_says_what_to_do() -> None:
    one = torch.zeros(1, 2, dtype=F64)
    with pytest.raises(UsageError, match="batch=2 or more"):
        stratified(one, 10)
    with pytest.raises(UsageError, match="batch=2 or more"):
        mmd(one, one)
    with pytest.raises(UsageError, match="smaller batch"):
        chen_stratified(torch.zeros(8, 2, dtype=F64), 5)


@pytest.mark.parametrize("latent", [2, 50])
def test_densities_are_finite_in_float32_when_codes_are_far_apart(latent: int) -> None:
    g = torch.Generator().manual_seed(0)
    q = DiagonalGaussian(5.0 * torch.randn(16, latent, generator=g), torch.full((16, latent), -9.0))
    z = q.at(torch.randn(16, latent, generator=g))
    found = log_densities(q, z, stratified(z, 1000))
    for value in (found.total_correlation, found.index_code_information, found.entropy):
        assert value.isfinite()
    assert mmd(z, torch.randn(16, latent, generator=g)).isfinite()
    prior = DiagonalGaussian(torch.zeros(1, latent), torch.zeros(1, latent))
    assert inclusive_kl(q, prior, torch.randn(16, latent, generator=g)).isfinite()
