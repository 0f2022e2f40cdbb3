"""Equations of `docs/errata.md`: as printed they do not hold, as corrected they do. NumPy alone."""

import re
from pathlib import Path

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy import optimize, stats
from scipy.integrate import trapezoid

ROOT = Path(__file__).parents[1]
ERRATA = ROOT / "docs" / "errata.md"
Vector = NDArray[np.float64]


def gaussian_kl(covariance: Vector, diagonal: Vector) -> float:
    """KL of N(0, covariance) to N(0, diag(diagonal)), by the textbook."""
    d = len(covariance)
    trace = np.trace(np.diag(1.0 / diagonal) @ covariance)
    log_det = np.log(diagonal).sum() - np.linalg.slogdet(covariance)[1]
    return float(0.5 * (trace - d + log_det))


def random_covariance(generator: np.random.Generator, d: int) -> Vector:
    root = generator.normal(size=(d, d + 2))
    return np.asarray(root @ root.T)


@pytest.mark.parametrize("page", ["errata.md", "project/second-reading.md"])
def test_every_test_that_the_page_names_exists(page: str) -> None:
    text = (ERRATA.parent / page).read_text("utf-8")
    named = set(re.findall(r"`(tests/[\w/]+\.py)::(\w+)`", text))
    assert len(named) > 20
    for path, function in named:
        assert f"def {function}(" in (ROOT / path).read_text("utf-8"), f"{path}::{function}"


def test_the_gaussian_normaliser_has_the_dimension_of_the_data() -> None:
    """grzes2023 eq. 5; bhowal2024 section 3.1 and Proposition 3."""
    n, latent, gamma = 7, 3, 0.2
    x = np.linspace(-1.0, 1.0, n)
    exact = -stats.multivariate_normal(np.zeros(n), gamma * np.eye(n)).logpdf(x)
    error = 0.5 * float(x @ x) / gamma
    assert exact == pytest.approx(error + n / 2 * np.log(2 * np.pi * gamma))
    assert abs(exact - error - latent / 2 * np.log(2 * np.pi * gamma)) > 0.4
    # log(2 pi)/2 of bhowal2024 is that of one dimension.
    assert abs(exact - error - 0.5 * np.log(2 * np.pi) - n / 2 * np.log(gamma)) > 5.0


def test_twice_the_distortion_has_the_squared_error_once() -> None:
    """grzes2023 eq. 13; and it may have either sign, since densities may exceed 1."""
    n, gamma = 4, 0.01
    x = np.array([0.1, -0.05, 0.02, 0.0])
    twice = -2.0 * stats.multivariate_normal(np.zeros(n), gamma * np.eye(n)).logpdf(x)
    assert twice == pytest.approx(float(x @ x) / gamma + n * np.log(2 * np.pi * gamma))
    assert twice < 0.0  # so 2 E log p is positive here, and negative for a larger gamma
    assert stats.multivariate_normal(np.zeros(n), np.eye(n)).logpdf(x) < 0.0


def test_the_best_diagonal_covariance_is_not_the_diagonal_of_the_best_one() -> None:
    """grzes2023 eq. 11, under the diagonal family of eq. 1."""
    generator = np.random.default_rng(0)
    jacobian, prior, gamma = generator.normal(size=(5, 3)), np.array([1.0, 0.5, 2.0]), 0.3
    precision = np.diag(1.0 / prior) + jacobian.T @ jacobian / gamma

    def objective(log_variance: Vector) -> float:
        variance = np.exp(log_variance)
        return float(0.5 * (np.diag(precision) @ variance - log_variance.sum()))

    best = np.exp(optimize.minimize(objective, np.zeros(3)).x)
    np.testing.assert_allclose(
        best, 1.0 / (1.0 / prior + (jacobian**2).sum(axis=0) / gamma), rtol=1e-4
    )
    assert np.abs(best - np.diag(np.linalg.inv(precision))).max() > 0.01


def test_total_correlation_needs_the_trace_only() -> None:
    """bonheme2023 App. A.1: the product of the two covariances is not I, its trace is d."""
    covariance = random_covariance(np.random.default_rng(1), 4)
    diagonal = np.diag(covariance)
    product = np.diag(1.0 / diagonal) @ covariance
    assert np.trace(product) == pytest.approx(4.0)
    assert np.abs(product - np.eye(4)).max() > 0.1
    expected = 0.5 * (np.log(diagonal).sum() - np.linalg.slogdet(covariance)[1])
    assert gaussian_kl(covariance, diagonal) == pytest.approx(expected)
    assert expected > 0.0  # log(det S / det S), as printed, would be 0


def test_the_kl_to_the_prior_is_total_correlation_and_the_marginals() -> None:
    """bonheme2023 eq. 4 and 5: the second has one of the two parts of the first."""
    covariance = random_covariance(np.random.default_rng(2), 3)
    diagonal = np.diag(covariance)
    marginals = 0.5 * (diagonal - 1.0 - np.log(diagonal)).sum()
    whole = gaussian_kl(covariance, np.ones(3))
    assert whole == pytest.approx(gaussian_kl(covariance, diagonal) + marginals)
    assert marginals > 0.5


def test_the_worked_example_has_half_the_budget_in_its_exponent() -> None:
    """zietlow2022 eq. 3.21: from (3.19) the product of the deviations is exp(-C/2)."""
    budget = 3.0

    def cost(log_variance: float) -> float:
        return 50.0 * np.exp(log_variance) + 3.0 * np.exp(-budget - log_variance)

    least = float(optimize.minimize_scalar(cost).fun)
    assert least == pytest.approx(2.0 * np.sqrt(150.0) * np.exp(-budget / 2.0))
    assert least > 4.0 * 2.0 * np.sqrt(150.0) * np.exp(-budget)
    columns = np.array([[4.0, 1.0], [-3.0, 1.0], [5.0, -1.0]])
    assert columns[:, 0] @ columns[:, 1] == -4.0  # so a rotation does better than M_1


def test_the_area_of_two_columns_has_the_sine_of_their_angle() -> None:
    """zietlow2022 figure 3.2."""
    a, b = np.array([2.0, 0.0]), np.array([1.0, 1.5])
    cosine = a @ b / np.linalg.norm(a) / np.linalg.norm(b)
    area = abs(np.linalg.det(np.column_stack([a, b])))
    product = np.linalg.norm(a) * np.linalg.norm(b)
    assert area == pytest.approx(product * np.sqrt(1.0 - cosine**2))
    assert abs(area - product * cosine) > 0.5


def test_principal_directions_are_the_columns_of_v() -> None:
    """zietlow2022 eq. 4.3 and 4.4, rows of X as examples."""
    generator = np.random.default_rng(3)
    x = generator.normal(size=(2000, 3)) @ np.linalg.qr(generator.normal(size=(3, 3)))[0]
    x *= [3.0, 1.0, 0.3]
    x = (x - x.mean(axis=0)) @ np.linalg.qr(generator.normal(size=(3, 3)))[0]
    singular, vt = np.linalg.svd(x, full_matrices=False)[1:]
    covariance = np.cov(x, rowvar=False)
    np.testing.assert_allclose(covariance, vt.T @ np.diag(singular**2) @ vt / (len(x) - 1))
    np.testing.assert_allclose(covariance @ vt.T[:, 0], vt.T[:, 0] * singular[0] ** 2 / 1999)
    printed = vt[:, 0]  # the first column of V'
    assert np.linalg.norm(covariance @ printed - printed * (printed @ covariance @ printed)) > 0.1


def test_the_best_scale_of_lemma_7() -> None:
    """zietlow2022 eq. 5.46."""
    x, y = np.array([0.3, -2.0, 1.1, 0.7]), np.array([0.1, 0.2, 0.3, 0.1])

    def loss(c: float) -> float:
        return float((c**2 * x**2 - np.log(c**2 * y**2)).sum())

    best = optimize.minimize_scalar(loss, bounds=(1e-3, 10.0), method="bounded").x
    assert best == pytest.approx(np.sqrt(len(x) / (x**2).sum()), rel=1e-4)
    assert abs(best - np.sqrt((x**2).sum())) > 0.5


def test_the_normalisation_must_see_the_manipulated_image() -> None:
    """zietlow2022 section 4.3.1."""
    generator = np.random.default_rng(4)
    x = generator.uniform(size=500)
    changed = x + generator.uniform(-0.2, 0.2, size=500)

    def reflected(y: Vector) -> Vector:
        return np.asarray(y - 2.0 * np.maximum(y - 1.0, 0.0) + 2.0 * np.maximum(-y, 0.0))

    np.testing.assert_array_equal(reflected(x), x)  # as printed: the original, unchanged
    assert changed.min() < 0.0 and changed.max() > 1.0
    assert reflected(changed).min() >= 0.0 and reflected(changed).max() <= 1.0
    assert np.abs(reflected(changed) - x).max() <= 0.2


def test_the_elbo_is_the_log_likelihood_less_the_divergence() -> None:
    """zietlow2022 eq. 5.30, on x = z + noise with z, noise ~ N(0, 1) and q = N(m, s^2)."""
    x, m, s = 0.8, 0.1, 0.6
    nodes, weights = np.polynomial.hermite_e.hermegauss(20)
    z, weights = m + s * nodes, weights / weights.sum()
    joint = stats.norm.logpdf(z) + stats.norm.logpdf(x, z)
    elbo = float(weights @ (joint - stats.norm.logpdf(z, m, s)))
    posterior = stats.norm.logpdf(z, x / 2.0, np.sqrt(0.5))
    divergence = float(weights @ (stats.norm.logpdf(z, m, s) - posterior))
    evidence = float(stats.norm.logpdf(x, 0.0, np.sqrt(2.0)))
    assert elbo == pytest.approx(evidence - divergence)
    assert abs(elbo - evidence - divergence) > 0.1


def test_the_closed_kl_has_minus_log_variance_and_minus_one() -> None:
    """bhowal2024 eq. 4 and 5, against eq. 14 of its appendix and against an integral."""
    mean, deviation = 0.7, 0.4
    z = np.linspace(-6.0, 8.0, 200_001)
    q = stats.norm.pdf(z, mean, deviation)
    ratio = stats.norm.logpdf(z, mean, deviation) - stats.norm.logpdf(z)
    exact = trapezoid(q * ratio, z)
    parts = mean**2 + deviation**2
    assert exact == pytest.approx(0.5 * (parts - np.log(deviation**2) - 1.0))
    assert abs(exact - 0.5 * (parts + np.log(deviation**2) + 1.0)) > 0.5
    assert abs(exact - (parts - np.log(deviation**2) + 1.0)) > 0.5


def test_the_cross_term_is_an_inner_product() -> None:
    """bhowal2024 eq. 21 to 23: of an unbiased decoder the inner product vanishes, the product of
    norms does not."""
    noise = np.random.default_rng(5).normal(size=(200_000, 2))
    off = np.array([1.0, -0.5])
    assert np.abs((noise @ off).mean()) < 0.02
    assert (np.linalg.norm(noise, axis=1) * np.linalg.norm(off)).mean() > 1.0


def test_chebyshev_bounds_the_mass_inside_from_below() -> None:
    """bhowal2024 eq. 35."""
    inside = stats.norm.cdf(3.0) - stats.norm.cdf(-3.0)
    delta = 1.0 / 9.0  # var / a^2
    assert inside > 1.0 - delta


def test_the_second_term_of_the_variance_of_a_function() -> None:
    """bhowal2024 Lemma 7, on a cubic of a Gaussian x of small variance."""
    start, slope, curvature, third, variance = 0.2, 0.7, -1.3, 0.9, 1e-3
    nodes, weights = np.polynomial.hermite_e.hermegauss(10)
    x, weights = np.sqrt(variance) * nodes, weights / weights.sum()
    f = start + slope * x + curvature * x**2 / 2.0 + third * x**3 / 6.0
    exact = float(weights @ f**2 - (weights @ f) ** 2)
    second = (exact - slope**2 * variance) / variance**2
    assert second == pytest.approx(curvature**2 / 2.0 + slope * third, rel=0.01)
    assert abs(second - curvature / 4.0) > 1.0  # as printed
    # The expansions of E f and E f^2 that the proof has, each to its second order.
    of_square = start**2 + (slope**2 + start * curvature) * variance
    of_mean = start + curvature * variance / 2.0
    shown = (of_square - of_mean**2 - slope**2 * variance) / variance**2
    assert shown == pytest.approx(-(curvature**2) / 4.0)


def test_the_perturbation_of_lemma_11() -> None:
    """bhowal2024: the displayed identity fails; a step towards equality proves the lemma."""
    a, b, delta = 1.0, 4.0, 0.5
    left = a + b - a / (1.0 + delta) - b * (1.0 + delta)
    assert left != pytest.approx((a + b) * delta / (1.0 + delta))
    assert left == pytest.approx((a - (1.0 + delta) * b) * delta / (1.0 + delta))
    assert left < 0.0  # the smaller one was divided: the sum grows
    smaller = b / (1.0 + delta) + a * (1.0 + delta)
    assert smaller < a + b  # the larger one divided: it falls, and the product stays


def test_the_nearest_orthonormal_matrix_has_the_exponent_minus_one_half() -> None:
    """bhowal2024 Proposition 7."""
    m = np.random.default_rng(6).normal(size=(6, 3))
    values, axes = np.linalg.eigh(m.T @ m)
    corrected = m @ (axes * values**-0.5) @ axes.T
    printed = m @ (axes * values**0.5) @ axes.T
    np.testing.assert_allclose(corrected.T @ corrected, np.eye(3), atol=1e-12)
    u, _, vt = np.linalg.svd(m, full_matrices=False)
    np.testing.assert_allclose(corrected, u @ vt, atol=1e-12)
    assert np.abs(printed.T @ printed - np.eye(3)).max() > 1.0


def test_orthogonal_columns_give_a_signed_permutation_for_v() -> None:
    """bhowal2024 Lemma 4(c)."""
    q = np.linalg.qr(np.random.default_rng(7).normal(size=(5, 3)))[0]
    v = np.linalg.svd(q * [1.0, 3.0, 2.0], full_matrices=False)[2].T
    np.testing.assert_allclose(np.sort(np.abs(v).ravel())[-3:], 1.0)
    assert np.abs(np.abs(v) - np.eye(3)).max() > 0.9


def test_the_axes_of_table_7_are_not_in_descending_order_of_what_they_explain() -> None:
    """bhowal2024: with orthonormal axes the error left is the total less what the axes carry."""
    left = {"1500": 21.23, "2000": 12.43, "2500": 6.41, "3000": 0.54, "2000-3000": 12.31}
    total = left["2000-3000"] + left["2000"] - left["3000"]
    assert total - left["1500"] == pytest.approx(2.97)
    assert left["1500"] - left["2000"] == pytest.approx(8.80)
    assert (total - left["1500"]) / 1500 < (left["1500"] - left["2000"]) / 500
    x = np.random.default_rng(8).normal(size=(400, 30)) * np.linspace(3.0, 0.1, 30)
    energy = np.linalg.svd(x - x.mean(axis=0), compute_uv=False) ** 2
    assert energy[:10].mean() > energy[10:20].mean() > energy[20:].mean()


def test_the_scaled_densities_of_corollary_1() -> None:
    """mathieu2019 App. A: (2 pi)^D under the root, and mu' has sqrt(beta) in it already."""
    beta, mean = 3.0, np.array([0.4, -1.0])
    covariance = random_covariance(np.random.default_rng(9), 2)
    z = np.array([0.3, 0.9])
    scaled = stats.multivariate_normal(np.sqrt(beta) * mean, beta * covariance).pdf(z)
    off = z - np.sqrt(beta) * mean  # not z - sqrt(beta) mu', which would scale twice
    root = np.sqrt((2 * np.pi) ** 2 * np.linalg.det(beta * covariance))
    by_hand = np.exp(-0.5 * off @ np.linalg.inv(beta * covariance) @ off) / root
    assert scaled == pytest.approx(by_hand)
    original = stats.multivariate_normal(mean, covariance).pdf(z / np.sqrt(beta))
    assert original == pytest.approx(scaled * beta ** (2 / 2))
    assert root != pytest.approx(np.sqrt(2 * np.pi * np.linalg.det(beta * covariance)))


def test_a_softmax_of_singular_values_would_keep_one() -> None:
    """mathieu2019 App. B: shares are those of the squares, a softmax of their logarithms."""
    singular = np.array([400.0, 300.0, 200.0, 100.0])
    literal = np.exp(singular - singular.max())
    literal /= literal.sum()
    assert literal[0] > 0.999
    logs = np.exp(2.0 * np.log(singular))
    np.testing.assert_allclose(logs / logs.sum(), singular**2 / (singular**2).sum())


def test_the_bound_of_appendix_c_has_a_minus() -> None:
    """mathieu2019 App. C: if all rows of a batch are alike, the estimate is -log q(z|x)."""
    n, batch, deviation = 1000, 8, 0.1
    z = deviation * np.random.default_rng(10).normal(size=20_000)
    own = stats.norm.pdf(z, 0.0, deviation)
    estimate = own / n + (n - 1) / (n * (batch - 1)) * (batch - 1) * own
    mean = float(-np.log(estimate).mean())
    assert mean == pytest.approx(float(-np.log(own).mean()))
    assert abs(mean - float(np.log(own).mean())) > 1.0
