import numpy as np
import pytest

from vaescope.codes import Codes
from vaescope.errors import ShapeError
from vaescope.geometry import coordinate_system, coordinate_systems

N = 2000


def codes(z: np.ndarray, factors: np.ndarray) -> Codes:
    return Codes(z, np.full_like(z, 0.01), z, factor_values=factors)


@pytest.fixture
def factors(generator: np.random.Generator) -> np.ndarray:
    """(r, t): a radius and an angle."""
    return np.column_stack(
        [generator.uniform(0.5, 1.5, size=N), generator.uniform(0, 2 * np.pi, size=N)]
    )


def polar(factors: np.ndarray) -> np.ndarray:
    r, t = factors.T
    return np.column_stack([r * np.cos(t), r * np.sin(t)])


def test_polar_codes_are_called_polar(factors: np.ndarray) -> None:
    found = coordinate_system(codes(polar(factors), factors), (0, 1))
    assert found.kind == "polar"
    assert found.factors == (1, 0)  # the second is the angle, the first the radius
    assert found.polar > 0.95 and found.value > 0.3
    assert found.interval is not None and found.interval[0] > 0.3
    np.testing.assert_allclose(found.centre, 0.0, atol=0.1)
    assert "angle" in found.summary()


@pytest.mark.slow
def test_cartesian_codes_are_not(factors: np.ndarray) -> None:
    found = coordinate_system(codes(factors, factors), (0, 1))
    assert found.kind == "cartesian"
    assert found.factors == (0, 1)
    swapped = coordinate_system(codes(factors[:, ::-1], factors), (0, 1))
    assert swapped.kind == "cartesian" and swapped.factors == (1, 0)


def test_the_centre_of_a_moved_half_circle_is_found(generator: np.random.Generator) -> None:
    half = np.column_stack(
        [generator.uniform(0.5, 1.5, size=N), generator.uniform(0, np.pi, size=N)]
    )
    found = coordinate_system(codes(polar(half) + np.array([3.0, -2.0]), half), (0, 1))
    assert found.kind == "polar"
    np.testing.assert_allclose(found.centre, [3.0, -2.0], atol=0.15)


def test_noise_does_not_hide_it(factors: np.ndarray, generator: np.random.Generator) -> None:
    noisy = polar(factors) + 0.1 * generator.normal(size=(N, 2))
    assert coordinate_system(codes(noisy, factors), (0, 1)).kind == "polar"


@pytest.mark.slow
def test_turned_squares_and_noise_are_called_neither_polar_nor_cartesian(
    generator: np.random.Generator,
) -> None:
    square = generator.uniform(-1, 1, size=(N, 2))
    c = np.sqrt(0.5)
    turned = square @ np.array([[c, -c], [c, c]])
    assert coordinate_system(codes(turned, square), (0, 1)).kind == "turned"
    nothing = coordinate_system(codes(generator.normal(size=(N, 2)), square), (0, 1))
    assert nothing.kind == "neither" and nothing.polar < 0.1


@pytest.mark.slow
def test_all_pairs_of_latents_are_looked_at(
    factors: np.ndarray, generator: np.random.Generator
) -> None:
    z = np.column_stack([polar(factors), generator.normal(size=N)])[:, [0, 2, 1]]
    found = {each.latents: each.kind for each in coordinate_systems(codes(z, factors))}
    assert found == {(0, 1): "neither", (0, 2): "polar", (1, 2): "neither"}


def test_two_factors_that_vary_are_wanted(factors: np.ndarray) -> None:
    constant = np.column_stack([factors[:, 0], np.ones(N)])
    with pytest.raises(ShapeError, match="1 factors that vary"):
        coordinate_system(codes(factors, constant), (0, 1))
    z = polar(factors)
    with pytest.raises(ShapeError, match="have none"):
        coordinate_system(Codes(z, np.ones_like(z), z), (0, 1))


def test_a_constant_latent_has_no_coordinates(factors: np.ndarray) -> None:
    """And does not end in a division by its spread."""
    z = np.column_stack([factors[:, 0], np.zeros(N)])
    found = coordinate_system(codes(z, factors), (0, 1))
    assert found.kind != "polar" and np.isfinite(found.value)
