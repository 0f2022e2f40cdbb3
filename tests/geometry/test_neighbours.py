import numpy as np
import pytest

from vaescope.errors import ShapeError
from vaescope.geometry import neighbours
from vaescope.prior_density import GaussianDensity, MixtureDensity


@pytest.fixture
def x(generator: np.random.Generator) -> np.ndarray:
    return generator.normal(size=(400, 3))


def test_posteriors_of_a_faithful_encoder_are_neighbours_where_the_data_are(
    x: np.ndarray,
) -> None:
    found = neighbours(x, x, np.full_like(x, 0.01), k=8)
    assert found.value == 1.0
    assert found.chance == pytest.approx(8 / 399)


def test_codes_without_relation_to_the_data_are_at_chance(
    x: np.ndarray, generator: np.random.Generator
) -> None:
    found = neighbours(x, generator.normal(size=x.shape), np.full_like(x, 0.01), k=8)
    assert found.value == pytest.approx(found.chance, abs=0.01)
    assert found.relative_distance == pytest.approx(1.0, abs=0.05)


def test_the_expected_distance_is_that_of_samples(
    x: np.ndarray, generator: np.random.Generator
) -> None:
    variance = generator.uniform(0.01, 0.5, size=x.shape)
    found = neighbours(x, x, variance, k=1)
    apart = ((x[:, None] - x[None]) ** 2).sum(-1)
    np.fill_diagonal(apart, np.inf)
    near = apart.argmin(1)
    draws = []
    for _ in range(300):
        a = x + np.sqrt(variance) * generator.normal(size=x.shape)
        b = x + np.sqrt(variance) * generator.normal(size=x.shape)
        draws.append(((a - b[near]) ** 2).sum(1).mean())
    assert found.distance.value == pytest.approx(np.mean(draws), rel=0.02)
    assert found.distance_of_means.value == pytest.approx(apart.min(1).mean())


def test_shrinking_means_bring_neighbours_nearer_and_lower_the_rate(x: np.ndarray) -> None:
    """Theorem 2(b) for the means; samples also carry the noise that came in exchange."""
    sharp = neighbours(x, x, np.full_like(x, 0.05))
    blurred = neighbours(x, 0.5 * x, np.full_like(x, 0.5))
    assert blurred.kl_nats.value < sharp.kl_nats.value
    assert blurred.distance_of_means.value < sharp.distance_of_means.value
    assert blurred.distance.value > sharp.distance.value


def test_the_sum_is_over_as_many_nearest_examples_as_posteriors_overlap(
    x: np.ndarray, generator: np.random.Generator
) -> None:
    """Dist(L_KL) as printed, written out row by row. The coefficient of equal variances has a
    closed form: exp(-||mu_i - mu_k||^2 / 8 v)."""
    mean, v = x + 0.5 * generator.normal(size=x.shape), 0.3
    found = neighbours(x, mean, np.full_like(x, v), overlap=0.7)
    sums, counts = [], []
    for i in range(len(x)):
        others = np.delete(np.arange(len(x)), i)
        apart = ((mean[i] - mean[others]) ** 2).sum(1)
        k = int((np.exp(-apart / (8 * v)) >= 0.7).sum())
        near = np.argsort(((x[i] - x[others]) ** 2).sum(1))[:k]
        sums.append((apart[near] + 2 * 3 * v).sum())
        counts.append(k)
    assert found.overlapping.value == pytest.approx(np.mean(counts))
    assert found.summed_distance.value == pytest.approx(np.mean(sums))
    assert len(set(counts)) > 10  # k_i is each row's own


def test_the_printed_sum_rises_with_less_rate_because_more_posteriors_overlap(
    x: np.ndarray,
) -> None:
    """Means at half the distance with wider posteriors: less rate, nearer means, a larger sum."""
    sharp = neighbours(x, x, np.full_like(x, 0.05))
    blurred = neighbours(x, 0.5 * x, np.full_like(x, 0.5))
    assert blurred.kl_nats.value < sharp.kl_nats.value
    assert blurred.overlapping.value > 5 * sharp.overlapping.value
    assert blurred.summed_distance.value > sharp.summed_distance.value


def test_blocks_do_not_change_the_result(x: np.ndarray) -> None:
    small, whole = (
        neighbours(x, x[:, ::-1] ** 3, np.full_like(x, 0.1), block=block) for block in (37, 400)
    )
    for name in ("value", "relative_distance"):
        assert getattr(small, name) == pytest.approx(getattr(whole, name))
    assert small.distance.value == pytest.approx(whole.distance.value)


def test_point_posteriors_and_too_many_neighbours_are_refused(x: np.ndarray) -> None:
    for bad in (np.zeros_like(x), np.ones((3, 3))):
        with pytest.raises(ShapeError, match="positive variances"):
            neighbours(x, x, bad)
    with pytest.raises(ShapeError, match="k below n"):
        neighbours(x, x, np.ones_like(x), k=400)


def test_the_rate_is_to_the_prior_that_is_given(generator: np.random.Generator) -> None:
    """Posteriors that are p(z|u) cost nothing; against N(0, I) the same ones do."""
    mean = 3.0 * generator.normal(size=(60, 2))
    variance = np.full_like(mean, 0.2)
    own = neighbours(mean, mean, variance, prior=GaussianDensity(mean, variance))
    assert own.kl_nats.value == 0.0
    wanted = 0.5 * (mean**2 + variance - 1.0 - np.log(variance)).sum(axis=1)
    assert neighbours(mean, mean, variance).kl_nats.value == pytest.approx(wanted.mean())


def test_the_rate_to_a_mixture_is_that_of_all_latents(generator: np.random.Generator) -> None:
    """Each posterior is a component of four that are far apart: log 4, which no marginal knows."""
    means = 20.0 * np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    prior = MixtureDensity(np.full(4, 0.25), means, np.ones((4, 2)))
    mean = means[generator.integers(4, size=60)]
    found = neighbours(mean, mean, np.ones_like(mean), prior=prior)
    assert found.kl_nats.value == pytest.approx(np.log(4.0), abs=1e-6)
