import numpy as np
import pytest

from vaescope.codes import Codes
from vaescope.decomposition import hoyer
from vaescope.errors import ShapeError


def of_means(mean: np.ndarray) -> Codes:
    return Codes(mean, np.ones_like(mean), mean)


def test_hoyer_is_one_if_a_single_latent_is_on_and_zero_if_all_are_alike(
    generator: np.random.Generator,
) -> None:
    assert hoyer(of_means(np.tile(np.eye(5), (20, 1)))).hoyer == pytest.approx(1.0)
    signs = np.array([[1.0, 1.0], [1.0, -1.0], [-1.0, 1.0], [-1.0, -1.0]])
    assert hoyer(of_means(signs)).hoyer == pytest.approx(0.0, abs=1e-12)


def test_a_dense_gaussian_code_in_fifty_latents_has_0_23(generator: np.random.Generator) -> None:
    """papers.md 7.4: 0.2305 by simulation, not 0."""
    value = hoyer(of_means(generator.normal(size=(20_000, 50)))).hoyer
    assert value == pytest.approx(0.2305, abs=0.001)


def test_latents_of_small_variance_are_not_taken_for_off(generator: np.random.Generator) -> None:
    """As the paper's code has it: each latent in units of its own spread."""
    z = generator.normal(size=(2000, 8))
    shrunk = z * [1, 1, 1, 1e-3, 1e-3, 1e-3, 1e-3, 1e-3]
    assert hoyer(of_means(shrunk)).hoyer == pytest.approx(hoyer(of_means(z)).hoyer)


def test_constant_latents_and_codes_of_zeros_are_left_out(generator: np.random.Generator) -> None:
    z = generator.normal(size=(500, 3))
    z[7] = 0.0
    more = np.hstack([z, np.full((500, 2), 0.1)])
    assert hoyer(of_means(more)) == hoyer(of_means(z))
    assert hoyer(of_means(z)).n == 499


def test_one_latent_has_no_sparsity(generator: np.random.Generator) -> None:
    with pytest.raises(ShapeError, match="at least two latents"):
        hoyer(of_means(generator.normal(size=(50, 1))))
    with pytest.raises(ShapeError, match="0 of 3 vary"):
        hoyer(of_means(np.ones((50, 3))))
