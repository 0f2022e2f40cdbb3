from collections.abc import Callable

import numpy as np
import pytest
import torch

from vaescope.geometry import column_cosine, column_cosine_of, column_norm, grams, grams_of

#: Mean |cosine| of columns that are not passive, in output space: third-party models.
COSINES = {
    "VAE_dsprites": 0.298,
    "betaH_dsprites": 0.320,
    "betaB_dsprites": 0.202,
    "btcvae_dsprites": 0.263,
}


@pytest.mark.slow
@pytest.mark.parametrize("name", COSINES)
def test_columns_of_third_party_decoders_have_known_norms_and_cosines(
    name: str, third_party: Callable[[str], object]
) -> None:
    model = third_party(name)
    points = model.mean[:200]
    found = grams(model.decode, points, space="output")
    norms = found.norms.mean(axis=0)
    assert np.all(norms[list(model.passive)] < 0.15)
    assert np.all(norms[model.used] > 0.4)
    used = column_cosine(model.decode, points, space="output", columns=model.used)
    assert used.value == pytest.approx(COSINES[name], abs=0.05)
    assert (used.n, used.space) == (200, "output")


def test_cosines_and_norms_of_known_columns() -> None:
    matrix = torch.tensor([[3.0, 1.0, 0.0], [0.0, 1.0, 0.0], [4.0, 0.0, 0.0]])
    points = torch.zeros(4, 3)
    norms = column_norm(lambda z: z @ matrix.T, points)
    np.testing.assert_allclose(norms.per_column, [5.0, np.sqrt(2.0), 0.0], rtol=1e-6)
    cosine = column_cosine(lambda z: z @ matrix.T, points, columns=[0, 1])
    assert cosine.value == pytest.approx(3.0 / (5.0 * np.sqrt(2.0)), rel=1e-6)
    np.testing.assert_allclose(np.diag(cosine.pairs), 1.0)


def test_random_columns_have_the_cosine_of_random_directions(
    generator: np.random.Generator,
) -> None:
    """E|cos| = sqrt(2 / (pi n)) for directions in n dimensions, to first order."""
    found = column_cosine_of(grams_of(generator.normal(size=(200, 400, 5))))
    assert found.value == pytest.approx(np.sqrt(2 / (np.pi * 400)), rel=0.05)


def test_one_column_alone_is_orthogonal() -> None:
    assert column_cosine(torch.sin, torch.zeros(2, 3), columns=[1]).value == 0.0
