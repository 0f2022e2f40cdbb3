"""Priors as NumPy densities against torch.distributions, our torch priors and quadrature."""

import numpy as np
import pytest
import torch
from scipy import integrate, stats
from torch import distributions as td

from vaescope.errors import DataError, RangeError, ShapeError
from vaescope.prior_density import (
    FAMILIES,
    GaussianDensity,
    LaplaceDensity,
    MixtureDensity,
    PriorDensity,
    SparseDensity,
    StudentTDensity,
    SubspacesDensity,
    from_json,
    gaussian_kl,
    standard_normal,
)
from vaescope.priors import (
    AnisotropicPrior,
    ConditionalPrior,
    FixedPrior,
    MixturePrior,
    SparsePrior,
    StandardNormal,
    StudentTPrior,
    SubspacesPrior,
)
from vaescope.priors.mixture import axis_means
from vaescope.vae import Prior

OURS: dict[str, Prior] = {
    "normal": StandardNormal(2),
    "anisotropic": AnisotropicPrior(torch.tensor([0.3, -1.0]), variance=2.0),
    "student-t": StudentTPrior(2, 5.0, variance=3.0),
    "sparse": SparsePrior(2, 0.8),
    "pinwheel": MixturePrior(axis_means(2)),
    "subspaces": SubspacesPrior((2,), 5.0, variance=3.0),
}
DENSITIES: dict[str, PriorDensity] = {
    "gaussian": GaussianDensity(np.array([0.5, -1.0]), np.array([0.3, 4.0])),
    "student-t": StudentTDensity(3.0, np.array([0.2, 0.0]), np.array([0.5, 2.0])),
    "sparse": SparseDensity(0.8, 0.05, np.array([0.0, 0.3])),
    "mixture": MixtureDensity(
        np.array([0.3, 0.6, 0.1]),
        np.array([[1.0, 0.0], [-1.0, 0.5], [3.0, 0.0]]),
        np.array([[0.03, 1.0], [0.01, 0.5], [0.5, 0.1]]),
    ),
    "laplace": LaplaceDensity(np.array([0.0, 1.0]), np.array([1.0, 0.2])),
    "subspaces": SubspacesDensity(3.0, np.array([0.2, 0.0]), np.array([0.5, 2.0]), np.zeros(2)),
}


def of_torch(name: str) -> td.Distribution:
    """The densities above, by torch.distributions in float64."""
    p = DENSITIES[name]
    tensor = torch.from_numpy
    if isinstance(p, GaussianDensity):
        return td.Independent(td.Normal(tensor(p.mean), tensor(p.variance).sqrt()), 1)
    if isinstance(p, StudentTDensity):
        return td.Independent(td.StudentT(p.df, tensor(p.location), tensor(p.scale)), 1)
    if isinstance(p, LaplaceDensity):
        return td.Independent(td.Laplace(tensor(p.location), tensor(p.scale)), 1)
    if isinstance(p, MixtureDensity):
        parts = td.Independent(td.Normal(tensor(p.means), tensor(p.variances).sqrt()), 1)
        return td.MixtureSameFamily(td.Categorical(tensor(p.weights)), parts)
    assert isinstance(p, SparseDensity)
    two = tensor(np.tile([1.0 - p.gamma, p.gamma], (2, 1)))
    centres = tensor(np.repeat(p.location[:, None], 2, axis=1))
    widths = tensor(np.tile([1.0, p.spike_std], (2, 1)))
    latents = td.MixtureSameFamily(td.Categorical(two), td.Normal(centres, widths))
    return td.Independent(latents, 1)


# torch has no multivariate Student-t: tests/priors/test_subspaces.py has scipy's.
@pytest.mark.parametrize("name", [name for name in DENSITIES if name != "subspaces"])
def test_log_densities_are_those_of_torch(name: str, generator: np.random.Generator) -> None:
    z = 2.0 * generator.normal(size=(200, 2))
    wanted = of_torch(name).log_prob(torch.from_numpy(z))
    np.testing.assert_allclose(DENSITIES[name].log_prob(z), wanted, rtol=1e-10)


@pytest.mark.parametrize("name", OURS)
def test_densities_of_our_priors_are_those_that_models_train_with(
    name: str, generator: np.random.Generator
) -> None:
    z = generator.normal(size=(200, 2))
    prior = OURS[name].double()
    with torch.no_grad():
        p = prior()
        wanted, mean, variance = p.log_prob(torch.from_numpy(z)), p.mean, p.variance
    found = prior.density()
    np.testing.assert_allclose(found.log_prob(z), wanted, rtol=1e-6)
    np.testing.assert_allclose(found.mean, mean[0], atol=1e-7)
    np.testing.assert_allclose(found.variance, variance[0], rtol=1e-6)


def test_a_legacy_mixture_has_the_plain_density(generator: np.random.Generator) -> None:
    z = generator.normal(size=(50, 2))
    plain, legacy = (MixturePrior(axis_means(2), legacy=own).density() for own in (False, True))
    np.testing.assert_array_equal(plain.log_prob(z), legacy.log_prob(z))


def test_a_conditional_prior_has_one_density_for_each_row(generator: np.random.Generator) -> None:
    prior = ConditionalPrior(3, 2, learned_mean=True)
    u = torch.from_numpy(generator.normal(size=(20, 3)).astype(np.float32))
    z = generator.normal(size=(20, 2))
    found = prior.density(u)
    with torch.no_grad():
        wanted = prior(u).log_prob(torch.from_numpy(z).float()).numpy()
    assert found.per_row
    np.testing.assert_allclose(found.log_prob(z), wanted, rtol=1e-4)
    rows = np.array([4, 4, 17])
    np.testing.assert_allclose(found.log_prob(z[rows], rows), wanted[rows], rtol=1e-4)
    np.testing.assert_allclose(found.take(rows).log_prob(z[rows]), wanted[rows], rtol=1e-4)


@pytest.mark.slow
@pytest.mark.parametrize("name", DENSITIES)
def test_marginals_integrate_to_the_mass_between_their_tails(name: str) -> None:
    p = DENSITIES[name]
    for j in range(2):
        z = np.linspace(-30.0, 30.0, 300_001)
        below, above = p.tails(j, z)
        mass = integrate.cumulative_trapezoid(np.exp(p.log_marginal(j, z)), z, initial=0.0)
        np.testing.assert_allclose(below - below[0], mass, atol=1e-5)
        np.testing.assert_allclose(below + above, 1.0, atol=1e-12)
        assert above[-1] == pytest.approx(0.0, abs=1e-3)


@pytest.mark.parametrize("name", DENSITIES)
def test_draws_follow_the_marginals(name: str, generator: np.random.Generator) -> None:
    p = DENSITIES[name]
    z = p.draw(generator, 4000)
    for j in range(2):
        test = stats.kstest(z[:, j], lambda x, j=j: p.tails(j, x)[0])
        assert test.pvalue > 1e-3


def test_draws_of_a_mixture_keep_the_dependence_between_latents(
    generator: np.random.Generator,
) -> None:
    """On the pinwheel's prior one of two latents is near 0: marginals alone would lose it."""
    z = OURS["pinwheel"].density().draw(generator, 2000)
    assert np.quantile(np.abs(z).min(axis=1), 0.95) < 0.5


def kl_by_integration(p: PriorDensity, mean: float, variance: float) -> float:
    """KL(N || p_0) by Simpson's rule on 50,001 points."""
    scale = np.sqrt(variance)
    z = np.linspace(mean - 10 * scale, mean + 10 * scale, 50_001)
    log_q = stats.norm.logpdf(z, mean, scale)
    return float(integrate.simpson(np.exp(log_q) * (log_q - p.log_marginal(0, z)), x=z))


@pytest.mark.parametrize("name", DENSITIES)
def test_kl_of_each_latent_is_the_integral_to_a_ten_thousandth_nat(name: str) -> None:
    """Also of wide posteriors over the spike, which is a twentieth as wide, and of narrow ones."""
    p = DENSITIES[name]
    cases = [(m, v) for m in (0.0, 0.1, 1.0, 3.0) for v in (1e-4, 0.0028, 0.1, 1.0, 30.0)]
    mean, variance = np.array(cases).T
    found = p.kl(np.stack([mean, mean], 1), np.stack([variance, variance], 1))[:, 0]
    wanted = [kl_by_integration(p, *case) for case in cases]
    np.testing.assert_allclose(found, wanted, atol=1e-4)


def test_kl_of_gaussians_is_torch_s(generator: np.random.Generator) -> None:
    m, v, pm, pv = generator.normal(size=(4, 30, 2)) ** 2 + 0.1
    tensors = [torch.from_numpy(own) for own in (m, v, pm, pv)]
    wanted = td.kl_divergence(
        td.Normal(tensors[0], tensors[1].sqrt()), td.Normal(tensors[2], tensors[3].sqrt())
    )
    np.testing.assert_allclose(GaussianDensity(pm, pv).kl(m, v), wanted, rtol=1e-9)
    np.testing.assert_allclose(gaussian_kl(m, v, pm, pv), wanted, rtol=1e-9)
    rows = np.array([3, 1])
    np.testing.assert_allclose(
        GaussianDensity(pm, pv).kl(m[rows], v[rows], rows), wanted[rows], rtol=1e-9
    )


def test_a_point_has_an_infinite_kl_to_every_prior() -> None:
    for p in DENSITIES.values():
        assert np.isinf(p.kl(np.zeros((1, 2)), np.zeros((1, 2)))).all()


@pytest.mark.parametrize(
    ("p", "known"),
    [
        (StudentTDensity(10.0, np.zeros(1), np.ones(1)), 1.19),
        (StudentTDensity(5.0, np.zeros(1), np.ones(1)), 1.36),
        (StudentTDensity(2.0, np.zeros(1), np.ones(1)), 1.86),
        (StudentTDensity(5.0, np.zeros(1), np.full(1, 3.0)), 9 * 1.363),
        (SparseDensity(0.8, 0.05, np.zeros(1)), 0.0028),
        (SparseDensity(0.0, 0.05, np.zeros(1)), 1.0),
        (LaplaceDensity(np.zeros(1), np.full(1, 2.0)), 2.0 * np.pi),
        (GaussianDensity(np.ones(1), np.full(1, 7.0)), 7.0),
    ],
)
def test_an_unused_latent_has_the_variance_of_least_kl(p: PriorDensity, known: float) -> None:
    """The values of issue 31; by the integral no variance nearby is better."""
    (found,) = p.unused_variance()
    assert found == pytest.approx(known, rel=0.01)
    mean = float(p.mean[0])
    least = kl_by_integration(p, mean, found)
    for factor in (0.95, 1.05):
        assert kl_by_integration(p, mean, factor * found) > least


def test_the_floor_of_the_sparse_prior_is_known() -> None:
    p = SparseDensity(0.8, 0.05, np.zeros(1))
    assert p.kl(np.zeros((1, 1)), p.unused_variance()[None])[0, 0] == pytest.approx(0.189, abs=1e-3)


def test_an_unused_posterior_of_a_mixture_is_at_its_best_component() -> None:
    pinwheel = OURS["pinwheel"].density()
    np.testing.assert_allclose(pinwheel.unused_variance(), [0.03, 0.03], rtol=0.01)
    means = np.array([[-5.0], [5.0]])
    apart = np.array([[0.1], [0.4]])
    uneven = MixtureDensity(np.array([0.3, 0.7]), means, apart)
    np.testing.assert_allclose(uneven.unused_variance(), [0.4], rtol=0.01)
    assert np.isnan(MixtureDensity(np.array([0.5, 0.5]), means, apart).unused_variance()).all()


def test_components_that_overlap_have_one_best_gaussian_between_them() -> None:
    """Means at +-0.5 and variance 1: by the integral N(0, v) is best at a v between 1 and 1.25."""
    p = MixtureDensity(np.array([0.5, 0.5]), np.array([[-0.5], [0.5]]), np.ones((2, 1)))
    (found,) = p.unused_variance()
    grid = np.linspace(1.0, 1.5, 26)
    best = grid[np.argmin([kl_by_integration(p, 0.0, v) for v in grid])]
    assert found == pytest.approx(best, abs=0.03)


@pytest.mark.parametrize("name", DENSITIES)
def test_json_gives_the_same_prior_back(name: str, generator: np.random.Generator) -> None:
    p = DENSITIES[name]
    z = generator.normal(size=(9, 2))
    back = from_json(p.to_json(), {})
    assert type(back) is type(p) is FAMILIES[p.name]
    np.testing.assert_array_equal(back.log_prob(z), p.log_prob(z))


def test_json_leaves_the_arrays_of_a_per_row_prior_out(generator: np.random.Generator) -> None:
    p = GaussianDensity(generator.normal(size=(9, 2)), np.ones((9, 2)))
    assert len(p.to_json()) < 80
    back = from_json(p.to_json(), p.arrays())
    np.testing.assert_array_equal(back.mean, p.mean)
    with pytest.raises(DataError, match="prior_mean"):
        from_json(p.to_json(), {})


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ('{"name": "gaussian", "mean": [0.0]', "not JSON"),
        ("[1, 2]", "has the name ''; there are gaussian"),
        ('{"name": "cauchy"}', "has the name 'cauchy'; there are gaussian, student-t"),
        ('{"name": "laplace", "location": [0.0]}', "wanted location, scale"),
        (
            '{"name": "laplace", "location": [0.0], "scale": ["x"]}',
            "scale that does not consist of numbers",
        ),
        ('{"name": "laplace", "location": 0, "scale": 1}', "one number as location; wanted a list"),
        (
            '{"name": "student-t", "df": [5, 5], "location": [0, 0], "scale": [1, 1]}',
            "several numbers as df; wanted one number",
        ),
    ],
)
def test_damaged_json_is_refused_by_name(text: str, says: str) -> None:
    with pytest.raises(DataError, match="`prior`") as error:
        from_json(text, {})
    assert says in str(error.value)


def test_an_infinite_parameter_is_refused() -> None:
    with pytest.raises(RangeError, match="df of a student-t prior has the value inf"):
        from_json('{"name": "student-t", "df": Infinity, "location": [0], "scale": [1]}', {})


def test_priors_without_width_or_of_uneven_lengths_are_refused() -> None:
    with pytest.raises(RangeError, match="variance of a gaussian prior has the value 0"):
        GaussianDensity(np.zeros(2), np.array([1.0, 0.0]))
    with pytest.raises(RangeError, match="share from 0 to 1"):
        SparseDensity(1.2, 0.05, np.zeros(2))
    with pytest.raises(RangeError, match=r"add up to 1\.5"):
        MixtureDensity(np.array([0.5, 1.0]), np.zeros((2, 1)), np.ones((2, 1)))
    with pytest.raises(ShapeError, match="shapes location"):
        LaplaceDensity(np.zeros(2), np.ones(3))
    with pytest.raises(RangeError, match="NaN"):
        GaussianDensity(np.array([np.nan]), np.ones(1))


@pytest.mark.parametrize("name", DENSITIES)
def test_columns_are_the_prior_of_these_latents(name: str, generator: np.random.Generator) -> None:
    z = generator.normal(size=(9, 2))
    p = DENSITIES[name]
    np.testing.assert_allclose(
        p.columns(np.array([1])).log_prob(z[:, 1:]), p.log_marginals(z)[:, 1], rtol=1e-12
    )


@pytest.mark.parametrize("name", DENSITIES)
def test_a_fixed_prior_draws_and_weighs_as_its_density(
    name: str, generator: np.random.Generator
) -> None:
    p = DENSITIES[name]
    prior = FixedPrior(p).double()
    z = prior().at(torch.from_numpy(generator.normal(size=(4000, 2)))).numpy()
    np.testing.assert_allclose(
        prior().log_prob(torch.from_numpy(z)).numpy(), p.log_prob(z), rtol=1e-9
    )
    for j in range(2):
        assert stats.kstest(z[:, j], lambda x, j=j: p.tails(j, x)[0]).pvalue > 1e-3
    assert prior.density() is p


def test_only_the_standard_normal_says_that_it_is() -> None:
    assert standard_normal(3).says == "N(0, I)" and standard_normal(3).standard
    assert GaussianDensity(np.zeros((4, 2)), np.ones((4, 2))).standard
    assert not any(p.standard for p in DENSITIES.values())
    assert len({p.says for p in DENSITIES.values()}) == len(DENSITIES)
