import json

import numpy as np
import pytest
from scipy.stats import norm

from vaescope.codes import Codes
from vaescope.decomposition import bhattacharyya, overlap, overlap_of_densities
from vaescope.errors import RangeError, ShapeError
from vaescope.latents.mixture import posteriors_of

N, D = 500, 2


def gaussian_encoder(variance: float, generator: np.random.Generator) -> Codes:
    mean = generator.normal(size=(N, D))
    return Codes(mean, np.full((N, D), variance), mean)


def ball_and_prior(share: float, codes: np.ndarray, generator: np.random.Generator) -> np.ndarray:
    """mathieu2019, section 3.1: log q(z_i|x_k) of share x uniform(ball) + (1 - share) x N(0, I).

    The first `share` of the codes lie in the balls of their own data points, the others are from
    the prior.
    """
    radius = 1e-6
    z = codes + radius * generator.uniform(-0.5, 0.5, size=codes.shape)
    from_prior = np.arange(N) >= round(share * N)
    z[from_prior] = generator.normal(size=(int(from_prior.sum()), D))
    inside = np.square(z[:, None] - codes).sum(axis=2) < radius**2
    prior = (1 - share) * norm.pdf(z).prod(axis=1)
    return np.log(share * inside / (np.pi * radius**2) + prior[:, None])


def test_a_ball_and_the_prior_are_told_from_a_gaussian_of_the_same_information(
    generator: np.random.Generator,
) -> None:
    """Half a lookup table, half no code at all: information cannot tell, sharing can."""
    codes = gaussian_encoder(0.02, generator)
    plain = overlap(codes)
    share = plain.index_code_information / np.log(N)
    mixed = overlap_of_densities(ball_and_prior(share, codes.mean, generator), np.arange(N))
    assert mixed.index_code_information == pytest.approx(plain.index_code_information, rel=0.02)
    assert mixed.effective_number == pytest.approx(plain.effective_number, rel=0.1)
    assert not plain.uneven
    assert mixed.uneven
    assert mixed.effective_number_quantiles[0] == pytest.approx(1.0)
    assert mixed.effective_number_quantiles[2] == pytest.approx(N)
    assert mixed.bhattacharyya == pytest.approx(1 - share, abs=0.01)  # with all, alike
    assert mixed.bhattacharyya > 5 * plain.bhattacharyya
    assert "unevenly" in mixed.summary()


def test_encodings_that_are_all_the_prior_are_shared_by_all() -> None:
    zeros = np.zeros((60, 3))
    result = overlap(Codes(zeros, np.ones((60, 3)), zeros))
    assert result.index_code_information == pytest.approx(0.0, abs=1e-9)
    assert result.effective_number == pytest.approx(60)
    assert result.bhattacharyya == pytest.approx(1.0)
    assert result.posterior_entropy == pytest.approx(1.5 * np.log(2 * np.pi * np.e))


def test_encodings_that_never_meet_are_a_lookup_table() -> None:
    mean = 100.0 * np.arange(60.0)[:, None]
    result = overlap(Codes(mean, np.ones((60, 1)), mean))
    assert result.index_code_information == pytest.approx(np.log(60))
    assert result.effective_number == pytest.approx(1.0)
    assert result.bhattacharyya == pytest.approx(0.0, abs=1e-12)


def test_pairs_of_data_points_with_one_encoding_share_their_codes(
    generator: np.random.Generator,
) -> None:
    """30 places for two data points each: log 30 nats, two data points to a code."""
    mean = np.repeat(100.0 * np.arange(30.0), 2)[:, None]
    result = overlap(Codes(mean, np.ones((60, 1)), mean))
    assert result.index_code_information == pytest.approx(np.log(30))
    assert result.effective_number == pytest.approx(2.0)
    assert result.unevenness == pytest.approx(0.0, abs=1e-9)


def test_information_is_the_closed_form_of_a_linear_gaussian_model(
    generator: np.random.Generator,
) -> None:
    """N(0, 1) data through z = x + noise of variance v: 0.5 log(1 + 1 / v)."""
    x = norm.ppf((np.arange(4000) + 0.5) / 4000)[:, None]
    result = overlap(Codes(x, np.full_like(x, 0.1), x))
    assert result.exact
    assert result.index_code_information == pytest.approx(0.5 * np.log(11.0), abs=0.04)
    assert result.information_at_least == pytest.approx(result.index_code_information)


def test_beyond_ten_thousand_data_points_the_information_is_bracketed(
    generator: np.random.Generator,
) -> None:
    """10,200 places for two data points each: log 10,200 nats; 10,000 of 20,400 are seen."""
    mean = 10.0 * np.repeat(np.arange(10_200.0), 2)[:, None]
    result = overlap(Codes(mean, np.ones_like(mean), mean))
    assert not result.exact
    known = np.log(10_200)
    assert result.information_at_least < known < result.index_code_information
    assert result.index_code_information <= np.log(20_400)
    assert "at least" in result.summary()


def test_the_part_of_the_data_stands_for_all_of_it() -> None:
    """12,000 encodings that are all the prior tell nothing, though 10,000 are seen."""
    zeros = np.zeros((12_000, 1))
    result = overlap(Codes(zeros, np.ones_like(zeros), zeros))
    assert result.index_code_information == pytest.approx(0.0, abs=1e-9)
    assert result.effective_number == pytest.approx(12_000)


def test_a_pair_does_not_count_a_data_point_with_itself() -> None:
    assert overlap_of_densities(np.zeros((2, 2)), np.arange(2)).bhattacharyya == 1.0


@pytest.mark.parametrize("full", [False, True])
def test_bhattacharyya_is_the_integral(full: bool) -> None:
    """Of N(0, 1) and N(1, 4) in one dimension, on a grid; in two, times that of equal ones: 1."""
    grid = np.linspace(-20, 20, 20_001)
    known = np.sqrt(norm.pdf(grid) * norm.pdf(grid, 1, 2)).sum() * (grid[1] - grid[0])
    mean, variance = np.array([[0.0, 3.0], [1.0, 3.0]]), np.array([[1.0, 0.5], [4.0, 0.5]])
    covariance = variance[:, :, None] * np.eye(2) if full else None
    q = posteriors_of(Codes(mean, variance, mean, covariance=covariance), np.arange(2))
    assert bhattacharyya(q, np.array([0]), np.array([1]))[0] == pytest.approx(known, rel=1e-6)


def test_densities_and_gaussian_codes_give_the_same(generator: np.random.Generator) -> None:
    codes = gaussian_encoder(0.3, generator)
    z = codes.mean + np.sqrt(0.3) * generator.normal(size=(N, D))
    log_density = norm.logpdf(z[:, None], codes.mean, np.sqrt(0.3)).sum(axis=2)
    own, other = overlap_of_densities(log_density, np.arange(N)), overlap(codes)
    assert own.index_code_information == pytest.approx(other.index_code_information, abs=0.1)
    assert own.bhattacharyya == pytest.approx(other.bhattacharyya, rel=0.05)
    assert own.posterior_entropy == pytest.approx(other.posterior_entropy, abs=0.1)


def test_the_same_seed_gives_the_same_numbers(generator: np.random.Generator) -> None:
    codes = gaussian_encoder(0.3, generator)
    assert overlap(codes, seed=1) == overlap(codes, seed=1) != overlap(codes, seed=2)
    json.dumps(overlap(codes).to_dict(), allow_nan=False)


def test_codes_that_cannot_overlap_are_named_errors() -> None:
    zeros = np.zeros((4, 2))
    with pytest.raises(RangeError, match="no density"):
        overlap(Codes(zeros, zeros, zeros))
    with pytest.raises(ShapeError, match="two data points"):
        overlap(Codes(zeros[:1], np.ones((1, 2)), zeros[:1]))
    with pytest.raises(ShapeError, match="wanted \\(codes, data"):
        overlap_of_densities(np.zeros((3, 4)), np.arange(4))
    with pytest.raises(ShapeError, match="its own data point"):
        overlap_of_densities(np.full((2, 2), -np.inf), np.arange(2))


@pytest.mark.parametrize(
    ("spread", "state"), [(1e-3, "lookup table"), (0.3, "appropriate"), (100.0, "lost")]
)
def test_the_state_follows_the_posteriors_width(spread: float, state: str) -> None:
    """A hundred points on a line, one apart in a hundredth of it."""
    mean = np.linspace(0.0, 1.0, 100)[:, None] * 10.0
    codes = Codes(mean, np.full_like(mean, spread**2), mean)
    assert overlap(codes).state == state


def test_of_a_few_rows_the_number_among_all_is_told(generator: np.random.Generator) -> None:
    """3,000 posteriors on a line of which one has company in three; every tenth of them is seen."""
    mean = generator.uniform(0.0, 3000.0, size=(3000, 1)) * 5.0
    codes = Codes(mean, np.ones_like(mean), mean)
    seen = np.arange(0, 3000, 10)
    few, whole = overlap(Codes(mean[seen], np.ones((300, 1)), mean[seen])), overlap(codes)
    assert few.effective_number < 1.2 < 1.5 < whole.effective_number
    assert few.among(3000) == pytest.approx(whole.effective_number, rel=0.2)
    assert few.among(300) == few.effective_number
    assert few.state == "lookup table" == few.state_among(300)
    assert few.state_among(30_000) == "appropriate"  # six posteriors' width has ten of them


def test_lost_codes_are_lost_among_more_rows_too() -> None:
    zeros = np.zeros((60, 3))
    found = overlap(Codes(zeros, np.ones((60, 3)), zeros))
    assert found.among(6000) == pytest.approx(6000) and found.state_among(6000) == "lost"
