import numpy as np
import pytest
import torch
from torch import Tensor

from vaescope.codes import Codes
from vaescope.errors import ShapeError
from vaescope.geometry import (
    elbo_under_rotation,
    plane_rotation,
    random_rotations,
    rate_under_rotation,
    rotated,
    score_under_rotation,
)
from vaescope.metrics import mig
from vaescope.nets import SquaredErrorLikelihood

LIKELIHOOD = SquaredErrorLikelihood().double()
COLUMNS = torch.tensor([[2.0, 0.0, 0.0], [0.0, 0.6, 0.8]], dtype=torch.float64)
#: Of the exact posterior: 1 + ||c_j||^2 / variance of x given z, which is 1/2.
PRECISION = np.array([9.0, 3.0])


def decode(z: Tensor) -> Tensor:
    return z @ COLUMNS


@pytest.fixture
def codes(generator: np.random.Generator) -> Codes:
    """A linear VAE with its exact posteriors, which are diagonal."""
    mean = generator.normal(size=(60, 2))
    variance = np.tile(1.0 / PRECISION, (60, 1))
    return Codes(mean, variance, mean + np.sqrt(variance) * generator.normal(size=mean.shape))


def data(codes: Codes) -> Tensor:
    """The x whose posterior means these are: mean = diag(1 / precision) 2 C x."""
    scaled = codes.mean * PRECISION / 2.0 / (COLUMNS**2).sum(1).numpy()
    return torch.from_numpy(scaled) @ COLUMNS


def price(turn: np.ndarray) -> float:
    """KL of the nearest diagonal Gaussian to the rotated posterior."""
    turned = turn @ np.diag(PRECISION) @ turn.T
    return float(0.5 * (np.log(np.diag(turned)).sum() - np.log(PRECISION).sum()))


def full(codes: Codes) -> Codes:
    """The same with correlated posteriors."""
    turn = plane_rotation(2, 0.4)
    return rotated(codes, turn)


@pytest.mark.slow
def test_the_elbo_does_not_see_rotations_with_full_covariance_and_does_with_diagonal(
    codes: Codes,
) -> None:
    turns = random_rotations(2, 8)
    for own in (codes, full(codes)):
        found = elbo_under_rotation(decode, data(codes), own, rotations=turns,
                                    likelihood=LIKELIHOOD)  # fmt: skip
        assert abs(found.full.value) < 1e-9
    found = elbo_under_rotation(
        decode, data(codes), codes, rotations=turns, likelihood=LIKELIHOOD, draws=500
    )
    assert found.interval is not None and found.interval[0] > 0.01
    assert found.value == pytest.approx(np.mean([price(turn) for turn in turns]), rel=0.1)
    assert "full covariance" in found.summary()


@pytest.mark.slow
def test_the_price_of_forty_five_degrees_is_the_divergence_of_the_family(codes: Codes) -> None:
    turn = plane_rotation(2, np.pi / 4)
    found = elbo_under_rotation(
        decode, data(codes), codes, rotations=turn, likelihood=LIKELIHOOD, draws=3000
    )
    assert price(turn) == pytest.approx(0.5 * np.log(36.0 / 27.0))
    assert found.value == pytest.approx(price(turn), abs=0.01)


@pytest.mark.slow
def test_a_quarter_turn_changes_nothing_even_for_diagonal_posteriors(codes: Codes) -> None:
    """A signed permutation maps the diagonal family into itself."""
    found = elbo_under_rotation(
        decode, data(codes), codes, rotations=plane_rotation(2, np.pi / 2), likelihood=LIKELIHOOD,
        draws=3000,
    )  # fmt: skip
    assert abs(found.value) < 0.01


def test_a_plain_decoder_needs_a_likelihood(codes: Codes) -> None:
    with pytest.raises(ShapeError, match="no density"):
        elbo_under_rotation(decode, data(codes), codes, rotations=np.eye(2))


def test_rotated_codes_turn_means_samples_and_covariances(codes: Codes) -> None:
    turn = plane_rotation(2, np.pi / 4)
    there = rotated(codes, turn)
    np.testing.assert_allclose(there.variance, 2 / 9)
    assert there.covariance is not None
    np.testing.assert_allclose(there.covariance[:, 0, 1], 0.5 * (1 / 9 - 1 / 3))
    back = rotated(there, turn.T)
    np.testing.assert_allclose(back.mean, codes.mean, atol=1e-12)
    np.testing.assert_allclose(back.variance, codes.variance, atol=1e-12)
    with pytest.raises(ShapeError, match="orthogonal matrix"):
        rotated(codes, 2 * turn)


def test_random_rotations_are_rotations() -> None:
    turns = random_rotations(4, 50)
    np.testing.assert_allclose(turns @ np.swapaxes(turns, 1, 2), np.tile(np.eye(4), (50, 1, 1)),
                               atol=1e-12)  # fmt: skip
    np.testing.assert_allclose(np.linalg.det(turns), 1.0)
    assert abs(turns.mean()) < 0.05


def test_aligned_codes_lose_by_rotation_and_turned_ones_do_not(
    generator: np.random.Generator,
) -> None:
    factors = generator.integers(8, size=(3000, 3))
    mean = factors - 3.5 + 0.01 * generator.normal(size=factors.shape)
    aligned = Codes(mean, np.full_like(mean, 0.01), mean, factors=factors)

    def score(codes: Codes) -> float:
        return float(mig(codes).value)

    found = score_under_rotation(aligned, score, rotations=10)
    assert found.value > 0.9 and found.share_below == 1.0
    assert found.rotated.value < 0.5
    turned = rotated(aligned, random_rotations(3, 1, seed=7)[0])
    assert score_under_rotation(turned, score, rotations=10).value < 0.5


def test_the_rate_is_least_where_columns_are_orthogonal() -> None:
    """Lemma 5 of bhowal2024, for the decoder of zietlow2022's worked example."""
    m = np.array([[4.0, 1.0], [-3.0, 1.0], [5.0, -1.0]])
    angles = np.linspace(0.0, np.pi / 2, 1801)
    turns = np.array([plane_rotation(2, angle) for angle in angles])
    found = rate_under_rotation(m.T @ m, turns)
    best = int(found.rate_nats.argmin())
    assert found.value == pytest.approx(0.0, abs=1e-5)
    assert found.cosine[best] < 1e-2
    assert found.cosine.argmin() == best
    # log(24.49 / 23.15) as it is, log(52.4 / 23.15) turned by 45 degrees: see test_budget
    assert found.rate_nats[0] == pytest.approx(np.log(np.sqrt(150.0 / 134.0)))
    assert found.rate_nats[900] == pytest.approx(np.log(np.sqrt(61 * 45 / 4 / 134.0)))


def test_the_excess_rate_does_not_depend_on_the_stochastic_loss() -> None:
    g = np.array([[3.0, 1.0, 0.2], [1.0, 2.0, 0.0], [0.2, 0.0, 1.0]])
    turns = random_rotations(3, 20)
    a, b = (rate_under_rotation(g, turns, stochastic_loss=loss) for loss in (1.0, 0.01))
    np.testing.assert_allclose(a.rate_nats, b.rate_nats, atol=1e-12)
    assert np.all(a.rate_nats > 0)
    vectors = np.linalg.eigh(g)[1]
    assert rate_under_rotation(g, vectors).value == pytest.approx(0.0, abs=1e-12)
