"""Independent subspaces against scipy's multivariate Student-t, quadrature and closed forms."""

import math

import numpy as np
import pytest
import torch
from scipy import stats

from vaescope.errors import UsageError
from vaescope.objectives import BetaVAE, EntropyVAE, unused_posterior
from vaescope.prior_density import SubspacesDensity
from vaescope.prior_density.subspaces import group_floor
from vaescope.priors import StudentTPrior, SubspacesPrior
from vaescope.priors.subspaces import Subspaces
from vaescope.schedules import Constant
from vaescope.settings import from_command_line
from vaescope.specs import resolve

SIZES = (2, 1, 3)
SPANS = (slice(0, 2), slice(2, 3), slice(3, 6))


def noise(n: int, d: int = 6, *, seed: int = 0) -> torch.Tensor:
    generator = torch.Generator().manual_seed(seed)
    return torch.randn(n, d, generator=generator, dtype=torch.float64)


def prior(df: float, sizes: tuple[int, ...] = SIZES, *, variance: float = 1.0) -> Subspaces:
    return SubspacesPrior(sizes, df, variance=variance).double()()


def squares() -> tuple[np.ndarray, np.ndarray]:
    """Points and weights of a fine grid over the plane that reaches to 1e7 on each axis."""
    place = np.linspace(-17.0, 17.0, 1201)
    axis, weight = np.sinh(place), np.cosh(place) * (place[1] - place[0])
    points = np.stack(np.meshgrid(axis, axis, indexing="ij"), -1).reshape(-1, 2)
    return points, np.outer(weight, weight).ravel()


@pytest.mark.parametrize("df", [0.5, 1.0, 3.0, 9.0, 1e4])
def test_each_group_has_scipys_multivariate_density(df: float) -> None:
    ours, z = SubspacesPrior(SIZES, df, variance=2.0).double(), 5.0 * noise(50)
    wanted = sum(
        stats.multivariate_t(np.zeros(k), 2.0 * np.eye(k), df=df).logpdf(z[:, span].numpy())
        for k, span in zip(SIZES, SPANS, strict=True)
    )
    np.testing.assert_allclose(ours().log_prob(z), wanted, rtol=1e-9)
    np.testing.assert_allclose(ours.density().log_prob(z.numpy()), wanted, rtol=1e-9)


@pytest.mark.parametrize("df", [1.0, 3.0, 10.0])
def test_the_density_of_a_group_integrates_to_one(df: float) -> None:
    points, weights = squares()
    density = SubspacesPrior((2,), df).density()
    assert np.exp(density.log_prob(points)) @ weights == pytest.approx(1.0, abs=1e-5)


@pytest.mark.parametrize("df", [1.0, 3.0, 9.0])
def test_samples_have_the_radius_and_every_direction(df: float) -> None:
    """The squared radius over its size is F distributed; in the plane the angle is uniform."""
    drawn = prior(df, variance=4.0).at(noise(20_000)).numpy() / 2.0
    by_numpy = SubspacesPrior(SIZES, df).density().draw(np.random.default_rng(0), 20_000)
    for z in (drawn, by_numpy):
        for k, span in zip(SIZES, SPANS, strict=True):
            radius = np.square(z[:, span]).sum(axis=1) / k
            assert stats.kstest(radius, stats.f(k, df).cdf).pvalue > 0.01
        angle = np.arctan2(z[:, 1], z[:, 0])
        assert stats.kstest(angle, stats.uniform(-np.pi, 2.0 * np.pi).cdf).pvalue > 0.01


@pytest.mark.parametrize("df", [0.5, 1.0, 3.0, 1e4, 1e12])
def test_samples_have_the_radius_with_as_much_mass_outside(df: float) -> None:
    """Also far out and near the centre, where the interpolation is the least even."""
    radius = np.array([1e-4, 1e-2, 0.1, 1.0, 3.0, 6.0, 8.0])
    at = torch.from_numpy(np.stack([radius, np.zeros(7)], 1))
    found = prior(df, (2,)).at(at).numpy()
    # In the plane both tails have closed forms: exp(-r^2/2) and (1 + R^2/df)^(-df/2).
    wanted = np.sqrt(df * np.expm1(radius**2 / df))
    np.testing.assert_allclose(found[:, 0], wanted, rtol=1e-8)
    np.testing.assert_array_equal(found[:, 1], 0.0)


def test_groups_of_one_are_the_product_of_student_ts() -> None:
    x, single = noise(200), StudentTPrior(6, 5.0, variance=3.0).double()
    ones = prior(5.0, (1,) * 6, variance=3.0)
    torch.testing.assert_close(ones.log_prob(x), single().log_prob(x))
    torch.testing.assert_close(ones.at(x), single().at(x), rtol=1e-9, atol=1e-9)
    torch.testing.assert_close(ones.variance, single().variance)
    assert SubspacesPrior((1,) * 6, 5.0).density().independent
    assert not SubspacesPrior(SIZES, 5.0).density().independent
    found, wanted = (
        unused_posterior(BetaVAE(), p) for p in (SubspacesPrior((1, 1), 5.0), StudentTPrior(2, 5.0))
    )
    np.testing.assert_allclose(found.variance, wanted.variance, rtol=1e-6)
    np.testing.assert_allclose(found.floor_nats, wanted.floor_nats, rtol=1e-5)


def test_float32_samples_and_densities_agree_with_float64() -> None:
    x = noise(50)
    for df in (2.0, 9.0, 1e9):
        narrow = SubspacesPrior(SIZES, df)()
        torch.testing.assert_close(
            narrow.log_prob(x.float()).double(), prior(df).log_prob(x), rtol=1e-5, atol=1e-5
        )
        torch.testing.assert_close(
            narrow.at(x.float()).double(), prior(df).at(x), rtol=1e-4, atol=1e-5
        )


@pytest.mark.parametrize("source", ["torch", "numpy"])
def test_latents_depend_within_groups_and_not_between_them(source: str) -> None:
    """z_j = sqrt(w) e_j with w = df / chi^2: the correlation of squares within a group is
    (c - 1) / (3 c - 1) with c = E w^2 / (E w)^2 = (df - 2) / (df - 4), and 0 between groups."""
    df, n = 20.0, 400_000
    own = SubspacesPrior((2, 2), df).double()
    if source == "torch":
        z = own().at(noise(n, 4)).numpy()
    else:
        z = own.density().draw(np.random.default_rng(1), n)
    c = (df - 2.0) / (df - 4.0)
    within = (c - 1.0) / (3.0 * c - 1.0)
    squared = np.corrcoef(np.square(z).T)
    wanted = np.eye(4)
    wanted[[0, 1, 2, 3], [1, 0, 3, 2]] = within
    np.testing.assert_allclose(squared, wanted, atol=6.0 / math.sqrt(n))
    # Uncorrelated they are everywhere: no linear measure sees the groups.
    np.testing.assert_allclose(np.corrcoef(z.T), np.eye(4), atol=6.0 / math.sqrt(n))


def test_rotations_within_a_group_leave_the_density_and_others_do_not() -> None:
    own, z = prior(3.0, (2, 2)), noise(50, 4)
    turn = torch.eye(4, dtype=torch.float64)
    turn[:2, :2] = torch.tensor([[0.6, -0.8], [0.8, 0.6]])
    across = turn[[0, 2, 1, 3]][:, [0, 2, 1, 3]]
    torch.testing.assert_close(own.log_prob(z @ turn), own.log_prob(z))
    assert (own.log_prob(z @ across) - own.log_prob(z)).abs().max() > 0.1


def kl_in_the_plane(df: float, variances: tuple[float, float]) -> float:
    """KL(N(0, diag(v)) || p) by Gauss and Hermite's rule with 80 x 80 points."""
    at, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = np.outer(weights, weights).ravel() / weights.sum() ** 2
    points = np.stack(np.meshgrid(at, at, indexing="ij"), -1).reshape(-1, 2) * np.sqrt(variances)
    log_q = stats.multivariate_normal(np.zeros(2), np.diag(variances)).logpdf(points)
    log_p = stats.multivariate_t(np.zeros(2), np.eye(2), df=df).logpdf(points)
    return float(weights @ (log_q - log_p))


@pytest.mark.parametrize("df", [2.0, 5.0, 10.0])
def test_no_posterior_of_an_unused_group_costs_less(df: float) -> None:
    own = SubspacesPrior((2,), df)
    v = float(own.density().unused_variance()[0])
    least = kl_in_the_plane(df, (v, v))
    assert group_floor(df, 2, v) == pytest.approx(least, abs=1e-5)
    for first, second in ((0.95, 0.95), (1.05, 1.05), (0.95, 1.05), (1.0, 1.1), (0.9, 1.0)):
        assert kl_in_the_plane(df, (first * v, second * v)) > least
    found = unused_posterior(BetaVAE(), own)
    np.testing.assert_allclose(found.variance, v)
    assert found.floor == pytest.approx(least, abs=1e-5) and np.isnan(found.floor_nats).all()


def test_the_entropy_objective_has_none_once_beta_is_above_the_tails() -> None:
    """beta k < df + k: of a group of two with 10 degrees of freedom beta 6 is the first too
    large, of single latents 11."""
    for beta, exists in ((5.9, True), (6.0, False)):
        found = unused_posterior(EntropyVAE(Constant(beta)), SubspacesPrior((2,), 10.0))
        assert bool(found.minima) == exists
    assert "tails are too heavy" in found.why
    assert unused_posterior(EntropyVAE(Constant(10.9)), SubspacesPrior((1,), 10.0)).minima == 1


def test_beside_a_large_latent_the_best_unused_posterior_is_wider() -> None:
    """Given z_0 the other latent is a Student-t of df + 1 and squared scale (df + z_0^2) /
    (df + 1), so that of a used group the posterior of a latent that is not decoded follows x."""
    density = SubspacesPrior((2,), 3.0).density()
    at, weights = np.polynomial.hermite_e.hermegauss(80)
    grid = np.exp(np.linspace(np.log(0.1), np.log(30.0), 400))
    for place in (0.0, 3.0):
        cost = [
            -0.5 * np.log(v)
            - weights
            @ density.log_prob(np.stack([np.full(80, place), np.sqrt(v) * at], 1))
            / weights.sum()
            for v in grid
        ]
        scale = (3.0 + place**2) / 4.0
        wanted = scale * SubspacesPrior((1,), 4.0).density().unused_variance()[0]
        assert grid[np.argmin(cost)] == pytest.approx(wanted, rel=0.02)


def test_columns_keep_groups_apart_in_any_order() -> None:
    density = SubspacesPrior((2, 2), 3.0).density()
    z = noise(20, 4).numpy()
    order = np.array([3, 0, 2, 1])
    np.testing.assert_allclose(density.columns(order).log_prob(z[:, order]), density.log_prob(z))
    some = density.columns(np.array([0, 2, 3]))
    assert some.sizes.tolist() == [1, 2]
    assert some.says.startswith("2 independent subspaces of 1, 2 latents")


def test_settings_name_one_size_or_all() -> None:
    settings = ["data.name=synth-linear", "prior.name=subspaces"]
    spec = from_command_line("vae", [*settings, "latent=6"])
    assert spec.prior.sizes(6) == (2, 2, 2)
    spec = from_command_line("vae", [*settings, "latent=6", "prior.size=[1, 2, 3]"])
    assert spec.prior.sizes(6) == (1, 2, 3)
    for size in ("4", "[2, 2]", "[7]"):
        with pytest.raises(UsageError, match="there are 6"):
            resolve(from_command_line("vae", [*settings, "latent=6", f"prior.size={size}"]))


def test_a_density_with_scales_of_its_own_is_elliptic() -> None:
    scale = np.array([0.5, 2.0])
    density = SubspacesDensity(3.0, np.array([1.0, 0.0]), scale, np.zeros(2, np.int64))
    z = noise(30, 2).numpy()
    wanted = stats.multivariate_t(density.location, np.diag(scale**2), df=3.0).logpdf(z)
    np.testing.assert_allclose(density.log_prob(z), wanted, rtol=1e-10)
